"""Flags that no version of the engine knows: refused before anything is launched."""

from collections.abc import Iterator

from relight.planning.ground import Ground
from relight.planning.parse_rung import Finding, check, flag_finding, unknown_name
from relight.planning.world import World
from relight.words.errors import UsageError
from relight.words.knowledge import Knowledge
from relight.words.parser import HostParser
from relight.words.playbook import Playbook
from relight.words.settings import Change, Settings


def refuse_typos(playbook: Playbook, world: World, ground: Ground) -> None:
    """Raise UsageError for the first flag that is a typo, required and not given, or set to what no parser takes.

    The last is an error on the command line only: what --set gives is protected, so nothing could mend it.
    """
    if world.parser is None:
        return
    named = misnamed(playbook, world.overrides, world.parser, world.knowledge)
    for finding in (*written(playbook, world, ground), *named):
        if finding.fault in {"typo", "missing"}:
            raise UsageError(finding.text, place=place_of(finding, playbook, world.overrides), next=finding.next)
        if finding.fault == "value" and finding.name in world.overrides.set:
            raise UsageError(finding.text, place=f"--set {finding.name}", next=finding.next)


def place_of(finding: Finding, playbook: Playbook, typed: Change) -> str:
    """Return where a name was written: on the command line, or in the playbook."""
    options = {"--set": typed.set, "--unset": typed.unset}
    named = next((option for option, names in options.items() if finding.name in names), None)
    return f"{named} {finding.name}" if named else playbook.path or playbook.name


def written(playbook: Playbook, world: World, ground: Ground) -> tuple[Finding, ...]:
    """Return what the host's parser refuses of all that a playbook and the command line name, fit variants only."""
    if world.parser is None:
        return ()
    first = ground.settings(ground.start) if ground.start else Settings(playbook.flags)
    found = list(check(first, world.parser, world.knowledge))
    for i, positions in enumerate(ground.positions):
        for position in positions:
            for name, value in ground.variant(i, position).flags.items():
                more = flag_finding(name, value, world.parser, world.knowledge)
                found += [more] if more else []
    found += _of_fallback(playbook, world.parser, world.knowledge)
    return tuple({f.text: f for f in found}.values())


def _of_fallback(playbook: Playbook, parser: HostParser, knowledge: Knowledge) -> Iterator[Finding]:
    for name, value in (playbook.fallback or Settings()).flags.items():
        found = flag_finding(name, value, parser, knowledge)
        if found:
            yield found


def misnamed(
    playbook: Playbook, overrides: Change, parser: HostParser | None, knowledge: Knowledge
) -> tuple[Finding, ...]:
    """Return the names that protect, allow or unset a flag which no version of the engine knows.

    Such a name would do nothing, silently: a flag that is meant to be protected would be changed.
    """
    return tuple(_misnamed(playbook, overrides, parser, knowledge))


def _misnamed(
    playbook: Playbook, overrides: Change, parser: HostParser | None, knowledge: Knowledge
) -> Iterator[Finding]:
    places = {"[protect]": playbook.protect_flags, "[allow]": playbook.allow_flags, "--unset": overrides.unset}
    for place, names in places.items():
        for name in sorted(n for n in names if not n.endswith("*")):
            found = unknown_name(name, parser, knowledge)
            if found:
                text = found.text if place == "--unset" else f"{place} {found.text}"
                yield Finding(name, "typo", text, found.next)
