"""Generated spaces: levers, base flags, and faults of the kinds that engines have."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any

from relight.words.knowledge import FlagFact, Knowledge, PhasePattern
from relight.words.parser import HostParser, ParserFlag
from relight.words.playbook import Budget, Lever, Playbook, Variant
from relight.words.settings import Repair

PHASES = ("args", "load_weights", "pools", "capture", "warmup")
BACKENDS = ("alpha", "beta", "gamma")
BASE = {"model": "m", "ranks": 8, "memory": 0.9, "backend": "alpha", "batch": 256, "chunk": 8192}
Flags = Mapping[str, Any]


@dataclass(frozen=True)
class Fault:
    """A reason to fail: `met` says when; the rest is what a right diagnosis would say."""

    id: str
    kind: str
    phase: int
    met: Callable[[Flags], bool]
    blames: tuple[str, ...] = ()
    repairs: tuple[Repair, ...] = ()
    exact: bool = False
    facts: Callable[[Flags], Mapping[str, Any]] = field(default=lambda _: {})
    mend: Callable[[Flags], tuple[Repair, ...]] | None = None

    def proposed(self, flags: Flags) -> tuple[Repair, ...]:
        """Return the repairs a right diagnosis proposes."""
        return self.mend(flags) if self.mend else self.repairs


@dataclass(frozen=True)
class Space:
    """A playbook, the engine's parser and knowledge, and the faults nobody is told."""

    playbook: Playbook
    parser: HostParser
    knowledge: Knowledge
    faults: tuple[Fault, ...]
    seed: int

    @property
    def size(self) -> int:
        """Count the combinations of variants."""
        total = 1
        for lever in self.playbook.levers:
            total *= len(lever.variants)
        return total


def generate(seed: int, *, faults: int | None = None, dummy: bool = False, attempts: int = 100000) -> Space:
    """Return the space of a seed: 2-6 levers of 2-4 variants, 0-5 faults."""
    random = Random(seed)
    levers = tuple(_lever(i, random) for i in range(random.randint(2, 6)))
    count = random.randint(0, 5) if faults is None else faults
    kinds = [random.choice(MAKERS) for _ in range(count)]
    book = Playbook(
        f"space-{seed}", flags=BASE, levers=levers, protect_flags=frozenset({"model", "ranks"}),
        budget=Budget(attempts=attempts, deadline=1e12, dummy=dummy),
    )  # fmt: skip
    made = [maker(f"f{i}", levers, random) for i, maker in enumerate(kinds)]
    return Space(book, _parser(levers), _knowledge(), tuple(made), seed)


def hopeless(seed: int) -> Space:
    """Return a space in which nothing can work: a fault of what is protected, or one for every variant of a lever.

    All its faults can be diagnosed. Failures nobody can name prove nothing: there a run ends with its budget.
    """
    space, random = generate(seed, attempts=100000), Random(seed + 7)
    space = replace(space, faults=tuple(f for f in space.faults if f.kind != "unknown"))
    if random.random() < 0.5:
        wall = Fault("wall", "kernel.no_image", 1, lambda f: f.get("ranks") == 8, ("ranks",))
        return replace(space, faults=(*space.faults, wall))
    first, *others = space.playbook.levers
    stuck = replace(first, variants=tuple(v for v in first.variants if not v.off))
    walls = [_blocked(f"wall{i}", stuck.name, f"v{i}") for i in range(len(stuck.variants))]
    book = replace(space.playbook, levers=(stuck, *others))
    return replace(space, playbook=book, faults=(*space.faults, *walls))


def _blocked(name: str, flag: str, value: str) -> Fault:
    return Fault(name, "kernel.unsupported_arch", 3, lambda f: f.get(flag) == value, (flag,))


def _lever(index: int, random: Random) -> Lever:
    count = random.randint(1, 3)
    values = [Variant({f"lever{index}": f"v{j}", **_extra(index, j, random)}) for j in range(count)]
    return Lever(f"lever{index}", (*values, Variant(off=True)), random.choice((0.5, 1.0, 2.0, 3.0)))


def _extra(index: int, position: int, random: Random) -> dict[str, Any]:
    return {f"lever{index}-depth": position + 2} if random.random() < 0.4 else {}


def _parser(levers: tuple[Lever, ...]) -> HostParser:
    own = [n for lever in levers for n in (lever.name, f"{lever.name}-depth", f"{lever.name}-mode")]
    types = {int: "int", float: "float", str: "str"}
    flags = [ParserFlag((n,), n.replace("-", "_"), types[type(v)]) for n, v in BASE.items()]
    flags += [ParserFlag((n,), n.replace("-", "_")) for n in own]
    return HostParser(tuple(flags), "1.0")


def _knowledge() -> Knowledge:
    facts = {
        "backend": FlagFact("backend", ladder=BACKENDS),
        "batch": FlagFact("batch", ladder=(256, 64, 8)),
        "memory": FlagFact("memory", bounds=(0.1, 0.99)),
    }
    return Knowledge(facts=facts, phases=tuple(PhasePattern(p, p, "begin", p) for p in PHASES))


def _some(levers: tuple[Lever, ...], random: Random) -> tuple[str, str]:
    lever = random.choice(levers)
    return lever.name, f"v{random.randrange(len(lever.variants) - 1)}"


def _companion(name: str, levers: tuple[Lever, ...], random: Random) -> Fault:
    """A lever's variant that wants another flag, named by the message."""
    flag, value = _some(levers, random)
    repair = Repair({f"{flag}-mode": "extra"}, why="asked for", origin="message", cost=0.5)
    return Fault(name, "args.conflict", 0, lambda f: f.get(flag) == value and f.get(f"{flag}-mode") != "extra",
                 (flag, f"{flag}-mode"), (repair,), exact=random.random() < 0.5)  # fmt: skip


def _pair(name: str, levers: tuple[Lever, ...], random: Random) -> Fault:
    """Two variants that exclude each other."""
    (a, va), (b, vb) = _some(levers, random), _some(levers, random)
    return Fault(name, "assertion.args", random.choice((0, 1)), lambda f: f.get(a) == va and f.get(b) == vb,
                 tuple(dict.fromkeys((a, b))), exact=random.random() < 0.5)  # fmt: skip


def _kernel(name: str, levers: tuple[Lever, ...], random: Random) -> Fault:
    """A variant for which this card has no kernel."""
    flag, value = _some(levers, random)
    return Fault(name, "kernel.unsupported_arch", random.choice((1, 3)), lambda f: f.get(flag) == value, (flag,))


def _backend(name: str, levers: tuple[Lever, ...], random: Random) -> Fault:
    """A base backend that does not go with a variant."""
    flag, value = _some(levers, random)
    bad = random.choice((BACKENDS[:1], BACKENDS[:2]))
    return Fault(name, "assertion.backend", 1, lambda f: f.get("backend") in bad and f.get(flag) == value,
                 ("backend", flag))  # fmt: skip


def _memory(name: str, levers: tuple[Lever, ...], random: Random) -> Fault:
    """Too little room beside the pools, the less the more levers are on; the sums give the bound."""
    weights = {lever.name: random.choice((0.0, 0.02, 0.05)) for lever in levers}
    roof = random.choice((0.85, 0.89, 0.93))

    def high(flags: Flags) -> float:
        return round(roof - sum(w for n, w in weights.items() if n in flags), 3)

    def mend(flags: Flags) -> tuple[Repair, ...]:
        value = round(high(flags) - 0.005, 3)
        return (Repair({"memory": value}, why=f"at most {high(flags)}", origin="memory", cost=0.5),)

    return Fault(name, "oom.gpu.graph_capture", 3, lambda f: float(f.get("memory", 0.9)) > high(f), ("memory",),
                 facts=lambda f: {"memory_high": high(f)}, mend=mend)  # fmt: skip


def _unknown(name: str, levers: tuple[Lever, ...], random: Random) -> Fault:
    """A variant that fails and nobody can say why."""
    flag, value = _some(levers, random)
    return Fault(name, "unknown", random.choice((2, 4)), lambda f: f.get(flag) == value)


MAKERS = (_companion, _companion, _pair, _pair, _kernel, _kernel, _backend, _memory, _memory, _unknown)
