"""A login that breaks off is no login that was refused."""

from dataclasses import dataclass
from typing import Any

import paramiko
import pytest

from relight.hosts.ssh_keys import Door, Login
from relight.words.errors import UnreachableError
from relight.words.secret import Secret

DOOR = Door(place="box", host="box", port=22, name="box", user="ada", file="known_hosts", via="", vouched="box")


@dataclass
class Transport:
    """A connection on which a login fails; `alive` says whether it is still up then."""

    alive: bool

    def is_active(self) -> bool:
        return self.alive

    def auth_password(self, *_: Any) -> Any:
        raise paramiko.AuthenticationException


def login() -> Login:
    return Login(DOOR, (), use_agent=False, passphrase=None, password=Secret("words"))


def test_a_login_that_is_refused_is_said_to_be() -> None:
    with pytest.raises(UnreachableError, match="refused the login of ada"):
        login().authenticate(Transport(alive=True))


def test_a_connection_that_breaks_off_during_the_login_may_be_had_again() -> None:
    with pytest.raises(paramiko.SSHException, match="broke off"):
        login().authenticate(Transport(alive=False))
