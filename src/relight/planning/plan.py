"""The next step of a run, as a pure function of its record."""

from relight.planning.world import World
from relight.words.attempt import Record
from relight.words.playbook import Playbook
from relight.words.step import Plan


def next_step(record: Record, playbook: Playbook, world: World) -> Plan:
    """Return what to do next: Launch, Ask, Reject, Wait, Clean, Person, Exhausted or Spent.

    Raise UsageError for a flag that no version of the engine knows, before anything was launched.
    """
    raise NotImplementedError
