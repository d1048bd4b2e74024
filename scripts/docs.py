"""Write the pages under docs/ that are made from the code; with --check only say which are out of date.

A page is made as a whole, or in parts: what stands between `<!-- made: NAME -->` and `<!-- end -->`.
"""

import re
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from relight.cli.manual import cli_page
from relight.config.hosts import HOST_KEYS
from relight.config.keys import Key
from relight.config.knowledge import load_knowledge
from relight.config.playbook import (
    ALLOW_KEYS,
    BUDGET_KEYS,
    FALLBACK_KEYS,
    HEALTH_KEYS,
    LEVER_KEYS,
    PLAYBOOK_KEYS,
    PROBE_KEYS,
    PROTECT_KEYS,
    VARIANT_KEYS,
)
from relight.words.kinds import KINDS
from relight.words.signature import Signature

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
TABLES: Mapping[str, Mapping[str, Key]] = {
    "playbook": PLAYBOOK_KEYS, "protect": PROTECT_KEYS, "allow": ALLOW_KEYS, "lever": LEVER_KEYS,
    "variant": VARIANT_KEYS, "health": HEALTH_KEYS, "probe": PROBE_KEYS, "budget": BUDGET_KEYS,
    "fallback": FALLBACK_KEYS, "host": HOST_KEYS,
}  # fmt: skip
_TAKES = {
    "texts": "list of texts", "tables": "tables", "map": "table", "flags": "flags", "env": "variables",
    "indexes": "list of card numbers", "count": "number, 0 or more", "anything": "list",
}  # fmt: skip
_PART = re.compile(r"(<!-- made: ([a-z-]+) -->\n).*?(<!-- end -->)", re.DOTALL)


def main(argv: list[str]) -> int:
    """Write every page, or with --check return 1 where one differs from what would be written."""
    pages = {name: page() for name, page in PAGES.items()}
    stale = [name for name, text in pages.items() if _text(name) != text]
    if "--check" in argv:
        for name in stale:
            sys.stderr.write(f"docs/{name} is out of date; run `make docs`\n")
        return int(bool(stale))
    for name in stale:
        (DOCS / name).write_text(pages[name], encoding="utf-8")
        sys.stdout.write(f"wrote docs/{name}\n")
    return 0


def _text(name: str) -> str:
    path = DOCS / name
    return path.read_text(encoding="utf-8") if path.is_file() else ""


def in_parts(name: str) -> str:
    """Return a page whose tables of keys are made anew."""
    return _PART.sub(lambda found: f"{found[1]}\n{keys_table(TABLES[found[2]])}\n{found[3]}", _text(name))


def keys_table(keys: Mapping[str, Key]) -> str:
    """Return the keys of one table as Markdown."""
    rows = [f"| `{name}` | {_takes(key)} | {_default(key)} | {_cell(key.doc)} |" for name, key in keys.items()]
    return "\n".join(["| key | takes | default | what |", "| --- | --- | --- | --- |", *rows, ""])


def _takes(key: Key) -> str:
    return " or ".join(f"`{c}`" for c in key.choices) or _TAKES.get(key.kind, key.kind)


def _default(key: Key) -> str:
    if key.required:
        return "must be given"
    if key.default in (None, "", ()):
        return ""
    return f"`{_duration(key.default) if key.kind == 'duration' else _toml(key.default)}`"


def _toml(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else f"{value:g}" if isinstance(value, float) else str(value)


def _duration(seconds: float) -> str:
    for unit, length in (("h", 3600), ("m", 60)):
        if seconds >= length and seconds % length == 0:
            return f"{seconds / length:g}{unit}"
    return f"{seconds:g}s"


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("<", "&lt;")


def signatures_page() -> str:
    """Return the index of all failures that are known, by kind."""
    families: dict[str, list[Signature]] = defaultdict(list)
    known = [s for s in load_knowledge().signatures if s.role == "root"]
    for signature in sorted(known, key=lambda s: (list(KINDS).index(s.kind), s.id)):
        families[signature.kind].append(signature)
    lines = [
        "# Failures that are known",
        "",
        f"{len(known)} failures by name, in {len(families)} kinds. Each is one TOML file under",
        "`playbooks/sglang/signatures/`; `relight explain NAME` shows how it looks in a log and what helps.",
        "A failure that is not here is still diagnosed, from its traceback, the engine's source and the memory lines;",
        "[write a signature](write-a-signature.md) to give it a name. This page is made by `make docs`.",
    ]
    for kind, signatures in families.items():
        lines += ["", f"## {kind}", "", KINDS[kind], "", *_signature_rows(signatures)]
    return "\n".join(lines) + "\n"


def _signature_rows(signatures: list[Signature]) -> Iterator[str]:
    yield "| name | what it is | what relight does |"
    yield "| --- | --- | --- |"
    for each in signatures:
        title = re.sub(r"\{\w+\}", "...", each.title)
        yield f"| `{each.id}` | {_cell(title)} | {_done(each)} |"


def _done(signature: Signature) -> str:
    ways = len(signature.remedies)
    change = f"changes settings, {ways} way{'' if ways == 1 else 's'} known" if ways else "changes settings"
    said = {"again": "starts again", "clean": "clears what is left, starts again", "person": "asks a person"}
    return said.get(signature.action, change)


PAGES: Mapping[str, Callable[[], str]] = {
    "cli.md": cli_page,
    "playbook.md": lambda: in_parts("playbook.md"),
    "hosts.md": lambda: in_parts("hosts.md"),
    "signatures.md": signatures_page,
}


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
