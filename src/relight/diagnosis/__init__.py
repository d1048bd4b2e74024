"""Records to one diagnosis: signatures, tracebacks, root against cascade, source reading, memory sums."""

from relight.diagnosis.diagnose import diagnose
from relight.diagnosis.ending import Ended

__all__ = ["Ended", "diagnose"]
