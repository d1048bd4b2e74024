from dataclasses import replace

from relight.attempts.judge import plan
from relight.attempts.judge.book import Book
from relight.attempts.judge.facts import Facts
from relight.words.playbook import Health, Probe

SHAPE = Health(judge="shape")


def test_where_only_the_shape_counts_the_server_is_told_to_go_on_for_a_few_tokens(book: Book) -> None:
    asked = plan.questions(SHAPE, book, Facts())

    assert {q.tokens for q in asked} == {book.tokens["plain"]}
    assert all((q.body or {})["sampling_params"]["ignore_eos"] for q in asked)


def test_every_long_prompt_of_the_load_is_another_one(book: Book) -> None:
    rounds = [plan.load_questions(book, Facts(), count=8, turn=turn) for turn in range(3)]
    long = [q.prompt for asked in rounds for q in asked if q.role == "long"]

    assert len(set(long)) == 3


def test_no_prompt_of_the_load_comes_twice(book: Book) -> None:
    asked = [q.prompt for turn in range(4) for q in plan.load_questions(book, Facts(), count=16, turn=turn)]

    assert len(set(asked)) == len(asked)


def test_a_long_prompt_stays_inside_context_and_pool(book: Book) -> None:
    plenty = Facts(chunk=8192, context_length=262144, pool=400000, chars_per_token=4.0)

    assert 8192 < len(plan.long_prompt(book, plenty)) / 4 < 1.3 * 8192
    assert len(plan.long_prompt(book, replace(plenty, context_length=4096))) / 4 < 0.85 * 4096
    assert len(plan.long_prompt(book, replace(plenty, pool=3000))) / 4 < 1600


def test_the_builtin_questions_can_be_left_out(book: Book) -> None:
    own = Health(builtin=False, probes=(Probe("Who are you?", "ship"),))

    assert [q.prompt for q in plan.first_questions(own, book, Facts())] == ["Who are you?"]


def test_the_load_is_bounded_where_the_server_takes_very_many(book: Book) -> None:
    assert plan.concurrency(book, Facts(concurrency=4096)) == book.soak["most"]
    assert plan.concurrency(book, Facts()) == book.soak["concurrency"]
