"""Rung parse: what the host's parser would refuse, known without a launch."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Literal, TypeAlias

from relight.planning.names import filled
from relight.words.knowledge import Knowledge, Rename
from relight.words.parser import HostParser, ParserFlag
from relight.words.settings import FlagValue, Repair, Settings

Fault: TypeAlias = Literal["typo", "gone", "ambiguous", "value", "missing"]


@dataclass(frozen=True)
class Finding:
    """One flag the parser refuses: the fault, a sentence, what to do, and repairs, best first.

    "typo" is a flag that no version of the engine knows; "gone" one that only other versions know.
    """

    name: str
    fault: Fault
    text: str
    next: str = ""
    repairs: tuple[Repair, ...] = ()


def check(settings: Settings, parser: HostParser, knowledge: Knowledge) -> tuple[Finding, ...]:
    """Return what `parser` refuses in `settings`, in their order; () if it takes all of it."""
    found = (flag_finding(name, value, parser, knowledge) for name, value in settings.flags.items())
    return (*(f for f in found if f), *_missing(settings, parser))


def flag_finding(name: str, value: FlagValue, parser: HostParser, knowledge: Knowledge) -> Finding | None:
    """Return what `parser` refuses about one flag, None if it takes it."""
    rename = _rename(name, knowledge)
    matches = parser.matches(name)
    # A name that is gone can be taken for the abbreviation of another flag; the table of renames knows better.
    if not matches or (rename is not None and parser.find(name) is None):
        return _unknown(name, value, rename, parser, knowledge)
    if len(matches) > 1:
        return _ambiguous(name, value, matches)
    return _value(name, value, matches[0], rename)


def _rename(name: str, knowledge: Knowledge) -> Rename | None:
    return next((r for r in knowledge.renames if r.old == name and not r.env), None)


def _unknown(name: str, value: FlagValue, rename: Rename | None, parser: HostParser, knowledge: Knowledge) -> Finding:
    near = tuple(get_close_matches(name, [n for f in parser for n in f.names], n=3))
    if rename is None and not any(name in table for table in knowledge.versions.values()):
        return Finding(name, "typo", f"--{name}: no version of the engine knows this flag", _nearest(near))
    drop = Repair(unset=(name,), why=f"this engine has no --{name}", origin="message", cost=1.0)
    new = [r for r in _renamed(name, value, rename) if all(parser.resolve(n) for n in r.set)]
    return Finding(name, "gone", f"--{name}: this engine does not have it", _nearest(near), (*new, drop))


def unknown_name(name: str, parser: HostParser | None, knowledge: Knowledge) -> Finding | None:
    """Return what is wrong with a name that is no flag here nor in any version known; None where it is one."""
    sampled = [*([parser] if parser else []), *knowledge.versions.values()]
    if _rename(name, knowledge) or any(known.matches(name) for known in sampled):
        return None
    near = tuple(get_close_matches(name, sorted({n for known in sampled for f in known for n in f.names}), n=3))
    return Finding(name, "typo", f"--{name}: no version of the engine knows this flag", _nearest(near))


def _nearest(near: tuple[str, ...]) -> str:
    return "nearest: " + ", ".join(f"--{n}" for n in near) if near else "see --help of the engine"


def _renamed(name: str, value: FlagValue, rename: Rename | None) -> Iterable[Repair]:
    if rename and rename.set:
        new = filled(rename, value)
        why = rename.why or f"--{name} is now " + " ".join(f"--{n}" for n in new)
        yield Repair(set=new, unset=(name,), why=why, origin="message", cost=0.0)


def _ambiguous(name: str, value: FlagValue, matches: tuple[ParserFlag, ...]) -> Finding:
    names = [f.name for f in matches]
    repairs = tuple(
        Repair(set={n: value}, unset=(name,), why=f"--{name} could mean several flags; --{n} is one", origin="message")
        for n in names
    )
    text = f"--{name}: ambiguous, could be " + ", ".join(f"--{n}" for n in names)
    return Finding(name, "ambiguous", text, "write the flag in full", repairs)


def _value(name: str, value: FlagValue, flag: ParserFlag, rename: Rename | None) -> Finding | None:
    fault = _shape(value, flag) or _choice(value, flag) or _type(value, flag)
    if not fault:
        return None
    drop = Repair(unset=(name,), why=f"--{name}: {fault}", origin="message", cost=1.0)
    return Finding(name, "value", f"--{name}: {fault}", "give a value the parser takes",
                   (*_other_values(name, value, flag, rename), drop))  # fmt: skip


def _shape(value: FlagValue, flag: ParserFlag) -> str:
    if flag.takes_value and value is True and flag.nargs not in {"?", "*"}:
        return "expected a value"
    if not flag.takes_value and not isinstance(value, bool):
        return "takes no value"
    return ""


def _words(value: FlagValue) -> tuple[str, ...]:
    if isinstance(value, bool | Mapping):
        return ()
    return tuple(str(v) for v in value) if isinstance(value, tuple | list) else (str(value),)


def _choice(value: FlagValue, flag: ParserFlag) -> str:
    bad = [w for w in _words(value) if flag.choices and w not in flag.choices]
    return f"{bad[0]!r} is not one of {', '.join(flag.choices)}" if bad else ""


def _type(value: FlagValue, flag: ParserFlag) -> str:
    kind = {"int": int, "float": float}.get(flag.type)
    bad = [w for w in _words(value) if kind and not _reads(w, kind)]
    return f"{bad[0]!r} is no {flag.type}" if bad else ""


def _reads(word: str, kind: type[int] | type[float]) -> bool:
    try:
        kind(word)
    except ValueError:
        return False
    return True


def _other_values(name: str, value: FlagValue, flag: ParserFlag, rename: Rename | None) -> Iterable[Repair]:
    if not flag.takes_value and value not in {"false", "False", "0", 0}:
        yield Repair(set={name: True}, why=f"--{name} takes no value", origin="message", cost=0.0)
    for word in _words(value):
        old = rename.values.get(word) if rename else None
        near = get_close_matches(word, flag.choices, n=1)
        for choice in dict.fromkeys([*([old] if old else []), *near]):
            yield Repair(set={name: choice}, why=f"--{name} {word} is {choice} here", origin="message", cost=0.5)


def _missing(settings: Settings, parser: HostParser) -> Iterable[Finding]:
    given = {f.dest for n in settings.flags for f in parser.matches(n)}
    for flag in parser:
        if flag.required and flag.dest not in given:
            yield Finding(flag.name, "missing", f"--{flag.name} is required and not given", "add it to [flags]")
