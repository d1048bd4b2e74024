"""`relight check`: what would go wrong, before anything is launched."""

from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

import click

from relight.attempts.nodes import for_nodes
from relight.cli import complete
from relight.cli.findings import Finding, host_findings, ordered
from relight.cli.flag_findings import (
    cases,
    name_findings,
    parse_findings,
    requested,
    unfit_findings,
)
from relight.cli.kept import kept_here
from relight.cli.nodes import node_findings
from relight.cli.options import HOST, PATH, Common, common, examples, repeated
from relight.cli.output import document, folded, say
from relight.cli.overrides import change_of
from relight.cli.places import host_specs, open_spec
from relight.cli.playbooks import existing
from relight.cli.secrets import check_secrets
from relight.cli.seen import Seen, look
from relight.cli.validated import validated
from relight.config.knowledge import load_knowledge
from relight.config.playbook import load_playbook
from relight.hosts.interface import Host
from relight.hosts.nodes import joined
from relight.journal.codec import to_json
from relight.journal.redact import redact_json
from relight.reports.prose import count
from relight.words.knowledge import Knowledge
from relight.words.playbook import Playbook
from relight.words.settings import Change
from relight.words.text import shown


@click.command(epilog=examples("relight check qwen.toml --host rtx8"))
@click.argument("playbook", type=PATH, metavar="PLAYBOOK")
@repeated("--host", "names", metavar="NAME", complete=complete.host_names, help=HOST, required=True)
@repeated("--set", "sets", metavar="FLAG=VALUE", complete=complete.assignments, help="As for retry.")
@repeated("--unset", "unsets", metavar="FLAG", complete=complete.flags, help="As for retry.")
@repeated("--env", metavar="NAME=VALUE", help="As for retry.")
@click.option("--no-validate", is_flag=True, help="Do not ask the engine's own validation, which imports the engine.")
@common()
def check(
    shared: Common,
    *,
    playbook: Path,
    names: tuple[str, ...],
    sets: tuple[str, ...],
    unsets: tuple[str, ...],
    env: tuple[str, ...],
    no_validate: bool,
) -> int:
    """Look at the host, its GPUs and engine, every flag, the model, ports, disk and leftovers. Launches nothing.

    Of several hosts each is looked at, then whether they can be the nodes of one server.

    Exit status: 0 if nothing is wrong (warnings and notes may be printed), 1 if something is.
    """
    loaded = load_playbook(existing(playbook))
    typed = change_of(sets, unsets, env, engine=loaded.engine)
    knowledge = load_knowledge(shared.signature_folders, engine=loaded.engine)
    found: list[Finding] = []
    with ExitStack() as stack:
        specs = stack.enter_context(host_specs(shared, names))
        overrides = for_nodes(loaded, typed, specs)
        hosts, looks = [], []
        for spec in specs:
            check_secrets(spec)
            hosts.append(stack.enter_context(open_spec(spec)))
            looks.append(look(hosts[-1], requested(loaded, overrides=overrides, host_env=spec.env)))
            found += findings(hosts[-1], looks[-1], loaded, overrides, knowledge, validate=not no_validate)
        if len(hosts) > 1:
            settings = requested(loaded, overrides=overrides, host_env=joined(specs).env)
            found += node_findings(hosts, looks, settings, loaded.engine)
    return told(shared, ordered([*found, *kept_here(shared.state)]))


def findings(
    host: Host, seen: Seen, playbook: Playbook, overrides: Change, knowledge: Knowledge, *, validate: bool
) -> tuple[Finding, ...]:
    """Return everything worth saying about `playbook` on a connected host of which `seen` was seen."""
    spec = host.spec
    found = cases(
        playbook,
        overrides=overrides,
        host_env=spec.env,
        parser=seen.parser,
        version=seen.version,
        pairs=validate,
    )
    return (
        *host_findings(spec, found[0].settings, seen),
        *unfit_findings(playbook, seen.parser, seen.version),
        *(parse_findings(found, seen.parser, knowledge) if seen.parser else ()),
        *name_findings(playbook, overrides, seen.parser, knowledge, "error"),
        *(validated(host, found, seen, knowledge) if validate else ()),
    )


def told(shared: Common, found: Sequence[Finding]) -> int:
    """Print findings and return the status they mean."""
    ok = not any(finding.severity == "error" for finding in found)
    if shared.json:
        document(redact_json({"ok": ok, "findings": to_json(tuple(found))}))
    for finding in found if not shared.json else ():
        if not (shared.quiet and finding.severity == "note"):
            then = f" ({finding.next})" if finding.next else ""
            for line in folded(shown(f"{finding.severity:<7} {finding.place}: {finding.text}{then}"), 8):
                say(line)
            for line in finding.detail:
                for part in folded(shown(f"{' ' * 10}{line}"), 12):
                    say(part)
    if not shared.json and not shared.quiet:
        say(_in_all(found))
    return int(not ok)


def _in_all(found: Sequence[Finding]) -> str:
    """Return the last line: whether something is wrong, and what else there is to read."""
    errors, warnings = (sum(f.severity == severity for f in found) for severity in ("error", "warning"))
    more = f"; {count(warnings, 'warning')} above" if warnings else ""
    return f"something is wrong: {count(errors, 'error')} above{more}" if errors else f"nothing is wrong{more}"
