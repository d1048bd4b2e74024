"""What a run is asked to do."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from relight.words.host import HostSpec
from relight.words.playbook import Playbook
from relight.words.settings import Change

Mode: TypeAlias = Literal["deploy", "retry"]


@dataclass(frozen=True)
class RunOrder:
    """One call of `deploy` or `retry`.

    `overrides` are --set, --unset and --env; `max_attempts` and `deadline` (seconds) override the playbook's budget;
    `wait` waits for a busy host, `replace` stops an earlier run's server first, `keep` stays after healthy;
    `forget` drops what earlier runs learned;
    `typed` are options of the command line that a suggested command must repeat (name -> values);
    `owner_user` and `owner_host` name who runs relight, for the lock. `specs` are the hosts of a server over several
    nodes, in the order of rank; `spec` then holds what they share.
    """

    playbook: Playbook
    spec: HostSpec
    mode: Mode = "retry"
    overrides: Change = field(default_factory=Change)
    max_attempts: int | None = None
    deadline: float | None = None
    replace: bool = False
    wait: bool = False
    keep: bool = False
    forget: bool = False
    owner_user: str = ""
    owner_host: str = ""
    owner_pid: int = 0
    typed: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    specs: tuple[HostSpec, ...] = ()

    @property
    def hosts(self) -> tuple[HostSpec, ...]:
        """Return the hosts of the run, in the order of rank."""
        return self.specs or (self.spec,)
