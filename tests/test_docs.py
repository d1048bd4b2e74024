"""The pages: made from the code, and every link in them leads somewhere."""

import re
import subprocess
import sys
import tomllib
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path

import pytest

from relight.config.hosts import load_hosts
from relight.config.playbook import load_playbook

ROOT = Path(__file__).resolve().parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
LINK = re.compile(r"\]\((?!https?://|#)([^)#\s]+)")
BLOCK = re.compile(r"^```toml\n(.*?)^```", re.DOTALL | re.MULTILINE)


def test_the_pages_made_from_the_code_are_up_to_date() -> None:
    done = subprocess.run(
        [sys.executable, ROOT / "scripts" / "docs.py", "--check"], capture_output=True, text=True, check=False
    )

    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_link_leads_to_a_file(page: Path) -> None:
    missing = [link for link in LINK.findall(page.read_text()) if not (page.parent / link).exists()]

    assert missing == []


def test_every_page_is_on_the_site() -> None:
    nav = (ROOT / "mkdocs.yml").read_text().partition("nav:")[2]

    assert [page.name for page in PAGES[1:] if page.name not in nav] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_example_is_valid_toml(page: Path) -> None:
    for block in BLOCK.findall(page.read_text()):
        tomllib.loads(block)


def test_the_first_example_of_a_playbook_and_of_hosts_can_be_read(tmp_path: Path) -> None:
    for name in ("playbook", "hosts"):
        (tmp_path / f"{name}.toml").write_text(BLOCK.findall((ROOT / "docs" / f"{name}.md").read_text())[0])

    assert load_playbook(tmp_path / "playbook.toml").levers
    assert load_hosts(tmp_path / "hosts.toml")["rtx8"].secrets


def test_the_picture_in_the_readme_needs_no_network() -> None:
    picture = (ROOT / "docs" / "demo.svg").read_text()

    assert "@font-face" not in picture
    assert "The server answers correctly" in picture.replace("&#160;", " ")


def test_what_draws_the_recording_can_still_be_loaded() -> None:
    path = str(ROOT / "scripts" / "record")
    loader = SourceFileLoader("record", path)
    spec = spec_from_loader("record", loader)
    assert spec

    made = module_from_spec(spec)
    loader.exec_module(made)

    assert callable(made.main)
