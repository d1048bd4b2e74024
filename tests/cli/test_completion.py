"""What a shell is offered."""

from pathlib import Path

import pytest
from click.shell_completion import CompletionItem, ShellComplete

from relight.cli.main import relight as command
from tests.cli.conftest import Relight

HOSTS = '[hosts.rtx8]\naddress = "local"\n[hosts.rtx4]\naddress = "local"\n'
pytestmark = pytest.mark.usefixtures("relight")


def items(*words: str) -> list[CompletionItem]:
    *before, begun = words
    return ShellComplete(command, {}, "relight", "_RELIGHT_COMPLETE").get_completions(list(before), begun)


def offered(*words: str) -> list[str]:
    return [item.value for item in items(*words)]


def test_commands_and_options_are_offered() -> None:
    assert offered("re") == ["retry", "report"]
    assert "--max-attempts" in offered("retry", "--m")


def test_hosts_of_the_file_here_and_the_simulated_one_are_offered(tmp_path: Path) -> None:
    (tmp_path / "hosts.toml").write_text(HOSTS)

    assert offered("retry", "play.toml", "--host", "") == ["rtx8", "rtx4", "lab"]
    assert offered("check", "play.toml", "--host", "rtx4") == ["rtx4"]
    assert offered("init", "rtx") == ["rtx8", "rtx4"]


def test_the_hosts_file_that_was_typed_is_read(tmp_path: Path) -> None:
    (tmp_path / "other.toml").write_text(HOSTS.replace("rtx8", "far"))

    assert offered("retry", "--hosts", str(tmp_path / "other.toml"), "--host", "f") == ["far"]


def test_a_broken_or_missing_hosts_file_leaves_the_simulated_host(tmp_path: Path) -> None:
    assert offered("retry", "--host", "") == ["lab"]

    (tmp_path / "hosts.toml").write_text("[hosts")

    assert offered("retry", "--host", "") == ["lab"]


@pytest.mark.parametrize("words", [("report",), ("status",), ("stop",), ("logs",), ("retry", "--resume")])
def test_runs_are_offered_newest_first(tmp_path: Path, words: tuple[str, ...]) -> None:
    for name in ("20261128-0800-a-xxxx", "20261129-0800-b-yyyy"):
        (tmp_path / "state" / "runs" / name).mkdir(parents=True)
        (tmp_path / "state" / "runs" / name / "base.json").write_text("{}")

    assert offered(*words, "") == ["20261129-0800-b-yyyy", "20261128-0800-a-xxxx"]
    assert offered(*words, "20261128") == ["20261128-0800-a-xxxx"]


def test_flags_are_offered_ready_for_a_value() -> None:
    assert "mem-fraction-static=" in offered("retry", "--set", "mem-f")
    assert "mem-fraction-static" in offered("retry", "--unset", "mem-f")


def test_kinds_signatures_schemas_and_scenarios_are_offered() -> None:
    assert "oom.gpu.kv_pool" in offered("explain", "oom.gpu.kv")
    assert "kv-pool-no-room" in offered("explain", "kv-")
    assert offered("schema", "pl") == ["plan", "playbook"]
    assert "oom-graphs" in offered("lab", "--scenario", "oom-g")


@pytest.mark.parametrize("words", [("retry",), ("diagnose",), ("report", "-o"), ("playbook", "check")])
def test_files_are_left_to_the_shell(words: tuple[str, ...]) -> None:
    assert [item.type for item in items(*words, "")] == ["file"]


def test_folders_are_left_to_the_shell() -> None:
    assert [item.type for item in items("runs", "--state", "")] == ["dir"]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_each_shell_has_its_script(relight: Relight, shell: str) -> None:
    done = relight("completion", shell)

    assert done.status == 0
    assert "_RELIGHT_COMPLETE" in done.out


def test_fish_keeps_a_description_whole(relight: Relight) -> None:
    assert 'string split -m 1 "," $completion' in relight("completion", "fish").out
