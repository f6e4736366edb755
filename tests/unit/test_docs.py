"""The documentation agrees with the program."""

from __future__ import annotations

import doctest
import re
import tomllib
from dataclasses import fields
from pathlib import Path

import pytest

from leslied import api
from leslied.agents import load_adapters
from tests.support.claude import SESSION, ClaudeHome, ClaudeLogBuilder
from tests.support.command_pages import render_pages
from tests.support.docs import (
    COMMANDS_DIR,
    ROOT,
    SCHEMAS_DIR,
    render_http_page,
    render_readme,
    render_schemas,
    render_sql_page,
)

README = (ROOT / "README.md").read_text(encoding="utf-8")
SQL = (ROOT / "docs/sql.md").read_text(encoding="utf-8")
API = (ROOT / "docs/api.md").read_text(encoding="utf-8")
QUERIES = re.findall(r"```sql\n(.*?)```", SQL, re.DOTALL)


@pytest.fixture
def data_dir(claude: ClaudeHome, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Let `LESLIED_DATA_DIR` name a store with the session that the pages describe."""
    builder, child = ClaudeLogBuilder(), ClaudeLogBuilder()
    failed_result = {
        "type": "tool_result",
        "tool_use_id": "toolu_1",
        "is_error": True,
        "content": "1 failed",
    }
    claude.write(
        builder.prompt("Fix the parser"),
        builder.think("Let me see"),
        builder.call("Bash", {"command": "pytest -q"}, "toolu_1"),
        builder.prompt([failed_result]),
        builder.call("Edit", {"file_path": "/home/dev/app/config.py"}, "toolu_2"),
        builder.result("toolu_2", "done"),
        builder.answer("Done!"),
    )
    subagent_fields = {"isSidechain": True, "agentId": "a1"}
    claude.write(
        child.prompt("Look around") | subagent_fields | {"uuid": "c1"},
        child.answer("Seen.", id="msg_c")
        | subagent_fields
        | {"uuid": "c2", "requestId": "r"},
        name=f"-home-dev-app/{SESSION}/subagents/agent-a1.jsonl",
    )
    claude.sync()
    data_dir = claude.store_path.parent
    monkeypatch.setenv("LESLIED_DATA_DIR", str(data_dir))
    return data_dir


def test_the_tables_of_the_readme_are_up_to_date():
    assert render_readme() == README, "run: make docs"


def test_every_agent_has_a_page_about_its_format():
    pages = {path.stem for path in (ROOT / "docs/formats").glob("*.md")}

    assert pages == set(load_adapters())


def test_the_command_pages_are_up_to_date():
    pages = {path.name: path.read_text("utf-8") for path in COMMANDS_DIR.iterdir()}

    assert pages == render_pages(), "run: make docs"


def test_the_schemas_are_up_to_date():
    schemas = {path.name: path.read_text("utf-8") for path in SCHEMAS_DIR.iterdir()}

    assert schemas == render_schemas(), "run: make docs"


def test_the_tables_of_sql_views_are_up_to_date():
    assert render_sql_page() == SQL, "run: make docs"


def test_the_list_of_endpoints_is_up_to_date():
    page = (ROOT / "docs/api-http.md").read_text(encoding="utf-8")

    assert render_http_page() == page, "run: make docs"


def test_there_are_five_example_queries():
    assert len(QUERIES) == 5


@pytest.mark.parametrize("query", QUERIES)
@pytest.mark.usefixtures("data_dir")
def test_an_example_query_returns_rows(query: str):
    a_week_ago = "strftime('%Y-%m-%dT%H:%M:%fZ', 'now', '-7 days')"
    with api.open_store() as store:
        rows = list(store.sql(query.replace(a_week_ago, "'2026-11-16'")))

    assert rows


@pytest.mark.usefixtures("data_dir")
def test_the_examples_of_the_api_page_work():
    examples = doctest.DocTestParser().get_doctest(API, {}, "api.md", "api.md", 0)

    failed_count, tried_count = doctest.DocTestRunner().run(examples)

    assert (failed_count, tried_count) == (0, len(examples.examples))
    assert tried_count > 10


def test_the_api_page_lists_every_public_name():
    names = re.findall(r"`(\w+)`", API.partition("## Names")[2])

    assert names == api.__all__


@pytest.mark.parametrize("class_", [api.Session, api.Unit, api.Entry])
def test_the_api_page_lists_every_public_field(class_: type):
    names = {field.name for field in fields(class_)}
    public_names = {name for name in names if not name.startswith("_")}
    (documented_names,) = re.findall(
        rf"An? `{class_.__name__.removesuffix('View')}` has `(.*?)`", API, re.DOTALL
    )

    assert public_names == set(re.split(r",\s+", documented_names))


def list_documented_layers() -> list[set[str]]:
    """Return the packages of each layer in ARCHITECTURE.md, the top layer first."""
    text = (ROOT / "ARCHITECTURE.md").read_text()
    text = text.partition("\n## Packages\n")[2].partition("\n## ")[0]
    layers: dict[int, set[str]] = {}
    for number, cell in re.findall(r"^\| (\d+) \| (.*?) \|", text, re.MULTILINE):
        layers.setdefault(int(number), set()).update(re.findall("`(.*?)`", cell))
    return [layers[number] for number in sorted(layers)]


def test_the_table_of_packages_lists_the_checked_layers():
    config = tomllib.loads((ROOT / "pyproject.toml").read_text())
    contract = config["tool"]["importlinter"]["contracts"][0]

    checked_layers = [set(layer.split(" | ")) for layer in contract["layers"]]

    assert list_documented_layers() == checked_layers


def test_the_documented_path_of_a_log_line_names_existing_functions():
    text = (ROOT / "ARCHITECTURE.md").read_text()
    hops = re.findall(r"^\| \d+ \| `(.*\.py)` \| `(\w+)` \|", text, re.MULTILINE)

    missing = [
        (file, function)
        for file, function in hops
        if f"def {function}(" not in (ROOT / "leslied" / file).read_text()
    ]

    assert missing == []
    assert 1 < len(hops) <= 12
