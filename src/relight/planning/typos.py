"""Flags that no version of the engine knows: refused before anything is launched."""

from relight.planning.ground import Ground
from relight.planning.parse_rung import Finding, check, flag_finding
from relight.planning.world import World
from relight.words.errors import UsageError
from relight.words.playbook import Playbook
from relight.words.settings import Settings


def refuse_typos(playbook: Playbook, world: World, ground: Ground) -> None:
    """Raise UsageError for the first flag that is a typo, or that is required and not given."""
    if world.parser is None:
        return
    for finding in written(playbook, world, ground):
        if finding.fault in {"typo", "missing"}:
            raise UsageError(finding.text, place=playbook.path or playbook.name, next=finding.next)


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
    return tuple({f.text: f for f in found}.values())
