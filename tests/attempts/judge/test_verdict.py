import json
from dataclasses import replace
from typing import Any

import pytest

from relight.attempts.judge import plan
from relight.attempts.judge.answers import Answered, Question
from relight.attempts.judge.book import Book
from relight.attempts.judge.facts import Facts
from relight.attempts.judge.verdict import Verdict, judge
from relight.words.playbook import Health, Probe

STRICT = Health()
SHAPE = Health(judge="shape")
GOOD = (" Paris.", " Friday", " 7, 8, 9", " cold.", " 4", " five.", " Tokyo")
PROSE = (
    " The old lighthouse stood at the end of the pier, and every evening its keeper climbed the stairs with a lamp in"
    " his hand. Nobody in the village knew where he had come from or what he wanted."
)


def native(question: Question, text: str, **meta: Any) -> Answered:
    meta = {"finish_reason": {"type": "stop"}, "completion_tokens": 12} | meta
    return Answered(question, 200, json.dumps({"text": text, "meta_info": meta}), seconds=0.5)


def chat(question: Question, text: str, *, thoughts: str = "", finish: str = "stop") -> Answered:
    message = {"content": text or None, "reasoning_content": thoughts or None}
    return Answered(question, 200, json.dumps({"choices": [{"message": message, "finish_reason": finish}]}))


def answers(book: Book, texts: tuple[str, ...] = GOOD, sampled: str = PROSE) -> list[Answered]:
    """Answers to all built-in questions: the plain ones and the chat question, in order, then the rest."""
    asked = plan.questions(STRICT, book, Facts())
    plain = [q for q in asked if q.role in {"plain", "chat"}]
    said = [(chat if q.role == "chat" else native)(q, t) for q, t in zip(plain, texts, strict=True)]
    said += [native(q, sampled) for q in asked if q.role == "sampled"]
    said += [native(q, " G, H, I") for q in asked if q.role == "equal"]
    return said + [native(q, " harbour.") for q in asked if q.role == "long"]


def with_last(given: list[Answered], **changes: Any) -> list[Answered]:
    return [*given[:-1], replace(given[-1], **changes)]


def verdict(given: list[Answered], book: Book, health: Health = STRICT) -> Verdict:
    return judge(given, health, book)


def test_sound_answers_are_well(book: Book) -> None:
    found = verdict(answers(book), book)

    assert (found.outcome, found.kind) == ("well", None)
    assert "8 of" in " ".join(found.notes) or "as expected" in " ".join(found.notes)


@pytest.mark.parametrize(
    "broken",
    [
        "!" * 64,
        "+" * 40,
        " the" * 30,
        " of the of the of the of the of the of the of the of the",
        "的的的的的的的的的的的的的的的的的的的的的的的的",
        PROSE + ")" * 60,
        "a\x00b\x02c\x1b d",
        "\ufffda\ufffd\ufffdb\ufffd\ufffd",
        "\u043bamp灯п\u0440и وقت lanter\u043d\u0430 दीपak 등불zu",
        "izione)cro(urn wr'dra)xml(ness abil'ock)fen(ulp ment)bis'iv nom)ther)umb'tern(yel ilk)ost'qu",
    ],
)
def test_broken_text_is_sick_whatever_else_is_right(book: Book, broken: str) -> None:
    given = [native(a.question, broken) if a.question.role in {"sampled", "long"} else a for a in answers(book)]

    found = verdict(given, book)

    assert (found.outcome, found.kind) == ("sick", "numerics.garbage")
    assert found.evidence


def test_nan_among_the_log_probabilities_is_sick_with_its_own_kind(book: Book) -> None:
    given = answers(book)
    pairs = [[-0.1, 12, None], [float("nan"), 0, None]]
    given[-1] = native(given[-1].question, " harbour", output_token_logprobs=pairs)

    assert verdict(given, book).kind == "numerics.nan"
    assert verdict(given, book, SHAPE).kind == "numerics.nan"


def test_token_zero_over_and_over_is_read_as_nan(book: Book) -> None:
    given = answers(book)
    pairs = [[-1.0, 0, None]] * 24
    given[0] = native(given[0].question, "Paris", output_token_logprobs=pairs)

    assert verdict(given, book).kind == "numerics.nan"


def test_no_text_at_the_asked_length_is_sick(book: Book) -> None:
    given = answers(book)
    given[0] = native(given[0].question, "", finish_reason={"type": "length"}, completion_tokens=24)

    assert verdict(given, book).outcome == "sick"


def test_one_right_answer_saves_a_server_whose_other_answers_are_odd(book: Book) -> None:
    texts = (
        " a lovely place.",
        " Friday",
        " and so on.",
        " up to you.",
        " too many.",
        " more than I have.",
        " far away.",
    )

    assert verdict(answers(book, texts), book).outcome == "well"


def test_all_plain_questions_wrong_is_sick(book: Book) -> None:
    texts = (
        " a lovely place.",
        " rain.",
        " and so on.",
        " up to you.",
        " too many.",
        " more than I have.",
        " far away.",
    )

    found = verdict(answers(book, texts), book)

    assert (found.outcome, found.kind) == ("sick", "numerics.garbage")
    assert "all 7 plain questions" in found.notes[0]


def test_thinking_aloud_that_was_cut_off_is_not_wrong(book: Book) -> None:
    given = [
        native(
            a.question,
            "<think>\nOkay, the user wants me to go on.",
            finish_reason={"type": "length"},
            completion_tokens=24,
        )
        if a.question.role == "plain"
        else a
        for a in answers(book)
        if a.question.role != "chat"
    ]

    assert verdict(given, book).outcome == "well"


def test_thoughts_split_off_by_a_parser_count_as_thinking_aloud(book: Book) -> None:
    given = [
        chat(a.question, "", thoughts="The capital must be", finish="length") if a.question.role == "chat" else a
        for a in answers(book, (" x.",) * 7)
    ]

    assert verdict(given, book).outcome == "well"


def test_a_probe_of_the_operator_must_be_answered_as_expected(book: Book) -> None:
    health = Health(probes=(Probe("Name our ship:", "Aurora"),))
    probe = next(q for q in plan.questions(health, book, Facts()) if q.role == "probe")

    assert verdict([*answers(book), native(probe, " Aurora")], book, health).outcome == "well"
    assert verdict([*answers(book), native(probe, " Titanic")], book, health).outcome == "sick"


def test_equal_questions_answered_differently_with_certainty_are_sick(book: Book) -> None:
    equal = [a for a in answers(book) if a.question.role == "equal"]
    other = [native(a.question, " G", output_token_logprobs=[[-0.01, 400 + n, None]]) for n, a in enumerate(equal)]

    assert verdict([a for a in answers(book) if a.question.role != "equal"] + other, book).outcome == "sick"


def test_equal_questions_may_part_where_it_was_close(book: Book) -> None:
    close = [[-0.01, 7, None], [-0.7, 8, None]], [[-0.01, 7, None], [-0.69, 9, None]]
    equal = [a.question for a in answers(book) if a.question.role == "equal"]
    other = [native(q, f" G, {n % 2}", output_token_logprobs=close[n % 2]) for n, q in enumerate(equal)]

    assert verdict([a for a in answers(book) if a.question.role != "equal"] + other, book).outcome == "well"


def test_random_weights_are_well_by_shape_and_sick_by_text(book: Book) -> None:
    words = "xq zzv qobl wuk jjip fney aksm ruht vbe ttog iimp zay weolk qqr shof"
    exact = [q for q in plan.questions(SHAPE, book, Facts()) if q.role in {"plain", "sampled", "equal"}]
    given = [native(q, words, finish_reason={"type": "length"}, completion_tokens=q.tokens) for q in exact]

    assert verdict(given, book, SHAPE).outcome == "well"
    assert verdict(given, book).outcome == "sick"


def test_shape_wants_the_number_of_tokens_that_was_asked_for(book: Book) -> None:
    question = plan.questions(SHAPE, book, Facts())[0]
    given = [native(question, "abc", finish_reason={"type": "length"}, completion_tokens=question.tokens - 1)]

    assert verdict(given, book, SHAPE).outcome == "sick"


@pytest.mark.parametrize(("pool", "outcome"), [(40, "well"), (400, "sick"), (None, "sick")])
@pytest.mark.parametrize("health", [STRICT, SHAPE], ids=["strict", "shape"])
def test_an_answer_may_end_early_where_the_server_has_no_room_left(
    book: Book, health: Health, pool: int | None, outcome: str
) -> None:
    asked = plan.questions(SHAPE, book, Facts(pool=pool, context_length=2048))

    given = [
        native(q, " Paris", finish_reason={"type": "length"}, completion_tokens=2, prompt_tokens=36) for q in asked
    ]

    assert verdict(given, book, health).outcome == outcome


@pytest.mark.parametrize("health", [STRICT, SHAPE])
def test_our_own_time_out_is_never_sick(book: Book, health: Health) -> None:
    given = with_last(answers(book), status=None, fault="timeout", body="")

    found = verdict([replace(a, body=a.body.replace("12", str(a.question.tokens))) for a in given], book, health)

    assert found.outcome == "unjudged"


@pytest.mark.parametrize("status", [400, 404, 405, 422])
def test_what_a_version_lacks_is_no_fault(book: Book, status: int) -> None:
    given = [replace(a, status=status, body="") if a.question.role in {"chat", "long"} else a for a in answers(book)]

    assert verdict(given, book).outcome == "well"


def test_a_refused_key_is_our_own_fault(book: Book) -> None:
    given = [replace(a, status=401, body="{}") for a in answers(book)]

    assert verdict(given, book).outcome == "unjudged"


def test_a_server_error_under_load_is_sick(book: Book) -> None:
    load = plan.load_questions(book, Facts(), count=4, turn=0)
    given = [*answers(book), *(Answered(q, 500, "oops") for q in load)]

    assert verdict(given, book).kind == "engine.request"


def test_a_server_that_refuses_everything_is_sick_by_health(book: Book) -> None:
    given = [replace(a, status=503, body="") for a in answers(book)]

    assert verdict(given, book).kind == "hang.health"


def test_off_looks_at_the_health_path_alone(book: Book) -> None:
    question = plan.health_question(book, Facts())

    assert verdict([Answered(question, 200)], book, Health(judge="off")).outcome == "well"
    assert verdict([Answered(question, 503)], book, Health(judge="off")).outcome == "unjudged"


def test_a_body_that_is_no_generation_needs_company_to_be_sick(book: Book) -> None:
    given = answers(book)

    assert verdict(with_last(given, body="<html>"), book).outcome != "sick"
    assert verdict([replace(a, body="<html>") for a in given], book).outcome == "sick"
