"""Whom we trust and who we are: host keys checked strictly, logins tried without asking anybody."""

import os
import shlex
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import paramiko

from relight.hosts.host_certificates import fault_of
from relight.hosts.known_hosts import KnownKey, authorities, fingerprint, judge, kinds_known
from relight.words.errors import UnreachableError
from relight.words.secret import Secret

RSA_KINDS = ("rsa-sha2-512", "rsa-sha2-256", "ssh-rsa")
WINDOW = 1 << 20  # bytes of one channel on their way; on a narrow link another channel waits for as many


@dataclass(frozen=True)
class Door:
    """The host we go to, as the messages name it: `name` in known_hosts, `via` the jump host.

    `vouched` is the name that a certificate of the host must be for.
    """

    place: str
    host: str
    port: int
    name: str
    user: str
    file: str
    via: str = ""
    vouched: str = ""


class StrictKeys(paramiko.MissingHostKeyPolicy):  # type: ignore[misc]
    """Accepts a key that known_hosts has, or has the authority of; refuses any other, saying what to do."""

    def __init__(self, door: Door, known: Sequence[KnownKey]) -> None:
        self._door = door
        self._known = known

    def missing_host_key(self, client: Any, hostname: str, key: Any) -> None:  # noqa: ARG002
        """Judge a key. paramiko asks for every one: we give it no keys of its own."""
        judgement = judge(self._known, self._door.name, key.get_name(), key.get_base64())
        fault = self._fault_of_certificate(key)
        if judgement.verdict == "known" or (judgement.verdict != "revoked" and fault == ""):
            return
        shown = f"{key.get_name()} {fingerprint(key.asbytes())}" + (f"; {fault}" if fault else "")
        where = ", ".join(f"{k.file}:{k.line}" for k in judgement.where)
        raise {"unknown": _unknown, "changed": _changed, "revoked": _revoked}[judgement.verdict](
            self._door, shown, where, key
        )

    def _fault_of_certificate(self, key: Any) -> str | None:
        """Say why the host's certificate does not vouch for it, "" where it does, None where there is no authority."""
        lines = authorities(self._known, self._door.name)
        if not lines:
            return None
        if key.public_blob is None:
            where = ", ".join(f"{k.file}:{k.line}" for k in lines)
            return f"it shows no certificate of its authority ({where})"
        said = fault_of(key.public_blob.key_blob, self._known, self._door.name, self._door.vouched, time.time())
        return said and f"its certificate is refused: {said}"


def _unknown(door: Door, shown: str, where: str, key: Any) -> UnreachableError:  # noqa: ARG001
    return UnreachableError(
        f"the host key of {door.host} port {door.port} is not known: {shown}",
        place=door.place,
        next=f"if that is its fingerprint, accept it with: {accept_command(door, key)}",
    )


def _changed(door: Door, shown: str, where: str, key: Any) -> UnreachableError:  # noqa: ARG001
    return UnreachableError(
        f"the host key of {door.host} port {door.port} has changed: it shows {shown}, another one is in {where}; "
        "somebody may be in between",
        place=door.place,
        next=f"if the host was set up anew, remove that line: ssh-keygen -R {shlex.quote(door.name)} "
        f"-f {shlex.quote(where.rpartition(':')[0].rpartition(', ')[2])}",
    )


def _revoked(door: Door, shown: str, where: str, key: Any) -> UnreachableError:  # noqa: ARG001
    return UnreachableError(
        f"the host key of {door.host} port {door.port} is revoked in {where}: {shown}",
        place=door.place,
        next="do not connect; ask who runs the host",
    )


def accept_command(door: Door, key: Any) -> str:
    """Return the command that accepts this very key."""
    file = shlex.quote(door.file)
    if door.via or door.name not in {door.host, f"[{door.host}]:{door.port}"}:
        return f"echo {shlex.quote(f'{door.name} {key.get_name()} {key.get_base64()}')} >> {file}"
    kind = next(k for k in ("ed25519", "ecdsa", "rsa", "dsa") if k in key.get_name() or k == "dsa")
    return f"ssh-keyscan -p {door.port} -t {kind} {shlex.quote(door.host)} >> {file}"


class CertifiedTransport(paramiko.Transport):  # type: ignore[misc]
    """Asks for a certificate before plain keys; paramiko does it the other way round."""

    @property
    def preferred_keys(self) -> tuple[str, ...]:
        """Return the kinds of host key, the most wanted first."""
        kinds = super().preferred_keys
        return (*(k for k in kinds if "-cert-" in k), *(k for k in kinds if "-cert-" not in k))


class StrictTransport:
    """Makes transports that ask for the known kinds of host key first, like ssh does."""

    def __init__(self, known: Sequence[KnownKey], name: str) -> None:
        kinds = kinds_known(known, name)
        self._kind = CertifiedTransport if authorities(known, name) and not kinds else paramiko.Transport
        self._wanted = [k for kind in kinds for k in (RSA_KINDS if kind == "ssh-rsa" else (kind,))]

    def __call__(self, sock: Any, **more: Any) -> Any:
        """Return a transport over `sock`."""
        transport = self._kind(sock, default_window_size=WINDOW, **more)
        options = transport.get_security_options()
        offered = tuple(options.key_types)
        first = [k for k in self._wanted if k in offered]
        options.key_types = (*first, *(k for k in offered if k not in first))
        return transport


@dataclass(frozen=True)
class Login:
    """How to log in: key files in order, the agent, a password. Nobody is asked for anything."""

    door: Door
    files: tuple[str, ...]
    use_agent: bool
    passphrase: Secret | None = None
    password: Secret | None = None

    def authenticate(self, transport: Any) -> None:
        """Log in. Raises UnreachableError naming what was tried."""
        tried: list[str] = []
        for label, key in self._keys(tried):
            if self._try(transport, label, key, tried):
                return
        if self.password is not None and self._try(transport, "password", None, tried):
            return
        raise UnreachableError(
            f"{self.door.host} port {self.door.port} refused the login of {self.door.user}"
            f" (tried: {', '.join(tried) or 'no key was found'})",
            place=self.door.place,
            next="check user and identity_file in hosts.toml, or load the key into ssh-agent",
        )

    def _keys(self, tried: list[str]) -> Iterator[tuple[str, Any]]:
        for file in self.files:
            key = self._from_file(file, tried)
            if key is not None:
                yield file, key
        if self.use_agent:
            agent = paramiko.Agent()
            try:
                for key in agent.get_keys():
                    yield f"agent: {key.get_name()} {fingerprint(key.asbytes())}", key
            finally:
                agent.close()

    def _from_file(self, file: str, tried: list[str]) -> Any:
        try:
            return _load(file, None)
        except (paramiko.PasswordRequiredException, TypeError):
            if self.passphrase is None:
                tried.append(f"{file}: needs a passphrase, in RELIGHT_SSH_PASSPHRASE or by ssh-agent")
                return None
        except (paramiko.SSHException, ValueError, OSError) as error:
            tried.append(f"{file}: cannot be read: {error}")
            return None
        try:
            return _load(file, self.passphrase)
        except (paramiko.SSHException, ValueError, TypeError) as error:
            tried.append(f"{file}: not opened by the passphrase: {error}")
            return None

    def _try(self, transport: Any, label: str, key: Any, tried: list[str]) -> bool:
        try:
            if key is None and self.password is not None:
                further = transport.auth_password(self.door.user, self.password.reveal())
            else:
                further = transport.auth_publickey(self.door.user, key)
        except paramiko.BadAuthenticationType as error:
            tried.append(f"{label}: the host allows only {', '.join(error.allowed_types)}")
            return False
        except paramiko.AuthenticationException:
            if not tried and not transport.is_active():
                # paramiko calls a connection that broke off a failed login; one that had too many has tried some.
                raise paramiko.SSHException("the connection broke off during the login") from None
            tried.append(label)
            return False
        if further:
            tried.append(f"{label}: accepted, but the host wants {', '.join(further)} as well")
        return not further


def _load(file: str, passphrase: Secret | None) -> Any:
    # By position: the argument has had two names.
    return paramiko.PKey.from_path(file, passphrase and passphrase.reveal().encode())


def environment_secret(name: str, environment: Mapping[str, str] | None = None) -> Secret | None:
    """Return a secret from a variable of this process, None where it is not set."""
    value = (os.environ if environment is None else environment).get(name)
    return Secret(value) if value else None


def key_files(spec_file: str | None, config: Mapping[str, Any], place: str) -> tuple[str, ...]:
    """Return the key files to try: hosts.toml's alone, else those of the ssh configuration, else ssh's defaults."""
    if spec_file is not None:
        if not Path(spec_file).expanduser().is_file():
            raise UnreachableError(
                f"identity_file {spec_file} is not there", place=place, next="correct it in hosts.toml"
            )
        return (str(Path(spec_file).expanduser()),)
    given = config.get("identityfile") or [f"~/.ssh/id_{kind}" for kind in ("ed25519", "ecdsa", "rsa")]
    paths = [Path(p).expanduser() for p in ([given] if isinstance(given, str) else given)]
    return tuple(str(p) for p in paths if p.is_file())
