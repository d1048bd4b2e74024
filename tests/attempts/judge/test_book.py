import pytest

from relight.attempts.judge.book import Book, read_book
from relight.config import shipped
from relight.words.errors import UsageError

TEXT = (shipped.engine() / "judge.toml").read_text()


def test_thinking_aloud_is_known_in_several_languages(book: Book) -> None:
    for text in ("<think>\nso", "Okay, the user asks", "首先用户想", "Итак, пользователь", "D'abord, je"):
        assert book.thinking.search(text), text
    assert not book.thinking.search(" Paris. The capital of Spain is Madrid.")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (TEXT + "\n[colour]\n", "unknown key 'colour'"),
        (TEXT.replace("[soak]", "[soak2]"), "unknown key 'soak2'"),
        (TEXT.replace("copies = 5", ""), "missing key 'copies'"),
        (TEXT.replace('expect = "(?i)cold', 'expect = "(cold'), "not a regular expression"),
        ("[", "judge.toml"),
    ],
)
def test_a_wrong_book_is_refused_with_the_reason(text: str, said: str) -> None:
    with pytest.raises(UsageError) as caught:
        read_book(text)

    assert said in str(caught.value)
