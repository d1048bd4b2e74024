"""Names that were probably meant."""

from collections.abc import Iterable
from difflib import get_close_matches


def near(name: str, known: Iterable[str], *, limit: int = 3) -> tuple[str, ...]:
    """Return up to `limit` of `known` that look like `name`, best first; () where nothing comes close."""
    return tuple(get_close_matches(name, sorted(known), n=limit, cutoff=0.6))


def meant(name: str, known: Iterable[str]) -> str:
    """Return `did you mean 'x'?` (or 'x' or 'y'), or "" where nothing comes close."""
    found = [f"'{other}'" for other in near(name, known)]
    return f"did you mean {' or '.join(found)}?" if found else ""
