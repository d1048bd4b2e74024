"""Durations as people write them: 90s, 45m, 8h, 1h30m."""

import re

_PARTS = re.compile(r"(?:(\d+)d)?(?:(\d+)h)?(?:(\d+)m)?(?:(\d+(?:\.\d+)?)s)?")
ALLOWED = "a duration such as 90s, 45m, 8h or 1h30m"


def parse_duration(text: str) -> float:
    """Return the seconds that `text` means. ValueError where it is not a duration."""
    match = _PARTS.fullmatch(text.strip())
    if not match or not any(match.groups()):
        raise ValueError(f"{text!r} is not {ALLOWED}")
    days, hours, minutes, seconds = (float(part or 0) for part in match.groups())
    return days * 86400 + hours * 3600 + minutes * 60 + seconds


def show_duration(seconds: float) -> str:
    """Return `seconds` in the form the files use: 5400 -> "1h30m"."""
    whole = round(seconds)
    parts = [(whole // 3600, "h"), (whole % 3600 // 60, "m"), (whole % 60, "s")]
    return "".join(f"{n}{unit}" for n, unit in parts if n) or "0s"
