"""Evaluate a condition in three values: true, false, unknown. What cannot be computed is a fault."""

import itertools
import math
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from relight.diagnosis.source.terms import Const, Env, Field, Op, Opaque, Term, note_names
from relight.words.operations import FAULT, OPERATIONS, TYPES, UNKNOWN, apply, truth

__all__ = ["FAULT", "OPERATIONS", "TYPES", "UNKNOWN", "Evaluation", "apply", "truth"]
Lookup: TypeAlias = Callable[[Field | Env | Opaque], Any]
WAYS = 16


class Evaluation:
    """One evaluation: `lookup` gives the value of a field or variable, `held` conditions known from the failure itself.

    `held` maps the id of a term to its truth when the engine failed, `told` to its value. `differs` builds further
    evaluations on this one: what reads none of their changed names is taken from here.
    """

    def __init__(
        self, lookup: Lookup, held: Mapping[int, bool] | None = None, told: Mapping[int, Any] | None = None
    ) -> None:
        self._lookup, self._held = lookup, held or {}
        self._before: Evaluation | None = None
        self._changed: frozenset[str] = frozenset()
        self._reads: dict[int, frozenset[str]] = {}
        self._memo: dict[int, Any] = dict(told or {})

    def differs(self, changed: Mapping[str, Any]) -> "Evaluation":
        """Return the evaluation in which some fields and variables have other values, all else as here."""

        def lookup(term: Field | Env | Opaque) -> Any:
            # An opaque part that reads what is changed is not asked for twice: nobody knows what it is now.
            return UNKNOWN if isinstance(term, Opaque) else changed.get(term.name, UNKNOWN)

        other = Evaluation(lookup)
        other._before, other._changed, other._reads = self, frozenset(changed), self._reads
        return other

    def truth(self, term: Term) -> Any:
        """Return whether `term` holds: True, False, UNKNOWN or FAULT; what the failure proves of it counts."""
        if self._before is not None and self._untouched(term):
            return self._before.truth(term)
        if id(term) in self._held:
            return self._held[id(term)]
        return truth(self.value(term))

    def value(self, term: Term) -> Any:
        """Return the value of `term`, UNKNOWN or FAULT."""
        if isinstance(term, Const):
            return term.value
        key = id(term)
        if key not in self._memo:
            before = self._before
            self._memo[key] = before.value(term) if before and self._untouched(term) else self._compute(term)
        return self._memo[key]

    def _untouched(self, term: Term) -> bool:
        found = self._reads.get(id(term))
        if found is None:
            note_names(term, self._reads)
            found = self._reads[id(term)]
        return found.isdisjoint(self._changed)

    def _compute(self, term: Term) -> Any:
        if isinstance(term, Opaque | Env):
            return self._lookup(term)
        if isinstance(term, Field):
            return self._field(term)
        assert isinstance(term, Op)  # noqa: S101  the fifth of five kinds
        special = {"and": self._and, "or": self._or, "not": self._not, "if": self._if}.get(term.name)
        return special(term) if special else self._apply(term)

    def _field(self, term: Field) -> Any:
        if term.value is None:
            return self._lookup(term)
        return self.value(term.value)

    def _and(self, term: Op) -> Any:
        seen: Any = True
        for arg in term.args:
            now = self.truth(arg)
            if now is False or now is FAULT:
                # Behind an operand that is not known, a fault may never be reached.
                return now if now is False or seen is True else UNKNOWN
            seen = seen if now is True else UNKNOWN
        return seen

    def _or(self, term: Op) -> Any:
        seen: Any = False
        for arg in term.args:
            now = self.truth(arg)
            if now is True or now is FAULT:
                return now if now is True or seen is False else UNKNOWN
            seen = seen if now is False else UNKNOWN
        return seen

    def _not(self, term: Op) -> Any:
        now = self.truth(term.args[0])
        return now if now is UNKNOWN or now is FAULT else not now

    def _if(self, term: Op) -> Any:
        test, then, other = term.args
        now = self.truth(test)
        if now is FAULT:
            return FAULT
        if now is not UNKNOWN:
            return self.value(then if now else other)
        a, b = self.value(then), self.value(other)
        return a if a is not FAULT and type(a) is type(b) and a == b else UNKNOWN

    def _apply(self, term: Op) -> Any:
        args = [self.value(arg) for arg in term.args]
        if any(a is FAULT for a in args):
            return FAULT
        if any(a is UNKNOWN for a in args):
            return self._whichever(term, args)
        return apply(term.name, args)

    def _whichever(self, term: Op, args: list[Any]) -> Any:
        """Return what an operation gives whichever way the choices fall that are not known; else UNKNOWN."""
        options = [self._possible(t) if a is UNKNOWN else [a] for t, a in zip(term.args, args, strict=True)]
        open_ = any(v is UNKNOWN or v is FAULT for values in options for v in values)
        if open_ or math.prod(map(len, options)) > WAYS:
            return UNKNOWN
        found = [apply(term.name, list(chosen)) for chosen in itertools.product(*options)]
        same = all(type(f) is type(found[0]) and f == found[0] for f in found)
        return found[0] if same else UNKNOWN

    def _possible(self, term: Term) -> list[Any]:
        """Return every value a term can have, as far as that depends on choices which are not known."""
        if isinstance(term, Op) and term.name == "if" and self.truth(term.args[0]) is UNKNOWN:
            return [v for arg in term.args[1:] for v in self._possible(arg)][: WAYS + 1]
        inner = term.value if isinstance(term, Field) else None
        return self._possible(inner) if inner is not None else [self.value(term)]
