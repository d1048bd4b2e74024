"""--set, --unset and --env, into one change that also protects what it names."""

import tomllib
from collections.abc import Iterable, Mapping
from typing import Any

from relight.config.facts import flag_facts
from relight.config.keys import ENV_NAME, FLAG_NAME, PORTS, is_port
from relight.words.errors import UsageError
from relight.words.settings import Change, FlagValue, WrittenFloat
from relight.words.text import names_a_secret


def change_of(sets: Iterable[str], unsets: Iterable[str], env: Iterable[str], *, engine: str = "sglang") -> Change:
    """Return the change the options ask for. UsageError names the option that cannot be meant."""
    given = dict(_assignment("--set", text) for text in sets)
    flags = {_flag("--set", name): value_of(text) for name, text in given.items()}
    if not is_port(flags.get("port")):
        raise UsageError(f"{flags['port']} is no port", place="--set port", next=PORTS)
    gone = tuple(_flag("--unset", name) for name in unsets)
    both = sorted(set(flags) & set(gone))
    if both:
        raise UsageError(f"{both[0]} is set and unset", place="--unset", next="leave one of them out")
    _no_secrets(flags, engine)
    variables = dict(_variable(text) for text in env)
    return Change(flags, gone, variables)


def value_of(text: str) -> FlagValue:
    """Return the value that `text` means: what TOML makes of it, or the text itself.

    true and false are switches, 0.90 stays as written, [1, 2] is a list, { a = 1 } and {"a": 1} are JSON.
    """
    for source in (text, _json_as_toml(text)):
        try:
            value: Any = tomllib.loads(f"v = {source}", parse_float=WrittenFloat)["v"]
        except tomllib.TOMLDecodeError:
            continue
        if isinstance(value, list):
            return tuple(value)
        return value if isinstance(value, bool | int | float | str | Mapping) else text
    return text


def _json_as_toml(text: str) -> str:
    return text.replace('":', '" =') if text.startswith("{") else text


def _assignment(option: str, text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise UsageError(f"'{text}' is not NAME=VALUE", place=option, next=f"write {option} {name or 'NAME'}=VALUE")
    return name, value


def _flag(option: str, name: str) -> str:
    bare = name.removeprefix("--")
    if not FLAG_NAME.fullmatch(bare):
        raise UsageError(f"'{name}' is not a flag's name", place=option, next="write it as in the engine's --help")
    return bare


def _variable(text: str) -> tuple[str, str]:
    name, value = _assignment("--env", text)
    if not ENV_NAME.fullmatch(name):
        raise UsageError(
            f"'{name}' is not a variable's name", place="--env", next="letters, digits and _, as in NCCL_DEBUG"
        )
    if value and names_a_secret(name):
        then = f'write {name} = "env:{name}" under [hosts.NAME.secrets] in hosts.toml'
        raise UsageError(f"{name} is a secret and must not stand on a command line", place="--env", next=then)
    return name, value


def _no_secrets(flags: Mapping[str, FlagValue], engine: str) -> None:
    facts = flag_facts(engine)
    for name in flags:
        if name in facts and facts[name].secret:
            then = f'write {name} = "env:VARIABLE" under [hosts.NAME.secret-flags] in hosts.toml'
            raise UsageError(f"{name} is a secret and must not stand on a command line", place="--set", next=then)
