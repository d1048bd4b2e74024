"""What to do next, decided from what is known. Pure: values in, values out."""

from relight.planning.plan import next_step, next_win
from relight.planning.world import World

__all__ = ["World", "next_step", "next_win"]
