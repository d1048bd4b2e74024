"""A process that is nobody's: it holds memory on a card, or listens on a port, until it is ended."""

# mypy: disable-error-code="import-not-found,no-any-return"
import json
import signal
import socket
import sys

from sglang.srt.stand_in import cards
from sglang.srt.stand_in.process import set_title
from sglang.srt.stand_in.world import machine


def main(words: list[str]) -> None:
    """Do what `words` say: CARD MIB NAME HIDDEN, or --listen PORT."""
    if words[0] == "--listen":
        listening = socket.create_server(("127.0.0.1", int(words[1])))
        listening.listen()
    else:
        hold(int(words[0]), int(words[1]), words[2], hidden=words[3] == "1")
    sys.stdout.write("there\n")
    sys.stdout.flush()
    while True:
        signal.pause()


def hold(card: int, mib: int, name: str, *, hidden: bool) -> None:
    """Hold `mib` on `card`. Where it is hidden, nvidia-smi counts the memory and lists no process."""
    folder = machine() / "box" / "cards"
    if hidden:
        (folder / f"hidden-{card}").write_text(json.dumps({"card": card, "mib": mib}))
    else:
        cards.take(folder, card, mib, name)
    set_title(name)


if __name__ == "__main__":
    main(sys.argv[1:])
