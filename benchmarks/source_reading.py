"""How well are the engine's own argument checks read and repaired, on real releases?

    python benchmarks/source_reading.py --wheel 0.5.9 --wheel 0.5.23          # fetches the wheels with pip, reads them
    python benchmarks/source_reading.py --python /path/of/an/environment/bin/python   # asks its real validation, too

The first table is static: of the assertions and raises of argument validation whose condition stands on flags,
constants and variables alone, the share that is read to the condition and the flags. With --python, command lines that
violate those checks are made up, refused by the real validation, repaired by reading alone, and confirmed by it.
"""

import argparse
import ast
import itertools
import json
import os
import random
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from relight.diagnosis.source.domain import env_values, values_for
from relight.diagnosis.source.evaluate import Evaluation
from relight.diagnosis.source.explain import failure
from relight.diagnosis.source.known import Known
from relight.diagnosis.source.read import Reading, read_failure
from relight.diagnosis.source.solve import Problem, Wishes, repairs
from relight.diagnosis.source.terms import Env, Field, Opaque, walk
from relight.diagnosis.source.values import Values
from relight.hosts import oracle
from relight.hosts.parser_answer import read_parser
from relight.hosts.parser_source import parser_script
from relight.hosts.values import Ran
from relight.words.parser import HostParser
from relight.words.settings import Settings
from relight.words.step import Answer

RECEIVERS = {"self", "server_args", "cfg", "view", "args"}
PURE_CALLS = {
    "len",
    "isinstance",
    "bool",
    "int",
    "float",
    "str",
    "abs",
    "min",
    "max",
    "startswith",
    "endswith",
    "lower",
}
CONFIG = {
    "architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 64, "intermediate_size": 128,
    "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2, "vocab_size": 512,
    "max_position_embeddings": 2048, "torch_dtype": "bfloat16", "bos_token_id": 0, "eos_token_id": 2,
}  # fmt: skip
ROUNDS, ASKED, LOOKS = 5, 8, 3


# --- the static table


@dataclass
class Site:
    """One assertion or raise, and whether its own condition stands on flags alone."""

    file: str
    line: int
    kind: str
    pure: bool
    fields: frozenset[str] = frozenset()
    reading: Reading | None = None
    seconds: float = 0.0


def validation_files(tree: Path) -> list[Path]:
    folder = next(tree.rglob("srt/server_args.py")).parent
    return [folder / "server_args.py", *sorted((folder / "arg_groups").rglob("*.py"))]


def sites_of(path: Path) -> Iterator[Site]:
    """Yield the checks of a file. The census is done on the syntax alone, without the reader it is to judge."""
    tree = ast.parse(path.read_text())
    constants = {t.id for s in tree.body if isinstance(s, ast.Assign) for t in s.targets if isinstance(t, ast.Name)}
    constants |= {
        a.asname or a.name for s in tree.body if isinstance(s, ast.ImportFrom) for a in s.names if a.name.isupper()
    }
    parents = {child: node for node in ast.walk(tree) for child in ast.iter_child_nodes(node)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Assert):
            yield site(path, node, "assert", node.test, constants)
        elif isinstance(node, ast.Raise) and node.exc is not None:
            above = parents.get(node)
            test = above.test if isinstance(above, ast.If) and node in above.body else None
            yield site(path, node, "raise", test, constants)


def site(path: Path, node: ast.stmt, kind: str, test: ast.expr | None, constants: set[str]) -> Site:
    fields = (
        frozenset(n.attr for n in ast.walk(test) if isinstance(n, ast.Attribute) and receiver(n.value))
        if test
        else frozenset()
    )
    return Site(str(path), node.lineno, kind, bool(test and fields and leaves_are_flags(test, constants)), fields)


def receiver(node: ast.expr) -> bool:
    return isinstance(node, ast.Name) and node.id in RECEIVERS


def leaves_are_flags(test: ast.expr, constants: set[str]) -> bool:
    """Say whether a test is made of fields, constants, variables of the environment and plain builtins only."""
    for node in ast.walk(test):
        if isinstance(node, ast.Call) and not pure_call(node):
            return False
        if isinstance(node, ast.Name) and node.id not in constants | RECEIVERS | PURE_CALLS | {
            "os",
            "envs",
            "any",
            "all",
        }:
            return False
        if (
            isinstance(node, ast.Attribute)
            and not receiver(node.value)
            and node.attr not in PURE_CALLS | {"get", "environ"}
        ):
            inner = node.value
            if not (isinstance(inner, ast.Name) and inner.id == "envs"):
                return False
    return True


def pure_call(node: ast.Call) -> bool:
    name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
    return name in PURE_CALLS or (name == "get" and "env" in ast.unparse(node.func).lower())


def read_right(found: Site) -> bool:
    """Say whether a check was read to its condition, with every field it names and nothing left opaque in it."""
    reading = found.reading
    if reading is None or reading.condition is None:
        return False
    inside = list(walk(reading.condition))
    names = {t.name for t in inside if isinstance(t, Field)}
    return found.fields <= names and not any(isinstance(t, Opaque) for t in inside)


def census(tree: Path) -> list[Site]:
    """Read every check of a tree."""
    files = validation_files(tree)
    texts = {str(p): p.read_text() for p in [*files, *tree.rglob("srt/environ.py")]}
    found = [s for path in files for s in sites_of(path)]
    for one in found:
        started = time.process_time()
        one.reading = read_failure(texts[one.file], one.file, one.line, others=texts)
        one.seconds = time.process_time() - started
    return found


def spread(seconds: Iterable[float]) -> str:
    """Say how long the usual, the slow and the slowest took, in milliseconds of CPU."""
    found = sorted(seconds) or [0.0]
    median, most = found[len(found) // 2], found[len(found) * 9 // 10]
    return f"median {median * 1000:.0f}, p90 {most * 1000:.0f}, slowest {found[-1] * 1000:.0f} ms of CPU"


def print_census(version: str, found: list[Site]) -> float:
    share = 1.0
    for kind in ("assert", "raise", "both"):
        sites = [s for s in found if kind in {s.kind, "both"}]
        pure = [s for s in sites if s.pure]
        right = sum(map(read_right, pure))
        flagged = sum(
            1
            for s in sites
            if s.reading
            and s.reading.condition
            and any(isinstance(t, Field) for t in walk(s.reading.condition, *(g.term for g in s.reading.guards)))
        )
        share = right / max(1, len(pure))
        print(f"{version:12} {kind:7} {len(sites):6} {len(pure):15} {right:11} {share:7.1%} {flagged:19}")
    print(f"{version:12} reading: {spread(s.seconds for s in found)}")
    return share


def wheel(version: str, folder: Path) -> Path:
    """Fetch a wheel with pip (once) and unpack its Python files."""
    target = folder / version
    if not target.exists():
        subprocess.run(
            [sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary", ":all:", "-q", "-d", str(folder),
             f"sglang=={version}"], check=True,
        )  # fmt: skip
        archive = next(folder.glob(f"sglang-{version}-*.whl"))
        with zipfile.ZipFile(archive) as packed:
            packed.extractall(target, [n for n in packed.namelist() if n.endswith(".py") and "/srt/" in n])
    return target


# --- the live table


@dataclass
class Host:
    """An interpreter that has the engine, asked like a host."""

    python: str
    parser: HostParser
    asked: int = 0
    seconds: float = 0.0
    texts: dict[str, str] = field(default_factory=dict)

    def ask(self, candidates: Sequence[Settings]) -> tuple[Answer, ...]:
        started = time.perf_counter()
        limits = oracle.Limits(total=1800)
        done = subprocess.run(
            list(oracle.command(self.python)), input=oracle.request(candidates, self.parser, limits=limits),
            capture_output=True, check=False, env={**os.environ, "HF_HUB_OFFLINE": "1"},
        )  # fmt: skip
        said = oracle.answers(Ran(done.returncode, done.stdout, done.stderr), candidates)
        if not said.asked:
            raise SystemExit(said.why)
        self.asked += len(candidates)
        self.seconds += time.perf_counter() - started - said.seconds
        return said.answers

    def text(self, file: str) -> str:
        if file not in self.texts:
            self.texts[file] = Path(file).read_text() if Path(file).is_file() else ""
        return self.texts[file]


def open_host(python: str) -> Host:
    env = {**os.environ, "HF_HUB_OFFLINE": "1"}
    done = subprocess.run([python, "-c", parser_script()], capture_output=True, check=False, env=env)
    return Host(python, read_parser(done.stdout, place=python))


def violations(found: Iterable[Site], host: Host, base: Settings, seed: int) -> list[Settings]:
    """Return settings that should violate a check each: edits of `base` under which its failure is true."""
    chooser = random.Random(seed)
    made: dict[str, Settings] = {}
    for one in found:
        if one.reading and one.reading.condition is not None:
            settings = violating(one.reading, host, base, chooser)
            if settings is not None:
                made.setdefault(repr(settings), settings)
    return list(made.values())


def violating(reading: Reading, host: Host, base: Settings, chooser: random.Random) -> Settings | None:
    known = Known(reading, Values.of(base), host.parser)
    term = failure(reading)
    names = {t.name: t for t in walk(term) if isinstance(t, Field | Env)}
    options = [(n, v) for n, t in names.items() for v in choices_of(t, term, reading, known)]
    for size in (1, 2):
        tried = [c for c in itertools.combinations(options, size) if len({n for n, _ in c}) == size]
        chooser.shuffle(tried)
        for edits in tried[:400]:
            new = {n: v.value for n, v in edits}
            lookup = lambda t, new=new: new[t.name] if getattr(t, "name", None) in new else known.lookup(t)  # noqa: E731
            if Evaluation(lookup).truth(term) is True:
                return applied(edits, names, known, base)
    return None


def choices_of(term, text, reading, known):  # noqa: ANN001, ANN201  plain glue
    if isinstance(term, Env):
        return env_values(term, text, known)[:4]
    return values_for(term.name, text, reading.related, known)[:6] if known.spelling(term.name) else []


def applied(edits, names, known: Known, base: Settings) -> Settings:  # noqa: ANN001  plain glue
    problem = Problem(known.reading, known, Wishes())
    change = problem.repair(tuple(problem.edit(n, v, names[n]) for n, v in edits))
    return base.changed(change)


@dataclass
class Case:
    """One violating command line on its way to a repair."""

    start: Settings
    now: Settings
    answer: Answer
    seen: set[str] = field(default_factory=set)
    done: str = ""
    steps: int = 0
    seconds: float = 0.0


def solve_all(cases: list[Case], host: Host, protected: frozenset[str]) -> None:
    """Repair, ask, read the next refusal, repair again: all cases side by side, a batch of questions per round."""
    for _ in range(ROUNDS):
        proposed: list[tuple[Case, Settings]] = []
        for case in (c for c in cases if not c.done):
            options = next_settings(case, host, protected)
            proposed += [(case, settings) for settings in options]
            case.done = "" if options else "no repair"
        if not proposed:
            return
        answers = host.ask([settings for _, settings in proposed])
        for case in {id(c): c for c, _ in proposed}.values():
            said = [(s, a) for (c, s), a in zip(proposed, answers, strict=True) if c is case]
            advance(case, said)


def next_settings(case: Case, host: Host, protected: frozenset[str]) -> list[Settings]:
    answer = case.answer
    if not answer.file:
        return []
    started = time.process_time()
    others = {f.file: host.text(f.file) for f in answer.frames}
    callers = [(f.file, f.line) for f in answer.frames[:-1]]
    reading = read_failure(
        host.text(answer.file), answer.file, answer.line,
        message=answer.message, type=answer.type, others=others, callers=callers,
    )  # fmt: skip
    for _ in range(LOOKS):
        more = [want for want in reading.wants if want not in others]
        if not more:
            break
        others |= {want: host.text(want) for want in more}
        reading = read_failure(
            host.text(answer.file), answer.file, answer.line,
            message=answer.message, type=answer.type, others=others, callers=callers,
        )  # fmt: skip
    values = Values.of(case.now)
    found = repairs(reading, values, host.parser, Wishes(protected=protected))
    case.seconds = max(case.seconds, time.process_time() - started)
    settings = [case.now.changed(r) for r in found]
    fresh = [s for s in settings if repr(s) not in case.seen][:ASKED]
    case.seen |= {repr(s) for s in fresh}
    return fresh


def advance(case: Case, said: list[tuple[Settings, Answer]]) -> None:
    case.steps += 1
    passed = next((s for s, a in said if a.passed), None)
    if passed is not None:
        case.now, case.done = passed, "repaired"
        return
    place = (case.answer.file, case.answer.line)
    further = [(s, a) for s, a in said if (a.file, a.line) != place and a.type not in {"NoAnswer", "SystemExit"}]
    if further:
        case.now, case.answer = further[0]
    else:
        case.done = "no repair passes"


def live(python: str, base_words: list[str], seed: int, most: int, show: bool) -> dict[str, float]:
    host = open_host(python)
    home = Path(
        subprocess.run(
            [python, "-c", "import sglang; print(sglang.__path__[0])"], capture_output=True, text=True, check=True
        ).stdout.split()[-1]
    )
    found = [s for s in census(home) if s.pure]
    random.Random(seed).shuffle(found)
    found = found[:most]
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "config.json").write_text(json.dumps(CONFIG))
        base = Settings({"model-path": folder, "device": "cpu", **pairs(base_words)})
        first, *_ = host.ask([base])
        if not first.passed:
            raise SystemExit(f"the base settings are refused: {first.type}: {first.message}")
        lines = violations(found, host, base, seed)
        answers = host.ask(lines)
        refused = [
            Case(s, s, a) for s, a in zip(lines, answers, strict=True) if not a.passed and a.type != "SystemExit"
        ]
        places = {(c.answer.file, c.answer.line) for c in refused}
        solve_all(refused, host, frozenset({"model-path", "device"}))
        repaired = [c for c in refused if c.done == "repaired"]
        again = host.ask([c.now for c in repaired]) if repaired else ()
    wrong = sum(not a.passed for a in again)
    solved = {(a.file, a.line) for c in repaired for a in [first_of(c, lines, answers)]}
    print(
        f"\n{host.parser.version}: {len(lines)} command lines made up, {len(refused)} refused at {len(places)} places"
    )
    print(
        f"  repaired and confirmed: {len(repaired)} command lines, {len(solved)} different checks; "
        f"confirmed but refused when asked again: {wrong}"
    )
    print(
        f"  reading and solving: {spread(c.seconds for c in refused)}; "
        f"{host.asked} candidates asked, {host.seconds / max(1, host.asked) * 50:.1f} s per 50 after the import"
    )
    if show:
        for case in refused:
            if case.done != "repaired":
                print(
                    f"  {case.done or 'unfinished':18} {case.answer.file.rpartition('/')[2]}:{case.answer.line} "
                    f"{case.answer.type}: {case.answer.message[:110]!r} {dict(case.now.flags)} {dict(case.now.env)}"
                )
    return {"repaired": len(repaired), "wrong": wrong}


def first_of(case: Case, lines: list[Settings], answers: Sequence[Answer]) -> Answer:
    return next(a for s, a in zip(lines, answers, strict=True) if s is case.start)


def pairs(words: list[str]) -> dict[str, str]:
    return dict(word.split("=", 1) for word in words)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--wheel", action="append", default=[], metavar="VERSION")
    options.add_argument("--tree", action="append", default=[], type=Path)
    options.add_argument("--python", action="append", default=[], help="an interpreter that has the engine")
    options.add_argument("--base", action="append", default=[], metavar="FLAG=VALUE")
    options.add_argument("--cache", type=Path, default=Path(tempfile.gettempdir()) / "relight-wheels")
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--most", type=int, default=150, help="how many checks to violate")
    options.add_argument("--show", action="store_true", help="list what was not repaired")
    given = options.parse_args()
    given.cache.mkdir(parents=True, exist_ok=True)
    trees = {v: wheel(v, given.cache) for v in given.wheel} | {str(t): t for t in given.tree}
    if trees:
        print(
            f"{'version':12} {'kind':7} {'checks':>6} {'on flags alone':>15} {'read right':>11} {'share':>7} "
            f"{'read with any flag':>19}"
        )
    for name, tree in trees.items():
        print_census(name, census(tree))
    for python in given.python:
        live(python, given.base, given.seed, given.most, given.show)


if __name__ == "__main__":
    main()
