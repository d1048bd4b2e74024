"""Questions to a host: files, commands, HTTP, locks, the engine."""

import http.server
import json
import os
import socket
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from relight.hosts.remote import AgentHost
from relight.hosts.values import HostError, HttpRequest, LaunchOrder, Owner
from relight.words.errors import UnreachableError
from relight.words.secret import Secret

ME = Owner("run-a", "ada", "laptop", 1)
YOU = Owner("run-b", "bob", "desk", 2)


def test_a_host_tells_what_it_is(host: AgentHost) -> None:
    facts = host.connect()

    assert facts.hostname == socket.gethostname()
    assert facts.cpus >= 1
    assert facts.memory_total > facts.memory_free > 0
    assert abs(facts.clock_offset) < 1
    assert facts.round_trip < 1
    assert "/bin" in facts.login_path
    assert facts.workdir == host.spec.workdir


def test_files_are_read_in_pieces_and_missing_ones_are_none(host: AgentHost, tmp_path: Path) -> None:
    file = tmp_path / "server_args.py"
    file.write_text("ä = 1\n")

    assert host.source(str(file)) == "ä = 1\n"
    assert host.read_file(str(file), 3, 2) == b"= "
    assert host.source(str(tmp_path / "none.py")) is None
    assert host.stat(str(tmp_path / "none.py")) is None
    assert host.stat(str(file)) is not None
    with pytest.raises(HostError, match="directory"):
        host.read_file(str(tmp_path), 0, 10)


def test_a_folder_is_listed_with_links_followed(host: AgentHost, tmp_path: Path) -> None:
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "a.safetensors").write_bytes(b"12345")
    (tmp_path / "model" / "b.safetensors").symlink_to(tmp_path / "model" / "a.safetensors")
    (tmp_path / "model" / "c.safetensors").symlink_to(tmp_path / "nowhere")

    found = [(e.name, e.kind, e.size) for e in host.list_dir(str(tmp_path / "model"))]

    assert found[:2] == [("a.safetensors", "file", 5), ("b.safetensors", "file", 5)]
    assert found[2][1] == "link"
    assert host.list_dir(str(tmp_path / "none")) == ()


def test_the_room_at_a_path_is_that_of_its_nearest_parent(host: AgentHost, tmp_path: Path) -> None:
    disk = host.disk(str(tmp_path / "not" / "yet"))

    assert disk.path == str(tmp_path)
    assert 0 < disk.free <= disk.total


def test_a_command_gets_its_words_as_they_are(host: AgentHost) -> None:
    words = ["a b", "$(id)", "`id`", "'", '"', ";", "\n", "*", "~", "ü", "--x=1"]

    ran = host.run(["PYTHON", "-c", "import sys,json;print(json.dumps(sys.argv[1:]))", *words])

    assert (ran.code, json.loads(ran.stdout)) == (0, words)


def test_a_command_has_its_input_outputs_and_status(host: AgentHost) -> None:
    code = "import sys;d=sys.stdin.buffer.read();sys.stdout.write(str(len(d)));sys.stderr.write('e');sys.exit(4)"

    ran = host.run(["PYTHON", "-c", code], stdin=b"x" * 3_000_000)

    assert (ran.code, ran.stdout, ran.stderr) == (4, b"3000000", b"e")


def test_a_command_that_takes_too_long_is_ended_with_its_children(host: AgentHost, tmp_path: Path) -> None:
    note = tmp_path / "pid"
    code = f"import subprocess;p=subprocess.Popen(['sleep','60']);open({str(note)!r},'w').write(str(p.pid));p.wait()"

    ran = host.run(["PYTHON", "-c", code], timeout=1.0)

    assert ran.code is None
    pid = note.read_text()
    assert not Path(f"/proc/{pid}").exists() or ") Z " in Path(f"/proc/{pid}/stat").read_text()


def test_a_slow_question_does_not_hold_up_the_next(host: AgentHost) -> None:
    slow = threading.Thread(target=lambda: host.run(["sleep", "3"]))
    slow.start()

    host.disk("/", timeout=2.0)

    assert slow.is_alive()
    slow.join()


def test_a_question_that_is_out_when_the_link_is_given_up_fails_at_once(host: AgentHost) -> None:
    faults: list[UnreachableError] = []
    with socket.create_server(("127.0.0.1", 0)) as silent:

        def ask() -> None:
            try:
                host.http(HttpRequest(f"http://127.0.0.1:{silent.getsockname()[1]}/", timeout=300.0))
            except UnreachableError as fault:
                faults.append(fault)

        out = threading.Thread(target=ask)
        out.start()
        with silent.accept()[0]:
            host.close()
            out.join(20.0)

    assert not out.is_alive()
    assert len(faults) == 1


def test_a_command_in_a_launchs_environment_runs_in_an_empty_folder(host_at: Callable[..., AgentHost]) -> None:
    host = host_at(env={"HF_HOME": "/data"}, gpus=(1,))
    code = (
        "import os,json;print(json.dumps([os.listdir('.'), os.environ['HF_HOME'], os.environ['CUDA_VISIBLE_DEVICES']]))"
    )

    ran = host.run(["PYTHON", "-c", code], launch_env=True)

    assert json.loads(ran.stdout) == [[], "/data", "1"]
    assert list((Path(host.spec.workdir) / "tmp").iterdir()) == []


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        body = b"x" * 100_000 if self.path == "/big" else json.dumps(dict(self.headers)).encode()
        self.send_response(503 if self.path == "/health" else 200)
        self.end_headers()
        if self.path == "/slow":
            self.wfile.write(b"half")
            self.wfile.flush()
            threading.Event().wait(3)
        self.wfile.write(body)

    def do_POST(self) -> None:
        size = int(self.headers["Content-Length"])
        self.send_response(200)
        self.end_headers()
        self.wfile.write(self.rfile.read(size)[::-1])

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        pass


@pytest.fixture
def url() -> Iterator[str]:
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


def test_a_server_on_the_host_is_asked_with_the_key_and_past_any_proxy(
    host_at: Callable[..., AgentHost], url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")

    answer = host_at().http(HttpRequest(f"{url}/model_info", token=Secret("sk-1")))

    assert answer.status == 200
    assert json.loads(answer.body)["Authorization"] == "Bearer sk-1"


def test_statuses_bodies_and_limits_come_back(host: AgentHost, url: str) -> None:
    assert host.http(HttpRequest(f"{url}/health")).status == 503
    assert host.http(HttpRequest(f"{url}/generate", "POST", b"abc")).body == b"cba"
    big = host.http(HttpRequest(f"{url}/big", limit=1000))
    assert (len(big.body), big.cut) == (1000, True)


def test_an_answer_that_stalls_is_bounded(host: AgentHost, url: str) -> None:
    answer = host.http(HttpRequest(f"{url}/slow", timeout=0.5))

    assert answer.seconds < 2.5
    assert answer.cut


def test_a_port_nobody_listens_on_refuses(host: AgentHost) -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]

    answer = host.http(HttpRequest(f"http://127.0.0.1:{port}/health"))

    assert (answer.status, answer.error) == (None, "refused")


def test_a_listener_is_found_with_its_process(host: AgentHost, url: str) -> None:
    port = int(url.rpartition(":")[2])

    (found,) = (x for x in host.listeners() if x.port == port)

    assert (found.pid, found.address) == (os.getpid(), "127.0.0.1")


def test_nothing_of_ours_listens_on_the_host(host_at: Callable[..., AgentHost], engine: dict[str, str]) -> None:
    host = host_at()
    launched = host.launch(LaunchOrder("run-a-1", ["--stay"], env=engine, module="engine"))

    agents = {p.pid for p in host.processes() if "relight-agent" in p.command or p.pid == launched.supervisor}

    assert launched.supervisor in agents
    assert len(agents) > 1
    assert [x for x in host.listeners() if x.pid in agents] == []


def test_a_lock_is_taken_renewed_refused_to_others_and_given_back(host_at: Callable[..., AgentHost]) -> None:
    host = host_at()
    assert host.lock(ME, gpus=(0, 1), port=30000) == ()
    assert host.lock(ME, gpus=(0, 1), port=30000) == ()

    (held,) = host.lock(YOU, gpus=(1, 2), port=31000)

    assert (held.what, str(held.owner)) == ("gpu 1", "run run-a of ada@laptop (pid 1)")
    assert host.lock(YOU, gpus=(2, 3), port=31000) == ()
    assert [h.what for h in host.lock(ME, gpus=(0, 1), port=31000)] == ["port 31000"]
    host.unlock(ME)
    assert host.lock(YOU, gpus=(0, 1, 2), port=30000) == ()


def make_stale(host: AgentHost) -> None:
    (file,) = (Path(host.spec.workdir) / "locks").glob("*.json")
    lock = json.loads(file.read_text())
    file.write_text(json.dumps({**lock, "beat": lock["beat"] - 1000}))


def test_a_lock_that_nobody_renews_is_stale(host_at: Callable[..., AgentHost]) -> None:
    host = host_at()
    host.lock(ME, gpus=(0,), port=None)

    make_stale(host)

    assert host.lock(YOU, gpus=(0,), port=None) == ()


def test_a_lock_whose_server_lives_is_never_stale(host_at: Callable[..., AgentHost], engine: dict[str, str]) -> None:
    host = host_at()
    host.lock(ME, gpus=(0,), port=None)
    host.launch(LaunchOrder("run-a-1", ["--stay"], env=engine, module="engine", run="run-a"))

    make_stale(host)

    assert [h.owner.run for h in host.lock(YOU, gpus=(0,), port=None)] == ["run-a"]


FAKE_ENGINE = "__version__ = '0.5.9'\nimport sys\nsys.exit('imported, which costs many seconds')\n"


def test_the_engines_version_is_told_without_importing_it(host_at: Callable[..., AgentHost], tmp_path: Path) -> None:
    package = tmp_path / "site" / "sglang"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text(FAKE_ENGINE)
    host = host_at(env={"PYTHONPATH": str(package.parent)})
    assert host.engine_version() == "0.5.9"

    (package / "version.py").write_text("__version__: str = '0.5.10'\n")
    assert host.engine_version() == "0.5.10"

    info = package.parent / "sglang-0.5.11.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: sglang\nVersion: 0.5.11\n")
    assert host.engine_version() == "0.5.11"


def test_an_interpreter_without_the_engine_has_no_version(host: AgentHost) -> None:
    assert host.engine_version() is None


def test_without_nvidia_smi_there_are_no_cards(host: AgentHost) -> None:
    assert host.gpus() == ()


def test_kernel_messages_are_lines_or_nothing(host: AgentHost) -> None:
    assert all(isinstance(line, str) for line in host.kernel_log(0.0))
    assert host.kernel_log(4e9) == ()
