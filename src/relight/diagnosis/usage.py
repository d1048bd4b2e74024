"""Repairs for a command line that the argument parser refused."""

import re
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from typing import Any

from relight.diagnosis.given import Given
from relight.words.knowledge import Rename
from relight.words.settings import Repair

WORD = 3
"""Letters from which on a word says what a value is."""
TYPED = 0.85
"""From here on (difflib's ratio) a value is another one with a typing error."""
MOST = 3
_FLAG = re.compile(r"(?<!\S)--?([A-Za-z][\w-]*)(?:=(\S+))?")


def usage_repairs(kind: str, facts: Mapping[str, Any], given: Given) -> list[Repair]:
    """Return repairs for a parser's refusal; `facts` are what its error line says."""
    if kind == "args.unrecognized":
        return [r for name in _refused(facts) for r in _without(name, facts, given)]
    if kind == "args.invalid_value":
        return _other_value(facts, given)
    return []


def _refused(facts: Mapping[str, Any]) -> list[str]:
    text = str(facts.get("unrecognized") or facts.get("flag") or "")
    return list(dict.fromkeys(m[1] for m in _FLAG.finditer(text if text.startswith("-") else f"--{text}")))


def _without(name: str, facts: Mapping[str, Any], given: Given) -> list[Repair]:
    written = given.written(name) or name
    value = given.flags.get(written, facts.get("value"))
    made = [_renamed(written, value, r, given) for r in given.renames if _is_about(r, name)]
    made += [_meant(written, option, value) for option in facts.get("could_match_list", ())]
    made += [_meant(written, option, value) for option in _near(name, given)]
    made.append(Repair(unset=(written,), why=f"this version does not know --{written}", origin="message", cost=1))
    return [r for r in made if r]


def _is_about(rename: Rename, name: str) -> bool:
    return not rename.env and (rename.old == name or name in rename.set)


def _renamed(written: str, value: Any, rename: Rename, given: Given) -> Repair | None:
    """Return the repair that gives a renamed flag its name of this version, in whichever direction it was renamed."""
    why = f"--{written} has another name in this version: {rename.why}"
    if rename.old == written.replace("_", "-"):
        new = {name: _carried(target, value, rename) for name, target in rename.set.items()}
        known = given.parser is None or all(name in given.parser for name in new)
        ready = new and known and None not in new.values()
        return Repair(set=new, unset=(written,), why=why, origin="message", cost=0) if ready else None
    if given.parser is not None and rename.old in given.parser and value is not None:
        back = {v: k for k, v in rename.values.items()}
        return Repair(
            set={rename.old: back.get(str(value), value)}, unset=(written,), why=why, origin="message", cost=0
        )
    return None


def _carried(target: Any, value: Any, rename: Rename) -> Any:
    if target != "{value}":
        return target
    return None if value is None else rename.values.get(str(value), value)


def _meant(written: str, option: str, value: Any) -> Repair:
    name = option.lstrip("-")
    change = {name: True if value is None else value}
    return Repair(set=change, unset=(written,), why=f"--{name} may be what was meant", origin="message", cost=1)


def _near(name: str, given: Given) -> list[str]:
    if given.parser is None:
        return []
    name = name.replace("_", "-")
    # Of a version that is not known the parser is another one's: it may have what this version lacks.
    known = [n for flag in given.parser for n in flag.names if n != name]
    return get_close_matches(name, known, 1, 0.8)


def _other_value(facts: Mapping[str, Any], given: Given) -> list[Repair]:
    names = [n.lstrip("-") for n in re.split(r"[/ ,]+", str(facts.get("flag", ""))) if n.startswith("-")]
    written = next((w for n in names if (w := given.written(n))), names[0] if names else None)
    if written is None:
        return []
    value, choices = str(facts.get("value", "")), [str(c) for c in facts.get("choices", ())]
    made = [
        Repair(set={written: c}, why=f"--{written} allows {c!r}, not {value!r}", origin="message", cost=1)
        for c in _nearest(value, choices)
    ]
    away = Repair(unset=(written,), why=f"--{written} does not allow {value!r}", origin="message", cost=2)
    return [*made, away]


def _nearest(value: str, choices: Sequence[str]) -> list[str]:
    """Return what may be meant: a typing error mended, then what begins with the same word or has it, then the like."""
    word = re.split(r"[^a-z0-9]+", value.lower())[0]
    named = [c for c in choices if len(word) >= WORD and word in c.lower()]
    alike = sorted(named, key=lambda c: not c.lower().startswith(word))
    typed, near = (get_close_matches(value, choices, 2, cutoff) for cutoff in (TYPED, 0.6))
    return list(dict.fromkeys([*typed, *alike, *near]))[:MOST]
