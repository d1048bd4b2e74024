"""Measure the patience: scripted hangs called, slow starts left alone. Run: python benchmarks/patience.py [SEED]

Every start is a script of steps on a clock of its own; a look at the host comes every 10 seconds. A hang counts as
called when it is said within an hour; a slow start is a false alarm when "hung" is said at any moment.
"""

import random
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from statistics import median

from relight.attempts.patience import Patience, Pulse, read_patience
from relight.attempts.signs import Process, Signs
from relight.config import shipped

EVERY = 10.0
GIB = 1 << 30


@dataclass
class World:
    """A host with ranks and cards that a script moves."""

    rng: random.Random
    ranks: int = 8
    now: float = 0.0
    io: float = 0.0
    rss: float = 2.0 * GIB
    vram: float = 500.0
    cpu: float = 0.0
    watts: float = 90.0
    jitter: float = 2.0
    utilisation: float = 0.0
    compiler_cpu: float | None = None
    compiler: str = "/usr/local/cuda/bin/cicc --arch compute_120a"
    alone: float = 0.0
    idle_cards: int = 0
    faults: float = 0.0
    state: str = "R"
    noise: str = ""
    blind: bool = False
    lines: list[str] = field(default_factory=list)

    def signs(self) -> Signs:
        """Return what a look shows now."""
        if self.blind:
            return Signs(self.now)
        ranks = {
            n: Process(n, self.state, f"sglang::scheduler_TP{n}", self.cpu, int(self.io), int(self.rss / self.ranks))
            for n in range(self.ranks)
        }
        ranks[0] = replace(ranks[0], cpu=self.cpu + self.alone, faults=int(self.faults))
        ranks[90] = Process(
            90, "S", "/opt/sglang/bin/python -m sglang.launch_server --tp-size 8", 12.0, 4096, 700 << 20
        )
        if self.compiler_cpu is not None:
            ranks[99] = Process(99, "R", self.compiler, self.compiler_cpu)
        cards = range(self.ranks)
        watts = {n: self.watts + self.rng.uniform(-self.jitter, self.jitter) for n in cards}
        busy = {n: 0.0 if n < self.idle_cards else self.utilisation for n in cards}
        return Signs(self.now, ranks, dict.fromkeys(cards, int(self.vram)), watts, busy)


Step = Callable[[World, float], None]
Script = Iterator[tuple[str, str, float, Step]]


def still(world: World, seconds: float) -> None:
    """Nothing moves."""
    del world, seconds


def spin(world: World, seconds: float) -> None:
    """Ranks wait for each other: CPU and GPU full, little power, nothing else."""
    world.cpu += seconds
    world.utilisation, world.watts, world.jitter = 100.0, world.rng.uniform(88, 92), 1.5


def reading(rate: float) -> Step:
    def step(world: World, seconds: float) -> None:
        # A network volume stalls now and then, for minutes.
        if world.rng.random() < 0.9:
            world.io += rate * seconds
            world.vram += rate * seconds / world.ranks / (1 << 20)

    return step


def compiling(world: World, seconds: float) -> None:
    world.compiler_cpu = (world.compiler_cpu or 0.0) + seconds * world.rng.uniform(0.5, 1.0)


def idle_compiler(world: World, seconds: float) -> None:
    """A compiler that waits for a lock: it is there and uses nothing."""
    del seconds
    world.compiler_cpu = world.compiler_cpu or 0.3


def importing(world: World, seconds: float) -> None:
    world.cpu += seconds * world.rng.uniform(0.3, 1.0)
    world.rss += 4e6 * seconds


def heartbeat(world: World, seconds: float) -> None:
    del seconds
    world.noise = f"[c10d] waiting for the store, {world.now:.0f} s so far"


def small_io(world: World, seconds: float) -> None:
    world.io += 900 * seconds


# --- other ways to be slow ---


def stalling_download(world: World, seconds: float) -> None:
    """Bytes come for a minute, then not for ten."""
    if world.now % 700 < 60:
        world.io += 3e7 * seconds


def inductor(world: World, seconds: float) -> None:
    """Workers of the engine's own compiler burn the CPU; the log is silent."""
    world.compiler = "/opt/sglang/bin/python /opt/sglang/lib/torch/_inductor/compile_worker/__main__.py --workers=32"
    world.compiler_cpu = (world.compiler_cpu or 0.0) + seconds * 0.9


def one_rank_compiles(world: World, seconds: float) -> None:
    """One rank compiles inside itself; the others wait for it in a collective."""
    world.cpu += seconds
    world.utilisation, world.watts, world.jitter, world.idle_cards = 100.0, 95.0, 1.5, 1


def all_compile_inside(world: World, seconds: float) -> None:
    world.cpu += seconds
    world.utilisation = 0.0


def autotuning(world: World, seconds: float) -> None:
    """Kernels are tried one after the other: the use of the cards varies, their power hardly."""
    del seconds
    world.utilisation = world.rng.uniform(20, 100)
    world.jitter, world.watts = 3.0, 140.0


def computing(world: World, seconds: float) -> None:
    """One kernel after the other at full power."""
    world.cpu += seconds
    world.utilisation, world.watts, world.jitter = 100.0, 430.0, 4.0


def paging_in(world: World, seconds: float) -> None:
    """Pages of a mapped file come over the network: the rank sleeps in the kernel, nothing is read by name."""
    world.state = "D"
    world.faults += 40 * seconds


def swapping(world: World, seconds: float) -> None:
    world.state = "D"
    world.faults += 15 * seconds
    world.rss -= 1e5 * seconds


SLOW: dict[str, tuple[str, str, float, Step]] = {
    "a download that stalls": ("download", "Fetching 12 files:  8%|  | 1/12", 5400, stalling_download),
    "workers that compile": ("capture", "Capture cuda graph begin. avail mem=9.1 GB", 2100, inductor),
    "one rank compiles": ("warmup", "Application startup complete.", 1200, one_rank_compiles),
    "all compile inside": ("capture", "Capture cuda graph begin. avail mem=9.1 GB", 1500, all_compile_inside),
    "an autotune of 40 minutes": ("autotune", "Running FlashInfer autotune...", 2500, autotuning),
    "kernels at full power": ("jit", "Entering DeepGEMM JIT Pre-Compile session.", 1500, computing),
    "pages over the network": ("load_weights", "Load weight begin. avail mem=94.60 GB", 2400, paging_in),
    "swapping": ("load_weights", "Load weight begin. avail mem=94.60 GB", 1800, swapping),
    "the first request": ("warmup", "Application startup complete.", 108, still),
}


def other_slow_start(rng: random.Random, name: str) -> Script:
    """Yield a start that is slow in one way it may be slow in."""
    where, line, seconds, how = SLOW[name]
    for phase, text, usual, step in slow_start(rng):
        if phase == where:
            break
        yield phase, text, min(usual, 200), step
    yield where, line, seconds * rng.uniform(0.6, 1.0), how
    yield "serving", "The server is fired up and ready to roll!", 5, still


def slow_start(rng: random.Random) -> Script:
    """Yield (phase, line, seconds, step) of a start that takes long and ends well."""
    yield "args", "server_args=ServerArgs(model_path='/data/m')", rng.uniform(10, 120), importing
    yield "init_dist", "Init torch distributed begin.", rng.uniform(1, 110), still
    kind = rng.choice(["network", "repack", "download", "local", "draft"])
    if kind == "download":
        for i in range(12):
            yield "download", f"Fetching 12 files:  {i * 8}%|  | {i}/12", rng.uniform(60, 700), reading(4e7)
    yield "load_weights", "Load weight begin. avail mem=94.60 GB", rng.uniform(1, 20), still
    if kind == "network":
        yield (
            "load_weights",
            "Multi-thread loading shards:   0% Completed | 0/41",
            rng.uniform(900, 2400),
            reading(1.1e8),
        )
    for i in range(rng.choice([3, 41])):
        yield (
            "load_weights",
            f"Loading safetensors checkpoint shards: {i}% Completed | {i}/41",
            rng.uniform(1, 60),
            still,
        )
    if kind in {"repack", "draft"}:
        yield (
            "load_weights",
            "Loading safetensors checkpoint shards: 100% Completed | 41/41",
            rng.uniform(120, 280),
            still,
        )
    yield "pools", "KV Cache is allocated. #tokens: 464768", rng.uniform(0.1, 40), still
    yield from _kernels(rng)
    yield "warmup", "Application startup complete.", rng.uniform(5, 160), still
    yield "serving", "The server is fired up and ready to roll!", 5, still


def _kernels(rng: random.Random) -> Script:
    if rng.random() < 0.5:
        yield "autotune", "Running FlashInfer autotune...", rng.uniform(300, 2700), compiling
        yield "autotune", "FlashInfer autotune completed.", rng.uniform(1, 240), still
    if rng.random() < 0.3:
        yield "jit", "Entering DeepGEMM JIT Pre-Compile session.", rng.uniform(200, 1300), compiling
    yield "capture", "Capture cuda graph begin. avail mem=9.1 GB", rng.uniform(1, 100), still
    sizes = rng.choice([4, 12, 35])
    for i in range(sizes):
        text = f"Capturing batches (bs={64 - i} avail_mem=9.0 GB): {i * 100 // sizes}%|  | {i}/{sizes}"
        yield "capture", text, rng.uniform(0.5, rng.choice([4, 60, 290])), still


def warm_spin(world: World, seconds: float) -> None:
    """Ranks that wait, on cards whose power goes up and down by more than usual."""
    spin(world, seconds)
    world.jitter = 9.0


def hot_spin(world: World, seconds: float) -> None:
    """Ranks that wait, on cards that take much power for it."""
    spin(world, seconds)
    world.watts = world.rng.uniform(190, 194)


def cpu_spin(world: World, seconds: float) -> None:
    """Ranks that wait for each other on the CPU alone."""
    world.cpu += seconds


def one_left_out(world: World, seconds: float) -> None:
    """One rank sleeps, the others wait for it in a collective."""
    world.cpu += seconds
    world.alone -= seconds
    world.utilisation, world.watts, world.jitter, world.idle_cards = 100.0, 95.0, 1.5, 1


def dead_mount(world: World, seconds: float) -> None:
    del seconds
    world.state = "D"


HANGS: dict[str, tuple[tuple[str, ...], Step]] = {
    "ranks spin": (("init_dist", "pools", "capture", "warmup"), spin),
    "dead lock": (("args", "init_dist", "load_weights", "pools", "capture", "warmup", "scheduler"), still),
    "lost file server": (("load_weights", "download"), still),
    "heartbeat lines": (("init_dist", "load_weights", "capture"), heartbeat),
    "waits for a compile lock": (("autotune", "jit", "capture", "warmup"), idle_compiler),
    "a little traffic": (("init_dist", "load_weights", "warmup", "serving"), small_io),
    "warm cards spin": (("init_dist", "capture", "warmup", "autotune"), warm_spin),
    "hot cards spin": (("capture", "warmup", "autotune"), hot_spin),
    "ranks spin on the CPU": (("init_dist", "capture", "warmup", "scheduler", "load_weights"), cpu_spin),
    "one rank left out": (("capture", "warmup", "autotune", "pools"), one_left_out),
    "a dead mount": (("load_weights",), dead_mount),
}


def hang(rng: random.Random) -> tuple[str, Script]:
    """Return the kind of a hang and a script that ends in one."""
    kind = rng.choice(list(HANGS))
    phases, step = HANGS[kind]
    where = rng.choice(phases)
    return f"{kind} in {where}", _hanging(rng, where, step)


def _hanging(rng: random.Random, where: str, step: Step) -> Script:
    for phase, line, seconds, how in slow_start(rng):
        if phase == where:
            yield phase, line, rng.uniform(0, 10), how
            break
        yield phase, line, min(seconds, 200), how
    yield where, f"{where} goes on", 3600, step


def play(script: Script, world: World, patience: Patience) -> tuple[float, float] | None:
    """Return when "hung" was said and how long the last step had run by then, None when it never was."""
    pulse = Pulse(patience, began=0.0)
    next_look = 0.0
    for phase, line, seconds, step in script:
        pulse.hear(world.now, line, phase)
        begun, end = world.now, world.now + seconds
        while world.now < end:
            delta = min(1.0, end - world.now)
            world.now += delta
            step(world, delta)
            if world.noise and int(world.now) % 20 == 0:
                pulse.hear(world.now, world.noise, phase)
            if world.now >= next_look:
                pulse.look(world.signs())
                next_look = world.now + EVERY
            if pulse.assess(world.now).state == "hung":
                return world.now, world.now - begun
        world.compiler_cpu, world.utilisation, world.noise, world.state = None, 0.0, "", "R"
    return None


def measure(
    seed: int, patience: Patience, *, hangs: int = 200, slow: int = 500
) -> tuple[list[str], list[str], list[float]]:
    """Return the hangs that were missed, the false alarms, and the seconds from hang to call."""
    rng = random.Random(seed)
    missed, alarms, seconds = [], [], []
    for n in range(hangs):
        name, script = hang(rng)
        called = play(script, World(rng, blind=rng.random() < 0.1), patience)
        if called is None:
            missed.append(f"hang {n}: {name}")
        else:
            seconds.append(called[1])
    for n in range(slow):
        name = rng.choice(list(SLOW)) if n % 2 else "usual"
        called = play(other_slow_start(rng, name) if n % 2 else slow_start(rng), World(rng), patience)
        if called:
            alarms.append(f"slow start {n}: {name}: called hung after {called[0]:.0f} s")
    return missed, alarms, seconds


def main() -> None:
    """Print both rates and how long a hang takes to be called."""
    seed = int(sys.argv[1]) if len(sys.argv) > 1 else 1
    patience = read_patience((shipped.engine() / "patience.toml").read_text())
    missed, alarms, seconds = measure(seed, patience)
    print(f"seed {seed}: called {200 - len(missed)} of 200 hangs ({(200 - len(missed)) / 2:.1f} %)", end=", ")
    print(f"after {median(seconds):.0f} s in the middle, {max(seconds):.0f} s at most")
    print(f"seed {seed}: {len(alarms)} false alarms in 500 slow starts")
    print("missed:", dict(Counter(m.partition(": ")[2] for m in missed)))
    print("alarms:", dict(Counter(a.split(": ")[1] for a in alarms)))


if __name__ == "__main__":
    main()
