"""A stand-in for nvidia-smi: eight cards whose memory is what the stand-in's processes hold."""

# mypy: disable-error-code="import-not-found,no-any-return"
import sys
from typing import Any

from sglang.srt.stand_in import cards
from sglang.srt.stand_in.world import machine, scenario

NAME = "NVIDIA RTX PRO 6000 Blackwell Server Edition"
COUNT = 8


def uuid(card: int) -> str:
    """Return the id of a card."""
    return f"GPU-1ab5e11a-0000-4000-8000-{card:012d}"


def main(words: list[str]) -> int:
    """Answer one call."""
    options = dict(word.partition("=")[::2] for word in words)
    held = cards.holdings(machine() / "box" / "cards", scenario().release)
    only = chosen(options, words)
    shape = options.get("--format", "csv")
    if "-L" in words or "--list-gpus" in words:
        write("".join(f"GPU {n}: {NAME} (UUID: {uuid(n)})\n" for n in only))
    elif "--query-gpu" in options:
        return show(options["--query-gpu"], [gpu_row(n, held) for n in only], shape)
    elif "--query-compute-apps" in options:
        apps = [h for h in held if h.card in only and h.alive and h.pid]
        return show(options["--query-compute-apps"], [app_row(h) for h in apps], shape)
    else:
        write(screen(held))
    return 0


def chosen(options: dict[str, str], words: list[str]) -> list[int]:
    """Return the cards that -i or --id names, all without it."""
    asked = options.get("--id") or options.get("-i") or (words[words.index("-i") + 1] if "-i" in words else "")
    return [n for n in range(COUNT) if not asked or str(n) in asked.split(",") or uuid(n) in asked.split(",")]


def used(card: int, held: list[cards.Holding]) -> int:
    """Return how much is in use on a card (MiB)."""
    return cards.IDLE_MIB + sum(h.mib for h in held if h.card == card)


def gpu_row(card: int, held: list[cards.Holding]) -> dict[str, Any]:
    """Return all that can be asked about a card; a pair is a number and its unit."""
    mib = used(card, held)
    return {
        "index": card,
        "name": NAME,
        "gpu_name": NAME,
        "uuid": uuid(card),
        "gpu_uuid": uuid(card),
        "count": COUNT,
        "driver_version": scenario().driver,
        "compute_cap": "12.0",
        "pci.bus_id": f"00000000:{card * 16 + 1:02X}:00.0",
        "memory.total": (cards.TOTAL_MIB, "MiB"),
        "memory.used": (mib, "MiB"),
        "memory.free": (cards.TOTAL_MIB - mib, "MiB"),
        "memory.reserved": (638, "MiB"),
        "utilization.gpu": (0, "%"),
        "utilization.memory": (0, "%"),
        "temperature.gpu": 34,
        "power.draw": (83.4 if mib > 1000 else 17.2, "W"),
        "power.limit": (600.0, "W"),
        "pstate": "P8",
        "compute_mode": "Default",
        "persistence_mode": "Enabled",
        "mig.mode.current": "Disabled",
        "ecc.errors.uncorrected.volatile.total": 0,
    }


def app_row(held: cards.Holding) -> dict[str, Any]:
    """Return all that can be asked about a process on a card."""
    memory = (held.mib, "MiB")
    return {
        "pid": held.pid,
        "process_name": held.name,
        "name": held.name,
        "used_memory": memory,
        "used_gpu_memory": memory,
        "gpu_uuid": uuid(held.card),
        "gpu_name": NAME,
        "gpu_bus_id": f"00000000:{held.card * 16 + 1:02X}:00.0",
    }


def show(asked: str, rows: list[dict[str, Any]], shape: str) -> int:
    """Write `rows` as CSV with the fields of `asked`."""
    names = [name.strip() for name in asked.split(",")]
    known = gpu_row(0, []) | app_row(cards.Holding(0, 0, 0, "", 0))
    wrong = next((name for name in names if name not in known), None)
    if wrong:
        write(f'Field "{wrong}" is not a valid field to query.\n\n')
        return 2
    units = "nounits" not in shape
    if "noheader" not in shape:
        write(", ".join(heading(name, known[name], units=units) for name in names) + "\n")
    for row in rows:
        write(", ".join(cell(row.get(name, "[N/A]"), units=units) for name in names) + "\n")
    return 0


def heading(name: str, sample: object, *, units: bool) -> str:
    """Return the title of a column."""
    return f"{name} [{sample[1]}]" if units and isinstance(sample, tuple) else name


def cell(value: object, *, units: bool) -> str:
    """Return a value, with its unit where units are wanted."""
    if isinstance(value, tuple):
        return f"{value[0]} {value[1]}" if units else str(value[0])
    return str(value)


def screen(held: list[cards.Holding]) -> str:
    """Return the page for people."""
    driver, cuda = scenario().driver, scenario().cuda
    lines = [f"NVIDIA-SMI {driver}   Driver Version: {driver}   CUDA Version: {cuda}   (stand-in of relight lab)", ""]
    lines += [f"| {n}  {NAME}  {used(n, held):>6}MiB / {cards.TOTAL_MIB}MiB |" for n in range(COUNT)]
    lines += [f"| {h.card}  {h.pid}  C  {h.name}  {h.mib}MiB |" for h in held if h.alive]
    return "\n".join(lines) + "\n"


def write(text: str) -> None:
    """Write to standard output."""
    sys.stdout.write(text)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
