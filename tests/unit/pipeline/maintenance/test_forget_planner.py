"""The plan of forgetting names sessions, entries and what remains."""

from __future__ import annotations

from pathlib import Path

import pytest

from leslied import deletion, jobs
from leslied.errors import UserError
from leslied.queries.operations.forget_plan import ForgetAnswer, ForgetRequest
from leslied.store import StoreReader
from tests.support.claude import SESSION, ClaudeHome, ClaudeLogBuilder
from tests.support.forget import NoProgress
from tests.support.git import git
from tests.support.prune import sync_and_archive
from tests.support.queries import SECRET, make_app, write_session

OLD = "aaaaaaaa-2222-4333-8444-555555555555"


def plan(claude: ClaudeHome, **fields: str) -> ForgetAnswer:
    return deletion.plan_forget(make_app(claude), ForgetRequest(**fields))


def test_a_session_is_planned_with_its_log(claude: ClaudeHome):
    write_session(claude)
    sync_and_archive(claude)
    answer = plan(claude, id="last")
    (session,) = answer.sessions

    assert (session.session.key.session_id, session.is_whole) == (SESSION, True)
    assert answer.remainders == (("log", str(claude.log())),)
    assert not answer.is_done


def test_titles_in_a_plan_contain_no_secrets(claude: ClaudeHome):
    write_session(claude)
    claude.sync()
    (session,) = plan(claude, text="log in").sessions

    assert SECRET not in session.session.title
    assert "REDACTED" in session.session.title


def test_an_unknown_id_is_refused(claude: ClaudeHome):
    write_session(claude)
    claude.sync()

    with pytest.raises(UserError, match="No session"):
        plan(claude, id="ffff")


def test_repositories_that_track_transcripts_are_reported(
    claude: ClaudeHome, project: Path
):
    builder = ClaudeLogBuilder(OLD, str(project))
    claude.write(builder.prompt("hello"), name=f"-app/{OLD}.jsonl")
    app = make_app(claude)
    (app.paths.config_file.parent).mkdir(parents=True, exist_ok=True)
    app.paths.config_file.write_text('[output]\nbackfill = "project"\n')
    jobs.sync(app, NoProgress(), stop_all=True)
    git(project, "init", "-q")
    git(project, "add", "--force", ".leslie")
    answer = deletion.plan_forget(app, ForgetRequest(id=OLD))

    assert ("git", str(project)) in answer.remainders


def test_a_part_of_a_session_cannot_be_forgotten_by_id(claude: ClaudeHome):
    claude.write(ClaudeLogBuilder().prompt("hello"))
    claude.sync()
    with StoreReader(claude.store_path) as reader:
        chat_id = reader.find_units_by_prefix("chat-")[0][2]

    with pytest.raises(UserError, match="only a part"):
        plan(claude, id=chat_id)
