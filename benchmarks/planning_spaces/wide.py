"""A wide space: many levers and many nogoods, to time one step."""

from time import process_time

from relight.planning.plan import next_step
from relight.planning.world import World
from relight.words.attempt import Nogood, Record, Term
from relight.words.parser import HostParser, ParserFlag
from relight.words.playbook import Lever, Playbook, Variant

FLAGS = 14
NOGOODS = 40


def widest_step() -> float:
    """Return the CPU seconds of the slowest of ten first steps with 14 flags under 40 nogoods.

    Each is measured three times and its least counts: what other programs do to the caches is not ours.
    """
    return max(min(_timed(shift) for _ in range(3)) for shift in range(10))


def _timed(shift: int) -> float:
    levers = tuple(_lever(i) for i in range(FLAGS))
    parser = HostParser(tuple(ParserFlag((lever.name,), lever.name) for lever in levers))
    learned = tuple(_nogood(i + shift) for i in range(NOGOODS))
    book = Playbook("wide", levers=levers)
    world = World(parser=parser, learned=learned)
    began = process_time()
    next_step(Record("r", "f", "p", "h", ("h",)), book, world)
    return process_time() - began


def _lever(index: int) -> Lever:
    values = [Variant({f"flag{index}": f"v{j}"}) for j in range(3)]
    return Lever(f"flag{index}", (*values, Variant(off=True)), 1.0 + index % 3)


def _nogood(number: int) -> Nogood:
    """Return a pair of values that exclude each other; the first ones hold what is wanted most."""
    a, b = number % FLAGS, (number * 5 + 3) % FLAGS
    value = f"v{number // FLAGS % 3}"
    terms = (Term(f"flag{a}", "=", (value,)), Term(f"flag{b}", "=", ("v0",)))
    return Nogood("", "", "args.conflict", 0.9, number % 2 == 0, terms)
