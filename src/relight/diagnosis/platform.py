"""What a log shows its server to run on."""

import re
from collections.abc import Sequence
from functools import lru_cache

from relight.diagnosis.candidates import Candidate
from relight.diagnosis.evidence import Evidence
from relight.diagnosis.given import Given
from relight.diagnosis.match import bounded
from relight.words.platform import Platform


def platform_of(root: Candidate, evidence: Evidence, given: Given, platforms: Sequence[Platform]) -> Platform | None:
    """Return the first platform that the device and the words of a log fit, None where none does."""
    device = str(given.value("device") or "").partition(":")[0].lower()
    if device:
        fit = [p for p in platforms if device in p.device]
        if len(fit) == 1:
            return fit[0]
        platforms = fit or platforms
    said = "\n".join(
        (bounded(root.text), *(root.block.places.split("\n") if root.block else ()), evidence.around(root.index))
    )
    return next((p for p in platforms if any(regex.search(said) for regex in _compiled(p.words))), None)


@lru_cache(maxsize=16)
def _compiled(patterns: tuple[str, ...]) -> tuple[re.Pattern[str], ...]:
    return tuple(re.compile(p) for p in patterns)
