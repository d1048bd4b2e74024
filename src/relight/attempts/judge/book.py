"""The built-in questions and what a sound answer looks like, from playbooks/ENGINE/judge.toml."""

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from relight.words.errors import UsageError
from relight.words.playbook import Probe

SECTIONS = (
    "chat", "common", "endings", "endpoints", "equal", "logprobs", "long", "plain", "ready", "sampled", "since", "soak",
    "thinking", "timeout", "tokens",
)  # fmt: skip
# Scripts whose words are not set apart by spaces: the common pieces are characters.
CHARACTER_SCRIPTS = ("han", "kana", "thai")
# Scripts whose common pieces are the ends of words.
ENDING_SCRIPTS = ("hangul",)


@dataclass(frozen=True)
class LongPrompt:
    """A prompt longer than one prefill chunk: `open`, numbered `filler`, `close`. Lengths are tokens."""

    chunk: int
    over: float
    chars_per_token: float
    most_tokens: int
    open: str
    close: str
    expect: str
    filler: tuple[str, ...]


@dataclass(frozen=True)
class Book:
    """Everything the judge knows about the engine and about language. Durations are seconds."""

    endpoints: Mapping[str, tuple[str, ...]]
    since: Mapping[str, str]
    tokens: Mapping[str, int]
    timeout: Mapping[str, float]
    ready: Mapping[str, float]
    soak: Mapping[str, int]
    logprobs_with_speculation_from: str
    logprobs_without_overlap_from: str
    overlap_env: str
    logprobs_never_with: tuple[str, ...]
    long: LongPrompt
    plain: tuple[Probe, ...]
    chat: tuple[Probe, ...]
    equal: Probe
    copies: int
    sampled: tuple[str, ...]
    temperature: float
    thinking: re.Pattern[str]
    common: Mapping[str, frozenset[str]]
    endings: tuple[str, ...]


def read_book(text: str, *, place: str = "judge.toml") -> Book:
    """Return the book that the TOML `text` holds; a UsageError names `place` and the key that is wrong."""
    try:
        data = tomllib.loads(text)
        _check_sections(data, place)
        return _book(data)
    except tomllib.TOMLDecodeError as exc:
        raise UsageError(str(exc), place=place, next="write it as TOML") from exc
    except KeyError as exc:
        raise UsageError(f"missing key {exc}", place=place, next="add it") from exc
    except re.error as exc:
        raise UsageError(f"not a regular expression: {exc}", place=place, next="mend it") from exc


def _check_sections(data: Mapping[str, Any], place: str) -> None:
    for key in data:
        if key not in SECTIONS:
            raise UsageError(f"unknown key '{key}'", place=place, next=f"known: {', '.join(SECTIONS)}")


def _book(data: Mapping[str, Any]) -> Book:
    return Book(
        endpoints={name: tuple(paths) for name, paths in data["endpoints"].items()},
        since=data["since"],
        tokens=data["tokens"],
        timeout=data["timeout"],
        ready=data["ready"],
        soak=data["soak"],
        logprobs_with_speculation_from=data["logprobs"]["speculation_from"],
        logprobs_without_overlap_from=data["logprobs"]["without_overlap_from"],
        overlap_env=data["logprobs"]["overlap_env"],
        logprobs_never_with=tuple(data["logprobs"]["never_with"]),
        long=_long(data["long"]),
        plain=_probes(data["plain"]),
        chat=_probes(data["chat"]),
        equal=_probes([data["equal"]])[0],
        copies=data["equal"]["copies"],
        sampled=tuple(data["sampled"]["prompts"]),
        temperature=data["sampled"]["temperature"],
        thinking=re.compile("|".join(f"(?:{_scoped(p)})" for p in data["thinking"]["patterns"])),
        common={script: _common(script, text) for script, text in data["common"].items()},
        endings=tuple(" ".join(data["endings"].values()).split()),
    )


def _scoped(pattern: str) -> str:
    # Flags may only stand at the very start of a pattern, so joined patterns carry theirs in a group.
    return f"(?i:{pattern[4:]})" if pattern.startswith("(?i)") else pattern


def _probes(items: Sequence[Mapping[str, Any]]) -> tuple[Probe, ...]:
    for item in items:
        re.compile(item["expect"])
    return tuple(Probe(item["prompt"], item["expect"]) for item in items)


def _long(data: Mapping[str, Any]) -> LongPrompt:
    re.compile(data["expect"])
    return LongPrompt(**{**data, "filler": tuple(data["filler"])})


def _common(script: str, text: str) -> frozenset[str]:
    return frozenset("".join(text.split()) if script in (*CHARACTER_SCRIPTS, *ENDING_SCRIPTS) else text.split())
