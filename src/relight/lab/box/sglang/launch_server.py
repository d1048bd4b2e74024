"""Launch the inference server (stand-in of `relight lab`)."""

# mypy: disable-error-code="import-not-found,no-any-return"
import os
import sys
import warnings

from sglang.srt.entrypoints.http_server import launch_server
from sglang.srt.server_args import ServerArgs, prepare_server_args
from sglang.srt.stand_in.log import raw
from sglang.srt.stand_in.world import scenario, since


def run_server(server_args: ServerArgs) -> None:
    """Run the server until it ends."""
    launch_server(server_args)


def announce() -> None:
    """Say that this is a stand-in, and what the real engine says about this way to start it."""
    raw(f"relight lab: a stand-in for SGLang {scenario().version}; no model is loaded and no GPU is used\n")
    if since(0, 5, 12):
        warnings.warn(
            "'python -m sglang.launch_server' is still supported, but 'sglang serve' is the recommended entrypoint.\n"
            "  Example: sglang serve --model-path <model> [options]",
            stacklevel=2,
        )


if __name__ == "__main__":
    announce()
    server_args = prepare_server_args(sys.argv[1:])
    run_server(server_args)
    os._exit(0)
