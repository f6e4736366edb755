"""Commands that a new user tries first."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.claude import SESSION, ClaudeHome, ClaudeLogBuilder
from tests.support.cli import LesliedRunner

pytestmark = pytest.mark.e2e


@pytest.fixture
def leslied(home: Path) -> LesliedRunner:
    return LesliedRunner(home)


def test_the_demo_prints_a_transcript_and_leaves_no_files(leslied: LesliedRunner):
    result = leslied("demo", "--fast")

    assert result.code == 0, result.err
    assert "[Subagent] a5c0041" in result.out
    assert "Twelve words, and they are about the mill wheel." in result.out
    assert list(leslied.home.iterdir()) == []


def test_sync_writes_the_transcript_of_a_finished_session(
    leslied: LesliedRunner, claude: ClaudeHome
):
    project = leslied.home / "app"
    (project / ".git").mkdir(parents=True)
    builder = ClaudeLogBuilder(cwd=str(project))
    claude.write(builder.prompt("fix it"), builder.answer("fixed"))

    first = leslied("sync", "--stop-all", "--json").json["data"]
    second = leslied("sync", "--stop-all", "--json").json["data"]

    assert (first["transcripts_written"], second["transcripts_written"]) == (1, 0)
    transcripts = list(leslied.home.rglob("*-fix-it.txt"))
    assert len(transcripts) == 1


def test_doctor_reports_no_failure_in_a_healthy_home(
    leslied: LesliedRunner, claude: ClaudeHome
):
    claude.write(ClaudeLogBuilder().prompt("one"))
    leslied("sync")

    result = leslied("doctor", "--json")

    assert result.code == 0
    verdicts = [item["verdict"] for item in result.json["data"]["findings"]]
    assert "fail" not in verdicts


def test_doctor_reports_files_that_others_can_read(
    leslied: LesliedRunner, claude: ClaudeHome
):
    claude.write(ClaudeLogBuilder().prompt("one"))
    leslied("sync")
    store = leslied.home / ".local/share/leslied/store.db"
    store.chmod(0o644)

    result = leslied("doctor")

    assert result.code == 1
    assert "is accessible to other users" in result.out
    assert "leslied doctor --fix" in result.out


def test_doctor_makes_files_private_again(leslied: LesliedRunner, claude: ClaudeHome):
    claude.write(ClaudeLogBuilder().prompt("one"))
    leslied("sync")
    data = leslied.home / ".local/share/leslied"
    for path in (data, *data.rglob("*")):
        path.chmod(path.stat().st_mode | 0o055)

    result = leslied("doctor", "--fix")

    assert result.code == 0
    assert "other users can no longer access" in result.out
    assert not [path for path in data.rglob("*") if path.stat().st_mode & 0o077]


def test_doctor_repairs_modes_if_the_store_is_damaged(
    leslied: LesliedRunner, claude: ClaudeHome
):
    claude.write(ClaudeLogBuilder().prompt("one"))
    leslied("sync")
    store = leslied.home / ".local/share/leslied/store.db"
    store.write_bytes(b"x" * 20_000)
    store.chmod(0o644)

    result = leslied("doctor", "--fix")

    assert result.code == 1
    assert "Traceback" not in result.err
    assert store.stat().st_mode & 0o777 == 0o600


@pytest.mark.fault("E4")
def test_doctor_reports_a_damaged_store(leslied: LesliedRunner, claude: ClaudeHome):
    claude.write(*[ClaudeLogBuilder(f"{n}").prompt("x" * 3000) for n in range(50)])
    leslied("sync")
    store = leslied.home / ".local/share/leslied/store.db"
    data = bytearray(store.read_bytes())
    # Overwrite some pages in the middle of the file.
    data[40_000:60_000] = b"\xff" * 20_000
    store.write_bytes(bytes(data))

    result = leslied("doctor")

    assert result.code == 1
    assert "Traceback" not in result.err


def test_status_shows_whether_the_daemon_is_paused(
    leslied: LesliedRunner, claude: ClaudeHome
):
    claude.write(ClaudeLogBuilder().prompt("one"))
    leslied("sync")

    leslied("pause")
    paused = leslied("status", "--json").json["data"]["daemon"]["paused"]
    leslied("unpause")
    resumed = leslied("status", "--json").json["data"]["daemon"]["paused"]

    assert (paused, resumed) == (True, False)


def test_follow_prints_entries_and_the_id_of_their_session(
    leslied: LesliedRunner, claude: ClaudeHome
):
    builder = ClaudeLogBuilder()
    claude.write(builder.prompt("one"), builder.answer("two"))
    leslied("sync")

    output = leslied("follow", "--once").out

    assert SESSION[:8] in output
    assert "> one" in output
    assert "two" in output


@pytest.mark.threat("S3")
def test_list_show_search_and_follow_print_no_secret(
    leslied: LesliedRunner, claude: ClaudeHome
):
    secret = "ghp_" + "a1B2" * 9
    builder = ClaudeLogBuilder()
    claude.write(
        builder.prompt(f"{secret} is my token"),
        builder.call("Bash", {"command": f"echo {secret}"}, "t1"),
        builder.result("t1", secret),
    )
    leslied("sync")

    output = leslied("follow", "--once").out
    for args in (("list",), ("show", "last"), ("search", "token")):
        output += leslied(*args).out
        output += leslied(*args, "--json").out

    assert secret not in output
    assert "[REDACTED:github:" in output
    assert secret in leslied("show", "last", "--reveal").out


def test_doctor_reports_a_damaged_archive(leslied: LesliedRunner, claude: ClaudeHome):
    claude.write(ClaudeLogBuilder().prompt("hello"))
    leslied("sync", "--stop-all")
    archive = leslied.home / ".local/share/leslied/archive"
    (archive_file,) = archive.glob("*/??/*.zst")
    archive_file.write_bytes(archive_file.read_bytes()[:-1] + b"?")

    result = leslied("doctor")

    assert result.code == 1
    assert f"{archive_file} is damaged" in result.out


def test_doctor_does_not_fail_for_unused_agents(
    leslied: LesliedRunner, claude: ClaudeHome
):
    claude.write(ClaudeLogBuilder().prompt("hello"))
    leslied("sync")

    result = leslied("doctor", "--json")

    verdicts = {item["verdict"] for item in result.json["data"]["findings"]}
    assert "fail" not in verdicts


def test_agents_are_listed_before_the_first_sync(leslied: LesliedRunner):
    result = leslied("agents", "--json")

    agents = {item["name"]: item for item in result.json["data"]["agents"]}
    assert agents["claude-code"]["found"] is False
    assert agents["claude-code"]["sessions"] == 0
    assert "(missing)" in leslied("agents").out


def test_agents_shows_roots_and_lag(leslied: LesliedRunner, claude: ClaudeHome):
    builder = ClaudeLogBuilder()
    claude.write(builder.prompt("hello"), builder.answer("hi"))
    leslied("sync")

    result = leslied("agents", "--json")

    agents = {item["name"]: item for item in result.json["data"]["agents"]}
    agent = agents["claude-code"]
    assert (agent["found"], agent["logs"], agent["sessions"]) == (True, 1, 1)
    assert agent["lag_seconds"] == 0
    assert agent["newest_source_at"] == agent["newest_ingested_at"]
    root = {"path": str(claude.projects), "exists": True, "learned": False}
    assert root in agent["roots"]


def test_status_reports_that_no_agent_was_used(leslied: LesliedRunner):
    leslied("sync")

    assert "No agent has written logs on this machine yet" in leslied("status").out
