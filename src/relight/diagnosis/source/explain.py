"""Say in plain words which condition failed, on which flags, with which values."""

from relight.diagnosis.source.read import Reading
from relight.diagnosis.source.values import Values
from relight.words.diagnosis import Constraint
from relight.words.parser import HostParser


def constraint(reading: Reading, values: Values, parser: HostParser | None) -> Constraint:
    """Return the reading as a constraint: fields become flags of `parser`, values say where they came from."""
    return Constraint(reading.file, reading.line, reading.words or reading.why)
