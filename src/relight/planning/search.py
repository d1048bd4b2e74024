"""Best-first search for the settings that give up least and are not known to fail."""

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from heapq import heappop, heappush
from itertools import count

from relight.planning import moves, terms
from relight.planning.bounds import Known
from relight.planning.equal import Key
from relight.planning.floors import Floors
from relight.planning.ground import Ground, Node, Price
from relight.planning.history import History
from relight.planning.lessons import Lesson
from relight.planning.names import View
from relight.planning.parse_rung import Finding
from relight.words.attempt import Attempt
from relight.words.settings import Settings

MOST_NODES = 220
MOST_STEPS_DOWN = 60
FEW = 2
"""Up to so many bounds on one side of a number the sums of a new kind of failure are trusted."""
SURE = 0.95
"""From here on a failure is known too well to suspect what it does not blame of what was given beside the levers."""


@dataclass(frozen=True)
class Found:
    """A node nothing speaks against; `findings` if the parser would refuse it and that is not on record yet."""

    node: Node
    settings: Settings
    view: View
    findings: tuple[Finding, ...] = ()


@dataclass
class Search:
    """A search under way. `cut` says that it ended with nodes left to look at.

    `again` names a failed launch that settings can only repeat, as far as that is known without launching them.
    """

    history: History
    lessons: Sequence[Lesson]
    avoid: frozenset[Key] = frozenset()
    again: Callable[[View], Attempt | None] = lambda _: None
    most: int = MOST_NODES
    cut: bool = False
    _heap: list[tuple[Price, int, Node]] = field(default_factory=list)
    _seen: set[Key] = field(default_factory=set)
    _prices: dict[Hashable, Price] = field(default_factory=dict)
    _weighed: dict[int, tuple[Node, Callable[[], Iterable[Node]]]] = field(default_factory=dict)
    _order: Iterator[int] = field(default_factory=count)

    @cached_property
    def _floors(self) -> Floors:
        return Floors(self.ground)

    @property
    def ground(self) -> Ground:
        """Return the ground of the search."""
        return self.history.ground

    def add(self, nodes: Iterable[Node]) -> None:
        """Put nodes on the list of those to look at."""
        for node in nodes:
            touched = self.ground.touched(node)
            same, price = (node.choice, frozenset(touched.items())), self.ground.price(node, touched)
            known = self._prices.get(same)
            if not self.ground.breaks_a_lever(node, touched) and (known is None or price < known):
                self._prices[same] = price
                heappush(self._heap, (price, next(self._order), node))

    def run(self, wanted: Callable[[Node], bool] = lambda _: True) -> Iterator[Found]:
        """Yield the nodes that nothing speaks against, what gives up least first; only `wanted` ones are looked at."""
        looked = 0
        while self._heap and looked < self.most:
            price, _, node = heappop(self._heap)
            if id(node) in self._weighed:
                self.add(self._weighed.pop(id(node))[1]())
            elif wanted(node):
                looked += 1
                yield from self._look(node, price)
        self.cut = bool(self._heap)
        if self.cut and wanted(self._heap[0][2]):
            yield from self._down(wanted)

    def _down(self, wanted: Callable[[Node], bool]) -> Iterator[Found]:
        """Walk to a node without conflict, fewest conflicts first: not the best one, but one, when time is up."""
        node = self._heap[0][2]
        for _ in range(MOST_STEPS_DOWN):
            view = self.ground.view(node)
            condemned = [t for t in self.lessons if t.holds(view, self.ground)]
            if not condemned:
                yield from self._look(node, self.ground.price(node, self.ground.touched(node)))
                return
            smallest = min(condemned, key=lambda t: (len(t.core), len(t.undone)))
            near = moves.out_of(smallest, node, view, self.ground, self._bounding(view))
            ranked = [(self._conflicts(n), self.ground.price(n, self.ground.touched(n)), i, n)
                      for i, n in enumerate(near) if wanted(n) and not self._broken(n)]  # fmt: skip
            if not ranked:
                return
            node = min(ranked)[3]

    def _broken(self, node: Node) -> bool:
        return self.ground.breaks_a_lever(node, self.ground.touched(node))

    def _conflicts(self, node: Node) -> int:
        view = self.ground.view(node)
        return sum(t.holds(view, self.ground) for t in self.lessons) + (view.key in self.history.tried)

    def _look(self, node: Node, price: Price) -> Iterator[Found]:
        settings = self.ground.settings(node)
        view = self.ground.names.view(settings)
        if view.key in self._seen:
            return
        self._seen.add(view.key)
        findings = self.ground.findings(settings)
        if findings:
            if view.key not in self.history.rejected and view.key not in self.history.tried:
                yield Found(node, settings, view, findings)
            self.add(moves.past_the_parser(node, findings, self.ground))
        elif condemned := [t for t in self.lessons if t.holds(view, self.ground)]:
            self._put_off(node, price, view, condemned)
        elif (attempts := self._failed(settings, view)) or view.key in self.avoid:
            repairs = [r for a in attempts if a.diagnosis for r in a.diagnosis.repairs]
            causes = [a.diagnosis.cause for a in attempts if a.diagnosis and a.diagnosis.cause]
            suspects = [n for c in causes for n in c.suspects]
            named = bool(causes) and all(c.blames and c.confidence >= SURE for c in causes)
            self.add(moves.anywhere(node, view, repairs, self.ground, suspects, base=not named))
        else:
            yield Found(node, settings, view)

    def _put_off(self, node: Node, price: Price, view: View, condemned: list[Lesson]) -> None:
        """Go on from a condemned node only when nothing else can give up as little as its ways out must."""
        # Every conflict must be left in the end, so the way out of one is enough; the smallest leads on fastest.
        smallest = min(condemned, key=lambda t: (len(t.core), len(t.undone)))
        floor = self._floors.floor(node, condemned)
        weighed = (price[0], round(price[1] + floor, 9), price[2], price[3])
        # The node is kept beside its ways out, so that its id stays its own.
        self._weighed[id(node)] = (
            node,
            lambda: moves.out_of(smallest, node, view, self.ground, self._bounding(view)),
        )
        heappush(self._heap, (weighed, next(self._order), node))

    def _failed(self, settings: Settings, view: View) -> tuple[Attempt, ...]:
        twin = None if view.key in self.history.tried else self.history.resolved_as(settings) or self.again(view)
        return self.history.tried.get(view.key, ()) + ((twin,) if twin else ())

    def _bounding(self, view: View) -> Known:
        """Return the bounds that hold here: those of lessons whose other terms are true."""
        found = [
            (t, lesson)
            for lesson in self.lessons
            for t in lesson.core
            if t.op in {"<=", ">="}
            and all(terms.holds(o, view, self.ground.names) for o in lesson.terms if o.name != t.name)
        ]
        kinds, sides = Counter(lesson.kind for _, lesson in found), Counter((t.name, t.op) for t, _ in found)
        proposed = [
            (r, kinds[lesson.kind] == 1 and sides[t.name, t.op] <= FEW)
            for t, lesson in found
            for r in lesson.repairs
            if r.origin == "memory"
        ]
        fresh = tuple(r for r, new in proposed if new)
        return Known(tuple(t for t, _ in found), tuple(r for r, _ in proposed), fresh)
