"""Where nodes meet: an address of the first that all others really reach, and a port that is free there."""

import json
import secrets
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from relight.hosts.interface import Host
from relight.hosts.values import HostError

SECONDS = 8.0
"""How long the first node listens for the others."""
RANGE = 14
"""Ports above the one to meet at that the engine may use as well."""
# Prints a port with free ones above it, and this machine's addresses, those of loopback last.
LOOK = """
import json, re, socket, sys
def free(port):
    with socket.socket() as probe:
        try:
            probe.bind(("", port))
        except OSError:
            return False
        return True
found = 0
for _ in range(200):
    with socket.socket() as probe:
        probe.bind(("", 0))
        port = probe.getsockname()[1]
    if port + int(sys.argv[1]) < 65536 and all(free(port + n) for n in range(int(sys.argv[1]))):
        found = port
        break
try:
    with open("/proc/net/fib_trie") as file:
        text = file.read()
except OSError:
    text = ""
local = dict.fromkeys(re.findall(r"([0-9.]+)\\n\\s+/32 host LOCAL", text))
print(json.dumps({"port": found, "addresses": sorted(local, key=lambda a: a.startswith("127."))}))
"""
# Listens on a port, says a word to whoever comes, and ends when each of `count` others has said goodbye.
LISTEN = """
import socket, sys, time
port, count, seconds, word = int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3]), sys.argv[4].encode()
until = time.monotonic() + seconds
try:
    server = socket.socket()
    server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    server.bind(("", port))
    server.listen(64)
except OSError as error:
    sys.exit("port %d: %s" % (port, error.strerror))
while count > 0 and time.monotonic() < until:
    server.settimeout(max(0.05, until - time.monotonic()))
    try:
        peer = server.accept()[0]
        peer.settimeout(2.0)
        peer.sendall(word)
        count -= peer.recv(1) == b"!"
        peer.close()
    except OSError:
        pass
"""
# Tries addresses until one answers with the word, and prints those that do.
CALL = """
import json, socket, sys, threading, time
port, seconds, word, addresses = int(sys.argv[1]), float(sys.argv[2]), sys.argv[3].encode(), sys.argv[4:]
until = time.monotonic() + seconds
reached, known = {}, []
def call(address, last):
    with socket.create_connection((address, port), 2.0) as peer:
        peer.settimeout(2.0)
        said = b""
        while len(said) < len(word):
            more = peer.recv(64)
            if not more:
                break
            said += more
        peer.sendall(b"!" if last else b".")
        return said == word
def keep_calling(address):
    while time.monotonic() < min([until, *known]):
        try:
            reached[address] = call(address, False)
            if reached[address]:
                known.append(time.monotonic() + 0.7)
            return
        except OSError:
            time.sleep(0.1)
threads = [threading.Thread(target=keep_calling, args=(a,), daemon=True) for a in addresses]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join(max(0.0, min([until, *known]) - time.monotonic()) + (0.1 if known else 2.1))
good = [a for a in addresses if reached.get(a)]
if good:
    call(good[0], True)
print(json.dumps(good))
"""


@dataclass(frozen=True)
class Place:
    """Where the first node can be met: a free port, and its own addresses."""

    port: int
    addresses: tuple[str, ...]


@dataclass(frozen=True)
class Reached:
    """Under which of the addresses asked about each of the other nodes reached the first; `fault`: it cannot listen."""

    by: tuple[tuple[str, ...], ...]
    fault: str = ""

    def address(self, wanted: Sequence[str]) -> str | None:
        """Return the first of `wanted` that all nodes reached."""
        return next((a for a in wanted if all(a in seen for seen in self.by)), None)


def look(first: Host) -> Place:
    """Ask the first node for a port that is free, with those above it, and for its addresses."""
    said = _said(first, LOOK, [str(RANGE)])
    if not isinstance(said, dict) or not said.get("port"):
        raise HostError("no free port to meet at was found", place=first.spec.name)
    return Place(int(said["port"]), tuple(map(str, said["addresses"])))


def reach(nodes: Sequence[Host], port: int, addresses: Sequence[str]) -> Reached:
    """Let the first node listen on `port` and the others call it at `addresses`; say who reached it where.

    Each call is answered with a word of this question only, so that another machine of that address is no mistake.
    """
    word = secrets.token_hex(8)
    first, *others = nodes
    with ThreadPoolExecutor(len(nodes)) as pool:
        words = [str(port), str(len(others)), str(SECONDS), word]
        listening = pool.submit(first.run, ("PYTHON", "-I", "-c", LISTEN, *words), timeout=SECONDS + 10)
        calls = [pool.submit(_called, host, port, word, addresses) for host in others]
        by = tuple(call.result() for call in calls)
        listened = listening.result()
    fault = "" if listened.code == 0 else listened.stderr.decode("utf-8", "replace").strip()[-200:]
    return Reached(by, fault)


def _called(host: Host, port: int, word: str, addresses: Sequence[str]) -> tuple[str, ...]:
    said = _said(host, CALL, [str(port), str(SECONDS - 4.0), word, *addresses])
    return tuple(map(str, said)) if isinstance(said, list) else ()


def _said(host: Host, script: str, words: Sequence[str]) -> Any:
    ran = host.run(("PYTHON", "-I", "-c", script, *words), timeout=SECONDS + 10)
    try:
        return json.loads(ran.stdout)
    except ValueError:
        said = ran.stderr.decode("utf-8", "replace").strip()[-200:]
        raise HostError(f"the ways between the nodes cannot be tried: {said}", place=host.spec.name) from None
