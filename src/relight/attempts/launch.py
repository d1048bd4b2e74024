"""Start one attempt on the host; sent twice, it starts one server."""

import os
from collections.abc import Mapping
from pathlib import Path

from relight.attempts.order import RunOrder
from relight.attempts.site import Site
from relight.hosts.nodes import own_env
from relight.hosts.values import Launched, LaunchOrder, NodeOrder
from relight.words.attempt import Attempt
from relight.words.errors import UsageError
from relight.words.host import SecretSource
from relight.words.secret import Secret
from relight.words.settings import Settings


def launch(site: Site, attempt: Attempt) -> Launched:
    """Send the launch of `attempt`; the host answers with the running server where it was sent before."""
    spec = site.order.spec
    return site.host.launch(
        LaunchOrder(
            attempt_id=site.attempt_id(attempt.n),
            argv=attempt.argv,
            env=attempt.settings.env,
            secrets=revealed(spec.secrets, f"hosts.{spec.name}.secrets"),
            secret_flags=revealed(spec.secret_flags, f"hosts.{spec.name}.secret-flags"),
            run=site.record.run,
            port=port_of(attempt.settings),
            title=site.record.playbook,
            nodes=_nodes(site),
        )
    )


def _nodes(site: Site) -> tuple[NodeOrder, ...]:
    """Return what each of several nodes gets for itself: its number, its own variables, its secrets."""
    specs = site.order.hosts
    if len(specs) < 2:
        return ()
    # What the playbook or the command line says goes for all nodes; a repair does not undo what a node needs.
    asked = {*site.order.spec.env, *_asked_variables(site.order)}
    return tuple(
        NodeOrder(
            rank,
            own_env(spec, asked),
            revealed(spec.secrets, f"hosts.{spec.name}.secrets"),
            revealed(spec.secret_flags, f"hosts.{spec.name}.secret-flags"),
        )
        for rank, spec in enumerate(specs)
    )


def _asked_variables(order: RunOrder) -> set[str]:
    """Return the variables that the operator names for the whole server."""
    of_levers = (name for lever in order.playbook.levers for variant in lever.variants for name in variant.env)
    return {*order.playbook.env, *order.overrides.set_env, *order.overrides.unset_env, *of_levers}


def revealed(sources: Mapping[str, SecretSource], place: str) -> dict[str, Secret]:
    """Read the secrets of a host now; UsageError names the one that is missing."""
    return {name: _secret(source, f"{place}.{name}") for name, source in sources.items()}


def _secret(source: SecretSource, place: str) -> Secret:
    if source.kind == "env":
        value = os.environ.get(source.where)
        if value is None:
            raise UsageError(f"the environment has no {source.where}", place=place, next=f"export {source.where}=...")
        return Secret(value)
    try:
        return Secret(Path(source.where).expanduser().read_text(encoding="utf-8").strip())
    except OSError as exc:
        fault = f"{source.where}: {exc.strerror}"
        raise UsageError(fault, place=place, next="name a readable file") from exc


def port_of(settings: Settings) -> int | None:
    """Return the HTTP port the settings name, None where they leave it to the engine."""
    value = settings.flags.get("port")
    return int(str(value)) if value is not None and str(value).isdigit() else None
