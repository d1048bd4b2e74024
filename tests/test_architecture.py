"""The rooms and the arrows between them (docs/how-it-works.md)."""

import ast
from pathlib import Path

import pytest

SRC = Path(__file__).parents[1] / "src" / "relight"
ARROWS: dict[str, set[str]] = {
    "words": set(),
    "config": {"words"},
    "hosts": {"words"},
    "logs": {"words"},
    "diagnosis": {"words", "logs"},
    "planning": {"words"},
    "journal": {"words"},
    "attempts": {"words", "config", "hosts", "logs", "diagnosis", "planning", "journal"},
    "reports": {"words"},
    "lab": {"words", "hosts"},
    "testing": {"words", "hosts", "planning"},
    "cli": {
        "words", "config", "hosts", "logs", "diagnosis", "planning", "journal", "attempts", "reports", "lab",
    },
}  # fmt: skip
PURE = ("diagnosis", "planning", "reports", "words")
IMPURE = {
    "asyncio", "datetime", "fabric", "http", "multiprocessing", "os", "paramiko", "random", "select", "shutil",
    "signal", "socket", "subprocess", "tempfile", "tenacity", "threading", "time", "urllib",
}  # fmt: skip
ONLY_HOSTS = {"fabric", "paramiko", "tenacity"}


def modules(room: str) -> list[Path]:
    return sorted((SRC / room).rglob("*.py"))


def imported(path: Path) -> set[str]:
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            names.add(node.module or "")
    return names


def rooms_of(names: set[str]) -> set[str]:
    parts = [name.split(".") for name in names]
    return {p[1] for p in parts if p[0] == "relight" and len(p) > 1}


@pytest.mark.parametrize("room", sorted(ARROWS))
def test_a_room_imports_only_along_its_arrows(room: str) -> None:
    for path in modules(room):
        assert rooms_of(imported(path)) <= ARROWS[room] | {room}, path


@pytest.mark.parametrize("room", PURE)
def test_pure_rooms_know_no_clock_socket_file_or_randomness(room: str) -> None:
    for path in modules(room):
        assert not {name.split(".")[0] for name in imported(path)} & IMPURE, path


def test_only_hosts_imports_the_ssh_libraries() -> None:
    for room in set(ARROWS) - {"hosts"}:
        for path in modules(room):
            assert not {name.split(".")[0] for name in imported(path)} & ONLY_HOSTS, path


def test_every_room_has_its_arrows() -> None:
    rooms = {p.name for p in SRC.iterdir() if p.is_dir() and not p.name.startswith("_")}

    assert rooms - {"playbooks"} == set(ARROWS)


def test_no_cycle_between_modules() -> None:
    graph = {
        ".".join(p.relative_to(SRC.parent).with_suffix("").parts).removesuffix(".__init__"): imported(p)
        for p in SRC.rglob("*.py")
    }
    done: set[str] = set()

    def visit(name: str, path: tuple[str, ...]) -> None:
        assert name not in path, " -> ".join([*path, name])
        if name in graph and name not in done:
            for target in graph[name]:
                visit(target, (*path, name))
            done.add(name)

    for name in graph:
        visit(name, ())


def test_broad_excepts_are_at_most_two() -> None:
    broad = [
        f"{path.name}:{node.lineno}"
        for path in SRC.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.ExceptHandler)
        and (node.type is None or ast.unparse(node.type) in {"Exception", "BaseException"})
    ]

    assert len(broad) <= 2, broad


def test_files_and_functions_keep_their_size() -> None:
    long = []
    for path in SRC.rglob("*.py"):
        text = path.read_text()
        if text.count("\n") > 400:
            long.append(f"{path} has {text.count(chr(10))} lines")
        long += [
            f"{path}:{node.lineno} {node.name}"
            for node in ast.walk(ast.parse(text))
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and (node.end_lineno or 0) - node.lineno >= 60
        ]

    assert not long
