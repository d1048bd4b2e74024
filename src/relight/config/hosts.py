"""hosts.toml (CONTRACT.md section 2)."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from relight.config.document import Document, read_document
from relight.config.keys import ENV_NAME, Key, check, flag_name
from relight.config.lines import KeyPath
from relight.words.errors import UsageError
from relight.words.host import HostSpec, SecretSource
from relight.words.near import meant

RESERVED = "lab"
_SOURCE = Key("text", "env:NAME or file:PATH: where the value comes from on this machine")
HOST_KEYS: Mapping[str, Key] = {
    "address": Key("text", "a name, an address, an alias of ~/.ssh/config, or local", required=True),
    "user": Key("text", "the login; default: what SSH would take"),
    "port": Key("port", "the SSH port; default: what SSH would take"),
    "identity_file": Key("text", "a private key, used alone"),
    "jump": Key("text", "a host to jump over, as for ProxyJump"),
    "known_hosts": Key("text", "the file of accepted host keys, in place of ~/.ssh/known_hosts"),
    "python": Key("text", "the host's interpreter that has the engine", default="python3"),
    "workdir": Key("text", "relight's folder on the host", default="~/.relight"),
    "gpus": Key("indexes", "the cards to use; default: all"),
    "node_address": Key("text", "where other nodes of one server reach this host; default: found out"),
    "runtime": Key("text", "host; containers are not there yet", default="host"),
    "env": Key("env", "variables for every launch there"),
    "secrets": Key("map", "variables whose value is a secret", each=_SOURCE),
    "secret-flags": Key("map", "flags whose value is a secret", each=_SOURCE),
}
HOSTS_KEYS: Mapping[str, Key] = {
    "hosts": Key("map", "the hosts by name", required=True, each=Key("table", "one host", keys=HOST_KEYS)),
}


def load_hosts(path: Path) -> dict[str, HostSpec]:
    """Read hosts.toml; local paths in it are taken from its folder.

    UsageError names file, line, key and what is allowed.
    """
    document = read_document(path)
    found: dict[str, dict[str, Any]] = check(document, HOSTS_KEYS, document.values)["hosts"]
    return {name: _spec(document, name, values) for name, values in found.items()}


def find_hosts(given: Path | None, *, here: Path, config: Path) -> Path:
    """Return the hosts file to read: the one given, `here`/hosts.toml, or `config`/hosts.toml."""
    if given:
        return given
    for path in (here / "hosts.toml", config / "hosts.toml"):
        if path.is_file():
            return path
    looked = f"no hosts.toml in {here} or {config}"
    raise UsageError(looked, place="--hosts", next="run `relight init ADDRESS`, or use --host lab to try without one")


def pick(hosts: Mapping[str, HostSpec], name: str, path: Path) -> HostSpec:
    """Return the host called `name`. UsageError lists the hosts there are."""
    if name in hosts:
        return hosts[name]
    known = ", ".join(sorted(hosts)) or "none"
    raise UsageError(f"no host '{name}'; known: {known}", place=str(path), next=meant(name, hosts))


def _spec(document: Document, name: str, values: dict[str, Any]) -> HostSpec:
    at: KeyPath = ("hosts", name)
    _sane(document, name, values, at)
    folder = document.path.parent.absolute()
    return HostSpec(
        name=name,
        address=values["address"],
        user=values["user"],
        port=values["port"],
        identity_file=_local(values["identity_file"], folder),
        jump=values["jump"],
        known_hosts=_local(values["known_hosts"], folder),
        python=values["python"],
        workdir=values["workdir"],
        gpus=values["gpus"],
        node_address=values["node_address"],
        env=values["env"],
        secrets=_sources(document, values["secrets"], (*at, "secrets"), folder),
        secret_flags=_sources(document, values["secret-flags"], (*at, "secret-flags"), folder),
    )


def _sane(document: Document, name: str, values: dict[str, Any], at: KeyPath) -> None:
    if name == RESERVED:
        raise document.error(at, f"the host name '{RESERVED}' is reserved for the simulated host", next="rename it")
    if values["runtime"] != "host":
        text = f"runtime is '{values['runtime']}'; allowed: host"
        raise document.error((*at, "runtime"), text, next="containers: not yet; SSH into the container works")
    if values["gpus"] == ():
        raise document.error((*at, "gpus"), "gpus is empty", next="leave it out to use every card")
    if not values["address"].strip():
        raise document.error((*at, "address"), "address is empty")
    _secrets_apart(document, values, at)


def _secrets_apart(document: Document, values: dict[str, Any], at: KeyPath) -> None:
    for variable in values["secrets"]:
        if not ENV_NAME.fullmatch(variable):
            raise document.error((*at, "secrets", variable), f"'{variable}' is not a variable's name")
        if variable in values["env"]:
            raise document.error(
                (*at, "secrets", variable), f"{variable} is in env too", next="leave it in one of them"
            )
    for flag in values["secret-flags"]:
        flag_name(document, flag, (*at, "secret-flags", flag))


def _local(text: str | None, folder: Path) -> str | None:
    return None if text is None else str(folder / Path(text).expanduser())


def _sources(document: Document, values: dict[str, str], at: KeyPath, folder: Path) -> dict[str, SecretSource]:
    return {name: _source(document, text, (*at, name), folder) for name, text in values.items()}


def _source(document: Document, text: str, at: KeyPath, folder: Path) -> SecretSource:
    kind, colon, where = text.partition(":")
    if not colon or kind not in {"env", "file"} or not where:
        # The text itself may be a secret that was pasted here: it is not repeated.
        raise document.error(at, f"{at[-1]} must say where the value comes from: env:NAME or file:PATH")
    return SecretSource(kind, _local(where, folder) or where if kind == "file" else where)
