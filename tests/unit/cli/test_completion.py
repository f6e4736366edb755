"""What a shell may offer after Tab."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.shell_completion import ShellComplete

from leslied.cli import COMMANDS, leslied
from leslied.hooks import inbox
from tests.support.claude import SESSION, ClaudeHome, ClaudeLogBuilder

OTHER = "99999999-2222-4333-8444-555555555555"
THREAD = "thread-11111111"


@pytest.fixture
def claude(claude: ClaudeHome, home: Path) -> ClaudeHome:
    """Its store stands where the command looks for it."""
    claude.store_path = home / ".local" / "share" / "leslied" / "store.db"
    return claude


@pytest.fixture
def sessions(claude: ClaudeHome) -> ClaudeHome:
    """An old session and a newer one."""
    write(claude, OTHER, "fix the mill", "/home/dev/mill")
    later = ClaudeLogBuilder(SESSION)
    claude.write(*(later.line("user", isMeta=True) for _ in range(9)))
    claude.write(later.prompt("paint the, door\nand more"), later.answer("Done."))
    claude.sync()
    return claude


def write(claude: ClaudeHome, session: str, prompt: str, cwd: str = "/home/dev/app"):
    talk = ClaudeLogBuilder(session, cwd=cwd)
    name = f"-home-dev-app/{session}.jsonl".replace("$", "")
    claude.write(talk.prompt(prompt), talk.answer("Done."), name=name)


def list_completions(*words: str) -> dict[str, str | None]:
    """What is offered for the last word, with its description."""
    complete = ShellComplete(leslied, {}, "leslied", "_LESLIED_COMPLETE")
    items = complete.get_completions(list(words[:-1]), words[-1])
    return {item.value: item.help for item in items}


def test_commands_are_offered_with_what_they_do():
    assert list_completions("") == COMMANDS
    assert list_completions("sta") == {
        n: COMMANDS[n] for n in ("stats", "statusline", "status")
    }


def test_no_command_is_loaded_to_be_offered(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(type(leslied), "get_command", lambda *_: 1 / 0)

    assert list_completions("li") == {"list": COMMANDS["list"]}


def test_options_and_choices_are_offered():
    assert "--format" in list_completions("export", "--")
    assert list(list_completions("export", "--format", "j")) == ["json", "jsonl"]
    assert list(list_completions("service", "i")) == ["install"]


def test_sessions_are_offered_newest_first(sessions: ClaudeHome):
    assert list_completions("export", "") == {
        "last": "the newest session",
        SESSION: "paint the, door",
        OTHER: "fix the mill",
    }


def test_threads_are_offered_where_a_thread_is_wanted(sessions: ClaudeHome):
    assert list(list_completions("resume", "")) == ["last", THREAD, "thread-99999999"]
    assert list(list_completions("context", "--ref", "thread-9")) == ["thread-99999999"]


def test_a_begun_id_may_be_of_either_kind(sessions: ClaudeHome):
    assert list(list_completions("export", "thread-1")) == [THREAD]
    assert list(list_completions("inject", "1")) == [SESSION]
    assert list(list_completions("bundle", "la")) == ["last"]


def test_agents_and_projects_are_offered(sessions: ClaudeHome):
    assert list(list_completions("stats", "--agent", "")) == ["claude-code"]
    assert list(list_completions("stats", "--project", "")) == ["app", "mill"]
    assert list(list_completions("stats", "--project", "m")) == ["mill"]


def test_threads_with_messages_are_offered_to_the_inbox(home: Path):
    inbox.enqueue(str(home / ".local/share/leslied"), THREAD, "hello", 1)

    assert list(list_completions("inbox", "")) == [THREAD]


def test_secrets_and_controls_of_a_title_are_not_shown(claude: ClaudeHome):
    key = "sk-ant-api03-" + "a1B2" * 24
    write(claude, SESSION, f"\x1b[31muse {key} please")
    claude.sync()

    title = list_completions("export", "1")[SESSION] or ""

    assert key not in title
    assert title.startswith("␛[31muse")


@pytest.mark.parametrize("name", ["a;rm -rf b", "$(reboot)", "a*", "-x", "a b", "é"])
def test_an_id_that_a_shell_would_read_otherwise_is_not_offered(
    claude: ClaudeHome, name: str
):
    write(claude, name, "hello")
    claude.sync()

    assert name not in list_completions("export", "")


def test_without_a_store_nothing_is_offered_and_nothing_made(home: Path):
    assert list_completions("export", "") == {}
    assert list(home.iterdir()) == []


def test_a_broken_store_offers_nothing(sessions: ClaudeHome):
    sessions.store_path.write_bytes(b"no store" * 1000)

    assert list_completions("export", "") == {}


def test_looking_makes_no_key(sessions: ClaudeHome):
    list_completions("export", "")

    assert not (sessions.store_path.parent / "redact.key").exists()


def test_the_store_of_a_config_file_that_is_named_is_found(sessions: ClaudeHome):
    assert SESSION in list_completions("--config", "other.toml", "export", "")
