"""Test how Qwen Code's logs are decoded."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from leslied.agents import load_adapters
from leslied.model.record import Usage
from leslied.model.source import Environment
from tests.support.agent_home import AgentHome

ADAPTER = load_adapters()["qwen-code"]
SESSION = "11111111-2222-4333-8444-555555555555"
LOG = f"-home-dev-app/chats/{SESSION}.jsonl"


@pytest.fixture
def qwen(home: Path, tmp_path: Path, clock) -> AgentHome:
    return AgentHome(ADAPTER, home, tmp_path / "store.db", clock)


def make_line(type_: str, number: int = 1, **fields: Any) -> dict[str, Any]:
    return {
        "uuid": f"00000000-0000-4000-8000-{number:012}",
        "sessionId": SESSION,
        "timestamp": f"2026-11-16T10:00:{number:02}.000Z",
        "type": type_,
        **fields,
    }


def make_message(*items: Any) -> dict[str, Any]:
    """Return a message with these parts; text becomes a text part."""
    return {
        "parts": [{"text": item} if isinstance(item, str) else item for item in items]
    }


def make_environment(home: Path, **environ: str) -> Environment:
    return Environment(home=home, environ=environ, platform="linux")


def list_root_paths(home: Path, *configured: Path, **environ: str) -> list[str]:
    roots = ADAPTER.roots(make_environment(home, **environ), configured)
    return [str(root.path) for root in roots]


# Roots


def test_the_roots_are_below_the_home_directory(tmp_path: Path):
    assert list_root_paths(tmp_path) == [
        f"{tmp_path}/.qwen/projects",
        f"{tmp_path}/.qwen/tmp",
    ]


def test_the_roots_in_the_runtime_directory_precede_those_in_the_home(tmp_path: Path):
    roots = list_root_paths(tmp_path, QWEN_RUNTIME_DIR="~/run", QWEN_HOME="/q")

    assert roots[::2] == [f"{tmp_path}/run/projects", "/q/projects"]


def test_configured_directories_replace_the_defaults(tmp_path: Path):
    roots = list_root_paths(tmp_path, Path("/a"), Path("/b/projects"))

    assert roots == ["/a/projects", "/a/tmp", "/b/projects"]


def test_a_session_is_resumed_by_its_id():
    assert ADAPTER.resume_command(SESSION) == f"qwen --resume {SESSION}"


# Authorship


def test_every_user_message_has_its_origin(qwen: AgentHome):
    assert qwen.read_case("speech").user_messages() == [
        ("command", "/about"),
        ("prompt", "Read @plan.md"),
        ("prompt", "What is in this picture?\n\n[image image/png, 6 B]"),
        ("queued", "Only look, please."),
        ("prompt", "Where are we?"),
    ]


def test_a_referenced_file_is_not_part_of_the_prompt(qwen: AgentHome):
    contents = qwen.read_case("interactive")

    assert ("prompt", "read @plan.md now [[again]]") in contents.user_messages()


@pytest.mark.parametrize(
    ("case", "note"), [("speech", "cron"), ("background-agent", "notification")]
)
def test_text_that_a_program_wrote_is_a_notice(qwen: AgentHome, case: str, note: str):
    assert qwen.read_case(case).notes("notice") == [note]


def test_a_notification_for_a_subagent_is_not_a_task(qwen: AgentHome):
    notification = make_line(
        "user", message=make_message("Done."), externalInputKind="notification"
    )

    (record,) = qwen.decode(
        f"x/subagents/{SESSION}/agent-a.jsonl", notification
    ).records

    assert record.metadata["kind"] == "notice"


def test_a_slash_command_starts_no_unit_and_no_turn(qwen: AgentHome):
    payload = {"phase": "invocation", "rawCommand": "/rename Mill"}
    invocation = make_line("system", subtype="slash_command", systemPayload=payload)
    payload = {"phase": "result", "rawCommand": "/rename Mill"}
    result = make_line("system", 2, subtype="slash_command", systemPayload=payload)
    qwen.write(f".qwen/projects/{LOG}", invocation, result)

    contents = qwen.read()

    assert contents.user_messages() == [("command", "/rename Mill")]
    assert (contents.main.units, contents.main.has_turn_ended) == (0, True)


def test_a_tool_result_in_a_user_line_is_a_result(qwen: AgentHome):
    result = {"functionResponse": {"id": "c", "name": "x", "response": {"output": "o"}}}

    records = qwen.decode(
        LOG, make_line("user", message=make_message(result, "And?"))
    ).records

    assert [(r.type, r.content) for r in records] == [
        ("tool_result", "o"),
        ("user_message", "And?"),
    ]


# Turns


def test_an_answer_before_a_call_does_not_end_the_turn(qwen: AgentHome):
    contents = qwen.read_case("tools")

    stop_reasons = [
        p.record.metadata.get("stop_reason")
        for p in contents.records("assistant_message")
    ]
    assert stop_reasons == [None, "end_turn"]


@pytest.mark.parametrize(
    ("case", "reason"),
    [("hello", "end_turn"), ("interactive", "cancelled"), ("error", "error")],
)
def test_a_turn_has_a_stop_reason(qwen: AgentHome, case: str, reason: str):
    assert qwen.read_case(case).units()[-1].stop_reason == reason


def test_a_killed_session_has_an_unanswered_call_and_no_end(qwen: AgentHome):
    contents = qwen.read_case("killed")

    (unit,) = [u for u in contents.units() if u.number]
    assert unit.entries[-1].record.metadata["is_unanswered"]
    assert not contents.main.has_turn_ended


def test_an_error_that_is_retried_has_the_role_that_ends_no_turn(qwen: AgentHome):
    contents = qwen.read_case("speech")

    (error,) = contents.records("error")
    assert (error.record.role, error.record.content) == ("system", "503 overloaded")


def test_the_text_of_a_subagent_does_not_end_its_turn(qwen: AgentHome):
    contents = qwen.read_case("background-agent")

    (child,) = contents.subagents
    assert contents.texts("assistant_message", child) == [
        "I begin.",
        "Slow worker result.",
    ]
    assert not child.has_turn_ended


# Tools


def test_a_failed_call_is_an_error_and_a_failed_command_has_its_exit_code(
    qwen: AgentHome,
):
    command, call = (
        p.record for p in qwen.read_case("tool-errors").records("tool_result")
    )

    assert command.metadata == {
        "is_error": True,
        "exit_code": 3,
        "report": "Exit code 3\nout",
    }
    assert command.content.startswith("Exit code 3\nCommand: echo out; exit 3\n")
    assert call.metadata == {"is_error": True}


def test_an_image_next_to_a_result_belongs_to_the_result(qwen: AgentHome):
    texts = qwen.read_case("speech").texts("tool_result")

    assert texts[0].endswith("was processed.\n[image image/png, 6 B]")


def test_a_result_without_text_is_stored_as_json(qwen: AgentHome):
    result = {"functionResponse": {"id": "c", "response": {"rows": [1]}}}

    decoded = qwen.decode(
        LOG, make_line("tool_result", message=make_message(result, result))
    )

    assert [r.content for r in decoded.records] == ['{"rows":[1]}', '{"rows":[1]}']


def test_a_file_without_a_type_is_a_placeholder(qwen: AgentHome):
    part = {"fileData": {"fileUri": "x"}}

    records = qwen.decode(
        LOG, make_line("assistant", message=make_message(part))
    ).records

    assert [r.content for r in records] == ["[file data, 0 B]"]


# Tokens


def test_input_excludes_cached_tokens(qwen: AgentHome):
    (first, *_) = qwen.read_case("hello").records("thinking")

    assert first.record.usage == Usage(19688, 23, 11)


@pytest.mark.parametrize(
    ("total", "output"), [(117, 17), (110, 10), (None, 17), ("x", 17)]
)
def test_output_includes_thoughts_once(qwen: AgentHome, total: Any, output: int):
    usage = {"promptTokenCount": 100, "candidatesTokenCount": 10}
    usage |= {"thoughtsTokenCount": 7, "totalTokenCount": total}

    answer = make_line("assistant", message=make_message("Hi"), usageMetadata=usage)

    (record,) = qwen.decode(LOG, answer).records
    assert record.usage == Usage(100, output)


def test_the_tokens_of_helpers_count_but_their_model_is_not_the_sessions(
    qwen: AgentHome,
):
    event = {
        "event.name": "qwen-code.api_response",
        "model": "small",
        "response_id": "r",
    }
    event |= {
        "subagent_name": "helper",
        "input_token_count": 5,
        "output_token_count": 1,
    }
    helper = make_line(
        "system", 2, subtype="ui_telemetry", systemPayload={"uiEvent": event}
    )
    answer = make_line("assistant", model="large", message=make_message("Hi"))
    qwen.write(f".qwen/projects/{LOG}", answer, helper)

    main = qwen.read().main

    assert (main.usage, main.model) == (Usage(5, 1), "large")


def test_the_tokens_of_a_subagent_with_a_log_count_once(qwen: AgentHome):
    contents = qwen.read_case("nested-agents")

    # The client's own record of this run has 7 requests, 117,086 tokens in, 161 out.
    usage = sum((session.usage for session in contents.sessions), Usage())
    assert usage == Usage(117086 - 77, 161, 77)


def test_messages_that_a_fork_shares_count_once(qwen: AgentHome):
    contents = qwen.read_case("fork")

    assert [s.usage for s in contents.sessions if s.usage] == [Usage(60, 9, 50)]


# Subagents


def test_a_background_subagent_is_linked_to_its_call(qwen: AgentHome):
    contents = qwen.read_case("background-agent")

    (child,) = contents.subagents
    assert child.spawn_call_id == "call_404f48de000001"
    assert (child.agent_type, child.description) == ("general-purpose", "Slow job")
    assert len(contents.units()[-1].subagents) == 1


def test_a_metadata_file_reports_whether_its_subagent_has_finished(qwen: AgentHome):
    path = f"x/subagents/{SESSION}/agent-a-c1.meta.json"
    meta = {"agentId": "a-c1", "agentType": "a", "parentAgentId": "b.c-1"}

    metadata = [
        qwen.decode(path, {**meta, "status": status}).records[0].metadata
        for status in ("running", "completed")
    ]

    assert [facts.get("is_finished") for facts in metadata] == [None, True]
    assert (metadata[0]["tool_call_id"], metadata[0]["parent_agent"]) == ("c1", "b_c-1")


def test_a_subagent_of_a_subagent_is_linked_to_it(qwen: AgentHome):
    (outer,) = qwen.read_case("nested-agents").units()[-1].subagents

    (inner,) = outer.subagents
    assert (outer.tool_calls, inner.tool_calls) == (1, 2)
    assert (outer.stop_reason, inner.stop_reason) == ("end_turn", "end_turn")


def test_a_line_with_only_the_tokens_of_a_subagent_is_noise(qwen: AgentHome):
    path = f"x/subagents/{SESSION}/agent-a.jsonl"
    usage = {"promptTokenCount": 5}

    decoded = qwen.decode(
        path, make_line("assistant", message=make_message(), usageMetadata=usage)
    )

    assert (decoded.records, decoded.noise) == ((), "round")


@pytest.mark.parametrize(
    ("status", "reason"),
    [
        ("completed", "end_turn"),
        ("failed", "error"),
        ("cancelled", "cancelled"),
        ("running", None),
        ("paused", None),
    ],
)
def test_a_metadata_file_reports_how_its_subagent_ended(
    qwen: AgentHome, status: str, reason: str | None
):
    meta = {"agentId": "a-c1", "agentType": "a", "toolUseId": "c2", "status": status}

    path = f"x/subagents/{SESSION}/agent-a-c1.meta.json"
    (record,) = qwen.decode(path, meta).records

    assert record.metadata.get("stop_reason") == reason
    assert record.metadata["tool_call_id"] == "c2"


def test_a_metadata_file_alone_creates_no_session(qwen: AgentHome):
    assert len(qwen.read_case("broken").sessions) == 1


# Sessions


def test_a_custom_title_outranks_a_generated_one(qwen: AgentHome):
    assert qwen.read_case("speech").main.title == "Mill"


def test_a_change_of_directory_is_stored_once(qwen: AgentHome):
    metadata = [
        p.record.metadata for p in qwen.read_case("speech").records("system_event")
    ]

    folders = [facts["cwd"] for facts in metadata if "cwd" in facts]
    assert folders == ["/home/dev/mill", "/home/dev/mill/dam"]


def test_a_selected_model_is_a_context_event(qwen: AgentHome):
    line = make_line("system", subtype="session_model", systemPayload={"modelId": "q"})

    (record,) = qwen.decode(LOG, line).records

    assert (record.model, record.metadata["kind"]) == ("q", "context")


def test_compression_and_rewind_are_events(qwen: AgentHome):
    contents = qwen.read_case("speech")

    assert contents.notes("compacted") == ["chat_compression"]
    assert contents.notes("rewound") == ["rewind"]


def test_an_object_in_a_damaged_line_is_decoded_only_if_it_is_an_entry(qwen: AgentHome):
    damaged = json.dumps({"text": "inner"}) + json.dumps(
        make_line("user", message=make_message("Hi"))
    )
    qwen.write(f".qwen/projects/{LOG}", damaged + "\n")

    assert qwen.read().user_messages() == [("prompt", "Hi")]


# Old documents


def test_an_old_document_is_a_session(qwen: AgentHome):
    contents = qwen.read_case("old-document")

    assert contents.user_messages() == [("prompt", "List the files.")]
    assert contents.texts("tool_result") == ["plan.md", "File not found"]
    assert contents.main.usage == Usage(150, 20, 120)


def test_a_grown_document_adds_only_new_records(qwen: AgentHome):
    path = ".qwen/tmp/ab/chats/session-1.json"
    first = {"id": "1", "type": "user", "content": "Hello"}
    qwen.write(path, {"sessionId": SESSION, "messages": [first]})
    qwen.read()
    (qwen.home / path).unlink()
    call = {"id": "c", "name": "x", "args": {}, "resultDisplay": "ok", "result": []}
    second = {"id": "2", "type": "qwen", "content": "Hi", "toolCalls": [call]}
    qwen.write(path, {"sessionId": SESSION, "messages": [first, second]})

    types = [p.record.type for p in qwen.read().records()]

    assert types == ["user_message", "assistant_message", "tool_use", "tool_result"]
