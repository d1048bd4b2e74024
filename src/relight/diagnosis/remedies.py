"""A signature's remedies as repairs for the command and version at hand."""

import re
from collections.abc import Iterable, Mapping
from typing import Any

from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.version import InvalidVersion

from relight.diagnosis.given import Given
from relight.logs.marks import as_number
from relight.words.platform import Platform
from relight.words.settings import FlagValue, Repair
from relight.words.signature import Remedy, Signature

FURTHER = 0.3
"""What scaling a number once more costs, as a part of what scaling it once does."""
_HOLE = re.compile(r"\{\w+\}")


def repairs_of(signature: Signature, facts: Mapping[str, Any], given: Given, version: str | None) -> list[Repair]:
    """Return the repairs of a signature's remedies that this version can carry out, in the file's order."""
    return repairs_from(signature.remedies, facts, given, version)


def repairs_from(
    remedies: Iterable[Remedy], facts: Mapping[str, Any], given: Given, version: str | None
) -> list[Repair]:
    """Return what remedies come to for this command and version; those that would change nothing are left out."""
    fit = [r for r in remedies if version_fits(r.versions, version) and all(given.name(n) for n in r.needs)]
    fit = [r for r in fit if not r.platforms or (given.platform and given.platform.name in r.platforms)]
    made = [_repair(remedy, facts, given) for remedy in fit]
    return [repair for repair in made if repair]


def _repair(remedy: Remedy, facts: Mapping[str, Any], given: Given) -> Repair | None:
    times = _times(remedy, facts)
    moved = _moved(remedy, given, times)
    flags = {**remedy.set, **{name: value for name, value in moved.items() if not name.isupper()}}
    named = {given.name(name): _filled(value, facts) for name, value in flags.items()}
    unset = tuple(name for flag in remedy.unset if (name := given.written(flag)))
    if None in named or None in named.values() or not all(given.has_variable(name) for name in remedy.set_env):
        return None
    variables = _read(remedy, given.platform)
    if variables is None:
        return None
    wrong = {given.name(n) for n in flags if _against(remedy, n, _filled(flags[n], facts), given)}
    changes = {str(name): value for name, value in named.items() if value is not None and name not in wrong}
    changes = {name: value for name, value in changes.items() if not _same(given.in_effect(name), value)}
    if remedy.set and not changes and not given.flags:
        unset = ()  # only supposed to be given: with nothing set, nothing is known to change
    variables = {k: str(moved.get(k, v)) for k, v in variables.items()}
    env = {k: filled(v, facts) for k, v in variables.items() if not _on(given.env.get(k), v)}
    env = {k: v for k, v in env.items() if not _against(remedy, k, v, given)}
    if None in env.values() or not (changes or unset or env or remedy.unset_env) or not _possible(changes, given):
        return None
    return Repair(
        set=changes,
        unset=unset,
        set_env={k: v for k, v in env.items() if v is not None},
        unset_env=remedy.unset_env,
        why=filled(remedy.why, facts) or remedy.why,
        gives_up=remedy.gives_up,
        cost=round(remedy.cost * (1 + FURTHER * (times - 1)), 2),
        origin="signature",
    )


def _read(remedy: Remedy, platform: Platform | None) -> dict[str, str] | None:
    """Return the variables of a remedy that the platform reads; None where what it asks for is not there."""
    read = {k: v for k, v in remedy.set_env.items() if platform is None or platform.reads(k)}
    there = platform is None or all(platform.takes(name, value) for name, value in remedy.set.items())
    moved = platform is None or all(map(platform.reads, (*remedy.add, *remedy.scale)))
    return read if there and moved and (read or not remedy.set_env) else None


def _times(remedy: Remedy, facts: Mapping[str, Any]) -> int:
    told = facts.get(remedy.times)
    return told if isinstance(told, int) else 1


def _moved(remedy: Remedy, given: Given, times: int = 1) -> dict[str, FlagValue]:
    """Return the numbers that `add` and `scale` move, starting from the value in use."""
    moved: dict[str, FlagValue] = {}
    for name in {**remedy.add, **remedy.scale}:
        now = given.number(name)
        if now is not None:
            wanted = now * remedy.scale.get(name, 1) ** times + remedy.add.get(name, 0)
            kept = _within(wanted, remedy.bounds.get(name), now)
            # Beyond its bound already, a number is left as it is: the bound is no reason to move it back.
            moved[name] = kept if (kept > now) == (wanted > now) else now
    return moved


def _within(value: float, bounds: tuple[float, float] | None, now: float) -> int | float:
    low, high = bounds or (float("-inf"), float("inf"))
    kept = min(max(value, low), high)
    return int(kept) if isinstance(now, int) else round(kept, 4)


def _against(remedy: Remedy, name: str, value: FlagValue | None, given: Given) -> bool:
    """Say whether a value would not move the number in use the way the remedy is to move it."""
    way, now = remedy.way(name), given.number(name)
    wanted = as_number(value) if isinstance(value, str) else value
    if way is None or now is None or not isinstance(wanted, int | float):
        return False
    return wanted <= now if way == "up" else wanted >= now


def _same(now: FlagValue | None, value: FlagValue) -> bool:
    return now is not None and str(now) == str(value)


def _possible(changes: Mapping[str, FlagValue], given: Given) -> bool:
    """Say whether this version's parser takes each value."""
    flags = ((given.parser.resolve(name) if given.parser else None, value) for name, value in changes.items())
    return all(flag is None or not flag.choices or str(value) in flag.choices for flag, value in flags)


def _on(now: str | None, wanted: str) -> bool:
    """Say whether a variable is already as wanted; 1 and true are one."""
    return now is not None and (now == wanted or {now.lower(), wanted.lower()} <= {"1", "true", "yes", "on"})


def _filled(value: FlagValue, facts: Mapping[str, Any]) -> FlagValue | None:
    return filled(value, facts) if isinstance(value, str) else value


def filled(template: str, facts: Mapping[str, Any]) -> str | None:
    """Return the template with its {facts} filled in, None where one is not known."""
    for name, value in facts.items():
        template = template.replace("{" + name + "}", str(value))
    return None if _HOLE.search(template) else template


def version_fits(spec: str, version: str | None) -> bool:
    """Say whether a version is in a range like ">=0.5.9,<0.5.16"; what is not known fits."""
    if not spec or version is None:
        return True
    try:
        return SpecifierSet(spec, prereleases=True).contains(version)
    except (InvalidSpecifier, InvalidVersion):
        return True
