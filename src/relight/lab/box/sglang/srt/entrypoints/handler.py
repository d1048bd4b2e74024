"""Answer requests: health, facts about the server, and text."""

# mypy: disable-error-code="import-not-found,no-any-return"
import itertools
import json
import threading
import time
from http.server import BaseHTTPRequestHandler
from typing import Any

from sglang.srt.entrypoints.answers import tokens_of
from sglang.srt.entrypoints.engine import Engine
from sglang.srt.managers.scheduler import rank_tag
from sglang.srt.server_args import ServerArgs
from sglang.srt.stand_in.kernels import due
from sglang.srt.stand_in.log import say
from sglang.srt.stand_in.world import holds, scenario, since

STUCK = 0.4  # seconds without an answer of the ranks; the real engine waits twenty
OPEN_PATHS = ("/health", "/metrics", "/ready")


class Service:
    """What all requests share: the engine, whether it is up, and how much was asked so far."""

    def __init__(self, server_args: ServerArgs, engine: Engine) -> None:
        """Serve with `engine`."""
        self.server_args = server_args
        self.engine = engine
        self.up = False
        self.busy_since: float | None = None
        self.batch = threading.Lock()
        self.count = itertools.count(1)
        self.lock = threading.Lock()
        self.running = 0

    def run(self, prompt: str) -> str:
        """Run a request through the ranks and return the sickness that its answer shows ("" for a sane one)."""
        number = next(self.count)
        with self.lock:
            self.running += 1
        try:
            return self._run(prompt, number)
        finally:
            with self.lock:
                self.running -= 1

    def _run(self, prompt: str, number: int) -> str:
        tokens = max(1, len(prompt) // 4)
        values = self.server_args.by_flag() | {"request": number, "concurrency": self.running, "prompt-tokens": tokens}
        phases = ("serve",) if self.up else ("warmup", "moe", "serve")
        fault = next((f for f in (due(phase, values) for phase in phases) if f), None)
        batch = {"tokens": min(tokens, self.server_args.chunked_prefill_size)}
        if fault:
            batch["fault"] = scenario().faults.index(fault)
        with self.batch:
            self.busy_since = time.monotonic()
            self.engine.run(batch)
            self.busy_since = None
        self.say_batch(tokens)
        return next((s.shape for s in scenario().sicknesses if holds(s.when, values)), "")

    def say_batch(self, tokens: int) -> None:
        """Write the line of a prompt, as rank 0 does."""
        say(
            f"Prefill batch, #new-seq: 1, #new-token: {tokens}, #cached-token: 0, token usage: 0.00, #running-req: 0, "
            f"#queue-req: 0, input throughput (token/s): {tokens * 3.1:.2f}, cuda graph: False",
            rank_tag(self.server_args, 0),
        )

    @property
    def well(self) -> bool:
        """Say whether the ranks answer."""
        stuck = self.busy_since is not None and time.monotonic() - self.busy_since > STUCK
        return not stuck and self.engine.dead() is None


class Handler(BaseHTTPRequestHandler):
    """One connection."""

    protocol_version = "HTTP/1.1"
    server: Any

    def do_GET(self) -> None:
        """Answer health checks and questions about the server."""
        if not self.allowed():
            return
        path = self.path.split("?")[0]
        known = {"/health": self.health, "/health_generate": self.health, "/v1/models": self.models, "/ping": self.ping}
        if path in ("/model_info", "/get_model_info"):
            self.reply(model_info(self.service.server_args))
        elif path in ("/server_info", "/get_server_info"):
            self.reply(server_info(self.service))
        else:
            known.get(path, self.not_found)()

    def do_POST(self) -> None:
        """Answer with text."""
        if not self.allowed():
            return
        known = {"/generate": self.generate, "/v1/completions": self.completions, "/v1/chat/completions": self.chat}
        try:
            body = json.loads(self.rfile.read(int(self.headers.get("Content-Length", 0))) or b"{}")
        except ValueError:
            self.reply({"error": {"message": "JSON decode error"}}, 400)
            return
        known.get(self.path, lambda _: self.not_found())(body)

    @property
    def service(self) -> Service:
        """Return what all requests share."""
        found: Service = self.server.service
        return found

    def allowed(self) -> bool:
        """Say whether the request has the key, where one is needed."""
        key = self.service.server_args.api_key
        if not key or self.path.startswith(OPEN_PATHS) or self.headers.get("Authorization") == f"Bearer {key}":
            return True
        self.reply({"error": "Unauthorized"}, 401)
        return False

    def health(self) -> None:
        """Say whether the server can answer; not while it starts, not when its ranks do not."""
        self.reply(None, 200 if self.service.up and self.service.well else 503)

    def ping(self) -> None:
        """Say that somebody is there."""
        self.reply(None)

    def models(self) -> None:
        """Name the one model."""
        args = self.service.server_args
        longest = args.context_length or args.model_config.context
        one = {"id": args.served_model_name, "object": "model", "owned_by": "sglang", "max_model_len": longest}
        self.reply({"object": "list", "data": [one]})

    def not_found(self) -> None:
        """Say that there is no such path."""
        self.reply({"detail": "Not Found"}, 404)

    def generate(self, body: dict[str, Any]) -> None:
        """Answer /generate, one prompt or several."""
        asked = body.get("text", "")
        texts = asked if isinstance(asked, list) else [asked]
        answers = [self.native(str(text), body) for text in texts]
        if body.get("stream"):
            self.stream([answers[0]])
            return
        self.reply(answers if isinstance(asked, list) else answers[0])

    def native(self, prompt: str, body: dict[str, Any]) -> dict[str, Any]:
        """Return the answer to one prompt in the form of /generate."""
        sampling = body.get("sampling_params") or {}
        begun = time.monotonic()
        tokens, stopped, sick = self.answer(prompt, sampling.get("max_new_tokens", 128), sampling)
        reason = {"type": "stop", "matched": 151645} if stopped else {"type": "length", "length": len(tokens)}
        meta: dict[str, Any] = {
            "id": f"{id(tokens):032x}",
            "finish_reason": reason,
            "prompt_tokens": max(1, len(prompt) // 4),
            "completion_tokens": len(tokens),
            "cached_tokens": 0,
            "weight_version": "default",
            "e2e_latency": time.monotonic() - begun,
        }
        if body.get("return_logprob"):
            meta["output_token_logprobs"] = logprobs(tokens, sick)
        ids = [0 if sick == "nan" else number(token) for token in tokens]
        return {"text": "".join(tokens), "output_ids": ids, "meta_info": meta}

    def answer(self, prompt: str, most: int, options: dict[str, Any]) -> tuple[list[str], bool, str]:
        """Return tokens, whether the answer is complete, and the sickness it shows."""
        sick = self.service.run(prompt)
        tokens, stopped = tokens_of(prompt, sick, most, ignore_eos=bool(options.get("ignore_eos")))
        return tokens, stopped, sick

    def completions(self, body: dict[str, Any]) -> None:
        """Answer /v1/completions."""
        prompt = body.get("prompt", "")
        prompt = str(prompt[0] if isinstance(prompt, list) else prompt)
        tokens, stopped, sick = self.answer(prompt, body.get("max_tokens") or 16, body)
        choice: dict[str, Any] = {"index": 0, "text": "".join(tokens), "finish_reason": "stop" if stopped else "length"}
        if body.get("logprobs"):
            choice["logprobs"] = {"tokens": tokens, "token_logprobs": [p[0] for p in logprobs(tokens, sick)]}
        self.openai("text_completion", body, prompt, tokens, choice)

    def chat(self, body: dict[str, Any]) -> None:
        """Answer /v1/chat/completions."""
        messages = body.get("messages") or [{}]
        prompt = str(messages[-1].get("content", ""))
        most = body.get("max_tokens") or body.get("max_completion_tokens") or 512
        tokens, stopped, sick = self.answer(prompt, most, body)
        message = {"role": "assistant", "content": "".join(tokens).strip(), "reasoning_content": None}
        choice: dict[str, Any] = {"index": 0, "message": message, "finish_reason": "stop" if stopped else "length"}
        if body.get("logprobs"):
            rows = zip(tokens, logprobs(tokens, sick), strict=True)
            choice["logprobs"] = {"content": [{"token": token, "logprob": row[0]} for token, row in rows]}
        self.openai("chat.completion", body, prompt, tokens, choice)

    def openai(self, kind: str, body: dict[str, Any], prompt: str, tokens: list[str], choice: dict[str, Any]) -> None:
        """Send an answer in OpenAI's form."""
        asked = max(1, len(prompt) // 4)
        usage = {"prompt_tokens": asked, "completion_tokens": len(tokens), "total_tokens": asked + len(tokens)}
        model = body.get("model", self.service.server_args.served_model_name)
        whole = {"id": f"{id(choice):032x}", "object": kind, "created": int(time.time()), "model": model}
        answer = whole | {"choices": [choice], "usage": usage}
        if body.get("stream"):
            self.stream([answer])
        else:
            self.reply(answer)

    def stream(self, answers: list[dict[str, Any]]) -> None:
        """Send answers as server-sent events."""
        data = "".join(f"data: {json.dumps(answer)}\n\n" for answer in answers) + "data: [DONE]\n\n"
        self.send_bytes(data.encode(), 200, "text/event-stream; charset=utf-8")

    def reply(self, answer: object, status: int = 200) -> None:
        """Send an answer as JSON (numbers that are not finite become null); nothing for None."""
        self.send_bytes(b"" if answer is None else json.dumps(answer).encode(), status, "application/json")

    def send_bytes(self, data: bytes, status: int, kind: str) -> None:
        """Send `data` and write the line of the access log."""
        try:
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True

    def log_request(self, code: int | str = "-", size: int | str = "-") -> None:
        """Write the access log as uvicorn does."""
        del size
        phrase = self.responses[code][0] if isinstance(code, int) and code in self.responses else ""
        host, port = self.client_address[:2]
        status = int(code) if isinstance(code, int) else code
        say(f'INFO:     {host}:{port} - "{self.requestline}" {status} {phrase}')

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  the name of the overridden argument
        """Write nothing else."""


def number(token: str) -> int:
    """Return a stable id for a token."""
    return sum(ord(c) * (i + 7) for i, c in enumerate(token)) % 150000


def logprobs(tokens: list[str], sick: str) -> list[list[Any]]:
    """Return log probability, id and text per token; null and token 0 where the logits are not numbers."""
    if sick == "nan":
        return [[None, 0, None] for _ in tokens]
    return [[-0.31, number(token), None] for token in tokens]


def model_info(server_args: ServerArgs) -> dict[str, Any]:
    """Return what the server says about its model."""
    known = {
        "model_path": server_args.model_path,
        "tokenizer_path": server_args.tokenizer_path,
        "is_generation": True,
        "preferred_sampling_params": None,
        "weight_version": "default",
    }
    return known | ({"architectures": [server_args.model_config.architecture]} if since(0, 5, 8) else {})


def server_info(service: Service) -> dict[str, Any]:
    """Return all arguments as they were resolved, and what the ranks have."""
    args, figures = service.server_args, service.engine.figures
    weights = args.model_config.weights_gib / args.tp_size
    memory = {"weight": round(weights, 2), "token_capacity": figures["tokens"]}
    state = {"memory_usage": memory, "effective_max_running_requests_per_dp": figures["running"]}
    if args.speculative_algorithm:
        state["avg_spec_accept_length"] = 2.7
    states = [vars(args) | state]
    return vars(args) | {
        "max_total_num_tokens": figures["tokens"],
        "status": "ready",
        "version": scenario().version,
        "stand_in": "relight lab",
        "internal_states": states,
    }
