"""Ask the engine's own argument validation: a script for the host's interpreter (stdlib only, grammar of Python 3.8).

It reads one JSON request from stdin and prints one marked line of JSON. The engine is imported once by a worker; each
candidate is a forked child that runs the real validation under limits and is then killed with all it started. A
candidate whose environment differs in variables that were read during the import gets a worker of its own.
relight.hosts.oracle builds the request and reads the answer.
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import fcntl
import functools
import gc
import importlib
import json
import os
import resource
import shutil
import sys
import tempfile
import time
import traceback
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    # On the host both parts of the script run in one namespace.
    from relight.hosts.oracle_processes import SUBREAPER, ImportsTold, fork, kill, lines, prctl, reap, rss, send  # noqa: TC004

TEXT, ITEM = 8000, 2000
SHARES, SHARED, SIGN = 4, 6, 5.0


def oracle_script() -> tuple[bytes, ...]:
    """Return the parts of the script as they are sent to a host."""
    here = Path(__file__)
    return here.with_name("oracle_processes.py").read_bytes(), here.read_bytes()


# --- one candidate


def plain(value: Any, depth: int = 0) -> Any:
    """Return `value` as JSON can hold it, cut where it is deep or long."""
    if isinstance(value, (bool, int, float, type(None))):
        return value
    if isinstance(value, str):
        return value[:ITEM]
    if depth < 4 and isinstance(value, dict):
        return {str(k): plain(v, depth + 1) for k, v in list(value.items())[:200]}
    if depth < 4 and isinstance(value, (list, tuple, set, frozenset)):
        return [plain(v, depth + 1) for v in list(value)[:200]]
    return repr(value)[:200]


def resolved(settings: Any) -> dict[str, Any]:
    """Return what validation made of the settings, field by field."""
    if hasattr(settings, "resolved_dict"):
        return {name: plain(value, 1) for name, value in settings.resolved_dict().items()}
    return {f.name: plain(getattr(settings, f.name, None), 1) for f in dataclasses.fields(settings)}


def entrance() -> Callable[[list[str]], Any]:
    """Return what makes settings of a command line in this release. AttributeError where it has nothing for that."""
    module = importlib.import_module("sglang.srt.server_args")
    ready = getattr(module, "prepare_server_args", None)
    if ready is not None:
        return ready  # type: ignore[no-any-return]
    add, make = module.ServerArgs.add_cli_args, module.ServerArgs.from_cli_args

    def parse(argv: list[str]) -> Any:
        parser = argparse.ArgumentParser()
        add(parser)
        return make(parser.parse_args(argv))

    return parse


def validate(argv: list[str]) -> Any:
    """Run the argument validation that a launch runs before it starts anything, and return the settings."""
    settings = entrance()(argv)
    for step in ("resolve_once", "check_server_args"):
        if hasattr(settings, step):
            getattr(settings, step)()
    return settings


def refusal(kind: Any, fault: Any, trace: Any) -> dict[str, Any]:
    """Return an exception as an answer; its place is the innermost frame inside the engine."""
    frames = [(f.filename, f.lineno or 0, f.name) for f in traceback.extract_tb(trace)]
    # A package without an __init__.py has no file, only folders.
    home = next(iter(getattr(sys.modules.get("sglang"), "__path__", ())), "/nowhere") + os.sep
    inside = [n for n, frame in enumerate(frames) if frame[0].startswith(home)]
    frames = frames[: inside[-1] + 1] if inside else frames
    place = frames[-1] if frames else ("", 0, "")
    name = kind.__qualname__ if kind.__module__ == "builtins" else kind.__module__ + "." + kind.__qualname__
    return {
        "passed": False,
        "type": name,
        "message": str(fault)[:TEXT],
        "file": place[0],
        "line": place[1],
        "frames": [f for f in frames if f[0].startswith(home)][-12:],
    }


def adopt(env: dict[str, str], instead_of: dict[str, str], base: dict[str, str]) -> None:
    """Give this process the environment `env` on top of `base`, where it had `instead_of`."""
    for name in set(instead_of) - set(env):
        if name in base:
            os.environ[name] = base[name]
        else:
            os.environ.pop(name, None)
    os.environ.update(env)


def candidate(writer: int, argv: list[str], output: int) -> None:
    """Validate one candidate in this process and write the answer."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    os.dup2(output, 1)
    os.dup2(output, 2)
    sys.argv = ["launch_server.py", *argv]
    answer: dict[str, Any] = {}
    modules = set(sys.modules)
    listener: Any = ImportsTold(writer)
    sys.meta_path.insert(0, listener)
    try:
        answer = {"passed": True, "resolved": resolved(validate(argv))}
    finally:
        # Not an except: whatever validation raises, SystemExit and KeyboardInterrupt too, is an answer.
        kind, fault, trace = sys.exc_info()
        if kind is not None:
            answer = refusal(kind, fault, trace)
            # Nothing of the engine was running: it is our question that failed, not the settings.
            if not answer["frames"] and kind is not SystemExit:
                answer = silence("it cannot be asked: " + answer["type"] + ": " + answer["message"])
        answer["modules"] = [name for name in sys.modules if name not in modules]
        sys.stdout.flush()
        sys.stderr.flush()
        send(writer, answer)


def words_of(output: Any) -> str:
    """Return the end of what a candidate printed."""
    output.seek(0, os.SEEK_END)
    output.seek(max(0, output.tell() - TEXT))
    return bytes(output.read()).decode(errors="replace")


def ask(
    run: Callable[[int, int], None], limits: dict[str, Any], imported: Callable[[list[str]], None] | None = None
) -> dict[str, Any]:
    """Let `run(writer, output)` answer in a child under limits; return its answer, whatever becomes of it.

    `imported` is told of modules while the child imports them.
    """
    before = rss(os.getpid())
    with tempfile.TemporaryFile() as output:
        pid, reader = fork(lambda writer: run(writer, output.fileno()))

        def watch() -> str:
            return f"more than {limits['memory']} MiB" if rss(pid) - before > limits["memory"] else ""

        answer = None
        for line in lines(reader, lambda: limits["candidate"], watch):
            if "imported" not in line:
                answer = line
                break
            if imported:
                imported(line["imported"])
        os.close(reader)
        status = kill(pid)
        if answer is None:
            answer = silence(f"ended with wait status {status} before it answered")
        elif "stopped" in answer:
            answer = silence(answer["stopped"])
        answer["log"] = words_of(output)
    return answer


def silence(why: str) -> dict[str, Any]:
    """Return the answer for a candidate that could not be validated."""
    return {"passed": False, "type": "NoAnswer", "message": "validation: " + why}


# --- one import


def remember_reads(seen: set[str]) -> Callable[[], None]:
    """Note the variables that are read by name from now on; return what ends it."""
    kind: Any = type(os.environ)
    original = kind.__getitem__

    def noted(self: Any, key: str) -> Any:
        # Code that walks over all variables (to rename old ones, say) has not asked for this one.
        if sys._getframe(1).f_code.co_name != "__iter__":  # noqa: SLF001  there is no other way to see a caller
            seen.add(key)
        return original(self, key)

    kind.__getitem__ = noted
    return lambda: setattr(kind, "__getitem__", original)


def load(writer: int, modules: list[str], tried: set[str]) -> None:
    """Import the engine, and what validation is known to import, and say how long it took, or why it cannot be."""
    started = time.monotonic()
    try:
        entrance()
        preload(modules, tried)
        send(writer, {"loaded": round(time.monotonic() - started, 2)})
    finally:
        kind, fault, trace = sys.exc_info()
        if kind is not None:
            send(writer, {"failed": refusal(kind, fault, trace)})


def preload(modules: list[str], tried: set[str]) -> None:
    """Import what a candidate imported on the way, so that the next ones need not."""
    for name in modules:
        if name in tried:
            continue
        tried.add(name)
        # A module that a child imported once may still object here; the next child then imports it again.
        with contextlib.suppress(
            ImportError, AttributeError, LookupError, OSError, RuntimeError, TypeError, ValueError
        ):
            importlib.import_module(name)


class Import:
    """One import of the engine, with the first candidate's environment, and what it answers."""

    def __init__(self, env: dict[str, str], limits: dict[str, Any], writer: int) -> None:
        """Import the engine; `writer` is told how that went, and later each answer."""
        self.base, self.env, self.limits, self.writer = dict(os.environ), env, limits, writer
        self.tried: set[str] = set()
        self.told = time.monotonic()
        os.environ.update(env)
        self.seen: set[str] = set()
        self.forget = remember_reads(self.seen)
        load(writer, limits["modules"], self.tried)
        gc.freeze()
        self.lock = tempfile.TemporaryFile()  # noqa: SIM115  kept open for as long as this process lives

    def is_good_for(self, item: dict[str, Any]) -> bool:
        """Say whether a candidate differs in no variable that the import, or a candidate so far, has read."""
        theirs = item["env"]
        changed = {name for name in set(self.env) | set(theirs) if self.env.get(name) != theirs.get(name)}
        return not changed & self.seen

    def answer(self, group: list[dict[str, Any]], more: bool = False) -> None:
        """Answer one candidate after the other; `more` says that others come after them."""
        for n, item in enumerate(group):
            if not self.is_good_for(item):
                continue
            last = n + 1 == len(group) and not more
            answer = ask(functools.partial(self.candidate, item), self.limits, None if last else self.preload)
            modules = answer.pop("modules", [])
            self.tell({"index": item["index"], "answer": answer})
            if not last:
                self.preload(modules)
                gc.freeze()

    def preload(self, modules: list[str]) -> None:
        """Import what a candidate imports, while it does so; on a busy host that takes long: say that it goes on."""
        preload(modules, self.tried)
        if time.monotonic() - self.told > SIGN:
            self.tell({"modules": []})

    def share(self, group: list[dict[str, Any]], _: int) -> None:
        """Answer a share of the candidates in a child of this process."""
        self.answer(group)

    def candidate(self, item: dict[str, Any], answer_to: int, output: int) -> None:
        """Validate one candidate in a child of this process."""
        self.forget()
        gc.disable()
        adopt(item["env"], self.env, self.base)
        candidate(answer_to, item["argv"], output)

    def tell(self, message: dict[str, Any]) -> None:
        """Write a message, whole: several processes write to the same pipe."""
        self.told = time.monotonic()
        fcntl.lockf(self.lock, fcntl.LOCK_EX)
        send(self.writer, message)
        fcntl.lockf(self.lock, fcntl.LOCK_UN)


def worker(writer: int, group: list[dict[str, Any]], limits: dict[str, Any]) -> None:
    """Import the engine with the first candidate's environment; answer for every one that this import is good for.

    The first two show what else must be imported; the many after them are shared out among the processors.
    """
    engine = Import(group[0]["env"], limits, writer)
    mine = [item for item in group if engine.is_good_for(item)]
    processors = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 1
    shares = max(1, min(processors, SHARES, (len(mine) - 1) // SHARED))
    if shares == 1:
        engine.answer(mine)
        engine.tell({"modules": sorted(engine.tried)})
        return
    engine.answer(mine[:2], more=True)
    engine.tell({"modules": sorted(engine.tried)})
    del mine[:2]
    parts = [mine[n::shares] for n in range(shares)]
    pids = [fork(functools.partial(engine.share, part))[0] for part in parts]
    for pid in pids:
        os.waitpid(pid, 0)


def alone(item: dict[str, Any], writer: int, output: int) -> None:
    """Import the engine and validate one candidate in the same process, for validation that does not bear a fork."""
    os.environ.update(item["env"])
    os.dup2(output, 2)
    importlib.import_module("sglang.srt.server_args")
    candidate(writer, item["argv"], output)


# --- the whole question


def one_import(group: list[dict[str, Any]], limits: dict[str, Any], found: dict[int, Any]) -> dict[str, Any]:
    """Let one worker answer what it can into `found`; return {"loaded": SECONDS} or why it could not go on."""
    pid, reader = fork(lambda writer: worker(writer, group, limits))
    outcome: dict[str, Any] = {}

    def patience() -> float:
        return float(limits["candidate"] + 15 if "loaded" in outcome else limits["load"])

    for line in lines(reader, patience, lambda: "" if time.monotonic() < limits["until"] else "out of time"):
        if "index" in line:
            found[line["index"]] = line["answer"]
        elif "modules" in line:
            limits["modules"] = sorted({*limits["modules"], *line["modules"]})
        else:
            outcome.update(line)
    os.close(reader)
    kill(pid)
    reap()
    return outcome


def bears_no_fork(answer: dict[str, Any]) -> bool:
    """Say whether a child failed only because its parent had initialised CUDA before the fork."""
    return "forked subprocess" in answer.get("message", "")


def answer_all(items: list[dict[str, Any]], limits: dict[str, Any]) -> dict[str, Any]:
    """Return the answers of all candidates, in order, or why there are none."""
    found: dict[int, Any] = {}
    seconds, why = [], ""
    left = list(items)
    for _ in range(limits["imports"]):
        outcome = one_import(left, limits, found) if left else {}
        seconds += [outcome["loaded"]] if "loaded" in outcome else []
        why = why or outcome.get("stopped", "") or outcome.get("failed", {}).get("message", "")
        if why or len(found) == len(items):
            break
        left = [item for item in left if item["index"] not in found]
    roomy = {**limits, "candidate": limits["load"] + limits["candidate"]}
    again = [item for item in items if bears_no_fork(found.get(item["index"], {}))]
    for item in again[:5]:
        found[item["index"]] = ask(functools.partial(alone, item), roomy)
        reap()
    missing = silence(why or f"its environment needs an import of its own, and {limits['imports']} were made")
    every = [found.get(item["index"], missing) for item in items]
    return {"seconds": seconds, "why": why, "answers": every, "modules": limits["modules"]}


def main() -> None:
    """Read the request from stdin, print the marked answer, leave nothing behind."""
    request = json.loads(sys.stdin.buffer.read().decode())
    limits = {**request["limits"], "until": time.monotonic() + request["limits"]["total"]}
    limits["modules"] = request["modules"]
    out = os.dup(1)
    os.dup2(2, 1)
    prctl(SUBREAPER, 1)
    os.environ["PYTORCH_NVML_BASED_CUDA_CHECK"] = "1"
    for name in request["without"]:
        os.environ.pop(name, None)
    folder = tempfile.mkdtemp(prefix="relight-oracle-")
    os.chdir(folder)
    tempfile.tempdir = os.environ["TMPDIR"] = folder
    try:
        answer = answer_all(request["candidates"], limits)
    finally:
        os.chdir("/")
        shutil.rmtree(folder, ignore_errors=True)
    with os.fdopen(out, "w") as stream:
        stream.write(request["mark"] + json.dumps(answer) + "\n")


if __name__ == "__main__":
    main()
