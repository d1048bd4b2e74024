"""An area for every switch that no file speaks of: code is named after what switches it on."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from fnmatch import fnmatchcase

from relight.words.area import Area, Areas
from relight.words.knowledge import FlagFact
from relight.words.parser import HostParser
from relight.words.signature import Remedy

PREFIX = "enable-"
SHORTEST = 8
"""Characters below which the name of a feature may be a word of any other code."""
COST = 3.0


def with_switches(areas: Areas, parsers: Iterable[HostParser], facts: Mapping[str, FlagFact]) -> Areas:
    """Return the areas and, behind them, one for each switch of the parsers that none of them steers."""
    patterns = [p for area in areas.all for p in (*area.flags, *area.on)]
    names = sorted({flag.name for parser in parsers for flag in parser if not flag.takes_value})
    fresh = (n for n in names if not any(fnmatchcase(n, p) for p in patterns) and not _kept(facts.get(n)))
    return replace(areas, all=(*areas.all, *_areas(fresh)))


def _kept(fact: FlagFact | None) -> bool:
    return fact is not None and (fact.purpose or fact.always_protected or fact.secret)


def _areas(names: Iterable[str]) -> Iterator[Area]:
    for name in names:
        feature = name.removeprefix(PREFIX)
        if feature != name and "-" in feature and len(feature) >= SHORTEST:
            code = "(?i)" + feature.replace("-", "[_ -]?")
            away = Remedy(unset=(name,), why="without it none of this code runs", cost=COST)
            yield Area(name=name, flags=(name,), on=(name,), frames=(code,), text=(code,), remedies=(away,))
