"""Texts that look broken and are sound, and texts that are broken in another way than by what they say."""

import importlib.util
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from relight.attempts.judge.answers import Answered, Question, Reply
from relight.attempts.judge.book import Book
from relight.attempts.judge.content import language, main_script
from relight.attempts.judge.decoding import decoding
from relight.attempts.judge.verdict import judge
from relight.words.playbook import Health

BENCHMARK = Path(__file__).parents[3] / "benchmarks" / "judge_styles.py"
SOUND = {
    "sounds": "water /\u02c8w\u0254\u02d0t\u0259/, through /\u03b8ru\u02d0/ and thought /\u03b8\u0254\u02d0t/",
    "mathematics": "The area is \u03c0r\u00b2, with \u0394x = 2\u03bbm and \u03a3n for all \u03b1x + \u03b2y",
    "commands in Chinese": (
        "我们先用 Docker 部署一个 Redis 实例然后在 Python 里用 pip install redis 安装客户端"
        "如果连接失败请检查 firewall 是否 open"
    ),
    "a joined article": "אפשר להשתמש בPython כדי לקרוא את הCSV ואז לשמור בPostgreSQL את התוצאה",
    "Finnish": (
        "Vanha majakka seisoi laiturin päässä, ja joka ilta vartija kiipesi portaat ylös lamppu kädessään. Kun sade"
        " lakkasi, lapset juoksivat puutarhaan etsimään etanoita märkien lehtien alta, eikä kukaan huomannut venettä"
    ),
    "a sequence": "ATGACCATGATTACGGATTCACTGGCCGTCGTTTTACAACGTCGTGACTGGGAAAACCCTGGCGTTACCCAACTT".lower(),
}
BROKEN = {
    "bytes in the wrong encoding": "C'Ã©tait une journÃ©e d'Ã©tÃ© Ã  la campagne, et la riviÃ¨re Ã©tait animÃ©e.",
    "marks of a byte tokenizer": "ĠtheĠoldĠlighthouseĠstoodĠatĠtheĠend",
    "marks of a piece tokenizer": "▁the▁old▁lighthouse▁stood<0x0A>▁at▁the▁end",
    "no blanks": "theoldlighthousestoodattheendofthepierandeveryeveningitskeeperclimbed",
}


def reply(text: str) -> Reply:
    return Reply(text, "length")


@pytest.mark.parametrize("name", list(SOUND))
def test_sound_texts_of_odd_kinds_show_no_sign(name: str, book: Book) -> None:
    assert language(reply(SOUND[name]), book) == ()


@pytest.mark.parametrize("name", list(BROKEN))
def test_what_a_broken_decoder_leaves_is_seen(name: str) -> None:
    assert decoding(BROKEN[name])


def test_a_text_is_measured_by_the_script_that_says_most() -> None:
    assert main_script(SOUND["commands in Chinese"]) == "han"
    assert main_script("Der Dom 聖堂 ist alt und steht in der Mitte der Stadt") == "latin"
    assert main_script("このAPIはJSONを返します") == "kana"
    assert main_script("123 + 456") == ""


def test_an_answer_that_goes_on_in_another_script_does_not_decay(book: Book) -> None:
    thought = "The question is only half a sentence, so I think that they want me to go on with it in the same way. "
    chinese = SOUND["commands in Chinese"] * 2

    assert language(reply(thought + chinese), book) == ()


def at_once(wrong: int, right: int) -> list[Answered]:
    def said(role: Any, n: int, expect: str, text: str) -> Answered:
        question = Question(role, "POST", "/generate", prompt=f"({n}) {expect}", expect=expect)
        meta = {"finish_reason": {"type": "stop"}, "completion_tokens": 8}
        return Answered(question, 200, json.dumps({"text": text, "meta_info": meta}), seconds=1.0)

    alone = [said("plain", 0, "Paris", " Paris"), said("plain", 1, "cold", " cold")]
    return [
        *alone,
        *(said("load", 10 + n, "Paris", " cold") for n in range(wrong)),
        *(said("load", 50 + n, "cold", " cold") for n in range(right)),
    ]


@pytest.mark.parametrize(("wrong", "right"), [(8, 0), (4, 8), (0, 8)])
def test_content_alone_is_no_fault_while_a_plain_question_is_answered_rightly(
    wrong: int, right: int, book: Book
) -> None:
    assert judge(at_once(wrong, right), Health(), book).outcome == "well"


def test_styles_the_judge_was_not_made_with() -> None:
    spec = importlib.util.spec_from_file_location("benchmark_judge_styles", BENCHMARK)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)

    alarms, missed = module.measure(11, goods=40, bads=36)

    assert alarms == []
    # A paragraph that comes again with other words is the one style that is told late.
    assert len(missed) <= 2, missed
