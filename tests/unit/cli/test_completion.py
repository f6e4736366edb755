"""Shell completion of commands, options, ids, agents and projects."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.shell_completion import ShellComplete

from leslied.cli import COMMANDS, leslied
from leslied.hooks import inbox
from tests.support.claude import SESSION, ClaudeHome, ClaudeLogBuilder

OLD_SESSION = "99999999-2222-4333-8444-555555555555"
THREAD = "thread-11111111"


@pytest.fixture
def claude(claude: ClaudeHome, home: Path) -> ClaudeHome:
    """Return a home whose store is at the default path."""
    claude.store_path = home / ".local" / "share" / "leslied" / "store.db"
    return claude


@pytest.fixture
def sessions(claude: ClaudeHome) -> ClaudeHome:
    """Return a home whose store has an old session and a newer one."""
    write_session(claude, OLD_SESSION, "fix the mill", "/home/dev/mill")
    builder = ClaudeLogBuilder(SESSION)
    claude.write(*(builder.line("user", isMeta=True) for _ in range(9)))
    claude.write(builder.prompt("paint the, door\nand more"), builder.answer("Done."))
    claude.sync()
    return claude


def write_session(
    claude: ClaudeHome, session_id: str, prompt: str, cwd: str = "/home/dev/app"
):
    builder = ClaudeLogBuilder(session_id, cwd=cwd)
    name = f"-home-dev-app/{session_id}.jsonl".replace("$", "")
    claude.write(builder.prompt(prompt), builder.answer("Done."), name=name)


def list_completions(*words: str) -> dict[str, str | None]:
    """Return the completions of the last word, with their descriptions."""
    complete = ShellComplete(leslied, {}, "leslied", "_LESLIED_COMPLETE")
    items = complete.get_completions(list(words[:-1]), words[-1])
    return {item.value: item.help for item in items}


def test_commands_are_offered_with_their_summaries():
    assert list_completions("") == COMMANDS
    assert list_completions("sta") == {
        name: COMMANDS[name] for name in ("stats", "statusline", "status")
    }


def test_offering_commands_does_not_load_them(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(type(leslied), "get_command", lambda *_: 1 / 0)

    assert list_completions("li") == {"list": COMMANDS["list"]}


def test_options_and_choices_are_offered():
    assert "--format" in list_completions("export", "--")
    assert list(list_completions("export", "--format", "j")) == ["json", "jsonl"]
    assert list(list_completions("service", "i")) == ["install"]


@pytest.mark.usefixtures("sessions")
def test_sessions_are_offered_newest_first():
    assert list_completions("export", "") == {
        "last": "the session that was active last",
        SESSION: "paint the, door",
        OLD_SESSION: "fix the mill",
    }


@pytest.mark.usefixtures("sessions")
def test_threads_are_offered_for_thread_arguments():
    assert list(list_completions("resume", "")) == ["last", THREAD, "thread-99999999"]
    assert list(list_completions("context", "--ref", "thread-9")) == ["thread-99999999"]


@pytest.mark.usefixtures("sessions")
def test_a_typed_prefix_matches_session_ids_and_thread_ids():
    assert list(list_completions("export", "thread-1")) == [THREAD]
    assert list(list_completions("inject", "1")) == [SESSION]
    assert list(list_completions("bundle", "la")) == ["last"]


@pytest.mark.usefixtures("sessions")
def test_agents_and_projects_are_offered():
    assert list(list_completions("stats", "--agent", "")) == ["claude-code"]
    assert list(list_completions("stats", "--project", "")) == ["app", "mill"]
    assert list(list_completions("stats", "--project", "m")) == ["mill"]


def test_an_old_project_is_offered_by_its_prefix(
    claude: ClaudeHome, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("leslied.cli.completion.MAX_ITEMS", 1)
    write_session(claude, OLD_SESSION, "fix the mill", "/home/dev/mill")
    write_session(claude, SESSION, "paint the door")
    claude.sync()

    assert list(list_completions("stats", "--project", "mi")) == ["mill"]


def test_the_inbox_offers_threads_with_messages(home: Path):
    inbox.enqueue(str(home / ".local/share/leslied"), THREAD, "hello", 1)

    assert list(list_completions("inbox", "")) == [THREAD]


def test_secrets_and_control_characters_of_titles_are_not_shown(claude: ClaudeHome):
    key = "sk-ant-api03-" + "a1B2" * 24
    write_session(claude, SESSION, f"\x1b[31muse {key} please")
    claude.sync()

    title = list_completions("export", "1")[SESSION] or ""

    assert key not in title
    assert title.startswith("␛[31muse")


@pytest.mark.parametrize(
    "session_id", ["a;rm -rf b", "$(reboot)", "a*", "-x", "a b", "é"]
)
def test_ids_with_shell_special_characters_are_not_offered(
    claude: ClaudeHome, session_id: str
):
    write_session(claude, session_id, "hello")
    claude.sync()

    assert session_id not in list_completions("export", "")


def test_without_a_store_nothing_is_offered_and_no_file_is_created(home: Path):
    assert list_completions("export", "") == {}
    assert list(home.iterdir()) == []


def test_a_damaged_store_offers_nothing(sessions: ClaudeHome):
    sessions.store_path.write_bytes(b"no store" * 1000)

    assert list_completions("export", "") == {}


def test_completion_does_not_create_the_key_file(sessions: ClaudeHome):
    list_completions("export", "")

    assert not (sessions.store_path.parent / "redact.key").exists()


@pytest.mark.usefixtures("sessions")
def test_completion_works_with_the_config_option():
    assert SESSION in list_completions("--config", "other.toml", "export", "")
