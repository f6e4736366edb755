"""Rules of injection: what is injected, and when."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.support.claude import ClaudeLogBuilder
from tests.support.hooks import THREAD, HookedSession


@pytest.fixture
def session(tmp_path: Path) -> HookedSession:
    return HookedSession(tmp_path)


def make_usage(tokens: int) -> dict[str, object]:
    """Return the fields of an answer that used about this many tokens."""
    return {"usage": {"input_tokens": 1, "cache_read_input_tokens": tokens}}


@pytest.mark.parametrize("source", ["startup", "resume", "clear", "compact", "fork"])
def test_the_context_is_injected_at_every_start(session: HookedSession, source: str):
    session.add_asset("plan.md")

    text = session.call_hook("SessionStart", source=source)

    head, *assets, end = text.split("\n")
    assert head.startswith(f'<thread_context thread="{THREAD}" objective="')
    assert assets == [
        f'  <asset type="plan" path=".leslie/threads/{THREAD}/plan.md" />'
    ]
    assert end == "</thread_context>"


def test_a_prompt_gets_the_context_only_if_it_changed(session: HookedSession):
    session.call_hook("SessionStart", source="startup")

    assert session.prompt() == ""
    session.add_asset("design.md")
    assert "design.md" in session.prompt()
    assert session.prompt() == ""


def test_the_first_prompt_after_a_compaction_gets_the_context(session: HookedSession):
    """This holds even if no SessionStart follows."""
    session.call_hook("SessionStart", source="startup")
    session.call_hook("PreCompact", trigger="auto")

    assert "<thread_context" in session.prompt()
    assert session.prompt() == ""


def test_the_context_is_injected_once_more_when_the_window_is_nearly_full(
    session: HookedSession,
):
    builder = ClaudeLogBuilder()
    session.call_hook("SessionStart", source="startup")
    session.write(builder.answer("a", **make_usage(179_000)))
    assert session.prompt() == ""

    session.write(builder.answer("b", **make_usage(180_000)))

    assert "<thread_context" in session.prompt()
    assert session.prompt() == ""


@pytest.mark.parametrize(
    ("tokens", "model", "is_injected"),
    [
        (190_000, "claude-opus-5-5", True),
        (190_000, "claude-opus-5-5[1m]", False),
        (899_000, "claude-opus-5-5[1m]", False),
        (900_000, "claude-opus-5-5[1m]", True),
        (500_000, "claude-opus-5-5", False),
    ],
)
def test_the_size_of_the_window_depends_on_the_model(
    session: HookedSession, tokens: int, model: str, *, is_injected: bool
):
    session.call_hook("SessionStart", source="startup", model=model)
    session.write(ClaudeLogBuilder().answer("a", **make_usage(tokens)))

    assert bool(session.prompt()) == is_injected


def test_usage_of_a_subagent_does_not_count(session: HookedSession):
    builder = ClaudeLogBuilder()
    session.call_hook("SessionStart", source="startup")
    session.write(builder.answer("a", **make_usage(10)))
    session.write(builder.answer("b", **make_usage(199_000)) | {"isSidechain": True})

    assert session.prompt() == ""


@pytest.mark.parametrize(
    "prompt",
    [
        "<task-notification>\n<task-id>b1</task-id>\n</task-notification>",
        '\n<teammate-message teammate_id="x">hi</teammate-message>',
        "Stop hook feedback:\n- more",
    ],
)
def test_a_machine_prompt_gets_no_injection(session: HookedSession, prompt: str):
    message_id = session.queue_message("hello")

    assert session.prompt(prompt) == ""
    assert session.messages() == {message_id: "queued"}


def test_the_prompt_of_a_subagent_gets_no_injection(session: HookedSession):
    assert session.prompt("do it", agent_id="a1") == ""


def test_without_a_project_there_is_no_context(tmp_path: Path):
    session = HookedSession(tmp_path)
    shutil.rmtree(session.project / ".git")

    assert session.call_hook("SessionStart", source="startup") == ""


def test_a_session_that_changes_its_folder_keeps_its_thread(session: HookedSession):
    session.call_hook("SessionStart", source="startup")
    session.queue_message("hello")

    assert "hello" in session.prompt(cwd="/")


def test_the_relations_file_can_assign_another_thread(session: HookedSession):
    threads = {"thread-abc": {}, "thread-def": {"session_id": session.session_id}}
    session.write_relations(**threads)

    text = session.call_hook("SessionStart", source="startup")

    assert '<thread_context thread="thread-def"' in text


@pytest.mark.threat("P3", "X7")
@pytest.mark.parametrize("name", ["../../etc", ".hidden", "a b", "", "x" * 65, 'a"b'])
def test_an_invalid_thread_id_in_the_relations_file_is_ignored(
    session: HookedSession, name: str
):
    session.write_relations(**{name: {"session_id": session.session_id}})

    assert f'thread="{THREAD}"' in session.call_hook("SessionStart", source="startup")
