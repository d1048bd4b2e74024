"""Names in code behind argument validation -> fields of the settings, by the words they are made of.

A layer no longer reads `server_args.tp_size`: it has a local `tp_size`, or asks get_tensor_model_parallel_world_size().
"""

import re
from collections.abc import Iterator
from dataclasses import replace

from relight.diagnosis.source.known import Known
from relight.diagnosis.source.reading import Reading
from relight.diagnosis.source.terms import Const, Field, Op, Opaque, Term, names, walk
from relight.diagnosis.source.values import Values
from relight.words.parser import HostParser

NAME = re.compile(r"(?:\w+(?:\(\))?\.)*(\w+)(?:\(\))?")
SHARE = re.compile(r"\w*per_partition|\w*partition_size")
"""What the size of one rank's share is called."""
RANKS = ("tensor_parallel_size", "tp_size")
"""What the number of ranks that share a layer is called."""
FILLERS = frozenset({"get", "model", "world", "moe", "attn"})
"""Words that such names hold beside those of the flag."""


def with_fields(reading: Reading, parser: HostParser | None, values: Values | None = None) -> Reading:
    """Return the reading with fields in the place of opaque names that can only mean a numeric flag.

    With `values`, a share whose size the message tells becomes what is shared, divided by the ranks that share it.
    """
    if parser is None or reading.condition is None:
        return reading
    found: dict[str, Term] = {**dict(_fields(reading, parser)), **(_shares(reading, parser, values) if values else {})}
    if not found:
        return reading
    facts = {f.name: reading.facts[text] for text, f in found.items() if isinstance(f, Field) and text in reading.facts}
    shared = {text for text, f in found.items() if not isinstance(f, Field)}
    told = tuple((t, v) for t, v in reading.told if not (isinstance(t, Opaque) and t.text in shared))
    return replace(
        reading,
        condition=_renamed(reading.condition, found),
        guards=tuple(replace(g, term=_renamed(g.term, found)) for g in reading.guards),
        facts={**facts, **{text: v for text, v in reading.facts.items() if text not in shared}},
        told=told,
    )


def _shares(reading: Reading, parser: HostParser, values: Values) -> dict[str, Term]:
    """Return sizes of one rank's share as the whole divided by the number of ranks, where the message tells both."""
    dest = next((d for d in (_dest(n, parser) for n in RANKS) if d), "")
    now = Known(reading, values, parser).value(dest)[0] if dest else None
    sizes = {text: v for text, v in reading.facts.items() if SHARE.fullmatch(text) and isinstance(v, int)}
    if not isinstance(now, int) or now < 1:
        return {}
    return {text: Op("//", (Const(size * now), Field(dest))) for text, size in sizes.items()}


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


def _renamed(term: Term, found: dict[str, Term]) -> Term:
    """Return a term with names replaced; parts in which nothing is replaced stay the same objects."""
    if isinstance(term, Opaque) and (not names(term) or term.text in found):
        return found.get(term.text, term)
    if isinstance(term, Field):
        return found.get(term.name, term)
    if not isinstance(term, Op):
        return term
    args = tuple(_renamed(a, found) for a in term.args)
    return term if all(a is b for a, b in zip(args, term.args, strict=True)) else Op(term.name, args)
