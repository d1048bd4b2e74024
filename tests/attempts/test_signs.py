from relight.attempts.signs import command, read
from relight.words.host import Gpu, HostProcess

STAT = "7 (a (strange) name) S 1 7 7 0 -1 4194560 100 0 31 0 250 50 0 0 20 0 1 0 900 1000000 512 18446744073709551615 1"


def test_one_command_asks_for_all_processes_without_a_shell() -> None:
    assert command([7, 8])[-4:] == ("/proc/7/stat", "/proc/7/io", "/proc/8/stat", "/proc/8/io")


def test_times_memory_and_traffic_are_read() -> None:
    output = f"/proc/7/stat:{STAT}\n/proc/7/io:rchar: 100\n/proc/7/io:read_bytes: 4096\n/proc/7/io:syscr: 9\nnoise\n"

    signs = read(output, [HostProcess(7, 1, 900, "S", "python -m sglang")], at=5.0, gpus=[Gpu(0, "card", 97887, 700)])

    process = signs.processes[7]
    assert (process.cpu, process.io, process.rss, process.command) == (3.0, 4196, 512 * 4096, "python -m sglang")
    assert (process.faults, signs.vram) == (31, {0: 700})


def test_what_may_not_be_read_leaves_what_the_process_table_says() -> None:
    signs = read("", [HostProcess(7, 1, 900, "D", "x")], at=5.0)

    assert (signs.processes[7].state, signs.processes[7].cpu, signs.blind) == ("D", 0.0, False)


def test_power_and_use_of_the_cards_are_signs() -> None:
    signs = read("", (), at=1.0, gpus=[Gpu(0, "card", 97887, 700, power=83.0, utilisation=100.0), Gpu(1, "card", 1, 1)])

    assert (signs.watts, signs.utilisation) == ({0: 83.0}, {0: 100.0})
