"""What the engine really uses, against what was asked for. Pure.

Three sources, each better than the one before: the line that prints the arguments, what the server says about
itself, and the lines of the log that name what was allocated.
"""

import ast
import json
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from relight.words.errors import UsageError
from relight.words.parser import HostParser
from relight.words.settings import FlagValue, Settings

LINE = re.compile(r"server_args=(?:ServerArgs\((?P<call>.*)\)|(?P<dict>\{.*\}))\s*$", re.DOTALL)
# Objects print as <Name.X: 'y'>; a literal stands in for them so that the rest of the line can be read.
OBJECT = re.compile(r"<([^<>']*)(?:'([^'<>]*)')?[^<>]*>")
HIDDEN = "***"
LONGEST = 1 << 18
NOT_LITERAL = (SyntaxError, ValueError, TypeError, RecursionError, MemoryError)
Fields = Mapping[str, Any]


@dataclass(frozen=True)
class Proof:
    """What shows that a lever is on: a field with one of `values` (or none of `unlike`), or a figure >= `least`."""

    otherwise: str
    flag: str = ""
    env: str = ""
    field: str = ""
    values: tuple[Any, ...] = ()
    unlike: tuple[Any, ...] = ()
    figure: str = ""
    least: float = 0.0


@dataclass(frozen=True)
class Guide:
    """How to read what an engine says about itself (playbooks/ENGINE/effective.toml)."""

    secret: re.Pattern[str]
    marks: tuple[tuple[str, str, str], ...] = ()
    why: Mapping[str, str] = field(default_factory=dict)
    proofs: tuple[Proof, ...] = ()


@dataclass(frozen=True)
class Difference:
    """A flag that is not in effect as asked."""

    flag: str
    asked: FlagValue
    used: Any
    why: str = ""


def read_guide(text: str, *, place: str = "effective.toml") -> Guide:
    """Return the guide that the TOML `text` holds; a UsageError names `place` and what is wrong."""
    try:
        data = tomllib.loads(text)
        marks = tuple((m[0], m[1], m[2]) for m in data["marks"])
        return Guide(re.compile(data["secret"]), marks, data["why"], tuple(_proof(p) for p in data["proof"]))
    except tomllib.TOMLDecodeError as exc:
        raise UsageError(str(exc), place=place, next="write it as TOML") from exc
    except KeyError as exc:
        raise UsageError(f"missing key {exc}", place=place, next="add it") from exc


def _proof(data: Mapping[str, Any]) -> Proof:
    return Proof(
        otherwise=data["else"],
        flag=data.get("flag", ""),
        env=data.get("env", ""),
        field=data.get("field", ""),
        values=tuple(data.get("values", ())),
        unlike=tuple(data.get("not", ())),
        figure=data.get("figure", ""),
        least=data.get("least", 0.0),
    )


def from_line(text: str) -> dict[str, Any]:
    """Return the fields that a `server_args=` line prints, as a call or as a dict; {} for any other line.

    Nothing is evaluated. What is no literal is given as the text it is.
    """
    found = LINE.search(text[:LONGEST])
    if not found:
        return {}
    body = OBJECT.sub(lambda m: repr(m.group(2) or m.group(1)), found["call"] or found["dict"] or "")
    try:
        tree = ast.parse(f"f({body})" if found["call"] is not None else body, mode="eval").body
    except NOT_LITERAL:
        return _scraped(body)
    return dict(_pairs(tree))


def _pairs(tree: ast.expr) -> Iterator[tuple[str, Any]]:
    if isinstance(tree, ast.Call):
        yield from ((k.arg, _literal(k.value)) for k in tree.keywords if k.arg)
    elif isinstance(tree, ast.Dict):
        for key, value in zip(tree.keys, tree.values, strict=True):
            if isinstance(key, ast.Constant):
                yield str(key.value), _literal(value)


def _literal(node: ast.expr) -> Any:
    for read in (ast.literal_eval, ast.unparse):
        try:
            return read(node)
        except NOT_LITERAL:
            continue
    return None


def _scraped(body: str) -> dict[str, Any]:
    """Read what can be read of a line that is cut or garbled: simple values only."""
    simple = re.compile(r"'?(\w+)'?\s*[=:]\s*('[^']*'|-?[\d.]+(?:e-?\d+)?|True|False|None)(?=[,)}\s]|$)")
    return {name: _constant(value) for name, value in simple.findall(body)}


def _constant(text: str) -> Any:
    try:
        return ast.literal_eval(text)
    except NOT_LITERAL:
        return text


def from_server_info(body: str) -> dict[str, Any]:
    """Return the fields of a /server_info answer, the scheduler's own over those of the main process."""
    try:
        data = json.loads(body)
    except ValueError:
        return {}
    if not isinstance(data, dict):
        return {}
    states = data.pop("internal_states", None)
    worker = states[0] if isinstance(states, list) and states and isinstance(states[0], dict) else {}
    return {**data, **{k: v for k, v in worker.items() if v is not None}}


def from_marks(facts: Mapping[str, Mapping[Any, Fields]], guide: Guide) -> dict[str, Any]:
    """Return the fields that marks of the log say; of several ranks the smallest number counts."""
    found: dict[str, Any] = {}
    for mark, fact, name in guide.marks:
        values = [said[fact] for said in facts.get(mark, {}).values() if said.get(fact) is not None]
        if values:
            numbers = [v for v in values if isinstance(v, int | float)]
            found[name] = min(numbers) if len(numbers) == len(values) else values[0]
    return found


def gather(
    guide: Guide,
    *,
    line: str = "",
    info: str = "",
    facts: Mapping[str, Mapping[Any, Fields]] | None = None,
) -> dict[str, Any]:
    """Return all that is in effect: the printed `line`, the /server_info body `info`, marks' `facts`; no secrets."""
    fields = {**from_line(line), **from_server_info(info), **from_marks(facts or {}, guide)}
    return {name: redacted(name, value, guide) for name, value in fields.items()}


def redacted(name: str, value: Any, guide: Guide) -> Any:
    """Return the value, or stars where its name says that it is a secret; inside tables and lists as well."""
    if guide.secret.search(name):
        return HIDDEN if value else value
    if isinstance(value, Mapping):
        return {k: redacted(str(k), v, guide) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [redacted("", v, guide) for v in value]
    return value


def differences(
    settings: Settings, effective: Fields, guide: Guide, parser: HostParser | None = None
) -> tuple[Difference, ...]:
    """Return the flags that were asked for and are not in effect as asked; fields that say nothing are left out."""
    found = []
    for flag, asked in settings.flags.items():
        known = parser.resolve(flag) if parser else None
        name = known.dest if known else flag.replace("-", "_")
        used = effective.get(name)
        switched_off = known is not None and known.action == "store_false"
        if used is not None and used != HIDDEN and not _alike((not asked) if switched_off else asked, used):
            found.append(Difference(flag, asked, used, guide.why.get(name, "")))
    return tuple(found)


def _alike(asked: Any, used: Any) -> bool:
    if isinstance(asked, str) and isinstance(used, Mapping | list):
        return bool(_plain(_constant_json(asked)) == _plain(used))
    if isinstance(asked, bool) or isinstance(used, bool):
        return _text(asked) == _text(used)
    try:
        return float(asked) == float(used)
    except (TypeError, ValueError):
        return bool(_plain(asked) == _plain(used))


def _constant_json(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(k): _plain(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(v) for v in value]
    return _text(value)


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def not_in_effect(
    settings: Settings, effective: Fields, guide: Guide, *, figures: Mapping[str, float] | None = None
) -> dict[str, str]:
    """Return the levers' flags and variables that are set and yet not on, with the reason.

    `figures` are what the judge measured. What nobody said proves nothing.
    """
    found: dict[str, str] = {}
    for proof in guide.proofs:
        name = proof.flag or proof.env
        asked = settings.flags.get(proof.flag) if proof.flag else settings.env.get(proof.env)
        if _wanted(asked) and _refuted(proof, effective, figures or {}):
            found.setdefault(name, proof.otherwise)
    return found


def _wanted(asked: object) -> bool:
    return asked is not None and asked is not False and str(asked).lower() not in {"0", "false", "off", ""}


def _refuted(proof: Proof, effective: Fields, figures: Mapping[str, float]) -> bool:
    if proof.figure:
        return proof.figure in figures and figures[proof.figure] < proof.least
    if proof.field not in effective:
        return False
    value = effective[proof.field]
    # A field that is there and empty says that it is off.
    if proof.unlike:
        return value is None or value in proof.unlike
    return value is not None and value not in proof.values


def sentences(found: Sequence[Difference], off: Mapping[str, str]) -> tuple[str, ...]:
    """Return what differs and what is not on, a sentence each."""
    changed = [
        f"--{d.flag} {_text(d.asked)} was asked for, {_text(d.used)} is in effect" + (f" ({d.why})" if d.why else "")
        for d in found
    ]
    return (*changed, *(f"{name} is set and not in effect: {why}" for name, why in off.items()))
