"""A value that is never shown."""

from dataclasses import dataclass


@dataclass(frozen=True, repr=False)
class Secret:
    """Hold a secret; only `reveal` gives it back, and only hosts/ calls that."""

    _value: str

    def reveal(self) -> str:
        """Return the plain value."""
        return self._value

    def __str__(self) -> str:
        return "***"

    __repr__ = __str__

    def __format__(self, spec: str) -> str:
        return "***"
