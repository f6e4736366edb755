"""What a model is told, and when."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.support.claude import ClaudeLogBuilder
from tests.support.hooks import THREAD, HookedSession


@pytest.fixture
def session(tmp_path: Path) -> HookedSession:
    return HookedSession(tmp_path)


def usage(tokens: int, **more: object) -> dict[str, object]:
    return {"usage": {"input_tokens": 1, "cache_read_input_tokens": tokens}, **more}


@pytest.mark.parametrize("source", ["startup", "resume", "clear", "compact", "fork"])
def test_every_start_carries_the_context(session: HookedSession, source: str):
    session.add_asset("plan.md")

    said = session.call_hook("SessionStart", source=source)

    head, *assets, end = said.split("\n")
    assert head.startswith(f'<thread_context thread="{THREAD}" objective="')
    assert assets == [
        f'  <asset type="plan" path=".leslie/threads/{THREAD}/plan.md" />'
    ]
    assert end == "</thread_context>"


def test_a_prompt_carries_the_context_only_when_it_changed(session: HookedSession):
    session.call_hook("SessionStart", source="startup")

    assert session.prompt() == ""
    session.add_asset("design.md")
    assert "design.md" in session.prompt()
    assert session.prompt() == ""


def test_after_a_compaction_the_next_prompt_carries_it(session: HookedSession):
    """Also where no SessionStart follows."""
    session.call_hook("SessionStart", source="startup")
    session.call_hook("PreCompact", trigger="auto")

    assert "<thread_context" in session.prompt()
    assert session.prompt() == ""


def test_a_window_nearly_full_carries_it_once_more(session: HookedSession):
    talk = ClaudeLogBuilder()
    session.call_hook("SessionStart", source="startup")
    session.write(talk.answer("a", **usage(179_000)))
    assert session.prompt() == ""

    session.write(talk.answer("b", **usage(180_000)))

    assert "<thread_context" in session.prompt()
    assert session.prompt() == ""


@pytest.mark.parametrize(
    ("tokens", "model", "is_told"),
    [
        (190_000, "claude-opus-5-5", True),
        (190_000, "claude-opus-5-5[1m]", False),
        (899_000, "claude-opus-5-5[1m]", False),
        (900_000, "claude-opus-5-5[1m]", True),
        (500_000, "claude-opus-5-5", False),
    ],
)
def test_the_window_is_that_of_the_model(
    session: HookedSession, tokens: int, model: str, *, is_told: bool
):
    session.call_hook("SessionStart", source="startup", model=model)
    session.write(ClaudeLogBuilder().answer("a", **usage(tokens)))

    assert bool(session.prompt()) == is_told


def test_a_subagents_answer_does_not_count(session: HookedSession):
    talk = ClaudeLogBuilder()
    session.call_hook("SessionStart", source="startup")
    session.write(talk.answer("a", **usage(10)))
    session.write(talk.answer("b", **usage(199_000)) | {"isSidechain": True})

    assert session.prompt() == ""


@pytest.mark.parametrize(
    "text",
    [
        "<task-notification>\n<task-id>b1</task-id>\n</task-notification>",
        '\n<teammate-message teammate_id="x">hi</teammate-message>',
        "Stop hook feedback:\n- more",
    ],
)
def test_what_no_person_wrote_gets_nothing(session: HookedSession, text: str):
    message_id = session.queue_message("hello")

    assert session.prompt(text) == ""
    assert session.messages() == {message_id: "queued"}


def test_a_subagents_prompt_gets_nothing(session: HookedSession):
    assert session.prompt("do it", agent_id="a1") == ""


def test_without_a_project_there_is_no_context(tmp_path: Path):
    session = HookedSession(tmp_path)
    shutil.rmtree(session.project / ".git")

    assert session.call_hook("SessionStart", source="startup") == ""


def test_an_agent_that_changes_its_folder_keeps_its_thread(session: HookedSession):
    session.call_hook("SessionStart", source="startup")

    assert session.prompt(cwd="/") == ""


def test_a_thread_that_leslie_claims_is_the_thread(session: HookedSession):
    claims = {"thread-abc": {}, "thread-def": {"session_id": session.session_id}}
    session.write_relations(**claims)

    said = session.call_hook("SessionStart", source="startup")

    assert '<thread_context thread="thread-def"' in said


@pytest.mark.parametrize("name", ["../../etc", ".hidden", "a b", "", "x" * 65, 'a"b'])
def test_a_claim_that_is_no_name_is_none(session: HookedSession, name: str):
    session.write_relations(**{name: {"session_id": session.session_id}})

    assert f'thread="{THREAD}"' in session.call_hook("SessionStart", source="startup")
