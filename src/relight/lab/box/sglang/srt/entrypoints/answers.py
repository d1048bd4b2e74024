"""What the model that is not there says: plain facts, or the noise of a sick server."""

import re
from collections.abc import Callable
from itertools import cycle, islice

CAPITALS = {
    "france": "Paris", "germany": "Berlin", "italy": "Rome", "spain": "Madrid", "japan": "Tokyo", "china": "Beijing",
    "england": "London", "the united kingdom": "London", "portugal": "Lisbon", "austria": "Vienna", "poland": "Warsaw",
    "russia": "Moscow", "canada": "Ottawa", "australia": "Canberra", "egypt": "Cairo", "greece": "Athens",
    "the united states": "Washington, D.C.", "sweden": "Stockholm", "norway": "Oslo", "india": "New Delhi",
}  # fmt: skip
OPPOSITES = {"hot": "cold", "up": "down", "big": "small", "day": "night", "left": "right", "black": "white"}
COLOURS = {"sky": "blue", "grass": "green", "snow": "white", "blood": "red", "banana": "yellow", "coal": "black"}
DAYS = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"]
WATER = re.compile(r"chemical (formula|symbol) (for|of) water|water is made|H2O", re.IGNORECASE)
TALK = (
    " It is a calm morning and the harbour is slowly waking up. Fishing boats come in with the tide, gulls circle "
    "above the market, and the first customers walk between the stalls looking for bread, fruit and fresh coffee. "
    "Later in the day the streets fill with visitors who want to see the old lighthouse on the hill. From its gallery "
    "one can look over the whole bay, as far as the islands in the west, where the sun will set in the evening."
)


def plain(prompt: str) -> str:
    """Return a sane continuation of `prompt`."""
    question = prompt.strip()
    for reader in READERS:
        found = reader(question)
        if found:
            return f" {found}."
    return TALK


def capital(text: str) -> str:
    """Answer what the capital of a country is, or whose capital a city is."""
    found = re.findall(r"capital(?: city)? of ([a-z ]+?)(?: is| in| as|[?.,:]|$)", text, re.IGNORECASE)
    return CAPITALS.get(found[-1].strip().lower(), "") if found else ""


def arithmetic(text: str) -> str:
    """Answer a sum, difference or product of two whole numbers."""
    words = text.replace("plus", "+").replace("minus", "-").replace("times", "*").replace("multiplied by", "*")
    found = re.findall(r"(\d+)\s*([-+*x])\s*(\d+)", words)
    if not found:
        return ""
    left, sign, right = found[-1]
    a, b = int(left), int(right)
    return str({"+": a + b, "-": a - b}.get(sign, a * b))


def counting(text: str) -> str:
    """Continue a row of numbers that rise by the same step."""
    found = re.findall(r"(?:\d+,\s*){2,}\d*", text)
    if not found:
        return ""
    numbers = [int(n) for n in re.findall(r"\d+", found[-1])]
    step = numbers[-1] - numbers[-2]
    return ", ".join(str(numbers[-1] + step * n) for n in range(1, 8))


def weekday(text: str) -> str:
    """Answer which day comes after or before another."""
    found = re.findall(
        r"day (?:that )?comes? (?:right |directly )?(after|before) (\w+day)|(after|before) (\w+day)", text
    )
    if not found:
        return ""
    which, day = [part for part in found[-1] if part][:2]
    return DAYS[(DAYS.index(day.capitalize()) + (1 if which == "after" else -1)) % 7]


def table(pattern: str, answers: dict[str, str]) -> Callable[[str], str]:
    """Return a reader that looks up the last word that `pattern` finds."""

    def read(text: str) -> str:
        found = re.findall(pattern, text, re.IGNORECASE)
        return answers.get(found[-1].lower(), "") if found else ""

    return read


def water(text: str) -> str:
    """Answer what water is made of, and when it freezes and boils."""
    if re.search(r"water (freezes|turns (in)?to ice)|freezing point of water", text, re.IGNORECASE):
        return "0 degrees Celsius"
    if re.search(r"water boils|boiling point of water", text, re.IGNORECASE):
        return "100 degrees Celsius"
    return "H2O" if WATER.search(text) else ""


def repeat(text: str) -> str:
    """Say what one is asked to repeat."""
    found = re.search(
        r"(?:repeat|say|reply with|answer with)(?: exactly| only| just)*(?: the words?)?:? [\"']?([\w ,!.]+)",
        text,
        re.IGNORECASE,
    )
    return found[1].strip(" .") if found else ""


READERS: tuple[Callable[[str], str], ...] = (
    capital,
    water,
    weekday,
    counting,
    arithmetic,
    table(r"opposite of (?:the word )?[\"']?(\w+)", OPPOSITES),
    table(r"colou?r (?:of |is )?(?:the |a |an )?(?:clear |fresh |ripe )?(\w+)", COLOURS),
    repeat,
)
SICK = {
    "repeat": "!",
    "garbage": " wekken 쓸 Method ẽr=> ंग elsif 寿 ůž $_[ Ждя qe }}, uhn 畑 ßł",
    "nan": "!",
    "empty": "",
}


def pieces(text: str) -> list[str]:
    """Return `text` in tokens: words with the blank before them."""
    return re.findall(r"\s*\S+", text)


def tokens_of(prompt: str, sickness: str, most: int, *, ignore_eos: bool) -> tuple[list[str], bool]:
    """Return at most `most` tokens of an answer, and whether it came to its end by itself."""
    if sickness == "empty":
        return [], True
    if sickness:
        row = ["!"] if sickness in {"repeat", "nan"} else pieces(SICK[sickness])
        return list(islice(cycle(row), most)), False
    said = pieces(plain(prompt))
    if len(said) >= most:
        return said[:most], False
    if not ignore_eos:
        return said, True
    return [*said, *islice(cycle(pieces(TALK)), most - len(said))], False
