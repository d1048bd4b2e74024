"""Which of several repairs is tried first: what was read, what is known, what is only one of many choices."""

from relight.diagnosis.repairs import _by_trust
from relight.words.settings import Repair


def test_what_reading_and_a_signature_agree_on_stays_where_reading_put_it() -> None:
    read = (Repair({"strategy": "extra"}, origin="source"), Repair({"cache": True}, origin="source"))

    found = _by_trust(read, [Repair({"strategy": "extra"}, origin="signature", cost=0.3)])

    assert found[:2] == list(read)


def test_one_of_many_choices_comes_after_what_a_signature_knows() -> None:
    read = (Repair({"backend": "other"}, origin="source"), Repair({"cache": True}, origin="source"))
    known = Repair({"backend": "good"}, origin="signature")

    found = _by_trust(read, [known])

    assert found[:3] == [read[1], known, read[0]]
