"""Host keys are strict, logins are honest, and every refusal says what to do."""

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from relight.words.errors import UnreachableError

pytestmark = pytest.mark.ssh


def refused(host: Any) -> UnreachableError:
    with pytest.raises(UnreachableError) as caught:
        host.connect(timeout=15)
    return caught.value


def test_a_known_host_is_reached(sshd: Any) -> None:
    assert sshd.host().connect().uid == os.getuid()


def test_an_unknown_key_is_refused_and_the_printed_command_accepts_it(sshd: Any) -> None:
    sshd.known_hosts.write_text("")
    shown = subprocess.run(
        ["ssh-keygen", "-l", "-f", str(sshd.folder / "host_key.pub")],  # noqa: S607
        capture_output=True, check=True, text=True,
    ).stdout.split()[1]  # fmt: skip

    error = refused(sshd.host())

    assert shown in error.text
    command = error.next.partition("accept it with: ")[2]
    assert command.startswith("ssh-keyscan")
    subprocess.run(["sh", "-c", command], check=True, capture_output=True)  # noqa: S607
    assert sshd.host().connect().uid == os.getuid()


def test_a_changed_key_is_refused_with_file_and_line(sshd: Any) -> None:
    other = (sshd.folder / "user_key.pub").read_text().split()[1]
    sshd.known_hosts.write_text(f"# mine\n[127.0.0.1]:{sshd.port} ssh-ed25519 {other}\n")

    error = refused(sshd.host())

    assert "has changed" in error.text
    assert f"{sshd.known_hosts}:2" in error.text
    assert "ssh-keygen -R" in error.next


def test_a_revoked_key_is_refused(sshd: Any) -> None:
    with sshd.known_hosts.open("a") as file:
        file.write(f"@revoked * {sshd.host_key()}\n")

    assert "revoked" in refused(sshd.host()).text


def test_a_hashed_entry_is_honoured(sshd: Any) -> None:
    subprocess.run(["ssh-keygen", "-H", "-f", str(sshd.known_hosts)], check=True, capture_output=True)  # noqa: S607

    assert "127.0.0.1" not in sshd.known_hosts.read_text()
    assert sshd.host().connect().uid == os.getuid()


def test_a_refused_login_names_the_key_that_was_tried(sshd: Any) -> None:
    (sshd.folder / "authorized_keys").write_text("")

    error = refused(sshd.host())

    assert "refused the login" in error.text
    assert str(sshd.key) in error.text
    assert error.exit_status == 3


def test_an_identity_file_that_is_not_there_is_named(sshd: Any) -> None:
    error = refused(sshd.host(identity_file=str(sshd.folder / "none")))

    assert str(sshd.folder / "none") in error.text


def test_a_key_with_a_passphrase_needs_it_and_gets_it_from_the_environment(
    sshd: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    subprocess.run(["ssh-keygen", "-q", "-p", "-N", "secret words", "-f", str(sshd.key)], check=True)  # noqa: S607
    assert "RELIGHT_SSH_PASSPHRASE" in refused(sshd.host()).text

    monkeypatch.setenv("RELIGHT_SSH_PASSPHRASE", "wrong words")
    assert "not opened by the passphrase" in refused(sshd.host()).text
    monkeypatch.setenv("RELIGHT_SSH_PASSPHRASE", "secret words")

    assert sshd.host().connect().uid == os.getuid()


def test_a_host_name_nobody_knows_is_said_to_be_unknown(sshd: Any) -> None:
    assert "no host is called" in refused(sshd.host(address="no-such-host.invalid")).text


def test_a_closed_port_is_refused_in_one_sentence(sshd: Any) -> None:
    sshd.stop()

    assert "refused" in refused(sshd.host()).text


def test_aliases_of_the_ssh_configuration_are_honoured(sshd: Any) -> None:
    config = Path("~/.ssh/config").expanduser()
    config.write_text(
        f"Host box\n  HostName 127.0.0.1\n  Port {sshd.port}\n  IdentityFile {sshd.key}\n"
        f"  UserKnownHostsFile {sshd.known_hosts}\n"
    )

    host = sshd.host(address="box", port=None, identity_file=None, known_hosts=None)

    assert host.connect().uid == os.getuid()


def test_a_host_key_alias_is_looked_up_alone_and_accepted_by_the_printed_command(sshd: Any) -> None:
    config = Path("~/.ssh/config").expanduser()
    config.write_text(f"Host 127.0.0.1\n  HostKeyAlias the-box\n  UserKnownHostsFile {sshd.known_hosts}\n")

    error = refused(sshd.host(known_hosts=None))

    subprocess.run(["sh", "-c", error.next.partition("accept it with: ")[2]], check=True)  # noqa: S607
    assert sshd.known_hosts.read_text().splitlines()[-1].startswith("the-box ")
    assert sshd.host(known_hosts=None).connect().uid == os.getuid()


def test_a_jump_host_is_gone_through_and_its_key_is_checked_too(sshd_at: Callable[..., Any], tmp_path: Path) -> None:
    gate, inner = sshd_at(name="gate"), sshd_at(name="inner")
    shutil.copy(gate.folder / "authorized_keys", inner.folder / "authorized_keys")
    both = tmp_path / "both"
    both.write_text(gate.known_hosts.read_text() + inner.known_hosts.read_text())
    way = {"jump": f"127.0.0.1:{gate.port}", "known_hosts": str(both), "identity_file": str(gate.key)}
    assert inner.host(**way).connect().uid == os.getuid()

    both.write_text(inner.known_hosts.read_text())
    error = refused(inner.host(**way))

    assert f"port {gate.port} is not known" in error.text


def test_two_jump_hosts_are_gone_through_in_their_order(sshd_at: Callable[..., Any], tmp_path: Path) -> None:
    first, second, inner = sshd_at(name="first"), sshd_at(name="second"), sshd_at(name="inner")
    for server in (second, inner):
        shutil.copy(first.folder / "authorized_keys", server.folder / "authorized_keys")
    known = tmp_path / "all"
    known.write_text("".join(s.known_hosts.read_text() for s in (first, second, inner)))
    config = Path("~/.ssh/config").expanduser()
    config.write_text(
        f"Host inner\n  HostName 127.0.0.1\n  Port {inner.port}\n  IdentityFile {first.key}\n"
        f"  ProxyJump 127.0.0.1:{first.port},127.0.0.1:{second.port}\n"
    )

    host = inner.host(address="inner", port=None, identity_file=str(first.key), known_hosts=str(known))

    assert host.connect().uid == os.getuid()
    assert first.sessions()
    assert second.sessions()


def certify(server: Any, *options: str) -> str:
    """Give a server a certificate; return the line that trusts its authority."""
    authority, key = str(server.folder / "ca"), str(server.folder / "host_key.pub")
    for words in (("-t", "ed25519", "-N", "", "-f", authority), ("-s", authority, "-I", "x", *options, key)):
        subprocess.run(["ssh-keygen", "-q", *words], check=True, capture_output=True)  # noqa: S607
    return f"@cert-authority [127.0.0.1]:{server.port} {(server.folder / 'ca.pub').read_text()}"


def test_a_host_certificate_of_a_known_authority_is_trusted_and_one_for_another_name_is_not(
    sshd_at: Callable[..., Any], tmp_path: Path
) -> None:
    for name, principal in (("good", "127.0.0.1"), ("bad", "elsewhere")):
        server = sshd_at(f"HostCertificate {tmp_path / name / 'host_key-cert.pub'}", name=name)
        server.known_hosts.write_text(certify(server, "-h", "-n", principal))
        server.stop()
        server.start()
        if name == "good":
            assert server.host().connect().uid == os.getuid()
        else:
            error = refused(server.host())

    assert "its certificate is refused: it is for elsewhere, not for 127.0.0.1" in error.text
    assert error.exit_status == 3


def test_an_authority_is_no_reason_to_trust_a_host_without_a_certificate(sshd: Any) -> None:
    line = certify(sshd, "-h", "-n", "127.0.0.1")
    sshd.known_hosts.write_text(line)

    assert "shows no certificate of its authority" in refused(sshd.host()).text

    sshd.known_hosts.write_text(line + f"[127.0.0.1]:{sshd.port} {sshd.host_key()}\n")
    assert sshd.host().connect().uid == os.getuid()
