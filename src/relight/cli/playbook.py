"""`relight playbook`: check playbooks and signatures; write a signature from a log line."""

import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import click

from relight.cli.draft import draft
from relight.cli.findings import Finding, ordered
from relight.cli.flag_findings import cases, name_findings, parse_findings
from relight.cli.group import Group
from relight.cli.options import PATH, Common, common, config_folder, examples
from relight.cli.output import document, error_document, folded, say
from relight.config import shipped
from relight.config.knowledge import load_knowledge
from relight.config.playbook import load_playbook
from relight.config.signatures import load_signature
from relight.diagnosis.check import check as check_signatures
from relight.journal.codec import to_json
from relight.reports.prose import count as many
from relight.words.errors import UsageError
from relight.words.knowledge import Knowledge
from relight.words.playbook import Playbook
from relight.words.settings import Change
from relight.words.signature import Signature
from relight.words.text import shown

_NAMED = "name playbooks, signatures, or folders of them"


@click.group(cls=Group, invoke_without_command=True)
@click.pass_context
def playbook(ctx: click.Context) -> None:
    """Check playbooks and signatures, or write a new signature from a log line."""
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())


@playbook.command(
    "check", epilog=examples("relight playbook check qwen.toml", "relight playbook check ~/.config/relight/signatures")
)
@click.argument("paths", nargs=-1, type=PATH, metavar="[PATH...]")
@common()
def check(shared: Common, *, paths: tuple[Path, ...]) -> int:
    """Validate playbooks and signatures.

    PATH is a file or a folder; default: everything that comes with relight.

    A flag that no sampled version knows is only a warning here: a host's own parser decides.
    """
    found = files(paths or (shipped.folder(),))
    knowledge = load_knowledge(shared.signature_folders)
    signatures = [file for file in found if is_signature(file)]
    findings = [finding for file in found if file not in signatures for finding in playbook_findings(file, knowledge)]
    findings += signature_findings(signatures, knowledge)
    return _told(shared, ordered(findings), len(found))


def files(paths: Sequence[Path]) -> list[Path]:
    """Return the TOML files among `paths` and below the folders of them. UsageError for a path that is not there.

    What stands beside a folder `signatures` is the engine's own knowledge, which its own loaders check.
    """
    out: list[Path] = []
    for path in paths:
        if path.is_dir():
            inside = sorted(p for p in path.rglob("*.toml") if not (p.parent / "signatures").is_dir())
            if not inside:
                raise UsageError("no .toml file is in this folder", place=str(path), next=_NAMED)
            out += inside
        elif path.is_file():
            out.append(path)
        else:
            raise UsageError("no such file or folder", place=str(path), next=_NAMED)
    return out


def is_signature(file: Path) -> bool:
    """Say whether a file is a signature: it stands in a folder `signatures`, or has a kind and no flags."""
    if file.parent.name == "signatures":
        return True
    try:
        data = tomllib.loads(file.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError):
        return False
    return "flags" not in data and bool({"kind", "sample", "title"} & set(data))


def signature_findings(found: Sequence[Path], knowledge: Knowledge) -> list[Finding]:
    """Return what is wrong with signature files, each judged among all signatures there are."""
    tried = [_signature(file) for file in found]
    findings = [one for one in tried if isinstance(one, Finding)]
    loaded = [one for one in tried if isinstance(one, Signature)]
    ids = {signature.id for signature in loaded}
    others = tuple(signature for signature in knowledge.signatures if signature.id not in ids)
    for sentence in check_signatures(replace(knowledge, signatures=(*others, *loaded)), loaded):
        place, _, text = sentence.partition(": ")
        findings.append(Finding("error", place, text))
    return findings


def _signature(file: Path) -> Signature | Finding:
    try:
        return load_signature(file)
    except UsageError as error:
        return Finding("error", error.place, error.text, error.next)


def playbook_findings(file: Path, knowledge: Knowledge) -> list[Finding]:
    """Return what is wrong with a playbook; what depends on the version only as a warning."""
    try:
        loaded = load_playbook(file)
    except UsageError as error:
        return [Finding("error", error.place or str(file), error.text, error.next)]
    return [*_by_version(loaded, knowledge), *name_findings(loaded, Change(), None, knowledge, "warning")]


def _by_version(loaded: Playbook, knowledge: Knowledge) -> Iterator[Finding]:
    """Yield a warning for each combination that no sampled version takes as it is, told by the newest that may."""
    told: dict[str, list[Finding]] = {}
    for version, parser in knowledge.versions.items():
        for case in cases(loaded, overrides=Change(), host_env={}, parser=parser, version=version):
            found = [f for f in parse_findings([case], parser, knowledge) if f.severity != "note"]
            if case.place not in told or told[case.place]:
                told[case.place] = found
    for place, found in told.items():
        yield from (Finding("warning", place, finding.text, finding.next) for finding in found)


def _told(shared: Common, found: Sequence[Finding], count: int) -> int:
    errors = [finding for finding in found if finding.severity == "error"]
    if shared.json:
        listed = {"ok": not errors, "findings": to_json(tuple(found))}
        first = errors[0] if errors else None
        document((error_document(2, place=first.place, text=first.text, next=first.next) if first else {}) | listed)
    for finding in found:
        then = f" ({finding.next})" if finding.next else ""
        for line in folded(shown(f"{finding.severity:<7} {finding.place}: {finding.text}{then}"), 8):
            say(line, format=shared.format)
    if not shared.quiet:
        say(f"{many(count, 'file')}: {_summed(found)}", format=shared.format)
    return 2 if errors else 0


def _summed(found: Sequence[Finding]) -> str:
    """Return how many findings of each severity there are."""
    numbers = {name: sum(finding.severity == name for finding in found) for name in ("error", "warning", "note")}
    return ", ".join(many(number, name) for name, number in numbers.items() if number) or "all is well"


@playbook.command("new", epilog=examples("relight playbook new my-crash --from server.log:412"))
@click.argument("name", metavar="ID")
@click.option("--from", "source", required=True, metavar="LOG:LINE", help="The line that shows the failure.")
@click.option("--kind", metavar="KIND", help="Its kind [default: what diagnose says, else unknown].")
@click.option("-o", "--output", type=PATH, metavar="DIR", help="The folder to write to [default: your own signatures].")
@common()
def new(shared: Common, *, name: str, source: str, kind: str | None, output: Path | None) -> int:
    """Write a signature file from a log line, with its pattern and its sample.

    You add what helps: the file says where.
    """
    folder = output or (shared.signatures[0] if shared.signatures else config_folder() / "signatures")
    path = folder / f"{name}.toml"
    if path.exists():
        raise UsageError("there is such a file already", place=str(path), next="choose another ID")
    text = draft(name, source, kind, load_knowledge(shared.signature_folders))
    signature = _written(path, text, source)
    if shared.json:
        document({"path": str(path), "signature": to_json(signature)})
    else:
        say(str(path) if shared.quiet else f"wrote {path}; add what helps, then run `relight playbook check {path}`")
    return 0


def _written(path: Path, text: str, source: str) -> Signature:
    """Write a signature file and return what it says. UsageError, and no file, where the line makes none."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return load_signature(path)
    except OSError as error:
        raise UsageError(f"cannot be written: {error.strerror}", place=str(path), next="-o names a folder") from error
    except UsageError as error:
        path.unlink()
        then = "name the line that shows the failure by its own words"
        raise UsageError(f"this line makes no signature: {error.text}", place=source, next=then) from error
