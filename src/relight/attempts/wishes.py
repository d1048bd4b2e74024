"""What the operator of a run wants kept, in the words of source reading."""

from dataclasses import replace

from relight.attempts.site import Site
from relight.diagnosis.source.wishes import Wishes, general_wishes
from relight.planning.names import names_of
from relight.planning.protect import guard_of
from relight.words.playbook import Playbook


def wishes_of(site: Site) -> Wishes:
    """Return what the playbook and the overrides of a run protect, and what its levers are worth."""
    playbook, parser, knowledge = site.order.playbook, site.parser, site.knowledge
    guard = guard_of(playbook, site.order.overrides, names_of(playbook, parser), knowledge)
    named = {*playbook.flags, *(n for lever in playbook.levers for v in lever.variants for n in v.flags)}
    every = {n for flag in parser or () for n in flag.names} | named
    return replace(
        general_wishes(knowledge.facts, parser, named),
        keep=_worth(playbook),
        firsts=frozenset(v.first_flag for lever in playbook.levers for v in lever.variants if v.first_flag),
        protected=frozenset(name for name in every if guard.protected(name)),
        protected_env=guard.env,
        others=guard.others,
    )


def _worth(playbook: Playbook) -> dict[str, float]:
    """Return what the flags and variables of levers are worth."""
    found: dict[str, float] = {}
    for lever in playbook.levers:
        for name in (n for v in lever.variants for n in (*v.flags, *v.env)):
            found[name] = max(lever.keep, found.get(name, 0.0))
    return found
