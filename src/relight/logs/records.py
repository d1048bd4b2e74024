"""Lines into records: what stands before the message is taken off and understood."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from relight.logs.lines import Line

_ISO = r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d+)?(?: ?(?:Z|UTC|[+-]\d\d:?\d\d))?"
_WRAPPERS = tuple(
    re.compile(text)
    for text in (
        rf"(?P<time>{_ISO})[ \t](?:stdout|stderr) [FP] ",  # Kubernetes (CRI)
        r"\[pod/[^\]]+\] ?",
        r"(?:[|\u2502\u2503]\s?)+(?=\S)",  # tables and boxes
        r"\[(?P<time2>\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)\] \[[^\]]+@<[\d,]+>\]: ",  # mpirun
        rf"(?P<time>{_ISO}) \| ",
        r"(?P<time>[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d(?:\.\d+)?) [\w.-]+ [\w./@-]+(?:\[\d+\])?: ",  # journald, syslog
        rf"(?P<time>{_ISO}) [\w.-]+ [\w./@-]+\[\d+\]: ",
        r"(?P<time>[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d) ",  # ts
        rf"\d{{10,19}}[ \t,]+(?={_ISO})",  # exports of log stores
        rf"(?P<time>{_ISO}) - (?P<level>[A-Z]+) - \S+ - (?:[\w.]+: )?",
        rf"(?P<time>{_ISO}) - [\w.]+ - (?P<level>[A-Z]+) - ",
        rf"(?P<time>{_ISO})\t",
        rf"(?P<time>{_ISO}) ?",  # docker --timestamps, CI
        r"(?=[\w.-]*[A-Za-z])[\w.-]+ *\| ",  # docker compose
        r"\((?P<writer>(?:[\w.:=-]+ )?(?:pid|ip)=[^)]*)\) ?",  # Ray, vLLM
        r"(?P<level>DEBUG|INFO|WARNING|ERROR|CRITICAL) (?P<time>\d\d-\d\d \d\d:\d\d:\d\d) \[?[\w./-]+:\d+\] ?",
        r"\[(?P<torch>rank ?\d+)\]: ?",
        r"\[(?P<torch>default\d+)\]:(?!\[)",
        r"\[\d+,\d+\]<std(?:out|err)>: ?",  # mpirun --tag-output
        rf"(?P<level>DEBUG|INFO|WARNING|ERROR|CRITICAL) (?P<time>{_ISO}) ",  # cloud log viewers
        r"\[?(?P<time>\d\d:\d\d:\d\d(?:[.,]\d+)?)\]? +(?=\S)",
        r"(?P<torch>[TPDE]P\d+): (?=[\w.]*[A-Z]\w*(?:Error|Exception)\b)",  # a rank named by hand
        r"> (?=\s*\S)",  # quoted in a mail or an issue
        r"(?:[-*\u2022>`\"']+ ?|E {2,})(?=(?:[\w.]*[A-Z]\w*(?:Error|Exception): |Traceback ))",  # lists, quotes, pytest
    )
)
_PREFIX = re.compile(
    r"\[(?P<time>\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d{3})?)(?P<rank>(?: [\w.]+)*)\] "
    r"(?:(?P<level>DEBUG|INFO|WARNING|ERROR|CRITICAL):?\s+(?:[\w.]+:\d+: )?)?"
)
_LOGGER = re.compile(r"(?P<level>DEBUG|INFO|WARNING|ERROR|CRITICAL):(?:\s+|[\w.]+:)")
_GLOG = re.compile(r"(?P<level>[IWEF])(?:\d{4}|\d{8}) (?P<time>\d\d:\d\d:\d\d\.\d+) +\d+ (?=[\w.+-]+:\d+\] )")
_LETTERS = {"I": "INFO", "W": "WARNING", "E": "ERROR", "F": "CRITICAL"}
_RANK = re.compile(r"^(?:DP|PP|TP|EP|ATTN_CP|MOE_DP)\d+$")


@dataclass(frozen=True, slots=True)
class Record:
    """A line understood: when, which rank, which writer, and the message.

    `fresh` says that a prefix of the engine stood there, so this line begins a record; the lines of a traceback
    carry none. `rank` holds the tokens as printed ("TP3 EP3"); None where the line does not say.
    """

    line: Line
    body: str
    time: str | None = None
    rank: str | None = None
    level: str | None = None
    writer: str | None = None
    fresh: bool = False

    @property
    def number(self) -> int:
        """Return the line's number, from 1."""
        return self.line.number


def records(lines: Iterable[Line]) -> Iterator[Record]:
    """Yield a record for each line, in order."""
    return map(record, lines)


def record(line: Line) -> Record:
    """Understand one line."""
    text = _last_state(line.text)
    if not text.strip():
        return Record(line, text)
    match = _PREFIX.match(text)
    if match and not text.startswith("[", match.end()):  # no wrapper begins like this but one of mpirun
        return _prefixed(line, text, match, {})
    text, found = _unwrapped(text)
    match = _PREFIX.search(text)
    if match and (match.start() == 0 or _is_bar(text[: match.start()])):
        return _prefixed(line, text, match, found)
    native = _GLOG.match(text)
    if native:
        found = {"time": native["time"], **found, "level": _LETTERS[native["level"]]}
    logger = _LOGGER.match(text)
    if logger:
        found["level"] = logger["level"]
        text = text[logger.end() :]
    return Record(line, text, found.get("time"), found.get("torch"), found.get("level"), found.get("writer"))


def _prefixed(line: Line, text: str, match: re.Match[str], found: dict[str, str]) -> Record:
    tokens = [token for token in match["rank"].split() if _RANK.match(token)]
    return Record(
        line,
        text[match.end() :],
        match["time"],
        " ".join(tokens) or found.get("torch"),
        match["level"] or found.get("level"),
        found.get("writer"),
        fresh=True,
    )


def _last_state(text: str) -> str:
    """Return what stands after the last carriage return that something follows."""
    if "\r" not in text:
        return text
    return next((part for part in reversed(text.split("\r")) if part.strip()), "")


def _unwrapped(text: str) -> tuple[str, dict[str, str]]:
    found: dict[str, str] = {}
    for _ in range(4):
        match = next((m for m in (pattern.match(text) for pattern in _WRAPPERS) if m), None)
        if match is None:
            break
        found = {**{k: v for k, v in match.groupdict().items() if v}, **found}
        text = text[match.end() :]
    return text, found


def _is_bar(text: str) -> bool:
    return "%|" in text or "it/s" in text or "s/it" in text or not text.strip()
