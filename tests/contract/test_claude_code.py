"""What Claude Code's logs mean, fact by fact."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from leslied.agents import load_adapters
from leslied.model.record import MAIN, PlacedRecord, Usage
from leslied.model.session import LiveProcess, SessionSummary
from leslied.model.source import FileStamp, RawEntry, Shape, SourceRef
from leslied.sessions import RecordStream, assemble
from leslied.store import StoreReader
from tests.support.claude import (
    SESSION,
    ClaudeHome,
    ClaudeLogBuilder,
    encode_json_lines,
)
from tests.support.golden import FIXTURES, copy_home, make_environment

ADAPTER = load_adapters()["claude-code"]
OTHER = "99999999-2222-4333-8444-555555555555"
LOG = f"-home-dev-app/{SESSION}.jsonl"


class ClaudeStoreContents:
    """What the store tells after a sync."""

    def __init__(self, path: Path) -> None:
        with StoreReader(path) as reader:
            self.streams = {s.key[1:]: s for s in reader.list_sessions()}
            self._records = {
                key: list(reader.list_records(s.row)) for key, s in self.streams.items()
            }
            self.rejected = [row["reason"] for row in reader.list_rejected(99)]

    def main(self, session_id: str = "") -> SessionSummary:
        (found,) = [s for s in self._mains() if s.key.session_id.startswith(session_id)]
        return found

    def subagents(self) -> dict[str, SessionSummary]:
        return {s.subagent_id: s for s in self.streams.values() if s.is_subagent}

    def records(self, session: SessionSummary | None = None) -> list[PlacedRecord]:
        return self._records[(session or self.main()).key[1:]]

    def user_messages(
        self, session: SessionSummary | None = None
    ) -> list[tuple[str, str]]:
        """Whose words, and the words, of every user message."""
        return [
            (p.record.metadata["origin"], p.record.content)
            for p in self.records_of_type("user_message", session)
        ]

    def records_of_type(
        self, type_: str, session: SessionSummary | None = None
    ) -> list[PlacedRecord]:
        return [p for p in self.records(session) if p.record.type == type_]

    def events(self, kind: str, session: SessionSummary | None = None) -> list[str]:
        return [
            p.record.metadata.get("note", "")
            for p in self.records(session)
            if p.record.metadata.get("kind") == kind
        ]

    def find_unit(self, words: str, session: SessionSummary | None = None) -> int:
        return next(p.unit for p in self.records(session) if p.record.content == words)

    def _mains(self) -> list[SessionSummary]:
        return [s for s in self.streams.values() if s.key.source == MAIN]


@pytest.fixture
def read(claude: ClaudeHome):
    """Reads a fixture case, or whatever stands in the home."""

    def read_case(case: str = "", *, is_final: bool = False) -> ClaudeStoreContents:
        if case:
            copy_home(FIXTURES / "claude_code" / case, claude.home)
        claude.sync(is_final=is_final)
        return ClaudeStoreContents(claude.store_path)

    return read_case


def decode(line: Any, state: dict[str, Any] | None = None) -> Any:
    """One line of a main log, decoded."""
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


def test_a_prompt_sent_by_a_program_is_a_prompt(read):
    told = read("hello")

    (prompt,) = told.records_of_type("user_message")
    assert prompt.record.metadata["is_program"]
    assert (prompt.unit, told.main().units) == (1, 1)


@pytest.mark.parametrize("case", ["sub1", "bgsub", "bgbash-old"])
def test_a_notification_is_not_a_prompt(read, case: str):
    told = read(case)

    assert [origin for origin, _ in told.user_messages(told.main())] == ["prompt"]
    assert told.main().units == 1


def test_a_notification_turn_stays_in_its_unit(read):
    told = read("bgsub")

    answers = told.records_of_type("assistant_message", told.main())
    assert [p.unit for p in answers] == [1, 1, 1]


def test_every_prompt_at_the_terminal_starts_a_unit(read):
    told = read("tui")
    session = told.main("9be9d0fd")

    prompts = [
        (p.unit, p.record.content.partition(" [[")[0])
        for p in told.records_of_type("user_message", session)
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


def test_a_clear_is_a_command_in_the_new_session_and_no_unit(read):
    told = read("tui")
    session = told.main("736fab83")

    assert told.user_messages(session)[0] == ("command", "/clear")
    assert told.find_unit("/clear", session) == 0
    assert session.title == "fresh start [[hello]]"


def test_compaction_is_an_event_and_its_summary_no_prompt(read):
    told = read("tui")
    session = told.main("9be9d0fd")

    assert told.events("compacted", session) == ["compact_boundary", "summary"]
    assert session.units == 7


def test_teammates_and_other_machines_are_not_people(read):
    told = read("teammates")

    assert told.user_messages() == [
        ("prompt", "Make a team"),
        (
            "prompt",
            "They wrote: <teammate-message>hello</teammate-message>, did you see?",
        ),
    ]


def test_a_warmup_is_no_task(read):
    told = read("sibling-agents")
    warm = told.subagents()["5e6f7a8b"]

    assert told.user_messages(warm) == []
    assert told.events("notice", warm) == ["warmup"]


def test_a_person_may_say_warmup(read, claude: ClaudeHome):
    claude.write(ClaudeLogBuilder().prompt("Warmup"))

    assert read().user_messages() == [("prompt", "Warmup")]


def test_a_prompt_typed_in_mid_turn_is_told_once(read):
    told = read("queue")

    assert told.user_messages(told.main("f8af8a95")) == [
        ("prompt", "Bake the bread"),
        ("queued", "less salt"),
        ("queued", "less salt"),
        ("queued", "and\n\nseeds"),
    ]


def test_a_prompt_typed_in_mid_turn_starts_no_unit(read):
    told = read("queue")

    assert told.main("f8af8a95").units == 1


def test_the_same_words_typed_twice_are_two_prompts(read):
    told = read("queue")

    words = [text for _, text in told.user_messages(told.main("45dd97e8"))]
    assert words.count("continue") == 2


def test_a_removal_without_words_means_the_oldest_that_waits(read, claude: ClaudeHome):
    talk = ClaudeLogBuilder()
    claude.write(
        talk.prompt("go"),
        queue("enqueue", "one"),
        queue("enqueue", "two"),
        queue("remove"),
        queue("remove", None),
    )

    assert read().user_messages()[1:] == [("queued", "one"), ("queued", "two")]


def test_a_prompt_that_became_a_turn_waits_no_more(read):
    told = read("queue")

    assert [text for _, text in told.user_messages(told.main("45dd97e8"))] == [
        "Repair the wheel",
        "use oak, not pine",
        "continue",
        "continue",
        "and paint it",
        "look at this picture\n\n[image image/png, 9 B]",
        "stop after lunch",
    ]


def test_words_given_back_to_the_person_are_not_delivered(read, claude: ClaudeHome):
    talk = ClaudeLogBuilder()
    claude.write(
        talk.prompt("go"),
        queue("enqueue", "never mind"),
        queue("popAll", "never mind"),
        queue("enqueue", "this instead"),
        queue("remove"),
    )

    assert read().user_messages()[1:] == [("queued", "this instead")]


def test_a_long_prompt_that_waits_is_not_forgotten(read, claude: ClaudeHome):
    talk = ClaudeLogBuilder()
    claude.write(
        talk.prompt("go"),
        queue("enqueue", "long " * 600),
        queue("enqueue", "short"),
        queue("remove"),
        queue("remove"),
    )

    first, second = read().user_messages()[1:]
    assert first[1].startswith("long long")
    assert second == ("queued", "short")


@pytest.mark.parametrize("text", ["水" * 2400, "\x01" * 2400, "a"])
def test_notes_about_waiting_prompts_stay_small(text: str):
    state: dict[str, Any] = {}
    for number in range(1000):
        line = queue("enqueue", text if len(text) > 1 else f"{number}")
        state = decode(line, state).state

    assert len(json.dumps(state, ensure_ascii=False).encode()) <= 4096


def queue(operation: str, *content: Any) -> dict[str, Any]:
    line = {"type": "queue-operation", "operation": operation, "sessionId": SESSION}
    line["timestamp"] = "2026-11-16T10:00:30.000Z"
    return {**line, "content": content[0]} if content else line


def test_a_slash_command_reads_as_typed_in_every_tag_order(read):
    told = read("commands")

    commands = [text for origin, text in told.user_messages() if origin == "command"]
    assert commands == [
        "/model",
        "/review the wheel",
        "/plan",
        "/rename Old wheel",
        "/exit",
    ]


def test_a_shell_command_reads_as_typed(read):
    told = read("commands")

    assert [t for o, t in told.user_messages() if o == "shell"] == ["! ls -l", "! make"]


def test_a_command_starts_a_unit_only_when_the_agent_answers_it(read):
    told = read("commands")

    units = {words: told.find_unit(words) for words in ("/model", "/review the wheel")}
    assert units == {"/model": 0, "/review the wheel": 1}
    assert told.find_unit("! ls -l") == told.find_unit("A slash command.")
    assert told.find_unit("! make") == told.find_unit("There is no rule.")


def test_a_prompt_after_an_answered_command_has_a_unit_of_its_own(read):
    told = read("commands")

    assert told.find_unit("A typed prompt after a command") == 2
    assert told.find_unit("/plan") == 3


def test_unit_numbers_are_the_same_read_at_once_or_line_by_line(
    read, claude: ClaudeHome
):
    case = FIXTURES / "claude_code" / "commands" / "home"
    (log,) = case.rglob("*.jsonl")
    for line in log.read_bytes().splitlines(keepends=True):
        with claude.log().open("ab") as file:
            file.write(line)
        claude.sync()
    slowly = [
        (p.unit, p.record.content)
        for p in ClaudeStoreContents(claude.store_path).records()
    ]
    claude.store_path.unlink()

    assert [(p.unit, p.record.content) for p in read().records()] == slowly


def test_a_prompt_that_quotes_tags_stays_a_prompt(read):
    told = read("commands")

    words = "What does <command-name>/model</command-name> mean in a log?"
    assert ("prompt", words) in told.user_messages()


def test_what_the_editor_attached_is_not_said(read):
    told = read("commands")

    attached = {
        p.record.content: p.record.metadata["attached"]
        for p in told.records_of_type("user_message")
        if "attached" in p.record.metadata
    }
    assert set(attached) == {"Explain this file", "Why so short?"}
    assert attached["Explain this file"].startswith("<ide_opened_file>")


def test_reminders_and_hooks_are_not_prompts(read):
    told = read("commands")

    words = " ".join(text for _, text in told.user_messages())
    for start in ("<system-reminder>", "<ide_", "Stop hook", "Operation stopped"):
        assert start not in words


def test_words_said_with_a_rejection_are_found(read):
    told = read("commands")

    found = [
        p.record.metadata.get("user_said") for p in told.records_of_type("tool_result")
    ]
    assert "leave the wheel alone" in found


def test_words_beside_a_result_hide_no_result(read):
    told = read("commands")

    results = {p.record.tool_call_id for p in told.records_of_type("tool_result")}
    assert results == {"toolu_edit", "toolu_list", "toolu_sleep"}
    assert "and keep it short" in [text for _, text in told.user_messages()]


def test_words_beside_a_result_start_no_unit(read):
    told = read("commands")

    assert told.find_unit("and keep it short") == told.find_unit("Short it is.") == 7
    assert told.main().units == 8


def test_a_skill_s_text_is_not_said(read):
    told = read("skill-old")

    assert len(told.user_messages()) == 1
    assert "meta" in told.events("context")


def test_an_interrupt_ends_the_turn(read, claude: ClaudeHome):
    talk = ClaudeLogBuilder()
    claude.write(
        talk.prompt("go"),
        talk.answer("I was", stop_reason=None),
        talk.prompt("[Request interrupted by user]"),
    )

    told = read()

    assert told.events("turn_ended") == ["interrupt"]
    assert told.main().has_turn_ended


def test_an_interrupt_beside_a_result_ends_the_turn(read, claude: ClaudeHome):
    talk = ClaudeLogBuilder()
    result = {"type": "tool_result", "tool_use_id": "toolu_1", "content": "stopped"}
    words = {"type": "text", "text": "[Request interrupted by user for tool use]"}
    claude.write(
        talk.prompt("go"),
        talk.call("Bash", {}, "toolu_1"),
        talk.prompt([result, words]),
    )

    told = read()

    assert [p.record.content for p in told.records_of_type("tool_result")] == [
        "stopped"
    ]
    assert told.main().has_turn_ended


def test_an_answer_cut_at_the_limit_ends_the_turn_until_the_client_goes_on(
    read, claude: ClaudeHome
):
    talk = ClaudeLogBuilder()
    claude.write(talk.prompt("go"), talk.answer("I was", stop_reason="max_tokens"))
    ended = read().main().has_turn_ended
    claude.write(talk.answer(" going on", stop_reason=None))

    assert ended
    assert not read().main().has_turn_ended


def test_a_request_that_failed_for_good_ends_the_turn(read):
    told = read("err500-old")

    (error,) = told.records_of_type("error")
    assert error.record.role == "assistant"
    assert told.main().has_turn_ended


def test_a_retry_ends_no_turn(read, claude: ClaudeHome):
    talk = ClaudeLogBuilder()
    claude.write(
        talk.prompt("go"), talk.line("system", subtype="api_error", retryAttempt=1)
    )

    told = read()

    assert len(told.records_of_type("error")) == 1
    assert not told.main().has_turn_ended


def test_a_killed_tool_leaves_a_call_without_result(read):
    told = read("kill9-tool")

    assert (
        len(told.records_of_type("tool_use")),
        len(told.records_of_type("tool_result")),
    ) == (1, 0)
    assert not told.main().has_turn_ended


def test_the_client_s_own_answer_is_not_the_model_s(read):
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
def test_a_subagent_hangs_under_the_call_that_spawned_it(read, case, calls):
    told = read(case)

    found = [s.spawn_call_id for s in told.subagents().values() if s.spawn_call_id]
    made = [
        p.record.tool_call_id for p in told.records_of_type("tool_use", told.main())
    ]
    assert sorted(found) == calls == sorted(made)


def test_a_nested_subagent_hangs_under_its_parent_s_call(read):
    told = read("nest-old")
    outer, inner = (
        told.subagents()[i] for i in ("a84592108c416aba0", "adf77a67a1904311f")
    )

    (call,) = told.records_of_type("tool_use", outer)
    assert inner.spawn_call_id == call.record.tool_call_id


def test_a_task_is_not_a_prompt(read):
    told = read("sub1")
    (child,) = told.subagents().values()

    assert [origin for origin, _ in told.user_messages(child)] == ["task"]
    assert (child.units, told.main().units) == (0, 1)


def test_a_side_file_never_creates_a_session(read, claude: ClaudeHome):
    meta = claude.log(f"-home-dev-app/{SESSION}/subagents/agent-a1.meta.json")
    meta.write_text('{"agentType":"general-purpose","toolUseId":"toolu_1"}')

    assert read().streams == {}


def test_a_side_file_that_came_first_names_the_subagent(read, claude: ClaudeHome):
    meta = claude.log(f"-home-dev-app/{SESSION}/subagents/agent-a1.meta.json")
    meta.write_text('{"agentType":"explorer","toolUseId":"toolu_1","description":"d"}')
    claude.sync()
    claude.write(
        ClaudeLogBuilder().prompt("look", isSidechain=True),
        name=f"-home-dev-app/{SESSION}/subagents/agent-a1.jsonl",
    )

    (child,) = read().subagents().values()

    assert (child.spawn_call_id, child.agent_type) == ("toolu_1", "explorer")


def test_inline_subagents_are_told_apart(read):
    told = read("inline-sidechains")

    streams = {
        told.user_messages(s)[0][1]: [
            p.record.content for p in told.records_of_type("tool_result", s)
        ]
        for s in told.subagents().values()
        if told.user_messages(s)
    }
    assert streams == {
        "Count the millstones": ["7 stones"],
        "Weigh the sacks": ["40 sacks"],
    }


def test_inline_subagents_leave_the_main_story_alone(read):
    told = read("inline-sidechains")

    assert told.user_messages(told.main("14a7b9b3")) == [
        ("prompt", "Ask two helpers about the mill")
    ]


def test_an_inline_subagent_hangs_in_the_unit_that_spawned_it(read):
    told = read("inline-sidechains")
    main = told.main("14a7b9b3")
    mine = [s for s in told.subagents().values() if s.key.session_id == main.key[1]]

    units = assemble(
        RecordStream(main, told.records(main)),
        [RecordStream(s, told.records(s)) for s in mine],
    )

    assert [len(unit.subagents) for unit in units] == [0, 2]


def test_a_log_that_begins_with_a_subagent_knows_its_folder(read):
    told = read("inline-sidechains")

    assert told.main("e997f85c").cwd == "/home/dev/mill"


def test_siblings_belong_to_the_session_they_name(read):
    told = read("sibling-agents")

    assert {s.key.session_id for s in told.streams.values()} == {
        told.main().key.session_id
    }


def test_a_journal_is_not_read(read):
    told = read("workflow-agents")

    assert set(told.subagents()) == {"a0000000000000f01"}
    assert told.rejected == []


def test_a_subagent_without_a_log_is_read_from_its_parent(read):
    told = read("agent-progress")
    north = told.subagents()["a77nor1"]

    types = [p.record.type for p in told.records(north)]
    assert [t for t in types if t != "system_event"] == [
        "user_message",
        "tool_use",
        "tool_result",
        "assistant_message",
    ]


def test_a_subagent_s_own_log_takes_the_place_of_copies(read, claude: ClaudeHome):
    copy_home(FIXTURES / "claude_code" / "agent-progress", claude.home)
    (log,) = claude.home.rglob("agent-a77sou1.jsonl")
    hidden = log.rename(claude.home / "later.jsonl")
    claude.sync()
    hidden.rename(log)

    told = read()

    south = told.subagents()["a77sou1"]
    lines = [json.loads(line)["uuid"] for line in log.read_bytes().splitlines()]
    spoken = [p.record for p in told.records(south) if p.record.type != "system_event"]
    assert [record.native_id for record in spoken] == lines
    assert [record.parent_id for record in spoken] == ["", *lines[:-1]]


def test_a_copy_of_a_subagent_s_line_costs_nothing(read):
    told = read("agent-progress")

    assert told.subagents()["a77sou1"].usage == Usage(23, 3, 200, 10)


def test_a_call_that_is_shown_twice_counts_once(read):
    told = read("agent-progress")

    assert {name: s.tool_calls for name, s in told.subagents().items()} == {
        "a77nor1": 1,
        "a77sou1": 1,
    }


def test_a_fork_shares_records_and_counts_usage_once(read):
    told = read("fork")
    first, fork = told.main("b7593f3c"), told.main("ab1418a5")

    ids = [{p.entry_id for p in told.records(s)} for s in (first, fork)]
    shared = [p for p in told.records(fork) if p.entry_id in ids[0]]
    assert [p.record.content for p in shared if p.record.type == "user_message"] == [
        "first [[hello]]"
    ]
    assert (first.usage.output_tokens, fork.usage.output_tokens) == (24, 12)
    assert (first.units, fork.units) == (1, 2)


def test_a_resumed_session_goes_on_in_the_same_units(read):
    told = read("resume-old")

    assert [p.unit for p in told.records_of_type("user_message")] == [1, 2, 3]


def test_usage_repeated_over_lines_counts_once_and_at_its_largest(read):
    told = read("usage")

    assert told.main("74fdc064").usage == Usage(200, 57, 600, 40)


def test_a_fork_s_zeroed_usage_takes_nothing_away(read):
    told = read("usage")

    assert told.main("70be00f6").usage == Usage(100, 9, 300, 20)
    assert [
        p.record.usage.output_tokens if p.record.usage else 0
        for p in told.records(told.main("74fdc064"))
        if p.record.message_id
    ] == [1, 1, 50, 7]


def test_a_fork_with_new_ids_costs_nothing(read, claude: ClaudeHome):
    talk, fork = ClaudeLogBuilder(), ClaudeLogBuilder(OTHER)
    answer = talk.answer("yes", id="msg_1")
    prompt = talk.prompt("go")
    claude.write(prompt, {**answer, "requestId": "req_1"})
    came = {"sessionId": SESSION, "messageUuid": answer["uuid"]}
    copied = {**fork.answer("yes", id="msg_1"), "requestId": "req_1"}
    copied["message"] = answer["message"]
    claude.write({**copied, "forkedFrom": came}, name=f"-home-dev-app/{OTHER}.jsonl")

    told = read()

    total = sum(s.usage.input_tokens for s in told.streams.values())
    assert total == answer["message"]["usage"]["input_tokens"]


def test_a_log_s_name_tells_the_session_not_its_lines(read, claude: ClaudeHome):
    claude.write(ClaudeLogBuilder(OTHER).prompt("whose am I?"))

    assert read().main().key.session_id == SESSION


def test_a_spilled_result_keeps_its_whole_text(read, claude: ClaudeHome):
    told = read("huge-old")

    (result,) = told.records_of_type("tool_result")
    (file,) = claude.home.rglob("tool-results/*.txt")
    assert result.record.spilled == file.read_text()
    assert result.record.content.startswith("<persisted-output>")


def test_a_spilled_result_is_found_whichever_fork_is_read_first(
    read, claude: ClaudeHome
):
    copy_home(FIXTURES / "claude_code" / "huge-old", claude.home)
    (log,) = claude.home.rglob("*.jsonl")
    fork = log.with_name(f"{OTHER}.jsonl")
    shutil.copyfile(log, fork)
    os.utime(fork, (1, 1))

    told = read()

    for session in (told.main("e2a8e2f8"), told.main(OTHER)):
        (result,) = told.records_of_type("tool_result", session)
        assert len(result.record.spilled) == 271993


@pytest.mark.parametrize("name", ["../../../secret", "/etc/hostname", "..", ""])
def test_a_spilled_result_is_never_looked_for_elsewhere(
    read, claude: ClaudeHome, name: str
):
    talk = ClaudeLogBuilder()
    (claude.log().parent / "secret").write_text("a secret")
    claude.write(
        talk.result("toolu_1", "short", toolUseResult={"persistedOutputPath": name})
    )

    (result,) = read().records_of_type("tool_result")

    assert result.record.spilled == ""


def test_an_image_is_shown_by_kind_and_size(read):
    told = read("image")

    (result,) = told.records_of_type("tool_result")
    assert result.record.content == "[image image/png, 75 B]"


def test_failed_calls_say_so(read):
    told = read("tools-old")

    failed = [
        p.record.metadata.get("is_error") for p in told.records_of_type("tool_result")
    ]
    assert failed == [None, None, None, None, None, True, True]


def test_words_of_every_script_arrive_whole(read):
    told = read("cjk-old")

    (call,) = told.records_of_type("tool_use")
    assert json.loads(call.record.tool_input)["description"] == "打印问候"
    assert "日本語でお願いします 🙏" in told.user_messages()[0][1]


@pytest.mark.parametrize(
    ("session", "title"),
    [
        ("7ff835cf", "A prompt that is the title only for want of a better one"),
        ("2df7f01b", "Chosen by hand"),
        ("84dd446e", "The tale of the mill and the moon"),
        ("3608009b", "second name"),
    ],
)
def test_the_best_title_stands_and_of_equals_the_last(read, session, title):
    assert read("titles").main(session).title == title


def test_of_several_summaries_the_last_stands(read, claude: ClaudeHome):
    talk = ClaudeLogBuilder()
    answers = [talk.answer(f"answer {number}") for number in range(8)]
    titles = [
        {"type": "summary", "summary": f"tale {number}", "leafUuid": answer["uuid"]}
        for number, answer in enumerate(answers)
    ]
    claude.write(*answers, *titles)

    assert read().main().title == "tale 7"


def test_a_title_waits_for_the_session_it_names(read, claude: ClaudeHome):
    other, talk = ClaudeLogBuilder(OTHER), ClaudeLogBuilder()
    leaf = talk.answer("the end")
    summary = {"type": "summary", "summary": "A tale", "leafUuid": leaf["uuid"]}
    claude.write(summary, other.prompt("x"), name=f"-home-dev-app/{OTHER}.jsonl")
    claude.sync()
    claude.write(talk.prompt("which tale?"), leaf)

    assert read().main(SESSION).title == "A tale"


def test_a_line_of_an_unknown_type_is_kept_as_it_stands(read):
    told = read("unknown-lines")

    kept = {
        p.record.metadata["line_type"]: json.loads(p.record.content)
        for p in told.records_of_type("unknown")
        if "line_type" in p.record.metadata
    }
    assert kept["weather-report"]["wind"] == {"from": "west"}


@pytest.mark.parametrize("role", ["assistant", "user"])
def test_a_block_of_an_unknown_type_is_kept_as_it_stands(read, claude, role: str):
    talk = ClaudeLogBuilder()
    block = {"type": "brand_new_block", "payload": {"deep": [1, 2]}}
    message = {"role": role, "content": [block], "model": "m", "id": "msg_1"}
    claude.write(talk.prompt("go"), talk.line(role, message=message))

    (unknown,) = read().records_of_type("unknown")

    assert json.loads(unknown.record.content) == block
    assert unknown.record.role == role


def test_a_server_s_failed_search_is_a_result(read):
    told = read("unknown-lines")

    assert told.rejected == []
    assert [p.record.tool_call_id for p in told.records_of_type("tool_result")] == [
        "srvtoolu_1",
        "srvtoolu_2",
    ]


def test_blocks_of_one_message_leave_no_trace_on_each_other():
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


def test_a_message_that_is_only_words_loses_none(read, claude: ClaudeHome):
    claude.write(ClaudeLogBuilder().line("user", message="only words"))

    kept = " ".join(p.record.content for p in read().records())

    assert "only words" in kept


def test_a_result_of_no_call_keeps_its_words(read, claude: ClaudeHome):
    claude.write(
        ClaudeLogBuilder().prompt([{"type": "tool_result", "content": "of no call"}])
    )

    assert [p.record.content for p in read().records_of_type("tool_result")] == [
        "of no call"
    ]


def test_an_object_where_a_list_should_be_is_one_block(read, claude: ClaudeHome):
    talk = ClaudeLogBuilder()
    claude.write(
        talk.prompt({"type": "text", "text": "one block"}),
        talk.result("toolu_1", {"type": "text", "text": "one part"}),
    )

    told = read()

    assert told.user_messages() == [("prompt", "one block")]
    assert [p.record.content for p in told.records_of_type("tool_result")] == [
        "one part"
    ]


def test_whole_entries_are_cut_out_of_damaged_lines(read):
    told = read("broken-lines")

    words = {p.record.content for p in told.records()}
    assert {
        "one of two on a line",
        "two of two on a line",
        "whole behind a torn one",
        "behind a run of NUL",
        "behind a mark of order",
        "ended the Windows way",
        "the last one",
    } <= words
    assert not any("torn away" in text for text in words)


def test_tokens_beyond_the_machine_stop_nothing(read, claude: ClaudeHome):
    talk = ClaudeLogBuilder()
    many = {"input_tokens": 2**63, "output_tokens": 7}
    claude.write(talk.prompt("go"), talk.answer("one", usage=many), talk.answer("two"))

    assert len(read().records_of_type("assistant_message")) == 2


@pytest.mark.parametrize(
    "time", ["9999-12-31T23:59:59-23:59", "0001-01-01T00:00:00+23:59", 10**30, "soon"]
)
def test_a_time_that_cannot_be_is_no_time(read, claude: ClaudeHome, time: Any):
    claude.write({**ClaudeLogBuilder().prompt("when?"), "timestamp": time})

    told = read()

    assert [p.record.created_at for p in told.records_of_type("user_message")] == [None]


@pytest.mark.parametrize("depth", [400, 1100, 1400, 100_000])
def test_deep_nesting_stops_nothing(read, claude: ClaudeHome, depth: int):
    talk = ClaudeLogBuilder()
    deep = b'"input": ' + b"[" * depth + b"]" * depth
    call = encode_json_lines(talk.call("Nest", 1, "toolu_1")).replace(
        b'"input": 1', deep
    )
    claude.log().write_bytes(
        encode_json_lines(talk.prompt("go"))
        + call
        + encode_json_lines(talk.answer("end"))
    )

    assert [p.record.content for p in read().records_of_type("assistant_message")] == [
        "end"
    ]


def test_the_client_s_copies_of_prompts_are_noise(read):
    told = read("hello")

    texts = [p.record.content for p in told.records()]
    assert sum("please do it" in text for text in texts) == 2


def test_lines_with_their_content_at_the_top_are_read(read):
    told = read("plain-lines")

    shown = [(p.record.type, p.record.role) for p in told.records()]
    assert shown == [
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
    assert told.main().key.session_id == "plain-session-7"


def test_a_plain_call_and_its_result_know_each_other(read):
    told = read("plain-lines")

    call, result = (
        told.records_of_type("tool_use")[0],
        told.records_of_type("tool_result")[0],
    )
    assert call.record.tool_call_id == result.record.tool_call_id == "call-1"
    assert json.loads(call.record.tool_input) == {"grain": "rye", "sacks": 1}


def test_both_homes_are_looked_at(home: Path):
    roots = ADAPTER.roots(make_environment(home), [])

    assert [root.path.relative_to(home) for root in roots] == [
        Path(".claude/projects"),
        Path(".config/claude/projects"),
    ]


def test_a_config_folder_of_one_s_own_takes_their_place(home: Path):
    env = make_environment(home)
    env = type(env)(
        home=home, environ={"CLAUDE_CONFIG_DIR": "/a, /b/projects"}, platform="linux"
    )

    assert [str(root.path) for root in ADAPTER.roots(env, [])] == [
        "/a/projects",
        "/b/projects",
    ]


@pytest.mark.parametrize("start", ["9" * 5000, "\u00b2", "-1", None, "\ud800"])
def test_a_start_time_that_is_none_is_left_out(start: str | None):
    told = json.dumps({"sessionId": SESSION, "pid": 5, "procStart": start})

    assert ADAPTER.parse_live_process(Path("5.json"), told.encode()) == LiveProcess(
        SESSION, 5, None
    )
