"""Why a proposed repair was not taken: what is known against it, in a few words."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from relight.reports.edits import edits_of
from relight.reports.learned import in_words
from relight.reports.prose import listed, outcome
from relight.words.attempt import Attempt, Nogood, Record, Term
from relight.words.settings import Repair, Settings

_ENDS: Mapping[str, str] = {
    "healthy": "not needed",
    "budget": "not tried: the launches or the time ran out first",
    "person": "not tried: a person has to act first",
    "failed": "not tried: deploy launches once; retry would go on",
    "exhausted": "not tried: nothing says that it would do better",
}
PASSED = "passed over"
_NUMBER = re.compile(r"\d+")


def passed_over(repair: Repair, attempt: Attempt, record: Record, taken: Sequence[Repair]) -> str:
    """Return why a repair of `attempt` was not made; `taken` are those of its repairs that were."""
    if repair.telling:
        return f"{PASSED}: it mends nothing, but shows which kernel fails"
    against = known_against(repair, attempt, record)
    if against:
        return f"{PASSED}: {against}"
    within = _within(repair, attempt, record)
    if within:
        return f"{PASSED}: tried only beside other changes (attempt {within.n}, {outcome(within)})"
    following = next((a for a in record.attempts if a.n > attempt.n), None)
    if following is None:
        return _ENDS.get(record.state, "not tried")
    return f"{PASSED}: {_beaten(repair, attempt, following, taken)}"


def _within(repair: Repair, attempt: Attempt, record: Record) -> Attempt | None:
    """Return the first later launch that had all edits of a repair among others."""
    wanted = attempt.settings.changed(repair)
    later = (a for a in record.attempts if a.n > attempt.n and a.launched)
    return next((a for a in later if _has_all(repair, wanted, a.settings)), None)


def _has_all(repair: Repair, wanted: Settings, given: Settings) -> bool:
    flags = all(_side(wanted.flags, n) == _side(given.flags, n) for n in repair.names)
    return flags and all(_side(wanted.env, n) == _side(given.env, n) for n in repair.variables)


def _side(held: Mapping[str, Any], name: str) -> tuple[bool, Any]:
    return name in held, held.get(name)


def _beaten(repair: Repair, attempt: Attempt, following: Attempt, taken: Sequence[Repair]) -> str:
    """Return what came before it: by its cost, else by what was done instead."""
    rivals = taken or (attempt.diagnosis.repairs if attempt.diagnosis else ())
    if repair.cost > min((r.cost for r in rivals), default=repair.cost):
        return "it costs more"
    if _same(attempt.settings, following.settings):
        return "the same settings were given another try"
    moved = dict(attempt.choice) != dict(following.choice)
    return "a lever's next variant came first" if moved else "another change came first"


def known_against(repair: Repair, attempt: Attempt, record: Record) -> str:
    """Return what is known against a repair of `attempt`: protection, a refusal or a failure; "" where nothing is."""
    wanted = attempt.settings.changed(repair)
    before = [a for a in record.attempts if a.n <= attempt.n and a.outcome not in {"healthy", "aborted", None}]
    same = next((a for a in before if _same(a.settings, wanted)), None)
    if same:
        return f"attempt {same.n} failed with it"
    protected = {option.change for option in record.options if option.status == "protected"}
    guarded = next((name for name in _names(repair) if name in protected), None)
    if guarded:
        return f"{guarded} is protected"
    ruled = next((n for n in record.nogoods if _by(n, attempt) and _covers(n, repair, wanted)), None)
    return _ruled_out(ruled, repair) if ruled else ""


def _ruled_out(nogood: Nogood, repair: Repair) -> str:
    verb = "rule" if nogood.because.startswith("attempts ") else "rules"
    touched = repair.names | repair.variables
    terms = [in_words(term) for term in nogood.terms if term.name in touched]
    return f"{nogood.because} {verb} out {listed(terms)}"


def _names(repair: Repair) -> list[str]:
    return list(dict.fromkeys(edit.text.split(" ")[0].split("=")[0] for edit in edits_of(repair)))


def _same(one: Settings, other: Settings) -> bool:
    return dict(one.flags) == dict(other.flags) and dict(one.env) == dict(other.env)


def _by(nogood: Nogood, attempt: Attempt) -> bool:
    """Say whether a nogood was known when the repairs of `attempt` were weighed."""
    if not nogood.because.startswith("attempt"):
        return True
    return min(map(int, _NUMBER.findall(nogood.because)), default=attempt.n + 1) <= attempt.n


def _covers(nogood: Nogood, repair: Repair, wanted: Settings) -> bool:
    """Say whether settings fall under a nogood by what a repair sets; what they do not name counts as it was."""
    touched = repair.names | repair.variables
    at = [_holds(term, wanted) and term.op != "!=" for term in nogood.terms if term.name in touched]
    others = [_holds(term, wanted) for term in nogood.terms if term.name not in touched]
    return bool(at) and all(at) and all(held is not False for held in others)


def _holds(term: Term, settings: Settings) -> bool | None:
    """Say whether a term is true of settings; None where they do not name it and it may have a default."""
    held: Mapping[str, Any] = settings.env if term.env else settings.flags
    given = term.name in held
    if term.op in {"set", "unset"}:
        return given == (term.op == "set")
    if not given:
        return None
    value = held[term.name]
    if term.op in {"<=", ">="}:
        return _beyond(term, value)
    values = term.value if isinstance(term.value, list | tuple) else (term.value,)
    return (_text(value) in map(_text, values)) == (term.op == "=")


def _text(value: Any) -> str:
    """Return a value as it compares, whether it came through JSON or not."""
    return " ".join(map(_text, value)) if isinstance(value, list | tuple) else str(value)


def _beyond(term: Term, value: Any) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return bool(value <= term.value) if term.op == "<=" else bool(value >= term.value)
