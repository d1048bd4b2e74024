"""Find the smallest edits of the settings under which the condition holds or is not asked."""

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from relight.diagnosis.source.domain import Value, env_values, values_for
from relight.diagnosis.source.evaluate import FAULT, UNKNOWN, Evaluation
from relight.diagnosis.source.explain import failure, said
from relight.diagnosis.source.known import Known
from relight.diagnosis.source.reading import Reading
from relight.diagnosis.source.terms import Const, Env, Field, Op, Term, names, walk
from relight.diagnosis.source.values import Values
from relight.diagnosis.source.wishes import Wishes
from relight.words.parser import HostParser
from relight.words.settings import FlagValue, Repair

__all__ = ["Wishes", "repairs"]
TRIES, PAIRED, TRIPLED = 2500, 8, 4
PER_NAMES = 2
WORK, FEWEST = 60_000, 20
PICKED = 0.75
"""What it costs to give a flag nobody gave a value that nothing speaks for."""
JOINED = frozenset({"and", "or", "not", "bool"})


def repairs(
    reading: Reading, values: Values, parser: HostParser | None, wishes: Wishes | None = None, *, limit: int = 12
) -> tuple[Repair, ...]:
    """Return every minimal repair, best first, at most `limit`. None of them is confirmed.

    A repair is minimal if no part of it alone is one. Fewest edits come first, then what the operator loses least by,
    then the value nearest to what was asked.
    """
    if not reading.readable:
        return ()
    problem = Problem(reading, Known(reading, values, parser), wishes or Wishes())
    return tuple(problem.repair(edits) for edits in _varied(problem.solutions(), limit))


@dataclass(frozen=True)
class Edit:
    """One edit: a field's flag or a variable gets a value or is left out."""

    name: str
    value: Value
    env: Env | None
    cost: float
    soft: bool = False


def _varied(found: list[tuple[Edit, ...]], limit: int) -> Iterator[tuple[Edit, ...]]:
    """Yield the best solutions, of those that edit the same names only the nearest few."""
    count: dict[frozenset[tuple[str, bool]], int] = {}
    kept = 0
    for edits in found:
        key = frozenset((e.name, e.value.unset) for e in edits)
        count[key] = count.get(key, 0) + 1
        if count[key] <= PER_NAMES and kept < limit:
            kept += 1
            yield edits


@dataclass(frozen=True)
class Problem:
    """A failure to be solved: what is known of it and what may be edited."""

    reading: Reading
    known: Known
    wishes: Wishes

    @cached_property
    def failure(self) -> Term:
        """What was true when the engine failed."""
        return failure(self.reading)

    @cached_property
    def held(self) -> dict[int, bool]:
        """The truth of each part of the failure, as far as the failure itself proves it."""
        found: dict[int, bool] = {}
        _assume(self.failure, True, self.known.evaluation(), found)
        return found

    @cached_property
    def doubted(self) -> frozenset[str]:
        """The names whose values, as far as known, contradict the failure: code this side of it has changed them."""
        before = self.known.evaluation()
        if before.truth(self.failure) is not False:
            return frozenset()
        atoms = [t for t in walk(self.failure) if id(t) in self.held and not (isinstance(t, Op) and t.name in JOINED)]
        found = names(*(t for t in atoms if before.truth(t) is (not self.held[id(t)])))
        # What people gave is what they gave; a default is what the engine may have changed.
        return frozenset(n for n in found if self.known.given(n) is None) or found

    @cached_property
    def explained(self) -> frozenset[str]:
        """The names of the condition, where what is known of their values is why it did not hold."""
        condition = self.reading.condition or Const(True)
        held = self.known.evaluation().truth(condition)
        return names(condition) if held is False or held is FAULT else frozenset()

    # --- what may be edited

    @cached_property
    def edits(self) -> list[Edit]:
        """Every single edit worth trying, best first."""
        seen: dict[str, Field | Env] = {}
        for term in walk(self.failure):
            if isinstance(term, Field | Env):
                seen.setdefault(term.name, term)
        found = [e for t in seen.values() for e in (self._of_env(t) if isinstance(t, Env) else self._of_field(t))]
        return sorted(found, key=lambda e: (e.cost, e.value.far))

    def _given(self, edit: Edit) -> bool:
        return edit.name in self.known.values.env if edit.env else self.known.given(edit.name) is not None

    def edit(self, name: str, value: Value, term: Field | Env) -> Edit:
        """Return one edit outside the search, free of cost."""
        return Edit(name, value, term if isinstance(term, Env) else None, 0.0)

    def _of_field(self, term: Field) -> Iterator[Edit]:
        spelled, flag = self.known.spelling(term.name), self.known.flag(term.name)
        if spelled is None or (flag is not None and flag.required):
            # What the parser requires says what is deployed, not how.
            return
        every = (spelled, term.name, *(flag.names if flag else ()))
        given = self.known.given(term.name) is not None
        if self.wishes.protected & set(every) or (self.wishes.others and not given):
            return
        if self.wishes.purposes & set(every) and not given:
            # It says what the server is for: nobody wants it to become something else.
            return
        cost = self.wishes.cost(every, given=given)
        for value in values_for(term.name, self.failure, self.reading.related, self.known):
            # Given in place of the engine's own choice, or the other way round: it may choose what was refused.
            soft = value.unset and value.value is None
            bonus = self._bonus(spelled, value)
            yield Edit(term.name, value, None, cost + self._kind_cost(term.name, value, given) + bonus, soft)

    def _kind_cost(self, name: str, value: Value, given: bool) -> float:
        """Return what an edit costs beyond touching the flag: another mode than asked for, a feature nobody wanted."""
        flag = self.known.flag(name)
        if value.unset or flag is None:
            return 0.0
        if value.picked and not given:
            return PICKED
        if not flag.takes_value:
            return 0.25
        return 0.5 if given and flag.type not in {"int", "float"} else 0.0

    def _of_env(self, env: Env) -> Iterator[Edit]:
        given = env.name in self.known.values.env
        if env.name in self.wishes.protected_env or (self.wishes.others and not given):
            return
        cost = self.wishes.cost((env.name,), given=given)
        for value in env_values(env, self.failure, self.known):
            yield Edit(env.name, value, env, cost + self._bonus(env.name, value))

    def _bonus(self, spelled: str, value: Value) -> float:
        """Return less than nothing for what the message itself names."""
        message = self.reading.message
        named = spelled in message or spelled.replace("-", "_") in message
        valued = named and not value.unset and not isinstance(value.value, bool) and str(value.value) in message
        return -0.25 * named - 0.5 * valued

    # --- search

    def solutions(self) -> list[tuple[Edit, ...]]:
        """Return the minimal sets of edits that solve the failure, best first."""
        tried = self.edits[: self._most]
        found: list[tuple[Edit, ...]] = [(e,) for e in tried if self._solves((e,))]
        solved = {id(e) for (e,) in found}
        left = [e for e in tried if id(e) not in solved]
        found += self._joint(left, 2, PAIRED)
        if not found:
            found += self._joint(left, 3, TRIPLED)
        return sorted(
            found, key=lambda edits: (len(edits), round(self._cost(edits), 3), sum(e.value.far for e in edits))
        )

    def _joint(self, edits: list[Edit], size: int, each: int) -> list[tuple[Edit, ...]]:
        """Return solutions of `size` edits, none of which solves it alone; each name brings its nearest values."""
        by_name: dict[str, list[Edit]] = {}
        asked = names(self.reading.condition or Const(True))
        for edit in edits:
            # Of values that nothing speaks for one will do, and only where the condition itself asks for some.
            some = edit.name in asked and not any(e.value.picked for e in by_name.get(edit.name, ()))
            if some or not edit.value.picked:
                by_name.setdefault(edit.name, []).append(edit)
        nearest = [sorted(es, key=lambda e: e.value.far)[:each] for es in by_name.values()]
        tried = (chosen for group in itertools.combinations(nearest, size) for chosen in itertools.product(*group))
        return [chosen for chosen in itertools.islice(tried, self._most) if self._solves(chosen)]

    @cached_property
    def _most(self) -> int:
        """How many edits are tried: each evaluates the whole failure, the larger that is, the fewer."""
        size = 1 + sum(1 for _ in walk(self.failure))
        return max(FEWEST, min(TRIES, WORK // size))

    def _solves(self, edits: tuple[Edit, ...]) -> bool:
        """Say whether the failure is surely gone, and no other check that the function makes is surely broken."""
        if self.doubted and not any(
            e.name in self.doubted or e.name in self.explained or self._given(e) for e in edits
        ):
            # What is known does not even explain the failure: to add something elsewhere would only seem to mend it.
            return False
        evaluation = self._with(edits)
        now = evaluation.truth(self.failure)
        if now is FAULT or now is UNKNOWN:
            # Left to the engine's own choice: it may well choose what works. Kept, and tried last.
            return len(edits) == 1 and edits[0].soft and now is FAULT
        return now is False and not any(evaluation.truth(check) is False for check in self._intact)

    @cached_property
    def _intact(self) -> list[Term]:
        """The other checks of the function that the values, as far as known, do not contradict already."""
        before = self.known.evaluation()
        return [check for check in self.reading.checks if before.truth(check) is not False]

    def _with(self, edits: tuple[Edit, ...]) -> Evaluation:
        changed = {e.name: e.value.value for e in edits}
        return self._before.differs(self._rewritten | changed)

    @cached_property
    def _rewritten(self) -> dict[str, Any]:
        """The names whose defaults the engine must have replaced: nobody knows by what."""
        usual = {name: self.known.value(name) for name in self.doubted}
        return {n: UNKNOWN for n, (value, origin) in usual.items() if origin == "default" and value is not None}

    @cached_property
    def _before(self) -> Evaluation:
        """The failure as it was."""
        return self.known.evaluation(self.held)

    def _cost(self, edits: tuple[Edit, ...]) -> float:
        """Return what edits cost; to meet the condition is better than to avoid the question."""
        asked = names(self.reading.condition or Const(True))
        aside = 0.25 * all(e.name not in asked for e in edits)
        hoped = self._with(edits).truth(self.failure) is not False
        return sum(e.cost for e in edits) + aside + hoped

    # --- a solution as a repair

    def repair(self, edits: tuple[Edit, ...]) -> Repair:
        """Return edits as a proposed change of the settings."""
        sets: dict[str, FlagValue] = {}
        unset: list[str] = []
        set_env: dict[str, str] = {}
        unset_env: list[str] = []
        for edit in edits:
            if edit.env is not None:
                self._variable(edit, set_env, unset_env)
            else:
                self._flag(edit, sets, unset)
        return Repair(
            sets,
            tuple(unset),
            set_env,
            tuple(unset_env),
            why=self._why(edits),
            origin="source",
            cost=max(0.0, round(self._cost(edits), 3)),
            gives_up=self._gives_up(edits),
            alters_answers=any(self._spellings(e) & self.wishes.alters for e in edits),
        )

    def _spellings(self, edit: Edit) -> set[str]:
        flag = self.known.flag(edit.name)
        return {edit.name, self.known.spelling(edit.name) or edit.name, *(flag.names if flag else ())}

    def _flag(self, edit: Edit, sets: dict[str, FlagValue], unset: list[str]) -> None:
        spelled = self.known.spelling(edit.name) or edit.name
        flag = self.known.flag(edit.name)
        if edit.value.unset:
            unset.append(spelled)
        elif flag is not None and not flag.takes_value:
            present = edit.value.value is not (flag.action == "store_false")
            negatable = flag.action == "boolean_optional"
            if present or negatable:
                sets[spelled] = present
            else:
                unset.append(spelled)
        else:
            sets[spelled] = edit.value.value

    @staticmethod
    def _variable(edit: Edit, set_env: dict[str, str], unset_env: list[str]) -> None:
        value = edit.value.value
        if edit.value.unset:
            unset_env.append(edit.name)
        else:
            set_env[edit.name] = str(int(value)) if isinstance(value, bool) else str(value)

    def _why(self, edits: tuple[Edit, ...]) -> str:
        check = f"the check at {self.reading.file.rpartition('/')[2]}:{self.reading.line}"
        condition = self.reading.condition or Const(True)
        met = self._with(edits).truth(condition) is True
        if met:
            return f"{check} wants: {said(condition, self.known)}"
        gone = next((g for g in self.reading.guards if self._with(edits).truth(g.term) is False), None)
        if gone is None:
            return f"{check} wants: {said(condition, self.known)}; the engine then chooses the value itself"
        return f"{check} is made only where {said(gone.term, self.known)}"

    def _gives_up(self, edits: tuple[Edit, ...]) -> str:
        lost = [self.known.spelling(e.name) or e.name for e in edits if self._spellings(e) & set(self.wishes.keep)]
        return f"what was asked with {', '.join(lost)}" if lost else ""


def _assume(term: Term, wanted: bool, evaluation: Evaluation, found: dict[int, bool]) -> None:
    """Note in `found` what must be true of the parts of `term`, given that it is `wanted`."""
    if id(term) in found or isinstance(term, Const):
        return
    found[id(term)] = wanted
    if not isinstance(term, Op):
        return
    if term.name == "not":
        _assume(term.args[0], not wanted, evaluation, found)
    elif term.name in {"and", "or"}:
        decided = (term.name == "and") is wanted
        # An `and` that is false has a false part: if all but one are known to be true, it is that one.
        other = [a for a in term.args if evaluation.truth(a) is not (not wanted)]
        open_ = term.args if decided else other if len(other) == 1 else ()
        for arg in open_:
            _assume(arg, wanted, evaluation, found)
    elif term.name == "bool":
        _assume(term.args[0], wanted, evaluation, found)
