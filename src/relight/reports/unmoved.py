"""One failure that stayed whatever a setting said: its place in the code, and the values that did not move it."""

from collections.abc import Mapping, Sequence
from typing import Any

from relight.reports.prose import listed, numbered, path, value
from relight.reports.tables import took
from relight.words.attempt import Attempt, Record
from relight.words.diagnosis import Diagnosis

_FLAGS = 3
"""Settings that are named in one sentence."""
_VALUES = 5
_NOT_GIVEN = "not given"


def unmoved(record: Record) -> str:
    """Return one sentence on the failure that most launches share though settings differed; "" where none is."""
    alike = _alike(record)
    varied = _blamed_first(_varied(alike), alike)
    if len(alike) < 2 or not varied:
        return ""
    which = numbered(f"attempts {', '.join(str(a.n) for a in alike)}")
    told = [f"`{name}` ({', '.join(values)})" for name, values in list(varied.items())[:_FLAGS]]
    verb = "was" if len(told) == 1 else "were"
    return f"{_place(alike)} in {which}, whatever {listed(told)} {verb}{_taken(alike, next(iter(varied)))}."


def _alike(record: Record) -> list[Attempt]:
    """Return the launches with the commonest fingerprint, in their order."""
    groups: dict[str, list[Attempt]] = {}
    for attempt in record.attempts:
        cause = attempt.diagnosis.cause if attempt.diagnosis else None
        if attempt.launched and cause and cause.fingerprint:
            groups.setdefault(cause.fingerprint, []).append(attempt)
    return max(groups.values(), key=len, default=[])


def _place(alike: Sequence[Attempt]) -> str:
    """Return where it failed, where that is one place for all of them."""
    places = {_frame(a.diagnosis) for a in alike if a.diagnosis}
    frame = next(iter(places)) if len(places) == 1 else ""
    return f"The same place in the code failed ({frame})" if frame else "The same failure came"


def _frame(diagnosis: Diagnosis) -> str:
    frames = diagnosis.traceback.frames if diagnosis.traceback else ()
    last = frames[-1] if frames else None
    return f"`{path(last.file)}:{last.line}` in `{last.function}`" if last else ""


def _taken(alike: Sequence[Attempt], name: str) -> str:
    """Say that the engine took each value of a flag, where it said so each time."""
    flag = name.removeprefix("--")
    given = [took(a, flag) for a in alike if flag in a.settings.flags]
    return "; the engine says that it took each value" if given and all(given) else ""


def _varied(alike: Sequence[Attempt]) -> dict[str, list[str]]:
    """Return what the settings differ in, with the values in the order they were tried.

    Of what always moved together only the first is named: a lever's variant sets several.
    """
    found: dict[str, list[str]] = {}
    moves: set[tuple[int, ...]] = set()
    for env in (False, True):
        sides: list[Mapping[str, Any]] = [a.settings.env if env else a.settings.flags for a in alike]
        for name in dict.fromkeys(n for side in sides for n in side):
            held = [_value(side, name) for side in sides]
            values = list(dict.fromkeys(held))
            move = tuple(map(values.index, held))
            if len(values) > 1 and move not in moves:
                moves.add(move)
                found[name if env else f"--{name}"] = [*values[:_VALUES], *(["..."] if len(values) > _VALUES else [])]
    return found


def _value(side: Mapping[str, Any], name: str) -> str:
    if name not in side:
        return _NOT_GIVEN
    return "given" if side[name] is True else value(side[name])


def _blamed_first(varied: Mapping[str, list[str]], alike: Sequence[Attempt]) -> dict[str, list[str]]:
    """Return what varied, what the failure itself blames first; beside that the rest says little."""
    causes = [a.diagnosis.cause for a in alike if a.diagnosis and a.diagnosis.cause]
    blames = {*(f"--{n}" for c in causes for n in c.blames), *(n for c in causes for n in c.blames_env)}
    own = {name: values for name, values in varied.items() if name in blames}
    return own or dict(sorted(varied.items(), key=lambda pair: -len(pair[1])))
