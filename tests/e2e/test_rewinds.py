"""Units that the user took back, in everything that leslied writes and prints."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from leslied.sinks.leslie import parse_document
from tests.support.claude import ClaudeHome, ClaudeLogBuilder
from tests.support.cli import LesliedRunner

pytestmark = pytest.mark.e2e
TODO = {"content": "Paint it blue", "activeForm": "Painting", "status": "pending"}
THREAD = ".leslie/threads/thread-11111111"


@pytest.fixture
def project(home: Path) -> Path:
    folder = home / "app"
    folder.mkdir()
    subprocess.run(["git", "init", "-q", str(folder)], check=True)
    return folder


@pytest.fixture
def leslied(home: Path, claude: ClaudeHome, project: Path) -> LesliedRunner:
    """Sync a session whose second unit is taken back, before and after that."""
    config = home / ".config/leslied/config.toml"
    config.parent.mkdir(parents=True)
    config.write_text('[output]\nbackfill = "project"\n')
    command = LesliedRunner(home, project)
    builder = ClaudeLogBuilder(cwd=str(project))
    claude.write(builder.prompt("plan it in red"), red := builder.answer("Red it is."))
    claude.write(
        builder.prompt("or in blue"),
        builder.call("TodoWrite", {"todos": [TODO]}, "todo"),
        builder.result("todo", "ok"),
        builder.answer("Blue it is."),
    )
    command("sync", "--stop-all")
    claude.write(
        builder.prompt("or in green", parentUuid=red["uuid"], version="2.1.197"),
        builder.answer("Green it is."),
    )
    assert command("sync", "--stop-all").code == 0
    return command


def read_file(project: Path, name: str) -> str:
    return (project / name).read_text()


def test_show_marks_rewound_units(leslied: LesliedRunner):
    data = leslied("show", "last", "--json").json["data"]

    assert [u["rewound"] for u in data["units"] if u["number"]] == [False, True, False]
    assert data["session"]["units"] == 2
    assert leslied("show", "last").out.count("· rewound ──") == 1
    assert "2 units · 1 rewound" in leslied("show", "last").out
    assert leslied("show", "last", "--summary").out.count("rewound   chat-") == 1


def test_exports_mark_rewound_units(leslied: LesliedRunner):
    for name in ("html", "markdown", "json"):
        leslied("export", "last", "--format", name, "-o", f"out.{name}")
    page, text, document = (
        (leslied.home / "app" / f"out.{name}").read_text()
        for name in ("html", "markdown", "json")
    )

    assert page.count("end_turn · rewound") == 1
    assert text.count("· rewound*") == 1
    units = json.loads(document)["units"]
    assert [u["prompt"] for u in units if u["rewound"]] == ["or in blue"]


def test_sql_marks_rewound_units(leslied: LesliedRunner):
    query = "SELECT unit, rewound FROM units WHERE unit > 0"

    rows = leslied("sql", query, "--json").json["data"]["rows"]

    assert rows == [
        {"unit": 1, "rewound": 0},
        {"unit": 2, "rewound": 1},
        {"unit": 3, "rewound": 0},
    ]


@pytest.mark.usefixtures("leslied")
def test_transcripts_of_rewound_units_are_marked_under_the_same_names(project: Path):
    files = sorted((project / THREAD / ".meta/transcripts").glob("*.txt"))

    documents = {file.name[14:]: parse_document(file.read_text()) for file in files}

    assert {name: d.is_rewound for name, d in documents.items()} == {
        "or-in-blue.txt": True,
        "or-in-green.txt": False,
        "plan-it-in-red.txt": False,
    }


def test_the_indexes_and_the_relations_mark_rewound_units(
    leslied: LesliedRunner, project: Path
):
    units = leslied("show", "last", "--json").json["data"]["units"]
    (chat_id,) = (unit["chat_id"] for unit in units if unit["rewound"])

    assert "2 prompts" in read_file(project, ".leslie/INDEX.md")
    assert "3 transcripts, 1 rewound" in read_file(project, ".leslie/INDEX.md")
    assert read_file(project, f"{THREAD}/.meta/assets.json").count('"rewound"') == 1
    relations = json.loads(read_file(project, ".leslie/thread_relations.json"))
    thread = relations["threads"]["thread-11111111"]
    assert thread["metadata"]["rewound"] == [chat_id]


@pytest.mark.usefixtures("leslied")
def test_to_do_lists_of_rewound_units_are_not_progress(project: Path):
    assert "Paint it blue" not in read_file(project, ".leslie/INDEX.md")
    assert not list(project.rglob("progress.md"))


def test_a_briefing_leaves_rewound_units_out(leslied: LesliedRunner):
    output = leslied("resume", "last").out

    assert "or in green" in output
    assert "blue" not in output


def test_messages_of_rewound_units_still_count(leslied: LesliedRunner):
    totals = leslied("stats", "--json", "--by", "session").json["data"]["rows"]

    assert [row["messages"] for row in totals] == [4]
