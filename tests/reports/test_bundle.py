"""The archive of a run."""

import json

import zstandard

from relight.reports import bundle
from relight.reports.bundle import Member, members
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
