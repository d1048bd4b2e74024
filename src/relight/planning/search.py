"""Best-first search for the settings that give up least and are not known to fail."""

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from heapq import heappop, heappush
from itertools import count

from relight.planning import moves, terms
from relight.planning.equal import Key
from relight.planning.ground import Ground, Node, Price
from relight.planning.history import History
from relight.planning.lessons import Lesson
from relight.planning.names import View
from relight.planning.parse_rung import Finding
from relight.words.attempt import Attempt, Term
from relight.words.settings import Settings

MOST_NODES = 1000


@dataclass(frozen=True)
class Found:
    """A node nothing speaks against; `findings` if the parser would refuse it and that is not on record yet."""

    node: Node
    settings: Settings
    view: View
    findings: tuple[Finding, ...] = ()


@dataclass
class Search:
    """A search under way. `cut` says that it ended with nodes left to look at."""

    history: History
    lessons: Sequence[Lesson]
    avoid: frozenset[Key] = frozenset()
    most: int = MOST_NODES
    cut: bool = False
    _heap: list[tuple[Price, int, Node]] = field(default_factory=list)
    _seen: set[Key] = field(default_factory=set)
    _prices: dict[Hashable, Price] = field(default_factory=dict)
    _order: Iterator[int] = field(default_factory=count)

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
        for _ in range(self.most):
            if not self._heap:
                return
            node = heappop(self._heap)[2]
            if wanted(node):
                yield from self._look(node)
        self.cut = bool(self._heap)

    def _look(self, node: Node) -> Iterator[Found]:
        settings = self.ground.settings(node)
        view = self.ground.names.view(settings)
        if view.key in self._seen:
            return
        self._seen.add(view.key)
        findings = self.ground.findings(settings)
        if findings and view.key not in self.history.rejected and view.key not in self.history.tried:
            yield Found(node, settings, view, findings)
        onward = self._onward(node, settings, view, findings)
        if onward is None:
            yield Found(node, settings, view)
        else:
            self.add(onward)

    def _onward(
        self, node: Node, settings: Settings, view: View, findings: tuple[Finding, ...]
    ) -> Iterable[Node] | None:
        """Return where to go from a node that is known to fail, None if it is not."""
        if findings:
            return moves.past_the_parser(node, findings, self.ground)
        # Every conflict must be left in the end, so the way out of one is enough; the smallest leads on fastest.
        condemned = [t for t in self.lessons if t.holds(view, self.ground)]
        if condemned:
            smallest = min(condemned, key=lambda t: (len(t.core), len(t.undone)))
            return moves.out_of(smallest, node, view, self.ground, self._bounding(view))
        attempts = self._failed(settings, view)
        if attempts or view.key in self.avoid:
            repairs = [r for a in attempts if a.diagnosis for r in a.diagnosis.repairs]
            return moves.anywhere(node, view, repairs, self.ground)
        return None

    def _failed(self, settings: Settings, view: View) -> tuple[Attempt, ...]:
        twin = None if view.key in self.history.tried else self.history.resolved_as(settings)
        return self.history.tried.get(view.key, ()) + ((twin,) if twin else ())

    def _bounding(self, view: View) -> list[Term]:
        """Return the bounds that hold here: those of lessons whose other terms are true."""
        return [
            t
            for lesson in self.lessons
            for t in lesson.core
            if t.op in {"<=", ">="}
            and all(terms.holds(o, view, self.ground.names) for o in lesson.core if o.name != t.name)
        ]
