"""Records to one diagnosis: signatures, tracebacks, root against cascade, source reading, memory sums."""

from relight.diagnosis.diagnose import Ended, diagnose

__all__ = ["Ended", "diagnose"]
