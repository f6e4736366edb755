"""What a newcomer tries first."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.claude import SESSION, ClaudeHome, ClaudeLogBuilder
from tests.support.cli import LesliedRunner

pytestmark = pytest.mark.e2e


@pytest.fixture
def leslied(home: Path) -> LesliedRunner:
    return LesliedRunner(home)


def test_the_demo_shows_a_transcript_appear(leslied: LesliedRunner):
    ran = leslied("demo", "--fast")

    assert ran.code == 0, ran.err
    assert "[Subagent] a5c0041" in ran.out
    assert "Twelve words, and they are about the mill wheel." in ran.out
    assert list(leslied.home.iterdir()) == []


def test_sync_writes_the_transcript_of_a_finished_session(
    leslied: LesliedRunner, claude: ClaudeHome
):
    project = leslied.home / "app"
    (project / ".git").mkdir(parents=True)
    talk = ClaudeLogBuilder(cwd=str(project))
    claude.write(talk.prompt("fix it"), talk.answer("fixed"))

    first = leslied("sync", "--stop-all", "--json").json["data"]
    second = leslied("sync", "--stop-all", "--json").json["data"]

    assert (first["transcripts_written"], second["transcripts_written"]) == (1, 0)
    written = list(leslied.home.rglob("*-fix-it.txt"))
    assert len(written) == 1


def test_doctor_finds_a_healthy_home(leslied: LesliedRunner, claude: ClaudeHome):
    claude.write(ClaudeLogBuilder().prompt("one"))
    leslied("sync")

    ran = leslied("doctor", "--json")

    assert ran.code == 0
    verdicts = [each["verdict"] for each in ran.json["data"]["findings"]]
    assert "fail" not in verdicts


def test_doctor_finds_what_others_can_read(leslied: LesliedRunner, claude: ClaudeHome):
    claude.write(ClaudeLogBuilder().prompt("one"))
    leslied("sync")
    store = leslied.home / ".local/share/leslied/store.db"
    store.chmod(0o644)

    ran = leslied("doctor")

    assert ran.code == 1
    assert "can be read by others" in ran.out


def test_doctor_finds_a_damaged_store(leslied: LesliedRunner, claude: ClaudeHome):
    """E4."""
    claude.write(*[ClaudeLogBuilder(f"{n}").prompt("x" * 3000) for n in range(50)])
    leslied("sync")
    store = leslied.home / ".local/share/leslied/store.db"
    data = bytearray(store.read_bytes())
    data[40_000:60_000] = b"\xff" * 20_000
    store.write_bytes(bytes(data))

    ran = leslied("doctor")

    assert ran.code == 1
    assert "Traceback" not in ran.err


def test_pause_is_told_by_status(leslied: LesliedRunner, claude: ClaudeHome):
    claude.write(ClaudeLogBuilder().prompt("one"))
    leslied("sync")

    leslied("pause")
    paused = leslied("status", "--json").json["data"]["daemon"]["paused"]
    leslied("unpause")
    going = leslied("status", "--json").json["data"]["daemon"]["paused"]

    assert (paused, going) == (True, False)


def test_follow_labels_each_line_with_its_session(
    leslied: LesliedRunner, claude: ClaudeHome
):
    talk = ClaudeLogBuilder()
    claude.write(talk.prompt("one"), talk.answer("two"))
    leslied("sync")

    told = leslied("follow", "--once").out

    assert f"{SESSION[:8]}" in told
    assert "> one" in told
    assert "two" in told


def test_no_command_prints_a_secret_unless_asked(
    leslied: LesliedRunner, claude: ClaudeHome
):
    """S3."""
    secret = "ghp_" + "a1B2" * 9
    talk = ClaudeLogBuilder()
    claude.write(
        talk.prompt(f"{secret} is my token"),
        talk.call("Bash", {"command": f"echo {secret}"}, "t1"),
        talk.result("t1", secret),
    )
    leslied("sync")

    said = ""
    for words in (
        ("list",),
        ("show", "last"),
        ("search", "token"),
        ("follow", "--once"),
    ):
        said += leslied(*words).out
        said += leslied(*words, "--json").out if words[0] != "follow" else ""

    assert secret not in said
    assert "[REDACTED:github:" in said
    assert secret in leslied("show", "last", "--reveal").out


def test_doctor_finds_a_damaged_archive(leslied: LesliedRunner, claude: ClaudeHome):
    claude.write(ClaudeLogBuilder().prompt("hello"))
    leslied("sync", "--stop-all")
    (file,) = (leslied.home / ".local/share/leslied/archive").glob("*/??/*.zst")
    file.write_bytes(file.read_bytes()[:-1] + b"?")

    ran = leslied("doctor")

    assert ran.code == 1
    assert f"{file} is damaged" in ran.out


def test_doctor_names_agents_that_are_not_used(
    leslied: LesliedRunner, claude: ClaudeHome
):
    claude.write(ClaudeLogBuilder().prompt("hello"))
    leslied("sync")

    ran = leslied("doctor", "--json")

    verdicts = {each["verdict"] for each in ran.json["data"]["findings"]}
    assert "fail" not in verdicts


def test_agents_are_told_before_anything_was_read(leslied: LesliedRunner):
    ran = leslied("agents", "--json")

    agents = {each["name"]: each for each in ran.json["data"]["agents"]}
    assert agents["claude-code"]["found"] is False
    assert agents["claude-code"]["sessions"] == 0
    assert "not there" in leslied("agents").out


def test_agents_say_where_and_how_far_they_are_read(
    leslied: LesliedRunner, claude: ClaudeHome
):
    talk = ClaudeLogBuilder()
    claude.write(talk.prompt("hello"), talk.answer("hi"))
    leslied("sync")

    ran = leslied("agents", "--json")

    told = {each["name"]: each for each in ran.json["data"]["agents"]}["claude-code"]
    assert (told["found"], told["logs"], told["sessions"]) == (True, 1, 1)
    assert told["lag_seconds"] == 0
    assert told["newest_source_at"] == told["newest_ingested_at"]
    assert {"path": str(claude.projects), "exists": True} in told["roots"]


def test_status_says_so_where_no_agent_was_ever_used(leslied: LesliedRunner):
    leslied("sync")

    assert "No agent has written anything here yet" in leslied("status").out
