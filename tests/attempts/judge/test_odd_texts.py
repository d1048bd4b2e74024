"""Texts that look broken and are sound, and texts that are broken in another way than by what they say."""

import importlib
import json
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from relight.attempts.judge.answers import Answered, Question, Reply
from relight.attempts.judge.book import Book
from relight.attempts.judge.content import language, main_script
from relight.attempts.judge.decoding import decoding
from relight.attempts.judge.verdict import judge
from relight.words.playbook import Health

BENCHMARKS = Path(__file__).parents[3] / "benchmarks"
SOUND = {
    "sounds": "water /\u02c8w\u0254\u02d0t\u0259/, through /\u03b8ru\u02d0/ and thought /\u03b8\u0254\u02d0t/",
    "mathematics": "The area is \u03c0r\u00b2, with \u0394x = 2\u03bbm and \u03a3n for all \u03b1x + \u03b2y",
    "commands in Chinese": (
        "我们先用 Docker 部署一个 Redis 实例然后在 Python 里用 pip install redis 安装客户端"
        "如果连接失败请检查 firewall 是否 open"
    ),
    "a joined article": "אפשר להשתמש בPython כדי לקרוא את הCSV ואז לשמור בPostgreSQL את התוצאה",
    "thoughts in Chinese, commands in Russian": (
        "用户给了我一个不完整的句子 Чтобы задеплоить сервис выполните git push origin main потом откройте Grafana и"
        " проверьте что latency не растёт и увеличьте replicas в values"
    ),
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
WOVEN = {
    "two words": " ".join("model" if c == "1" else "the" for c in "100110100010111001011010001011"),
    "every word twice": "boat boat left left at at noon noon with with six six crates crates of of red red figs figs",
    "letters set apart": "t h e b o a t l e f t a t n o o n w i t h s i x c r a t e s o f a p p l e s",
    "no vowels": "th bt lft nn wth sx crts ppls nd th cptn sd tht ll ws wll th crw wnt hm slp bfr th rn cm frm th wst",
    "small words only": "the of a in is to and that was it for on as with his they at be this from have or by one had",
    "numbers": "and then 7 4411 90 3 118 62 5 70032 8 41 977 12 6 300 25 4 83 1911 2 70 36 9 514 8 66 10 3 457 1",
    "marks": "and then the boat.,;:,.-;.,:!?.,;.,:;,.-;:.,;!.,:;.,-.,;:.,;?.,:",
    "special tokens": "<|endoftext|><|im_end|><|endoftext|><|endoftext|><|im_end|><|im_end|>",
    "bytes written out": "\\xe4\\xbd\\xa0\\xe5\\xa5\\xbd\\xe4\\xbb\\x8a\\xe5\\xa4\\xa9\\xe6\\xb5\\xb7\\xe8\\xbe\\xb9",
    "signs in no order": "x9#kQ~v}2Lp|zR;m<4^wT`8Jd{0sG&yB?cN>1hF_5oX[aV]6eU(iP)7tE*lK+rM-nS=qW/uCx9#kQ~v}2Lp|zR;m<4^w",
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


@pytest.fixture
def benchmark(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], ModuleType]:
    monkeypatch.syspath_prepend(BENCHMARKS)
    return importlib.import_module


def test_styles_the_judge_was_not_made_with(benchmark: Callable[[str], ModuleType]) -> None:
    alarms, missed = benchmark("judge_styles").measure(11, goods=40, bads=36)

    assert alarms == []
    # A paragraph that comes again with other words is the one style that is told late.
    assert len(missed) <= 2, missed


def test_texts_written_before_the_judge_was_tried_on_them(benchmark: Callable[[str], ModuleType]) -> None:
    alarms, missed = benchmark("judge_fresh").measure(11, every=3)

    assert alarms == []
    # Sound words in no order, in long answers only: nothing in the text tells them from a language we do not know.
    assert len(missed) <= 3, missed


@pytest.mark.parametrize("name", list(WOVEN))
def test_words_letters_and_numbers_that_no_writer_strings_together(name: str, book: Book) -> None:
    assert language(reply(WOVEN[name]), book)


def test_a_language_without_a_word_in_the_book_is_known_by_its_marks(book: Book) -> None:
    zulu = (
        "Umdobi waphuma endlini ngaphambi kokuphuma kwelanga ethwele inethi lakhe elidala ehlombe. Ulwandle lwaluthule,"
        " futhi kwakungekho muntu ogwini ngaphandle kwekati elincane elilinde inhlanzi yalo ebusuku"
    )

    assert language(reply(zulu), book) == ()
    assert language(reply(zulu.replace(".", "").replace(",", "")), book)


def plain(prompt: str, expect: str, text: str, finish: str = "length") -> Answered:
    question = Question("plain", "POST", "/generate", prompt=prompt, expect=expect, tokens=24)
    meta = {"finish_reason": {"type": finish}, "completion_tokens": 24}
    return Answered(question, 200, json.dumps({"text": text, "meta_info": meta}), seconds=1.0)


def test_one_text_given_to_every_question_is_right_where_it_holds_an_answer(book: Book) -> None:
    text = "The small ship left the harbour at 7 in the morning with crates of apples for Paris, so the captain said."

    answers = [plain(p.prompt, p.expect, text) for p in book.plain]

    assert judge(answers, Health(), book).outcome == "well"


@pytest.mark.parametrize(("said", "outcome"), [("<think>\nOkay, so", "well"), ("ab ba abba " * 30, "sick")])
def test_a_chat_that_is_cut_off_is_excused_only_where_it_thinks(said: str, outcome: str, book: Book) -> None:
    wrong = [plain(p.prompt, p.expect, " something else.", "stop") for p in book.plain]
    question = Question("chat", "POST", "/v1/chat/completions", prompt="Japan?", expect="Tokyo", tokens=256)
    choice = {"message": {"content": said}, "finish_reason": "length"}

    chat = Answered(question, 200, json.dumps({"choices": [choice], "usage": {"completion_tokens": 256}}))

    assert judge([*wrong, chat], Health(), book).outcome == outcome
