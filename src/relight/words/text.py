"""Text that came from elsewhere, made fit to be shown: no control sequences, no secrets."""

import re
from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from typing import Any, TypeVar

T = TypeVar("T")

_SEQUENCE = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]"  # CSI: colours, cursor
    r"|(?:\x1b\]|\x9d)[^\x07\x1b\x80-\x9f]*(?:\x07|\x1b\\|\x9c)"  # OSC: titles, links, clipboard
    r"|(?:\x1b[PX^_]|[\x90\x98\x9e\x9f])[^\x1b\x80-\x9f]*(?:\x1b\\|\x9c)"  # DCS, SOS, PM, APC
    r"|\x1b[ -/]*[0-~]"
)
# What reorders or hides text: bidirectional controls, zero width, tags.
_INVISIBLE = "\u061c\u200b\u200e\u200f\u2060\ufeff" + "".join(
    map(chr, (*range(0x202A, 0x202F), *range(0x2066, 0x206A)))
)
_DROPPED: dict[int, str | None] = {
    **dict.fromkeys((*range(0x20), *range(0x7F, 0xA0))),
    **dict.fromkeys(map(ord, _INVISIBLE)),
    **dict.fromkeys(range(0xE0000, 0xE0080)),
    **dict.fromkeys(range(0xD800, 0xE000), "\ufffd"),
    **dict.fromkeys((0x0A, 0x0B, 0x0C, 0x0D, 0x85, 0x2028, 0x2029), " "),
    0x09: "\t",
}
_NAME = (
    r"(?:(?i:[\w-]*(?:api[-_]?key|passw(?:or)?d|secret|access[-_]?key|private[-_]?key|credentials?)"
    r"|[\w-]*(?:hf|hub|auth|access|api|bearer|github|wandb|refresh)[-_]token)|[A-Z0-9_]*_TOKEN)"
)
_GIVEN = re.compile(
    rf"(?P<name>(?<![\w-]){_NAME}(?:\\?['\"])?\s*[:=]\s*|(?<![\w-])--{_NAME}(?:\s+|['\"]\s*,\s*)(?!-))"
    r"(?P<quote>\\\"|'|\"|)(?P<value>(?<=')[^']+|(?<=\")[^\"\\]+|[^\s,;'\")}\]\\]+)"
)
_SHAPED = re.compile(
    r"\bhf_[A-Za-z0-9]{16,}|\bsk-[A-Za-z0-9_-]{16,}|\bgh[pousr]_[A-Za-z0-9]{20,}|\bAKIA[A-Z0-9]{16}\b"
    r"|(?<=Bearer )[\w.~+/=-]{8,}|(?<=://)[^/\s:@]+:[^/\s@]+(?=@)"
)
_HIDDEN = "***"
_NOTHING = {"None", "null", "none", "True", "False", "true", "false", _HIDDEN}


def plain(text: str) -> str:
    """Return `text` as one line that no terminal acts on.

    ANSI sequences, control characters (tabs stay) and what reorders or hides text are dropped; line ends become
    spaces.
    """
    return _SEQUENCE.sub("", text).translate(_DROPPED)


def redacted(text: str) -> str:
    """Return `text` with values that are named or shaped like secrets replaced by ***."""
    return _SHAPED.sub(_HIDDEN, _GIVEN.sub(_hide, text))


def blackened(text: str) -> str:
    """Return `text` with values that are named or shaped like secrets replaced by as many stars: nothing moves."""
    return _SHAPED.sub(lambda match: "*" * len(match[0]), _GIVEN.sub(_blacken, text))


def _blacken(match: re.Match[str]) -> str:
    hidden = _hide(match)
    return hidden if hidden == match[0] else match[0][: -len(match["value"])] + "*" * len(match["value"])


def _hide(match: re.Match[str]) -> str:
    # env:NAME and file:PATH say where a secret is, as hosts.toml does.
    named = match["value"].startswith(("env:", "file:"))
    return match[0] if named or match["value"] in _NOTHING else f"{match['name']}{match['quote']}{_HIDDEN}"


def names_a_secret(name: str) -> bool:
    """Say whether the value of a flag, variable or field of this name is to be hidden."""
    return re.fullmatch(_NAME, name) is not None


def shown(value: T) -> T:
    """Return a word, or what words are made of, with every string in it plain and redacted.

    Mappings keep their order; the value of a key that names a secret becomes ***.
    """
    result: Any = value
    if isinstance(value, str):
        result = redacted(plain(value))
    elif isinstance(value, Mapping):
        result = {shown(k): _entry(k, v) for k, v in value.items()}
    elif isinstance(value, tuple | list):
        result = type(value)(_word(v, before) for v, before in zip(value, ("", *value), strict=False))
    elif is_dataclass(value) and not isinstance(value, type):
        result = replace(value, **{f.name: shown(getattr(value, f.name)) for f in fields(value) if f.init})
    return result  # type: ignore[no-any-return]


def _word(value: Any, before: Any) -> Any:
    """Show one word of a list; on a command line it may be the secret that the word before announces."""
    announced = isinstance(before, str) and before.startswith("--") and names_a_secret(before[2:])
    return _HIDDEN if announced and isinstance(value, str) else shown(value)


def _entry(key: Any, value: Any) -> Any:
    hidden = isinstance(key, str) and isinstance(value, str) and value and names_a_secret(key)
    return _HIDDEN if hidden else shown(value)
