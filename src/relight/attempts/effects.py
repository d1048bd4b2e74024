"""What a start made of its settings: gathered from its log and from what the server says of itself."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from relight.attempts.effective import Guide, differences, gather, not_in_effect, read_guide, sentences
from relight.attempts.site import Site
from relight.config.shipped import engine
from relight.logs.progress import Progress
from relight.words.attempt import Attempt, LeverState
from relight.words.playbook import Playbook

GUIDE = "effective.toml"


def guide_of(name: str) -> Guide:
    """Read how one engine tells what is in effect."""
    return read_guide((engine(name) / GUIDE).read_text(), place=GUIDE)


def in_effect(guide: Guide, progress: Progress, info: str) -> Mapping[str, Any]:
    """Return the fields in effect; `info` is the server's own description, "" where it gave none."""
    return gather(guide, line=_printed(progress), info=info, facts=progress.facts)


def _printed(progress: Progress) -> str:
    """Return the arguments as the log printed them, put together again from the mark's groups."""
    for said in progress.facts.get("server_args", {}).values():
        if said.get("dict"):
            return f"server_args={said['dict']}"
        if said.get("repr"):
            return f"server_args=ServerArgs({said['repr']})"
    return ""


def remarks(
    site: Site, attempt: Attempt, effective: Mapping[str, Any], figures: Mapping[str, float]
) -> tuple[str, ...]:
    """Return a sentence for each flag that is not in effect as asked, and for each lever that is set and not on."""
    guide = guide_of(site.order.playbook.engine)
    found = differences(attempt.settings, effective, guide, site.parser)
    return sentences(found, not_in_effect(attempt.settings, effective, guide, figures=figures))


def with_effect(
    levers: tuple[LeverState, ...], playbook: Playbook, attempt: Attempt, figures: Mapping[str, float]
) -> tuple[LeverState, ...]:
    """Return the levers' states with what is known of their effect."""
    off = not_in_effect(attempt.settings, attempt.effective, guide_of(playbook.engine), figures=figures)
    named = {lever.name: lever for lever in playbook.levers}
    return tuple(_judged(state, named[state.name].variants, off, known=bool(attempt.effective)) for state in levers)


def _judged(state: LeverState, variants: Any, off: Mapping[str, str], *, known: bool) -> LeverState:
    if state.kept is None or not known:
        return state
    variant = variants[state.kept - 1]
    return replace(state, in_effect=not (set(variant.flags) | set(variant.env)) & set(off))
