"""What is wrong with the flags of a playbook for one engine version. Pure."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations

from relight.cli.findings import Finding, Severity
from relight.planning import parse_rung
from relight.planning.settings import put_together, unfit
from relight.planning.typos import misnamed, place_of
from relight.words.knowledge import Knowledge
from relight.words.parser import HostParser
from relight.words.playbook import Lever, Playbook
from relight.words.settings import Change, Repair, Settings

PAIRS = 24
"""How many pairs of variants are looked at: each costs the host's validation a moment."""


@dataclass(frozen=True)
class Case:
    """One combination that a playbook can be launched with: its name for people, and its settings."""

    place: str
    settings: Settings
    wanted: bool


def cases(
    playbook: Playbook,
    *,
    overrides: Change,
    host_env: Mapping[str, str],
    parser: HostParser | None,
    version: str | None,
    pairs: bool = False,
) -> tuple[Case, ...]:
    """Return the settings with every lever off that may be, then each variant of each lever alone on top of them.

    With `pairs`, then variants of two levers together: the most wanted first, `PAIRS` of them.
    """
    fit = {
        lever.name: [n for n, v in enumerate(lever.variants, 1) if not v.off and not unfit(v, parser, version)]
        for lever in playbook.levers
    }
    base = {lever.name: _least(lever, fit[lever.name]) for lever in playbook.levers}
    where = playbook.path or playbook.name

    def case(*chosen: tuple[str, int]) -> Case:
        settings = put_together(playbook, {**base, **dict(chosen)}, (), overrides, host_env, parser, version)
        place = " with ".join(f'lever "{name}", variant {n}' for name, n in chosen) or "[flags]"
        return Case(f"{where}: {place}", settings, wanted=not chosen)

    single = [(name, n) for name, numbers in fit.items() for n in numbers]
    two = sorted((p for p in combinations(single, 2) if p[0][0] != p[1][0]), key=lambda p: p[0][1] + p[1][1])
    return (case(), *map(case, single), *(case(*both) for both in two[: PAIRS if pairs else 0]))


def _least(lever: Lever, fit: list[int]) -> int | None:
    """Return the position of a lever where it counts least: off, and where it may not be off its best variant."""
    return None if any(variant.off for variant in lever.variants) else next(iter(fit), None)


def requested(playbook: Playbook, *, overrides: Change, host_env: Mapping[str, str]) -> Settings:
    """Return the settings with the first variant of every lever, for questions about the model and the port."""
    choice: dict[str, int | None] = {lever.name: 1 for lever in playbook.levers}
    return put_together(playbook, choice, (), overrides, host_env)


def unfit_findings(playbook: Playbook, parser: HostParser | None, version: str | None) -> Iterator[Finding]:
    """Yield the variants that this engine cannot have."""
    for lever in playbook.levers:
        reasons = [unfit(variant, parser, version) for variant in lever.variants]
        for n, reason in enumerate(reasons, start=1):
            if reason:
                yield Finding("note", f'lever "{lever.name}", variant {n}', f"excluded: {reason}")
        if all(reasons):
            text = "no variant fits this engine, and the lever may not be off"
            yield Finding("error", f'lever "{lever.name}"', text, 'add a variant that fits, or "off"')


def parse_findings(found: Iterable[Case], parser: HostParser, knowledge: Knowledge) -> Iterator[Finding]:
    """Yield what the parser refuses, and what it takes only as an abbreviation; each flag once."""
    told: set[str] = set()
    for case in found:
        for fault in parse_rung.check(case.settings, parser, knowledge):
            if fault.name not in told:
                told.add(fault.name)
                yield _fault(case, fault)
        for name in case.settings.flags:
            if name not in told and (text := _abbreviated(name, parser)):
                told.add(name)
                yield Finding("note", case.place, text, "write it in full: a newer version may know another flag so")


def name_findings(
    playbook: Playbook, overrides: Change, parser: HostParser | None, knowledge: Knowledge, severity: Severity
) -> Iterator[Finding]:
    """Yield the flags that are protected, allowed or unset by a name that no version knows."""
    for fault in misnamed(playbook, overrides, parser, knowledge):
        yield Finding(severity, place_of(fault, playbook, overrides), fault.text, fault.next)


def _fault(case: Case, fault: parse_rung.Finding) -> Finding:
    severity: Severity = "error" if case.wanted or fault.fault == "typo" else "warning"
    repairs = " or ".join(in_words(repair) for repair in fault.repairs[:2])
    then = f"`relight retry` will try {repairs}" if repairs else fault.next
    return Finding(severity, case.place, fault.text, then)


def _abbreviated(name: str, parser: HostParser) -> str:
    known = parser.resolve(name)
    if parser.find(name) or known is None:
        return ""
    return f"--{name} is short for --{known.name}"


def in_words(repair: Repair) -> str:
    """Return a change as it would stand on a command line."""
    parts = [_flag(n, v) for n, v in repair.set.items()] + [f"{n}={v}" for n, v in repair.set_env.items()]
    parts += [f"without --{n}" for n in repair.unset if not repair.set]
    parts += [f"without {n}" for n in repair.unset_env]
    return " ".join(parts) or "a change"


def _flag(name: str, value: object) -> str:
    if isinstance(value, bool):
        return f"--{name}" if value else f"--no-{name}"
    return f"--{name} {' '.join(map(str, value)) if isinstance(value, tuple | list) else value}"
