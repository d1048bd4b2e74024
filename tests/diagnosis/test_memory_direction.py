"""Direction is sacred: the share of static memory goes up where a pool lacks room, else down."""

from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from relight.config.knowledge import load_knowledge
from relight.diagnosis.diagnose import diagnose
from relight.diagnosis.memory import DOWN, UP
from relight.logs.lines import split
from relight.words.signature import Sample, Signature

KNOWLEDGE = load_knowledge()
FRACTION = KNOWLEDGE.memory.fraction
# The pool had its share, and the card had less than that: there the share was too large.
BEYOND_THE_CARD = {"oom-pools", "oom-states"}
START = """[2026-11-29 10:00:00] server_args=ServerArgs(model_path='m', tp_size=1, mem_fraction_static={fraction})
[2026-11-29 10:00:01] Load weight begin. avail mem={before:.2f} GB
[2026-11-29 10:00:09] Load weight end. type=AForCausalLM, avail mem={after:.2f} GB, mem usage=20.00 GB.
"""


def samples() -> Iterator[tuple[Signature, Sample]]:
    for signature in KNOWLEDGE.signatures:
        if signature.kind in UP | DOWN:
            yield from ((signature, sample) for sample in signature.samples)


@pytest.mark.parametrize(("signature", "sample"), [pytest.param(s, x, id=s.id) for s, x in samples()])
@settings(max_examples=10, deadline=None)
@given(fraction=st.floats(0.3, 0.97), before=st.floats(20, 180), loaded=st.floats(0.05, 0.8))
def test_no_repair_moves_the_share_the_wrong_way(
    signature: Signature, sample: Sample, fraction: float, before: float, loaded: float
) -> None:
    fraction = round(fraction, 3)
    log = START.format(fraction=fraction, before=before, after=before * (1 - loaded)) + "\n".join(sample.log)

    found = diagnose(
        split([log.encode()]), KNOWLEDGE, name="log", argv=("--model-path", "m", f"--{FRACTION}", str(fraction))
    )

    kind = found.cause.kind if found.cause else signature.kind
    moved = [float(str(r.set[FRACTION])) for r in found.repairs if FRACTION in r.set]
    # A sample may tell the fraction it failed with itself.
    fraction = float(found.cause.facts.get("fraction", fraction)) if found.cause else fraction
    up = kind in UP and signature.id not in BEYOND_THE_CARD
    assert not [v for v in moved if up and v <= fraction]
    assert not [v for v in moved if not up and v >= fraction]
    assert all(0 < v < 1 for v in moved)
