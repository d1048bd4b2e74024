"""What is wrong with a host for a deployment, from what was seen of it. Pure."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from textwrap import shorten
from typing import Literal, TypeAlias

from relight.cli.model import GIB, ModelSeen, in_units
from relight.cli.seen import Seen
from relight.words.host import CONFIG_FILE_FROM, Gpu, HostSpec
from relight.words.knowledge import version_key
from relight.words.settings import Settings

Severity: TypeAlias = Literal["error", "warning", "note"]
DEFAULT_PORT = 30000
ORDER = ("error", "warning", "note")


@dataclass(frozen=True)
class Finding:
    """One thing worth knowing before a launch: how bad, where, what, what to do about it, and lines that show it."""

    severity: Severity
    place: str
    text: str
    next: str = ""
    detail: tuple[str, ...] = ()


def host_findings(spec: HostSpec, settings: Settings, seen: Seen) -> tuple[Finding, ...]:
    """Return what the host itself shows, worst first."""
    parts = (_host, _engine, _cards, _ports, _room, _limits, _left, _model)
    found = [finding for part in parts for finding in part(spec, settings, seen)]
    found += [Finding("warning", spec.name, fault, "this could not be checked") for fault in seen.unasked]
    return ordered(found)


def ordered(found: Iterable[Finding]) -> tuple[Finding, ...]:
    """Return findings worst first, otherwise in their order."""
    return tuple(sorted(found, key=lambda f: ORDER.index(f.severity)))


def _host(spec: HostSpec, settings: Settings, seen: Seen) -> Iterator[Finding]:
    facts = seen.facts
    yield Finding(
        "note", spec.name, f"{facts.user}@{facts.hostname}, kernel {facts.kernel}, Python {facts.python_version}"
    )
    if facts.kills_user_processes:
        text = "logind kills what a login leaves running (KillUserProcesses)"
        yield Finding("warning", spec.name, text, f"run `loginctl enable-linger {facts.user}` there")
    if abs(facts.clock_offset) > 5:
        yield Finding(
            "note", spec.name, f"its clock differs from ours by {facts.clock_offset:.0f} s", "times are mapped"
        )
    proxies = sorted(
        n for n, v in facts.proxies.items() if v and n.lower() in {"http_proxy", "https_proxy", "all_proxy"}
    )
    spared = settings.env.get("NO_PROXY") or facts.proxies.get("no_proxy") or facts.proxies.get("NO_PROXY") or ""
    if proxies and "127.0.0.1" not in spared and "localhost" not in spared:
        text = f"{', '.join(proxies)} is set and NO_PROXY spares neither 127.0.0.1 nor localhost"
        yield Finding(
            "warning", spec.name, text, 'add NO_PROXY = "127.0.0.1,localhost" to [env]: the warm-up asks itself'
        )


def _engine(spec: HostSpec, settings: Settings, seen: Seen) -> Iterator[Finding]:  # noqa: ARG001
    if seen.parser is None:
        others = [f"{i.path} ({i.version or 'version unknown'})" for i in seen.interpreters]
        then = f"these have it: {', '.join(others)}" if others else "install it there, or name its python in hosts.toml"
        yield Finding("error", f"{spec.name}: python", f"{spec.python} has no engine to ask: {seen.parser_fault}", then)
    else:
        yield Finding("note", f"{spec.name}: engine", f"SGLang {seen.version or 'of unknown version'}")
    if spec.secret_flags and seen.version and version_key(seen.version) < version_key(CONFIG_FILE_FROM):
        text = f"secret-flags need SGLang {CONFIG_FILE_FROM} or newer (--config); this is {seen.version}"
        yield Finding("error", f"{spec.name}: secret-flags", text, "upgrade, or take the secret flags out")
    if seen.images:
        some = ", ".join(seen.images[:3]) + (" ..." if len(seen.images) > 3 else "")
        yield Finding(
            "note", f"{spec.name}: containers", f"images seen: {some}", "containers: not yet; SSH into one works"
        )


def _cards(spec: HostSpec, settings: Settings, seen: Seen) -> Iterator[Finding]:
    place = f"{spec.name}: gpus"
    if not seen.gpus:
        on_cpu = settings.flags.get("device") == "cpu"
        yield Finding("note" if on_cpu else "warning", place, "no NVIDIA GPUs are seen", "is the driver loaded?")
        return
    names = sorted({gpu.name for gpu in seen.gpus})
    memory = min(gpu.memory_total for gpu in seen.gpus)
    text = f"{len(seen.gpus)}x {', '.join(names)}, {memory} MiB, driver {seen.gpus[0].driver}"
    yield Finding("note", place, text)
    lacking = sorted(set(spec.gpus or ()) - {gpu.index for gpu in seen.gpus})
    if lacking:
        there = ", ".join(str(gpu.index) for gpu in seen.gpus)
        yield Finding(
            "error", place, f"no GPU {', '.join(map(str, lacking))}; there are: {there}", "mend gpus in hosts.toml"
        )
    wanted = cards_wanted(settings)
    if wanted > len(seen.gpus):
        yield Finding(
            "error", place, f"{wanted} GPUs are asked for, {len(seen.gpus)} are there", "lower tp-size or pp-size"
        )
    for gpu in seen.gpus:
        yield from _held(place, gpu, seen)


def cards_wanted(settings: Settings) -> int:
    """Return how many cards a launch uses on each of its nodes: tp-size times pp-size, shared out."""
    ranks = _number(settings, "tp-size", "tensor-parallel-size", "tp") * _number(settings, "pp-size", "pp")
    return -(-ranks // max(1, _number(settings, "nnodes")))


def _number(settings: Settings, *names: str) -> int:
    value = next((settings.flags[n] for n in names if n in settings.flags), 1)
    return int(str(value)) if str(value).isdigit() else 1


def _held(place: str, gpu: Gpu, seen: Seen) -> Iterator[Finding]:
    ours = {process.pid for process in seen.processes if process.ours}
    foreign = [p for p in gpu.processes if p.pid not in ours]
    if gpu.memory_used * 20 < gpu.memory_total or (gpu.processes and not foreign):
        return
    who = ", ".join(f"{p.name or 'a process'} (pid {p.pid}, {p.memory} MiB)" for p in foreign)
    text = (
        f"GPU {gpu.index}: {gpu.memory_used} of {gpu.memory_total} MiB are held by {who or 'a process we cannot see'}"
    )
    yield Finding("warning", place, text, "relight never ends what is not its own; leave this card out, or free it")


def _ports(spec: HostSpec, settings: Settings, seen: Seen) -> Iterator[Finding]:
    port = _number(settings, "port") if "port" in settings.flags else DEFAULT_PORT
    place = f"{spec.name}: port {port}"
    servers = [s for s in seen.servers if (s.port or DEFAULT_PORT) == port]
    for server in servers:
        text = f"the server of run {server.run or server.attempt_id} runs there"
        yield Finding("error", place, text, "--replace stops it first; or `relight stop`")
    for listener in seen.listeners if not servers else ():
        if listener.port == port:
            short = shorten(listener.command, 80, placeholder=" ...")
            who = f"{short} (pid {listener.pid})" if listener.pid else "a process we may not see"
            yield Finding("error", place, f"taken by {who}", 'end it, set another port, or [allow] flags = ["port"]')
    others = [s for s in seen.servers if s not in servers and _shares(s.gpus, spec.gpus, seen)]
    for server in others:
        text = f"the server of run {server.run or server.attempt_id} runs on these GPUs"
        yield Finding("error", f"{spec.name}: gpus", text, "--replace stops it first; or `relight stop`")


def _shares(theirs: tuple[int, ...] | None, ours: tuple[int, ...] | None, seen: Seen) -> bool:
    return bool(seen.gpus) and (not theirs or not ours or bool(set(theirs) & set(ours)))


def _room(spec: HostSpec, settings: Settings, seen: Seen) -> Iterator[Finding]:
    facts, disk = seen.facts, seen.disk
    if disk and disk.read_only:
        yield Finding("error", f"{spec.name}: {disk.path}", "nothing can be written there", "name another workdir")
    elif disk and disk.free < 10 * GIB:
        severity: Severity = "error" if disk.free < GIB // 4 else "warning"
        text = f"{disk.free / GIB:.1f} GiB are free; logs and compiled kernels need some"
        yield Finding(severity, f"{spec.name}: {disk.path}", text, "free some, or name another workdir")
    if facts.shm_total is not None and facts.shm_total < 1024 and cards_wanted(settings) > 1:
        text = f"it holds {facts.shm_total} MiB; several ranks need more"
        yield Finding("warning", f"{spec.name}: /dev/shm", text, "remount it larger; for a container --shm-size 16g")
    if seen.usage and seen.usage.attempts:
        text = f"{in_units(seen.usage.bytes)} of {counted(len(seen.usage.attempts), 'attempt')} are kept there"
        yield Finding(
            "note", f"{spec.name}: {seen.usage.workdir}", text, "`relight prune --yes --on-host` clears old ones"
        )


def counted(number: int, what: str) -> str:
    """Return a number of things."""
    return f"{number} {what}" + ("" if number == 1 else "s")


def _limits(spec: HostSpec, settings: Settings, seen: Seen) -> Iterator[Finding]:  # noqa: ARG001
    files = seen.facts.ulimits.get("nofile")
    if files is not None and files < 4096:
        text = f"{files} files may be open at once; every rank and request takes some"
        yield Finding("warning", f"{spec.name}: ulimit -n", text, "raise it to 65536 for this login")
    processes = seen.facts.ulimits.get("nproc")
    if processes is not None and processes < 4096:
        yield Finding(
            "warning", f"{spec.name}: ulimit -u", f"{processes} processes are allowed", "raise it for this login"
        )


def _left(spec: HostSpec, settings: Settings, seen: Seen) -> Iterator[Finding]:  # noqa: ARG001
    for left in seen.leftovers:
        text = f"{left.kind} {left.what} is left of attempt {left.attempt_id or 'unknown'}"
        yield Finding("warning", f"{spec.name}: leftovers", text, "the next launch clears it")


def _model(spec: HostSpec, settings: Settings, seen: Seen) -> Iterator[Finding]:
    model = seen.model
    if model is None:
        return
    place = f"{spec.name}: {model.name}"
    if not model.folder:
        yield _absent(place, model)
        return
    if model.missing:
        some = ", ".join(model.missing[:4]) + (" ..." if len(model.missing) > 4 else "")
        then = "the start fetches what is missing" if model.source == "hub" and not model.offline else "fetch it again"
        severity: Severity = "warning" if model.source == "hub" and not model.offline else "error"
        yield Finding(severity, place, f"{model.folder} lacks {some}", then)
    yield from _fits(place, model, settings, seen)


def _absent(place: str, model: ModelSeen) -> Finding:
    if model.source == "path":
        return Finding("error", place, "no such folder on the host", "mend model-path")
    if model.offline:
        return Finding("error", place, "not in the cache, and HF_HUB_OFFLINE forbids to fetch it", "fetch it first")
    free = f"; {model.disk.free / GIB:.0f} GiB are free on {model.disk.path}" if model.disk else ""
    return Finding("warning", place, f"not on the host yet: the first start fetches it{free}", "see [health] download")


def _fits(place: str, model: ModelSeen, settings: Settings, seen: Seen) -> Iterator[Finding]:
    if not model.bytes:
        return
    size = f"{in_units(model.bytes)} of weights"
    wanted = cards_wanted(settings)
    if not seen.gpus:
        yield Finding("note", place, size)
        return
    share = model.bytes / wanted / (1 << 20)
    room = min(gpu.memory_total for gpu in seen.gpus)
    text = f"{size}, {share / 1024:.1f} GiB on each of {wanted} GPUs with {room / 1024:.1f} GiB"
    if share > room * 0.98 and "cpu-offload-gb" not in settings.flags:
        yield Finding("error", place, f"{text}: they cannot fit", "raise tp-size, or take a smaller quantization")
    elif share > room * 0.85:
        yield Finding("warning", place, f"{text}: little is left for the cache", "raise tp-size if you can")
    else:
        yield Finding("note", place, text)
