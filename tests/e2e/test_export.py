"""`leslied export` on the command line."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from leslied.cli.commands.export import FORMATS
from leslied.sinks.leslie import parse_document
from tests.support.claude import SESSION, ClaudeHome, ClaudeLogBuilder
from tests.support.cli import LesliedRunner
from tests.support.exports import DevflowRun
from tests.support.golden import FIXTURES, copy_home

pytestmark = pytest.mark.e2e

KEY = "ghp_" + "A1b2" * 9
PRINTABLE_FORMATS = (
    "leslie",
    "markdown",
    "html",
    "json",
    "jsonl",
    "devflow",
    "weakincentives",
    "atif",
)


@pytest.fixture
def leslied(home: Path) -> LesliedRunner:
    return LesliedRunner(home)


@pytest.fixture
def synced_session(claude: ClaudeHome, leslied: LesliedRunner) -> ClaudeLogBuilder:
    """Sync a session with a secret in every field that can hold one."""
    builder = ClaudeLogBuilder(cwd=f"/home/dev/{KEY}")
    claude.write(
        builder.line("ai-title", aiTitle=f"the key {KEY}"),
        builder.prompt(f"use {KEY} please"),
        builder.think(f"so {KEY}"),
        builder.call("Bash", {"command": f"echo {KEY}", KEY: [KEY]}, "toolu_1"),
        builder.result("toolu_1", f"{KEY}\n"),
        builder.call(KEY, {"a": 1}, "toolu_2"),
        builder.line("never-seen-before", what={"deep": [KEY]}),
        builder.answer(f"Used {KEY}."),
    )
    leslied("sync", "--stop-all")
    return builder


def list_files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file())


@pytest.mark.parametrize("format_name", PRINTABLE_FORMATS)
@pytest.mark.usefixtures("synced_session")
def test_a_single_file_format_is_printed_on_standard_output(
    leslied: LesliedRunner, format_name: str
):
    result = leslied("export", "last", "--format", format_name)

    assert (result.code, result.err) == (0, "")
    assert "please" in result.out


@pytest.mark.parametrize("format_name", FORMATS)
@pytest.mark.usefixtures("synced_session")
def test_secrets_are_redacted_in_every_format(leslied: LesliedRunner, format_name: str):
    folder = leslied.home / "out"

    result = leslied("export", SESSION, "--format", format_name, "-o", f"{folder}/")

    assert result.code == 0, result.err
    assert list_files(folder)
    for path in list_files(folder):
        assert KEY not in str(path)
        assert KEY not in path.read_text(), path
        assert "[REDACTED:github:" in path.read_text() or path.name == "metadata.json"


@pytest.mark.threat("S4")
def test_a_secret_that_is_escaped_in_the_log_is_redacted(
    leslied: LesliedRunner, claude: ClaudeHome
):
    builder = ClaudeLogBuilder()
    call = builder.call("Bash", {"command": "echo SECRET"}, "toolu_1")
    escaped = KEY.replace("_", "\\u005f")
    claude.write(builder.prompt("go"))
    with claude.log().open("a") as log:
        log.write(json.dumps(call).replace("SECRET", escaped) + "\n")
    leslied("sync", "--stop-all")

    for format_name in ("json", "jsonl", "atif", "markdown"):
        assert KEY not in leslied("export", "last", "-f", format_name).out


@pytest.mark.usefixtures("synced_session")
def test_reveal_keeps_secrets(leslied: LesliedRunner):
    result = leslied("export", "last", "-f", "markdown", "--reveal")

    assert f"Used {KEY}." in result.out


@pytest.mark.usefixtures("synced_session")
def test_exported_files_are_private_and_listed_in_the_json_output(
    leslied: LesliedRunner,
):
    target = leslied.home / "talk.html"

    result = leslied("export", "last", "-f", "html", "-o", str(target), "--json")

    data = result.json["data"]
    assert data["files"] == [{"path": str(target), "bytes": target.stat().st_size}]
    assert target.stat().st_mode & 0o777 == 0o600


@pytest.mark.usefixtures("synced_session")
def test_an_export_without_a_target_is_printed(leslied: LesliedRunner):
    target = leslied.home / "talk.html"
    leslied("export", "last", "-f", "html", "-o", str(target))

    assert leslied("export", "last", "-f", "html").out == target.read_text()


@pytest.mark.usefixtures("synced_session")
def test_a_format_of_several_files_requires_a_folder(leslied: LesliedRunner):
    result = leslied("export", "last", "-f", "chibi")

    assert result.code == 2
    assert "The format chibi cannot be printed" in result.err
    assert "-o FOLDER" in result.err


def test_a_unit_or_a_subagent_can_be_exported(leslied: LesliedRunner):
    copy_home(FIXTURES / "claude_code" / "sub2-old", leslied.home)
    leslied("sync", "--stop-all")
    (unit,) = [
        unit
        for unit in leslied("show", "last", "--json").json["data"]["units"]
        if unit["prompt"]
    ]
    subagent_id = unit["subagents"][0]["id"]

    unit_export = leslied("export", unit["chat_id"], "-f", "json").out
    subagent_export = leslied("export", subagent_id, "-f", "leslie").out

    assert [u["chat_id"] for u in json.loads(unit_export)["units"]] == [unit["chat_id"]]
    assert parse_document(subagent_export).source == f"subagent:{subagent_id}"


def test_all_sessions_are_exported_into_one_folder(leslied: LesliedRunner):
    for case in ("fork", "hello", "tools-old"):
        copy_home(FIXTURES / "claude_code" / case, leslied.home)
    leslied("sync", "--stop-all")
    ids = {s["id"] for s in leslied("list", "--json").json["data"]["sessions"]}
    folder = leslied.home / "runs here"

    result = leslied("export", "--all", "-f", "devflow", "-o", str(folder), "--json")

    assert result.json["data"]["sessions"] == len(ids)
    runs = [DevflowRun(folder, run.name) for run in (folder / "runs").iterdir()]
    assert {run.metadata["input"]["sessionId"] for run in runs} == ids


def test_an_export_that_has_grown_is_compressed_and_replaces_the_plain_file(
    leslied: LesliedRunner, claude: ClaudeHome
):
    builder = ClaudeLogBuilder()
    claude.write(builder.prompt("short"))
    leslied("sync", "--stop-all")
    folder = leslied.home / "out"
    leslied("export", "last", "-f", "devflow", "-o", f"{folder}/")
    before = [path.name for path in list_files(folder)]
    claude.write(builder.answer("long " * 30_000))
    leslied("sync", "--stop-all")

    leslied("export", "last", "-f", "devflow", "-o", f"{folder}/")

    assert before == ["metadata.json", "transcript.json"]
    assert [path.name for path in list_files(folder)] == [
        "metadata.json",
        "transcript.json.gz",
    ]
    (run,) = (folder / "runs").iterdir()
    assert "long long" in DevflowRun(folder, run.name).turns[-1]["content"]


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["last"], "Missing option"),
        (["last", "-f", "pdf"], "is not one of"),
        (["-f", "json"], "No session was named"),
        (["last", "--all", "-f", "json"], "cannot be combined with --all"),
        (["--all", "-f", "json"], "-o FOLDER"),
        (["last", "-f", "json", "--json"], "-o PATH"),
        (["nobody", "-f", "json"], "No session"),
        (["last", "-f", "json", "-o", "/dev/null"], "is not a regular file"),
        (["last", "-f", "json", "-o", "nowhere/x.json"], "does not exist"),
        (["last", "-f", "json", "-o", "~/.claude/projects/x"], "inside a folder of"),
    ],
)
@pytest.mark.usefixtures("synced_session")
def test_invalid_requests_are_reported(
    leslied: LesliedRunner, args: list[str], message: str
):
    result = leslied("export", *args)

    assert result.code == 2
    assert message in result.err + result.out


def test_a_stopped_session_is_exported_in_the_configured_formats(
    leslied: LesliedRunner, claude: ClaudeHome
):
    config = leslied.home / ".config/leslied/config.toml"
    config.parent.mkdir(parents=True)
    config.write_text('[output]\nformats = ["html", "atif"]\ntimezone = "utc"\n')
    leslied("sync")
    project = leslied.home / "app"
    (project / ".git").mkdir(parents=True)
    builder = ClaudeLogBuilder(cwd=str(project))
    now = datetime.now(UTC).isoformat()
    claude.write(
        builder.prompt("go", timestamp=now),
        builder.answer("Done.") | {"timestamp": now},
    )

    result = leslied("sync", "--stop-all", "--json")

    folder = project / ".leslie/threads/thread-11111111/.meta/exports"
    page, trajectory = sorted(folder.iterdir())
    assert result.json["data"]["exports_written"] == 2
    assert page.read_text() == leslied("export", "last", "-f", "html").out
    assert trajectory.read_text() == leslied("export", "last", "-f", "atif").out
    assert leslied("sync", "--json").json["data"]["exports_written"] == 0


@pytest.mark.threat("P2")
@pytest.mark.usefixtures("synced_session")
def test_exports_are_not_written_through_symlinks(leslied: LesliedRunner):
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
    # A run's folder would be named after its start.
    assert not list(leslied.home.glob("2026*"))
