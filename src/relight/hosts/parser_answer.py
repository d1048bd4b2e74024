"""Read what the parser script printed."""

import json
from collections.abc import Mapping
from typing import Any

from relight.hosts.parser_source import MARK
from relight.hosts.values import HostError
from relight.words.parser import HostParser, ParserFlag


def read_parser(stdout: bytes, *, place: str = "") -> HostParser:
    """Return the parser that the script described. Raises HostError with the script's own reason."""
    _, found, line = stdout.decode(errors="replace").rpartition(MARK)
    if not found:
        raise HostError("the engine's parser could not be asked: no answer", place=place)
    answer = json.loads(line)
    if "error" in answer:
        raise HostError(f"the engine's parser could not be asked: {answer['error']}", place=place)
    return HostParser(tuple(map(_flag, answer["flags"])), answer["version"], answer.get("cuda"))


def _flag(option: Mapping[str, Any]) -> ParserFlag:
    return ParserFlag(**{**option, "names": tuple(option["names"]), "choices": tuple(option["choices"])})
