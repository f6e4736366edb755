"""What the documentation says of the program is what the program says of itself."""

from __future__ import annotations

from leslied.agents import load_adapters
from leslied.cli import COMMANDS
from tests.support.docs import ROOT, fill_readme

README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_the_table_of_agents_is_made_from_the_adapters():
    assert fill_readme() == README, "run: make docs"


def test_every_agent_has_a_page_about_its_format():
    pages = {path.stem for path in (ROOT / "docs/formats").glob("*.md")}

    assert pages == set(load_adapters())


def test_every_command_stands_in_the_readme():
    assert [name for name in COMMANDS if f"leslied {name}" not in README] == ["unpause"]
