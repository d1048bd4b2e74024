"""The table of options: everything that could be changed, and what became of it; what fared alike in one row."""

import re
from collections.abc import Mapping, Sequence

from relight.reports.blocks import Block, Para, Prose, Table, Tone
from relight.reports.prose import count, prose, sentence
from relight.reports.tables import without_empty_columns
from relight.reports.world import with_variants
from relight.words.attempt import Option, OptionStatus, Record, State

_ORDER: tuple[OptionStatus, ...] = ("untried", "tried", "rejected", "excluded", "protected")
_UNTRIED: Mapping[State, str] = {
    "healthy": "not needed",
    "budget": "the launches or the time ran out first",
    "person": "no setting mends this failure",
    "failed": "`deploy` launches once; `retry` would go on",
}
_STOPPED = "the run stopped first"
_OF_A_LEVER = re.compile(r"[^-`][\w.-]*: (?:off|variant \d+)|.*`")
_FLAG = re.compile(r"(?<![\w-])--[a-z][\w-]*")
_PROPOSED = re.compile(r"^(proposed for attempt \d+):.*", re.DOTALL)
_REFUSED = re.compile(r"refused by (?:(?:parse|validate)(?:, )?)+")
_TONES: Mapping[OptionStatus, Tone] = {"untried": "warn"}


def options_blocks(record: Record) -> tuple[Block, ...]:
    """Return the proof that nothing was forgotten: every option and what became of it."""
    if not record.options:
        return ()
    groups: dict[tuple[OptionStatus, str], list[Option]] = {}
    for option in sorted(record.options, key=lambda o: _ORDER.index(o.status)):
        groups.setdefault((option.status, _why(option)), []).append(option)
    rows = tuple(_row(status, why, options, record) for (status, why), options in groups.items())
    tones = tuple(_TONES.get(status, "plain") for status, _ in groups)
    table = Table("Every option there was", ("option", "became", "why"), rows, tones)
    return (Para(prose(_counted(record))), without_empty_columns(table))


def _why(option: Option) -> str:
    """Return why an option became what it is; the reason for a repair stands with the attempt it was proposed for."""
    return _PROPOSED.sub(r"\1", option.why) if option.status == "untried" else option.why


def _row(status: OptionStatus, why: str, options: Sequence[Option], record: Record) -> tuple[Prose, ...]:
    names = list(dict.fromkeys(with_variants(record, option.change.replace(", unset ", ", ")) for option in options))
    named = [name if _OF_A_LEVER.match(name) else f"`{name}`" for name in names]
    bare = all(name.startswith("--") and " " not in name for name in names)
    said = sentence(_coded(why) or (_untried(record.state) if status == "untried" else ""))
    return prose((", " if bare else "\n").join(named)), (status,), said or ("-",)


def _coded(why: str) -> str:
    """Return a reason with the flags in it as code, and who refused in plain words."""
    why = _REFUSED.sub("refused before launch", why)
    return why if "`" in why else _FLAG.sub(r"`\g<0>`", why)


def _untried(state: State) -> str:
    return _UNTRIED.get(state, _STOPPED)


def _counted(record: Record) -> str:
    """Say how many options fared how, and what that means in this run."""
    found = {status: sum(o.status == status for o in record.options) for status in _ORDER}
    untried = f" ({_untried(record.state)})"
    parts = [f"{n} {status}{untried if status == 'untried' else ''}" for status, n in found.items() if n]
    return f"{count(len(record.options), 'way', 'ways')} to change the settings{_held(record)}: {', '.join(parts)}."


def _held(record: Record) -> str:
    """Say which settings the options were held against."""
    if record.state == "exhausted" or not record.attempts:
        return ""
    return f", seen from the {'healthy' if record.final else 'last'} settings"
