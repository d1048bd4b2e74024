"""A run over a scripted host: the real loop, knowledge and journal, no process and no waiting."""

import json
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from relight.attempts.clock import stamp
from relight.attempts.loop import run
from relight.attempts.order import RunOrder
from relight.config.knowledge import load_knowledge
from relight.hosts.values import HttpAnswer, HttpRequest, LaunchOrder
from relight.journal.journal import Journal
from relight.testing import Act, ManualClock, ScriptedHost
from relight.words.attempt import Exit, Record
from relight.words.events import Event
from relight.words.host import HostSpec
from relight.words.knowledge import Knowledge
from relight.words.playbook import Health, Lever, Playbook, Variant

READY = "The server is fired up and ready to roll!\n"
PORT = 30017


def sound(request: HttpRequest) -> HttpAnswer:
    """Answer like a healthy server that makes exactly the tokens asked for."""
    if not request.url.endswith("/generate"):
        return HttpAnswer(200, body=b"{}", seconds=0.1)
    return generated(request, "a fine answer", -0.2)


def generated(request: HttpRequest, text: str, logprob: float) -> HttpAnswer:
    """Answer a generation with `text`; every token has the log probability given."""
    tokens = json.loads(request.body)["sampling_params"]["max_new_tokens"]
    meta = {
        "finish_reason": {"type": "length", "length": tokens},
        "completion_tokens": tokens,
        "prompt_tokens": 8,
        "output_token_logprobs": [[logprob, 100 + i, None] for i in range(tokens)],
    }
    return HttpAnswer(200, body=json.dumps({"text": text, "meta_info": meta}).encode(), seconds=0.2)


def healthy() -> Act:
    """Return a launch that becomes healthy after three seconds."""
    log = "[2026-11-29 10:00:00] Load weight begin. avail mem=94.60 GB\n"
    ready = f"[2026-11-29 10:00:03] {READY}"
    return Act(log, later=((3.0, ready),), listens=2.0, answers=sound)


def crashed(text: str, *, code: int | None = 1, signal: int | None = None) -> Act:
    """Return a launch that prints `text` and ends."""
    return Act(text, exit=Exit(code, signal), ends=1.0)


def book(**fields: object) -> Playbook:
    """Return a playbook with a port and a short, lenient health."""
    plain = Playbook("tested", flags={"model-path": "m", "port": PORT}, health=Health(judge="shape", soak=0.0))
    return replace(plain, **fields)  # type: ignore[arg-type]


def lever(name: str, *variants: Variant, keep: float = 1.0) -> Lever:
    """Return a lever."""
    return Lever(name, variants, keep)


@pytest.fixture(scope="session")
def knowledge() -> Knowledge:
    """Return what relight ships."""
    return load_knowledge()


@dataclass
class Bench:
    """Runs playbooks against what `play` says, and keeps the last host, journal folder and events."""

    state: Path
    knowledge: Knowledge
    host: ScriptedHost = field(init=False)
    folder: Path = field(init=False)
    events: list[Event] = field(default_factory=list)
    order: dict[str, object] = field(default_factory=dict)

    def scripted(self, play: Callable[[LaunchOrder], Act]) -> ScriptedHost:
        """Make the host that plays."""
        parser = self.knowledge.parser_for("0.5.9")
        assert parser
        self.host = ScriptedHost(play, spec=HostSpec("box", "local"), version="0.5.9", options=parser, limit=20_000)
        return self.host

    def run(self, playbook: Playbook, play: Callable[[LaunchOrder], Act] | None = None) -> Record:
        """Run a playbook to its end on a new host (or again on the last one)."""
        if play:
            self.scripted(play)
        started = stamp(self.host.clock.now())
        with Journal.create(self.state, playbook=playbook, specs=[self.host.spec], started=started) as journal:
            self.folder = journal.folder
            return self.go_on(playbook, journal)

    def go_on(self, playbook: Playbook, journal: Journal) -> Record:
        """Carry on with a run."""
        order = RunOrder(playbook, self.host.spec, owner_user="tester", owner_host="here", **self.order)  # type: ignore[arg-type]
        clock: ManualClock = self.host.clock
        return run(order, self.host, journal, self.knowledge, clock=clock, emit=self.events.append)


@pytest.fixture
def bench(tmp_path: Path, knowledge: Knowledge) -> Bench:
    """Return a bench with a state folder of its own."""
    return Bench(tmp_path, knowledge)
