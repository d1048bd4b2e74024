import json
from collections.abc import Callable, Generator
from dataclasses import dataclass, field
from typing import Any

import pytest

from relight.attempts.judge import plan
from relight.attempts.judge.answers import Answered, Question
from relight.attempts.judge.book import Book
from relight.attempts.judge.facts import Facts
from relight.attempts.judge.session import Ask, Got, session
from relight.attempts.judge.verdict import Verdict
from relight.words.playbook import Health

RIGHT = {
    "France is": " Paris", "Thursday,": " Friday", "5, 6,": " 7", "hot is": " cold", "2 + 2 =": " 4", "equals": " five",
    "E, F,": " G, H", "word is": " harbour", "one word.": "Tokyo",
}  # fmt: skip
SERVER = {
    "version": "0.5.16", "chunked_prefill_size": 512, "max_total_num_tokens": 9000,
    "internal_states": [{"max_running_requests": 48, "effective_max_running_requests_per_dp": 6}],
}  # fmt: skip


def sound(question: Question) -> Answered:
    if question.role in {"info", "health"}:
        return Answered(question, 200, json.dumps({"is_generation": True}), seconds=0.1)
    if question.role == "server":
        return Answered(question, 200, json.dumps(SERVER), seconds=0.1)
    if question.role == "models":
        return Answered(question, 200, json.dumps({"data": [{"id": "m", "max_model_len": 4096}]}))
    return generated(
        question, next((r for p, r in RIGHT.items() if question.prompt.endswith(p)), " It was a fine day.")
    )


def generated(question: Question, text: str) -> Answered:
    if question.role == "chat":
        body: dict[str, Any] = {"choices": [{"message": {"content": text}, "finish_reason": "stop"}]}
    else:
        meta = {"finish_reason": {"type": "stop"}, "completion_tokens": 8, "prompt_tokens": len(question.prompt) // 5}
        body = {"text": text, "meta_info": meta}
    return Answered(question, 200, json.dumps(body), seconds=2.0)


@dataclass
class Pretended:
    """A server on a clock of its own: `answer` says what it answers, every request takes as long as it says."""

    answer: Callable[[Question], Answered] = sound
    now: float = 0.0
    asks: list[Ask] = field(default_factory=list)

    def talk(self, conversation: Generator[Ask, Got, Verdict], *, most: int = 400) -> Verdict:
        try:
            ask = next(conversation)
            for _ in range(most):
                ask = conversation.send(self.reply(ask))
        except StopIteration as end:
            verdict: Verdict = end.value
            return verdict
        raise AssertionError("the conversation does not end")

    def reply(self, ask: Ask) -> Got:
        self.asks.append(ask)
        answers = tuple(self.answer(q) for q in ask.questions)
        self.now += ask.pause + max(a.seconds for a in answers)
        return Got(answers, self.now)

    def stages(self) -> list[str]:
        return [a.stage for a in self.asks]


def test_a_sound_server_is_asked_loaded_and_asked_again(book: Book) -> None:
    server = Pretended()

    verdict = server.talk(session(Health(soak=20), book, Facts(version="0.5.16")))

    assert verdict.outcome == "well"
    assert server.stages()[0] == "ready"
    assert server.stages()[-1] == "second look"
    assert verdict.measured["tokens_per_second"] == 4.0


def test_a_pool_smaller_than_one_request_is_told(book: Book) -> None:
    def small(question: Question) -> Answered:
        if question.role == "server":
            return Answered(question, 200, json.dumps({**SERVER, "max_total_num_tokens": 900}), seconds=0.1)
        return sound(question)

    verdict = Pretended(small).talk(session(Health(soak=30), book, Facts()))

    assert verdict.outcome == "well"
    assert "the pool holds 900 tokens, the context is 4096" in " ".join(verdict.notes)


def test_the_load_grows_to_what_the_server_takes_and_lasts_for_the_soak(book: Book) -> None:
    server = Pretended()

    server.talk(session(Health(soak=20), book, Facts(version="0.5.16")))

    sizes = [len(a.questions) for a in server.asks if a.stage.startswith("soak")]
    assert sizes[:4] == [1, 2, 4, 6]
    assert len(sizes) * 2.0 >= 20


def test_the_top_of_the_load_is_reached_even_in_a_short_soak(book: Book) -> None:
    server = Pretended()

    server.talk(session(Health(soak=1), book, Facts(version="0.5.16")))

    assert [len(a.questions) for a in server.asks if a.stage.startswith("soak")] == [1, 6]


def test_the_long_prompt_is_longer_than_a_chunk_and_fits_the_context(book: Book) -> None:
    server = Pretended()

    server.talk(session(Health(soak=0), book, Facts(version="0.5.16")))

    prompt = next(q.prompt for a in server.asks for q in a.questions if q.role == "long")
    assert 512 < len(prompt) / 5 < 4096


def test_a_server_that_is_starting_is_asked_until_it_is_ready(book: Book) -> None:
    looks = iter([None, None, 503, 503, 200])
    state: dict[str, int | None] = {"status": None}

    def answer(question: Question) -> Answered:
        if question.role == "health" and state["status"] != 200:
            state["status"] = next(looks)
            fault = "refused" if state["status"] is None else ""
            return Answered(question, state["status"], fault=fault, seconds=0.1)  # type: ignore[arg-type]
        return sound(question)

    server = Pretended(answer)

    assert server.talk(session(Health(soak=0), book, Facts())).outcome == "well"
    assert server.stages().count("ready") == 5


def test_garbage_that_begins_under_load_is_caught(book: Book) -> None:
    def answer(question: Question) -> Answered:
        return (
            generated(question, "!" * 64) if question.role == "load" and "(9)" in question.prompt else sound(question)
        )

    verdict = Pretended(answer).talk(session(Health(soak=60), book, Facts(version="0.5.16")))

    assert (verdict.outcome, verdict.kind) == ("sick", "numerics.garbage")


def test_garbage_that_begins_after_load_is_caught_by_the_second_look(book: Book) -> None:
    server = Pretended()

    def answer(question: Question) -> Answered:
        worn = question.role == "plain" and any(s.startswith("soak") for s in server.stages())
        return generated(question, " purple kettle orchard") if worn else sound(question)

    server.answer = answer

    assert server.talk(session(Health(soak=5), book, Facts(version="0.5.16"))).outcome == "sick"


def test_a_stuck_scheduler_behind_a_live_http_parent_is_sick_by_health(book: Book) -> None:
    server = Pretended()

    def answer(question: Question) -> Answered:
        if question.role == "load":
            return Answered(question, None, fault="timeout", seconds=question.timeout)
        loaded = any(s.startswith("soak") for s in server.stages())
        return Answered(question, 503, seconds=20.0) if question.role == "health" and loaded else sound(question)

    server.answer = answer
    verdict = server.talk(session(Health(soak=5), book, Facts(version="0.5.16")))

    assert (verdict.outcome, verdict.kind) == ("sick", "hang.health")


def test_a_time_out_while_the_health_path_answers_is_left_unjudged(book: Book) -> None:
    def answer(question: Question) -> Answered:
        late = question.role == "load"
        return Answered(question, None, fault="timeout", seconds=9.0) if late else sound(question)

    verdict = Pretended(answer).talk(session(Health(soak=5), book, Facts(version="0.5.16")))

    assert verdict.outcome == "unjudged"


def test_a_question_declined_for_its_log_probabilities_is_asked_without(book: Book) -> None:
    def answer(question: Question) -> Answered:
        declined = "return_logprob" in (question.body or {})
        return Answered(question, 400, "{}") if declined else sound(question)

    assert Pretended(answer).talk(session(Health(soak=0), book, Facts())).outcome == "well"


def test_a_busy_server_is_asked_again_and_a_gone_one_is_not(book: Book) -> None:
    busy = iter([429, 503] + [200] * 400)
    gone = Pretended(lambda q: sound(q) if q.method == "GET" else Answered(q, None, fault="closed"))

    def answer(question: Question) -> Answered:
        if question.role == "plain" and (status := next(busy)) != 200:
            return Answered(question, status)
        return sound(question)

    assert Pretended(answer).talk(session(Health(soak=0), book, Facts())).outcome == "well"
    assert gone.talk(session(Health(soak=0), book, Facts())).outcome == "unjudged"
    assert gone.stages().count("questions") == 1


def test_paths_follow_the_version_and_a_missing_one_is_replaced(book: Book) -> None:
    old = Pretended()
    lacking = Pretended(lambda q: Answered(q, 404) if q.path == "/server_info" else sound(q))

    old.talk(session(Health(soak=0), book, Facts(version="0.4.9")))
    lacking.talk(session(Health(soak=0), book, Facts(version="0.5.9")))

    assert [q.path for a in old.asks for q in a.questions][:4] == [
        "/health",
        "/v1/models",
        "/get_model_info",
        "/get_server_info",
    ]
    assert "/get_server_info" in [q.path for a in lacking.asks for q in a.questions]


def test_log_probabilities_are_not_asked_for_where_speculation_leaves_them_out(book: Book) -> None:
    def answer(question: Question) -> Answered:
        old = json.dumps({"version": "0.5.9", "speculative_algorithm": "EAGLE"})
        return Answered(question, 200, old) if question.role == "server" else sound(question)

    with_speculation, without = Pretended(answer), Pretended()
    with_speculation.talk(session(Health(soak=0), book, Facts()))
    without.talk(session(Health(soak=0), book, Facts()))

    assert not any("return_logprob" in (q.body or {}) for a in with_speculation.asks for q in a.questions)
    assert any("return_logprob" in (q.body or {}) for a in without.asks for q in a.questions)


@pytest.mark.parametrize(
    ("version", "overlap", "asks"),
    [
        ("0.5.9", True, False),
        ("0.5.9", False, True),
        ("0.5.8", False, False),
        ("0.5.10", True, True),
        (None, False, False),
    ],
)
def test_log_probabilities_are_asked_for_beside_speculation_that_reports_them(
    version: str | None, overlap: bool, asks: bool, book: Book
) -> None:
    assert plan.asks_logprobs(book, Facts(version=version, speculation="EAGLE", overlap=overlap)) is asks


def test_a_model_without_text_is_not_judged_by_it(book: Book) -> None:
    def answer(question: Question) -> Answered:
        return Answered(question, 200, '{"is_generation": false}') if question.role == "info" else sound(question)

    server = Pretended(answer)

    assert server.talk(session(Health(soak=5), book, Facts())).outcome == "well"
    assert "questions" not in server.stages()


def test_judge_off_ends_with_the_health_path(book: Book) -> None:
    server = Pretended()

    assert server.talk(session(Health(judge="off"), book, Facts())).outcome == "well"
    assert server.stages() == ["ready"]


@pytest.mark.parametrize(("told", "measured"), [(2.318, 2.32), (None, None)])
def test_what_speculation_brings_is_asked_after_the_load(
    book: Book, told: float | None, measured: float | None
) -> None:
    server = Pretended()

    def answer(question: Question) -> Answered:
        loaded = any(a.stage.startswith("load of") for a in server.asks)
        state = {"avg_spec_accept_length": told} if loaded and told else {}
        says = json.dumps({"version": "0.5.9", "speculative_algorithm": "NEXTN", "internal_states": [state]})
        return Answered(question, 200, says) if question.role == "server" else sound(question)

    server.answer = answer
    verdict = server.talk(session(Health(soak=1), book, Facts(version="0.5.9")))

    assert verdict.measured.get("accept_length") == measured


@pytest.mark.parametrize(("takes", "sizes"), [(1, [1]), (8, [1, 8]), (48, [1, 8, 48]), (500, [1, 8, 64])])
def test_a_load_has_the_usual_sizes_as_far_as_the_server_takes_them(book: Book, takes: int, sizes: list[int]) -> None:
    def answer(question: Question) -> Answered:
        says = json.dumps({"max_running_requests": takes})
        return Answered(question, 200, says) if question.role == "server" else sound(question)

    server = Pretended(answer)
    server.talk(session(Health(soak=1), book, Facts(version="0.5.16")))

    assert [len(a.questions) for a in server.asks if a.stage.startswith("load of")] == sizes


def test_what_the_server_says_of_itself_is_asked_at_once(book: Book) -> None:
    server = Pretended()

    server.talk(session(Health(soak=0), book, Facts(version="0.5.16")))

    assert [len(a.questions) for a in server.asks if a.stage == "facts"] == [3]


def test_a_server_that_hangs_is_not_asked_everything_else_first(book: Book) -> None:
    """Whichever question is the first without an answer: the health path is asked, and no further question waits."""
    for first in ("plain", "equal", "long", "load"):
        server = Pretended()

        def answer(question: Question, first: str = first, server: Pretended = server) -> Answered:
            hung = any(q.role == first for a in server.asks for q in a.questions)
            if question.role == "health":
                return Answered(question, 503 if hung else 200, seconds=20.0)
            return Answered(question, None, fault="timeout", seconds=question.timeout) if hung else sound(question)

        server.answer = answer
        verdict = server.talk(session(Health(soak=5), book, Facts(version="0.5.16")))

        assert (verdict.outcome, verdict.kind) == ("sick", "hang.health"), first
        waited = [q.role for a in server.asks for q in a.questions if q.role != "health"]
        assert len(set(waited[waited.index(first) :])) == 1, first
        assert server.now < 600 + 6 * 60


def test_what_a_load_costs_is_measured_at_one_and_more_at_once(book: Book) -> None:
    server = Pretended()

    verdict = server.talk(session(Health(soak=1), book, Facts(version="0.5.16", concurrency=64)))

    sizes = [len(a.questions) for a in server.asks if a.stage.startswith("load of")]
    assert sizes == [1, 6]  # the server itself says that it takes six
    assert verdict.measured["tokens_per_second_1"] == 4.0
    assert verdict.measured["tokens_per_second_6"] == 24.0
    assert verdict.measured["time_to_first_token"] == 2.0
