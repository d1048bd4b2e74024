"""Certificates of hosts: what one says, and whether it vouches for a name. Pure; OpenSSH's PROTOCOL.certkeys."""

import base64
import fnmatch
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import paramiko

from relight.hosts.known_hosts import KnownKey

HOST = 2
LAST = 253_402_300_799
"""The last second of the year 9999; dates end there."""
KEY_PARTS = {"ssh-ed25519": 1, "ssh-rsa": 2, "ecdsa-sha2-nistp256": 2, "ecdsa-sha2-nistp384": 2,
             "ecdsa-sha2-nistp521": 2}  # fmt: skip
ENDING = "-cert-v01@openssh.com"
SIGNED_BY = (
    "ssh-ed25519", "ecdsa-sha2-nistp256", "ecdsa-sha2-nistp384", "ecdsa-sha2-nistp521", "rsa-sha2-512", "rsa-sha2-256",
)  # fmt: skip
"""Ways of signing that count; RSA with SHA-1 does not."""


@dataclass(frozen=True)
class HostCertificate:
    """What a certificate says. `signed` are the bytes that `signature` of `authority` (a public key) is for."""

    kind: int
    principals: tuple[str, ...]
    after: int
    before: int
    critical: bytes
    authority: bytes
    signed: bytes
    signature: bytes


def read_certificate(blob: bytes) -> HostCertificate:
    """Read a certificate. Raises ValueError for what is none."""
    message = paramiko.Message(blob)
    parts = KEY_PARTS.get(_text(message).removesuffix(ENDING))
    if parts is None:
        raise ValueError("not a kind of certificate that is known")
    for _ in range(1 + parts):  # a nonce, then the key
        _string(message)
    _bytes(message, 8)  # a serial number
    kind = int.from_bytes(_bytes(message, 4), "big")
    _string(message)  # an id for logs
    principals = _strings(_string(message))
    after, before = (int.from_bytes(_bytes(message, 8), "big") for _ in range(2))
    critical = _string(message)
    _string(message)  # extensions: none of them concerns a host
    _string(message)  # reserved
    authority = _string(message)
    signed = bytes(message.get_so_far())
    signature = _string(message)
    if message.get_remainder():
        raise ValueError("bytes follow its signature")
    return HostCertificate(kind, principals, after, before, critical, authority, signed, signature)


def _bytes(message: Any, size: int) -> bytes:
    if len(message.get_remainder()) < size:
        raise ValueError("it ends too early")
    return bytes(message.get_bytes(size))


def _string(message: Any) -> bytes:
    return _bytes(message, int.from_bytes(_bytes(message, 4), "big"))


def _text(message: Any) -> str:
    return _string(message).decode("utf-8", "replace")


def _strings(packed: bytes) -> tuple[str, ...]:
    message, found = paramiko.Message(packed), []
    while message.get_remainder():
        found.append(_text(message))
    return tuple(found)


def fault_of(blob: bytes, known: Sequence[KnownKey], name: str, host: str, now: float) -> str:
    """Say why a certificate does not vouch for a host, "" where it does.

    `name` is the host's in known_hosts, `host` the one that the certificate must be for; `now` is epoch seconds. The
    host has proved already that it holds the key in the certificate.
    """
    try:
        said = read_certificate(blob)
    except ValueError as error:
        return f"it cannot be read: {error}"
    checks = (
        (said.kind != HOST, "it is not one of a host"),
        (said.critical != b"", "it has conditions that nobody here knows"),
        (not (said.after <= now < said.before), f"it is valid {_when(said.after)} to {_when(said.before)} only"),
        (not _is_for(said.principals, host), f"it is for {', '.join(said.principals) or 'no name'}, not for {host}"),
    )
    wrong = [text for is_so, text in checks if is_so]
    return wrong[0] if wrong else _fault_of_authority(said, known, name)


def _when(seconds: int) -> str:
    if seconds > LAST:
        return "for ever"
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _is_for(principals: Sequence[str], host: str) -> bool:
    return any(fnmatch.fnmatchcase(host.lower(), p.lower().replace("[", "[[]")) for p in principals)


def _fault_of_authority(said: HostCertificate, known: Sequence[KnownKey], name: str) -> str:
    blob = base64.b64encode(said.authority).decode()
    mine = [k for k in known if k.blob == blob and k.is_for(name)]
    if any(k.mark == "@revoked" for k in mine):
        return "its authority is revoked"
    if not any(k.mark == "@cert-authority" for k in mine):
        return "its authority is not the one in known_hosts"
    return "" if _is_signed(said) else "its signature is wrong"


def _is_signed(said: HostCertificate) -> bool:
    try:
        message = paramiko.Message(said.signature)
        way, _ = _text(message), _string(message)
        kind = _text(paramiko.Message(said.authority))
        # paramiko itself forgives wrong lengths and bytes that follow.
        if message.get_remainder() or way not in SIGNED_BY or kind not in KEY_PARTS:
            return False
        key = paramiko.PKey.from_type_string(kind, said.authority)
        return bool(key.verify_ssh_sig(said.signed, paramiko.Message(said.signature)))
    except (paramiko.SSHException, ValueError):
        return False
