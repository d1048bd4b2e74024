"""Ranges of engine versions as playbooks and signatures write them: ">=0.5.5, <0.5.20"."""

from packaging.specifiers import InvalidSpecifier, SpecifierSet


def parse_range(text: str) -> SpecifierSet:
    """Return the range that `text` means; "" is every version. ValueError where it is none."""
    try:
        return SpecifierSet(text)
    except InvalidSpecifier:
        raise ValueError(f"{text!r} is not a range of versions, as in >=0.5.5 or >=0.5.5,<0.5.20") from None
