"""What would go wrong with a playbook on its hosts: looked at, told, and turned into an exit status."""

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from relight.attempts.nodes import for_nodes
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
from relight.cli.options import Common
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


@dataclass(frozen=True)
class Wanted:
    """What is to be looked at: a playbook, with what was typed beside it, on the hosts of these names."""

    playbook: Path
    hosts: tuple[str, ...]
    sets: tuple[str, ...] = ()
    unsets: tuple[str, ...] = ()
    env: tuple[str, ...] = ()
    validate: bool = True


def preflight(shared: Common, wanted: Wanted) -> int:
    """Look at each host, print what is found, and return the status it means."""
    loaded = load_playbook(existing(wanted.playbook))
    typed = change_of(wanted.sets, wanted.unsets, wanted.env, engine=loaded.engine)
    knowledge = load_knowledge(shared.signature_folders, engine=loaded.engine)
    found: list[Finding] = []
    with ExitStack() as stack:
        specs = stack.enter_context(host_specs(shared, wanted.hosts))
        overrides = for_nodes(loaded, typed, specs)
        hosts, looks = [], []
        for spec in specs:
            check_secrets(spec)
            hosts.append(stack.enter_context(open_spec(spec)))
            looks.append(look(hosts[-1], requested(loaded, overrides=overrides, host_env=spec.env)))
            found += findings(hosts[-1], looks[-1], loaded, overrides, knowledge, validate=wanted.validate)
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
