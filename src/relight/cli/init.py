"""`relight init`: ask a host, and print a hosts.toml and a first playbook."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click
from packaging.version import InvalidVersion, Version

from relight.cli import complete
from relight.cli.first import Offer, first_hosts, first_playbook
from relight.cli.models import models_on
from relight.cli.options import PATH, Common, common, config_folder, examples
from relight.cli.output import document, say
from relight.cli.places import host_spec, open_spec
from relight.config.hosts import RESERVED, find_hosts, load_hosts
from relight.config.keys import PORTS, is_port
from relight.hosts.interface import Host
from relight.hosts.values import HostError, Interpreter
from relight.words.errors import UsageError
from relight.words.host import HostSpec

_OF_THE_LAB = re.compile(r"/lab-[0-9a-f]{8}/opt/")
_ADDRESS = re.compile(r"(?:(?P<user>[^@\s]+)@)?(?P<address>[A-Za-z0-9_.:-]+?)(?::(?P<port>\d{1,5}))?")


@click.command(
    epilog=examples(
        "relight init root@gpu1.example.com -o .",
        "relight init local",
        "relight init lab   (what it prints, without any hardware)",
    )
)
@click.argument("target", metavar="HOST_OR_ADDRESS", shell_complete=complete.host_names)
@click.option("--name", metavar="NAME", help="How to call the host [default: from its address].")
@click.option("--python", metavar="PATH", help="The interpreter there [default: the one with the newest SGLang].")
@click.option("-o", "--output", type=PATH, metavar="DIR", help="Write hosts.toml and the playbook there.")
@common()
def init(shared: Common, *, target: str, name: str | None, python: str | None, output: Path | None) -> int:
    """Ask a host for its GPUs, its interpreters with SGLang and its models; print files to begin with.

    HOST_OR_ADDRESS is a name of the hosts file, [user@]address[:port], an alias of ~/.ssh/config, local, or lab.
    """
    with _spec(shared, target, name) as spec, open_spec(spec) as host:
        offer = look(host, spec, python)
        _runs(host, offer.python if python else "")
    hosts, playbook = first_hosts(offer), first_playbook(offer)
    if output:
        _write(output / "hosts.toml", hosts)
        _write(output / f"{offer.playbook_name}.toml", playbook)
    if shared.json:
        document({"hosts": hosts, "playbook": playbook, "name": offer.playbook_name})
    elif output:
        then = f"relight check {output / offer.playbook_name}.toml --hosts {output / 'hosts.toml'} --host {offer.name}"
        say(f"wrote {output / 'hosts.toml'} and {output / offer.playbook_name}.toml; next: {then}")
    else:
        say(f"# ---- hosts.toml ----\n{hosts}\n# ---- {offer.playbook_name}.toml ----\n{playbook}", nl=False)
    return 0


def _runs(host: Host, python: str) -> None:
    """Raise UsageError where an interpreter that was named is not on the host."""
    if python.startswith("/") and host.stat(python) is None:
        then = "leave --python out: the host is asked for those that have the engine"
        raise UsageError("no such file on the host", place=f"--python {python}", next=then)


@contextmanager
def _spec(shared: Common, target: str, name: str | None) -> Iterator[HostSpec]:
    if target == RESERVED or (shared.hosts and target in load_hosts(shared.hosts)) or _known(target):
        with host_spec(shared, target) as spec:
            yield spec
    else:
        yield spec_of(target, name)


def _known(target: str) -> bool:
    try:
        return target in load_hosts(find_hosts(None, here=Path(), config=config_folder()))
    except UsageError:
        return False


def spec_of(target: str, name: str | None = None) -> HostSpec:
    """Return the host that an address means. UsageError where it is none."""
    match = _ADDRESS.fullmatch(target)
    if match and match["port"] and not is_port(int(match["port"])):
        raise UsageError(f"{match['port']} is no port", place="HOST_OR_ADDRESS", next=PORTS)
    if not match:
        raise UsageError(f"'{target}' is no address", place="HOST_OR_ADDRESS", next="write [user@]address[:port]")
    address = match["address"]
    plain = re.sub(r"[^A-Za-z0-9_-]+", "-", address.split(".")[0] if not address[0].isdigit() else address).strip("-")
    chosen = name or (f"{plain}-host" if plain == RESERVED else plain)
    return HostSpec(chosen, address, user=match["user"], port=int(match["port"]) if match["port"] else None)


def look(host: Host, spec: HostSpec, python: str | None) -> Offer:
    """Return what a connected host has to offer."""
    facts = host.connect()
    found = _interpreters(host)
    # The interpreter that the hosts file names stays, where it has the engine.
    named = [i for i in found if i.path == (python or spec.python)]
    others = [] if python else sorted(found, key=_release, reverse=True)
    best = next(iter(named or others), None)
    return Offer(
        spec=spec,
        python=python or (best.path if best else spec.python),
        version=best.version if best else None,
        others=tuple(i for i in found if i is not best),
        found=best is not None,
        gpus=host.gpus(),
        # What lies on a simulated host is what lies on this machine.
        models=() if _stand_in(host) else models_on(host, facts.home, spec.env),
        stand_in=_stand_in(host),
    )


def _stand_in(host: Host) -> bool:
    """Say whether a host is simulated: its name says so, or it lies in a folder of the lab."""
    return host.spec.name == RESERVED or bool(_OF_THE_LAB.search(host.spec.python))


def _release(found: Interpreter) -> Version:
    try:
        return Version(found.version or "0")
    except InvalidVersion:
        return Version("0")


def _interpreters(host: Host) -> tuple[Interpreter, ...]:
    try:
        return host.interpreters()
    except HostError:
        return ()


def _write(path: Path, text: str) -> None:
    if path.exists():
        raise UsageError("there is such a file already", place=str(path), next="move it away, or choose another folder")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
