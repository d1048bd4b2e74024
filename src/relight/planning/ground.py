"""The ground a search moves on: nodes, the settings they stand for, and what they give up."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from operator import ne
from typing import Any, TypeAlias

from relight.planning import conditions, equal
from relight.planning.names import Names, View, names_of
from relight.planning.parse_rung import Finding, flag_finding
from relight.planning.protect import Guard, guard_of
from relight.planning.settings import layered, unfit, variant_at
from relight.planning.world import World
from relight.words.condition import Condition
from relight.words.parser import HostParser
from relight.words.playbook import Lever, Playbook, Variant
from relight.words.settings import Change, FlagValue, Origin, Repair, Settings
from relight.words.step import Candidate

Price: TypeAlias = tuple[int, float, float, int]
Touched: TypeAlias = dict[tuple[str, bool], Any]
Marks: TypeAlias = frozenset[tuple[tuple[str, bool], Any]]
TRUST: Mapping[Origin, int] = {
    "operator": 0, "message": 1, "source": 2, "memory": 3, "signature": 4, "lever": 5, "isolation": 6,
}  # fmt: skip
# What a change gives up is weighed by how likely it is to help: a repair the failure itself names is worth
# trying before a lever of the same price is dropped on suspicion.
WEIGHT: Mapping[Origin, float] = {
    "operator": 0.1, "message": 0.25, "source": 0.25, "memory": 0.25, "signature": 0.5, "lever": 1.0, "isolation": 1.0,
}  # fmt: skip


# A repair that gives up nothing and was seen to get past its failure costs no more than that it might not matter.
HELPED = 0.2


@dataclass(frozen=True)
class Node:
    """A point of the search: the position of every lever's variant (None = off) and the repairs on top."""

    choice: tuple[int | None, ...]
    repairs: tuple[Repair, ...] = ()

    def at(self, lever: int, position: int | None) -> "Node":
        """Return this node with one lever elsewhere."""
        return Node((*self.choice[:lever], position, *self.choice[lever + 1 :]), self.repairs)

    def plus(self, repair: Repair) -> "Node":
        """Return this node with one more repair, without earlier ones that it overrules."""
        kept = tuple(r for r in self.repairs if not (r.names <= repair.names and r.variables <= repair.variables))
        return Node(self.choice, (*kept, repair))


@dataclass(frozen=True)
class Reading:
    """A change as the search sees it: the names it touches, and what it adds to a price."""

    change: Change
    touched: Touched
    price: Price


@dataclass(frozen=True)
class Broken:
    """A condition, what it reads, and which values of that are known to break it."""

    condition: Condition
    reads: tuple[tuple[str, bool], ...]
    answers: dict[tuple[Any, ...], bool] = field(default_factory=dict)


@dataclass(frozen=True)
class Ground:
    """One playbook in one world, prepared for a search. `helped` are changes that were seen to get past a failure."""

    playbook: Playbook
    world: World
    names: Names
    guard: Guard
    positions: tuple[tuple[int | None, ...], ...]
    unfit: Mapping[tuple[int, int], str]
    helped: frozenset[Marks] = frozenset()
    _readings: dict[int, Reading] = field(default_factory=dict, compare=False)
    _findings: dict[tuple[str, equal.Plain], tuple[Finding, ...]] = field(default_factory=dict, compare=False)
    _broken: dict[int, Broken] = field(default_factory=dict, compare=False)

    @property
    def levers(self) -> tuple[Lever, ...]:
        """Return the playbook's levers."""
        return self.playbook.levers

    @cached_property
    def start(self) -> Node | None:
        """Return what the operator wants most, None if a lever has no variant that fits."""
        if not all(self.positions):
            return None
        return Node(tuple(p[0] for p in self.positions))

    def variant(self, lever: int, position: int | None) -> Variant:
        """Return the variant of a lever at a position."""
        return variant_at(self.levers[lever], position)

    def settings(self, node: Node) -> Settings:
        """Return the settings a node stands for."""
        variants = [self.variant(i, p) for i, p in enumerate(node.choice)]
        changes: list[Change] = [*node.repairs, self.world.overrides]
        return layered(self.playbook, variants, changes, self.world.host_env, self.names)

    def view(self, node: Node) -> View:
        """Return a node's settings as they are compared."""
        return self.names.view(self.settings(node))

    def loss(self, lever: int, position: int | None) -> float:
        """Return what is given up of a lever at a position: 0 at its first variant, `keep` when it is off."""
        return self._losses[lever, position]

    @cached_property
    def _losses(self) -> Mapping[tuple[int, int | None], float]:
        found: dict[tuple[int, int | None], float] = {}
        for i, lever in enumerate(self.levers):
            found[i, None] = 0.0 if lever.variants[0].off else lever.keep
            found |= {(i, j): lever.keep * (j - 1) / len(lever.variants) for j in range(1, len(lever.variants) + 1)}
        return found

    def touched(self, node: Node) -> Touched:
        """Return what a node's repairs, and the overrides, come to: names (True: a variable) and their values."""
        found: Touched = {}
        for change in (*node.repairs, self.world.overrides):
            found.update(self._read(change).touched)
        return found

    def _read(self, change: Change) -> Reading:
        if id(change) not in self._readings:
            flags = [(n, None) for n in change.unset] + [(n, self.names.value(n, v)) for n, v in change.set.items()]
            env = [(n, None) for n in change.unset_env] + list(change.set_env.items())
            named: Touched = {(self.names.canonical(n), False): v for n, v in flags} | {(n, True): v for n, v in env}
            price: Price = (0, 0.0, 0.0, len(flags) + len(env))
            if isinstance(change, Repair):
                alters = int(change.alters_answers or self.guard.alters_answers(change))
                likely = HELPED if frozenset(named.items()) in self.helped else 1.0
                price = (alters, change.cost * WEIGHT[change.origin] * likely, TRUST[change.origin], price[3])
            # The change is kept beside its reading, so that its id stays its own.
            self._readings[id(change)] = Reading(change, named, price)
        return self._readings[id(change)]

    def with_helped(self, repairs: Iterable[Repair]) -> "Ground":
        """Return this ground where `repairs` are known to have got past a failure."""
        helped = frozenset(frozenset(self._read(r).touched.items()) for r in repairs)
        return replace(self, helped=helped, _readings={}) if helped else self

    def lost(self, node: Node, touched: Touched) -> float:
        """Return what a node gives up of the levers, repairs that undo a variant included."""
        return sum(self.loss(i, None if self._undone(i, p, touched) else p) for i, p in enumerate(node.choice))

    def breaks_a_lever(self, node: Node, touched: Touched) -> bool:
        """Say whether repairs undo a lever that has no "off": it always keeps one of its variants."""
        return bool(node.repairs) and any(
            i in self.kept_on and self._undone(i, p, touched) for i, p in enumerate(node.choice)
        )

    @cached_property
    def kept_on(self) -> frozenset[int]:
        """Return the levers that may not be off."""
        return frozenset(i for i, lever in enumerate(self.levers) if not any(v.off for v in lever.variants))

    def held(self, lever: int, node: Node) -> int | None:
        """Return where a node has a lever, None where it is off or repairs undo its variant."""
        position = node.choice[lever]
        return None if self._undone(lever, position, self.touched(node)) else position

    def _undone(self, lever: int, position: int | None, touched: Touched) -> bool:
        if not touched or position is None:
            return False
        first, value = self._firsts[lever, position]
        changed = (first, False) in touched and touched[first, False] != value
        return changed and not any(new.items() <= touched.items() for new in self._renamed[lever, position])

    @cached_property
    def _renamed(self) -> Mapping[tuple[int, int], tuple[Touched, ...]]:
        """Return, by lever and position, what stands for its first flag where this engine calls it something else."""
        return {
            (i, j): tuple(self._read(Change(set=new)).touched for new in self._other_names(variant))
            for i, lever in enumerate(self.levers)
            for j, variant in enumerate(lever.variants, 1)
        }

    def _other_names(self, variant: Variant) -> Iterable[Mapping[str, FlagValue]]:
        first = variant.first_flag
        return self.names.renamed(first, variant.flags[first]) if first else ()

    @cached_property
    def _firsts(self) -> Mapping[tuple[int, int], tuple[str, Any]]:
        """Return, by lever and position, the flag that decides whether the variant is still there, and its value."""
        found: dict[tuple[int, int], tuple[str, Any]] = {}
        for i, lever in enumerate(self.levers):
            for j, variant in enumerate(lever.variants, 1):
                first = variant.first_flag or ""
                found[i, j] = (self.names.canonical(first), self.names.value(first, variant.flags.get(first)))
        return found

    def alters(self, node: Node) -> int:
        """Count the repairs of a node that can alter answers."""
        return sum(self._read(r).price[0] for r in node.repairs)

    def price(self, node: Node, touched: Touched) -> Price:
        """Return what orders the search: changes that alter answers, what is given up, distrust, size."""
        alters, cost, trust, size = 0, self.lost(node, touched), 0.0, self._moved(node)
        for repair in node.repairs:
            more = self._read(repair).price
            alters, cost, trust, size = alters + more[0], cost + more[1], trust + more[2], size + more[3]
        return alters, round(cost, 9), trust, size

    def _moved(self, node: Node) -> int:
        start = self.start.choice if self.start else node.choice
        return sum(map(ne, start, node.choice))

    def candidate(self, node: Node, repairs: tuple[Repair, ...] | None = None) -> Candidate:
        """Return a node in the words the other rooms share."""
        settings = self.settings(node)
        choice = {lever.name: p for lever, p in zip(self.levers, node.choice, strict=True)}
        cost = self.price(node, self.touched(node))[1]
        return Candidate(settings, choice, node.repairs if repairs is None else repairs, cost, self.alters_wanted(node))

    @cached_property
    def mentioned(self) -> Mapping[tuple[str, bool], frozenset[int]]:
        """Return which levers name a flag (by first long name) or, with True, a variable in any fit variant."""
        found: dict[tuple[str, bool], frozenset[int]] = {}
        for i, positions in enumerate(self.positions):
            for variant in (self.variant(i, p) for p in positions):
                for name in [
                    *((self.names.canonical(n), False) for n in variant.flags),
                    *((n, True) for n in variant.env),
                ]:
                    found[name] = found.get(name, frozenset()) | {i}
        return found

    def firsts_of(self, lever: int, position: int | None) -> Mapping[str, equal.Plain]:
        """Return the flags of a variant as they are compared."""
        return {self.names.canonical(n): self.names.value(n, v) for n, v in self.variant(lever, position).flags.items()}

    def findings(self, settings: Settings) -> tuple[Finding, ...]:
        """Return what the host's parser refuses in `settings`; () where the parser is not known."""
        parser = self.world.parser
        return (
            () if parser is None else tuple(f for item in settings.flags.items() for f in self._finding(*item, parser))
        )

    def broken(self, condition: Condition, view: View) -> bool:
        """Say whether settings surely break a condition of the engine's."""
        if id(condition) not in self._broken:
            # The condition is kept beside what is known of it, so that its id stays its own.
            self._broken[id(condition)] = Broken(condition, conditions.read_by(condition, self.names))
        known = self._broken[id(condition)]
        values = tuple((view.env if env else view.flags).get(name) for name, env in known.reads)
        if values not in known.answers:
            known.answers[values] = conditions.broken(condition, view, self.names)
        return known.answers[values]

    def _finding(self, name: str, value: FlagValue, parser: HostParser) -> tuple[Finding, ...]:
        known = (name, equal.plain(value, None))
        if known not in self._findings:
            found = flag_finding(name, value, parser, self.world.knowledge)
            self._findings[known] = (found,) if found else ()
        return self._findings[known]

    def alters_wanted(self, node: Node) -> bool:
        """Say whether the answers can differ from those of the settings the operator asked for."""
        return self.alters(node) > 0 or any(
            self.guard.alters_answers(self._difference(i, p)) for i, p in enumerate(node.choice)
        )

    def _difference(self, lever: int, position: int | None) -> Change:
        wanted = self.variant(lever, self.positions[lever][0])
        got = self.variant(lever, position)
        flags = {n: v for v_ in (wanted, got) for n, v in v_.flags.items() if wanted.flags.get(n) != got.flags.get(n)}
        env = {n: v for v_ in (wanted, got) for n, v in v_.env.items() if wanted.env.get(n) != got.env.get(n)}
        return Change(set=flags, set_env=env)


def ground_of(playbook: Playbook, world: World) -> Ground:
    """Prepare a playbook for a search in `world`."""
    names = names_of(playbook, world.parser, world.knowledge.renames)
    reasons = {
        (i, j): why
        for i, lever in enumerate(playbook.levers)
        for j, variant in enumerate(lever.variants, 1)
        if (why := unfit(variant, world.parser, world.version))
    }
    positions = tuple(_positions(i, lever, reasons) for i, lever in enumerate(playbook.levers))
    guard = guard_of(playbook, world.overrides, names, world.knowledge, world.gpu_count, world.share)
    return Ground(playbook, world, names, guard, positions, reasons)


def _positions(index: int, lever: Lever, unfit_: Mapping[tuple[int, int], str]) -> tuple[int | None, ...]:
    fit = [(j, v) for j, v in enumerate(lever.variants, 1) if (index, j) not in unfit_]
    return tuple(None if v.off else j for j, v in fit)
