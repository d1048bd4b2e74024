"""Host keys that somebody accepted: files of known_hosts, read and asked. Pure but for reading the files."""

import base64
import fnmatch
import hashlib
import hmac
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

Verdict: TypeAlias = Literal["known", "unknown", "changed", "revoked"]


@dataclass(frozen=True)
class KnownKey:
    """One line of a known_hosts file. `mark` is "@revoked", "@cert-authority" or ""."""

    file: str
    line: int
    mark: str
    names: str
    kind: str
    blob: str

    def is_for(self, name: str) -> bool:
        """Say whether this line speaks of `name` ("host", or "[host]:port" where the port is not 22)."""
        if self.names.startswith("|1|"):
            return _hashed(name, self.names)
        patterns = [p.lower() for p in self.names.split(",")]
        if any(p.startswith("!") and fnmatch.fnmatchcase(name.lower(), _literal(p[1:])) for p in patterns):
            return False
        return any(fnmatch.fnmatchcase(name.lower(), _literal(p)) for p in patterns)


@dataclass(frozen=True)
class Judgement:
    """What the files say about a key that a host showed; `where` are the lines that decided."""

    verdict: Verdict
    where: tuple[KnownKey, ...] = ()


def _literal(pattern: str) -> str:
    """Return a pattern in which only * and ? are special: the brackets of "[host]:port" are not."""
    return pattern.replace("[", "[[]")


def _hashed(name: str, field: str) -> bool:
    _, _, salt, digest = (field + "||").split("|")[:4]
    try:
        mac = hmac.new(base64.b64decode(salt), name.encode(), hashlib.sha1)
        return hmac.compare_digest(mac.digest(), base64.b64decode(digest))
    except ValueError:
        return False


def read_known_hosts(files: Iterable[str]) -> tuple[KnownKey, ...]:
    """Return the lines of these files, in order; a file that is not there has none."""
    found: list[KnownKey] = []
    for file in files:
        path = Path(file).expanduser()
        if path.is_file():
            found += parse_known_hosts(path.read_text(encoding="utf-8", errors="replace"), str(path))
    return tuple(found)


def parse_known_hosts(text: str, file: str) -> list[KnownKey]:
    """Return the lines of one file; comments and lines that are none are left out."""
    found = []
    for number, line in enumerate(text.splitlines(), 1):
        fields = line.split()
        if not fields or fields[0].startswith("#"):
            continue
        mark = fields.pop(0) if fields[0].startswith("@") else ""
        if len(fields) >= 3:
            found.append(KnownKey(file, number, mark, fields[0], fields[1], fields[2]))
    return found


def judge(known: Sequence[KnownKey], name: str, kind: str, blob: str) -> Judgement:
    """Judge the key that a host showed under `name`; `blob` is its base64."""
    mine = [k for k in known if k.is_for(name)]
    same = [k for k in mine if k.blob == blob and k.kind == kind]
    revoked = tuple(k for k in same if k.mark == "@revoked")
    if revoked:
        return Judgement("revoked", revoked)
    plain = [k for k in mine if not k.mark]
    if any(k in plain for k in same):
        return Judgement("known", tuple(k for k in same if not k.mark))
    if plain:
        return Judgement("changed", tuple(plain))
    return Judgement("unknown")


def authorities(known: Sequence[KnownKey], name: str) -> tuple[KnownKey, ...]:
    """Return the lines with an authority whose certificates count for `name`."""
    return tuple(k for k in known if k.mark == "@cert-authority" and k.is_for(name))


def kinds_known(known: Sequence[KnownKey], name: str) -> tuple[str, ...]:
    """Return the kinds of key known for `name`: they are to be asked for first."""
    return tuple(dict.fromkeys(k.kind for k in known if not k.mark and k.is_for(name)))


def fingerprint(blob: bytes) -> str:
    """Return a key's fingerprint as ssh prints it."""
    return "SHA256:" + base64.b64encode(hashlib.sha256(blob).digest()).decode().rstrip("=")


def known_name(host: str, port: int) -> str:
    """Return the name that a host has in known_hosts."""
    return host if port == 22 else f"[{host}]:{port}"
