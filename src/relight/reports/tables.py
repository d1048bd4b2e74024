"""Tables of a report: levers, what is in effect, the environment."""

import re
from collections.abc import Mapping
from typing import Any

from relight.reports.blocks import Block, Code, Pairs, Para, Prose, Table, Tone, words
from relight.reports.prose import count, prose, value
from relight.reports.steps import variant
from relight.reports.verdict import last_launch
from relight.reports.world import facts, lever_variants
from relight.words.attempt import Attempt, LeverState, Record

_WHAT = "A lever is something the playbook wants to keep; its variants are the forms it may have, best first."
_SILENT = "Whether the engine took them is not known: it ended before it said what it runs with."


def levers_blocks(record: Record) -> tuple[Block, ...]:
    """Return what was wanted and what was kept, and what a lever is; () where the playbook has none."""
    table = levers_table(record)
    if table is None:
        return ()
    last = last_launch(record)
    silent = record.final is None and last is not None and last.launched and last.outcome and not last.effective
    return (Para((_WHAT,)), table, *([Para((_SILENT,))] if silent else []))


def levers_table(record: Record) -> Table | None:
    """Return what was wanted and what was kept; None where the playbook has no lever."""
    levers = record.final.levers if record.final else _from_attempts(record)
    if not levers:
        return None
    rows = tuple(
        (
            (lever.name,),
            _variant(record, lever.name, lever.requested),
            _kept(record, lever),
            (_effect(record, lever),),
            _changed(lever),
        )
        for lever in levers
    )
    tones: tuple[Tone, ...] = tuple(_lever_tone(lever) for lever in levers)
    kept, effect = ("kept", "in effect") if record.final else ("last tried", "taken by the engine")
    heads = ("lever", "asked for", kept, effect, "changed")
    return without_empty_columns(Table("Levers: what was wanted, what is left", heads, rows, tones))


def _variant(record: Record, name: str, position: int | None) -> Prose:
    """Return a variant by what it sets, else by its number."""
    names = lever_variants(record, name)
    if position is None or not 0 < position <= len(names):
        return (variant(position),)
    return (f"{position}: ", Code(names[position - 1]))


def _kept(record: Record, lever: LeverState) -> Prose:
    """Return the variant that is left; what is as asked says so, that the others stand out."""
    if lever.kept is not None and lever.kept == lever.requested:
        return ("as asked",)
    return _variant(record, lever.name, lever.kept)


def without_empty_columns(table: Table) -> Table:
    """Leave out the columns that tell nothing in any row."""
    kept = [i for i in range(len(table.heads)) if {words(row[i]) for row in table.rows} - {"-", "not known", ""}]
    rows = tuple(tuple(row[i] for i in kept) for row in table.rows)
    return Table(table.caption, tuple(table.heads[i] for i in kept), rows, table.tones)


def _from_attempts(record: Record) -> tuple[LeverState, ...]:
    last = last_launch(record)
    if last is None:
        return ()
    asked = record.attempts[0].choice
    return tuple(
        LeverState(name, asked.get(name), last.choice.get(name)) for name in dict.fromkeys((*asked, *last.choice))
    )


def _effect(record: Record, lever: LeverState) -> str:
    if lever.kept is None:
        return "-"
    if lever.in_effect is None:
        return _taken_of(record, lever)
    return "yes" if lever.in_effect else "no"


def _taken_of(record: Record, lever: LeverState) -> str:
    """Return whether the last launch took the first flag of a lever's variant, by what it printed."""
    names, last = lever_variants(record, lever.name), last_launch(record)
    if last is None or not last.effective or lever.kept is None or not 0 < lever.kept <= len(names):
        return "not known"
    flag = re.split(r"[ =]", names[lever.kept - 1].removeprefix("--"), maxsplit=1)[0]
    held = _resolved(record).get(_field(flag))
    if flag not in last.settings.flags or held is None:
        return "not known"
    return "yes" if took(last, flag) else f"as {value(held)}"


def took(attempt: Attempt, flag: str) -> bool:
    """Say whether the engine said of a flag that was given that it has the value it was given."""
    held = {_field(name): v for name, v in attempt.effective.items()}
    given = attempt.settings.flags.get(flag)
    return _field(flag) in held and _alike(given, held[_field(flag)])


def _changed(lever: LeverState) -> Prose:
    return prose(", ".join(f"`{c}`" for c in lever.changed)) or ("-",)


def _lever_tone(lever: LeverState) -> Tone:
    if lever.requested is None:
        return "plain"
    if lever.kept is None or lever.in_effect is False:
        return "bad"
    return "good" if lever.kept == lever.requested and not lever.changed else "warn"


def effective_blocks(record: Record) -> tuple[Block, ...]:
    """Return where the engine resolved something else than was given; () where it did not say what it resolved."""
    attempt = last_launch(record)
    resolved = _resolved(record)
    if attempt is None or not resolved:
        return ()
    given = {name: v for name, v in attempt.settings.flags.items() if _field(name) in resolved}
    differ = {n: v for n, v in given.items() if not _alike(v, resolved[_field(n)])}
    rows = [((Code(f"--{n}"),), (value(v),), (value(resolved[_field(n)]),)) for n, v in differ.items()]
    rows += [((Code(f"--{n}"),), ("not given",), (value(resolved[_field(n)]),)) for n in _dropped(record, resolved)]
    same = len(given) - len(differ)
    # A process that ended only said what it took; what a live one says is in effect.
    held = f"{count(same, 'flag is', 'flags are')} in effect" if record.final else _taken(same)
    said = f"{held} as given."
    table = Table("Where they differ", ("flag", "given", "in effect"), tuple(rows))
    return (Para((said,)), table) if rows else (Para((said,)),)


def _taken(many: int) -> str:
    return f"{count(many, 'flag was', 'flags were')} taken by the engine"


def _resolved(record: Record) -> Mapping[str, Any]:
    if record.final and record.final.effective:
        held = record.final.effective
    else:
        attempt = last_launch(record)
        held = attempt.effective if attempt else {}
    return {_field(name): v for name, v in held.items()}


def _dropped(record: Record, resolved: Mapping[str, Any]) -> list[str]:
    """Return flags that some attempt gave and the last one did not."""
    last = last_launch(record)
    now = {_field(n) for n in last.settings.flags} if last else set()
    seen = dict.fromkeys(name for attempt in record.attempts for name in attempt.settings.flags)
    return [n for n in seen if _field(n) not in now and resolved.get(_field(n)) not in (None, False)]


def _field(name: str) -> str:
    return name.replace("-", "_")


def _alike(given: Any, resolved: Any) -> bool:
    if given == resolved or str(given) == str(resolved):
        return True
    if isinstance(given, list | tuple) and isinstance(resolved, list | tuple):
        return [str(g) for g in given] == [str(r) for r in resolved]
    try:
        return float(given) == float(resolved)
    except (TypeError, ValueError):
        return False


def environment_block(record: Record) -> Pairs | None:
    """Return what the run ran on."""
    engine = [("engine", f"{record.engine.name} {record.engine.version}")] if record.engine.version else []
    rows = tuple((name, (held,)) for name, held in (*engine, *facts(record)))
    return Pairs(rows) if rows else None
