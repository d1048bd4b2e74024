"""Reach the host and learn what a run must know of it."""

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from typing import Any

from relight.attempts.asked import asked_settings, called
from relight.attempts.busy import busy
from relight.attempts.learn import recall
from relight.attempts.memory import without
from relight.attempts.site import Known, Site
from relight.hosts.nodes import Nodes
from relight.hosts.values import HostError, HostFacts
from relight.words.diagnosis import Engine
from relight.words.errors import PersonError, UsageError
from relight.words.host import CONFIG_FILE_FROM, Gpu, GpuProcess
from relight.words.knowledge import version_key
from relight.words.parser import HostParser


def reach(site: Site) -> Known:
    """Connect, ask what every run needs, journal it; on resume the memory seen first stays the baseline."""
    with busy(site, f"connecting to {site.order.spec.name}"):
        facts = site.host.connect()
    pool = ThreadPoolExecutor(3, thread_name_prefix="reach")
    try:
        with busy(site, "asking the host for its cards, and the engine there for its version and flags"):
            known = _known(site, facts, pool)
    finally:
        # Who breaks off does not wait for what is still asked.
        pool.shutdown(wait=False, cancel_futures=True)
    environment = {
        **described(facts, known.gpus),
        "engine_version": known.version,
        "built_for_cuda": known.parser.cuda if known.parser else None,
        "python": site.order.spec.python,
        **called(site.order),
        **_nodes(site),
    }
    engine = Engine(site.order.playbook.engine, known.version)
    asked = asked_settings(site.order, known.parser, known.version)
    site.note(
        "probed",
        record={"engine": engine, "environment": environment, "asked": asked},
        gpus=known.gpus,
        version=known.version,
        parser=len(known.parser.flags) if known.parser else 0,
        fault=known.parser_fault,
    )
    site.known = known
    _take_secret_flags(site, known.version)
    site.learned = recall(site, known)
    return known


def _known(site: Site, facts: HostFacts, pool: ThreadPoolExecutor) -> Known:
    """Ask at once what each starts a program on the host, and needs none of the others."""
    asked_version, asked_parser = pool.submit(_version, site), pool.submit(_parser, site)
    seen = pool.submit(lambda: _baseline(site) or _before(site))
    version = _alike(site, asked_version.result())
    parser, fault = asked_parser.result()
    return Known(facts, seen.result(), version or (parser.version if parser else None), parser, fault)


def _take_secret_flags(site: Site, version: str | None) -> None:
    """Refuse to launch where secret flags would have to stand on the command line."""
    spec = next((spec for spec in site.order.hosts if spec.secret_flags), None)
    if spec and version and version_key(version) < version_key(CONFIG_FILE_FROM):
        text = f"secret flags need SGLang {CONFIG_FILE_FROM} or newer, which takes them from a file; this is {version}"
        then = "upgrade it, or take the secret flags out"
        raise UsageError(text, place=f"hosts.toml: [hosts.{spec.name}.secret-flags]", next=then)


def _version(site: Site) -> str | None:
    try:
        return site.host.engine_version()
    except HostError:
        _interpreter(site)
        # A version that is not known is no error; the log may tell it.
        return None


def _alike(site: Site, version: str | None) -> str | None:
    """Return the version of all nodes. PersonError where they differ: one server is one version.

    What runs already is past that question.
    """
    if not isinstance(site.host, Nodes) or site.record.attempts:
        return version
    try:
        versions = site.host.engine_versions()
    except HostError:
        _interpreter(site)
        return version
    if len({one for one in versions if one}) > 1:
        named = (f"{host.spec.name} {one}" for host, one in zip(site.nodes, versions, strict=True))
        text = f"the nodes have different versions of the engine: {', '.join(named)}"
        raise PersonError(text, place=site.order.spec.name, next="install the same version on all of them")
    return version


def _nodes(site: Site) -> Mapping[str, Any]:
    """Return what a report says of each of several nodes."""
    if not isinstance(site.host, Nodes):
        return {}
    named = zip(site.nodes, site.host.facts, strict=True)
    fields = ("hostname", "kernel", "boot_id", "clock_offset", "round_trip")
    return {"nodes": tuple({"host": h.spec.name, **{f: getattr(facts, f) for f in fields}} for h, facts in named)}


def _parser(site: Site) -> tuple[HostParser | None, str]:
    try:
        return site.host.parser(), ""
    except HostError as fault:
        _interpreter(site)
        # Without the host's parser the launch itself shows what is refused; the report says why it was not asked.
        return None, str(fault)


def _interpreter(site: Site) -> None:
    """Refuse to go on where the interpreter that hosts.toml names is not there."""
    for host in site.nodes:
        try:
            host.run(("PYTHON", "-c", ""))
        except HostError as fault:
            then = "name the one that has the engine; `relight init` finds those"
            raise UsageError(fault.text, place=f"hosts.toml: [hosts.{host.spec.name}] python", next=then) from fault


def _baseline(site: Site) -> tuple[Gpu, ...]:
    stored = site.record.environment.get("gpus", ())
    return tuple(g if isinstance(g, Gpu) else _gpu(g) for g in stored)


def _before(site: Site) -> tuple[Gpu, ...]:
    """Return the cards as they will be once the servers of earlier runs are gone: this run may take their place."""
    ours = {host.spec.name: {p.pid for p in host.processes() if p.ours} for host in site.nodes}
    first = next(iter(ours))
    return tuple(without(gpu, ours.get(gpu.node or first, ())) for gpu in site.host.gpus())


def _gpu(stored: Mapping[str, Any]) -> Gpu:
    return Gpu(**{**stored, "processes": tuple(GpuProcess(**p) for p in stored.get("processes", ()))})


def described(facts: HostFacts, gpus: tuple[Gpu, ...]) -> Mapping[str, Any]:
    """Return what the report says about the host."""
    return {
        "hostname": facts.hostname,
        "kernel": facts.kernel,
        "boot_id": facts.boot_id,
        "container": facts.container,
        "driver": gpus[0].driver if gpus else "",
        "gpus": tuple(asdict(gpu) for gpu in gpus),
        "clock_offset": facts.clock_offset,
    }
