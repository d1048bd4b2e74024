"""Bytes to lines, lines to records, records to marks."""

import gzip
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest
import zstandard

from relight.config.phases import load_phases
from relight.config.shipped import engine
from relight.logs.find import finder
from relight.logs.lines import Line, split
from relight.logs.marks import Marks
from relight.logs.progress import Progress
from relight.logs.read import read_log
from relight.logs.records import record
from relight.logs.sieve import SMALL, sift
from relight.words.errors import UsageError

PHASES = load_phases(engine() / "phases.toml")


def one(text: str):  # type: ignore[no-untyped-def]  # noqa: ANN201
    return record(next(iter(split([text.encode()]))))


@pytest.mark.parametrize("pack", [bytes, gzip.compress, zstandard.ZstdCompressor().compress])
def test_compression_is_told_by_content(tmp_path: Path, pack) -> None:  # type: ignore[no-untyped-def]  # noqa: ANN001
    file = tmp_path / "log"
    file.write_bytes(pack(b"one\ntwo\n"))

    assert [line.text for line in split(read_log(str(file)))] == ["one", "two"]


@pytest.mark.parametrize("pack", [gzip.compress, zstandard.ZstdCompressor().compress])
def test_a_torn_archive_gives_what_it_holds_and_says_so(tmp_path: Path, pack: Callable[[bytes], bytes]) -> None:
    noise = bytes(Random(7).choices(b"abcdefgh\n", k=400_000))  # noqa: S311  a seeded generator
    packed = pack(noise)
    file, told = tmp_path / "log", list[str]()
    file.write_bytes(packed[: len(packed) * 3 // 4])

    got = b"".join(read_log(str(file), told.append))

    assert len(noise) // 4 < len(got) < len(noise)
    assert noise.startswith(got)
    assert len(told) == 1
    assert f"{len(got)} bytes" in told[0]


@pytest.mark.parametrize("pack", [gzip.compress, zstandard.ZstdCompressor().compress])
def test_a_torn_archive_of_which_nothing_is_left_cannot_be_read(tmp_path: Path, pack: Callable[[bytes], bytes]) -> None:
    file = tmp_path / "log"
    file.write_bytes(pack(b"one\ntwo\n")[:9])

    with pytest.raises(UsageError, match="torn"):
        list(read_log(str(file)))


def test_several_archives_in_one_file_are_read_one_after_the_other(tmp_path: Path) -> None:
    for pack in (gzip.compress, zstandard.ZstdCompressor().compress):
        file = tmp_path / "log"
        file.write_bytes(pack(b"one\n") + pack(b"two\n"))

        assert b"".join(read_log(str(file))) == b"one\ntwo\n"


def test_a_log_that_is_not_there_is_a_usage_error(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be read"):
        list(read_log(str(tmp_path / "none")))


def test_lines_count_from_one_and_lose_control_sequences() -> None:
    lines = list(split([b"\x1b[1;33mwarn\x1b[0m\r\n", b"a\x00b\xff\n", b"tail"]))

    assert [(x.number, x.offset, x.text) for x in lines] == [(1, 0, "warn"), (2, 17, "ab\ufffd"), (3, 22, "tail")]


@pytest.mark.parametrize(
    "prefix",
    [
        "",
        "sglang-1  | ",
        "2026-03-01T10:00:00.123456789Z ",
        "2026-03-01T10:00:00.123456789Z stderr F ",
        "Mar  1 10:00:00 node7 sglang[71]: ",
        "Mar 01 10:00:00 ",
        "(SGLangEngine pid=71) ",
        "1772359200123\t2026-03-01T10:00:00.123Z\t",
        "Loading: 50%|##   | 1/2 [00:01<00:01, 1.0it/s]\r",
        "Loading: 50%|##   | 1/2 [00:01<00:01, 1.0it/s]",
    ],
)
def test_whatever_stands_before_it_the_record_is_understood(prefix: str) -> None:
    rec = one(f"{prefix}[2026-03-01 10:00:00 DP0 TP3] Load weight begin. avail mem=94.60 GB")

    assert (rec.rank, rec.body, rec.fresh) == ("DP0 TP3", "Load weight begin. avail mem=94.60 GB", True)


def test_progress_knows_phase_step_and_facts() -> None:
    progress = Progress(Marks(PHASES))
    for line in split(
        [
            b"[2026-03-01 10:00:00 TP0] Load weight begin. avail mem=94.60 GB\n",
            b"Loading safetensors checkpoint shards:  40% Completed | 2/5 [00:00<00:00, 9.0it/s]\n",
        ]
    ):
        progress.feed(line)

    assert (progress.phase, progress.step) == ("load_weights", (2, 5))
    assert progress.facts["load_begin"]["TP0"] == {"avail": 94.6}


@pytest.mark.parametrize("how", ["hyperscan", "ahocorasick", "re"])
def test_a_large_log_is_sifted_alike_by_every_engine(how) -> None:  # type: ignore[no-untyped-def]  # noqa: ANN001
    try:
        find = finder(["failure here"], how)
    except LookupError:
        pytest.skip(f"{how} is not installed")
    noise = b"[2026-03-01 10:00:00] all is well\n" * (SMALL // 60)
    data = noise + b"[2026-03-01 10:00:00] FAILURE HERE\n" + noise

    lines = list(sift([data[:1000], data[1000:]], find))

    hit = [line for line in lines if "FAILURE" in line.text]
    assert [line.number for line in hit] == [noise.count(b"\n") + 1]
    assert lines[-1].number == data.count(b"\n")
    assert len(lines) < 1000


def test_a_line_full_of_hits_is_sifted_in_one_go() -> None:
    data = b"quiet\n" * 800_000 + b"an error here and " * 60_000 + b"\nafter\n" + b"quiet\n" * 1000

    kept = list(sift([data[i : i + 4096] for i in range(0, len(data), 4096)], finder(["error h"])))

    assert 800_001 in {line.number for line in kept}
    assert len(kept) < 2000


@pytest.mark.parametrize(
    "prefix",
    [
        "[1,0]<stderr>:",
        "ERROR 2026-06-15T14:10:59.392125190Z ",
        "2026-03-07 23:50:27,531 - __main__ - INFO - ",
        "ERROR 01-29 20:00:47 worker_base.py:148] ",
        "[20:21:47] ",
        "E       ",
        "> ",
        "- ",
    ],
)
def test_what_a_viewer_or_launcher_puts_before_an_exception_is_taken_off(prefix: str) -> None:
    assert record(Line(1, 0, f"{prefix}ValueError: no")).body == "ValueError: no"
