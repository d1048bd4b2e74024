"""Flags that a message or a line of source names by their fields: tp_size, self.page_size, `schedule_policy`."""

import re
from collections.abc import Iterator

from relight.diagnosis.given import Given
from relight.words.settings import Repair

_NAME = re.compile(r"(?<![\w./-])(?:(?:self|cfg|view|args|server_args)\.)?([a-z][a-z0-9]*(?:_[a-z0-9]+)+)\b")
_MEMBER = re.compile(r"\b(?:self|cfg|view|server_args)\.([a-z]\w*)")
_WORDS = re.compile(r"(?<![\w/-])([A-Za-z][a-z0-9]*(?:[ -][a-z0-9]+)+)")
_ALLOWED = re.compile(r"(?:must be|should be|one of|choose from|only supports?|supported[^:]*:)\s*(?P<list>.*)")
_QUOTED = re.compile(r"['\"`]([\w.+-]+)['\"`]")


def field_repairs(message: str, source: str, given: Given) -> list[Repair]:
    """Return repairs for the fields that a message and the line of source that raised name."""
    told = [*_NAME.findall(message), *_MEMBER.findall(source), *_spelled(message, given)]
    made = [r for dest in dict.fromkeys(told) for r in _for_field(dest, message, given)]
    return sorted(made, key=lambda r: r.cost)


def _spelled(message: str, given: Given) -> Iterator[str]:
    """Yield fields that a message names in words: "chunked prefill" for chunked_prefill_size."""
    if given.parser is None:
        return
    for words in _WORDS.findall(message):
        parts = words.lower().replace("-", " ").split()
        for start in range(len(parts) - 1):
            stem = "_".join(parts[start : start + 2])
            yield from (
                f.dest for f in given.parser if f.dest in {stem, f"enable_{stem}", f"disable_{stem}", f"{stem}_size"}
            )


def _for_field(dest: str, message: str, given: Given) -> Iterator[Repair]:
    flags = given.parser.by_dest(dest) if given.parser else ()
    for flag in flags[:1]:
        written = given.written(flag.name)
        for value in _allowed(message, flag.choices):
            name = written or given.name(flag.name)
            if name and str(given.value(flag.name)) != value:
                yield Repair(set={name: value}, why=f"--{name} may be {value}", origin="message", cost=1)
        if written:
            yield Repair(unset=(written,), why=f"the refusal is about --{written}", origin="message", cost=2)


def _allowed(message: str, choices: tuple[str, ...]) -> list[str]:
    """Return values that the message allows for a flag with these choices."""
    match = _ALLOWED.search(message)
    return [v for v in _QUOTED.findall(match["list"]) if v in choices][:2] if match else []
