"""A launch: one server per attempt, detached, with the right environment, and its end recorded."""

import json
import os
import signal
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from relight.hosts.remote import AgentHost
from relight.hosts.values import HostError, LaunchOrder, Status
from relight.words.attempt import Exit
from relight.words.secret import Secret

Start = Callable[..., str]
Until = Callable[..., Any]


def ended(host: AgentHost, attempt: str) -> Status | None:
    status = host.status(attempt)
    return status if status.state == "ended" else None


def told(host: AgentHost, attempt: str, until: Until) -> list[dict[str, Any]]:
    until(lambda: b"ready" in host.read_log(attempt, 0, 1 << 20))
    lines = host.read_log(attempt, 0, 1 << 20).decode().splitlines()
    return [json.loads(line) for line in lines if line.startswith("{")]


@pytest.mark.parametrize(
    ("argv", "exit_"),
    [((), Exit(0)), (("--exit", "3"), Exit(3)), (("--signal", "9"), Exit(None, 9)), (("--signal", "6"), Exit(None, 6))],
)
def test_the_end_of_a_server_is_recorded_with_status_or_signal(
    host: AgentHost, start: Start, until: Until, argv: tuple[str, ...], exit_: Exit
) -> None:
    attempt = start(*argv)

    status = until(lambda: ended(host, attempt))

    assert status.exit == exit_
    assert status.started <= status.ended
    assert status.boot_id == host.connect().boot_id
    assert not status.alive


def test_the_same_attempt_launched_twice_is_one_server(host: AgentHost, engine: dict[str, str]) -> None:
    order = LaunchOrder("run-1", ["--stay"], env=engine, module="engine")

    first, second = host.launch(order), host.launch(order)

    assert (first.again, second.again) == (False, True)
    assert first.pid == second.pid
    assert len([p for p in host.status("run-1").tree if p.state != "Z"]) == 1


def test_an_attempt_that_ended_is_not_started_again(
    host: AgentHost, engine: dict[str, str], start: Start, until: Until
) -> None:
    attempt = start("--exit", "3")
    until(lambda: ended(host, attempt))

    again = host.launch(LaunchOrder(attempt, ["--stay"], env=engine, module="engine"))

    assert again.again
    assert host.status(attempt).exit == Exit(3)


def test_launches_at_the_same_time_are_one_server(host: AgentHost, engine: dict[str, str]) -> None:
    order = LaunchOrder("run-1", ["--stay"], env=engine, module="engine")
    found: list[int | None] = []
    threads = [threading.Thread(target=lambda: found.append(host.launch(order).pid)) for _ in range(5)]

    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len(set(found)) == 1
    assert len(found) == 5
    live = [p for p in host.status("run-1").tree if p.state != "Z"]
    assert len(live) == 1


def test_the_server_has_an_empty_folder_no_stdin_and_plain_signals(host: AgentHost, start: Start, until: Until) -> None:
    first, second, third = told(host, start("--tell"), until)

    assert first["files"] == []
    assert first["cwd"].startswith(str(host.connect().workdir))
    assert second["stdin"] == "/dev/null"
    assert second["fds"][:3] == ["0", "1", "2"]
    assert len(second["fds"]) == 4  # the fourth is the one that lists them
    assert third["signals"] == [True, True, False, True]  # Python itself ignores SIGPIPE


def test_the_server_is_told_what_a_launch_adds(
    host_at: Callable[..., AgentHost], engine: dict[str, str], until: Until
) -> None:
    host = host_at(gpus=(2, 5))
    order = LaunchOrder(
        "run-1", ["--tell"], env={**engine, "HF_HOME": "/data/hf", "CUDA_HOME": "/opt/cuda"}, module="engine", run="run"
    )
    host.launch(order)

    env = told(host, "run-1", until)[0]["env"]

    path = env["PATH"].split(":")
    assert env["CUDA_VISIBLE_DEVICES"] == "2,5"
    assert (env["RELIGHT_ATTEMPT"], env["RELIGHT_RUN"]) == ("run-1", "run")
    assert (env["SPT_NOENV"], env["PYTHONUNBUFFERED"], env["HF_HOME"]) == ("1", "1", "/data/hf")
    assert (env["SGLANG_PYSPY_DUMP_BEFORE_CRASH"], env["SGLANG_CUDA_COREDUMP_BEFORE_CRASH"]) == ("0", "0")
    assert path[-1] == "/opt/cuda/bin"
    assert (Path(path[0]) / "python3").exists()
    assert "/usr/bin" in path


def test_settings_win_over_what_a_launch_adds(host: AgentHost, start: Start, until: Until) -> None:
    attempt = start("--tell", env={"PYTHONUNBUFFERED": "0", "PATH": "/usr/bin"})

    env = told(host, attempt, until)[0]["env"]

    assert (env["PYTHONUNBUFFERED"], env["PATH"]) == ("0", "/usr/bin")


def test_secrets_reach_the_server_and_nothing_else(host: AgentHost, start: Start, until: Until) -> None:
    token, key = "hf_" + "a1b2" * 8, "sk-planted: 'quoted\" \\ value"
    attempt = start("--tell", "--stay", secrets={"HF_TOKEN": Secret(token)}, secret_flags={"api-key": Secret(key)})
    first = told(host, attempt, until)[0]

    config = Path(first["argv"][first["argv"].index("--config") + 1])

    assert first["env"]["HF_TOKEN"] == token
    assert config.read_text() == f"api-key: {json.dumps(key)}\n"
    assert config.stat().st_mode & 0o777 == 0o600
    lines = [p.read_bytes() for p in Path("/proc").glob("[0-9]*/cmdline") if p.parent.name != str(os.getpid())]
    assert not [line for line in lines if token.encode() in line or b"sk-planted" in line]
    files = [p for p in Path(host.spec.workdir).rglob("*") if p.is_file() and p.name not in {"server.log", config.name}]
    assert not [p for p in files if token.encode() in p.read_bytes() or b"sk-planted" in p.read_bytes()]


def test_files_and_folders_are_for_their_owner_only(host: AgentHost, start: Start) -> None:
    host.status(start("--stay"))

    paths = list(Path(host.spec.workdir).rglob("*"))

    assert {oct(p.stat().st_mode & 0o777) for p in paths if p.is_file()} == {"0o600"}
    assert {oct(p.stat().st_mode & 0o777) for p in paths if p.is_dir()} == {"0o700"}


def test_the_servers_own_files_keep_the_users_umask(host: AgentHost, start: Start, until: Until) -> None:
    mask = os.umask(0)
    os.umask(mask)
    attempt = start("--umask")

    log = until(lambda: host.read_log(attempt, 0, 1000))

    assert log.startswith(b"umask " + oct(mask).encode())


def test_a_server_outlives_the_agent_and_the_link(host: AgentHost, start: Start) -> None:
    attempt = start("--stay")
    before = host.status(attempt)

    host.close()

    after = host.status(attempt)
    assert after.state == "running"
    assert after.pid == before.pid
    assert after.supervised


def test_a_module_that_is_not_there_ends_with_pythons_own_words(
    host: AgentHost, engine: dict[str, str], until: Until
) -> None:
    host.launch(LaunchOrder("run-1", [], env=engine, module="no_such_engine"))

    status = until(lambda: ended(host, "run-1"))

    assert status.exit == Exit(1)
    assert b"No module named no_such_engine" in host.read_log("run-1", 0, 1000)


def test_an_interpreter_that_is_not_there_is_named(host_at: Callable[..., AgentHost]) -> None:
    host = host_at(python="/opt/none/bin/python")

    with pytest.raises(HostError, match="no interpreter at /opt/none/bin/python"):
        host.launch(LaunchOrder("run-1", []))


@pytest.mark.parametrize("attempt", ["../x", "a/b", "", ".hidden", "x" * 200, "a\nb"])
def test_an_attempt_id_cannot_lead_out_of_the_work_folder(host: AgentHost, attempt: str) -> None:
    with pytest.raises(HostError, match="plain name"):
        host.launch(LaunchOrder(attempt, []))


def test_a_killed_supervisor_leaves_the_server_alone_and_is_noticed(
    host: AgentHost, start: Start, until: Until
) -> None:
    attempt = start("--child", "--stay")
    launched = host.launch(LaunchOrder(attempt, []))
    until(lambda: len(host.status(attempt).tree) == 2)
    until(lambda: b"ready" in host.read_log(attempt, 0, 1000))
    assert launched.supervisor

    os.kill(launched.supervisor, signal.SIGKILL)

    status = until(lambda: (s := host.status(attempt)) and not s.supervised and s)
    assert status.state == "running"
    assert "supervisor was killed" in status.reason
    assert len(status.tree) == 2
    assert host.stop(attempt, patience=2).left == ()
    assert "exit status is not known" in host.status(attempt).reason


def test_an_attempt_the_host_never_saw_has_no_state(host: AgentHost) -> None:
    assert host.status("run-9").state == "none"
    assert host.attempts() == ()


def test_attempts_carry_what_a_later_run_must_know(host_at: Callable[..., AgentHost], engine: dict[str, str]) -> None:
    host = host_at(gpus=(0,))
    host.launch(LaunchOrder("r1-1", ["--stay"], env=engine, module="engine", run="r1", port=30000, title="qwen"))

    (found,) = host.attempts()

    assert (found.run, found.port, found.gpus, found.title, found.alive) == ("r1", 30000, (0,), "qwen", True)


def test_a_full_disk_does_not_lose_the_exit_status(host: AgentHost, start: Start, until: Until) -> None:
    attempt = start("--stay")
    folder = Path(host.status(attempt).log).parent

    assert (folder / "exit.part").stat().st_size == 4096
    host.stop(attempt, patience=5)

    assert until(lambda: ended(host, attempt)).exit == Exit(None, 15)
    assert not (folder / "exit.part").exists()


def test_processes_of_an_attempt_are_ours_and_others_are_not(host: AgentHost, start: Start) -> None:
    attempt = start("--stay")

    mine = {p.pid: p for p in host.processes() if p.ours == attempt}

    assert host.status(attempt).pid in mine
    assert next(p for p in host.processes() if p.pid == os.getpid()).ours is None
    assert next(p for p in host.processes() if p.pid == 1).ours is None


def test_a_reboot_in_mid_attempt_is_told(host: AgentHost, start: Start) -> None:
    attempt = start("--stay")
    file = Path(host.status(attempt).log).parent / "state.json"
    state = file.read_text()

    file.write_text(json.dumps({**json.loads(state), "boot": "another-boot"}))

    status = host.status(attempt)
    assert (status.state, status.exit) == ("ended", Exit())
    assert "rebooted" in status.reason
    file.write_text(state)
    assert host.status(attempt).state == "running"


def test_a_work_folder_that_cannot_be_made_is_named(host_at: Callable[..., AgentHost], tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    host = host_at(workdir=str(tmp_path / "file" / "work"))

    with pytest.raises(HostError, match="set workdir to a place that can be written"):
        host.launch(LaunchOrder("run-1", []))
