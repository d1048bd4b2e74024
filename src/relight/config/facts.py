"""What planning must know about flags, and what became of them: flags.toml and renames.toml of an engine."""

from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from relight.config import shipped
from relight.config.document import Document, read_document
from relight.config.flag_tables import load_aliases, load_versions
from relight.config.keys import Key, check
from relight.words.knowledge import FlagFact, Rename
from relight.words.parser import HostParser

_FACT: Mapping[str, Key] = {
    "bounds": Key("anything", "lowest and highest legal value"),
    "ladder": Key("anything", "steps downwards, best first", default=()),
    "cost": Key("number", "what changing it gives up; 0 = nothing", default=1.0),
    "gives_up": Key("text", "the same in words", default=""),
}
FLAGS_KEYS: Mapping[str, Key] = {
    "always_protected": Key("texts", "never changed unless allowed", default=()),
    "purpose": Key("texts", "flags that say what a server is for; no repair adds them", default=()),
    "cards": Key("texts", "flags that count cards; no repair asks for more than there are", default=()),
    "unsuspected": Key("texts", "flags that no failure is laid on which does not speak of them", default=()),
    "host_memory": Key("texts", "GB of host memory that each rank takes", default=()),
    "diagnostic_env": Key("texts", "variables that make the engine tell more and mend nothing", default=()),
    "secret": Key("texts", "values that are secrets", default=()),
    "alters_answers": Key("texts", "flags that can change what the model answers", default=()),
    "alters_answers_env": Key("texts", "variables that switch a check off", default=()),
    "flag": Key("map", "single flags", each=Key("table", "one flag", keys=_FACT)),
}
RENAMES_KEYS: Mapping[str, Key] = {
    "rename": Key("tables", "one name each", keys={
        "old": Key("text", "the name that is gone", required=True),
        "set": Key("flags", "what to give instead"),
        "values": Key("env", "old value = new value"),
        "since": Key("text", "first sampled version without the old name", default=""),
        "why": Key("text", "one clause", default=""),
        "env": Key("boolean", "the name is a variable's", default=False),
    }),
}  # fmt: skip


def flag_facts(engine: str = "sglang") -> dict[str, FlagFact]:
    """Return what is known about single flags, by every name that any sampled version has for them."""
    folder = shipped.engine(engine)
    names = {name for parser in load_versions(folder).values() for flag in parser for name in flag.names}
    return load_facts(folder, names, load_aliases(folder))


def load_facts(
    folder: Path, names: Iterable[str] = (), aliases: Mapping[str, str] | None = None
) -> dict[str, FlagFact]:
    """Return the facts of flags.toml by name; patterns stand for those of `names` that fit, aliases share a fact."""
    document = read_document(folder / "flags.toml")
    lists = check(document, FLAGS_KEYS, document.values)
    single: dict[str, dict[str, Any]] = lists["flag"]
    alias = dict(aliases or {})
    known = {*names, *single, *alias, *(n for k in FLAGS_KEYS if k != "flag" for n in lists[k])}
    return {name: _fact(document, name, alias.get(name, name), lists, single) for name in sorted(known)}


def _fact(
    document: Document, spelling: str, name: str, lists: Mapping[str, Any], single: Mapping[str, dict[str, Any]]
) -> FlagFact:
    own = single.get(name) or single.get(spelling) or {}
    alters = _among(name, lists["alters_answers"]) or name in lists["alters_answers_env"]
    return FlagFact(
        name=name,
        alters_answers=alters,
        always_protected=_among(name, lists["always_protected"]) or spelling in lists["always_protected"],
        purpose=_among(name, lists["purpose"]),
        cards=_among(name, lists["cards"]) or spelling in lists["cards"],
        unsuspected=_among(name, lists["unsuspected"]) or spelling in lists["unsuspected"],
        host_memory=_among(name, lists["host_memory"]),
        diagnostic=name in lists["diagnostic_env"],
        secret=_among(name, lists["secret"]),
        bounds=_bounds(document, spelling, own.get("bounds")),
        ladder=tuple(own.get("ladder", ())),
        cost=own.get("cost", 9.0 if alters else 1.0),
        gives_up=own.get("gives_up", ""),
    )


def _among(name: str, patterns: Iterable[str]) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in patterns)


def _bounds(document: Document, name: str, given: Any) -> tuple[float, float] | None:
    if given is None:
        return None
    if not (isinstance(given, list) and len(given) == 2 and given[0] <= given[1]):
        raise document.error(("flag", name, "bounds"), f"bounds of {name} must be [lowest, highest]")
    return float(given[0]), float(given[1])


def load_renames(folder: Path, versions: Mapping[str, HostParser] | None = None) -> tuple[Rename, ...]:
    """Return the renames of renames.toml, and a plain removal for every other name the newest version lacks."""
    document = read_document(folder / "renames.toml")
    found = tuple(Rename(**row) for row in check(document, RENAMES_KEYS, document.values)["rename"])
    told = {rename.old for rename in found if rename.since}
    return found + tuple(r for r in _removed(versions or {}) if r.old not in told)


def _removed(versions: Mapping[str, HostParser]) -> Iterable[Rename]:
    ordered = list(versions.values())
    for i, parser in enumerate(ordered[1:], start=1):
        later = {name for p in ordered[i:] for flag in p for name in flag.names}
        for flag in ordered[i - 1]:
            for name in flag.names:
                if name not in later:
                    yield Rename(old=name, since=parser.version or "", why="later versions do not have it")
