"""A newcomer's way on the real engine: ask the host, check what it proposes, launch it."""

from pathlib import Path

import pytest

from tests.real.conftest import Desk

pytestmark = [pytest.mark.real, pytest.mark.timeout(600)]


def test_what_init_proposes_passes_check_and_becomes_healthy(desk: Desk) -> None:
    cached = desk.folder / "hub" / "models--tiny--gpt2"
    for name in ("snapshots", "refs"):
        (cached / name).mkdir(parents=True)
    (cached / "snapshots" / "1").symlink_to(desk.model)
    (cached / "refs" / "main").write_text("1")
    hosts = desk.folder / "hosts.toml"
    hosts.write_text(f'{hosts.read_text()}HF_HUB_CACHE = "{desk.folder / "hub"}"\n')

    made = desk.relight("init", "cpu", "-o", "first")
    first = desk.folder / "first"
    there = ("--hosts", str(first / "hosts.toml"), "--host", "cpu")
    checked = desk.relight("check", str(first / "gpt2.toml"), *there)
    brought_up = desk.relight("retry", _at_port(first / "gpt2.toml", desk.port), *there)

    assert made[0] == 0
    assert (checked[0], checked[1].get("ok")) == (0, True), checked
    assert (brought_up[0], brought_up[1].get("state")) == (0, "healthy"), brought_up[2]


def _at_port(playbook: Path, port: int) -> str:
    playbook.write_text(playbook.read_text().replace("port = 30000", f"port = {port}").replace("45m", "8m"))
    return str(playbook)
