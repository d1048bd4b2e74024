"""The model's configuration as far as conditions ask for it."""

import pytest

from relight.diagnosis.configuration import configuration_file, in_configuration
from relight.diagnosis.given import Given
from relight.diagnosis.source.reading import Reading
from relight.diagnosis.source.terms import Field, Opaque, Term
from relight.words.parser import HostParser, ParserFlag

PARSER = HostParser((ParserFlag(("tp-size",), "tp_size", "int"), ParserFlag(("model-path",), "model_path", "str")), "1")


@pytest.mark.parametrize(
    ("term", "model", "wanted"),
    [
        (Opaque("self.config.num_heads"), "/srv/model/", "/srv/model/config.json"),
        (Field("num_heads"), "/srv/model", "/srv/model/config.json"),
        (Field("tp_size"), "/srv/model", ""),
        (Opaque("self.config.num_heads"), "owner/model", ""),
    ],
)
def test_it_is_wanted_where_a_condition_reads_it_and_the_model_is_a_folder(term: Term, model: str, wanted: str) -> None:
    given = Given(flags={"model-path": model}, parser=PARSER)

    assert configuration_file(Reading("f.py", 1, condition=term), given) == wanted


def test_its_numbers_are_facts_those_of_the_language_model_too() -> None:
    text = '{"vocab_size": 8, "tied": true, "text_config": {"num_heads": 64, "vocab_size": 9}, "name": "x"}'

    assert in_configuration(text) == {"config.vocab_size": 8, "config.num_heads": 64}


@pytest.mark.parametrize("text", ["", "[1]", "{", "[" * 100_000])
def test_what_is_no_configuration_tells_nothing(text: str) -> None:
    assert in_configuration(text) == {}
