"""A certificate vouches for a host only if every part of it is right."""

import base64
import shutil
import subprocess
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from relight.hosts.host_certificates import fault_of, read_certificate
from relight.hosts.known_hosts import parse_known_hosts

KINDS = ("ed25519", "ecdsa", "rsa")
pytestmark = pytest.mark.skipif(not shutil.which("ssh-keygen"), reason="ssh-keygen is missing")


def keygen(*words: object) -> None:
    subprocess.run(["ssh-keygen", "-q", *map(str, words)], check=True, capture_output=True)  # noqa: S607


class Signer:
    """An authority and a host key."""

    def __init__(self, folder: Path, kind: str = "ed25519", authority: str = "ed25519") -> None:
        self.folder = folder
        for name, key in (("host", kind), ("ca", authority), ("other", "ed25519")):
            keygen("-t", key, "-N", "", "-f", folder / name)

    def known(self, line: str = "@cert-authority box {ca}\n") -> str:
        keys = {n: " ".join((self.folder / f"{n}.pub").read_text().split()[:2]) for n in ("ca", "other", "host")}
        return line.format(**keys)

    def sign(self, *options: str) -> bytes:
        given = options or ("-h", "-n", "box")
        keygen("-s", self.folder / "ca", "-I", "an id", *given, self.folder / "host.pub")
        return base64.b64decode((self.folder / "host-cert.pub").read_text().split()[1])


def fault(blob: bytes, text: str, host: str = "box", now: float | None = None) -> str:
    return fault_of(blob, parse_known_hosts(text, "f"), "box", host, time.time() if now is None else now)


@pytest.fixture
def signer(tmp_path: Path) -> Signer:
    return Signer(tmp_path)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("authority", KINDS)
def test_a_certificate_of_the_authority_for_this_name_vouches(tmp_path: Path, kind: str, authority: str) -> None:
    signer = Signer(tmp_path, kind, authority)

    assert fault(signer.sign(), signer.known()) == ""


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("-h", "-n", "other,*.example.com"), "for other, *.example.com, not for box"),
        (("-h",), "for no name, not for box"),
        (("-n", "box"), "not one of a host"),
        (("-h", "-n", "box", "-V", "-2d:-1d"), "valid"),
        (("-h", "-n", "box", "-V", "+1d:+2d"), "valid"),
        (("-h", "-n", "box", "-O", "critical:force=yes"), "conditions"),
    ],
)
def test_a_certificate_that_is_for_something_else_does_not(signer: Signer, options: tuple[str, ...], said: str) -> None:
    assert said in fault(signer.sign(*options), signer.known())


def test_a_certificate_for_a_pattern_vouches_for_what_matches(signer: Signer) -> None:
    blob = signer.sign("-h", "-n", "*.example.com")

    assert fault(blob, signer.known(), host="GPU1.example.com") == ""
    assert fault(blob, signer.known(), host="example.com") != ""


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("@cert-authority box {other}\n", "not the one in known_hosts"),
        ("@cert-authority elsewhere {ca}\n", "not the one in known_hosts"),
        ("box {ca}\n", "not the one in known_hosts"),
        ("@cert-authority box {ca}\n@revoked * {ca}\n", "revoked"),
        ("", "not the one in known_hosts"),
    ],
)
def test_another_authority_does_not_count(signer: Signer, line: str, said: str) -> None:
    assert said in fault(signer.sign(), signer.known(line))


def test_a_signature_with_sha_1_does_not_count(tmp_path: Path) -> None:
    signer = Signer(tmp_path, authority="rsa")

    assert fault(signer.sign("-t", "ssh-rsa", "-h", "-n", "box"), signer.known()) == "its signature is wrong"


@settings(max_examples=300, deadline=None)
@given(data=st.data())
def test_no_certificate_with_a_changed_byte_vouches(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    folder = tmp_path_factory.getbasetemp() / "signer"
    if not folder.exists():
        folder.mkdir()
        Signer(folder).sign()
    known = f"@cert-authority box {' '.join((folder / 'ca.pub').read_text().split()[:2])}\n"
    blob = base64.b64decode((folder / "host-cert.pub").read_text().split()[1])
    at = data.draw(st.integers(0, len(blob) - 1))
    cut = data.draw(st.integers(0, len(blob) - 1))
    flip = data.draw(st.integers(1, 255))

    assert fault(blob, known) == ""
    assert fault(blob[:at] + bytes([blob[at] ^ flip]) + blob[at + 1 :], known) != ""
    assert fault(blob[:cut], known) != ""
    assert fault(blob + b"\0", known) != ""


@given(st.binary(max_size=300))
def test_any_bytes_are_a_certificate_or_refused(blob: bytes) -> None:
    with pytest.raises(ValueError, match=r"."):
        read_certificate(blob)
