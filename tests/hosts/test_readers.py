"""What programs on a host print, read."""

from pathlib import Path

from relight.hosts.agent.engines import installed
from relight.hosts.agent.probes import container_of_cgroup, parse_images, parse_meminfo, parse_tcp
from relight.hosts.agent.processes import Proc, descendants, parse_stat
from relight.hosts.readers import read_gpus, read_kernel_log
from relight.words.host import GpuProcess

CARDS = """0, GPU-aa, NVIDIA RTX PRO 6000 Blackwell, 97887, 512, 580.65.06
1, GPU-bb, NVIDIA RTX PRO 6000 Blackwell, 97887, [N/A], 580.65.06
"""
APPS = """GPU-aa, 4242, 500, /opt/x/bin/python
GPU-bb, 77, [N/A], [Not Found]
"""


def test_cards_come_with_the_processes_on_them() -> None:
    first, second = read_gpus(CARDS, APPS)

    assert (first.index, first.memory_total, first.memory_used, first.driver) == (0, 97887, 512, "580.65.06")
    assert first.processes == (GpuProcess(4242, 500, "/opt/x/bin/python"),)
    assert (second.memory_used, second.processes[0].memory) == (0, 0)


def test_power_and_use_are_read_where_a_card_says_them() -> None:
    row = "0, GPU-aa, NVIDIA X, 97887, 512, 580.65.06, {}\n"

    spinning, silent = (read_gpus(row.format(text), "")[0] for text in ("83.41, 100", "[N/A], [N/A]"))

    assert (spinning.power, spinning.utilisation) == (83.41, 100.0)
    assert (silent.power, silent.utilisation) == (None, None)


def test_only_the_wanted_cards_are_looked_at() -> None:
    assert [gpu.index for gpu in read_gpus(CARDS, APPS, (1,))] == [1]


def test_what_is_no_table_has_no_cards() -> None:
    assert read_gpus("NVIDIA-SMI has failed because it couldn't communicate with the driver\n", "") == ()


def test_dmesg_lines_older_than_the_start_are_left_out() -> None:
    text = "[   10.5] old\n[  100.000001] Out of memory: Killed process 7 (python)\nno stamp\n"

    assert read_kernel_log("dmesg", text, booted=1000.0, since=1090.0) == ("Out of memory: Killed process 7 (python)",)


def test_the_journal_carries_epoch_seconds() -> None:
    text = "1000.100000 box kernel: NVRM: Xid (PCI:0000:01:00): 79\n900.0 box kernel: old\n"

    assert read_kernel_log("journal", text, booted=0.0, since=950.0) == ("NVRM: Xid (PCI:0000:01:00): 79",)


def test_a_process_name_may_hold_blanks_and_parentheses() -> None:
    fields = " ".join(["S", "1", *["0"] * 17, "4711", *["0"] * 30])

    assert parse_stat(f"42 (my (odd) name) {fields}") == Proc(42, 1, 4711, "S", "my (odd) name")


def test_descendants_are_found_through_every_generation() -> None:
    procs = {pid: Proc(pid, parent, 0, "S", "") for pid, parent in ((1, 0), (2, 1), (3, 2), (4, 3), (5, 1), (6, 5))}

    assert sorted(descendants(procs, 2)) == [3, 4]
    assert sorted(descendants(procs, 1)) == [2, 3, 4, 5, 6]


def test_listening_sockets_are_read_and_others_are_not() -> None:
    text = (
        "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n"
        "   0: 0100007F:7530 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000  0 5555 1 0 100 0 0 10 0\n"
        "   1: 0100007F:7530 0100007F:9999 01 00000000:00000000 00:00000000 00000000  1000  0 5556 1 0 20 4 30 10 -1\n"
    )

    assert parse_tcp(text) == [("127.0.0.1", 30000, 5555)]


def test_addresses_of_version_6_are_read() -> None:
    line = "0: 00000000000000000000000001000000:0016 " + "0" * 32 + ":0000 0A 0:0 00:0 0 0 0 77 1"

    assert parse_tcp("head\n" + line) == [("::1", 22, 77)]


def test_memory_and_containers_are_told_from_their_files() -> None:
    assert parse_meminfo("MemTotal:       24732432 kB\nMemFree:  1 kB\n")["MemTotal"] == 24732432
    assert container_of_cgroup("0::/kubepods/burstable/pod1") == "kubernetes"
    assert container_of_cgroup("0::/user.slice/user-0.slice") == ""


def test_images_of_both_engines_are_read() -> None:
    docker = '{"Repository":"lmsysorg/sglang","Tag":"v0.5.9"}\n{"Repository":"ubuntu","Tag":"24.04"}\n'
    podman = '[{"Names": ["docker.io/lmsysorg/sglang:latest"]}]'

    assert parse_images(docker) == {"lmsysorg/sglang:v0.5.9", "ubuntu:24.04"}
    assert parse_images(podman) == {"docker.io/lmsysorg/sglang:latest"}
    assert parse_images("Cannot connect to the Docker daemon") == set()


def test_an_installed_package_is_told_from_its_files(tmp_path: Path) -> None:
    site = tmp_path / "lib" / "python3.12" / "site-packages"
    (site / "sglang-0.5.9.dist-info").mkdir(parents=True)
    (site / "sglang-0.5.9.dist-info" / "METADATA").write_text("Metadata-Version: 2.4\nName: sglang\nVersion: 0.5.9\n")

    assert installed(str(tmp_path), "sglang") == ["0.5.9"]
    assert installed(str(tmp_path), "other") == []
