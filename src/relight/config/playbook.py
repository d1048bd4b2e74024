"""A playbook (CONTRACT.md section 3)."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from relight.config import shipped
from relight.config.document import Document, parse_document, read_document, shown
from relight.config.facts import flag_facts
from relight.config.keys import Key, check, check_value, flag_name
from relight.config.lines import KeyPath
from relight.config.versions import parse_range
from relight.words.errors import UsageError
from relight.words.knowledge import FlagFact
from relight.words.near import meant
from relight.words.playbook import Budget, Health, Lever, Playbook, Probe, Variant
from relight.words.settings import Settings

PROBE_KEYS: Mapping[str, Key] = {
    "prompt": Key("text", "what the server is asked", required=True),
    "expect": Key("text", "a regular expression that the answer must hold", default=""),
}
HEALTH_KEYS: Mapping[str, Key] = {
    "deadline": Key("duration", "for the whole start, once the model is on the host", default=Health.deadline),
    "download": Key("duration", "for fetching the model", default=Health.download),
    "soak": Key("duration", "how long a healthy server is watched before it counts", default=Health.soak),
    "judge": Key("text", "how answers are judged", default="strict", choices=("strict", "shape", "off")),
    "builtin": Key("boolean", "ask the built-in questions too", default=True),
    "probe": Key("tables", "your own questions", keys=PROBE_KEYS),
}
BUDGET_KEYS: Mapping[str, Key] = {
    "attempts": Key("count", "launches, rungs dummy and real", default=Budget.attempts),
    "deadline": Key(
        "duration", "for the run; time the host was unreachable or waited for does not count", default=Budget.deadline
    ),
    "dummy": Key("boolean", "allow the dummy-weights rung", default=False),
    "win_back": Key("count", "dropped levers that may be tried again after success", default=0),
}
PROTECT_KEYS: Mapping[str, Key] = {
    "flags": Key("texts", "flags that no repair changes", default=()),
    "env": Key("texts", "variables that no repair changes", default=()),
    "others": Key("boolean", "repairs may not add what nobody gave", default=False),
}
ALLOW_KEYS: Mapping[str, Key] = {
    "flags": Key("texts", "always-protected flags that repairs may change all the same", default=()),
}
FALLBACK_KEYS: Mapping[str, Key] = {
    "flags": Key("flags", "all flags of the settings that work, without what is protected"),
    "env": Key("env", "their variables"),
}
VARIANT_KEYS: Mapping[str, Key] = {
    "flags": Key("flags", "flags the variant sets; the first one decides whether the lever still counts"),
    "env": Key("env", "variables the variant sets"),
    "needs": Key("texts", "flags the host's parser must have", default=()),
    "versions": Key("text", "engine releases it is for, as in >=0.5.5", default=""),
}
LEVER_KEYS: Mapping[str, Key] = {
    "name": Key("text", "how the report calls it", required=True),
    "keep": Key("number", "how much it is worth", default=1.0),
    "variants": Key("anything", 'best first: tables with flags and env, or "off"', required=True),
}
PLAYBOOK_KEYS: Mapping[str, Key] = {
    "schema": Key("integer", "1", default=1),
    "name": Key("text", "how the record calls this deployment", required=True),
    "engine": Key("text", "the engine", default="sglang"),
    "flags": Key("flags", "as in the engine's --help, without the dashes"),
    "env": Key("env", "variables of the server"),
    "protect": Key("table", "never changed, whatever happens", keys=PROTECT_KEYS),
    "allow": Key("table", "exceptions from what is always protected", keys=ALLOW_KEYS),
    "lever": Key("tables", "what the operator wants, most wanted first", keys=LEVER_KEYS),
    "fallback": Key("table", "settings known to start this model", keys=FALLBACK_KEYS),
    "health": Key("table", "what healthy means", keys=HEALTH_KEYS),
    "budget": Key("table", "how much may be spent", keys=BUDGET_KEYS),
}


def load_playbook(path: Path) -> Playbook:
    """Read a playbook. UsageError names file, line, key, and what is allowed there."""
    return _playbook(read_document(path))


def parse_playbook(text: str, path: Path) -> Playbook:
    """Return the playbook that `text` is, called `path` in errors."""
    return _playbook(parse_document(text, path))


def _playbook(document: Document) -> Playbook:
    values = check(document, PLAYBOOK_KEYS, document.values)
    _known(document, values)
    facts = flag_facts(values["engine"])
    levers = tuple(_lever(document, lever, ("lever", i)) for i, lever in enumerate(values["lever"]))
    playbook = Playbook(
        name=values["name"],
        engine=values["engine"],
        flags=values["flags"],
        env=values["env"],
        protect_flags=_names(document, values["protect"]["flags"], ("protect", "flags")),
        protect_env=frozenset(values["protect"]["env"]),
        protect_others=values["protect"]["others"],
        allow_flags=_names(document, values["allow"]["flags"], ("allow", "flags")),
        levers=levers,
        health=_health(document, values["health"]),
        budget=Budget(**values["budget"]),
        fallback=_fallback(values["fallback"]),
        path=str(document.path),
        text=document.text,
    )
    _no_secrets(document, playbook, facts)
    _levers_apart(document, playbook, facts)
    _unprotected(document, playbook, facts)
    return playbook


def _known(document: Document, values: Mapping[str, Any]) -> None:
    if values["schema"] != 1:
        raise document.error(("schema",), f"schema is {values['schema']}; allowed: 1")
    engines = sorted(p.name for p in shipped.folder().iterdir() if p.is_dir())
    if values["engine"] not in engines:
        text = f"engine is '{values['engine']}'; allowed: {', '.join(engines)}"
        raise document.error(("engine",), text, next=meant(values["engine"], engines))
    if not values["name"].strip():
        raise document.error(("name",), "name is empty")


def _names(document: Document, names: tuple[str, ...], at: KeyPath) -> frozenset[str]:
    for i, name in enumerate(names):
        flag_name(document, name, (*at, i))
    return frozenset(names)


def _health(document: Document, values: dict[str, Any]) -> Health:
    probes = values.pop("probe")
    for i, probe in enumerate(probes):
        try:
            re.compile(probe["expect"])
        except re.error as error:
            at = ("health", "probe", i, "expect")
            raise document.error(at, f"{shown(at)} is not a regular expression: {error}") from None
    return Health(**values, probes=tuple(Probe(**probe) for probe in probes))


def _lever(document: Document, values: dict[str, Any], at: KeyPath) -> Lever:
    given = values["variants"]
    at = (*at, "variants")
    if not isinstance(given, list) or not given:
        raise document.error(at, f'{shown(at)} must be a list of variants, best first, "off" last')
    variants = tuple(_variant(document, variant, (*at, i)) for i, variant in enumerate(given))
    if variants[0].off:
        raise document.error((*at, 0), f'"off" comes first in lever "{values["name"]}": then nothing is wanted')
    if sum(v.off for v in variants) > 1:
        raise document.error(at, f'"off" stands twice in lever "{values["name"]}"')
    return Lever(values["name"], variants, values["keep"])


def _variant(document: Document, given: Any, at: KeyPath) -> Variant:
    if given == "off":
        return Variant(off=True)
    if not isinstance(given, dict):
        raise document.error(at, f'{shown(at)} must be a table like {{ flags = {{ ... }} }}, or "off"')
    values = check_value(document, Key("table", "one variant", keys=VARIANT_KEYS), given, at)
    if not values["flags"] and not values["env"]:
        raise document.error(at, f'{shown(at)} sets nothing; write "off" for a lever that is off')
    for i, name in enumerate(values["needs"]):
        flag_name(document, name, (*at, "needs", i))
    try:
        parse_range(values["versions"])
    except ValueError as error:
        raise document.error((*at, "versions"), f"{shown((*at, 'versions'))}: {error}") from None
    return Variant(values["flags"], values["env"], values["needs"], values["versions"])


def _fallback(values: Mapping[str, Any]) -> Settings | None:
    return Settings(values["flags"], values["env"]) if values["flags"] or values["env"] else None


def _flags_given(playbook: Playbook) -> Iterator[tuple[KeyPath, str]]:
    """Yield every place where the playbook names a flag to set, and the flag."""
    yield from ((("flags", name), name) for name in playbook.flags)
    yield from _changeable_flags(playbook)


def _changeable_flags(playbook: Playbook) -> Iterator[tuple[KeyPath, str]]:
    """Yield every place outside the base flags where a flag is set, and the flag: none of them may be protected."""
    yield from _lever_flags(playbook)
    fallback = playbook.fallback.flags if playbook.fallback else {}
    yield from ((("fallback", "flags", name), name) for name in fallback)


def _changeable_variables(playbook: Playbook) -> Iterator[tuple[KeyPath, str]]:
    yield from _lever_variables(playbook)
    fallback = playbook.fallback.env if playbook.fallback else {}
    yield from ((("fallback", "env", name), name) for name in fallback)


def _lever_flags(playbook: Playbook) -> Iterator[tuple[KeyPath, str]]:
    for i, lever in enumerate(playbook.levers):
        for j, variant in enumerate(lever.variants):
            yield from ((("lever", i, "variants", j, "flags", name), name) for name in variant.flags)


def _lever_variables(playbook: Playbook) -> Iterator[tuple[KeyPath, str]]:
    for i, lever in enumerate(playbook.levers):
        for j, variant in enumerate(lever.variants):
            yield from ((("lever", i, "variants", j, "env", name), name) for name in variant.env)


def _no_secrets(document: Document, playbook: Playbook, facts: Mapping[str, FlagFact]) -> None:
    for at, name in _flags_given(playbook):
        if name in facts and facts[name].secret:
            refuse_secret(document, at, name)


def refuse_secret(document: Document, at: KeyPath, name: str) -> None:
    """Raise the error for a secret that stands in the open."""
    text = f"{name} is a secret and must not stand in a playbook"
    raise document.error(at, text, next=f'name it in hosts.toml: [hosts.NAME.secret-flags] {name} = "env:VARIABLE"')


def _levers_apart(document: Document, playbook: Playbook, facts: Mapping[str, FlagFact]) -> None:
    owner: dict[str, int] = {}
    for at, name in (*_lever_flags(playbook), *_lever_variables(playbook)):
        lever = int(at[1])
        canonical = facts[name].name if name in facts else name
        first = owner.setdefault(canonical, lever)
        if first != lever:
            names = f'"{playbook.levers[first].name}" and "{playbook.levers[lever].name}"'
            raise document.error(at, f"levers {names} both name {name}", next="leave it in one of them")


def _unprotected(document: Document, playbook: Playbook, facts: Mapping[str, FlagFact]) -> None:
    protected = {_canonical(n, facts) for n in playbook.protect_flags}
    allowed = {_canonical(n, facts) for n in playbook.allow_flags}
    for at, name in _changeable_flags(playbook):
        if _canonical(name, facts) in protected:
            raise _is_protected(document, at, name, "protected", "take it out of one of them")
        if name in facts and facts[name].always_protected and _canonical(name, facts) not in allowed:
            cure = f'add "{name}" to [allow] flags, or move it to [flags]'
            raise _is_protected(document, at, name, "always protected", cure)
    for at, name in _changeable_variables(playbook):
        if name in playbook.protect_env:
            raise _is_protected(document, at, name, "protected", "take it out of one of them")


def _is_protected(document: Document, at: KeyPath, name: str, how: str, cure: str) -> UsageError:
    place = "a lever" if at[0] == "lever" else "[fallback]"
    return document.error(at, f"{name} is {how} but stands in {place}", next=cure)


def _canonical(name: str, facts: Mapping[str, FlagFact]) -> str:
    return facts[name].name if name in facts else name
