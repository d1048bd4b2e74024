"""Who holds the cards' memory is said where a person has to act."""

from dataclasses import replace

from relight.reports import text
from relight.words.attempt import Record
from relight.words.host import Gpu, GpuProcess
from tests.reports.stories import healthy

TRAINER = GpuProcess(71, 40960, "/opt/train\x1b[31m/run")


def taken(*cards: Gpu, kind: str = "oom.gpu.other_process") -> Record:
    record = healthy()
    crashed = next(a for a in record.attempts if a.diagnosis and a.diagnosis.cause)
    assert crashed.diagnosis
    assert crashed.diagnosis.cause
    cause = replace(crashed.diagnosis.cause, kind=kind)
    last = replace(crashed, diagnosis=replace(crashed.diagnosis, cause=cause))
    return replace(record, state="person", final=None, attempts=(last,), environment={"gpus": cards})


def test_cards_that_were_in_use_are_named_with_their_processes() -> None:
    said = text.render(taken(Gpu(0, "RTX", 97887, 4), Gpu(2, "RTX", 97887, 61440, processes=(TRAINER,))), width=200)

    assert "GPU 2 had 60.0 GiB in use: /opt/train/run (pid 71) 40.0 GiB and a process that cannot be seen" in said
    assert "(in a container?) 20.0 GiB" in said
    assert "GPU 0 had" not in said


def test_cards_are_not_spoken_of_for_other_causes() -> None:
    card = Gpu(2, "RTX", 97887, 61440, processes=(TRAINER,))

    assert "Before the first launch" not in text.render(taken(card, kind="model.auth"), width=200)
