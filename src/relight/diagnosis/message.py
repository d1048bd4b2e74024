"""Changes that a failure's own message names: "use --flag value", "remove --flag", "set NAME=1"."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from relight.diagnosis.given import Given
from relight.diagnosis.steps import stepped
from relight.logs.marks import as_number
from relight.words.settings import FlagValue, Repair

_CLAUSE = re.compile(r"(?<=[.;!?])\s+|\n|,?\s+\bor\b\s+(?:alternatively\s+)?|,\s+but\s+|:\s+(?=\d\.)|\s\(?\d\)\s")
_FLAG = re.compile(
    r"(?<![\w-])[`'\"]?--(?P<flag>[a-z][a-z0-9]*(?:[-_][a-z0-9.]+)*)[`'\"]?"
    r"(?:(?:=|\s+(?:to\s+|=\s*|is\s+)?|\s*<)[`'\"]?(?P<value>-?[A-Za-z0-9][\w./+-]*|\{[^}]*\})[`'\"]?)?"
)
_ENV = re.compile(r"(?<![-\w])(?P<name>(?:[A-Z][A-Z0-9]*_)+[A-Z0-9]+)\s*(?:=|\s+to\s+)\s*[`'\"]?(?P<value>[\w./:+-]+)")
_DO = re.compile(
    r"(?<![\w-])(?:use|set|pass|add|specify|try|provide|enable|need|needs|requires?|required"
    r"|switch|consider|increase|decrease|reduce|lower|raise|must be|should be|either"
    r"|(?<!compatible )(?<!supported )(?<!used )(?<!combined )(?<!together )(?<!conflicts )with)\b",
    re.IGNORECASE,
)
_UNDO = re.compile(
    r"\b(?:remove|removing|drop|unset|disable|(?:do not|don't|never) (?!forget\b)[\w-]+|avoid|without"
    r"|cannot be used|can't be used|not (?:be )?(?:compatible|supported|allowed)|incompatible|mutually exclusive"
    r"|not .{0,20}(?:compatible|supported) with"
    r"|conflicts?|turn off|not support|instead of|unless|only supported|is only|only supports?)\b",
    re.IGNORECASE,
)
_GERUND = re.compile(r"\b(?:using|setting|passing|adding)\b", re.IGNORECASE)
_ADVISES = re.compile(r"\b(?:try|consider|by|or|via|recommend\w*|suggest\w*|instead)\s+$|^\W*$", re.IGNORECASE)
"""What stands before "using" or "setting" where it is advice, not what was done."""
_NEVER = re.compile(r"\b(?:do not|don't|never|avoid)\b", re.IGNORECASE)
_HELPS = re.compile(r"\b(?:help|fix|avoid|resolve|solve|work|prevent|instead)\w*\b", re.IGNORECASE)
_HAPPENED = re.compile(
    r"\b(?:fail\w*|crash\w*|errors?|happen\w*|occur\w*|seen|hangs?|hung|running|ran|started|launched|called|built)\b"
    r"(?:\s+[\w./'-]+){0,3}\s+with$",
    re.IGNORECASE,
)
"""What only tells with which settings it happened."""
_UNLESS = re.compile(r"\b(?:unless|except when|only (?:if|when)) (?:(?:you|the) )?(?:set|pass|enable|use)?\s*[`'\"]?$")
"""What stands before a flag or variable that would lift the refusal."""
_CASE = re.compile(
    r"\b(?:when(?:ever)?|while|if|where)\s+[`'\"]?$"
    r"|\b(?:when(?:ever)?|while|if|where)\s+(?:(?:you|one|we)\s+)?(?:are\s+)?(?:using|use|setting|set|passing|pass"
    r"|running with|combined with|enabling)\s+(?:the\s+)?[`'\"]?$",
    re.IGNORECASE,
)
"""What stands before a flag that only tells the case a clause is about."""
_WANTED = re.compile(
    r"[`'\"]?\s+(?:(?:is|are)\s+(?:also\s+)?(?:required|needed|mandatory)"
    r"|(?:must|has to|have to|needs to|should)\s+(?:also\s+)?be\s+(?:set|given|specified|provided|passed|enabled))\b",
    re.IGNORECASE,
)
"""What stands behind a flag that a message demands."""
_INFORMS = re.compile(
    r"\bfor (?:more |further )?(?:information|info|details?|debugging|traces?)\b|\bto (?:debug|see more)\b",
    re.IGNORECASE,
)
"""What such a clause asks for makes the engine say more, and mends nothing."""
_EXAMPLE = re.compile(r"\bFor example\b")
"""What a variable is set to after this fits another machine."""
_MORE = re.compile(r"\b(?:increas|rais|larger|higher|bigger|greater|more)\w*", re.IGNORECASE)
_LESS = re.compile(r"\b(?:decreas|reduc|lower|smaller|fewer|less)\w*", re.IGNORECASE)
_ALONE = re.compile(
    r"\b(?:[Uu]se|[Tt]ry|[Ss]et|[Pp]ass|[Ss]witch to|[Cc]onsider) (?:using )?[`'\"]?(?P<value>[a-z][\w-]*)[`'\"]?"
)
_WORDS = {
    "to", "and", "is", "are", "for", "with", "or", "if", "when", "in", "on", "at", "of", "the", "a", "an", "as", "by",
    "cannot", "can", "must", "should", "requires", "require", "instead", "only", "not", "does", "do", "has", "was",
    "flag", "option", "argument", "that", "which", "than", "from", "but", "will", "it", "this", "be", "may", "value",
    "larger", "smaller", "higher", "lower", "above", "below", "explicitly", "supports", "support", "backend", "yet",
    "set", "used", "greater", "less", "too", "because", "since", "while", "either", "both", "parameter", "parameters",
}  # fmt: skip


@dataclass(frozen=True)
class Mention:
    """A flag or variable in a message: with a value or bare, advised, or said to be in the way.

    `more` says that its number should grow, with False shrink.
    """

    name: str
    value: str | None
    env: bool
    advised: bool
    against: bool
    clause: int
    more: bool | None = None


def mentions(message: str) -> list[Mention]:
    """Return the flags and variables a message names, in order."""
    clauses = enumerate(_CLAUSE.split(message))
    example = _EXAMPLE.search(message)
    shown = {m["name"] for m in _ENV.finditer(message, example.start())} if example else set()
    return [
        m for i, clause in clauses if not _INFORMS.search(clause) for m in _in_clause(clause, i) if m.name not in shown
    ]


def named(message: str) -> frozenset[str]:
    """Return the flags that a message names."""
    return frozenset(m.name for m in mentions(message) if not m.env)


def _in_clause(clause: str, number: int) -> Iterator[Mention]:
    for match in _FLAG.finditer(clause):
        before = clause[: match.start()]
        value = match["value"]
        plain = None if value is None or value.lower().rstrip(".,;:") in _WORDS else value.rstrip(".,;:")
        flag = match["flag"].rstrip(".").replace("_", "-")
        wanted = _WANTED.match(clause, match.end("flag")) and not _CASE.search(before)
        mood = (True, False) if wanted else _mood(before, clause)
        plain = None if wanted else plain
        yield Mention(flag, plain, False, *mood, number, _way(before, clause[match.end() :]))
    for match in _ENV.finditer(clause):
        before = clause[: match.start()]
        # "disable it (NAME=0)": what stands in brackets says how, of what is asked for or spoken against.
        how = before.endswith("(")
        mood = (not (no := _NEVER.search(before)), bool(no)) if how else _mood(before, clause)
        yield Mention(match["name"], match["value"].rstrip(".,;)"), True, *mood, number)


def _mood(before: str, clause: str) -> tuple[bool, bool]:
    """Say whether the clause advises what follows `before`, and whether it speaks against it: the nearest verb."""
    if _UNLESS.search(before):
        return True, False
    if _CASE.search(before):
        return False, bool(_UNDO.search(clause))
    do = max(_asked(before, clause), default=-1)
    undo = max((m.end() for m in _UNDO.finditer(before)), default=-1)
    later = _UNDO.search(clause, len(before))
    return do > undo, undo >= do >= 0 or undo > do or (do < 0 and later is not None)


def _asked(before: str, clause: str) -> Iterator[int]:
    """Yield where words end that ask for what follows; those that only tell what was done do not."""
    yield from (m.end() for m in _DO.finditer(before) if not _HAPPENED.search(before, 0, m.end()))
    for match in _GERUND.finditer(before):
        said = before[: match.start()]
        if _ADVISES.search(said) and (said.strip() or _HELPS.search(clause, len(before))):
            yield match.end()


def _way(before: str, after: str) -> bool | None:
    """Say whether a clause asks for a larger number, with False for a smaller one: by the nearest word."""
    ends = {
        way: max((m.end() for m in regex.finditer(before)), default=-1)
        for way, regex in ((True, _MORE), (False, _LESS))
    }
    if max(ends.values()) >= 0:
        return ends[True] > ends[False]
    return True if _MORE.search(after) else (False if _LESS.search(after) else None)


def refused(message: str, given: Given) -> dict[str, set[str]]:
    """Return the values of flags that a message speaks against."""
    found: dict[str, set[str]] = {}
    for mention in mentions(message):
        name = None if mention.env else given.name(mention.name)
        if name and mention.against:
            flag = given.parser.resolve(name) if given.parser else None
            switch = mention.value is None or (flag is not None and not flag.takes_value)
            found.setdefault(name, set()).add(str(True) if switch else str(mention.value))
    return found


def message_repairs(message: str, given: Given) -> list[Repair]:
    """Return repairs that a message proposes, those that keep most first."""
    found = mentions(message)
    made = [*_instead(message, found, given), *_advised(found, given), *_removed(found, given)]
    return list({_key(r): r for r in made if r}.values())


def _advised(found: list[Mention], given: Given) -> Iterator[Repair]:
    """One repair for each clause that advises: what it names together belongs together."""
    for clause in dict.fromkeys(m.clause for m in found):
        wanted = [m for m in found if m.clause == clause and m.advised]
        named = ((m, given.name(m.name), _value(m, given)) for m in wanted if not m.env)
        flags = {n: v for m, n, v in named if n and v is not None and not _other_way(m, n, v, given)}
        env = {m.name: m.value for m in wanted if m.env and m.value is not None}
        fresh = {n: v for n, v in flags.items() if str(given.value(n)) != str(v)}
        if fresh or any(given.env.get(k) != v for k, v in env.items()):
            names = ", ".join([*(f"--{n}" for n in fresh), *env])
            yield Repair(set=fresh, set_env=env, why=f"the message asks for {names}", origin="message", cost=1)


def _other_way(mention: Mention, name: str, value: FlagValue, given: Given) -> bool:
    """Say whether a value that a message gives as an example lies the other way from the one in use."""
    now, wanted = given.number(name), as_number(value) if isinstance(value, str) else value
    if mention.more is None or now is None or isinstance(wanted, bool) or not isinstance(wanted, int | float):
        return False
    return wanted < now if mention.more else wanted > now


def _instead(message: str, found: list[Mention], given: Given) -> Iterator[Repair]:
    """One repair where the message speaks against a flag's value and then names another value alone."""
    last: Mention | None = None
    for number, clause in enumerate(_CLAUSE.split(message)):
        named = [m for m in found if m.clause == number and not m.env]
        last = next((m for m in reversed(named) if m.against and m.value), last if not named else None)
        word = _ALONE.search(clause) if last and not named else None
        flag = given.parser.resolve(last.name) if given.parser and last else None
        name = given.name(last.name) if last else None
        if word and name and (word["value"] in flag.choices if flag and flag.choices else "_" in word["value"]):
            why = f"the message asks for {word['value']}"
            yield Repair(set={name: word["value"]}, why=why, origin="message", cost=1)


def _value(mention: Mention, given: Given) -> FlagValue | None:
    """Return the value a mention gives; True for a switch; None where only a person could choose."""
    name = given.name(mention.name) or mention.name
    flag = given.parser.resolve(name) if given.parser else None
    if flag is None:
        return mention.value if mention.value is not None else True
    if not flag.takes_value:
        return True
    numeric = flag.type in {"int", "float"}
    if mention.value is None or (numeric and not re.fullmatch(r"-?[\d.]+", mention.value)):
        return stepped(name, given, more=mention.more) if numeric and mention.more is not None else None
    return None if flag.choices and mention.value not in flag.choices else mention.value


def _removed(found: list[Mention], given: Given) -> Iterator[Repair]:
    """One repair for each flag or variable of the command that the message speaks of: leaving it away."""
    against = sorted(found, key=lambda m: not m.against)
    for mention in against:
        written = None if mention.env else given.written(mention.name)
        if written and not mention.advised:
            yield Repair(unset=(written,), why=f"the message speaks of --{written}", origin="message", cost=2)
        elif mention.env and mention.against and given.env.get(mention.name) == mention.value:
            why = f"the message speaks against {mention.name}={mention.value}"
            yield Repair(unset_env=(mention.name,), why=why, origin="message", cost=2)


def _key(repair: Repair) -> tuple[object, ...]:
    variables = (tuple(sorted(repair.set_env.items())), repair.unset_env)
    return (tuple(sorted(repair.set.items(), key=str)), repair.unset, *variables)
