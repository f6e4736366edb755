"""A home with one session, and an app that reads it."""

from __future__ import annotations

from leslied.app import App
from leslied.paths import AppPaths
from tests.support.claude import SESSION, ClaudeHome, ClaudeLogBuilder

SECRET = "ghp_" + "A1b2" * 9
CALL_ID = "toolu_1"
PROJECT = "/home/dev/app"


def make_app(claude: ClaudeHome) -> App:
    """Return an app for the home and the store next to it."""
    paths = AppPaths(
        config_file=claude.home / "config.toml",
        data_dir=claude.store_path.parent,
        state_dir=claude.home / "state",
    )
    return App({"HOME": str(claude.home)}, paths, claude.clock)


def write_session(claude: ClaudeHome, session_id: str = SESSION) -> None:
    """Write a session of two units, whose first prompt and call contain a secret."""
    builder = ClaudeLogBuilder(session_id)
    claude.write(
        builder.prompt(f"Use {SECRET} to log in"),
        builder.call("Bash", {"command": f"login {SECRET}"}, CALL_ID),
        builder.result(CALL_ID, "logged in"),
        builder.answer("Done."),
        builder.prompt("And now?"),
        builder.answer("Nothing is left."),
        name=f"-home-dev-app/{session_id}.jsonl",
    )


def make_home_with_session(claude: ClaudeHome) -> App:
    """Return an app whose store has the session."""
    write_session(claude)
    claude.sync()
    return make_app(claude)
