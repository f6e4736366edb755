"""`leslied export`, as a person or a script calls it."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from leslied.cli.export_command import FORMATS
from leslied.sinks.leslie import parse_document
from tests.support.claude import SESSION, ClaudeHome, ClaudeLogBuilder
from tests.support.cli import LesliedRunner
from tests.support.exports import DevflowRun
from tests.support.golden import FIXTURES, copy_home

pytestmark = pytest.mark.e2e

KEY = "ghp_" + "A1b2" * 9
PRINTED = ("leslie", "markdown", "html", "json", "jsonl", "devflow", "weakincentives",
           "atif")  # fmt: skip


@pytest.fixture
def leslied(home: Path) -> LesliedRunner:
    return LesliedRunner(home)


@pytest.fixture
def talk(claude: ClaudeHome, leslied: LesliedRunner) -> ClaudeLogBuilder:
    """A session with a secret in every place that a log has for one."""
    talk = ClaudeLogBuilder(cwd=f"/home/dev/{KEY}")
    claude.write(
        talk.line("ai-title", aiTitle=f"the key {KEY}"),
        talk.prompt(f"use {KEY} please"),
        talk.think(f"so {KEY}"),
        talk.call("Bash", {"command": f"echo {KEY}", KEY: [KEY]}, "toolu_1"),
        talk.result("toolu_1", f"{KEY}\n"),
        talk.call(KEY, {"a": 1}, "toolu_2"),
        talk.line("never-seen-before", what={"deep": [KEY]}),
        talk.answer(f"Used {KEY}."),
    )
    leslied("sync", "--stop-all")
    return talk


def files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file())


@pytest.mark.parametrize("form", PRINTED)
def test_a_form_that_is_one_text_goes_to_standard_output(
    leslied: LesliedRunner, talk: ClaudeLogBuilder, form: str
):
    ran = leslied("export", "last", "--format", form)

    assert (ran.code, ran.err) == (0, "")
    assert "please" in ran.out


@pytest.mark.parametrize("form", FORMATS)
def test_no_secret_leaves_in_any_form(
    leslied: LesliedRunner, talk: ClaudeLogBuilder, form: str
):
    folder = leslied.home / "out"

    ran = leslied("export", SESSION, "--format", form, "-o", f"{folder}/")

    assert ran.code == 0, ran.err
    assert files(folder)
    for path in files(folder):
        assert KEY not in str(path)
        assert KEY not in path.read_text(), path
        assert "[REDACTED:github:" in path.read_text() or path.name == "metadata.json"


def test_a_secret_behind_escapes_does_not_leave_either(
    leslied: LesliedRunner, claude: ClaudeHome
):
    talk = ClaudeLogBuilder()
    call = talk.call("Bash", {"command": "echo SECRET"}, "toolu_1")
    hidden = KEY.replace("_", "\\u005f")
    claude.write(talk.prompt("go"))
    with claude.log().open("a") as log:
        log.write(json.dumps(call).replace("SECRET", hidden) + "\n")
    leslied("sync", "--stop-all")

    for form in ("json", "jsonl", "atif", "markdown"):
        assert KEY not in leslied("export", "last", "-f", form).out


def test_secrets_are_revealed_when_asked(
    leslied: LesliedRunner, talk: ClaudeLogBuilder
):
    ran = leslied("export", "last", "-f", "markdown", "--reveal")

    assert f"Used {KEY}." in ran.out


def test_files_are_private_and_told(leslied: LesliedRunner, talk: ClaudeLogBuilder):
    target = leslied.home / "talk.html"

    ran = leslied("export", "last", "-f", "html", "-o", str(target), "--json")

    told = ran.json["data"]
    assert told["files"] == [{"path": str(target), "bytes": target.stat().st_size}]
    assert target.stat().st_mode & 0o777 == 0o600
    assert leslied("export", "last", "-f", "html").out == target.read_text()


def test_a_form_of_many_files_asks_for_a_folder(
    leslied: LesliedRunner, talk: ClaudeLogBuilder
):
    ran = leslied("export", "last", "-f", "chibi")

    assert ran.code == 2
    assert "chibi makes 2 files of it." in ran.err
    assert "-o FOLDER" in ran.err


def test_a_unit_and_a_subagent_can_be_taken_alone(leslied: LesliedRunner):
    copy_home(FIXTURES / "claude_code" / "sub2-old", leslied.home)
    leslied("sync", "--stop-all")
    (unit,) = [
        unit
        for unit in leslied("show", "last", "--json").json["data"]["units"]
        if unit["prompt"]
    ]
    child = unit["subagents"][0]["id"]

    by_chat = leslied("export", unit["chat_id"], "-f", "json").out
    alone = leslied("export", child, "-f", "leslie").out

    assert [u["chat_id"] for u in json.loads(by_chat)["units"]] == [unit["chat_id"]]
    assert parse_document(alone).source == f"subagent:{child}"


def test_all_sessions_go_into_one_folder_and_none_hides_another(leslied: LesliedRunner):
    for case in ("fork", "hello", "tools-old"):
        copy_home(FIXTURES / "claude_code" / case, leslied.home)
    leslied("sync", "--stop-all")
    ids = {s["id"] for s in leslied("list", "--json").json["data"]["sessions"]}
    folder = leslied.home / "runs here"

    ran = leslied("export", "--all", "-f", "devflow", "-o", str(folder), "--json")

    assert ran.json["data"]["sessions"] == len(ids)
    loaded = [DevflowRun(folder, run.name) for run in (folder / "runs").iterdir()]
    assert {run.metadata["input"]["sessionId"] for run in loaded} == ids


def test_a_run_that_grows_past_its_limit_is_there_once(
    leslied: LesliedRunner, claude: ClaudeHome
):
    talk = ClaudeLogBuilder()
    claude.write(talk.prompt("short"))
    leslied("sync", "--stop-all")
    folder = leslied.home / "out"
    leslied("export", "last", "-f", "devflow", "-o", f"{folder}/")
    before = [path.name for path in files(folder)]
    claude.write(talk.answer("long " * 30_000))
    leslied("sync", "--stop-all")

    leslied("export", "last", "-f", "devflow", "-o", f"{folder}/")

    assert before == ["metadata.json", "transcript.json"]
    assert [path.name for path in files(folder)] == [
        "metadata.json",
        "transcript.json.gz",
    ]
    (run,) = (folder / "runs").iterdir()
    assert "long long" in DevflowRun(folder, run.name).turns[-1]["content"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["last"], "Missing option"),
        (["last", "-f", "pdf"], "is not one of"),
        (["-f", "json"], "Which session?"),
        (["last", "--all", "-f", "json"], "not both"),
        (["--all", "-f", "json"], "-o FOLDER"),
        (["last", "-f", "json", "--json"], "-o PATH"),
        (["nobody", "-f", "json"], "No session"),
        (["last", "-f", "json", "-o", "/dev/null"], "is no file"),
        (["last", "-f", "json", "-o", "nowhere/x.json"], "There is no folder"),
        (["last", "-f", "json", "-o", "~/.claude/projects/x"], "own folder"),
    ],
)
def test_what_cannot_be_done_is_a_sentence(
    leslied: LesliedRunner, talk: ClaudeLogBuilder, words: list[str], said: str
):
    ran = leslied("export", *words)

    assert ran.code == 2
    assert said in ran.err + ran.out


def test_a_session_that_stops_has_the_outputs_that_the_settings_ask_for(
    leslied: LesliedRunner, claude: ClaudeHome
):
    config = leslied.home / ".config/leslied/config.toml"
    config.parent.mkdir(parents=True)
    config.write_text('[output]\nformats = ["html", "atif"]\ntimezone = "utc"\n')
    leslied("sync")
    project = leslied.home / "app"
    (project / ".git").mkdir(parents=True)
    talk, now = ClaudeLogBuilder(cwd=str(project)), datetime.now(UTC).isoformat()
    claude.write(
        talk.prompt("go", timestamp=now), talk.answer("Done.") | {"timestamp": now}
    )

    ran = leslied("sync", "--stop-all", "--json")

    folder = project / ".leslie/threads/thread-11111111/.meta/exports"
    page, trajectory = sorted(folder.iterdir())
    assert ran.json["data"]["exports_written"] == 2
    assert page.read_text() == leslied("export", "last", "-f", "html").out
    assert trajectory.read_text() == leslied("export", "last", "-f", "atif").out
    assert leslied("sync", "--json").json["data"]["exports_written"] == 0


def test_a_link_is_never_written_through(
    leslied: LesliedRunner, talk: ClaudeLogBuilder
):
    victim = leslied.home / "victim"
    victim.write_text("mine")
    link = leslied.home / "link"
    link.symlink_to(victim)
    folder = leslied.home / "out"
    folder.mkdir()
    (folder / "runs").symlink_to(leslied.home)

    to_link = leslied("export", "last", "-f", "json", "-o", str(link))
    below_link = leslied("export", "last", "-f", "devflow", "-o", str(folder))

    assert (to_link.code, victim.read_text()) == (2, "mine")
    assert below_link.code == 1
    assert "Traceback" not in below_link.err
    assert not list(leslied.home.glob("2026*"))
