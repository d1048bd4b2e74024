"""`relight explain`: what a kind of failure or a signature is, how it shows, what helps."""

from typing import Any

import click

from relight.cli import complete
from relight.cli.options import Common, common, examples
from relight.cli.output import document, say
from relight.config.knowledge import load_knowledge
from relight.journal.codec import to_json
from relight.words.errors import UsageError
from relight.words.kinds import KINDS
from relight.words.knowledge import Knowledge
from relight.words.near import meant
from relight.words.signature import Remedy, Signature
from relight.words.text import shown


@click.command(epilog=examples("relight explain oom.gpu.kv_pool", "relight explain kernel"))
@click.argument("name", required=False, metavar="[KIND_OR_SIGNATURE]", shell_complete=complete.kinds)
@common()
def explain(shared: Common, *, name: str | None) -> int:
    """Say what a kind of failure or a signature is, how it shows in a log, and what helps.

    Without a name the kinds are listed.
    """
    if name is None:
        return _listed(shared)
    knowledge = load_knowledge(shared.signature_folders)
    found = explanation(name, knowledge)
    if shared.json:
        document(found)
        return 0
    for line in _told(found):
        say(shown(line))
    return 0


def _listed(shared: Common) -> int:
    if shared.json:
        document([{"kind": kind, "is": told} for kind, told in KINDS.items()])
        return 0
    column = max(map(len, KINDS)) + 2
    for kind, told in KINDS.items():
        say(f"{kind:<{column}}{told}")
    return 0


def explanation(name: str, knowledge: Knowledge) -> dict[str, Any]:
    """Return the kinds and signatures that `name` means: a signature's id, a kind, or a family of kinds."""
    by_id = [s for s in knowledge.signatures if s.id == name]
    kinds = [] if by_id else [k for k in KINDS if k == name or k.startswith(f"{name}.")]
    if not by_id and not kinds:
        known = [*KINDS, *(s.id for s in knowledge.signatures)]
        hint = meant(name, known) or "`relight explain` lists the kinds"
        raise UsageError(f"neither a kind nor a signature: '{name}'", place="relight explain", next=hint)
    signatures = by_id or [s for s in knowledge.signatures if s.kind in kinds]
    shown_kinds = kinds or [by_id[0].kind]
    return {
        "name": name,
        "kinds": [{"kind": kind, "is": KINDS.get(kind, "")} for kind in shown_kinds],
        "signatures": [_signature(s) for s in sorted(signatures, key=lambda s: s.id)],
    }


def _signature(signature: Signature) -> dict[str, Any]:
    return {
        "id": signature.id,
        "title": signature.title,
        "kind": signature.kind,
        "role": signature.role,
        "action": signature.action,
        "summary": signature.summary,
        "next": signature.next,
        "shows": [sample.log[sample.line - 1] for sample in signature.samples],
        "helps": [to_json(remedy) | {"sentence": sentence(remedy)} for remedy in signature.remedies],
    }


def sentence(remedy: Remedy) -> str:
    """Return what a remedy does, and what it gives up, as one line."""
    moved = {**{n: f"{v:+g}" for n, v in remedy.add.items()}, **{n: f"times {v:g}" for n, v in remedy.scale.items()}}
    parts = [f"--{n} {v}{_where(remedy, n)}" for n, v in remedy.set.items() if n not in moved]
    parts += [f"{n if n.isupper() else f'--{n}'} {v}{_else(remedy, n)}" for n, v in moved.items()]
    parts += [f"{n}={v}{_where(remedy, n)}" for n, v in remedy.set_env.items() if n not in moved]
    parts += [f"without --{n}" for n in remedy.unset] + [f"without {n}" for n in remedy.unset_env]
    parts += [f"wait {remedy.wait:g} s"] if remedy.wait else []
    why = f": {remedy.why}" if remedy.why else ""
    gives_up = f" (gives up {remedy.gives_up})" if remedy.gives_up else ""
    return f"{', '.join(parts) or 'nothing to change'}{why}{gives_up}"


def _else(remedy: Remedy, name: str) -> str:
    known = {**remedy.set, **remedy.set_env}
    return f" ({known[name]} where its value is not known)" if name in known else ""


def _where(remedy: Remedy, name: str) -> str:
    """Say of a number that is only raised, or only lowered, where it is set."""
    words = {"up": " (where it is less)", "down": " (where it is more)"}
    return words.get(remedy.only.get(name, ""), "")


def _told(found: dict[str, Any]) -> list[str]:
    lines = [f"{kind['kind']}: {kind['is']}" for kind in found["kinds"]]
    for signature in found["signatures"]:
        lines += ["", f"{signature['id']} ({signature['kind']}, {signature['role']}): {signature['title']}"]
        lines += [f"  {signature['summary']}"] if signature["summary"] else []
        lines += [f"  shows as: {text.strip()}" for text in signature["shows"][:2]]
        lines += [f"  helps: {remedy['sentence']}" for remedy in signature["helps"]]
        lines += [f"  a person must act: {signature['next']}"] if signature["action"] == "person" else []
    return lines
