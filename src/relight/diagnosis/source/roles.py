"""Names in code behind argument validation -> fields of the settings, by the words they are made of.

A layer no longer reads `server_args.tp_size`: it has a local `tp_size`, or asks get_tensor_model_parallel_world_size().
"""

import re
from collections.abc import Iterator
from dataclasses import replace

from relight.diagnosis.source.reading import Reading
from relight.diagnosis.source.terms import Field, Op, Opaque, Term, names, walk
from relight.words.parser import HostParser

NAME = re.compile(r"(?:\w+\.)*(\w+)(?:\(\))?")
FILLERS = frozenset({"get", "model", "world", "moe"})
"""Words that such names hold beside those of the flag."""


def with_fields(reading: Reading, parser: HostParser | None) -> Reading:
    """Return the reading with fields in the place of opaque names that can only mean a numeric flag."""
    if parser is None or reading.condition is None:
        return reading
    found = dict(_fields(reading, parser))
    if not found:
        return reading
    facts = {field.name: reading.facts[text] for text, field in found.items() if text in reading.facts}
    return replace(
        reading,
        condition=_renamed(reading.condition, found),
        guards=tuple(replace(g, term=_renamed(g.term, found)) for g in reading.guards),
        facts={**facts, **reading.facts},
    )


def _fields(reading: Reading, parser: HostParser) -> Iterator[tuple[str, Field]]:
    for term in walk(*(t for t in (reading.condition, *(g.term for g in reading.guards)) if t is not None)):
        if isinstance(term, Opaque) and not names(term):
            name = NAME.fullmatch(term.text)
            dest = _dest(name[1], parser) if name else ""
            if dest:
                yield term.text, Field(dest)


def _dest(name: str, parser: HostParser) -> str:
    """Return the numeric field that a name stands for, "" where there is none."""
    if any(flag.type == "int" for flag in parser.by_dest(name)):
        return name
    words = set(name.split("_"))
    for flag in parser:
        for own in (set(n.split("-")) for n in flag.names if flag.type == "int" and "-" in n):
            if own <= words and words - own <= FILLERS:
                return flag.dest
    return ""


def _renamed(term: Term, found: dict[str, Field]) -> Term:
    """Return a term with names replaced; parts in which nothing is replaced stay the same objects."""
    if isinstance(term, Opaque) and not names(term):
        return found.get(term.text, term)
    if not isinstance(term, Op):
        return term
    args = tuple(_renamed(a, found) for a in term.args)
    return term if all(a is b for a, b in zip(args, term.args, strict=True)) else Op(term.name, args)
