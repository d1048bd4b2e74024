"""Times as records hold them (RFC 3339 UTC), and as people read them."""

import calendar
import re

_STAMP = re.compile(
    r"(\d{4})-(\d\d)-(\d\d)[Tt ](\d\d):(\d\d):(\d\d)(\.\d+)?\s*([Zz]|[+-]\d\d:\d\d)?",
)


def seconds(stamp: str | None) -> float | None:
    """Return seconds since 1970 of an RFC 3339 time, None where there is none."""
    match = _STAMP.match(stamp or "")
    if not match:
        return None
    year, month, day, hour, minute, second = (int(g) for g in match.groups()[:6])
    whole = calendar.timegm((year, month, day, hour, minute, second))
    return whole + float(match[7] or 0) - _offset(match[8])


def _offset(zone: str | None) -> int:
    if not zone or zone in "Zz":
        return 0
    size = int(zone[1:3]) * 3600 + int(zone[4:6]) * 60
    return size if zone[0] == "+" else -size


def between(start: str | None, end: str | None) -> float | None:
    """Return the seconds from `start` to `end`, not below 0; None where one is missing."""
    first, last = seconds(start), seconds(end)
    return None if first is None or last is None else max(0.0, last - first)


def span(length: float | None) -> str:
    """Return a length as people say it: 0.4 s, 9 s, 6 min 12 s, 1 h 05 min; empty for None."""
    if length is None:
        return ""
    if length < 9.95:
        return f"{length:.1f}".removesuffix(".0") + " s"
    whole = round(length)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02} s" if whole % 60 else f"{whole // 60} min"
    return f"{whole // 3600} h {whole % 3600 // 60:02} min"


def short(length: float | None) -> str:
    """Return a length for a narrow column: 0.4s, 9s, 12s, 5m, 6m12s, 1h05m; empty for None."""
    if length is None:
        return ""
    if length < 9.95:
        return f"{length:.1f}".removesuffix(".0") + "s"
    whole = round(length)
    if whole < 60:
        return f"{whole}s"
    if whole % 60 == 0 and whole < 3600:
        return f"{whole // 60}m"
    return f"{whole // 60}m{whole % 60:02}s" if whole < 3600 else f"{whole // 3600}h{whole % 3600 // 60:02}m"


def moment(stamp: str | None) -> str:
    """Return a time to the minute: 2026-11-29 08:15 UTC; empty where there is none."""
    match = _STAMP.match(stamp or "")
    return f"{match[1]}-{match[2]}-{match[3]} {match[4]}:{match[5]} UTC" if match else ""


def clock(stamp: str | None) -> str:
    """Return the time of day: 08:15:02; empty where there is none."""
    match = _STAMP.match(stamp or "")
    return f"{match[4]}:{match[5]}:{match[6]}" if match else ""
