"""The documentation agrees with the program."""

from __future__ import annotations

import doctest
import re
from dataclasses import fields
from pathlib import Path

import pytest

from leslied import api
from leslied.agents import load_adapters
from tests.support.claude import SESSION, ClaudeHome, ClaudeLogBuilder
from tests.support.command_pages import render_pages
from tests.support.docs import COMMANDS_DIR, ROOT, render_readme, render_sql_page

README = (ROOT / "README.md").read_text(encoding="utf-8")
SQL = (ROOT / "docs/sql.md").read_text(encoding="utf-8")
API = (ROOT / "docs/api.md").read_text(encoding="utf-8")
QUERIES = re.findall(r"```sql\n(.*?)```", SQL, re.DOTALL)


@pytest.fixture
def folder(claude: ClaudeHome, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the folder of a store with the session that the pages describe."""
    builder, child = ClaudeLogBuilder(), ClaudeLogBuilder()
    failed = {"type": "tool_result", "tool_use_id": "toolu_1", "is_error": True}
    claude.write(
        builder.prompt("Fix the parser"),
        builder.think("Let me see"),
        builder.call("Bash", {"command": "pytest -q"}, "toolu_1"),
        builder.prompt([{**failed, "content": "1 failed"}]),
        builder.call("Edit", {"file_path": "/home/dev/app/config.py"}, "toolu_2"),
        builder.result("toolu_2", "done"),
        builder.answer("Done!"),
    )
    side = {"isSidechain": True, "agentId": "a1"}
    claude.write(
        child.prompt("Look around", **side) | {"uuid": "c1"},
        child.answer("Seen.", id="msg_c") | side | {"uuid": "c2", "requestId": "r"},
        name=f"-home-dev-app/{SESSION}/subagents/agent-a1.jsonl",
    )
    claude.sync()
    folder = claude.store_path.parent
    monkeypatch.setenv("LESLIED_DATA_DIR", str(folder))
    return folder


def test_the_tables_of_the_readme_are_up_to_date():
    assert render_readme() == README, "run: make docs"


def test_every_agent_has_a_page_about_its_format():
    pages = {path.stem for path in (ROOT / "docs/formats").glob("*.md")}

    assert pages == set(load_adapters())


def test_the_command_pages_are_up_to_date():
    pages = {path.name: path.read_text("utf-8") for path in COMMANDS_DIR.iterdir()}

    assert pages == render_pages(), "run: make docs"


def test_the_tables_of_sql_views_are_up_to_date():
    assert render_sql_page() == SQL, "run: make docs"


def test_there_are_five_example_queries():
    assert len(QUERIES) == 5


@pytest.mark.parametrize("query", QUERIES)
def test_an_example_query_finds_something(folder: Path, query: str):
    week = "strftime('%Y-%m-%dT%H:%M:%fZ', 'now', '-7 days')"
    with api.open_store() as store:
        rows = list(store.sql(query.replace(week, "'2026-11-16'")))

    assert rows


def test_the_examples_of_the_api_page_work(folder: Path):
    examples = doctest.DocTestParser().get_doctest(API, {}, "api.md", "api.md", 0)

    failed, tried = doctest.DocTestRunner().run(examples)

    assert (failed, tried) == (0, len(examples.examples))
    assert tried > 10


def test_the_api_page_lists_every_public_name():
    names = re.findall(r"`(\w+)`", API.partition("## Names")[2])

    assert names == api.__all__


@pytest.mark.parametrize("view", [api.Session, api.Unit, api.Entry])
def test_the_api_page_lists_every_public_field(view: type):
    public = {field.name for field in fields(view) if not field.name.startswith("_")}
    (documented,) = re.findall(
        rf"An? `{view.__name__.removesuffix('View')}` has `(.*?)`", API, re.DOTALL
    )

    assert public == set(re.split(r",\s+", documented))
