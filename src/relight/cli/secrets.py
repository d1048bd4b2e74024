"""The values of a host's secrets, read when they are needed and only to keep them out of what is written."""

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from relight.words.errors import UsageError
from relight.words.host import HostSpec, SecretSource


def check_secrets(spec: HostSpec) -> tuple[str, ...]:
    """Return the values of all secrets of `spec`. UsageError names one whose source is missing or empty."""
    return tuple(_value(spec, name, source) for name, source in _all(spec))


def known_secrets(spec: HostSpec) -> tuple[str, ...]:
    """Return the values of those secrets of `spec` that can be read here: they are hidden wherever they turn up."""
    found = []
    for name, source in _all(spec):
        with suppress(UsageError):
            found.append(_value(spec, name, source))
    return tuple(found)


def _all(spec: HostSpec) -> Iterator[tuple[str, SecretSource]]:
    yield from spec.secrets.items()
    yield from spec.secret_flags.items()


def _value(spec: HostSpec, name: str, source: SecretSource) -> str:
    table = "secrets" if name in spec.secrets else "secret-flags"
    place = f"hosts.toml: [hosts.{spec.name}.{table}]"
    value = os.environ.get(source.where) if source.kind == "env" else _read(Path(source.where))
    if not value:
        where = f"the variable {source.where}" if source.kind == "env" else f"the file {source.where}"
        then = f"export {source.where}=..." if source.kind == "env" else "write the value into it"
        raise UsageError(f"{name} comes from {where}, which is missing or empty", place=place, next=then)
    if not _is_text(value):
        raise UsageError(f"the value of {name} is no text", place=place, next="write it as text in UTF-8")
    return value


def _is_text(value: str) -> bool:
    try:
        return b"\0" not in value.encode()
    except UnicodeEncodeError:
        return False


def _read(path: Path) -> str | None:
    try:
        return path.read_bytes().decode("utf-8", "surrogateescape").strip()
    except OSError:
        return None
