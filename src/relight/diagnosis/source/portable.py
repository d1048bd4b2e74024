"""A condition read from the source, in a form that planning can hold any settings against."""

from dataclasses import dataclass, field
from typing import Any

from relight.diagnosis.source.evaluate import UNKNOWN
from relight.diagnosis.source.explain import said
from relight.diagnosis.source.known import Known, default
from relight.diagnosis.source.reading import Reading
from relight.diagnosis.source.terms import Const, Env, Field, Op, Opaque, Term, both, negate, parts
from relight.diagnosis.source.values import Values
from relight.words.condition import SWITCHES, Condition, Part, combined, fails, read_as, thawed
from relight.words.parser import HostParser, ParserFlag

MOST = 400
"""Parts of a condition; what takes more says too little to be worth its place in every record."""
UNREAD = Part("unknown")
FIXED = frozenset({"const", "held", "unknown"})


def portable(reading: Reading, values: Values, parser: HostParser | None) -> Condition | None:
    """Return when the check that failed fails, None where what is known of the settings does not say that it did."""
    if reading.condition is None:
        return None
    known = Known(reading, values, parser)
    # Checks that were passed do nothing but refuse: settings that break one of them fail all the same.
    guards = [g.term for g in reading.guards if not g.passed]
    encoder = Encoder(known)
    encoder.encode(both([*guards, negate(reading.condition)]))
    words = " and ".join([*(said(g, known) for g in guards), said(reading.condition, known, holds=False)])
    return _tested(Condition(tuple(encoder.parts), words), reading, known) if len(encoder.parts) <= MOST else None


def _tested(found: Condition, reading: Reading, known: Known) -> Condition | None:
    """Return the condition where it explains the failure it was read at; it is exact where settings alone do."""

    def look(part: Part) -> Any:
        return _given(part, known)

    if fails(found, look) is not True:
        return None
    return Condition(found.parts, found.words, reading.whole and fails(found, look, held=False) is True)


def _given(part: Part, known: Known) -> Any:
    """Return what the command that failed gives for a part."""
    if part.op == "env":
        text = known.values.env.get(part.names[0])
        return thawed(part.value) if text is None else read_as(part.kind, text)
    spelled = known.given(part.names[0].replace("-", "_"))
    if part.op == "given":
        return spelled is not None
    return thawed(part.value) if spelled is None else read_as(part.kind, known.values.flags[spelled])


@dataclass
class Encoder:
    """Writes a term as parts, what does not depend on the settings worked out at once."""

    known: Known
    parts: list[Part] = field(default_factory=list)
    _places: dict[int, int] = field(default_factory=dict)
    _same: dict[str, int] = field(default_factory=dict)

    def encode(self, term: Term) -> int:
        """Write a term and what it is made of; return its position."""
        left = [term]
        while left:
            now = left[-1]
            missing = [t for t in parts(now) if id(t) not in self._places and not isinstance(now, Opaque)]
            left += missing
            if not missing:
                left.pop()
                self._places.setdefault(id(now), self._add(self._part(now)))
        # The last part is the whole of it, wherever the same was written before.
        last = self._places[id(term)]
        if last != len(self.parts) - 1:
            self.parts.append(self.parts[last])
        return len(self.parts) - 1

    def _add(self, part: Part) -> int:
        key = repr(part)
        if key not in self._same:
            self._same[key] = len(self.parts)
            self.parts.append(part)
        return self._same[key]

    def _part(self, term: Term) -> Part:
        if isinstance(term, Const):
            return _constant("const", term.value)
        if isinstance(term, Env):
            plain = term.default if isinstance(term.default, bool | int | float | str) else None
            return Part("env", value=plain, names=(term.name,), kind=term.kind)
        if isinstance(term, Field):
            return self.parts[self._places[id(term.value)]] if term.value is not None else self._field(term)
        return self._operation(term) if isinstance(term, Op) else self._opaque(term)

    def _operation(self, term: Op) -> Part:
        args = tuple(self._places[id(a)] for a in term.args)
        before = [self.parts[n] for n in args]
        if term.name not in {"and", "or", "if"} and any(p.op == "unknown" for p in before):
            return self._told(term)
        if all(p.op in FIXED for p in before):
            values = [UNKNOWN if p.op == "unknown" else thawed(p.value) for p in before]
            op = "held" if any(p.op == "held" for p in before) else "const"
            return _constant(op, combined(term.name, values))
        return Part(term.name, args)

    def _told(self, term: Term) -> Part:
        return next((_constant("held", value) for t, value in self.known.reading.told if t is term), UNREAD)

    def _opaque(self, term: Opaque) -> Part:
        value = self.known.lookup(term)
        if value is UNKNOWN or term.reads:
            return self._told(term) if not term.reads else UNREAD
        return _constant("held" if term.text in self.known.reading.facts else "const", value)

    def _field(self, term: Field) -> Part:
        flag, (value, origin) = self.known.flag(term.name), self.known.value(term.name)
        if flag is None and self.known.parser is not None:
            return UNREAD if value is UNKNOWN else _constant("const" if origin == "model" else "held", value)
        return self._flag(term.name, flag, value, engine=origin in {"message", "resolved"})

    def _flag(self, name: str, flag: ParserFlag | None, value: Any, *, engine: bool) -> Part:
        """Return the part of a flag; where the engine had made something else of it, that is known of this failure."""
        part = _of_flag(name, flag, self.known)
        if part is None:
            return UNREAD
        own, held = _given(part, self.known), _printed(value, part.kind)
        if not engine or own == held:
            return part
        if self.known.given(name) is not None:
            return UNREAD
        given = self._add(Part("given", names=part.names))
        return Part("if", (given, self._add(part), self._add(_constant("held", held))))


def _printed(value: Any, kind: str) -> Any:
    """Return a value as the engine held it: a log prints all of them as text."""
    if kind in {SWITCHES, "off"} and value in {"True", "False"}:
        return value == "True"
    return read_as(kind, value) if isinstance(value, str) and kind in {"int", "float", "json"} else value


def _constant(op: str, value: Any) -> Part:
    plain = _plain(value)
    return UNREAD if plain is UNKNOWN else Part(op, value=plain)


def _plain(value: Any) -> Any:
    """Return a value that keeps its meaning on the way through JSON, UNKNOWN for any other."""
    if isinstance(value, frozenset | set):
        value = tuple(sorted(value, key=repr))
    if isinstance(value, tuple | list):
        items = tuple(_plain(v) for v in value)
        return UNKNOWN if any(v is UNKNOWN for v in items) else items
    if isinstance(value, dict):
        sound = all(isinstance(k, str) and _plain(v) is not UNKNOWN for k, v in value.items())
        return dict(value) if sound else UNKNOWN
    return value if value is None or isinstance(value, bool | int | float | str) else UNKNOWN


def _of_flag(name: str, flag: ParserFlag | None, known: Known) -> Part | None:
    """Return the part for a field that a flag fills, None where several fill it or nobody knows what it is read as."""
    if flag is None:
        # Without a parser nobody knows what is used where nothing is given.
        return Part("flag", names=(name.replace("_", "-"),)) if known.given(name) is not None else None
    if len(known.parser.by_dest(name) if known.parser else ()) > 1:
        return None
    kind = "" if flag.takes_value else "off" if flag.action == "store_false" else SWITCHES
    many = "many " if flag.nargs in {"+", "*"} else ""
    value = _plain(default(flag))
    return None if value is UNKNOWN else Part("flag", value=value, names=(flag.name,), kind=kind or many + flag.type)
