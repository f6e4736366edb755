"""What Copilot CLI's logs mean, fact by fact."""

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
SIDE = f"{SESSION}/workspace.yaml"


@pytest.fixture
def copilot(home: Path, tmp_path: Path, clock) -> AgentHome:
    return AgentHome(ADAPTER, home, tmp_path / "store.db", clock)


def event(type_: str, number: int = 1, **data: Any) -> dict[str, Any]:
    return {
        "type": type_,
        "data": data,
        "id": f"00000000-0000-4000-8000-{number:012}",
        "timestamp": f"2026-11-16T10:00:{number:02}.000Z",
        "parentId": None,
    }


def environment(home: Path, **environ: str) -> Environment:
    return Environment(home=home, environ=environ, platform="linux")


# Places


def test_logs_are_below_the_home_folder(tmp_path: Path):
    (root,) = ADAPTER.roots(environment(tmp_path), [])

    assert root.path == tmp_path / ".copilot" / "session-state"


def test_copilot_home_moves_the_logs(tmp_path: Path):
    (root,) = ADAPTER.roots(environment(tmp_path, COPILOT_HOME="/data/cp"), [])

    assert root.path == Path("/data/cp/session-state")


def test_configured_folders_replace_the_usual_one(tmp_path: Path):
    configured = [Path("/a"), Path("/b/session-state")]

    roots = ADAPTER.roots(environment(tmp_path), configured)

    assert [str(root.path) for root in roots] == [
        "/a/session-state",
        "/b/session-state",
    ]


def test_a_session_goes_on_by_its_id():
    assert ADAPTER.resume_command(SESSION) == f"copilot --resume={SESSION}"


def test_the_older_flat_file_is_named_after_its_session(copilot: AgentHome):
    told = copilot.read_case("old-flat")

    assert told.main.key.session_id == "5b1d2c3e-4f50-4a61-8b72-9c83ad94be05"


# Living


def test_lock_files_tell_which_process_works_on_which_session(tmp_path: Path):
    path = tmp_path / SESSION / "inuse.4242.lock"

    assert ADAPTER.parse_live_process(path, b"4242\n") == LiveProcess(SESSION, 4242)
    assert list(ADAPTER.live_registries(environment(tmp_path), [])) == [
        ProcessRegistry(tmp_path / ".copilot" / "session-state", "*/inuse.*.lock")
    ]


@pytest.mark.parametrize("name", ["inuse..lock", "inuse.x.lock", "inuse.-1.lock"])
def test_a_lock_file_without_a_number_tells_nothing(name: str):
    assert ADAPTER.parse_live_process(Path(f"/x/{SESSION}/{name}"), b"") is None


# Who says what


def test_who_said_what(copilot: AgentHome):
    assert copilot.read_case("speech").user_messages() == [
        ("prompt", "Plan the dam."),
        ("queued", "And mind the fish."),
        ("prompt", "Build it."),
        ("shell", "! git status"),
        ("prompt", "What is new?\n\n[image image/png]"),
    ]


def test_what_a_skill_or_the_autopilot_puts_in_is_no_prompt(copilot: AgentHome):
    told = copilot.read_case("speech")

    assert "skill-pdf" in told.notes("context")
    assert "autopilot" in told.notes("notice")


def test_words_that_steer_a_turn_stay_in_its_unit(copilot: AgentHome):
    told = copilot.read_case("interactive")

    units = {p.record.content: p.unit for p in told.records("user_message")}
    assert units["steer me [[again]]"] == units["run it [[cp-slowtool]]"] == 3


def test_a_persons_shell_command_starts_no_unit_and_leaves_nobody_working(
    copilot: AgentHome,
):
    command = event("tool.user_requested", 2, toolCallId="c", toolName="local_shell")
    command["data"]["arguments"] = {"command": "ls"}
    done = event("tool.execution_complete", 3, toolCallId="c", isUserRequested=True)
    log = f".copilot/session-state/{LOG}"
    copilot.write(log, event("session.start"), command, done)

    told = copilot.read()

    assert told.user_messages() == [("shell", "! ls")]
    assert (told.main.units, told.main.has_turn_ended) == (0, True)


def test_a_tool_that_the_person_ran_without_a_command_is_told_with_its_name(
    copilot: AgentHome,
):
    asked = event("tool.user_requested", toolCallId="c", toolName="web", arguments=[1])

    (record,) = copilot.decode(LOG, asked).records

    assert record.content == "! web [1]"


def test_an_empty_user_message_starts_no_unit(copilot: AgentHome):
    (record,) = copilot.decode(LOG, event("user.message", content="")).records

    assert record.metadata == {"kind": "notice", "note": "empty"}


def test_a_shell_mode_message_is_a_command(copilot: AgentHome):
    line = event("user.message", content="ls", agentMode="shell")

    (record,) = copilot.decode(LOG, line).records

    assert record.metadata["origin"] == "shell"


def test_an_attachment_is_told_by_its_name(copilot: AgentHome):
    things = [{"type": "file", "path": "/a.md"}, {"type": "selection"}, {}]

    line = event("user.message", content="Look.", attachments=things)

    (record,) = copilot.decode(LOG, line).records
    assert record.content == "Look.\n\n[file /a.md]\n\n[selection]\n\n[attachment]"


# Turns


def test_a_call_between_two_answers_does_not_end_the_turn(copilot: AgentHome):
    told = copilot.read_case("tools")

    ends = [
        p.record.metadata.get("stop_reason") for p in told.records("assistant_message")
    ]
    assert ends == [None, "end_turn"]


def test_an_answer_in_pieces_ends_with_the_last_one(copilot: AgentHome):
    told = copilot.read_case("speech")

    ends = [
        p.record.metadata.get("stop_reason") for p in told.records("assistant_message")
    ]
    assert ends == [None, "end_turn", "end_turn"]


def test_a_shutdown_ends_the_session_and_a_resume_opens_it_again(copilot: AgentHome):
    told = copilot.read_case("resume")

    assert told.notes("ended") == ["routine", "routine"]
    assert (told.main.units, told.main.is_stopped) == (2, True)


def test_a_resume_does_not_make_the_unit_before_it_longer(copilot: AgentHome):
    first, second = copilot.read_case("resume").units()[1:]

    assert first.ended_at
    assert second.started_at
    assert first.ended_at < second.started_at


def test_a_resume_in_another_folder_is_told(copilot: AgentHome):
    place = {"cwd": "/home/dev/other", "branch": "main"}

    told = copilot.decode(
        LOG, event("session.resume", context=place), {"cwd": "/x", "git_branch": "main"}
    )

    assert told.records[0].metadata["cwd"] == told.state["cwd"] == "/home/dev/other"


def test_a_killed_session_has_a_call_without_an_answer_and_no_end(copilot: AgentHome):
    told = copilot.read_case("killed")

    (unit,) = [u for u in told.units() if u.number]
    assert unit.entries[-2].record.metadata["is_unanswered"]
    assert (told.main.has_turn_ended, told.main.is_stopped) == (False, False)


@pytest.mark.parametrize(
    ("case", "reason"),
    [("hello", "end_turn"), ("interrupted", "cancelled"), ("error", "error")],
)
def test_how_a_turn_ended(copilot: AgentHome, case: str, reason: str):
    assert copilot.read_case(case).units()[-1].stop_reason == reason


def test_plan_mode_shows_in_the_unit(copilot: AgentHome):
    modes = [unit.agent_mode for unit in copilot.read_case("speech").units()]

    assert modes == ["agent", "plan", "agent", "agent"]


# Tools


def test_a_call_is_told_once_though_the_log_tells_it_twice(copilot: AgentHome):
    told = copilot.read_case("tools")

    calls = [p.record.tool_name for p in told.records("tool_use")]
    assert calls == ["bash", "create"]


def test_a_call_nobody_asked_for_is_told_when_it_starts(copilot: AgentHome):
    told = copilot.read_case("speech")

    (call,) = told.records("tool_use")
    assert call.record.tool_input == '{"path":"dam.md"}'


def test_arguments_may_be_json_text(copilot: AgentHome):
    told = copilot.read_case("old-flat")

    first = told.records("tool_use")[0].record
    assert json.loads(first.tool_input) == {"path": "/home/dev/mill/plan.md"}


@pytest.mark.parametrize("given", ["*** Begin Patch", "null", None, 7])
def test_arguments_are_always_json(copilot: AgentHome, given: Any):
    request = {"toolCallId": "c", "name": "patch", "arguments": given}

    line = event("assistant.message", toolRequests=[request])

    (record,) = copilot.decode(LOG, line).records
    json.loads(record.tool_input)


def test_a_failed_call_is_an_error_and_a_failed_command_is_not(copilot: AgentHome):
    results = copilot.read_case("tool-errors").records("tool_result")

    told = [(p.record.content[:4], p.record.metadata) for p in results]
    assert told == [("Path", {"is_error": True}), ("out\n", {})]


# Thoughts


def test_a_thought_is_told_once_though_older_logs_tell_it_twice(copilot: AgentHome):
    assert copilot.read_case("old-flat").texts("thinking") == ["The plan should say."]


def test_an_answer_of_nothing_but_a_told_thought_still_ends_the_turn(
    copilot: AgentHome,
):
    thought = copilot.decode(LOG, event("assistant.reasoning", content="Hm.")).state
    line = event("assistant.message", content="", reasoningText="Hm.")

    (record,) = copilot.decode(LOG, line, thought).records

    assert record.type == "assistant_message"
    assert record.metadata == {"stop_reason": "end_turn"}


# Tokens


def test_tokens_are_counted_by_message_and_not_again_at_the_end(copilot: AgentHome):
    told = copilot.read_case("resume")

    assert told.main.usage == Usage(24054, 46, 22, 0)


def test_without_tokens_by_message_every_runs_end_counts(copilot: AgentHome):
    told = copilot.read_case("old-flat")

    assert told.main.usage == Usage(1600, 100, 4800, 500)


def test_an_end_that_sums_up_earlier_runs_counts_once(copilot: AgentHome):
    def shutdown(number: int, tokens: int) -> dict[str, Any]:
        usage = {"inputTokens": tokens, "outputTokens": 1}
        metrics = {"m": {"usage": usage}}
        data = {"sessionStartTime": 1768903200000, "modelMetrics": metrics}
        return event("session.shutdown", number, **data)

    log = f".copilot/session-state/{LOG}"
    copilot.write(log, event("session.start"), shutdown(2, 100), shutdown(3, 250))

    assert copilot.read().main.usage == Usage(250, 1)


def test_a_subagents_tokens_are_its_own(copilot: AgentHome):
    told = copilot.read_case("subagent")

    (child,) = told.subagents
    assert told.main.usage == Usage(24099, 46, 22, 0)
    assert child.usage == Usage(21274, 46, 22, 0)


@pytest.mark.parametrize("count", [True, "7", -1, 1e300, None, 2**60])
def test_a_number_of_tokens_that_is_none_counts_nothing(copilot: AgentHome, count: Any):
    line = event("session.usage_record", usage={"inputTokens": count})

    (record,) = copilot.decode(LOG, line).records

    assert record.usage is None


# Subagents


@pytest.mark.parametrize("case", ["subagent", "background-agent", "parallel-agents"])
def test_every_subagent_hangs_under_the_call_that_spawned_it(
    copilot: AgentHome, case: str
):
    told = copilot.read_case(case)

    calls = {p.record.tool_call_id for p in told.records("tool_use")}
    assert {child.spawn_call_id for child in told.subagents} <= calls
    assert len(told.units()[-1].subagents) == len(told.subagents)


def test_a_subagent_keeps_the_description_it_started_with(copilot: AgentHome):
    told = copilot.read_case("parallel-agents")

    assert {s.description for s in told.subagents} == {"Count A", "Count B"}


def test_older_lines_name_a_subagent_by_its_call(copilot: AgentHome):
    told = copilot.read_case("old-flat")

    (child,) = told.subagents
    assert child.subagent_id == child.spawn_call_id == "toolu_02"
    assert told.texts("assistant_message", child) == ["Two of them turn."]


def test_a_subagents_task_is_no_prompt(copilot: AgentHome):
    told = copilot.read_case("subagent")

    (child,) = told.subagents
    (task,) = told.records("user_message", child)
    assert task.record.metadata["origin"] == "task"
    assert told.main.units == 1


# Titles


def test_the_name_beside_the_log_is_the_title(copilot: AgentHome):
    assert copilot.read_case("interactive").main.title == "Wheel work"


def test_a_given_name_outranks_one_in_the_log(copilot: AgentHome):
    assert copilot.read_case("speech").main.title == "The dam's plan"


def test_a_side_file_alone_makes_no_session(copilot: AgentHome):
    told = copilot.read_case("broken")

    assert told.main.key.session_id == "7d3f4e50-6172-4c83-8d94-be05cf16d027"


def test_a_later_name_is_the_title(copilot: AgentHome):
    copilot.read_case("hello")
    (side,) = copilot.home.rglob("workspace.yaml")
    side.write_text("name: Second thoughts\nupdated_at: 2026-11-16T12:00:00Z\n")

    assert copilot.read().main.title == "Second thoughts"


@pytest.mark.parametrize(
    ("written", "title"),
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
def test_a_name_is_read_however_it_is_written(
    copilot: AgentHome, written: str, title: str
):
    (record,) = copilot.decode(SIDE, written.encode()).records

    assert record.content == title


def test_a_side_file_tells_the_folder_so_that_it_can_be_kept_out(copilot: AgentHome):
    told = copilot.decode(SIDE, b"cwd: /home/dev/secret\nname:\n")

    assert (told.cwd, told.noise) == ("/home/dev/secret", "workspace")


# Sessions


def test_the_session_knows_folder_branch_version_and_model(copilot: AgentHome):
    told = copilot.read_case("speech")

    opened = told.records()[0].record.metadata
    assert (opened["git_branch"], opened["version"]) == ("main", "1.0.102")
    assert told.main.cwd == "/home/dev/mill"
    assert told.main.model == "claude-opus-5.5"


def test_the_longest_facts_and_the_most_calls_are_remembered_in_a_small_note(
    copilot: AgentHome,
):
    place = {"cwd": "🌊" * 700, "branch": "🌊" * 120}
    start = event("session.start", context=place, copilotVersion="🌊" * 60)
    requests = [{"toolCallId": f"c{n}", "name": "x"} for n in range(100)]
    state = copilot.decode(LOG, start).state
    state = copilot.decode(
        LOG, event("assistant.reasoning", content="Hm."), state
    ).state

    line = event("assistant.message", toolRequests=requests)
    state = copilot.decode(LOG, line, state).state

    assert len(json.dumps(state, ensure_ascii=False).encode()) <= 4096


def test_a_rewind_is_told(copilot: AgentHome):
    assert copilot.read_case("interactive").notes("rewound") == ["rewind"]


def test_what_a_rewind_took_out_of_the_log_stays_in_the_store(copilot: AgentHome):
    said = [event("user.message", n, content=f"prompt {n}") for n in (2, 3)]
    log = f".copilot/session-state/{LOG}"
    copilot.write(log, event("session.start"), *said)
    copilot.read()
    (copilot.home / log).unlink()
    copilot.write(log, event("session.start"), said[0])

    assert [text for _, text in copilot.read().user_messages()] == [
        "prompt 2",
        "prompt 3",
    ]


def test_a_compaction_that_failed_is_only_a_notice(copilot: AgentHome):
    told = copilot.read_case("speech")

    assert told.notes("compacted") == [""]
    assert "compaction_failed" in told.notes("notice")


def test_a_line_without_an_object_is_kept_as_unknown(copilot: AgentHome):
    (record,) = copilot.decode(LOG, {**event("abort"), "data": 7}).records

    assert record.type == "unknown"


@pytest.mark.parametrize("depth", [50, 200, 400, 450, 480, 500, 900])
def test_depth_is_understood_or_refused(copilot: AgentHome, depth: int):
    deep = b"[" * depth + b"]" * depth
    request = b'{"toolCallId":"c","name":"x","arguments":' + deep + b"}"
    line = b'{"type":"assistant.message","data":{"toolRequests":[' + request + b"]}}"

    with contextlib.suppress(DecodeError):
        assert copilot.decode(LOG, line).records
