"""`relight completion`: the script that lets a shell complete commands and options."""

import click

from relight.cli.options import Common, common, examples
from relight.cli.output import document, say

SHELLS = ("bash", "zsh", "fish")
_SPLIT = "string split"
_WHERE = {
    "bash": 'eval "$(relight completion bash)" in ~/.bashrc',
    "zsh": 'eval "$(relight completion zsh)" in ~/.zshrc',
    "fish": "relight completion fish > ~/.config/fish/completions/relight.fish",
}


@click.command(epilog=examples(*(line for shell in SHELLS for line in [_WHERE[shell]])))
@click.argument("shell", type=click.Choice(SHELLS))
@common()
def completion(shared: Common, *, shell: str) -> int:
    """Print the completion script of a shell: bash, zsh or fish."""
    from click.shell_completion import get_completion_class  # noqa: PLC0415  only here

    from relight.cli.main import relight  # noqa: PLC0415  it imports this module when it is called

    made = get_completion_class(shell)
    assert made  # noqa: S101  the choice above holds only what click knows
    # click's script for fish ends a description at its first comma.
    script = made(relight, {}, "relight", "_RELIGHT_COMPLETE").source().replace(_SPLIT, f"{_SPLIT} -m 1")
    if shared.json:
        document({"shell": shell, "script": script, "install": _WHERE[shell]})
    else:
        say(f"# {_WHERE[shell]}\n{script}")
    return 0
