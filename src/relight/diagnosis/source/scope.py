"""What is known at one point of a function: its names, the fields it rewrote, and how much may still be read."""

import ast
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias, TypeVar

from relight.diagnosis.source.syntax import Function, Module, UnreadableError, lookup_file, path_of
from relight.diagnosis.source.terms import Term

RECEIVERS = frozenset({"self", "server_args", "cfg", "view", "args", "config", "sa"})
DEPTH = 4
STEPS = 12_000
"""Ten times what the longest way to a check of a real release takes."""
HOPS = 3
"""How often a name is looked for further on: packages pass names of their modules on."""
Reader: TypeAlias = "Callable[[ast.expr, Scope], Term]"
Defined = TypeVar("Defined")
Runner: TypeAlias = "Callable[[list[ast.stmt], Scope], Term]"


class Budget:
    """How many steps a reading may take, the files it may look into, and the functions that read and run code.

    Those two are handed in because reading an expression can mean running a function, and the other way round.
    """

    def __init__(self, others: Mapping[str, str], read: Reader, run: Runner, steps: int = STEPS) -> None:
        self.others, self.read, self.run, self.left = others, read, run, steps
        self.wants: dict[str, None] = {}
        self._modules: dict[str, Module | None] = {}

    def spend(self, steps: int = 1) -> None:
        """Count steps. Raises UnreadableError when there were too many."""
        self.left -= steps
        if self.left < 0:
            raise UnreadableError("the code on the way to this line is too long to read")

    def module(self, path: str) -> Module | None:
        """Return another file, parsed, or None; one that was not given is noted as wanted."""
        if path in self._modules:
            return self._modules[path]
        key = lookup_file(path, self.others)
        found: Module | None = None
        if key is None:
            self.wants[path] = None
        else:
            try:
                found = Module.beside(self.others[key], key)
            except UnreadableError:
                found = None
        self._modules[path] = found
        return found


@dataclass
class Scope:
    """The state at one point of one function.

    `names` are local names, `fields` what code before made of the settings' fields, `aliases` names that stand for the
    settings, `owner` the class of the function. `returns` collects (condition, value) of a function that is inlined.
    """

    module: Module
    budget: Budget
    owner: ast.ClassDef | None = None
    names: dict[str, Term] = field(default_factory=dict)
    fields: dict[str, Term] = field(default_factory=dict)
    aliases: set[str] = field(default_factory=set)
    returns: list[tuple[Term, Term]] = field(default_factory=list)
    checks: list[Term] = field(default_factory=list)
    depth: int = 0

    def fork(self) -> "Scope":
        """Return a copy whose names and fields may change; checks and returns stay shared."""
        return Scope(
            self.module,
            self.budget,
            self.owner,
            dict(self.names),
            dict(self.fields),
            set(self.aliases),
            self.returns,
            self.checks,
            self.depth,
        )

    def enter(self, module: Module, owner: ast.ClassDef | None) -> "Scope":
        """Return the scope of a function called from here: same settings, names of its own."""
        return Scope(module, self.budget, owner, {}, dict(self.fields), set(), [], self.checks, self.depth + 1)

    def owns_settings(self) -> bool:
        """Say whether `self` can be the settings here: a method of another class has a self of its own."""
        return self.owner is None or "args" in (self.owner.name + self.module.file).lower()

    def is_settings(self, node: ast.expr) -> bool:
        """Say whether an expression stands for the settings object."""
        if isinstance(node, ast.Name):
            own = node.id != "self" or self.owns_settings()
            return node.id in self.aliases or (node.id in RECEIVERS and node.id not in self.names and own)
        if isinstance(node, ast.Attribute):
            return node.attr in RECEIVERS - {"self", "args", "config"} or node.attr.endswith("server_args")
        if isinstance(node, ast.Call):
            name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            of_settings = bool(node.args) and self.is_settings(node.args[0]) and ("view" in name or "args" in name)
            return of_settings or (not node.args and name.endswith("server_args"))
        return False

    def function(self, name: str) -> tuple[Module, Function] | None:
        """Return a module-level function by its name here, from this file or the one it is imported from."""
        return self._found(name, Module.function)

    def constant(self, name: str) -> tuple[Module, ast.expr] | None:
        """Return a module-level constant by its name here, from this file or the one it is imported from."""
        return self._found(name, Module.constant)

    def klass(self, name: str) -> tuple[Module, ast.ClassDef] | None:
        """Return a class by its name here, from this file or the one it is imported from."""
        return self._found(name, Module.klass)

    def _found(self, name: str, look: Callable[[Module, str], Defined | None]) -> tuple[Module, Defined] | None:
        module = self.module
        for _ in range(HOPS):
            try:
                own = look(module, name)
                there = None if own is not None else self._imported(name, module)
            except UnreadableError:
                # A file beside the one that failed: what it would have told stays unknown.
                return None
            if own is not None or there is None:
                return None if own is None else (module, own)
            module, name = there
        return None

    def _imported(self, name: str, importer: Module) -> tuple[Module, str] | None:
        source = importer.imports.get(name)
        path = path_of(source.module, importer.file) if source else ""
        module = self.budget.module(path) if path else None
        return (module, source.name) if module and source else None
