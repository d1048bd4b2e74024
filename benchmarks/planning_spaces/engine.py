"""What launching in a space shows: the first fault that is met, rightly or wrongly diagnosed."""

from collections.abc import Mapping
from random import Random
from typing import Any

from planning_spaces.spaces import PHASES, Fault, Space
from relight.words.diagnosis import Cause, Constraint, Diagnosis
from relight.words.settings import Repair, Settings


def first_fault(space: Space, settings: Settings) -> Fault | None:
    """Return the fault that ends a start with `settings`, None if it is healthy."""
    met = [f for f in space.faults if f.met(settings.flags)]
    return min(met, key=lambda f: f.phase, default=None)


def diagnosed(fault: Fault, settings: Settings) -> Diagnosis:
    """Return the right diagnosis of a fault."""
    unknown = fault.kind == "unknown"
    cause = Cause(
        fault.kind.partition(".")[0], fault.kind, None if unknown else fault.id, fault.id, 1, "boom", None,
        PHASES[fault.phase], 0.3 if unknown else 0.9, fault.kind, fault.facts(settings.flags), fault.blames,
    )  # fmt: skip
    constraint = _constraint(fault, settings.flags) if fault.exact else None
    return Diagnosis("log", "failed", cause=cause, constraint=constraint, repairs=fault.proposed(settings.flags),
                     action="change")  # fmt: skip


def _constraint(fault: Fault, flags: Mapping[str, Any]) -> Constraint:
    held = {n.replace("-", "_"): flags.get(n) for n in fault.blames}
    return Constraint("args.py", 1, "a condition", flags=fault.blames, values=held)


def wrong(fault: Fault, settings: Settings, random: Random) -> Diagnosis:
    """Return a diagnosis that blames something else, as sure of itself as a right one."""
    flags = [n for n in settings.flags if n not in fault.blames and n not in {"model", "ranks"}] or ["backend"]
    blamed = tuple(random.sample(flags, k=min(len(flags), random.randint(1, 2))))
    print_ = "wrong/" + ",".join(blamed)
    cause = Cause("engine", "engine.bug", print_, print_, 1, "boom", None, PHASES[fault.phase], 0.8, "wrong",
                  blames=blamed)  # fmt: skip
    repairs = (Repair({"batch": 8}, why="a guess"),) if random.random() < 0.3 else ()
    return Diagnosis("log", "failed", cause=cause, repairs=repairs, action="change")
