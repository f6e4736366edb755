"""The real program, as a person or a script calls it."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.claude import SESSION, ClaudeHome, ClaudeLogBuilder
from tests.support.cli import LesliedRunner
from tests.support.golden import FIXTURES, copy_home

pytestmark = pytest.mark.e2e


@pytest.fixture
def leslied(home: Path) -> LesliedRunner:
    return LesliedRunner(home)


@pytest.fixture
def talk(claude: ClaudeHome) -> ClaudeLogBuilder:
    """A session with a tool call in it."""
    talk = ClaudeLogBuilder()
    claude.write(
        talk.prompt("fix the login bug"),
        talk.call("Bash", {"command": "grep -n login app.py"}, "toolu_1"),
        talk.result("toolu_1", "12: def login():"),
        talk.answer("The login works again."),
    )
    return talk


def test_sync_then_list_shows_the_session(
    leslied: LesliedRunner, talk: ClaudeLogBuilder
):
    assert leslied("sync").code == 0

    (session,) = leslied("list", "--json").json["data"]["sessions"]

    assert session["id"] == SESSION
    assert session["title"] == "fix the login bug"
    assert session["thread_id"] == "thread-11111111"
    assert (session["units"], session["tool_calls"]) == (1, 1)
    assert session["status"] in ("active", "idle", "stopped")
    assert session["usage"]["input_tokens"] == 20


def test_a_second_sync_says_that_nothing_is_new(
    leslied: LesliedRunner, talk: ClaudeLogBuilder
):
    leslied("sync")

    again = leslied("sync", "--json").json["data"]

    assert (again["entries_decoded"], again["bytes_read"]) == (0, 0)


def test_an_id_that_begins_with_its_time_is_listed_long_enough(
    leslied: LesliedRunner, home: Path
):
    copy_home(FIXTURES / "codex" / "subagent", home)
    leslied("sync")
    listed = leslied("list").out.split("\n")[1].split()[0]

    shown = leslied("show", listed)

    assert (shown.code, "● exec_command ls | wc -l" in shown.out) == (0, True)


def test_show_tells_the_whole_talk(leslied: LesliedRunner, talk: ClaudeLogBuilder):
    leslied("sync")

    page = leslied("show", "last").out

    assert "> fix the login bug" in page
    assert "● Bash grep -n login app.py" in page
    assert "└ 12: def login():" in page
    assert "The login works again." in page


def test_show_takes_any_kind_of_id(leslied: LesliedRunner, talk: ClaudeLogBuilder):
    leslied("sync")
    data = leslied("show", SESSION[:6], "--json").json["data"]
    (unit,) = [u for u in data["units"] if u["prompt"]]

    by_thread = leslied("show", "thread-1111", "--json").json["data"]
    by_chat = leslied("show", unit["chat_id"], "--json").json["data"]

    assert by_thread["session"]["id"] == SESSION
    assert [u["chat_id"] for u in by_chat["units"]] == [unit["chat_id"]]


def test_search_finds_prompts_calls_and_results(
    leslied: LesliedRunner, talk: ClaudeLogBuilder
):
    leslied("sync")

    found = leslied("search", "login", "--json").json["data"]["hits"]

    assert {hit["type"] for hit in found} == {
        "user_message",
        "tool_use",
        "tool_result",
        "assistant_message",
    }
    assert all("login" in hit["snippet"] for hit in found)


@pytest.mark.parametrize(
    "words",
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
def test_any_string_is_a_valid_query(
    leslied: LesliedRunner, talk: ClaudeLogBuilder, words: str
):
    leslied("sync")

    ran = leslied("search", "--json", "--", words)

    assert ran.code == 0, ran.err
    assert ran.json["success"]


def test_stop_all_marks_every_session_stopped(
    leslied: LesliedRunner, talk: ClaudeLogBuilder
):
    leslied("sync", "--stop-all")

    (session,) = leslied("list", "--json").json["data"]["sessions"]

    assert session["status"] == "stopped"


def test_status_names_agents_store_and_daemon(
    leslied: LesliedRunner, talk: ClaudeLogBuilder
):
    leslied("sync")

    data = leslied("status", "--json").json["data"]

    (agent,) = [a for a in data["agents"] if a["name"] == "claude-code"]
    assert (agent["sources"], agent["sessions"], agent["rejected"]) == (1, 1, 0)
    assert agent["lag_seconds"] == 0
    assert data["store"]["records"] > 0
    assert data["daemon"]["running"] is False


def test_rejected_entries_are_counted_and_explained(
    leslied: LesliedRunner, claude: ClaudeHome
):
    claude.log().write_bytes(b"this is no JSON\n[1, 2]\n")
    leslied("sync")

    data = leslied("status", "--rejected", "--json").json["data"]

    assert data["store"]["rejected"] == 2
    assert [each["offset"] for each in data["rejected"]] == [0, 16]
    assert all(each["reason"] for each in data["rejected"])


def test_an_unknown_id_gets_a_sentence_and_the_next_step(
    leslied: LesliedRunner, talk: ClaudeLogBuilder
):
    leslied("sync")

    ran = leslied("show", "nope")

    assert ran.code == 2
    assert "No session" in ran.err
    assert "leslied list" in ran.err
    assert "Traceback" not in ran.err


def test_an_error_as_json_is_an_envelope(
    leslied: LesliedRunner, talk: ClaudeLogBuilder
):
    leslied("sync")

    ran = leslied("show", "nope", "--json")

    assert ran.code == 2
    assert ran.json["success"] is False
    assert ran.json["error"]["hint"] == "See the ids: leslied list"


@pytest.mark.parametrize("words", [("list",), ("show", "last"), ("search", "x")])
def test_before_the_first_sync_a_look_says_what_to_do(
    leslied: LesliedRunner, words: tuple[str, ...]
):
    ran = leslied(*words)

    assert ran.code == 2
    assert "leslied sync" in ran.err


def test_a_home_without_agents_is_told_where_we_looked(leslied: LesliedRunner):
    ran = leslied("sync")

    assert ran.code == 0
    assert "~/.claude/projects" in ran.out


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[projects]\nexlude = []\n", "line 2: unknown key 'projects.exlude'"),
        ("[projects\n", "is not TOML"),
        ('[agents.claude-cod]\nroots = ["/x"]\n', "Did you mean 'claude-code'?"),
        ('[store]\nwarn_bytes = "many"\n', "line 2: store.warn_bytes"),
    ],
)
def test_a_wrong_config_is_one_sentence(
    leslied: LesliedRunner, tmp_path: Path, text: str, said: str
):
    config = tmp_path / "config.toml"
    config.write_text(text)

    ran = leslied("--config", str(config), "sync")

    assert ran.code == 78
    assert said in ran.err
    assert "Traceback" not in ran.err


def test_an_excluded_project_keeps_no_content(
    leslied: LesliedRunner, talk: ClaudeLogBuilder, tmp_path: Path
):
    config = tmp_path / "config.toml"
    config.write_text('[projects]\nexclude = ["/home/dev/*"]\n')

    leslied("--config", str(config), "sync")

    assert leslied("list", "--json").json["data"]["sessions"] == []
    data_dir = Path(leslied.home) / ".local/share/leslied"
    assert not any(
        b"login" in file.read_bytes() for file in data_dir.iterdir() if file.is_file()
    )


def test_a_log_that_names_no_folder_is_reported_while_projects_are_excluded(
    leslied: LesliedRunner, claude: ClaudeHome, tmp_path: Path
):
    log = claude.write({"type": "summary", "summary": "login", "leafUuid": "x"})
    config = tmp_path / "config.toml"
    config.write_text('[projects]\nexclude = ["/home/dev/*"]\n')

    synced = leslied("--config", str(config), "sync", "--json").json
    status = leslied("--config", str(config), "status", "--json").json

    (agent,) = [a for a in status["data"]["agents"] if a["name"] == "claude-code"]
    assert synced["data"]["sources_waiting"] == agent["waiting"] == 1
    assert synced["warnings"] == status["warnings"]
    assert status["warnings"][0].startswith(f"{log}: waiting: ")


def test_roots_in_the_config_replace_the_usual_ones(
    leslied: LesliedRunner, talk: ClaudeLogBuilder, tmp_path: Path, claude: ClaudeHome
):
    elsewhere = tmp_path / "elsewhere"
    (claude.home / ".claude").rename(elsewhere)
    config = tmp_path / "config.toml"
    config.write_text(f'[agents.claude-code]\nroots = ["{elsewhere}"]\n')

    leslied("--config", str(config), "sync")

    assert len(leslied("list", "--json").json["data"]["sessions"]) == 1


def test_claude_config_dir_is_followed(
    leslied: LesliedRunner, talk: ClaudeLogBuilder, tmp_path: Path, claude: ClaudeHome
):
    elsewhere = tmp_path / "elsewhere"
    (claude.home / ".claude").rename(elsewhere)

    leslied("sync", CLAUDE_CONFIG_DIR=str(elsewhere))

    assert len(leslied("list", "--json").json["data"]["sessions"]) == 1


def test_an_unreadable_root_is_said_and_nothing_is_lost(
    leslied: LesliedRunner, talk: ClaudeLogBuilder, claude: ClaudeHome
):
    leslied("sync")
    claude.projects.rename(claude.projects.with_name("away"))
    claude.projects.write_text("a file where a folder was")

    ran = leslied("sync")

    assert ran.code == 0
    assert len(leslied("list", "--json").json["data"]["sessions"]) == 1


def test_nothing_we_write_can_be_read_by_others(
    leslied: LesliedRunner, talk: ClaudeLogBuilder
):
    os.umask(0o000)
    try:
        leslied("sync")
    finally:
        os.umask(0o022)

    data_dir = Path(leslied.home) / ".local/share/leslied"
    modes = {p: stat.S_IMODE(p.stat().st_mode) for p in [data_dir, *data_dir.iterdir()]}

    assert all(mode & 0o077 == 0 for mode in modes.values()), modes


def test_the_agents_folder_stays_as_it_was(
    leslied: LesliedRunner, talk: ClaudeLogBuilder, claude: ClaudeHome
):
    def look() -> dict[Path, tuple[int, int, bytes]]:
        files = [p for p in (claude.home / ".claude").rglob("*") if p.is_file()]
        return {
            p: (p.stat().st_mtime_ns, p.stat().st_ino, p.read_bytes()) for p in files
        }

    before = look()
    for words in (("sync",), ("sync", "--stop-all"), ("list",), ("status",)):
        leslied(*words)

    assert look() == before


def test_control_characters_never_reach_the_terminal(
    leslied: LesliedRunner, claude: ClaudeHome
):
    talk = ClaudeLogBuilder()
    evil = "\x1b]52;c;aGk=\x07\x1b[2J\u202egnp.exe\x9b31m\r"
    claude.write(talk.prompt(evil), talk.answer(evil), talk.call(evil, {}, "t1"))
    leslied("sync")

    said = leslied("show", "last").out + leslied("list").out
    said += leslied("search", "gnp").out

    assert not any(c in said for c in "\x1b\x07\u202e\x9b\r")
    assert "␛]52" in said


def test_two_syncs_at_once_leave_one_writer(
    leslied: LesliedRunner, talk: ClaudeLogBuilder, tmp_path: Path
):
    from leslied.clock import SystemClock  # noqa: PLC0415
    from leslied.store import Store  # noqa: PLC0415

    path = Path(leslied.home) / ".local/share/leslied/store.db"
    with Store(path, SystemClock()):
        ran = leslied("sync")

    assert ran.code == 4
    assert "Another leslied" in ran.err


def test_without_a_home_there_is_a_sentence(leslied: LesliedRunner):
    ran = leslied("sync", HOME="")

    assert ran.code == 2
    assert "HOME is not set" in ran.err


def test_a_reader_that_leaves_early_ends_the_command_quietly(
    leslied: LesliedRunner, talk: ClaudeLogBuilder
):
    leslied("sync")

    done = subprocess.run(
        f"{sys.executable} -m leslied show last | true",
        shell=True,
        env=leslied.environ,
        capture_output=True,
        check=False,
    )

    assert b"Traceback" not in done.stderr


def test_config_path_and_show_agree(leslied: LesliedRunner):
    shown = leslied("config", "show", "--json").json["data"]
    path = leslied("config", "path").out.strip()

    assert shown["path"] == path
    assert shown["exists"] is False
    assert shown["settings"]["agents"]["claude-code"]["enabled"] is True


def test_a_side_file_of_an_excluded_project_is_kept_out_too(
    leslied: LesliedRunner, talk: ClaudeLogBuilder, claude: ClaudeHome, tmp_path: Path
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


def test_a_filter_given_to_search_as_an_option_is_told_as_a_word(
    leslied: LesliedRunner,
):
    ran = leslied("search", "hello", "--since", "7d")

    assert ran.code == 2
    assert "Write after:… instead of --since" in ran.err
