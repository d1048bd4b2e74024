"""Doubles for tests: a host that plays a script, and a clock that moves when somebody sleeps."""

from relight.testing.clock import ManualClock
from relight.testing.host import Act, ScriptedHost, TooManyQuestionsError, refuse

__all__ = ["Act", "ManualClock", "ScriptedHost", "TooManyQuestionsError", "refuse"]
