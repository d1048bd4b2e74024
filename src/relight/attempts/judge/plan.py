"""Which requests to send: readiness, facts, and the questions whose answers are judged."""

from collections.abc import Mapping
from typing import Any, cast

from relight.attempts.judge.answers import Question, Role
from relight.attempts.judge.book import Book
from relight.attempts.judge.facts import Facts
from relight.words.knowledge import version_key
from relight.words.playbook import Health, Probe


def questions(health: Health, book: Book, facts: Facts) -> tuple[Question, ...]:
    """Return all questions that are judged, one of each: probes, plain ones, chat, equal, sampled, long."""
    return (
        *first_questions(health, book, facts),
        *equal_questions(book, facts, exact=health.judge == "shape"),
        *((long_question(book, facts, exact=health.judge == "shape"),) if book.long.filler else ()),
    )


def health_question(book: Book, facts: Facts) -> Question:
    """Return the request that says whether the server takes requests: its version's best health path."""
    path = _paths(book, "health", facts.version)[0]
    return Question("health", "GET", path, timeout=book.timeout["health"], label=path)


def fact_questions(book: Book, facts: Facts) -> tuple[Question, ...]:
    """Return the requests for what the server says about itself. Each may hang or be missing: that proves nothing."""
    return tuple(
        Question(role, "GET", _paths(book, role, facts.version)[0], timeout=book.timeout["facts"], label=role)
        for role in cast("tuple[Role, ...]", ("models", "info", "server"))
    )


def first_questions(health: Health, book: Book, facts: Facts) -> tuple[Question, ...]:
    """Return the questions that are asked one after the other: probes of the operator, plain, chat, sampled."""
    exact = health.judge == "shape"
    own = tuple(_generate("probe", p, book, facts, exact=exact) for p in health.probes)
    if not health.builtin and own:
        return own
    # Which question it is makes no difference where the text is not judged: two are enough.
    facts_asked, prose_asked = (book.plain[:2], book.sampled[:1]) if exact else (book.plain, book.sampled)
    plain = tuple(_generate("plain", p, book, facts, exact=exact) for p in facts_asked)
    chat = () if exact else tuple(_chat(p, book, facts) for p in book.chat)
    sampled = tuple(_generate("sampled", Probe(p), book, facts, exact=exact) for p in prose_asked)
    return (*plain, *own, *chat, *sampled)


def plain_questions(health: Health, book: Book, facts: Facts) -> tuple[Question, ...]:
    """Return the short questions among the first: the plain ones and the operator's own."""
    return tuple(q for q in first_questions(health, book, facts) if q.role in {"plain", "probe"})


def equal_questions(book: Book, facts: Facts, *, exact: bool = False) -> tuple[Question, ...]:
    """Return copies of one greedy question, to be asked at once: their answers may differ only where it was close."""
    return (_generate("equal", book.equal, book, facts, exact=exact),) * book.copies


def long_question(book: Book, facts: Facts, *, exact: bool = False, mark: str = "") -> Question:
    """Return a question longer than one prefill chunk, as far as context and pool allow; `mark` makes it a new one."""
    prompt = Probe(f"{mark}{long_prompt(book, facts)}", book.long.expect)
    return _generate("long", prompt, book, facts, exact=exact)


def load_questions(book: Book, facts: Facts, *, count: int, turn: int, exact: bool = False) -> tuple[Question, ...]:
    """Return `count` questions to be asked at once; `turn` (from 0) makes every round another one."""
    return tuple(_load(book, facts, turn * count + i, exact=exact) for i in range(count))


def measured_questions(book: Book, facts: Facts, *, count: int, exact: bool = False) -> tuple[Question, ...]:
    """Return `count` greedy questions of one kind, to be asked at once: what their answers cost is measured."""
    prompts = (f"({count}.{i}) {book.sampled[i % len(book.sampled)]}" for i in range(count))
    return tuple(_generate("load", Probe(prompt), book, facts, exact=exact) for prompt in prompts)


def first_token_question(book: Book, facts: Facts) -> Question:
    """Return a short question for one token: how long it takes is the time to the first token."""
    probe = Probe(f"(one) {book.plain[0].prompt}")
    return _generate("load", probe, book, facts, exact=False, tokens=1)


def concurrency(book: Book, facts: Facts) -> int:
    """Return the most requests to send at once."""
    return min(facts.concurrency or book.soak["concurrency"], book.soak["most"])


def room(facts: Facts) -> int:
    """Return how many tokens the server holds for one request, 0 where neither context nor pool is known."""
    return min((size for size in (facts.context_length, facts.pool) if size), default=0)


def long_prompt(book: Book, facts: Facts) -> str:
    """Return text of about the wanted number of tokens, every sentence of it another one."""
    long = book.long
    ratio = facts.chars_per_token or long.chars_per_token
    budget = int(_long_tokens(book, facts) * ratio) - len(long.open) - len(long.close)
    parts, size, n = [long.open], 0, 0
    while size < budget:
        n += 1
        text = long.filler[n % len(long.filler)].format(n=n, a=7 + n * 13 % 89, b=2 + n * 29 % 53)
        parts.append(text)
        size += len(text) + 1
    return "\n".join([*parts, long.close])


def _long_tokens(book: Book, facts: Facts) -> int:
    wanted = int((facts.chunk or book.long.chunk) * book.long.over)
    # Half of the pool, so that the answer and whatever else runs fit; a margin because the ratio is an estimate.
    limits = [book.long.most_tokens, wanted]
    limits += [int(facts.context_length * 0.8) - book.tokens["long"]] if facts.context_length else []
    limits += [facts.pool // 2] if facts.pool else []
    return max(16, min(limits))


def _load(book: Book, facts: Facts, n: int, *, exact: bool) -> Question:
    # One in eight is long, one in four is drawn at random; the number in front keeps the prefix cache out of it.
    if n % 8 == 7:
        return long_question(book, facts, exact=exact, mark=f"({n}) ")
    if n % 4 == 1:
        prompt = Probe(f"({n}) {book.sampled[n % len(book.sampled)]}")
        return _generate("load", prompt, book, facts, exact=exact, sampled=True)
    plain = book.plain[n % len(book.plain)]
    return _generate("load", Probe(f"({n}) {plain.prompt}", plain.expect), book, facts, exact=exact)


def _generate(
    role: Role, probe: Probe, book: Book, facts: Facts, *, exact: bool, sampled: bool = False, tokens: int | None = None
) -> Question:
    greedy = role != "sampled" and not sampled
    # Where the text is not judged a few tokens show all that is looked at.
    usual = min(book.tokens[role], book.tokens["plain"]) if exact else book.tokens[role]
    tokens = usual if tokens is None else tokens
    body: dict[str, Any] = {
        "text": probe.prompt,
        "sampling_params": _sampling(book, tokens, greedy=greedy, exact=exact),
    }
    if asks_logprobs(book, facts):
        body["return_logprob"] = True
    return Question(
        role=role,
        method="POST",
        path=book.endpoints["generate"][0],
        body=body,
        timeout=book.timeout["load" if role == "load" else "generate"],
        prompt=probe.prompt,
        expect=probe.expect,
        tokens=tokens,
        room=room(facts),
        greedy=greedy,
        label=_label(role, probe.prompt),
    )


def _sampling(book: Book, tokens: int, *, greedy: bool, exact: bool) -> Mapping[str, Any]:
    params: dict[str, Any] = {"max_new_tokens": tokens, "temperature": 0.0 if greedy else book.temperature}
    # Random weights end where they like; only a server told to go on can be held to the number of tokens.
    return params | ({"ignore_eos": True} if exact else {})


def _chat(probe: Probe, book: Book, facts: Facts) -> Question:
    body = {
        "model": facts.model or "default",
        "messages": [{"role": "user", "content": probe.prompt}],
        "max_tokens": book.tokens["chat"],
        "temperature": 0.0,
    }
    path = book.endpoints["chat"][0]
    timeout = book.timeout["generate"]
    tokens = book.tokens["chat"]
    label = _label("chat", probe.prompt)
    return Question("chat", "POST", path, body, timeout, probe.prompt, probe.expect, tokens, room(facts), label=label)


def asks_logprobs(book: Book, facts: Facts) -> bool:
    """Say whether log probabilities may be asked for: not where the version leaves them out under speculation."""
    if not facts.speculation:
        return True
    if facts.speculation in book.logprobs_never_with or facts.version is None:
        return False
    first = book.logprobs_with_speculation_from if facts.overlap else book.logprobs_without_overlap_from
    return version_key(facts.version) >= version_key(first)


def _label(role: Role, prompt: str) -> str:
    short = prompt if len(prompt) <= 60 else f"{prompt[:57]}..."
    return f'{role} "{short}"' if role != "long" else f"long prompt of {len(prompt)} characters"


def _paths(book: Book, role: str, version: str | None) -> tuple[str, ...]:
    paths = book.endpoints[role]
    fit = tuple(p for p in paths if _fit(book.since.get(p), version))
    return fit or paths[-1:]


def _fit(since: str | None, version: str | None) -> bool:
    if since is None:
        return True
    return version is not None and version_key(version) >= version_key(since)
