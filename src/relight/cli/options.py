"""Options that several commands share."""

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

import click

from relight.words.errors import UsageError

Complete: TypeAlias = Callable[[click.Context, click.Parameter, str], list[Any]]
F = TypeVar("F", bound=Callable[..., Any])


def local_path(text: str) -> Path:
    """Return a path given on the command line; it counts from the current folder."""
    return Path(text).expanduser()


class LocalPath(click.ParamType[Path]):
    """A path on this machine; whether it must exist is the command's to say."""

    name = "path"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Path:  # noqa: ARG002
        """Return the path, `~` expanded."""
        return value if isinstance(value, Path) else local_path(value)

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[Any]:  # noqa: ARG002
        """Leave it to the shell: what is wanted is a file or a folder."""
        from click.shell_completion import CompletionItem  # noqa: PLC0415  only where a shell asks

        kind = "dir" if (param.metavar or "") == "DIR" else "file"
        return [CompletionItem(incomplete, type=kind)]


PATH = LocalPath()


def examples(*lines: str) -> str:
    """Return the end of a command's help: commands to copy, one a line."""
    return "\n".join(("\b", "Examples:" if len(lines) > 1 else "Example:", *(f"  {line}" for line in lines)))


HOST = "A host of the hosts file, or lab."


def repeated(
    *names: str,
    metavar: str,
    help: str,  # noqa: A002  click's own word
    complete: Complete | None = None,
    required: bool = False,
) -> Callable[[F], F]:
    """Return an option that may be given several times; `complete` says what a shell offers for it."""
    return click.option(*names, multiple=True, metavar=metavar, help=help, shell_complete=complete, required=required)


@dataclass(frozen=True)
class Common:
    """What every command is given."""

    format: str = "text"
    hosts: Path | None = None
    state_dir: Path | None = None
    signatures: tuple[Path, ...] = ()
    quiet: bool = False
    verbose: int = 0

    @property
    def json(self) -> bool:
        """Say whether stdout is for one JSON document."""
        return self.format == "json"

    @property
    def state(self) -> Path:
        """Return the state folder: --state, RELIGHT_STATE, or the platform's."""
        if self.state_dir:
            return self.state_dir
        given = os.environ.get("RELIGHT_STATE")
        if given:
            return Path(given).expanduser()
        from platformdirs import user_state_path  # noqa: PLC0415  not needed for --help

        return user_state_path("relight")

    @property
    def signature_folders(self) -> tuple[Path, ...]:
        """Return the folders of own signatures: --signatures, then the user's, where there is one."""
        missing = [p for p in self.signatures if not p.is_dir()]
        if missing:
            raise UsageError("no such folder", place=f"--signatures {missing[0]}", next="name a folder of .toml files")
        own = config_folder() / "signatures"
        named = (*self.signatures, *([own] if own.is_dir() else []))
        return tuple({folder.resolve(): folder for folder in named}.values())


def config_folder() -> Path:
    """Return the folder of the user's own files."""
    base = os.environ.get("XDG_CONFIG_HOME")
    return (Path(base) if base else Path.home() / ".config") / "relight"


def common(*, formats: tuple[str, ...] = ("text", "json")) -> Callable[[F], F]:
    """Add --format, --hosts, --state, --signatures, -q and -v; the command gets one Common as its first argument."""

    def wrap(command: F) -> F:
        def inner(**given: Any) -> Any:
            shared = Common(
                format=given.pop("format"),
                hosts=given.pop("hosts"),
                state_dir=given.pop("state"),
                signatures=given.pop("signatures"),
                quiet=given.pop("quiet"),
                verbose=given.pop("verbose"),
            )
            return command(shared, **given)

        inner.__doc__ = command.__doc__
        inner.__name__ = command.__name__
        inner.__click_params__ = getattr(command, "__click_params__", [])  # type: ignore[attr-defined]
        for option in reversed(_shared(formats)):
            inner = option(inner)
        return inner  # type: ignore[return-value]

    return wrap


_HOSTS = "The hosts file [default: ./hosts.toml, then ~/.config/relight/hosts.toml]."
_STATE = "Where runs are kept [default: $RELIGHT_STATE, else the platform's state folder]."


def _shared(formats: tuple[str, ...]) -> list[Callable[[Any], Any]]:
    return [
        click.option("--format", type=click.Choice(formats), default="text", show_default=True, help="Form of stdout."),
        click.option("--hosts", type=PATH, metavar="FILE", help=_HOSTS),
        click.option("--state", type=PATH, metavar="DIR", help=_STATE),
        click.option("--signatures", type=PATH, metavar="DIR", multiple=True, help="A folder of own signatures."),
        click.option("-q", "--quiet", is_flag=True, help="Print only the result."),
        click.option("-v", "--verbose", count=True, help="Say more on stderr."),
    ]
