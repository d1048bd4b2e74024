"""What leaving a conflict gives up at least: a lower bound that keeps the search from looking everywhere."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from relight.planning.ground import WEIGHT, Ground, Node
from relight.planning.lessons import Lesson

# The least a change of a base flag or a bound costs, whatever is known of the flag.
LEAST_STEP = 0.1


@dataclass(frozen=True)
class Way:
    """How a lesson can be left: by these levers, or by a change that costs at least `change` (None: by none).

    `names` is all that leaving it may touch; two lessons that share none of it must be left separately.
    """

    levers: frozenset[int]
    change: float | None
    names: frozenset[object]


@dataclass(frozen=True)
class Floors:
    """Lower bounds on one ground, worked out once per lesson."""

    ground: Ground
    _ways: dict[int, Way] = field(default_factory=dict, compare=False)

    def floor(self, node: Node, condemned: Sequence[Lesson]) -> float:
        """Return what settings out of all of `condemned` give up at least beyond what `node` does."""
        used: set[object] = set()
        total = 0.0
        for lesson in condemned:
            way = self._way(lesson)
            if used.isdisjoint(way.names):
                used |= way.names
                total += self._least(way, node)
        return total

    def _least(self, way: Way, node: Node) -> float:
        ground, steps = self.ground, [] if way.change is None else [way.change]
        for lever in way.levers:
            now = node.choice[lever]
            steps += [ground.loss(lever, p) - ground.loss(lever, now) for p in ground.positions[lever] if p != now]
        return max(0.0, min(steps, default=0.0))

    def _way(self, lesson: Lesson) -> Way:
        if id(lesson) not in self._ways:
            self._ways[id(lesson)] = self._worked_out(lesson)
        return self._ways[id(lesson)]

    def _worked_out(self, lesson: Lesson) -> Way:
        ground, named = self.ground, {(t.name, t.env) for t in lesson.terms}
        levers = frozenset(i for n in named for i in ground.mentioned.get(n, ()))
        repairs = [r for r in lesson.repairs if ground.guard.refusal(r) == ""]
        costs = [r.cost * WEIGHT[r.origin] for r in repairs]
        costs += [LEAST_STEP for t in lesson.terms if self._free(t.name, env=t.env)]
        touched = {n for r in repairs for n in ground.touched(Node((), (r,)))}
        return Way(levers, min(costs, default=None), frozenset({*levers, *named, *touched}))

    def _free(self, name: str, *, env: bool) -> bool:
        """Say whether a flag or variable may be changed outside the levers; what only levers name is theirs."""
        guard, ground = self.ground.guard, self.ground
        if env:
            return name not in guard.env
        only_levers = (name, False) in ground.mentioned and ground.guard.fact(name) is None
        return not guard.protected(name) and not only_levers
