"""The HTTP side of the server: uvicorn's lines, the warm-up, and the endpoints."""

# mypy: disable-error-code="import-not-found,no-any-return"
import errno
import http.client
import json
import os
import signal
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import FrameType
from typing import NoReturn

from sglang.srt.entrypoints.engine import Engine
from sglang.srt.entrypoints.handler import Handler, Service
from sglang.srt.server_args import ServerArgs
from sglang.srt.stand_in.log import say
from sglang.srt.stand_in.world import rest, since


class Server(ThreadingHTTPServer):
    """The listening socket; every request has its own thread."""

    daemon_threads = True
    request_queue_size = 64
    service: Service

    def handle_error(self, request: object, client_address: object) -> None:
        """Let clients go away without a word, as uvicorn does."""


def launch_server(server_args: ServerArgs) -> None:
    """Start the engine, then serve until somebody ends it."""
    engine = Engine(server_args)
    engine.start()
    if server_args.node_rank:
        follow(server_args, engine)
    service = Service(server_args, engine)
    say(f"INFO:     Started server process [{os.getpid()}]")
    say("INFO:     Waiting for application startup.")
    rest(0.05)
    say("INFO:     Application startup complete.")
    server = bind(server_args)
    if server is None:
        give_up_port(server_args, engine)
        return
    server.service = service
    say(f"INFO:     Uvicorn running on http://{server_args.host}:{server_args.port} (Press CTRL+C to quit)")
    threading.Thread(target=server.serve_forever, daemon=True).start()
    signal.signal(signal.SIGTERM, lambda number, frame: drain(number, frame, engine))
    threading.Thread(target=engine.watch, daemon=True).start()
    threading.Thread(target=warm_up, args=(server_args, engine, service), daemon=True).start()
    while True:
        signal.pause()


class DummyHandler(BaseHTTPRequestHandler):
    """What a node that is not the first answers: that it is well, whatever happens."""

    def do_GET(self) -> None:
        """Answer health checks."""
        self.send_response(200 if self.path in ("/health", "/health_generate", "/ping") else 404)
        self.end_headers()

    def log_message(self, *args: object) -> None:
        """Say nothing."""


def follow(server_args: ServerArgs, engine: Engine) -> NoReturn:
    """Be a node that is not the first: look well, and wait for the ranks to end."""
    # All nodes of the lab share one machine: each has a loopback address of its own in the place of one port.
    server = ThreadingHTTPServer((f"127.0.1.{server_args.node_rank}", server_args.port), DummyHandler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    say(f"Dummy health check server started in background thread at {server_args.host}:{server_args.port}")
    if since(0, 5, 20):
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    threading.Thread(target=engine.watch, daemon=True).start()
    while True:
        signal.pause()


def bind(server_args: ServerArgs) -> Server | None:
    """Return the listening server, None where the port is taken."""
    try:
        return Server((server_args.host, server_args.port), Handler)
    except OSError as error:
        if error.errno != errno.EADDRINUSE:
            raise
    where = (server_args.host, server_args.port)
    say(f"ERROR:    [Errno 98] error while attempting to bind on address {where}: address already in use")
    say("INFO:     Waiting for application shutdown.")
    return None


def give_up_port(server_args: ServerArgs, engine: Engine) -> None:
    """End after the port could not be had; the warm-up still runs, against whoever has it."""
    status = ask(server_args, "GET", model_info_path(), None)
    if status == 200:
        say("The server is fired up and ready to roll!")
        engine.kill_process_tree(include_parent=False)
        os._exit(1)
    rest(1.0)
    say(f"Initialization failed. warmup error: the server on port {server_args.port} does not answer")
    engine.kill_process_tree(include_parent=True)


def model_info_path() -> str:
    """Return where the release tells about its model."""
    return "/model_info" if since(0, 5, 8) else "/get_model_info"


def warm_up(server_args: ServerArgs, engine: Engine, service: Service) -> None:
    """Ask the server for a few tokens, then call it ready."""
    if not server_args.skip_server_warmup:
        ask(server_args, "GET", model_info_path(), None)
        rest(0.2)
        body = {"text": "The capital city of France is", "sampling_params": {"temperature": 0, "max_new_tokens": 8}}
        status = ask(server_args, "POST", "/generate", body)
        if status != 200:
            say(f"Initialization failed. warmup error: res=<Response [{status}]>")
            engine.kill_process_tree(include_parent=True)
    service.up = True
    say("The server is fired up and ready to roll!")


def ask(server_args: ServerArgs, method: str, path: str, body: object) -> int:
    """Ask the server on our own port; 0 where nothing answers."""
    host = "127.0.0.1" if server_args.host in ("0.0.0.0", "") else server_args.host  # noqa: S104  compared, not bound
    headers = {"Content-Type": "application/json"}
    if server_args.api_key:
        headers["Authorization"] = f"Bearer {server_args.api_key}"
    link = http.client.HTTPConnection(host, server_args.port, timeout=600)
    try:
        link.request(method, path, None if body is None else json.dumps(body), headers)
        return link.getresponse().status
    except (OSError, http.client.HTTPException):
        return 0
    finally:
        link.close()


def drain(number: int, frame: FrameType | None, engine: Engine) -> None:
    """End in order because somebody asked for it (handler of SIGTERM)."""
    del number, frame
    say("SIGTERM received. signum=None frame=None. Draining requests and shutting down...")
    rest(0.3)
    say("Gracefully exiting... Remaining number of requests 0. Remaining requests remaining_rids=[].")
    old = not since(0, 5, 20)
    engine.kill_process_tree(include_parent=old)
    os._exit(0)
