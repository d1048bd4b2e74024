"""The host a command works on: found in hosts.toml or the lab, opened, and closed again."""

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path

from relight.cli.options import Common, config_folder
from relight.config.hosts import RESERVED, find_hosts, load_hosts, pick
from relight.hosts.interface import Host
from relight.words.host import HostSpec


@contextmanager
def host_spec(shared: Common, name: str) -> Iterator[HostSpec]:
    """Yield the host called `name`; `lab` starts the simulated host for as long as this lasts."""
    if name == RESERVED:
        from relight.lab import lab_host  # noqa: PLC0415  only where it is asked for

        with lab_host(shared.state / RESERVED) as spec:
            yield spec
    else:
        path = find_hosts(shared.hosts, here=Path(), config=config_folder())
        yield pick(load_hosts(path), name, path)


def open_spec(spec: HostSpec) -> AbstractContextManager[Host]:
    """Yield the host of `spec`, connected."""
    return open_specs((spec,))


@contextmanager
def open_specs(specs: Sequence[HostSpec]) -> Iterator[Host]:
    """Yield the host of one spec, or the nodes of several, connected."""
    from relight.hosts import open_hosts  # noqa: PLC0415  imports paramiko

    host = open_hosts(specs)
    try:
        host.connect()
        yield host
    finally:
        host.close()


@contextmanager
def host_specs(shared: Common, names: Sequence[str]) -> Iterator[tuple[HostSpec, ...]]:
    """Yield the hosts called `names`, in this order."""
    with ExitStack() as stack:
        yield tuple(stack.enter_context(host_spec(shared, name)) for name in names)


@contextmanager
def open_host(shared: Common, name: str) -> Iterator[Host]:
    """Yield the host called `name`, connected."""
    with ExitStack() as stack:
        spec = stack.enter_context(host_spec(shared, name))
        yield stack.enter_context(open_spec(spec))
