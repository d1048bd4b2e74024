"""What graphs that are still to be captured will ask for, from the bar of the capture."""

from collections.abc import Mapping
from typing import Any

from relight.logs.progress import Progress

LEAST, OF_ASKED = 0.03, 0.004
"""GiB that a later size takes at least, and what of the first: all share the pool that the first one takes."""
SERVING = 1.5
"""GiB that must stay free after capture, for what requests allocate."""


def to_come(progress: Progress, asked: float | None) -> tuple[float, str] | None:
    """Return the GiB that the sizes after the failing one will ask for, with words for it.

    Sizes are captured largest first. The first also pays for what all share, so nothing is concluded from it alone;
    from the second on each asks for memory in proportion to its size, as the one that failed did.
    """
    bar = _newest(progress, "tqdm_capture")
    done, total = bar.get("i"), bar.get("n")
    if asked is None or not isinstance(done, int) or not isinstance(total, int) or not 0 < done < total:
        return None
    left = _left(_sizes(progress, total), done, total)
    more = asked * sum(left[1:]) / left[0]
    if not left[1:]:
        return None
    sizes = f"{done} of {total} sizes were captured and the {len(left) - 1} after this one"
    return more, f"; {sizes} need some {more:.1f} GiB in proportion"


def reserve(progress: Progress, asked: float | None) -> float:
    """Return the GiB that should be free beyond what is proved: for further sizes, and to serve with after them."""
    bar = _newest(progress, "tqdm_capture")
    done, total = int(bar.get("i", 0)), int(bar.get("n", len(_listed(progress))))
    each = max(LEAST, OF_ASKED * (asked or 0.0))
    return round(max(total - done - 1, 0) * each + SERVING, 2)


def of_prefill(progress: Progress) -> bool:
    """Say whether the graphs that were captured last are those of prefill."""
    return "prefill" in (_newest(progress, "tqdm_capture") or _newest(progress, "graph_begin"))


def _newest(progress: Progress, mark: str) -> Mapping[str, Any]:
    found = progress.facts.get(mark, {})
    return next(reversed(found.values()), {})


def _sizes(progress: Progress, total: int) -> list[int]:
    """Return the sizes to capture, largest first; [] where the log does not list as many as the bar counts."""
    found = _listed(progress)
    return found if len(found) == total else []


def _listed(progress: Progress) -> list[int]:
    text = str(_newest(progress, "graph_sizes").get("list", ""))
    return sorted((int(n) for n in text.replace(",", " ").split() if n.isdigit()), reverse=True)


def _left(sizes: list[int], done: int, total: int) -> list[int]:
    """Return the sizes not yet captured; where they are not known, as if they grew evenly from one on."""
    return sizes[done:] or list(range(total - done, 0, -1))
