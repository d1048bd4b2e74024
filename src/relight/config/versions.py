"""Ranges of engine versions as playbooks and signatures write them: ">=0.5.5, <0.5.20"."""

from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.version import InvalidVersion, Version


def parse_range(text: str) -> SpecifierSet:
    """Return the range that `text` means; "" is every version. ValueError where it is none."""
    try:
        return SpecifierSet(text)
    except InvalidSpecifier:
        raise ValueError(f"{text!r} is not a range of versions, as in >=0.5.5 or >=0.5.5,<0.5.20") from None


def fits(version: str | None, text: str) -> bool:
    """Say whether `text` allows `version`. A version that is unknown or no release fits every range."""
    if not text or version is None:
        return True
    try:
        found = Version(version)
    except InvalidVersion:
        return True
    if found.is_prerelease or found.local:
        return True
    return found in SpecifierSet(text, prereleases=True)
