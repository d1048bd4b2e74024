"""A first hosts.toml and playbook for a host. Pure."""

import json
import re
from dataclasses import dataclass

from relight.cli.model import in_units
from relight.cli.models import ModelThere
from relight.config.hosts import RESERVED
from relight.hosts.values import Interpreter
from relight.words.host import Gpu, HostSpec

_GONE = "# A simulated host, gone with this command; `relight lab` starts one that stays."
_NO_MODEL = "  # no model was found on the host: name one"
ROOM = 0.85
"""The share of a card's memory that weights may take in a first playbook."""


@dataclass(frozen=True)
class Offer:
    """What a host has: the interpreter chosen, the others with the engine, cards and models.

    `found` says that the engine was found in the interpreter chosen.
    """

    spec: HostSpec
    python: str
    version: str | None
    others: tuple[Interpreter, ...] = ()
    gpus: tuple[Gpu, ...] = ()
    models: tuple[ModelThere, ...] = ()
    stand_in: bool = False
    found: bool = True

    @property
    def name(self) -> str:
        """Return how hosts.toml calls the host; `lab` is reserved."""
        return "simulated" if self.spec.name == RESERVED else self.spec.name

    @property
    def model(self) -> ModelThere | None:
        """Return the biggest model that fits on the cards, else the smallest."""
        room = sum(gpu.memory_total for gpu in self.gpus) * (1 << 20) * ROOM
        fit = [m for m in self.models if not self.gpus or m.bytes <= room]
        return next(iter(fit or self.models[-1:]), None)

    @property
    def playbook_name(self) -> str:
        """Return the playbook's name, after the model."""
        last = self.model.name.rstrip("/").rpartition("/")[2] if self.model else "first"
        return re.sub(r"[^a-z0-9.]+", "-", last.lower()).strip("-.") or "first"


def first_hosts(offer: Offer) -> str:
    """Return the text of a hosts.toml for the host."""
    spec = offer.spec
    rows: dict[str, object] = {
        "address": spec.address, "user": spec.user, "port": spec.port, "identity_file": spec.identity_file,
        "jump": spec.jump, "known_hosts": spec.known_hosts, "python": offer.python, "workdir": spec.workdir,
        "gpus": list(spec.gpus) if spec.gpus is not None else None,
    }  # fmt: skip
    lines = [_GONE] if spec.name == RESERVED else []
    lines += [f"[hosts.{offer.name}]"]
    lines += [f"{key} = {json.dumps(value)}" for key, value in rows.items() if value is not None]
    lines += [f"# {_engine(offer)}"]
    lines += [f"# also there: {other.path} ({other.version or 'version unknown'})" for other in offer.others]
    lines += [f"# GPUs: {_cards(offer.gpus)}"]
    if spec.env:
        lines += ["", f"[hosts.{offer.name}.env]", *(f"{n} = {json.dumps(v)}" for n, v in spec.env.items())]
    return "\n".join(lines) + "\n"


def _engine(offer: Offer) -> str:
    if not offer.found:
        return f"no SGLang was found in {offer.python}: name the interpreter that has it"
    return f"SGLang {offer.version or 'of a version that is not known'} is in {offer.python}"


def _cards(gpus: tuple[Gpu, ...]) -> str:
    if not gpus:
        return "none seen"
    return f"{len(gpus)}x {gpus[0].name}, {gpus[0].memory_total} MiB each"


def tp_size(offer: Offer) -> int:
    """Return on how many cards the model should lie: the fewest that hold it (a power of two), all if unknown."""
    cards = len(offer.gpus)
    sizes = [n for n in (1, 2, 4, 8, 16) if n <= cards] or [1]
    if not offer.gpus or not offer.model or not offer.model.bytes:
        return sizes[-1]
    room = min(gpu.memory_total for gpu in offer.gpus) * (1 << 20) * ROOM
    return next((n for n in sizes if offer.model.bytes / n <= room * 0.8), sizes[-1])


def first_playbook(offer: Offer) -> str:
    """Return the text of a first playbook: the model that is there, as many cards as it needs, sane levers."""
    model = offer.model
    lines = ["schema = 1", f'name = "{offer.playbook_name}"', 'engine = "sglang"', "", "[flags]"]
    size = f"  # {in_units(model.bytes)} of weights" if model and model.bytes else ""
    lines += [f"model-path = {json.dumps(model.name if model else 'OWNER/MODEL')}{size}"]
    if not model:
        lines[-1] += "  # any name: a simulated host has no models" if offer.stand_in else _NO_MODEL
    if offer.gpus:
        lines += [f"tp-size = {tp_size(offer)}"]
    else:
        lines += ['device = "cpu"  # no GPUs were seen']
    lines += ["port = 30000"]
    others = [m.name for m in offer.models if m is not model][:8]
    lines += [f"# also on the host: {name}" for name in others]
    lines += ["", "[protect]", 'flags = ["tp-size"]' if offer.gpus else 'flags = ["device"]']
    lines += _levers(offer)
    judge = "" if offer.gpus else '\njudge = "shape"  # a CPU answers slowly; only the form is judged'
    lines += ["", "[health]", 'deadline = "45m"' + judge, "", "[budget]", "attempts = 20", 'deadline = "8h"', ""]
    return "\n".join(lines)


_SM120 = re.compile(r"RTX PRO (?:[456]\d{3})|RTX 50\d0", re.IGNORECASE)


def _levers(offer: Offer) -> list[str]:
    """Return levers for the cards: what is worth trying there, most wanted first."""
    if not offer.gpus:
        return []
    lines = ["", "# What is wanted, most wanted first; the variants of a lever are tried in order."]
    if _SM120.search(offer.gpus[0].name):
        lines += [
            "# These cards (SM120) lack kernels that datacenter Blackwell has: triton works for every model,",
            "# flashinfer is faster where it works.",
            *_lever("attention", 2, ['{ flags = { attention-backend = "flashinfer" } }',
                                     '{ flags = { attention-backend = "triton" } }', '"off"']),
        ]  # fmt: skip
    lines += _lever("memory", 1, ["{ flags = { mem-fraction-static = 0.90 } }", '"off"'])
    return lines


def _lever(name: str, keep: int, variants: list[str]) -> list[str]:
    return ["", "[[lever]]", f'name = "{name}"', f"keep = {keep}", "variants = [", *(f"  {v}," for v in variants), "]"]
