"""A simulated machine with eight cards, for the demo and for tests. It is a stand-in and says so everywhere."""

from relight.lab.lab import Lab, lab_host, open, platform_problem  # noqa: A004  read as lab.open

__all__ = ["Lab", "lab_host", "open", "platform_problem"]
