"""What the documentation says of the program is what the program says of itself."""

from __future__ import annotations

from leslied.agents import load_adapters
from tests.support.command_pages import make_pages
from tests.support.docs import COMMANDS, ROOT, fill_readme

README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_the_tables_of_the_readme_are_made_from_the_program():
    assert fill_readme() == README, "run: make docs"


def test_every_agent_has_a_page_about_its_format():
    pages = {path.stem for path in (ROOT / "docs/formats").glob("*.md")}

    assert pages == set(load_adapters())


def test_every_command_has_a_page_that_says_what_its_help_says():
    written = {path.name: path.read_text("utf-8") for path in COMMANDS.iterdir()}

    assert written == make_pages(), "run: make docs"
