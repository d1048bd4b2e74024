"""Every shipped signature proves itself."""

import pytest

from relight.config.knowledge import load_knowledge
from relight.diagnosis import diagnose
from relight.diagnosis.check import check, check_areas
from relight.logs.lines import Line
from relight.words.knowledge import Knowledge
from relight.words.signature import Signature

KNOWLEDGE = load_knowledge()
ROOTS = [s for s in KNOWLEDGE.signatures if s.role == "root" and not s.generic]


def test_no_signature_has_a_problem() -> None:
    assert check(KNOWLEDGE) == ()


def test_no_area_has_a_problem() -> None:
    assert check_areas(KNOWLEDGE) == ()


@pytest.mark.parametrize("signature", ROOTS, ids=lambda s: s.id)
def test_a_log_that_is_the_sample_is_diagnosed_as_its_kind(signature: Signature) -> None:
    for sample in signature.samples:
        lines = [Line(i, 0, text) for i, text in enumerate(sample.log, 1)]

        found = diagnose(lines, KNOWLEDGE, name="sample")

        assert found.cause is not None
        assert (found.cause.kind, found.cause.line) == (signature.kind, sample.line)


def test_a_sample_claimed_by_two_is_a_problem() -> None:
    twin = Signature("twin", "Twin", "env.disk", any=("No space left on device",), literal=("no space left",))
    knowledge = Knowledge((*KNOWLEDGE.signatures, twin), KNOWLEDGE.phases)

    assert any("disk-full" in text and "twin" in text for text in check(knowledge))


def test_a_signature_without_a_sample_is_a_problem() -> None:
    bare = Signature("bare", "Bare", "env.disk", any=("the moon is full",), literal=("the moon is full",))

    assert check(Knowledge((bare,)), (bare,)) == ("bare: add a [[sample]] with a real log line; it is the test",)
