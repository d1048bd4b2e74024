"""The names of flags: one name for comparing, one spelling for writing."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from relight.planning import equal
from relight.words.knowledge import Rename
from relight.words.parser import HostParser
from relight.words.playbook import Playbook
from relight.words.settings import FlagValue, Settings


@dataclass(frozen=True)
class View:
    """Settings as they are compared: flags by first long name, defaults left out; environment by name."""

    flags: Mapping[str, equal.Plain]
    env: Mapping[str, str]

    @property
    def key(self) -> equal.Key:
        """Return what equal settings share."""
        return equal.Key(frozenset(self.flags.items()), frozenset(self.env.items()))


@dataclass(frozen=True)
class Names:
    """Names under one parser. `own` maps a first long name to the spelling the playbook uses.

    `renames` say what flags of other versions are called.
    """

    parser: HostParser | None = None
    own: Mapping[str, str] = field(default_factory=dict)
    renames: tuple[Rename, ...] = field(default=(), compare=False)
    _first: dict[str, str] = field(default_factory=dict, compare=False)
    _spelled: dict[str, str] = field(default_factory=dict, compare=False)
    _items: dict[tuple[str, type, Any], tuple[tuple[str, equal.Plain], ...]] = field(
        default_factory=dict, compare=False
    )

    def canonical(self, name: str) -> str:
        """Return the parser's first long name for `name`."""
        if name not in self._first:
            self._first[name] = equal.canonical(name, self.parser)
        return self._first[name]

    def spell(self, name: str) -> str:
        """Return how `name` is written: as the playbook does, else the parser's shortest long name."""
        if name not in self._spelled:
            first = self.canonical(name)
            known = self.parser.find(first) if self.parser else None
            self._spelled[name] = self.own.get(first) or (min(known.names, key=len) if known else name)
        return self._spelled[name]

    def default(self, first: str) -> Any:
        """Return the parser's default for the flag, as it is compared; None where there is none."""
        known = self.parser.find(first) if self.parser else None
        return None if known is None or known.default is None else equal.plain(known.default, known)

    def value(self, name: str, value: object) -> equal.Plain:
        """Return `value` as it is compared."""
        return equal.value_of(name, value, self.parser)

    def has(self, name: str) -> bool:
        """Say whether the parser knows the flag; without a parser every flag is taken for known."""
        return self.parser is None or self.parser.resolve(name) is not None

    def renamed(self, name: str, value: FlagValue) -> Iterator[Mapping[str, FlagValue]]:
        """Yield what stands for a flag that this parser lacks, or may lack, by the table of renames."""
        if self.parser is None or self.parser.find(name) is None:
            found = (filled(r, value) for r in self.renames if r.old == name and not r.env)
            yield from (new for new in found if new and all(map(self.has, new)))

    def view(self, settings: Settings) -> View:
        """Return `settings` as they are compared."""
        flags = dict(item for n, v in settings.flags.items() for item in self._item(n, v))
        return View(flags, {n: equal.env_value(v) for n, v in settings.env.items()})

    def _item(self, name: str, value: FlagValue) -> tuple[tuple[str, equal.Plain], ...]:
        """Return a flag as it is compared, () if giving it changes nothing."""
        if isinstance(value, Mapping | list):
            return self._compared(name, value)
        known = (name, type(value), value)
        if known not in self._items:
            self._items[known] = self._compared(name, value)
        return self._items[known]

    def _compared(self, name: str, value: FlagValue) -> tuple[tuple[str, equal.Plain], ...]:
        if not equal.counts(name, value, self.parser):
            return ()
        return ((self.canonical(name), self.value(name, value)),)


def filled(rename: Rename, value: FlagValue) -> Mapping[str, FlagValue]:
    """Return what to give in place of a renamed flag that was given `value`; {} where it is just gone."""
    return {n: _filled(template, value, rename) for n, template in rename.set.items()}


def _filled(template: FlagValue, value: FlagValue, rename: Rename) -> FlagValue:
    if template == "{value}":
        return rename.values.get(str(value), value)
    return template.replace("{value}", str(value)) if isinstance(template, str) else template


def names_of(playbook: Playbook, parser: HostParser | None, renames: Iterable[Rename] = ()) -> Names:
    """Return the names under `parser`, with the playbook's spellings."""
    written = [*playbook.flags, *(n for lever in playbook.levers for v in lever.variants for n in v.flags)]
    own: dict[str, str] = {}
    for name in written:
        own.setdefault(equal.canonical(name, parser), name)
    return Names(parser, own, tuple(renames))
