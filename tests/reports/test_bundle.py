"""The archive of a run."""

import json
import re

import pytest
import zstandard

from relight.reports import bundle
from relight.reports.bundle import Member, members
from relight.reports.nameless import Nameless
from relight.words.attempt import Record
from tests.reports.more_stories import person
from tests.reports.stories import healthy

SECRET = "hf_abcdefghijklmnop123"


def encode(record: Record) -> str:
    return json.dumps({"run": record.run, "text": str(record)})


def archive(record: Record) -> dict[str, bytes]:
    found = members(
        record,
        encode=encode,
        playbook='name = "x"\n[env]\nHF_TOKEN = "abc123"\n',
        events=(f'{{"event": "marked", "text": "{SECRET}"}}\n',),
        logs={"attempts/001/server.log": (b"api_key='geheim', tp_size=8\n", b"caf\xe9 \xff\n")},
    )
    return {member.name: member.data for member in found}


def unpacked(data: bytes) -> bytes:
    return zstandard.ZstdDecompressor().decompressobj().decompress(data)


def test_everything_stands_in_one_folder_named_after_the_run() -> None:
    names = list(archive(healthy()))

    assert {name.split("/", maxsplit=1)[0] for name in names} == {"relight-20261129-080000-healthy"}
    assert [name.split("/", maxsplit=1)[1] for name in names] == [
        "record.json",
        "report.txt",
        "report.html",
        "issue.md",
        "environment.json",
        "playbook.toml",
        "events.jsonl",
        "logs/attempts-001-server.log.zst",
    ]


def test_no_secret_is_in_any_member() -> None:
    for name, data in archive(person()).items():
        text = unpacked(data) if name.endswith(".zst") else data
        for secret in (SECRET, "abc123", "geheim"):
            assert secret.encode() not in text, name


def test_a_log_keeps_its_other_bytes() -> None:
    log = archive(healthy())["relight-20261129-080000-healthy/logs/attempts-001-server.log.zst"]

    assert unpacked(log) == b"api_key='***', tp_size=8\ncaf\xe9 \xff\n"


def test_names_stay_below_the_folder() -> None:
    found = list(members(healthy(), encode=encode, logs={"../../etc/passwd": (), "C:\\x\\y.log": (), "/": ()}))

    names = [member.name for member in found if "/logs/" in member.name]
    assert names == [
        "relight-20261129-080000-healthy/logs/etc-passwd.zst",
        "relight-20261129-080000-healthy/logs/C--x-y.log.zst",
        "relight-20261129-080000-healthy/logs/unnamed.zst",
    ]


def test_an_empty_member_is_left_out() -> None:
    names = [member.name for member in members(healthy(), encode=encode)]

    assert not any(name.endswith(("playbook.toml", "events.jsonl")) for name in names)
    assert isinstance(bundle.compressed([]), bytes)
    assert Member("a", b"").name == "a"


NAMELESS = Nameless("/home/ada", {"gpu1.example.com": "host1", "gpu1": "host1", "10.0.0.7": "host2", "local": "host3"})


@pytest.mark.parametrize(
    ("told", "as_"),
    [
        ("/home/ada/models/x", "~/models/x"),
        ("/home/bob/venv/lib/a.py:3", "/home/somebody/venv/lib/a.py:3"),
        ('"/Users/bob"', '"/Users/somebody"'),
        ("root@gpu1.example.com:22", "root@host1:22"),
        ("gpu1:71:71 [0] NCCL INFO, see gpu1.", "host1:71:71 [0] NCCL INFO, see host1."),
        ("tcp://10.0.0.7:20000 and 10.0.0.71", "tcp://host2:20000 and 10.0.0.71"),
        ("gpu10, gpu1-b, gpu1.log, my.gpu1", "gpu10, gpu1-b, gpu1.log, my.gpu1"),
        ("local and 127.0.0.1 stay", "local and 127.0.0.1 stay"),
    ],
)
def test_what_names_a_person_or_a_machine_is_told_in_other_words(told: str, as_: str) -> None:
    assert NAMELESS(told) == as_


def test_no_member_of_an_archive_names_its_machine_or_a_home() -> None:
    line = b"gpu1:71 File /home/bob/venv/sglang/launch_server.py\n"
    found = members(healthy(), encode=encode, playbook='model-path = "/home/ada/m"\n', logs={"a.log": (line,)},
                    nameless=NAMELESS)  # fmt: skip
    texts = [unpacked(m.data) if m.name.endswith(".zst") else m.data for m in found]

    assert not [text for text in texts if re.search(rb"gpu1\b|/home/(?:ada|bob)", text)]
    assert b"host1:71 File /home/somebody/venv/sglang/launch_server.py\n" in texts
