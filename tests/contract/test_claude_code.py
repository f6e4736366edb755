"""Test how the lines of Claude Code's logs are decoded."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from leslied.agents import load_adapters
from leslied.model.injected_messages import format_message
from leslied.model.record import INJECT, MAIN, SHELL, PlacedRecord, Usage
from leslied.model.session import LiveProcess, SessionSummary, Unit
from leslied.model.source import FileStamp, RawEntry, Shape, SourceRef
from leslied.sessions.assemble import RecordStream, assemble
from leslied.store import StoreReader
from tests.support.claude import (
    SESSION,
    ClaudeHome,
    ClaudeLogBuilder,
    encode_json_lines,
)
from tests.support.golden import FIXTURES, copy_home, make_environment

ADAPTER = load_adapters()["claude-code"]
OTHER_SESSION = "99999999-2222-4333-8444-555555555555"
LOG = f"-home-dev-app/{SESSION}.jsonl"


class ClaudeStoreContents:
    """Contents of the store after a sync."""

    def __init__(self, path: Path) -> None:
        with StoreReader(path) as reader:
            self.streams = {s.key[1:]: s for s in reader.list_sessions()}
            self._records = {
                key: list(reader.list_records(s.key)) for key, s in self.streams.items()
            }
            self.rejected = [row["reason"] for row in reader.list_rejected(99)]

    def main(self, id_prefix: str = "") -> SessionSummary:
        """Return the only main session whose id starts with the prefix."""
        (main,) = [s for s in self._mains() if s.key.session_id.startswith(id_prefix)]
        return main

    def subagents(self) -> dict[str, SessionSummary]:
        return {s.subagent_id: s for s in self.streams.values() if s.is_subagent}

    def records(self, session: SessionSummary | None = None) -> list[PlacedRecord]:
        return self._records[(session or self.main()).key[1:]]

    def user_messages(
        self, session: SessionSummary | None = None
    ) -> list[tuple[str, str]]:
        """Return the origin and text of every user message."""
        return [
            (p.record.metadata["origin"], p.record.content)
            for p in self.records_of_type("user_message", session)
        ]

    def records_of_type(
        self, type_: str, session: SessionSummary | None = None
    ) -> list[PlacedRecord]:
        return [p for p in self.records(session) if p.record.type == type_]

    def notes(self, kind: str, session: SessionSummary | None = None) -> list[str]:
        """Return the notes of all events of a kind."""
        return [
            p.record.metadata.get("note", "")
            for p in self.records(session)
            if p.record.metadata.get("kind") == kind
        ]

    def find_unit(self, content: str, session: SessionSummary | None = None) -> int:
        """Return the number of the unit of the first record with this content."""
        return next(
            p.unit for p in self.records(session) if p.record.content == content
        )

    def units(self, id_prefix: str = "") -> list[Unit]:
        """Return the units after the first prompt, without subagents."""
        main = self.main(id_prefix)
        units = assemble(RecordStream(main, self.records(main)), [])
        return [unit for unit in units if unit.number]

    def find_output(self, program: str) -> str:
        """Return the text of the only event that holds output of the program."""
        (text,) = [
            p.record.content
            for p in self.records_of_type("system_event")
            if p.record.tool_name == program
        ]
        return text

    def _mains(self) -> list[SessionSummary]:
        return [s for s in self.streams.values() if s.key.source == MAIN]


@pytest.fixture
def read(claude: ClaudeHome):
    """Return a function that syncs a fixture case or the home, and reads the store."""

    def read_case(case: str = "", *, is_final: bool = False) -> ClaudeStoreContents:
        if case:
            copy_home(FIXTURES / "claude_code" / case, claude.home)
        claude.sync(is_final=is_final)
        return ClaudeStoreContents(claude.store_path)

    return read_case


def decode(line: Any, state: dict[str, Any] | None = None) -> Any:
    """Decode one line of a main log."""
    data = line if isinstance(line, bytes) else encode_json_lines(line)
    root = Path("/projects")
    source = SourceRef(
        agent=ADAPTER.name,
        path=root / "x" / f"{SESSION}.jsonl",
        root=root,
        shape=Shape.APPEND_LOG,
        stamp=FileStamp(0, 0, 0, 0, 0),
    )
    return ADAPTER.decode(RawEntry(source, 0, data), state or {})


def make_user_line(content: Any, **fields: Any) -> dict[str, Any]:
    message = {"role": "user", "content": content}
    return {"type": "user", "uuid": "u", "sessionId": SESSION, **fields} | {
        "message": message
    }


def test_a_prompt_from_the_sdk_starts_a_unit(read):
    contents = read("hello")

    (prompt,) = contents.records_of_type("user_message")
    assert prompt.record.metadata["is_program"]
    assert (prompt.unit, contents.main().units) == (1, 1)


@pytest.mark.parametrize("case", ["sub1", "bgsub", "bgbash-old"])
def test_a_notification_is_not_a_prompt(read, case: str):
    contents = read(case)

    assert [origin for origin, _ in contents.user_messages(contents.main())] == [
        "prompt"
    ]
    assert contents.main().units == 1


@pytest.mark.parametrize("case", ["sub1", "bgsub", "bgbash-old", "notified"])
def test_a_notification_is_decoded_once(read, case: str):
    contents = read(case)

    events = contents.records_of_type("system_event", contents.main())
    assert len([e for e in events if "notification" in e.record.metadata]) == 1


def test_a_report_that_contains_tags_of_the_client_stays_whole():
    report = "see </result> and <summary>x</summary>"
    text = (
        "<task-notification><status>completed</status><summary>Agent over</summary>"
        f"<result>{report}</result><usage>1</usage></task-notification>"
    )
    line = make_user_line(text, origin={"kind": "task-notification"})

    (record,) = [r for r in decode(line).records if r.content == text]

    assert record.metadata["notification"] == "Agent over"
    assert record.metadata["report"] == report


def test_a_result_of_another_tool_cannot_imitate_a_report():
    text = "[Subagent hand-back] The report follows:\n  all good\nsecret"
    block = {"type": "tool_result", "tool_use_id": "t", "content": text}
    line = make_user_line([block], toolUseResult={"stdout": text})

    (record,) = [r for r in decode(line).records if r.type == "tool_result"]

    assert "report" not in record.metadata


def test_a_command_that_asks_for_a_compaction_says_so():
    names = ("/compact", "/exit")
    lines = [make_user_line(f"<command-name>{name}</command-name>") for name in names]

    requests = [decode(line).records[-1].metadata.get("asks_for") for line in lines]

    assert requests == ["compacted", None]


def test_the_answer_to_a_notification_starts_no_unit(read):
    contents = read("bgsub")

    answers = contents.records_of_type("assistant_message", contents.main())
    assert [p.unit for p in answers] == [1, 1, 1]


def test_every_prompt_at_the_terminal_starts_a_unit(read):
    contents = read("tui")
    session = contents.main("9be9d0fd")

    prompts = [
        (p.unit, p.record.content.partition(" [[")[0])
        for p in contents.records_of_type("user_message", session)
        if p.record.metadata["origin"] == "prompt"
    ]
    assert prompts == [
        (1, "hello there"),
        (2, "next"),
        (3, "use tools"),
        (4, "sub agents"),
        (5, "stream slowly"),
        (6, "long tool"),
        (7, "after compact"),
    ]


def test_clear_is_a_command_in_the_new_session_and_starts_no_unit(read):
    contents = read("tui")
    session = contents.main("736fab83")

    assert contents.user_messages(session)[0] == ("command", "/clear")
    assert contents.find_unit("/clear", session) == 0
    assert session.title == "fresh start [[hello]]"


@pytest.mark.fault("G3")
def test_a_compaction_and_its_summary_are_events(read):
    contents = read("tui")
    session = contents.main("9be9d0fd")

    assert contents.notes("compacted", session) == ["compact_boundary", "summary"]
    assert session.units == 7


def test_messages_of_teammates_and_programs_are_not_prompts(read):
    contents = read("teammates")

    assert contents.user_messages() == [
        ("prompt", "Make a team"),
        (
            "prompt",
            "They wrote: <teammate-message>hello</teammate-message>, did you see?",
        ),
    ]


def test_a_warmup_of_a_subagent_is_not_a_task(read):
    contents = read("sibling-agents")
    subagent = contents.subagents()["5e6f7a8b"]

    assert contents.user_messages(subagent) == []
    assert contents.notes("notice", subagent) == ["warmup"]


def test_warmup_typed_by_a_person_is_a_prompt(read, claude: ClaudeHome):
    claude.write(ClaudeLogBuilder().prompt("Warmup"))

    assert read().user_messages() == [("prompt", "Warmup")]


def test_a_prompt_typed_mid_turn_is_stored_once(read):
    contents = read("queue")

    assert contents.user_messages(contents.main("f8af8a95")) == [
        ("prompt", "Bake the bread"),
        ("queued", "less salt"),
        ("queued", "less salt"),
        ("queued", "and\n\nseeds"),
    ]


def test_a_prompt_typed_mid_turn_starts_no_unit(read):
    contents = read("queue")

    assert contents.main("f8af8a95").units == 1


def test_the_same_text_typed_twice_is_two_prompts(read):
    contents = read("queue")

    texts = [text for _, text in contents.user_messages(contents.main("45dd97e8"))]
    assert texts.count("continue") == 2


def test_a_removal_without_text_removes_the_oldest_queued_prompt(
    read, claude: ClaudeHome
):
    builder = ClaudeLogBuilder()
    claude.write(
        builder.prompt("go"),
        make_queue_line("enqueue", "one"),
        make_queue_line("enqueue", "two"),
        make_queue_line("remove"),
        make_queue_line("remove", None),
    )

    assert read().user_messages()[1:] == [("queued", "one"), ("queued", "two")]


def test_a_queued_prompt_that_became_a_turn_is_listed_once(read):
    contents = read("queue")

    assert [text for _, text in contents.user_messages(contents.main("45dd97e8"))] == [
        "Repair the wheel",
        "use oak, not pine",
        "continue",
        "continue",
        "and paint it",
        "look at this picture\n\n[image image/png, 9 B]",
        "stop after lunch",
    ]


def test_a_prompt_returned_to_the_input_is_not_delivered(read, claude: ClaudeHome):
    builder = ClaudeLogBuilder()
    claude.write(
        builder.prompt("go"),
        make_queue_line("enqueue", "never mind"),
        make_queue_line("popAll", "never mind"),
        make_queue_line("enqueue", "this instead"),
        make_queue_line("remove"),
    )

    assert read().user_messages()[1:] == [("queued", "this instead")]


def test_a_long_queued_prompt_is_not_lost(read, claude: ClaudeHome):
    builder = ClaudeLogBuilder()
    claude.write(
        builder.prompt("go"),
        make_queue_line("enqueue", "long " * 600),
        make_queue_line("enqueue", "short"),
        make_queue_line("remove"),
        make_queue_line("remove"),
    )

    first, second = read().user_messages()[1:]
    assert first[1].startswith("long long")
    assert second == ("queued", "short")


@pytest.mark.parametrize("text", ["水" * 2400, "\x01" * 2400, "a"])
def test_the_state_of_the_prompt_queue_stays_small(text: str):
    state: dict[str, Any] = {}
    for number in range(1000):
        line = make_queue_line("enqueue", text if len(text) > 1 else f"{number}")
        state = decode(line, state).state

    assert len(json.dumps(state, ensure_ascii=False).encode()) <= 4096


def make_queue_line(operation: str, *content: Any) -> dict[str, Any]:
    """Return a queue operation, without the key `content` if no content is passed."""
    line = {"type": "queue-operation", "operation": operation, "sessionId": SESSION}
    line["timestamp"] = "2026-11-16T10:00:30.000Z"
    return {**line, "content": content[0]} if content else line


def test_a_slash_command_is_stored_as_typed_in_every_tag_order(read):
    contents = read("commands")

    commands = [
        text for origin, text in contents.user_messages() if origin == "command"
    ]
    assert commands == [
        "/model",
        "/review the wheel",
        "/plan",
        "/rename Old wheel",
        "/exit",
    ]


def test_a_shell_command_is_stored_as_typed(read):
    contents = read("commands")

    assert [t for o, t in contents.user_messages() if o == "shell"] == [
        "! ls -l",
        "! make",
    ]


def test_the_output_of_a_shell_command_is_stored_without_tags(read):
    contents = read("shell-and-inject")

    assert contents.find_output(SHELL) == "shell-says-hello\noops"


def test_the_output_of_a_shell_command_is_stored_without_escapes():
    text = "<bash-stdout></bash-stdout><bash-stderr>&lt;b&gt; &amp;amp;</bash-stderr>"

    (*_, record) = decode(ClaudeLogBuilder().prompt(text)).records

    assert (record.content, record.tool_name) == ("<b> &amp;", SHELL)


def test_an_injected_message_is_stored_as_it_was_sent(read):
    contents = read("shell-and-inject")

    assert contents.find_output(INJECT) == "Use the blue widget & not <red> ones"


def test_an_injected_message_is_split_from_the_context_before_it():
    text = "<thread_context/>\n\n" + format_message("msg-1", "hello")
    attachment = {"type": "hook_additional_context", "content": [text]}
    line = ClaudeLogBuilder().line("attachment", attachment=attachment)

    (*_, context, message) = decode(line).records

    assert (context.content, context.tool_name) == ("<thread_context/>", "")
    assert (message.content, message.tool_name) == ("hello", INJECT)


def test_a_command_starts_a_unit_only_when_the_agent_answers_it(read):
    contents = read("commands")

    units = {
        command: contents.find_unit(command)
        for command in ("/model", "/review the wheel")
    }
    assert units == {"/model": 0, "/review the wheel": 1}
    assert contents.find_unit("! ls -l") == contents.find_unit("A slash command.")
    assert contents.find_unit("! make") == contents.find_unit("There is no rule.")


def test_a_prompt_after_an_answered_command_starts_a_unit(read):
    contents = read("commands")

    assert contents.find_unit("A typed prompt after a command") == 2
    assert contents.find_unit("/plan") == 3


def test_reading_line_by_line_gives_the_same_unit_numbers(read, claude: ClaudeHome):
    case = FIXTURES / "claude_code" / "commands" / "home"
    (log,) = case.rglob("*.jsonl")
    for line in log.read_bytes().splitlines(keepends=True):
        with claude.log().open("ab") as file:
            file.write(line)
        claude.sync()
    units = [
        (p.unit, p.record.content)
        for p in ClaudeStoreContents(claude.store_path).records()
    ]
    claude.store_path.unlink()

    assert [(p.unit, p.record.content) for p in read().records()] == units


def test_a_prompt_that_quotes_tags_stays_a_prompt(read):
    contents = read("commands")

    text = "What does <command-name>/model</command-name> mean in a log?"
    assert ("prompt", text) in contents.user_messages()


def test_editor_attachments_are_not_part_of_the_prompt(read):
    contents = read("commands")

    attached = {
        p.record.content: p.record.metadata["attached"]
        for p in contents.records_of_type("user_message")
        if "attached" in p.record.metadata
    }
    assert set(attached) == {"Explain this file", "Why so short?"}
    assert attached["Explain this file"].startswith("<ide_opened_file>")


def test_reminders_and_hooks_are_not_prompts(read):
    contents = read("commands")

    texts = " ".join(text for _, text in contents.user_messages())
    for start in ("<system-reminder>", "<ide_", "Stop hook", "Operation stopped"):
        assert start not in texts


def test_a_comment_on_a_rejected_call_is_stored(read):
    contents = read("commands")

    comments = [
        p.record.metadata.get("user_said")
        for p in contents.records_of_type("tool_result")
    ]
    assert "leave the wheel alone" in comments


def test_text_next_to_a_result_does_not_hide_the_result(read):
    contents = read("commands")

    results = {p.record.tool_call_id for p in contents.records_of_type("tool_result")}
    assert results == {"toolu_edit", "toolu_list", "toolu_sleep"}
    assert "and keep it short" in [text for _, text in contents.user_messages()]


def test_text_next_to_a_result_starts_no_unit(read):
    contents = read("commands")

    assert (
        contents.find_unit("and keep it short")
        == contents.find_unit("Short it is.")
        == 7
    )
    assert contents.main().units == 8


def test_the_text_of_a_skill_is_not_a_prompt(read):
    contents = read("skill-old")

    assert len(contents.user_messages()) == 1
    assert "meta" in contents.notes("context")


def test_an_interrupt_ends_the_turn(read, claude: ClaudeHome):
    builder = ClaudeLogBuilder()
    claude.write(
        builder.prompt("go"),
        builder.answer("I was", stop_reason=None),
        builder.prompt("[Request interrupted by user]"),
    )

    contents = read()

    assert contents.notes("turn_ended") == ["interrupt"]
    assert contents.main().has_turn_ended


def test_an_interrupt_next_to_a_result_ends_the_turn(read, claude: ClaudeHome):
    builder = ClaudeLogBuilder()
    result = {"type": "tool_result", "tool_use_id": "toolu_1", "content": "stopped"}
    interrupt = {"type": "text", "text": "[Request interrupted by user for tool use]"}
    claude.write(
        builder.prompt("go"),
        builder.call("Bash", {}, "toolu_1"),
        builder.prompt([result, interrupt]),
    )

    contents = read()

    assert [p.record.content for p in contents.records_of_type("tool_result")] == [
        "stopped"
    ]
    assert contents.main().has_turn_ended


def test_an_answer_cut_at_the_token_limit_ends_the_turn_until_it_continues(
    read, claude: ClaudeHome
):
    builder = ClaudeLogBuilder()
    claude.write(
        builder.prompt("go"), builder.answer("I was", stop_reason="max_tokens")
    )
    had_turn_ended = read().main().has_turn_ended
    claude.write(builder.answer(" going on", stop_reason=None))

    assert had_turn_ended
    assert not read().main().has_turn_ended


def test_a_request_that_failed_for_good_ends_the_turn(read):
    contents = read("err500-old")

    (error,) = contents.records_of_type("error")
    assert error.record.role == "assistant"
    assert contents.main().has_turn_ended


def test_a_retry_does_not_end_the_turn(read, claude: ClaudeHome):
    builder = ClaudeLogBuilder()
    claude.write(
        builder.prompt("go"),
        builder.line("system", subtype="api_error", retryAttempt=1),
    )

    contents = read()

    assert len(contents.records_of_type("error")) == 1
    assert not contents.main().has_turn_ended


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        ({"status": 529, "formatted": "529 Overloaded"}, "529 Overloaded"),
        ({"status": 529, "error": {"error": {"message": "Busy"}}}, "529 Busy"),
        ({"cause": {"code": "ECONNRESET"}}, "ECONNRESET"),
        ({"status": 500}, "500"),
    ],
)
def test_a_retry_shows_its_reason_and_attempt(
    read, claude: ClaudeHome, error: dict[str, Any], reason: str
):
    facts = {"subtype": "api_error", "retryAttempt": 2, "maxRetries": 10}
    claude.write(ClaudeLogBuilder().line("system", **facts, error=error))

    (record,) = read().records_of_type("error")

    assert record.record.content == f"API error: {reason} (attempt 2 of 10)"


def test_a_killed_tool_leaves_a_call_without_a_result(read):
    contents = read("kill9-tool")

    assert (
        len(contents.records_of_type("tool_use")),
        len(contents.records_of_type("tool_result")),
    ) == (1, 0)
    assert not contents.main().has_turn_ended


def test_a_killed_unit_ends_with_its_call_and_not_with_the_resume(read):
    killed, resumed = read("resume-killed").units()

    assert killed.ended_at == killed.own_entries[-1].record.created_at
    assert killed.own_entries[-1].record.type == "tool_use"
    assert (killed.stop_reason, resumed.stop_reason) == ("unknown", "end_turn")


def test_what_a_resume_adds_stays_in_the_records_of_the_killed_unit(read):
    killed, _ = read("resume-killed").units()

    added = [
        p.record.content
        for p in killed.entries
        if "is_between_turns" in p.record.metadata
    ]
    assert len(added) == 2
    assert added[0].startswith("[Tool call interrupted")
    assert added[1] == "No response requested."


def test_a_mode_that_is_switched_between_turns_is_that_of_the_next_unit(read):
    units = read("mode-switches").units()

    assert [unit.agent_mode for unit in units] == ["agent", "plan", "agent"]


def test_esc_at_a_permission_dialog_cancels_the_turn(read):
    contents = read("esc-dialog")

    assert contents.notes("turn_ended") == ["interrupt", "turn_duration"]
    assert [unit.stop_reason for unit in contents.units()] == ["cancelled"]


def test_a_notification_after_a_rename_continues_the_unit(read):
    (unit,) = read("rename-notification").units()

    assert unit.own_entries[-2].record.content == "The background job has finished."


@pytest.mark.parametrize("id_prefix", ["8942add4", "5ec79056"])
def test_a_rename_or_clear_in_an_idle_terminal_starts_no_turn(read, id_prefix: str):
    main = read("idle-commands").main(id_prefix)

    assert main.has_turn_ended


def test_the_turns_of_two_processes_are_a_unit_each(read):
    contents = read("two-processes")

    _, unit_a, unit_b = contents.units()
    texts = [
        [p.record.content for p in unit.own_entries if p.record.role == "tool"]
        for unit in (unit_a, unit_b)
    ]
    assert texts == [["A1", "A2"], ["1\treadme\n2\t", "B2"]]
    for unit, answer in ((unit_a, "A is done."), (unit_b, "B is done.")):
        assert unit.own_entries[-1].record.content == answer
        assert unit.tool_calls == 2
        assert unit.stop_reason == "end_turn"


def test_an_answer_follows_the_prompt_before_lines_that_are_skipped(
    read, claude: ClaudeHome
):
    builder = ClaudeLogBuilder()
    snapshot = {"attachment": {"type": "prompt_snapshot"}}
    prompt = builder.prompt("go")
    skipped = [builder.line("attachment", **snapshot) for _ in range(2)]
    claude.write(prompt, *skipped, builder.answer("Done."))

    (answer,) = read().records_of_type("assistant_message")

    assert answer.record.parent_id == prompt["uuid"]


def test_a_synthetic_answer_does_not_set_the_model(read):
    assert read("unknown-lines").main().model == "claude-opus-4-5"


@pytest.mark.parametrize(
    ("case", "calls"),
    [
        ("sub1", ["toolu_fake000055"]),
        ("sub1-old", ["toolu_fake000693"]),
        ("fgsub-old", ["toolu_fake000750"]),
        ("sub2-old", ["toolu_fake000704", "toolu_fake000705"]),
        ("sibling-agents", ["toolu_weir"]),
        ("agent-progress", ["toolu_north", "toolu_south"]),
    ],
)
def test_a_subagent_is_linked_to_the_call_that_spawned_it(read, case, calls):
    contents = read(case)

    spawn_calls = [
        s.spawn_call_id for s in contents.subagents().values() if s.spawn_call_id
    ]
    tool_calls = [
        p.record.tool_call_id
        for p in contents.records_of_type("tool_use", contents.main())
    ]
    assert sorted(spawn_calls) == calls == sorted(tool_calls)


def test_a_nested_subagent_is_linked_to_its_parents_call(read):
    contents = read("nest-old")
    outer, inner = (
        contents.subagents()[i] for i in ("a84592108c416aba0", "adf77a67a1904311f")
    )

    (call,) = contents.records_of_type("tool_use", outer)
    assert inner.spawn_call_id == call.record.tool_call_id


def test_a_task_is_not_a_prompt(read):
    contents = read("sub1")
    (child,) = contents.subagents().values()

    assert [origin for origin, _ in contents.user_messages(child)] == ["task"]
    assert (child.units, contents.main().units) == (0, 1)


def test_a_metadata_file_alone_creates_no_session(read, claude: ClaudeHome):
    meta = claude.log(f"-home-dev-app/{SESSION}/subagents/agent-a1.meta.json")
    meta.write_text('{"agentType":"general-purpose","toolUseId":"toolu_1"}')

    assert read().streams == {}


def test_a_metadata_file_that_is_read_before_the_log_describes_the_subagent(
    read, claude: ClaudeHome
):
    meta = claude.log(f"-home-dev-app/{SESSION}/subagents/agent-a1.meta.json")
    meta.write_text('{"agentType":"explorer","toolUseId":"toolu_1","description":"d"}')
    claude.sync()
    claude.write(
        ClaudeLogBuilder().prompt("look", isSidechain=True),
        name=f"-home-dev-app/{SESSION}/subagents/agent-a1.jsonl",
    )

    (child,) = read().subagents().values()

    assert (child.spawn_call_id, child.agent_type) == ("toolu_1", "explorer")


def test_each_inline_subagent_has_its_own_records(read):
    contents = read("inline-sidechains")

    streams = {
        contents.user_messages(s)[0][1]: [
            p.record.content for p in contents.records_of_type("tool_result", s)
        ]
        for s in contents.subagents().values()
        if contents.user_messages(s)
    }
    assert streams == {
        "Count the millstones": ["7 stones"],
        "Weigh the sacks": ["40 sacks"],
    }


def test_inline_subagents_are_not_part_of_the_main_session(read):
    contents = read("inline-sidechains")

    assert contents.user_messages(contents.main("14a7b9b3")) == [
        ("prompt", "Ask two helpers about the mill")
    ]


def test_an_inline_subagent_belongs_to_the_unit_that_spawned_it(read):
    contents = read("inline-sidechains")
    main = contents.main("14a7b9b3")
    children = [
        s for s in contents.subagents().values() if s.key.session_id == main.key[1]
    ]

    units = assemble(
        RecordStream(main, contents.records(main)),
        [RecordStream(s, contents.records(s)) for s in children],
    )

    assert [len(unit.subagents) for unit in units] == [0, 2]


def test_the_directory_of_a_log_may_come_from_a_subagents_line(read):
    contents = read("inline-sidechains")

    assert contents.main("e997f85c").cwd == "/home/dev/mill"


def test_subagent_files_next_to_a_log_belong_to_the_session_they_name(read):
    contents = read("sibling-agents")

    assert {s.key.session_id for s in contents.streams.values()} == {
        contents.main().key.session_id
    }


def test_the_journal_of_a_workflow_is_not_read(read):
    contents = read("workflow-agents")

    assert set(contents.subagents()) == {"a0000000000000f01"}
    assert contents.rejected == []


def test_a_subagent_without_a_log_is_read_from_its_parent(read):
    contents = read("agent-progress")
    north = contents.subagents()["a77nor1"]

    types = [p.record.type for p in contents.records(north)]
    assert [t for t in types if t != "system_event"] == [
        "user_message",
        "tool_use",
        "tool_result",
        "assistant_message",
    ]


def test_a_subagents_own_log_replaces_the_copies(read, claude: ClaudeHome):
    copy_home(FIXTURES / "claude_code" / "agent-progress", claude.home)
    (log,) = claude.home.rglob("agent-a77sou1.jsonl")
    hidden = log.rename(claude.home / "later.jsonl")
    claude.sync()
    hidden.rename(log)

    contents = read()

    south = contents.subagents()["a77sou1"]
    lines = [json.loads(line)["uuid"] for line in log.read_bytes().splitlines()]
    messages = [
        p.record for p in contents.records(south) if p.record.type != "system_event"
    ]
    assert [record.native_id for record in messages] == lines
    assert [record.parent_id for record in messages] == ["", *lines[:-1]]


def test_copies_of_a_subagents_lines_do_not_count_tokens(read):
    contents = read("agent-progress")

    assert contents.subagents()["a77sou1"].usage == Usage(23, 3, 200, 10)


def test_a_call_and_its_copy_count_once(read):
    contents = read("agent-progress")

    assert {name: s.tool_calls for name, s in contents.subagents().items()} == {
        "a77nor1": 1,
        "a77sou1": 1,
    }


def test_a_fork_shares_records_and_counts_usage_once(read):
    contents = read("fork")
    first, fork = contents.main("b7593f3c"), contents.main("ab1418a5")

    ids = [{p.entry_id for p in contents.records(s)} for s in (first, fork)]
    shared = [p for p in contents.records(fork) if p.entry_id in ids[0]]
    assert [p.record.content for p in shared if p.record.type == "user_message"] == [
        "first [[hello]]"
    ]
    assert (first.usage.output_tokens, fork.usage.output_tokens) == (24, 12)
    assert (first.units, fork.units) == (1, 2)


def test_a_resumed_session_continues_its_units(read):
    contents = read("resume-old")

    assert [p.unit for p in contents.records_of_type("user_message")] == [1, 2, 3]


def test_usage_repeated_on_several_lines_counts_once_with_the_largest_values(read):
    contents = read("usage")

    assert contents.main("74fdc064").usage == Usage(200, 57, 600, 40)


def test_the_zeroed_usage_of_a_fork_does_not_reduce_totals(read):
    contents = read("usage")

    assert contents.main("70be00f6").usage == Usage(100, 9, 300, 20)
    assert [
        p.record.usage.output_tokens if p.record.usage else 0
        for p in contents.records(contents.main("74fdc064"))
        if p.record.message_id
    ] == [1, 1, 50, 7]


def test_copied_messages_in_a_fork_with_new_ids_count_once(read, claude: ClaudeHome):
    builder, fork = ClaudeLogBuilder(), ClaudeLogBuilder(OTHER_SESSION)
    answer = builder.answer("yes", id="msg_1")
    prompt = builder.prompt("go")
    claude.write(prompt, {**answer, "requestId": "req_1"})
    forked_from = {"sessionId": SESSION, "messageUuid": answer["uuid"]}
    copied = {**fork.answer("yes", id="msg_1"), "requestId": "req_1"}
    copied["message"] = answer["message"]
    claude.write(
        {**copied, "forkedFrom": forked_from},
        name=f"-home-dev-app/{OTHER_SESSION}.jsonl",
    )

    contents = read()

    total = sum(s.usage.input_tokens for s in contents.streams.values())
    assert total == answer["message"]["usage"]["input_tokens"]


def test_the_name_of_a_log_decides_its_session(read, claude: ClaudeHome):
    claude.write(ClaudeLogBuilder(OTHER_SESSION).prompt("whose am I?"))

    assert read().main().key.session_id == SESSION


def test_a_spilled_result_has_its_full_text(read, claude: ClaudeHome):
    contents = read("huge-old")

    (result,) = contents.records_of_type("tool_result")
    (file,) = claude.home.rglob("tool-results/*.txt")
    assert result.record.spilled == file.read_text()
    assert result.record.content.startswith("<persisted-output>")


def test_a_spilled_result_is_found_for_every_fork(read, claude: ClaudeHome):
    copy_home(FIXTURES / "claude_code" / "huge-old", claude.home)
    (log,) = claude.home.rglob("*.jsonl")
    fork = log.with_name(f"{OTHER_SESSION}.jsonl")
    shutil.copyfile(log, fork)
    os.utime(fork, (1, 1))

    contents = read()

    for session in (contents.main("e2a8e2f8"), contents.main(OTHER_SESSION)):
        (result,) = contents.records_of_type("tool_result", session)
        assert len(result.record.spilled) == 271993


@pytest.mark.parametrize("name", ["../../../secret", "/etc/hostname", "..", ""])
def test_a_spilled_result_is_never_read_from_another_directory(
    read, claude: ClaudeHome, name: str
):
    builder = ClaudeLogBuilder()
    (claude.log().parent / "secret").write_text("a secret")
    claude.write(
        builder.result("toolu_1", "short", toolUseResult={"persistedOutputPath": name})
    )

    (result,) = read().records_of_type("tool_result")

    assert result.record.spilled == ""


def test_an_image_is_a_placeholder_with_type_and_size(read):
    contents = read("image")

    (result,) = contents.records_of_type("tool_result")
    assert result.record.content == "[image image/png, 75 B]"


def test_results_of_failed_calls_are_marked_as_errors(read):
    contents = read("tools-old")

    error_marks = [
        p.record.metadata.get("is_error")
        for p in contents.records_of_type("tool_result")
    ]
    assert error_marks == [None, None, None, None, None, True, True]


def test_non_latin_text_is_preserved(read):
    contents = read("cjk-old")

    (call,) = contents.records_of_type("tool_use")
    assert json.loads(call.record.tool_input)["description"] == "打印问候"
    assert "日本語でお願いします 🙏" in contents.user_messages()[0][1]


@pytest.mark.parametrize(
    ("session", "title"),
    [
        ("7ff835cf", "A prompt that is the title only for want of a better one"),
        ("2df7f01b", "Chosen by hand"),
        ("84dd446e", "The tale of the mill and the moon"),
        ("3608009b", "second name"),
    ],
)
def test_the_latest_title_of_the_best_kind_is_used(read, session, title):
    assert read("titles").main(session).title == title


def test_the_last_of_several_summaries_is_the_title(read, claude: ClaudeHome):
    builder = ClaudeLogBuilder()
    answers = [builder.answer(f"answer {number}") for number in range(8)]
    titles = [
        {"type": "summary", "summary": f"tale {number}", "leafUuid": answer["uuid"]}
        for number, answer in enumerate(answers)
    ]
    claude.write(*answers, *titles)

    assert read().main().title == "tale 7"


def test_a_title_is_applied_when_its_session_is_read(read, claude: ClaudeHome):
    other_builder, builder = ClaudeLogBuilder(OTHER_SESSION), ClaudeLogBuilder()
    leaf = builder.answer("the end")
    summary = {"type": "summary", "summary": "A tale", "leafUuid": leaf["uuid"]}
    claude.write(
        summary, other_builder.prompt("x"), name=f"-home-dev-app/{OTHER_SESSION}.jsonl"
    )
    claude.sync()
    claude.write(builder.prompt("which tale?"), leaf)

    assert read().main(SESSION).title == "A tale"


@pytest.mark.fault("A15")
def test_a_line_of_an_unknown_type_is_stored_unchanged(read):
    contents = read("unknown-lines")

    unknown_lines = {
        p.record.metadata["line_type"]: json.loads(p.record.content)
        for p in contents.records_of_type("unknown")
        if "line_type" in p.record.metadata
    }
    assert unknown_lines["weather-report"]["wind"] == {"from": "west"}


@pytest.mark.parametrize("role", ["assistant", "user"])
def test_a_block_of_an_unknown_type_is_stored_unchanged(read, claude, role: str):
    builder = ClaudeLogBuilder()
    block = {"type": "brand_new_block", "payload": {"deep": [1, 2]}}
    message = {"role": role, "content": [block], "model": "m", "id": "msg_1"}
    claude.write(builder.prompt("go"), builder.line(role, message=message))

    (unknown,) = read().records_of_type("unknown")

    assert json.loads(unknown.record.content) == block
    assert unknown.record.role == role


def test_a_failed_server_side_search_is_a_result(read):
    contents = read("unknown-lines")

    assert contents.rejected == []
    assert [p.record.tool_call_id for p in contents.records_of_type("tool_result")] == [
        "srvtoolu_1",
        "srvtoolu_2",
    ]


def test_blocks_of_one_message_do_not_share_fields():
    blocks = [
        {"type": "brand_new_block"},
        {"type": "web_search_tool_result", "tool_use_id": "srv_1", "content": []},
        {"type": "text", "text": "found"},
        {"type": "tool_use", "id": "toolu_1", "name": "Bash", "input": {}},
    ]
    line = ClaudeLogBuilder().line(
        "assistant", message={"role": "assistant", "content": blocks}
    )

    records = [r for r in decode(line).records if r.type != "system_event"]

    assert [(r.type, r.tool_call_id, "block_type" in r.metadata) for r in records] == [
        ("unknown", "", True),
        ("tool_result", "srv_1", False),
        ("assistant_message", "", False),
        ("tool_use", "toolu_1", False),
    ]


def test_a_message_that_is_a_string_is_stored(read, claude: ClaudeHome):
    claude.write(ClaudeLogBuilder().line("user", message="only words"))

    text = " ".join(p.record.content for p in read().records())

    assert "only words" in text


def test_a_result_without_a_call_id_is_stored(read, claude: ClaudeHome):
    claude.write(
        ClaudeLogBuilder().prompt([{"type": "tool_result", "content": "of no call"}])
    )

    assert [p.record.content for p in read().records_of_type("tool_result")] == [
        "of no call"
    ]


def test_an_object_in_place_of_a_list_of_blocks_is_one_block(read, claude: ClaudeHome):
    builder = ClaudeLogBuilder()
    claude.write(
        builder.prompt({"type": "text", "text": "one block"}),
        builder.result("toolu_1", {"type": "text", "text": "one part"}),
    )

    contents = read()

    assert contents.user_messages() == [("prompt", "one block")]
    assert [p.record.content for p in contents.records_of_type("tool_result")] == [
        "one part"
    ]


def test_complete_entries_in_damaged_lines_are_salvaged(read):
    contents = read("broken-lines")

    texts = {p.record.content for p in contents.records()}
    assert {
        "one of two on a line",
        "two of two on a line",
        "whole behind a torn one",
        "behind a run of NUL",
        "behind a mark of order",
        "ended the Windows way",
        "the last one",
    } <= texts
    assert not any("torn away" in text for text in texts)


def test_an_implausible_token_count_does_not_stop_the_reader(read, claude: ClaudeHome):
    builder = ClaudeLogBuilder()
    usage = {"input_tokens": 2**63, "output_tokens": 7}
    claude.write(
        builder.prompt("go"), builder.answer("one", usage=usage), builder.answer("two")
    )

    assert len(read().records_of_type("assistant_message")) == 2


@pytest.mark.parametrize(
    "time", ["9999-12-31T23:59:59-23:59", "0001-01-01T00:00:00+23:59", 10**30, "soon"]
)
def test_an_impossible_time_is_ignored(read, claude: ClaudeHome, time: Any):
    claude.write({**ClaudeLogBuilder().prompt("when?"), "timestamp": time})

    contents = read()

    assert [p.record.created_at for p in contents.records_of_type("user_message")] == [
        None
    ]


@pytest.mark.parametrize("depth", [400, 1100, 1400, 100_000])
def test_deep_nesting_does_not_stop_the_reader(read, claude: ClaudeHome, depth: int):
    builder = ClaudeLogBuilder()
    deep = b'"input": ' + b"[" * depth + b"]" * depth
    call = encode_json_lines(builder.call("Nest", 1, "toolu_1")).replace(
        b'"input": 1', deep
    )
    claude.log().write_bytes(
        encode_json_lines(builder.prompt("go"))
        + call
        + encode_json_lines(builder.answer("end"))
    )

    assert [p.record.content for p in read().records_of_type("assistant_message")] == [
        "end"
    ]


def test_the_clients_copies_of_prompts_are_noise(read):
    contents = read("hello")

    texts = [p.record.content for p in contents.records()]
    # The entry that queued the prompt, and the prompt.
    assert sum("please do it" in text for text in texts) == 2


def test_lines_with_content_at_the_top_level_are_decoded(read):
    contents = read("plain-lines")

    types = [(p.record.type, p.record.role) for p in contents.records()]
    assert types == [
        ("system_event", "system"),
        ("user_message", "user"),
        ("assistant_message", "assistant"),
        ("tool_use", "assistant"),
        ("tool_result", "tool"),
        ("tool_use", "assistant"),
        ("tool_result", "tool"),
        ("assistant_message", "assistant"),
        ("user_message", "user"),
    ]
    assert contents.main().key.session_id == "plain-session-7"


def test_a_call_and_its_result_share_an_id_in_flat_lines(read):
    contents = read("plain-lines")

    call, result = (
        contents.records_of_type("tool_use")[0],
        contents.records_of_type("tool_result")[0],
    )
    assert call.record.tool_call_id == result.record.tool_call_id == "call-1"
    assert json.loads(call.record.tool_input) == {"grain": "rye", "sacks": 1}


def test_both_default_directories_are_roots(home: Path):
    roots = ADAPTER.roots(make_environment(home), [])

    assert [root.path.relative_to(home) for root in roots] == [
        Path(".claude/projects"),
        Path(".config/claude/projects"),
    ]


def test_the_environment_variable_replaces_the_default_directories(home: Path):
    env = make_environment(home)
    env = type(env)(
        home=home, environ={"CLAUDE_CONFIG_DIR": "/a, /b/projects"}, platform="linux"
    )

    assert [str(root.path) for root in ADAPTER.roots(env, [])] == [
        "/a/projects",
        "/b/projects",
    ]


@pytest.mark.parametrize("start", ["9" * 5000, "\u00b2", "-1", None, "\ud800"])
def test_an_invalid_process_start_time_is_ignored(start: str | None):
    data = json.dumps({"sessionId": SESSION, "pid": 5, "procStart": start})

    assert ADAPTER.parse_live_process(Path("5.json"), data.encode()) == LiveProcess(
        SESSION, 5, None
    )
