"""What a report is told of the levers."""

from relight.attempts.asked import called
from relight.attempts.order import RunOrder
from relight.words.host import HostSpec
from relight.words.playbook import Lever, Playbook, Variant


def names(*variants: Variant) -> list[str]:
    playbook = Playbook("p", levers=(Lever("spec", variants),))
    found: list[str] = called(RunOrder(playbook, HostSpec("box", "local")))["levers"]["spec"]
    return found


def test_a_variant_is_called_by_its_first_flag() -> None:
    assert names(Variant({"algorithm": "A", "steps": 5}), Variant(off=True)) == ["--algorithm A", "off"]


def test_variants_of_one_name_are_told_apart_by_what_differs() -> None:
    one = Variant({"algorithm": "A", "steps": 5, "topk": 1}, {"X": "1"})
    other = Variant({"algorithm": "A", "steps": 3, "topk": 1}, {"X": "2"})

    assert names(one, other) == ["--algorithm A --steps 5 X=1", "--algorithm A --steps 3 X=2"]
