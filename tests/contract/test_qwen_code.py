"""What Qwen Code's logs mean, fact by fact."""

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


def line(type_: str, number: int = 1, **fields: Any) -> dict[str, Any]:
    return {
        "uuid": f"00000000-0000-4000-8000-{number:012}",
        "sessionId": SESSION,
        "timestamp": f"2026-11-16T10:00:{number:02}.000Z",
        "type": type_,
        **fields,
    }


def parts(*given: Any) -> dict[str, Any]:
    return {"parts": [{"text": p} if isinstance(p, str) else p for p in given]}


def environment(home: Path, **environ: str) -> Environment:
    return Environment(home=home, environ=environ, platform="linux")


def folders(home: Path, *configured: Path, **environ: str) -> list[str]:
    roots = ADAPTER.roots(environment(home, **environ), configured)
    return [str(root.path) for root in roots]


# Places


def test_logs_are_below_the_home_folder(tmp_path: Path):
    assert folders(tmp_path) == [f"{tmp_path}/.qwen/projects", f"{tmp_path}/.qwen/tmp"]


def test_the_runtime_folder_has_the_new_logs_and_the_home_the_older(tmp_path: Path):
    told = folders(tmp_path, QWEN_RUNTIME_DIR="~/run", QWEN_HOME="/q")

    assert told[::2] == [f"{tmp_path}/run/projects", "/q/projects"]


def test_configured_folders_replace_the_usual_ones(tmp_path: Path):
    told = folders(tmp_path, Path("/a"), Path("/b/projects"))

    assert told == ["/a/projects", "/a/tmp", "/b/projects"]


def test_a_session_goes_on_by_its_id():
    assert ADAPTER.resume_command(SESSION) == f"qwen --resume {SESSION}"


# Who says what


def test_who_said_what(qwen: AgentHome):
    assert qwen.read_case("speech").user_messages() == [
        ("command", "/about"),
        ("prompt", "Read @plan.md"),
        ("prompt", "What is in this picture?\n\n[image image/png, 6 B]"),
        ("queued", "Only look, please."),
        ("prompt", "Where are we?"),
    ]


def test_a_file_named_in_a_prompt_is_not_part_of_it(qwen: AgentHome):
    told = qwen.read_case("interactive")

    assert ("prompt", "read @plan.md now [[again]]") in told.user_messages()


@pytest.mark.parametrize(
    ("case", "note"), [("speech", "cron"), ("background-agent", "notification")]
)
def test_what_a_program_says_is_no_prompt(qwen: AgentHome, case: str, note: str):
    assert qwen.read_case(case).notes("notice") == [note]


def test_news_for_a_subagent_is_no_task(qwen: AgentHome):
    news = line("user", message=parts("Done."), externalInputKind="notification")

    (record,) = qwen.decode(f"x/subagents/{SESSION}/agent-a.jsonl", news).records

    assert record.metadata["kind"] == "notice"


def test_a_slash_command_starts_no_unit_and_leaves_nobody_working(qwen: AgentHome):
    payload = {"phase": "invocation", "rawCommand": "/rename Mill"}
    asked = line("system", subtype="slash_command", systemPayload=payload)
    payload = {"phase": "result", "rawCommand": "/rename Mill"}
    shown = line("system", 2, subtype="slash_command", systemPayload=payload)
    qwen.write(f".qwen/projects/{LOG}", asked, shown)

    told = qwen.read()

    assert told.user_messages() == [("command", "/rename Mill")]
    assert (told.main.units, told.main.has_turn_ended) == (0, True)


def test_an_answer_inside_a_users_line_is_a_tools(qwen: AgentHome):
    answer = {"functionResponse": {"id": "c", "name": "x", "response": {"output": "o"}}}

    told = qwen.decode(LOG, line("user", message=parts(answer, "And?"))).records

    assert [(r.type, r.content) for r in told] == [
        ("tool_result", "o"),
        ("user_message", "And?"),
    ]


# Turns


def test_a_call_between_two_answers_does_not_end_the_turn(qwen: AgentHome):
    told = qwen.read_case("tools")

    ends = [
        p.record.metadata.get("stop_reason") for p in told.records("assistant_message")
    ]
    assert ends == [None, "end_turn"]


@pytest.mark.parametrize(
    ("case", "reason"),
    [("hello", "end_turn"), ("interactive", "cancelled"), ("error", "error")],
)
def test_how_a_turn_ended(qwen: AgentHome, case: str, reason: str):
    assert qwen.read_case(case).units()[-1].stop_reason == reason


def test_a_killed_session_has_a_call_without_an_answer_and_no_end(qwen: AgentHome):
    told = qwen.read_case("killed")

    (unit,) = [u for u in told.units() if u.number]
    assert unit.entries[-1].record.metadata["is_unanswered"]
    assert not told.main.has_turn_ended


def test_an_error_that_is_tried_again_does_not_end_the_turn(qwen: AgentHome):
    told = qwen.read_case("speech")

    (error,) = told.records("error")
    assert (error.record.role, error.record.content) == ("system", "503 overloaded")


def test_words_of_a_subagent_do_not_end_its_work(qwen: AgentHome):
    told = qwen.read_case("background-agent")

    (child,) = told.subagents
    assert told.texts("assistant_message", child) == ["I begin.", "Slow worker result."]
    assert not child.has_turn_ended


# Tools


def test_a_failed_call_is_an_error_and_a_failed_command_is_not(qwen: AgentHome):
    results = qwen.read_case("tool-errors").records("tool_result")

    assert [p.record.metadata for p in results] == [{}, {"is_error": True}]


def test_a_picture_beside_an_answer_is_told_with_it(qwen: AgentHome):
    told = qwen.read_case("speech").texts("tool_result")

    assert told[0].endswith("was processed.\n[image image/png, 6 B]")


def test_an_answer_without_words_is_told_as_json(qwen: AgentHome):
    answer = {"functionResponse": {"id": "c", "response": {"rows": [1]}}}

    told = qwen.decode(LOG, line("tool_result", message=parts(answer, answer)))

    assert [r.content for r in told.records] == ['{"rows":[1]}', '{"rows":[1]}']


def test_a_file_without_a_name_for_its_kind_is_told_by_its_size(qwen: AgentHome):
    thing = {"fileData": {"fileUri": "x"}}

    told = qwen.decode(LOG, line("assistant", message=parts(thing))).records

    assert [r.content for r in told] == ["[file data, 0 B]"]


# Tokens


def test_input_is_told_without_what_was_cached(qwen: AgentHome):
    (first, *_) = qwen.read_case("hello").records("thinking")

    assert first.record.usage == Usage(19688, 23, 11)


@pytest.mark.parametrize(
    ("total", "output"), [(117, 17), (110, 10), (None, 17), ("x", 17)]
)
def test_output_has_the_thoughts_once(qwen: AgentHome, total: Any, output: int):
    usage = {"promptTokenCount": 100, "candidatesTokenCount": 10}
    usage |= {"thoughtsTokenCount": 7, "totalTokenCount": total}

    said = line("assistant", message=parts("Hi"), usageMetadata=usage)

    (record,) = qwen.decode(LOG, said).records
    assert record.usage == Usage(100, output)


def test_the_tokens_of_helpers_count_and_their_model_is_not_the_sessions(
    qwen: AgentHome,
):
    told = {
        "event.name": "qwen-code.api_response",
        "model": "small",
        "response_id": "r",
    }
    told |= {"subagent_name": "helper", "input_token_count": 5, "output_token_count": 1}
    helper = line("system", 2, subtype="ui_telemetry", systemPayload={"uiEvent": told})
    answer = line("assistant", model="large", message=parts("Hi"))
    qwen.write(f".qwen/projects/{LOG}", answer, helper)

    main = qwen.read().main

    assert (main.usage, main.model) == (Usage(5, 1), "large")


def test_a_branched_sessions_shared_messages_count_once(qwen: AgentHome):
    told = qwen.read_case("fork")

    assert [s.usage for s in told.sessions if s.usage] == [Usage(60, 9, 50)]


# Subagents


def test_a_subagent_in_the_background_hangs_under_its_call(qwen: AgentHome):
    told = qwen.read_case("background-agent")

    (child,) = told.subagents
    assert child.spawn_call_id == "call_404f48de000001"
    assert (child.agent_type, child.description) == ("general-purpose", "Slow job")
    assert len(told.units()[-1].subagents) == 1


def test_a_side_file_tells_whether_its_subagent_still_works(qwen: AgentHome):
    path = f"x/subagents/{SESSION}/agent-a-c1.meta.json"
    meta = {"agentId": "a-c1", "agentType": "a", "parentAgentId": "b.c-1"}

    told = [
        qwen.decode(path, {**meta, "status": status}).records[0].metadata
        for status in ("running", "completed")
    ]

    assert [t.get("is_finished") for t in told] == [None, True]
    assert (told[0]["tool_call_id"], told[0]["parent_agent"]) == ("c1", "b_c-1")


def test_a_side_file_alone_makes_no_session(qwen: AgentHome):
    assert len(qwen.read_case("broken").sessions) == 1


# Sessions


def test_a_name_given_by_a_person_outranks_the_models(qwen: AgentHome):
    assert qwen.read_case("speech").main.title == "Mill"


def test_a_change_of_folder_is_told_once(qwen: AgentHome):
    told = [p.record.metadata for p in qwen.read_case("speech").records("system_event")]

    moved = [m["cwd"] for m in told if "cwd" in m]
    assert moved == ["/home/dev/mill", "/home/dev/mill/dam"]


def test_the_model_may_be_told_before_it_answers(qwen: AgentHome):
    chosen = line("system", subtype="session_model", systemPayload={"modelId": "q"})

    (record,) = qwen.decode(LOG, chosen).records

    assert (record.model, record.metadata["kind"]) == ("q", "context")


def test_compression_and_rewind_are_told(qwen: AgentHome):
    told = qwen.read_case("speech")

    assert told.notes("compacted") == ["chat_compression"]
    assert told.notes("rewound") == ["rewind"]


def test_a_piece_of_a_damaged_line_is_only_taken_if_it_is_a_line(qwen: AgentHome):
    torn = json.dumps({"text": "inner"}) + json.dumps(line("user", message=parts("Hi")))
    qwen.write(f".qwen/projects/{LOG}", torn + "\n")

    assert qwen.read().user_messages() == [("prompt", "Hi")]


# Old documents


def test_an_old_document_is_a_session(qwen: AgentHome):
    told = qwen.read_case("old-document")

    assert told.user_messages() == [("prompt", "List the files.")]
    assert told.texts("tool_result") == ["plan.md", "File not found"]
    assert told.main.usage == Usage(150, 20, 120)


def test_an_old_document_that_grew_adds_only_what_is_new(qwen: AgentHome):
    path = ".qwen/tmp/ab/chats/session-1.json"
    first = {"id": "1", "type": "user", "content": "Hello"}
    qwen.write(path, {"sessionId": SESSION, "messages": [first]})
    qwen.read()
    (qwen.home / path).unlink()
    call = {"id": "c", "name": "x", "args": {}, "resultDisplay": "ok", "result": []}
    second = {"id": "2", "type": "qwen", "content": "Hi", "toolCalls": [call]}
    qwen.write(path, {"sessionId": SESSION, "messages": [first, second]})

    told = [p.record.type for p in qwen.read().records()]

    assert told == ["user_message", "assistant_message", "tool_use", "tool_result"]
