"""Test how Copilot CLI's logs are decoded."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path
from typing import Any

import pytest

from leslied.agents import load_adapters
from leslied.errors import DecodeError
from leslied.model.record import Usage
from leslied.model.session import LiveProcess, ProcessRegistry
from leslied.model.source import Environment
from tests.support.agent_home import AgentHome

ADAPTER = load_adapters()["copilot-cli"]
SESSION = "11111111-2222-4333-8444-555555555555"
LOG = f"{SESSION}/events.jsonl"
WORKSPACE = f"{SESSION}/workspace.yaml"


@pytest.fixture
def copilot(home: Path, tmp_path: Path, clock) -> AgentHome:
    return AgentHome(ADAPTER, home, tmp_path / "store.db", clock)


def make_event(type_: str, number: int = 1, **data: Any) -> dict[str, Any]:
    return {
        "type": type_,
        "data": data,
        "id": f"00000000-0000-4000-8000-{number:012}",
        "timestamp": f"2026-11-16T10:00:{number:02}.000Z",
        "parentId": None,
    }


def make_environment(home: Path, **environ: str) -> Environment:
    return Environment(home=home, environ=environ, platform="linux")


# Roots


def test_the_root_is_below_the_home_directory(tmp_path: Path):
    (root,) = ADAPTER.roots(make_environment(tmp_path), [])

    assert root.path == tmp_path / ".copilot" / "session-state"


def test_copilot_home_replaces_the_default_directory(tmp_path: Path):
    (root,) = ADAPTER.roots(make_environment(tmp_path, COPILOT_HOME="/data/cp"), [])

    assert root.path == Path("/data/cp/session-state")


def test_configured_directories_replace_the_default(tmp_path: Path):
    configured = [Path("/a"), Path("/b/session-state")]

    roots = ADAPTER.roots(make_environment(tmp_path), configured)

    assert [str(root.path) for root in roots] == [
        "/a/session-state",
        "/b/session-state",
    ]


def test_a_session_is_resumed_by_its_id():
    assert ADAPTER.resume_command(SESSION) == f"copilot --resume={SESSION}"


def test_the_session_id_of_an_older_flat_log_is_its_name(copilot: AgentHome):
    contents = copilot.read_case("old-flat")

    assert contents.main.key.session_id == "5b1d2c3e-4f50-4a61-8b72-9c83ad94be05"


# Live processes


def test_a_lock_file_names_the_process_and_the_session(tmp_path: Path):
    path = tmp_path / SESSION / "inuse.4242.lock"

    assert ADAPTER.parse_live_process(path, b"4242\n") == LiveProcess(SESSION, 4242)
    assert list(ADAPTER.live_registries(make_environment(tmp_path), [])) == [
        ProcessRegistry(tmp_path / ".copilot" / "session-state", "*/inuse.*.lock")
    ]


@pytest.mark.parametrize("name", ["inuse..lock", "inuse.x.lock", "inuse.-1.lock"])
def test_a_lock_file_without_a_pid_is_ignored(name: str):
    assert ADAPTER.parse_live_process(Path(f"/x/{SESSION}/{name}"), b"") is None


# Authorship


def test_every_user_message_has_its_origin(copilot: AgentHome):
    assert copilot.read_case("speech").user_messages() == [
        ("prompt", "Plan the dam."),
        ("queued", "And mind the fish."),
        ("prompt", "Build it."),
        ("shell", "! git status"),
        ("prompt", "What is new?\n\n[image image/png]"),
    ]


def test_text_from_a_skill_or_the_autopilot_is_not_a_prompt(copilot: AgentHome):
    contents = copilot.read_case("speech")

    assert "skill-pdf" in contents.notes("context")
    assert "autopilot" in contents.notes("notice")


def test_a_steering_message_belongs_to_the_current_unit(copilot: AgentHome):
    contents = copilot.read_case("interactive")

    units = {p.record.content: p.unit for p in contents.records("user_message")}
    assert units["steer me [[again]]"] == units["run it [[cp-slowtool]]"] == 3


def test_a_persons_shell_command_starts_no_unit_and_no_turn(
    copilot: AgentHome,
):
    command = make_event(
        "tool.user_requested", 2, toolCallId="c", toolName="local_shell"
    )
    command["data"]["arguments"] = {"command": "ls"}
    result = make_event(
        "tool.execution_complete", 3, toolCallId="c", isUserRequested=True
    )
    log = f".copilot/session-state/{LOG}"
    copilot.write(log, make_event("session.start"), command, result)

    contents = copilot.read()

    assert contents.user_messages() == [("shell", "! ls")]
    assert (contents.main.units, contents.main.has_turn_ended) == (0, True)


def test_a_tool_that_the_person_ran_is_stored_with_its_arguments(
    copilot: AgentHome,
):
    request = make_event(
        "tool.user_requested", toolCallId="c", toolName="web", arguments=[1]
    )

    (record,) = copilot.decode(LOG, request).records

    assert record.content == "! web [1]"


def test_an_empty_user_message_starts_no_unit(copilot: AgentHome):
    (record,) = copilot.decode(LOG, make_event("user.message", content="")).records

    assert record.metadata == {"kind": "notice", "note": "empty"}


def test_a_shell_mode_message_is_a_command(copilot: AgentHome):
    line = make_event("user.message", content="ls", agentMode="shell")

    (record,) = copilot.decode(LOG, line).records

    assert record.metadata["origin"] == "shell"


def test_an_attachment_is_a_placeholder_with_its_name(copilot: AgentHome):
    attachments = [{"type": "file", "path": "/a.md"}, {"type": "selection"}, {}]

    line = make_event("user.message", content="Look.", attachments=attachments)

    (record,) = copilot.decode(LOG, line).records
    assert record.content == "Look.\n\n[file /a.md]\n\n[selection]\n\n[attachment]"


# Turns


def test_an_answer_before_a_call_does_not_end_the_turn(copilot: AgentHome):
    contents = copilot.read_case("tools")

    stop_reasons = [
        p.record.metadata.get("stop_reason")
        for p in contents.records("assistant_message")
    ]
    assert stop_reasons == [None, "end_turn"]


def test_the_last_chunk_of_an_answer_ends_the_turn(copilot: AgentHome):
    contents = copilot.read_case("speech")

    stop_reasons = [
        p.record.metadata.get("stop_reason")
        for p in contents.records("assistant_message")
    ]
    assert stop_reasons == [None, "end_turn", "end_turn"]


def test_a_shutdown_ends_the_session_and_a_resume_opens_it_again(copilot: AgentHome):
    contents = copilot.read_case("resume")

    assert contents.notes("ended") == ["routine", "routine"]
    assert (contents.main.units, contents.main.is_stopped) == (2, True)


def test_a_resume_does_not_extend_the_previous_unit(copilot: AgentHome):
    first, second = copilot.read_case("resume").units()[1:]

    assert first.ended_at
    assert second.started_at
    assert first.ended_at < second.started_at


def test_a_resume_in_another_directory_is_an_event(copilot: AgentHome):
    context = {"cwd": "/home/dev/other", "branch": "main"}

    result = copilot.decode(
        LOG,
        make_event("session.resume", context=context),
        {"cwd": "/x", "git_branch": "main"},
    )

    assert result.records[0].metadata["cwd"] == result.state["cwd"] == "/home/dev/other"


def test_a_killed_session_has_an_unanswered_call_and_no_end(copilot: AgentHome):
    contents = copilot.read_case("killed")

    (unit,) = [u for u in contents.units() if u.number]
    assert unit.entries[-2].record.metadata["is_unanswered"]
    assert (contents.main.has_turn_ended, contents.main.is_stopped) == (False, False)


@pytest.mark.parametrize(
    ("case", "reason"),
    [("hello", "end_turn"), ("interrupted", "cancelled"), ("error", "error")],
)
def test_a_turn_has_a_stop_reason(copilot: AgentHome, case: str, reason: str):
    assert copilot.read_case(case).units()[-1].stop_reason == reason


def test_a_unit_in_plan_mode_has_the_mode(copilot: AgentHome):
    modes = [unit.agent_mode for unit in copilot.read_case("speech").units()]

    assert modes == ["agent", "plan", "agent", "agent"]


# Tools


def test_a_call_that_is_logged_twice_is_stored_once(copilot: AgentHome):
    contents = copilot.read_case("tools")

    calls = [p.record.tool_name for p in contents.records("tool_use")]
    assert calls == ["bash", "create"]


def test_a_call_without_a_request_is_stored_when_it_starts(copilot: AgentHome):
    contents = copilot.read_case("speech")

    (call,) = contents.records("tool_use")
    assert call.record.tool_input == '{"path":"dam.md"}'


def test_arguments_may_be_json_text(copilot: AgentHome):
    contents = copilot.read_case("old-flat")

    first = contents.records("tool_use")[0].record
    assert json.loads(first.tool_input) == {"path": "/home/dev/mill/plan.md"}


@pytest.mark.parametrize("arguments", ["*** Begin Patch", "null", None, 7])
def test_stored_arguments_are_always_json(copilot: AgentHome, arguments: Any):
    request = {"toolCallId": "c", "name": "patch", "arguments": arguments}

    line = make_event("assistant.message", toolRequests=[request])

    (record,) = copilot.decode(LOG, line).records
    json.loads(record.tool_input)


def test_a_failed_call_is_an_error_and_a_failed_command_has_its_exit_code(
    copilot: AgentHome,
):
    call, command = (
        p.record for p in copilot.read_case("tool-errors").records("tool_result")
    )

    assert call.metadata == {"is_error": True}
    assert command.metadata == {"is_error": True, "exit_code": 3}
    assert command.content == "Exit code 3\nout\nerr"


# Reasoning


def test_a_thought_that_older_logs_repeat_is_stored_once(copilot: AgentHome):
    assert copilot.read_case("old-flat").texts("thinking") == ["The plan should say."]


def test_an_answer_with_only_a_repeated_thought_ends_the_turn(
    copilot: AgentHome,
):
    state = copilot.decode(LOG, make_event("assistant.reasoning", content="Hm.")).state
    line = make_event("assistant.message", content="", reasoningText="Hm.")

    (record,) = copilot.decode(LOG, line, state).records

    assert record.type == "assistant_message"
    assert record.metadata == {"stop_reason": "end_turn"}


# Tokens


def test_token_totals_at_shutdown_are_ignored_if_messages_have_counts(
    copilot: AgentHome,
):
    contents = copilot.read_case("resume")

    assert contents.main.usage == Usage(24054, 46, 22, 0)


def test_token_totals_of_every_run_count_if_messages_have_no_counts(copilot: AgentHome):
    contents = copilot.read_case("old-flat")

    assert contents.main.usage == Usage(1600, 100, 4800, 500)


def test_totals_that_include_earlier_runs_count_once(copilot: AgentHome):
    def shutdown(number: int, tokens: int) -> dict[str, Any]:
        usage = {"inputTokens": tokens, "outputTokens": 1}
        metrics = {"m": {"usage": usage}}
        data = {"sessionStartTime": 1768903200000, "modelMetrics": metrics}
        return make_event("session.shutdown", number, **data)

    log = f".copilot/session-state/{LOG}"
    copilot.write(log, make_event("session.start"), shutdown(2, 100), shutdown(3, 250))

    assert copilot.read().main.usage == Usage(250, 1)


def test_the_tokens_of_a_subagent_are_counted_separately(copilot: AgentHome):
    contents = copilot.read_case("subagent")

    (child,) = contents.subagents
    assert contents.main.usage == Usage(24099, 46, 22, 0)
    assert child.usage == Usage(21274, 46, 22, 0)


@pytest.mark.parametrize("count", [True, "7", -1, 1e300, None, 2**60])
def test_an_implausible_token_count_is_ignored(copilot: AgentHome, count: Any):
    line = make_event("session.usage_record", usage={"inputTokens": count})

    (record,) = copilot.decode(LOG, line).records

    assert record.usage is None


# Subagents


@pytest.mark.parametrize("case", ["subagent", "background-agent", "parallel-agents"])
def test_every_subagent_is_linked_to_the_call_that_spawned_it(
    copilot: AgentHome, case: str
):
    contents = copilot.read_case(case)

    calls = {p.record.tool_call_id for p in contents.records("tool_use")}
    assert {child.spawn_call_id for child in contents.subagents} <= calls
    assert len(contents.units()[-1].subagents) == len(contents.subagents)


def test_the_description_of_a_subagent_comes_from_its_start(copilot: AgentHome):
    contents = copilot.read_case("parallel-agents")

    assert {s.description for s in contents.subagents} == {"Count A", "Count B"}


def test_older_lines_identify_a_subagent_by_its_call(copilot: AgentHome):
    contents = copilot.read_case("old-flat")

    (child,) = contents.subagents
    assert child.subagent_id == child.spawn_call_id == "toolu_02"
    assert contents.texts("assistant_message", child) == ["Two of them turn."]


def test_the_task_of_a_subagent_is_not_a_prompt(copilot: AgentHome):
    contents = copilot.read_case("subagent")

    (child,) = contents.subagents
    (task,) = contents.records("user_message", child)
    assert task.record.metadata["origin"] == "task"
    assert contents.main.units == 1


# Titles


def test_the_name_in_the_workspace_file_is_the_title(copilot: AgentHome):
    assert copilot.read_case("interactive").main.title == "Wheel work"


def test_a_custom_name_outranks_the_title_in_the_log(copilot: AgentHome):
    assert copilot.read_case("speech").main.title == "The dam's plan"


def test_a_workspace_file_alone_creates_no_session(copilot: AgentHome):
    contents = copilot.read_case("broken")

    assert contents.main.key.session_id == "7d3f4e50-6172-4c83-8d94-be05cf16d027"


def test_a_later_name_replaces_the_title(copilot: AgentHome):
    copilot.read_case("hello")
    (workspace_file,) = copilot.home.rglob("workspace.yaml")
    workspace_file.write_text(
        "name: Second thoughts\nupdated_at: 2026-11-16T12:00:00Z\n"
    )

    assert copilot.read().main.title == "Second thoughts"


@pytest.mark.parametrize(
    ("yaml", "title"),
    [
        ("name: plain: words", "plain: words"),
        ("name: 'it''s'", "it's"),
        ('name: "two\\nlines"', "two\nlines"),
        ('name: "bad \\q"', "bad \\q"),
        ('name: "half \\ud83c"', "half ?"),
        ("name: >-\r\n  folded\r\n  words\r\nbranch: x", "folded words"),
        ("name: |\n  block", "block"),
        ("name: null\nsummary: Older name", "Older name"),
    ],
)
def test_a_name_is_read_in_every_yaml_style(copilot: AgentHome, yaml: str, title: str):
    (record,) = copilot.decode(WORKSPACE, yaml.encode()).records

    assert record.content == title


def test_a_workspace_file_names_the_directory_that_exclusion_checks(copilot: AgentHome):
    result = copilot.decode(WORKSPACE, b"cwd: /home/dev/secret\nname:\n")

    assert (result.cwd, result.noise) == ("/home/dev/secret", "workspace")


# Sessions


def test_a_session_has_directory_branch_version_and_model(copilot: AgentHome):
    contents = copilot.read_case("speech")

    opened = contents.records()[0].record.metadata
    assert (opened["git_branch"], opened["version"]) == ("main", "1.0.102")
    assert contents.main.cwd == "/home/dev/mill"
    assert contents.main.model == "claude-opus-5.5"


def test_the_decode_state_stays_small_with_long_facts_and_many_calls(
    copilot: AgentHome,
):
    context = {"cwd": "🌊" * 700, "branch": "🌊" * 120}
    start = make_event("session.start", context=context, copilotVersion="🌊" * 60)
    requests = [{"toolCallId": f"c{n}", "name": "x"} for n in range(100)]
    state = copilot.decode(LOG, start).state
    state = copilot.decode(
        LOG, make_event("assistant.reasoning", content="Hm."), state
    ).state

    line = make_event("assistant.message", toolRequests=requests)
    state = copilot.decode(LOG, line, state).state

    assert len(json.dumps(state, ensure_ascii=False).encode()) <= 4096


def test_a_rewind_is_an_event(copilot: AgentHome):
    assert copilot.read_case("interactive").notes("rewound") == ["rewind"]


def test_entries_that_a_rewind_removed_from_the_log_stay_in_the_store(
    copilot: AgentHome,
):
    prompts = [make_event("user.message", n, content=f"prompt {n}") for n in (2, 3)]
    log = f".copilot/session-state/{LOG}"
    copilot.write(log, make_event("session.start"), *prompts)
    copilot.read()
    (copilot.home / log).unlink()
    copilot.write(log, make_event("session.start"), prompts[0])

    assert [text for _, text in copilot.read().user_messages()] == [
        "prompt 2",
        "prompt 3",
    ]


def test_a_failed_compaction_is_a_notice(copilot: AgentHome):
    contents = copilot.read_case("speech")

    # Another compaction of the session succeeded.
    assert contents.notes("compacted") == [""]
    assert "compaction_failed" in contents.notes("notice")


def test_an_event_without_a_data_object_is_unknown(copilot: AgentHome):
    (record,) = copilot.decode(LOG, {**make_event("abort"), "data": 7}).records

    assert record.type == "unknown"


@pytest.mark.parametrize("depth", [50, 200, 400, 450, 480, 500, 900])
def test_deep_nesting_is_decoded_or_rejected(copilot: AgentHome, depth: int):
    deep = b"[" * depth + b"]" * depth
    request = b'{"toolCallId":"c","name":"x","arguments":' + deep + b"}"
    line = b'{"type":"assistant.message","data":{"toolRequests":[' + request + b"]}}"

    with contextlib.suppress(DecodeError):
        assert copilot.decode(LOG, line).records
