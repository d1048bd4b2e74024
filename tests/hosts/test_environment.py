"""The environment of a login and of a launch."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from relight.hosts.agent.environment import ask_login_shell, launch_path, login_shell, quoted, run_command
from relight.hosts.agent.folders import Refused
from relight.hosts.remote import AgentHost

SHELLS = [s for s in ("sh", "dash", "bash", "zsh", "ksh", "fish", "csh", "tcsh") if shutil.which(s)]


@pytest.mark.parametrize("shell", SHELLS)
def test_any_login_shell_tells_its_environment(shell: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("RELIGHT_TEST", "a 'quoted' $word\nand another line")

    env = ask_login_shell(str(shutil.which(shell)))

    assert env is not None
    assert env["RELIGHT_TEST"] == "a 'quoted' $word\nand another line"
    assert "/bin" in env["PATH"]


def test_a_login_file_counts_and_its_noise_does_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / ".profile").write_text("echo Welcome\nexport HF_HOME=/data/hf\nexport http_proxy=http://proxy:3128\n")

    env = ask_login_shell("/bin/sh")

    assert env is not None
    assert (env["HF_HOME"], env["http_proxy"]) == ("/data/hf", "http://proxy:3128")


@pytest.mark.parametrize("shell", ["/usr/sbin/nologin", "/bin/false", "/no/such/shell"])
def test_a_shell_that_logs_nobody_in_tells_nothing(shell: str) -> None:
    assert ask_login_shell(shell) is None


def test_a_user_that_has_no_name_has_a_shell(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a container that runs under a number."""
    monkeypatch.setattr(os, "getuid", lambda: 2_000_000_017)
    monkeypatch.delenv("SHELL", raising=False)

    assert login_shell() == "/bin/sh"


def test_path_is_the_interpreters_folder_then_the_logins_then_cuda() -> None:
    path = launch_path("/opt/sglang/bin/python", "/usr/bin:/bin::/usr/bin", "/usr/local/cuda")

    assert path == "/opt/sglang/bin:/usr/bin:/bin:/usr/local/cuda/bin"


def test_what_opens_a_key_stays_here(host_at: Callable[..., AgentHost], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RELIGHT_SSH_PASSPHRASE", "planted")

    ran = host_at().run(["env"])

    assert ran.code == 0
    assert b"planted" not in ran.stdout


def test_a_word_is_quoted_for_any_shell_or_refused() -> None:
    assert quoted("it's") == "'it'\\''s'"
    with pytest.raises(Refused):
        quoted("a!b")


def test_a_command_that_cannot_be_run_says_why() -> None:
    with pytest.raises(Refused, match="cannot run /no/such: No such file"):
        run_command(["/no/such"], 1.0)


def test_an_interpreter_found_on_the_path_keeps_its_link(host_at: Callable[..., AgentHost], tmp_path: Path) -> None:
    (tmp_path / "venv").mkdir()
    link = tmp_path / "venv" / "python"
    link.symlink_to(os.path.realpath("/usr/bin/env"))

    ran = host_at(python=str(link)).run(["PYTHON", "PYTHONX=1"])

    assert b"PYTHONX=1" in ran.stdout
