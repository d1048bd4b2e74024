"""Fields and variables of a condition -> flags of the host's parser, and the values they had."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, TypeAlias

from relight.diagnosis.source.evaluate import UNKNOWN, Evaluation
from relight.diagnosis.source.reading import Reading
from relight.diagnosis.source.terms import Env, Field, Opaque
from relight.diagnosis.source.values import Values
from relight.words.parser import HostParser, ParserFlag
from relight.words.settings import FlagValue

Origin: TypeAlias = Literal["message", "resolved", "command", "environment", "default", "model", "unknown"]
CONFIG = re.compile(r"(?:\w+\.)*\w*config\.(\w+)|getattr\((?:\w+\.)*\w*config, '(\w+)'(?:, \w+)?\)")
TRUE_WORDS = {"1", "true", "yes", "y", "on"}


@dataclass(frozen=True)
class Known:
    """What is known about the names a reading mentions."""

    reading: Reading
    values: Values
    parser: HostParser | None

    @cached_property
    def _given(self) -> dict[str, str]:
        """Map each field that the command line fills to the flag as it is spelled there; the last one wins."""
        found = {}
        for spelled in self.values.flags:
            flag = self.parser.resolve(spelled) if self.parser else None
            found[flag.dest if flag else spelled.replace("-", "_")] = spelled
        return found

    def flag(self, field: str) -> ParserFlag | None:
        """Return the option that fills a field, None where there is none."""
        if self.parser is None:
            return None
        options = self.parser.by_dest(field) or tuple(filter(None, [self.parser.find(field.replace("_", "-"))]))
        return min(options, key=lambda f: bool(f.deprecated), default=None)

    def given(self, field: str) -> str | None:
        """Return the flag that fills a field as the command line spells it, None where it is not given."""
        flag = self.flag(field)
        return self._given.get(field) or (self._given.get(flag.dest) if flag else None)

    def spelling(self, field: str) -> str | None:
        """Return how to name a field's flag: as given, else its shortest name; None where no flag fills it."""
        flag = self.flag(field)
        if flag is None:
            return self.given(field) if self.parser is None else None
        return self.given(field) or min(flag.names, key=len)

    def value(self, field: str) -> tuple[Any, Origin]:
        """Return what a field held when the engine failed, and who says so."""
        if field in self.reading.facts:
            return self.reading.facts[field], "message"
        for said in (self.values.facts, self.values.resolved):
            if field in said:
                return said[field], "resolved"
        flag, spelled = self.flag(field), self.given(field)
        if spelled is not None:
            return typed(self.values.flags[spelled], flag), "command"
        if flag is not None and not flag.required:
            return default(flag), "default"
        found = self.values.facts.get(f"config.{field}", UNKNOWN) if flag is None else UNKNOWN
        return found, "unknown" if found is UNKNOWN else "model"

    def variable(self, env: Env) -> tuple[Any, Origin]:
        """Return what an environment variable was read as, and who says so."""
        text = self.values.env.get(env.name)
        return (env.default, "default") if text is None else (as_kind(text, env.kind), "environment")

    def _of_model(self, text: str) -> Any:
        name = asked_of_model(text)
        return self.values.facts.get(f"config.{name}", UNKNOWN) if name else UNKNOWN

    def evaluation(self, held: Mapping[int, bool] | None = None) -> Evaluation:
        """Return an evaluation with what is known; `held` as there."""
        return Evaluation(self.lookup, held, {id(term): value for term, value in self.reading.told})

    def lookup(self, term: Field | Env | Opaque) -> Any:
        """Return the value of a name, UNKNOWN where nothing tells it."""
        if isinstance(term, Opaque):
            return self.reading.facts.get(term.text, self._of_model(term.text))
        return self.variable(term)[0] if isinstance(term, Env) else self.value(term.name)[0]


def asked_of_model(text: str) -> str:
    """Return the key of the model's configuration that an expression reads, "" where it reads none."""
    found = CONFIG.fullmatch(text)
    return next(filter(None, found.groups()), "") if found else ""


def default(flag: ParserFlag) -> Any:
    """Return what a field holds when its flag is not given."""
    if flag.default is None and flag.action in {"store_true", "store_false"}:
        return flag.action == "store_false"
    return tuple(flag.default) if isinstance(flag.default, list) else flag.default


def as_kind(text: str, kind: str) -> Any:
    """Return the text of a variable as the engine reads it."""
    if kind == "bool":
        return text.lower() in TRUE_WORDS
    return _number(text, kind) if kind in {"int", "float"} else text


def _number(text: str, kind: str) -> Any:
    try:
        return int(text) if kind == "int" else float(text)
    except ValueError:
        return UNKNOWN


def typed(value: FlagValue, flag: ParserFlag | None) -> Any:
    """Return a flag's value as the field holds it: text converted by the option's type, a list as a tuple."""
    if flag is not None and flag.action == "store_false":
        return False
    if isinstance(value, tuple | list):
        return tuple(typed(v, flag) for v in value)
    many = flag is not None and flag.nargs in {"+", "*"}
    found = _scalar(value, flag.type if flag else "")
    return (found,) if many and not isinstance(value, bool) else found


def _scalar(value: Any, kind: str) -> Any:
    if not isinstance(value, str):
        return dict(value) if isinstance(value, Mapping) else float(value) if isinstance(value, float) else value
    if kind in {"int", "float"}:
        return _number(value, kind)
    if kind == "json":
        return _json(value)
    if kind == "" and value.lstrip("-").replace(".", "", 1).isdigit():
        return float(value) if "." in value else int(value)
    return None if kind.startswith("nullable") and value in {"", "None"} else value


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return UNKNOWN
