"""The conversation with a server, as a generator that yields what to ask and is sent what came back.

The caller owns bytes and time: it sends every request of an `Ask` at once after its pause, and returns `Got`. It may
close the generator at any point, for instance when the process has died. The return value is the verdict.
"""

from collections.abc import Generator, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from relight.attempts.judge import plan
from relight.attempts.judge.answers import Answered, Question, read_reply
from relight.attempts.judge.book import Book
from relight.attempts.judge.facts import Facts, learn, measure
from relight.attempts.judge.figures import accepted, figures, first_token, rate
from relight.attempts.judge.verdict import Verdict, judge, standing
from relight.words.attempt import SHORT_POOL
from relight.words.playbook import Health

RETRIES = 2
RETRY_PAUSE = 5.0
LOADS = (1, 8, 64)
"""How many requests at once the cost is measured with; the server's own most instead of what is more than that."""


@dataclass(frozen=True)
class Ask:
    """Wait `pause` seconds, then send all `questions` at once. `stage` is for the screen."""

    questions: tuple[Question, ...]
    stage: str
    pause: float = 0.0


@dataclass(frozen=True)
class Got:
    """The answers, in the order of the questions, and the time (seconds, any origin) at which the last came."""

    answers: tuple[Answered, ...]
    now: float


@dataclass
class Talk:
    """What the conversation holds: the facts so far and every judged answer."""

    health: Health
    book: Book
    facts: Facts
    answers: list[Answered] = field(default_factory=list)
    cost: dict[str, float] = field(default_factory=dict)

    def verdict(self, answers: Sequence[Answered]) -> Verdict:
        """Return the verdict over `answers` with the figures of the whole conversation."""
        return replace(judge(answers, self.health, self.book), measured={**self.cost, **figures(self.answers)})


Conversation: TypeAlias = Generator[Ask, Got, Verdict]


def session(health: Health, book: Book, facts: Facts) -> Conversation:
    """Ask until the server is ready, judge it, load it for the soak, look again; return the verdict.

    Without an answer on the health path it asks for ever: how long a start may take is the caller's to decide.
    """
    talk = Talk(health, book, facts)
    ready = yield from _until_ready(talk)
    if health.judge == "off":
        return talk.verdict(ready.answers)
    yield from _learn(talk)
    if not talk.facts.generates:
        return Verdict("well", notes=("the model makes no text, so none was judged",))
    for stage in (_first, _second, _soak, _load, _look_again):
        verdict = yield from stage(talk)
        if verdict.outcome != "well":
            return verdict
    return _summed(talk, verdict)


def _summed(talk: Talk, last: Verdict) -> Verdict:
    odd = tuple(n for n in last.notes if n.startswith("odd"))
    sound = f"{len(talk.answers)} answers are sound, before, under and after load"
    return replace(last, notes=(sound, *_small(talk.facts), *odd))


def _small(facts: Facts) -> tuple[str, ...]:
    """Say that the pool does not hold one request of full length: a sound server that refuses what it promises."""
    pool, context = facts.pool, facts.context_length
    if not pool or not context or pool >= context:
        return ()
    return (f"{SHORT_POOL} {pool} tokens, the context is {context}: a request longer than the pool is refused or cut",)


def _until_ready(talk: Talk) -> Generator[Ask, Got, Got]:
    question = plan.health_question(talk.book, talk.facts)
    pause = 0.0
    while True:
        got = yield Ask((question,), "ready", pause)
        if got.answers[0].status == 200:
            return got
        if got.answers[0].status == 404:
            question = replace(question, path=talk.book.endpoints["health"][-1])
        pause = talk.book.ready["every"]


def _learn(talk: Talk) -> Generator[Ask, Got, None]:
    """Ask at once what the server says about itself; a path that is not there is tried by its other name."""
    got = yield Ask(plan.fact_questions(talk.book, talk.facts), "facts")
    missing = tuple(_elsewhere(talk.book, a.question) for a in got.answers if a.status == 404)
    more = (yield Ask(missing, "facts")).answers if missing else ()
    for answer in (*got.answers, *more):
        talk.facts = learn(talk.facts, answer)


def _elsewhere(book: Book, question: Question) -> Question:
    paths = book.endpoints[question.role]
    return replace(question, path=next((p for p in paths if p != question.path), question.path))


def _first(talk: Talk) -> Conversation:
    answers = yield from _one_by_one(talk, plan.first_questions(talk.health, talk.book, talk.facts), "questions")
    _measure(talk, answers)
    return (yield from _verdict(talk, answers))


def _one_by_one(talk: Talk, questions: Sequence[Question], stage: str) -> Generator[Ask, Got, list[Answered]]:
    """Ask one after the other; once one has no answer the others are not waited for."""
    answers: list[Answered] = []
    for question in questions:
        answers += yield from _ask(talk, (question,), stage)
        if standing(answers[-1]) in {"gone", "ours"}:
            break
    return answers


def _measure(talk: Talk, answers: Sequence[Answered]) -> None:
    """Take the ratio of characters to tokens from the longest prompt: marks at the ends weigh least there."""
    for answer in sorted(answers, key=lambda a: len(a.question.prompt)):
        reply = read_reply(answer) if answer.status == 200 and answer.question.role != "chat" else None
        if reply:
            talk.facts = measure(talk.facts, answer, reply)


def _second(talk: Talk) -> Conversation:
    exact = talk.health.judge == "shape"
    if not talk.health.builtin and talk.health.probes:
        return talk.verdict(talk.answers)
    answers = yield from _ask(talk, plan.equal_questions(talk.book, talk.facts, exact=exact), "equal questions")
    if not any(standing(a) in {"gone", "ours"} for a in answers):
        answers += yield from _ask(talk, (plan.long_question(talk.book, talk.facts, exact=exact),), "long prompt")
    return (yield from _verdict(talk, answers))


def _soak(talk: Talk) -> Conversation:
    answers: list[Answered] = []
    top, size, turn, begun = plan.concurrency(talk.book, talk.facts), 1, 0, None
    verdict = talk.verdict(talk.answers)
    while talk.health.soak > 0:
        questions = plan.load_questions(
            talk.book, talk.facts, count=size, turn=turn, exact=talk.health.judge == "shape"
        )
        got = yield from _send(talk, questions, f"soak with {size} at once")
        answers += got.answers
        verdict = yield from _verdict(talk, got.answers)
        begun = got.now - max(a.seconds for a in got.answers) if begun is None else begun
        spent = got.now - begun >= talk.health.soak
        if verdict.outcome != "well":
            return verdict
        if spent and size == top:
            # All of them together, against what the same questions had for answers before the load.
            return talk.verdict(talk.answers)
        # The load doubles; when the time is over before the top is reached, one round goes there at once.
        size, turn = (top if spent else min(size * 2, top)), turn + 1
    return verdict


def _load(talk: Talk) -> Conversation:
    """Measure what a load of one kind costs, at several sizes; its answers are judged like any others."""
    verdict = talk.verdict(talk.answers)
    top = plan.concurrency(talk.book, talk.facts)
    exact = talk.health.judge == "shape"
    for size in dict.fromkeys(min(size, top) for size in LOADS) if talk.health.soak > 0 else ():
        questions = plan.measured_questions(talk.book, talk.facts, count=size, exact=exact)
        got = yield from _send(talk, questions, f"load of {size} at once")
        talk.cost.update(rate(got.answers))
        verdict = yield from _verdict(talk, got.answers)
        if verdict.outcome != "well":
            return verdict
    if talk.health.soak > 0:
        got = yield Ask((plan.first_token_question(talk.book, talk.facts),), "first token")
        talk.cost.update(first_token(got.answers[0]))
        yield from _ask_acceptance(talk)
    return verdict


def _ask_acceptance(talk: Talk) -> Generator[Ask, Got, None]:
    """Ask the server what speculation brought under the load: not every version says so with each answer."""
    if talk.facts.speculation:
        asked = tuple(q for q in plan.fact_questions(talk.book, talk.facts) if q.role == "server")
        got = yield Ask(asked, "speculation")
        talk.cost.update(accepted(got.answers[0]))


def _look_again(talk: Talk) -> Conversation:
    again = plan.plain_questions(talk.health, talk.book, talk.facts)
    return (yield from _verdict(talk, (yield from _one_by_one(talk, again, "second look"))))


def _verdict(talk: Talk, answers: Sequence[Answered]) -> Conversation:
    if any(a.fault == "timeout" for a in answers):
        sick = yield from _stuck(talk)
        if sick:
            return replace(talk.verdict(answers), outcome="sick", kind="hang.health", notes=(sick,))
    return talk.verdict(answers)


def _stuck(talk: Talk) -> Generator[Ask, Got, str]:
    """Ask the health path a few times, far apart: only a server that says no each time is stuck."""
    question = plan.health_question(talk.book, talk.facts)
    for _ in range(int(talk.book.ready["failures"])):
        got = yield Ask((question,), "health", talk.book.ready["apart"])
        if got.answers[0].status != 503:
            return ""
    return f"a request was never answered and {question.path} said 503 {talk.book.ready['failures']} times in a row"


def _ask(talk: Talk, questions: tuple[Question, ...], stage: str) -> Generator[Ask, Got, list[Answered]]:
    got = yield from _send(talk, questions, stage)
    return list(got.answers)


def _send(talk: Talk, questions: tuple[Question, ...], stage: str) -> Generator[Ask, Got, Got]:
    """Send, and send again what found the server busy, or what it declined for the log probabilities asked with it."""
    got = yield Ask(questions, stage)
    for _ in range(RETRIES):
        again = [i for i, a in enumerate(got.answers) if _worth_repeating(a)]
        if not again:
            break
        retry = yield Ask(tuple(_plainer(got.answers[i]) for i in again), stage, RETRY_PAUSE)
        merged = dict(enumerate(got.answers)) | dict(zip(again, retry.answers, strict=True))
        got = Got(tuple(merged.values()), retry.now)
    talk.answers += got.answers
    return got


def _worth_repeating(answer: Answered) -> bool:
    declined = answer.status in {400, 422} and "return_logprob" in (answer.question.body or {})
    return declined or standing(answer) == "busy" or answer.fault == "ours"


def _plainer(answer: Answered) -> Question:
    if answer.status not in {400, 422}:
        return answer.question
    body = {k: v for k, v in (answer.question.body or {}).items() if k != "return_logprob"}
    return replace(answer.question, body=body)
