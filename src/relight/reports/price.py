"""What a healthy server cost: where it is less than what was asked for."""

from collections.abc import Callable, Sequence

from relight.reports.blocks import Prose
from relight.reports.edits import COME, GONE, brief, diff, edits_of, in_a_sentence, named_by
from relight.reports.prose import in_few, listed, prose
from relight.reports.steps import asked_of
from relight.words.attempt import Attempt, LeverState, Record
from relight.words.settings import Repair, Settings

_SIGNS = {GONE: "dropped", COME: "added"}
_MOST = 3
"""Costs of the changes on the way that are named in one sentence."""


def price(record: Record) -> tuple[str, ...]:
    """Return what is less than what was asked for, the dearest first; () where everything is as asked."""
    levers = [lever for lever in (record.final.levers if record.final else ()) if lever.requested is not None]
    final = healthy_attempt(record)
    changes = final.changes if final else ()
    parts = (
        _alters(changes, final, asked_of(record)),
        _told(levers, lambda lever: lever.kept is None, "off", "off"),
        _told(levers, _idle, "asked for and not in effect", "asked for and not in effect"),
        _told(levers, _later, "at a later variant", "at later variants"),
        _spent(changes),
    )
    return tuple(part for part in parts if part)


def in_flags(record: Record) -> Prose:
    """Return what a healthy server runs with instead of what was asked for, in flag values: asked -> got."""
    final = healthy_attempt(record)
    if final is None or record.state != "healthy":
        return ()
    edits = brief(diff(asked_of(record), final.settings))
    order = sorted(edits, key=lambda line: (line.startswith(COME), line.startswith(GONE)))
    costs = [_cost(line, final.changes) for line in order]
    # What several lines cost together stands behind the last of them.
    last = {cost: i for i, cost in enumerate(costs)}
    told = [f" ({_together(costs, cost)})" if cost and last[cost] == i else "" for i, cost in enumerate(costs)]
    return prose("\n".join(f"{_signed(line)}{cost}" for line, cost in zip(order, told, strict=True)))


def _together(costs: Sequence[str], cost: str) -> str:
    return f"together: {cost}" if costs.count(cost) > 1 else cost


def _signed(line: str) -> str:
    sign = next((s for s in _SIGNS if line.startswith(s)), "")
    return f"`{line.removeprefix(sign)}` {_SIGNS[sign]}" if sign else f"`{line}`"


def _cost(line: str, changes: Sequence[Repair]) -> str:
    """Return what the changes that made an edit give up."""
    own = [c for c in changes if c.origin != "lever" and named_by(line) in {named_by(e) for e in brief(edits_of(c))}]
    costs = [f"gives up {cost}" for c in own if (cost := c.gives_up.strip().rstrip("."))]
    costs += ["can alter answers"] if any(c.alters_answers for c in own) else []
    return "; ".join(dict.fromkeys(costs))


def healthy_attempt(record: Record) -> Attempt | None:
    """Return the attempt whose server is healthy, None where there is none."""
    return next((a for a in reversed(record.attempts) if a.outcome == "healthy"), None)


def moved_together(record: Record) -> tuple[str, ...]:
    """Return levers that moved in one launch, the healthy one: one of them alone may have been what it took."""
    final = healthy_attempt(record)
    launched = [a for a in record.attempts if a.launched]
    before = launched[launched.index(final) - 1] if final in launched[1:] else None
    if final is None or before is None:
        return ()
    moved = tuple(name for name, position in final.choice.items() if before.choice.get(name) != position)
    lost = {lever.name for lever in record.final.levers if lever.kept != lever.requested} if record.final else set()
    given = tuple(name for name in moved if name in lost)
    return given if len(given) > 1 else ()


def given_up(changes: Sequence[Repair]) -> dict[str, list[str]]:
    """Return what the changes on the way cost, each thing once, with the edits that cost it.

    What a lever's move costs is told with the levers, what alters answers by itself.
    """
    costs: dict[str, list[str]] = {}
    for change in changes:
        if change.gives_up and not change.alters_answers and change.origin != "lever":
            edits = costs.setdefault(change.gives_up.strip().rstrip("."), [])
            edits += [line for line in map(in_a_sentence, brief(edits_of(change))) if line not in edits]
    return costs


def _alters(changes: Sequence[Repair], final: Attempt | None, asked: Settings) -> str:
    edits = [line for change in changes if change.alters_answers for line in brief(edits_of(change, asked))]
    costs = listed([c.gives_up.strip().rstrip(".") for c in changes if c.alters_answers and c.gives_up.strip()])
    given = f" and gives up {costs}" if costs else ""
    if edits:
        return f"{in_few([in_a_sentence(line) for line in edits], 2)} can alter answers{given}"
    return "answers can differ from those of the settings asked for" if final and final.alters_answers else ""


def _idle(lever: LeverState) -> bool:
    return lever.kept is not None and lever.in_effect is False


def _later(lever: LeverState) -> bool:
    return lever.kept is not None and lever.kept != lever.requested and not _idle(lever)


def _told(levers: Sequence[LeverState], wanted: Callable[[LeverState], bool], one: str, many: str) -> str:
    names = [lever.name for lever in levers if wanted(lever)]
    return f"{listed(names)} {f'is {one}' if len(names) == 1 else f'are {many}'}" if names else ""


def _spent(changes: Sequence[Repair]) -> str:
    costs = given_up(changes)
    if len(costs) < 2:
        return "".join(f"it gives up {cost}" for cost in costs)
    return f"something was given up by {in_few([edit for edits in costs.values() for edit in edits], _MOST)}"
