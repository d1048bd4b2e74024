"""A port that is taken: only a flag that holds it is to blame, and few others are tried in its place."""

from dataclasses import replace

from relight.words.diagnosis import Diagnosis
from relight.words.knowledge import Knowledge
from relight.words.parser import ParserFlag
from relight.words.settings import Repair
from relight.words.signature import Signature
from relight.words.step import Candidate, Exhausted
from tests.planning.situations import (
    KNOWLEDGE,
    PARSER,
    WORLD,
    cause,
    diagnosis,
    lever,
    playbook,
    played,
    variant,
)

KIND = "comm.port_in_use"
BLAMES = ("nccl-port", "dist-init-addr", "port")
SIGNATURE = Signature("port-taken", "A port is taken", KIND, blames=BLAMES)
KNOWN: Knowledge = replace(KNOWLEDGE, signatures=(SIGNATURE,))
FLAGS = (ParserFlag(("nccl-port",), "nccl_port", "int"), ParserFlag(("dist-init-addr",), "dist_init_addr"))
HERE = replace(WORLD, parser=replace(PARSER, flags=(*PARSER.flags, *FLAGS)), knowledge=KNOWN)
SPEC = lever("spec", variant({"speculative-algorithm": "NEXTN", "speculative-num-steps": 3}), "off", keep=3)
BOOK = playbook(SPEC, protect_flags=frozenset())
ANOTHER = Repair(set={"nccl-port": 29871}, why="another port for the ranks to meet", origin="signature", cost=0.3)
ADDRESS = Repair(set={"dist-init-addr": "127.0.0.1:29873"}, why="another port", origin="signature", cost=0.5)
BESIDE = Repair(set={"enable-mscclpp": True}, why="other transfers", origin="signature", cost=1)


def taken(port: int) -> Diagnosis:
    found = cause(KIND, blames=BLAMES, confidence=0.95, facts={"port": port}, signature="port-taken", phase="init_dist")
    return diagnosis(found, ANOTHER, ADDRESS, BESIDE, action="again")


def test_a_port_that_no_flag_holds_is_laid_on_no_flag() -> None:
    attempts, last = played(BOOK, lambda _: taken(38415), HERE)

    assert isinstance(last.step, Exhausted)
    assert len(attempts) == 5
    assert {a.settings.flags["tp-size"] for a in attempts} == {8}
    assert {a.choice["spec"] for a in attempts} == {1}
    assert "untried" not in {o.status for o in last.options}


def test_after_two_other_ports_no_third_is_tried() -> None:
    def engine(candidate: Candidate) -> Diagnosis | None:
        port = candidate.settings.flags.get("nccl-port")
        return taken(port) if isinstance(port, int) else None

    book = playbook(SPEC, flags={"nccl-port": 29000}, protect_flags=frozenset())
    attempts, _ = played(book, engine, HERE)

    assert attempts[-1].outcome == "healthy"
    assert len({a.settings.flags.get("nccl-port") for a in attempts}) <= 4
    assert {a.settings.flags["tp-size"] for a in attempts} == {8}


def test_another_port_is_taken_in_place_of_the_one_that_a_flag_holds() -> None:
    book = playbook(SPEC, flags={"nccl-port": 29000}, protect_flags=frozenset())

    attempts, _ = played(book, lambda c: taken(29000) if c.settings.flags.get("nccl-port") == 29000 else None, HERE)

    assert attempts[-1].outcome == "healthy"
    assert attempts[-1].choice == {"spec": 1}
