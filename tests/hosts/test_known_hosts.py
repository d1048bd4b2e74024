"""Host keys are judged as ssh judges them."""

import subprocess
from pathlib import Path

import pytest

from relight.hosts.known_hosts import fingerprint, judge, kinds_known, known_name, parse_known_hosts, read_known_hosts

KEY, OTHER = "AAAAC3NzaC1lZDI1NTE5AAAAIKey", "AAAAC3NzaC1lZDI1NTE5AAAAIOther"


def verdict(text: str, name: str = "box", kind: str = "ssh-ed25519", blob: str = KEY) -> str:
    return judge(parse_known_hosts(text, "known_hosts"), name, kind, blob).verdict


@pytest.mark.parametrize(
    ("names", "name", "expected"),
    [
        ("box", "box", "known"),
        ("BOX", "box", "known"),
        ("other,box", "box", "known"),
        ("*.example.com", "gpu1.example.com", "known"),
        ("*.example.com,!gpu1.example.com", "gpu1.example.com", "unknown"),
        ("gpu?", "gpu7", "known"),
        ("[box]:2222", "[box]:2222", "known"),
        ("box", "[box]:2222", "unknown"),
        ("[bo]x", "box", "unknown"),
        ("boxes", "box", "unknown"),
    ],
)
def test_names_match_like_those_of_ssh(names: str, name: str, expected: str) -> None:
    assert verdict(f"{names} ssh-ed25519 {KEY}\n", name) == expected


def test_a_line_that_ssh_keygen_hashed_is_found(tmp_path: Path) -> None:
    file = tmp_path / "known_hosts"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(tmp_path / "k")], check=True)  # noqa: S607
    kind, blob = (tmp_path / "k.pub").read_text().split()[:2]
    file.write_text(f"[10.0.0.5]:2022 {kind} {blob}\n")
    subprocess.run(["ssh-keygen", "-q", "-H", "-f", str(file)], check=True, capture_output=True)  # noqa: S607

    known = read_known_hosts([str(file), str(tmp_path / "missing")])

    assert known[0].names.startswith("|1|")
    assert judge(known, "[10.0.0.5]:2022", kind, blob).verdict == "known"
    assert judge(known, "[10.0.0.6]:2022", kind, blob).verdict == "unknown"


def test_another_key_for_a_known_name_has_changed_and_the_line_is_named() -> None:
    known = parse_known_hosts(f"# comment\n\nbox ssh-ed25519 {OTHER}\n", "/home/u/.ssh/known_hosts")

    judgement = judge(known, "box", "ssh-ed25519", KEY)

    assert judgement.verdict == "changed"
    assert [(k.file, k.line) for k in judgement.where] == [("/home/u/.ssh/known_hosts", 3)]


def test_a_key_of_another_kind_than_the_known_one_is_not_accepted() -> None:
    assert verdict(f"box ssh-rsa {OTHER}\n") == "changed"


def test_several_keys_for_a_name_are_all_good() -> None:
    assert verdict(f"box ssh-ed25519 {OTHER}\nbox ssh-ed25519 {KEY}\n") == "known"


def test_a_revoked_key_is_refused_even_if_it_is_also_known() -> None:
    assert verdict(f"box ssh-ed25519 {KEY}\n@revoked * ssh-ed25519 {KEY}\n") == "revoked"


def test_a_certificate_authority_does_not_vouch_for_a_plain_key() -> None:
    text = f"@cert-authority *.example.com ssh-ed25519 {KEY}\n"

    assert verdict(text, "gpu1.example.com") == "unknown"


@pytest.mark.parametrize("line", ["|1|notbase64|x ssh-ed25519 K", "|1|| ssh-ed25519 K", "box", "|1 ssh-ed25519 K"])
def test_a_broken_line_vouches_for_nobody(line: str) -> None:
    assert verdict(line) == "unknown"


def test_known_kinds_are_asked_for_first() -> None:
    known = parse_known_hosts(f"box ssh-rsa {KEY}\nbox ssh-ed25519 {KEY}\n@revoked box ecdsa X\n", "f")

    assert kinds_known(known, "box") == ("ssh-rsa", "ssh-ed25519")


def test_names_and_fingerprints_are_written_like_ssh_writes_them() -> None:
    assert known_name("box", 22) == "box"
    assert known_name("box", 2222) == "[box]:2222"
    assert fingerprint(b"") == "SHA256:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU"
