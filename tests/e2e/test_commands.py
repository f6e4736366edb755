"""Commands of the real program, run as subprocesses."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.claude import (
    AFTER_STORE_CREATION,
    SESSION,
    ClaudeHome,
    ClaudeLogBuilder,
)
from tests.support.cli import LesliedRunner
from tests.support.golden import FIXTURES, copy_home

pytestmark = pytest.mark.e2e


@pytest.fixture
def leslied(home: Path) -> LesliedRunner:
    return LesliedRunner(home)


@pytest.fixture
def written_session(claude: ClaudeHome) -> ClaudeLogBuilder:
    """Write a session with a tool call and return its builder."""
    builder = ClaudeLogBuilder()
    claude.write(
        builder.prompt("fix the login bug"),
        builder.call("Bash", {"command": "grep -n login app.py"}, "toolu_1"),
        builder.result("toolu_1", "12: def login():"),
        builder.answer("The login works again."),
    )
    return builder


@pytest.mark.usefixtures("written_session")
def test_sync_then_list_shows_the_session(leslied: LesliedRunner):
    assert leslied("sync").code == 0

    (session,) = leslied("list", "--json").json["data"]["sessions"]

    assert session["id"] == SESSION
    assert session["title"] == "fix the login bug"
    assert session["thread_id"] == "thread-11111111"
    assert (session["units"], session["tool_calls"]) == (1, 1)
    assert session["status"] in ("active", "idle", "stopped")
    assert session["usage"]["input_tokens"] == 20


@pytest.mark.usefixtures("written_session")
def test_a_second_sync_reads_nothing_new(leslied: LesliedRunner):
    leslied("sync")

    report = leslied("sync", "--json").json["data"]

    assert (report["entries_decoded"], report["bytes_read"]) == (0, 0)


def test_list_shows_enough_of_an_id_that_starts_with_a_timestamp_for_show(
    leslied: LesliedRunner, home: Path
):
    copy_home(FIXTURES / "codex" / "subagent", home)
    leslied("sync")
    short_id = leslied("list").out.split("\n")[1].split()[0]

    result = leslied("show", short_id)

    assert result.code == 0
    assert "● exec_command ls | wc -l" in result.out


@pytest.mark.usefixtures("written_session")
def test_show_prints_the_whole_session(leslied: LesliedRunner):
    leslied("sync")

    page = leslied("show", "last").out

    assert "> fix the login bug" in page
    assert "● Bash grep -n login app.py" in page
    assert "└ 12: def login():" in page
    assert "The login works again." in page


@pytest.mark.usefixtures("written_session")
def test_show_accepts_session_thread_and_chat_ids(leslied: LesliedRunner):
    leslied("sync")
    data = leslied("show", SESSION[:6], "--json").json["data"]
    (unit,) = [u for u in data["units"] if u["prompt"]]

    by_thread = leslied("show", "thread-1111", "--json").json["data"]
    by_chat = leslied("show", unit["chat_id"], "--json").json["data"]

    assert by_thread["session"]["id"] == SESSION
    assert [u["chat_id"] for u in by_chat["units"]] == [unit["chat_id"]]


@pytest.mark.usefixtures("written_session")
def test_search_finds_prompts_calls_and_results(leslied: LesliedRunner):
    leslied("sync")

    hits = leslied("search", "login", "--json").json["data"]["hits"]

    assert {hit["type"] for hit in hits} == {
        "user_message",
        "tool_use",
        "tool_result",
        "assistant_message",
    }
    assert all("login" in hit["snippet"] for hit in hits)


@pytest.mark.parametrize(
    "query",
    [
        '"',
        "secret-token",
        "NEAR(",
        "a AND",
        "*",
        "col:x",
        "^",
        "-",
        "'; --",
        "(",
        "日本",
    ],
)
@pytest.mark.usefixtures("written_session")
def test_any_string_is_a_valid_query(leslied: LesliedRunner, query: str):
    leslied("sync")

    result = leslied("search", "--json", "--", query)

    assert result.code == 0, result.err
    assert result.json["success"]


@pytest.mark.usefixtures("written_session")
def test_stop_all_marks_every_session_stopped(
    leslied: LesliedRunner, claude: ClaudeHome
):
    other = ClaudeLogBuilder("other", started_at=AFTER_STORE_CREATION)
    claude.write(other.prompt("go"), name="-app/other.jsonl")

    leslied("sync", "--stop-all")

    sessions = leslied("list", "--json").json["data"]["sessions"]
    assert [session["status"] for session in sessions] == ["stopped", "stopped"]


@pytest.mark.usefixtures("written_session")
def test_status_names_agents_store_and_daemon(leslied: LesliedRunner):
    leslied("sync")

    data = leslied("status", "--json").json["data"]

    (agent,) = [a for a in data["agents"] if a["name"] == "claude-code"]
    assert (agent["sources"], agent["sessions"], agent["rejected"]) == (1, 1, 0)
    assert (agent["lag_seconds"], agent["state"]) == (0, "up-to-date")
    assert data["store"]["records"] > 0
    assert data["daemon"]["running"] is False


def test_status_says_which_agent_is_behind_and_what_to_do(
    leslied: LesliedRunner, written_session: ClaudeLogBuilder, claude: ClaudeHome
):
    leslied("sync")
    after_sync = leslied("status")
    claude.write(written_session.prompt("unread"))

    status = leslied("status")

    assert " up to date " in after_sync.out
    assert "behind" not in after_sync.out + after_sync.err
    assert " behind " in status.out
    assert "claude-code is behind: newest log change 0 s ago" in status.err
    assert "1 log with unread changes. Run: leslied sync" in status.err
    assert status.code == 0


def test_status_says_why_a_paused_daemon_is_behind(
    leslied: LesliedRunner, written_session: ClaudeLogBuilder, claude: ClaudeHome
):
    leslied("sync")
    claude.write(written_session.prompt("unread"))

    leslied("pause")

    assert "leslied is paused. Run: leslied unpause" in leslied("status").err


def test_rejected_entries_are_counted_and_explained(
    leslied: LesliedRunner, claude: ClaudeHome
):
    claude.log().write_bytes(b"this isn't JSON\n[1, 2]\n")
    leslied("sync")

    data = leslied("status", "--rejected", "--json").json["data"]

    assert data["store"]["rejected"] == 2
    assert [entry["offset"] for entry in data["rejected"]] == [0, 16]
    assert all(entry["reason"] for entry in data["rejected"])


@pytest.mark.usefixtures("written_session")
def test_an_unknown_id_is_reported_with_a_hint(leslied: LesliedRunner):
    leslied("sync")

    result = leslied("show", "nope")

    assert result.code == 2
    assert "No session" in result.err
    assert "leslied list" in result.err
    assert "Traceback" not in result.err


@pytest.mark.usefixtures("written_session")
def test_with_json_an_error_has_the_same_envelope_as_a_result(leslied: LesliedRunner):
    leslied("sync")

    result = leslied("show", "nope", "--json")

    assert result.code == 2
    assert result.json["success"] is False
    assert result.json["error"]["hint"] == "List sessions with `leslied list`."


@pytest.mark.parametrize("args", [("list",), ("show", "last"), ("search", "x")])
def test_commands_before_the_first_sync_suggest_sync(
    leslied: LesliedRunner, args: tuple[str, ...]
):
    result = leslied(*args)

    assert result.code == 2
    assert "leslied sync" in result.err


def test_sync_in_a_home_without_agents_names_the_command_that_lists_paths(
    leslied: LesliedRunner,
):
    result = leslied("sync")

    assert result.code == 0
    assert "leslied agents" in result.out
    assert "~/.claude/projects" in leslied("agents").out


@pytest.mark.fault("E13")
@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[projects]\nexlude = []\n", "line 2: unknown key 'projects.exlude'"),
        ("[projects\n", "is not valid TOML"),
        ('[agents.claude-cod]\nroots = ["/x"]\n', "Did you mean 'claude-code'?"),
        ('[store]\nwarn_bytes = "many"\n', "line 2: store.warn_bytes"),
    ],
)
def test_an_invalid_config_is_reported_in_one_sentence(
    leslied: LesliedRunner, tmp_path: Path, text: str, message: str
):
    config = tmp_path / "config.toml"
    config.write_text(text)

    result = leslied("--config", str(config), "sync")

    assert result.code == 78
    assert message in result.err
    assert "Traceback" not in result.err


@pytest.mark.usefixtures("written_session")
def test_no_content_of_an_excluded_project_is_stored(
    leslied: LesliedRunner, tmp_path: Path
):
    config = tmp_path / "config.toml"
    config.write_text('[projects]\nexclude = ["/home/dev/*"]\n')

    leslied("--config", str(config), "sync")

    assert leslied("list", "--json").json["data"]["sessions"] == []
    data_dir = Path(leslied.home) / ".local/share/leslied"
    assert not any(
        b"login" in file.read_bytes() for file in data_dir.iterdir() if file.is_file()
    )


def test_a_log_without_a_working_directory_is_reported_while_projects_are_excluded(
    leslied: LesliedRunner, claude: ClaudeHome, tmp_path: Path
):
    log = claude.write({"type": "summary", "summary": "login", "leafUuid": "x"})
    config = tmp_path / "config.toml"
    config.write_text('[projects]\nexclude = ["/home/dev/*"]\n')

    sync = leslied("--config", str(config), "sync", "--json").json
    status = leslied("--config", str(config), "status", "--json").json

    (agent,) = [a for a in status["data"]["agents"] if a["name"] == "claude-code"]
    assert sync["data"]["sources_waiting"] == agent["waiting"] == 1
    assert sync["warnings"] == status["warnings"]
    assert status["warnings"][0].startswith(f"{log}: waiting: ")


@pytest.mark.usefixtures("written_session")
def test_roots_in_the_config_replace_the_default_roots(
    leslied: LesliedRunner, tmp_path: Path, claude: ClaudeHome
):
    elsewhere = tmp_path / "elsewhere"
    (claude.home / ".claude").rename(elsewhere)
    config = tmp_path / "config.toml"
    config.write_text(f'[agents.claude-code]\nroots = ["{elsewhere}"]\n')

    leslied("--config", str(config), "sync")

    assert len(leslied("list", "--json").json["data"]["sessions"]) == 1


@pytest.mark.usefixtures("written_session")
def test_sync_respects_claude_config_dir(
    leslied: LesliedRunner, tmp_path: Path, claude: ClaudeHome
):
    elsewhere = tmp_path / "elsewhere"
    (claude.home / ".claude").rename(elsewhere)

    leslied("sync", CLAUDE_CONFIG_DIR=str(elsewhere))

    assert len(leslied("list", "--json").json["data"]["sessions"]) == 1


@pytest.mark.usefixtures("written_session")
def test_no_session_is_lost_when_a_root_is_unreadable(
    leslied: LesliedRunner, claude: ClaudeHome
):
    leslied("sync")
    claude.projects.rename(claude.projects.with_name("away"))
    claude.projects.write_text("a file where a folder was")

    result = leslied("sync")

    assert result.code == 0
    assert len(leslied("list", "--json").json["data"]["sessions"]) == 1


@pytest.mark.usefixtures("written_session")
def test_other_users_cannot_read_the_files_of_leslied(leslied: LesliedRunner):
    os.umask(0o000)
    try:
        leslied("sync")
    finally:
        os.umask(0o022)

    data_dir = Path(leslied.home) / ".local/share/leslied"
    modes = {p: stat.S_IMODE(p.stat().st_mode) for p in [data_dir, *data_dir.iterdir()]}

    assert all(mode & 0o077 == 0 for mode in modes.values()), modes


@pytest.mark.usefixtures("written_session")
def test_the_agents_directory_is_not_modified(
    leslied: LesliedRunner, claude: ClaudeHome
):
    def snapshot() -> dict[Path, tuple[int, int, bytes]]:
        files = [p for p in (claude.home / ".claude").rglob("*") if p.is_file()]
        return {
            p: (p.stat().st_mtime_ns, p.stat().st_ino, p.read_bytes()) for p in files
        }

    before = snapshot()
    for args in (("sync",), ("sync", "--stop-all"), ("list",), ("status",)):
        leslied(*args)

    assert snapshot() == before


def test_control_characters_never_reach_the_terminal(
    leslied: LesliedRunner, claude: ClaudeHome
):
    builder = ClaudeLogBuilder()
    hostile = "\x1b]52;c;aGk=\x07\x1b[2J\u202egnp.exe\x9b31m\r"
    claude.write(
        builder.prompt(hostile),
        builder.answer(hostile),
        builder.call(hostile, {}, "t1"),
    )
    leslied("sync")

    output = leslied("show", "last").out + leslied("list").out
    output += leslied("search", "gnp").out

    assert not any(c in output for c in "\x1b\x07\u202e\x9b\r")
    assert "␛]52" in output


@pytest.mark.usefixtures("written_session")
def test_sync_fails_while_another_writer_holds_the_store(leslied: LesliedRunner):
    from leslied.clock import SystemClock  # noqa: PLC0415
    from leslied.store import Store  # noqa: PLC0415

    path = Path(leslied.home) / ".local/share/leslied/store.db"
    with Store(path, SystemClock()):
        result = leslied("sync")

    assert result.code == 4
    assert "Another leslied" in result.err


def test_a_missing_home_variable_is_reported(leslied: LesliedRunner):
    result = leslied("sync", HOME="")

    assert result.code == 2
    assert "HOME is not set" in result.err


@pytest.mark.usefixtures("written_session")
def test_a_closed_pipe_ends_the_command_without_a_traceback(leslied: LesliedRunner):
    leslied("sync")

    result = subprocess.run(
        f"{sys.executable} -m leslied show last | true",
        shell=True,
        env=leslied.environ,
        capture_output=True,
        check=False,
    )

    assert b"Traceback" not in result.stderr


def test_config_path_and_show_agree(leslied: LesliedRunner):
    config = leslied("config", "show", "--json").json["data"]
    path = leslied("config", "path").out.strip()

    assert config["path"] == path
    assert config["exists"] is False
    assert config["settings"]["agents"]["claude-code"]["enabled"] is True


@pytest.mark.usefixtures("written_session")
def test_a_side_file_of_an_excluded_project_is_not_stored(
    leslied: LesliedRunner, claude: ClaudeHome, tmp_path: Path
):
    folder = f"-home-dev-app/{SESSION}/subagents"
    child = ClaudeLogBuilder()
    claude.write(
        child.prompt("look", isSidechain=True), name=f"{folder}/agent-a1.jsonl"
    )
    meta = claude.log(f"{folder}/agent-a1.meta.json")
    meta.write_text('{"agentType": "Explore", "description": "zebra hunt"}')
    config = tmp_path / "config.toml"
    config.write_text('[projects]\nexclude = ["/home/dev/*"]\n')
    leslied("--config", str(config), "sync")

    meta.write_text('{"description": "zebra hunt", "finished": true}')
    leslied("--config", str(config), "sync")

    store = Path(leslied.home) / ".local/share/leslied/store.db"
    assert b"zebra" not in store.read_bytes()


def test_search_suggests_a_query_term_for_a_filter_option(
    leslied: LesliedRunner,
):
    result = leslied("search", "hello", "--since", "7d")

    assert result.code == 2
    assert "Write after:VALUE instead of --since" in result.err
