"""`relight playbook`: check playbooks and signatures; write a signature from a log line."""

import tomllib
from collections.abc import Iterator, Sequence
from pathlib import Path

import click

from relight.cli.draft import draft
from relight.cli.findings import Finding, ordered
from relight.cli.flag_findings import cases, parse_findings
from relight.cli.options import PATH, Common, common, config_folder
from relight.cli.output import document, error_document, say
from relight.config import shipped
from relight.config.knowledge import load_knowledge
from relight.config.playbook import load_playbook
from relight.config.signatures import load_signature
from relight.journal.codec import to_json
from relight.words.errors import UsageError
from relight.words.knowledge import Knowledge
from relight.words.settings import Change
from relight.words.text import shown

_OTHER = {"flags.toml", "renames.toml", "phases.toml", "judge.toml"}
"""Files of an engine that are neither playbooks nor signatures; their own loaders check them."""


@click.group()
def playbook() -> None:
    """Check playbooks and signatures, or write a new signature from a log line."""


@playbook.command("check")
@click.argument("paths", nargs=-1, type=PATH, metavar="[PATH...]")
@common()
def check(shared: Common, *, paths: tuple[Path, ...]) -> int:
    """Validate playbooks and signatures; PATH is a file or a folder. Default: everything that comes with relight.

    A flag that no sampled version knows is only a warning here: a host's own parser decides.
    """
    found = [finding for file in files(paths or (shipped.folder(),)) for finding in checked(file)]
    found += collisions(shared)
    return _told(shared, ordered(found), len(files(paths or (shipped.folder(),))))


def files(paths: Sequence[Path]) -> list[Path]:
    """Return the TOML files among `paths` and below the folders of them. UsageError for a path that is not there."""
    out: list[Path] = []
    for path in paths:
        if path.is_dir():
            out += sorted(p for p in path.rglob("*.toml") if p.name not in _OTHER)
        elif path.is_file():
            out.append(path)
        else:
            raise UsageError("no such file or folder", place=str(path), next="name playbooks, signatures, or folders")
    return out


def checked(file: Path) -> Iterator[Finding]:
    """Yield what is wrong with one playbook or signature."""
    try:
        if is_signature(file):
            load_signature(file)
        else:
            yield from _playbook_findings(file)
    except UsageError as error:
        yield Finding("error", error.place or str(file), error.text, error.next)


def is_signature(file: Path) -> bool:
    """Say whether a file is a signature: it stands in a folder `signatures`, or has a kind and no flags."""
    if file.parent.name == "signatures":
        return True
    try:
        data = tomllib.loads(file.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError):
        return False
    return "flags" not in data and bool({"kind", "sample", "title"} & set(data))


def _playbook_findings(file: Path) -> Iterator[Finding]:
    loaded = load_playbook(file)
    knowledge = load_knowledge(engine=loaded.engine)
    parser = knowledge.parser_for(None)
    if parser is None:
        return
    found = cases(loaded, overrides=Change(), host_env={}, parser=None, version=None)
    for finding in parse_findings(found, parser, knowledge):
        text = f"{finding.text} (newest known: {parser.version})"
        yield Finding("warning" if finding.severity == "error" else finding.severity, finding.place, text, finding.next)


def collisions(shared: Common) -> list[Finding]:
    """Return what is wrong with the signatures taken together, own ones included."""
    try:
        knowledge = load_knowledge(shared.signature_folders)
    except UsageError as error:
        return [Finding("error", error.place, error.text, error.next)]
    return [Finding("error", fault.place, fault.text, fault.next) for fault in _faults(knowledge)]


def _faults(knowledge: Knowledge) -> Sequence[UsageError]:
    from relight.diagnosis.check import check_signatures  # noqa: PLC0415  matches every sample

    return tuple(check_signatures(knowledge))


def _told(shared: Common, found: Sequence[Finding], count: int) -> int:
    errors = [finding for finding in found if finding.severity == "error"]
    if shared.json:
        listed = {"ok": not errors, "findings": to_json(tuple(found))}
        first = errors[0] if errors else None
        document((error_document(2, place=first.place, text=first.text, next=first.next) if first else {}) | listed)
        return 2 if errors else 0
    for finding in found:
        then = f" ({finding.next})" if finding.next else ""
        say(shown(f"{finding.severity:<7} {finding.place}: {finding.text}{then}"))
    if not shared.quiet:
        say(f"{count} files: " + ("all is well" if not errors else f"{len(errors)} errors"))
    return 2 if errors else 0


@playbook.command("new", epilog="Example: relight playbook new my-crash --from server.log:412")
@click.argument("name", metavar="ID")
@click.option("--from", "source", required=True, metavar="LOG:LINE", help="The line that shows the failure.")
@click.option("--kind", metavar="KIND", help="Its kind [default: what diagnose says, else unknown].")
@click.option("-o", "--output", type=PATH, metavar="DIR", help="The folder to write to [default: your own signatures].")
@common()
def new(shared: Common, *, name: str, source: str, kind: str | None, output: Path | None) -> int:
    """Write a signature file from a log line: its pattern, and the line as its sample. You add what helps."""
    folder = output or (shared.signatures[0] if shared.signatures else config_folder() / "signatures")
    path = folder / f"{name}.toml"
    if path.exists():
        raise UsageError("there is such a file already", place=str(path), next="choose another ID")
    text = draft(name, source, kind, load_knowledge(shared.signature_folders))
    folder.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    signature = load_signature(path)
    if shared.json:
        document({"path": str(path), "signature": to_json(signature)})
    else:
        say(str(path) if shared.quiet else f"wrote {path}; add what helps, then run `relight playbook check {path}`")
    return 0
