"""hosts.toml (CONTRACT.md section 2)."""

from pathlib import Path

import pytest

from relight.config.hosts import find_hosts, load_hosts, pick
from relight.words.errors import UsageError
from relight.words.host import HostSpec, SecretSource

ROOT = Path(__file__).parents[2]
CONTRACT = """
[hosts.rtx8]
address = "gpu1.example.com"
user = "root"
port = 2222
identity_file = "keys/id"
jump = "gate"
known_hosts = "~/known"
python = "~/sglang/bin/python"
workdir = "~/.relight"
gpus = [0, 1, 2, 3]
runtime = "host"
[hosts.rtx8.env]
HF_HOME = "/data/hf"
OMP_NUM_THREADS = 8
[hosts.rtx8.secrets]
HF_TOKEN = "env:HF_TOKEN"
OTHER = "file:token"
[hosts.rtx8.secret-flags]
api-key = "env:SGLANG_API_KEY"
"""


def load(tmp_path: Path, text: str) -> dict[str, HostSpec]:
    (tmp_path / "hosts.toml").write_text(text)
    return load_hosts(tmp_path / "hosts.toml")


def test_reads_every_key_of_the_contract(tmp_path: Path) -> None:
    spec = load(tmp_path, CONTRACT)["rtx8"]

    assert (spec.name, spec.address, spec.user, spec.port, spec.jump) == (
        "rtx8",
        "gpu1.example.com",
        "root",
        2222,
        "gate",
    )
    assert (spec.gpus, spec.env) == ((0, 1, 2, 3), {"HF_HOME": "/data/hf", "OMP_NUM_THREADS": "8"})
    assert spec.secret_flags == {"api-key": SecretSource("env", "SGLANG_API_KEY")}


def test_paths_count_from_the_folder_of_the_file(tmp_path: Path) -> None:
    spec = load(tmp_path, CONTRACT)["rtx8"]

    assert spec.identity_file == str(tmp_path / "keys" / "id")
    assert spec.secrets["OTHER"] == SecretSource("file", str(tmp_path / "token"))


def test_a_tilde_is_the_local_home_except_in_workdir_and_python(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", "/home/me")

    spec = load(tmp_path, CONTRACT)["rtx8"]

    assert spec.known_hosts == "/home/me/known"
    assert (spec.workdir, spec.python) == ("~/.relight", "~/sglang/bin/python")


def test_what_is_left_out_has_its_default(tmp_path: Path) -> None:
    spec = load(tmp_path, '[hosts.here]\naddress = "local"')["here"]

    assert spec == HostSpec("here", "local")


def test_takes_the_file_given_then_the_one_here_then_the_users(tmp_path: Path) -> None:
    here, config = tmp_path / "here", tmp_path / "config"
    for folder in (here, config):
        folder.mkdir()
        (folder / "hosts.toml").touch()

    assert find_hosts(Path("given"), here=here, config=config) == Path("given")
    assert find_hosts(None, here=here, config=config) == here / "hosts.toml"
    (here / "hosts.toml").unlink()
    assert find_hosts(None, here=here, config=config) == config / "hosts.toml"


def test_says_where_it_looked_for_a_hosts_file(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"no hosts\.toml in") as caught:
        find_hosts(None, here=tmp_path, config=tmp_path)

    assert "relight init" in caught.value.next


def test_an_unknown_host_is_answered_with_the_near_name() -> None:
    with pytest.raises(UsageError, match="known: rtx8") as caught:
        pick({"rtx8": HostSpec("rtx8", "a")}, "rtx", Path("hosts.toml"))

    assert caught.value.next == "did you mean 'rtx8'?"


def test_the_example_is_valid() -> None:
    assert load_hosts(ROOT / "hosts.example.toml")
