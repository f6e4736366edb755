"""Test how Gemini CLI's logs are decoded."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from leslied.model.record import Usage
from leslied.model.source import Environment, Shape
from tests.support.gemini import (
    ADAPTER,
    LOG,
    SESSION,
    TOKENS,
    GeminiHome,
    GeminiLogBuilder,
    make_checkpoint,
    make_tool_call,
)
from tests.support.golden import FIXTURES, copy_home, describe_store, make_environment

SECOND_LOG = LOG.replace("T10-00", "T10-05")
SUBAGENT = "99999999-2222-4333-8444-555555555555"
ACKNOWLEDGEMENT = "Got it. Thanks for the additional context!"
CONTEXT = "<session_context>\n- **Workspace Directories:**\n  - {}\n</session_context>"


@pytest.fixture
def gemini(home: Path, tmp_path: Path, clock) -> GeminiHome:
    return GeminiHome(home, tmp_path / "data" / "store.db", clock)


@pytest.fixture
def builder() -> GeminiLogBuilder:
    return GeminiLogBuilder()


# Roots


def test_the_root_is_below_the_home_directory(home: Path):
    (root,) = ADAPTER.roots(make_environment(home), [])

    assert root.path == home / ".gemini" / "tmp"


def test_the_environment_variable_replaces_the_home_directory(home: Path):
    environ = {"GEMINI_CLI_HOME": "/elsewhere"}
    env = Environment(home=home, environ=environ, platform="linux")

    (root,) = ADAPTER.roots(env, [])

    assert root.path == Path("/elsewhere/.gemini/tmp")


@pytest.mark.parametrize("folder", ["/a/.gemini", "/a/.gemini/tmp"])
def test_a_configured_directory_may_include_tmp(home: Path, folder: str):
    (root,) = ADAPTER.roots(make_environment(home), [Path(folder)])

    assert root.path == Path("/a/.gemini/tmp")


def test_the_older_format_is_a_document(home: Path):
    (root,) = ADAPTER.roots(make_environment(home), [])

    shapes = {pattern.glob: pattern.shape for pattern in root.patterns}
    assert shapes["*/chats/session-*.json"] is Shape.DOCUMENT


def test_a_session_is_resumed_by_its_id():
    assert ADAPTER.resume_command("x") == "gemini --resume x"


# The session and its directory


def test_the_header_names_the_session(gemini: GeminiHome):
    contents = gemini.read("hello")

    assert contents.main().key.session_id == "db27dd20-08b5-483b-bd75-480b50d8a43a"


def test_the_marker_file_names_the_directory(gemini: GeminiHome):
    contents = gemini.read("hello")

    assert contents.main().cwd == "/home/dev/work/hello"


def test_the_marker_file_names_the_directory_of_a_subagent(gemini: GeminiHome):
    contents = gemini.read("subagent")

    assert contents.subagent().cwd == "/home/dev/work/subagent"


def test_without_the_marker_file_the_context_names_the_directory(
    gemini: GeminiHome, builder: GeminiLogBuilder
):
    context = builder.prompt(CONTEXT.format("/home/dev/app"))
    gemini.write(builder.header(), make_checkpoint(context), builder.prompt("hello"))

    assert gemini.read().main().cwd == "/home/dev/app"


def test_the_session_of_a_log_without_a_header_is_named_after_the_file(
    gemini: GeminiHome, builder: GeminiLogBuilder
):
    gemini.write(builder.prompt("hello"))

    assert gemini.read().main().key.session_id == Path(LOG).stem


def test_the_injected_context_is_not_a_prompt(gemini: GeminiHome):
    contents = gemini.read("hello")

    assert contents.user_messages() == [("prompt", "say hi [[hello]]")]
    assert len(contents.events("context")) == 1


def test_a_summary_is_the_title(gemini: GeminiHome, builder: GeminiLogBuilder):
    gemini.write(
        builder.header(), builder.prompt("hello"), {"$set": {"summary": "Greets"}}
    )

    assert gemini.read().main().title == "Greets"


def test_the_newest_of_several_summaries_is_the_title(
    gemini: GeminiHome, builder: GeminiLogBuilder
):
    titles = [{"$set": {"summary": name}} for name in ("Greets", "Greets twice")]
    gemini.write(builder.header(), builder.prompt("hello"), *titles)

    assert gemini.read().main().title == "Greets twice"


# Repeated messages


@pytest.mark.fault("G10")
def test_a_message_that_gains_calls_is_stored_once(gemini: GeminiHome):
    contents = gemini.read("tools")

    assert contents.texts("assistant_message") == [
        "I will list files.",
        "Gemini scripted run is finished.",
    ]
    assert contents.main().tool_calls == 2


def test_a_result_that_is_sent_to_the_model_is_stored_once(
    gemini: GeminiHome, builder: GeminiLogBuilder
):
    call = make_tool_call("ls", "a.txt")
    gemini.write(
        builder.header(), builder.prompt("list"), builder.answer("", toolCalls=[call]),
        builder.tool_results(call),
    )  # fmt: skip

    assert gemini.read().texts("tool_result") == ["a.txt"]


def test_a_result_without_a_call_is_stored(
    gemini: GeminiHome, builder: GeminiLogBuilder
):
    gemini.write(
        builder.header(),
        builder.prompt("list"),
        builder.tool_results(make_tool_call("ls", "a.txt")),
    )

    assert gemini.read().texts("tool_result") == ["a.txt"]


def test_a_failed_result_stays_failed_when_it_is_sent_to_the_model(
    gemini: GeminiHome, builder: GeminiLogBuilder
):
    call = make_tool_call("ls", "no such folder", status="error")
    gemini.write(
        builder.header(), builder.prompt("list"), builder.answer("", toolCalls=[call]),
        builder.tool_results(call),
    )  # fmt: skip

    (result,) = [
        p.record for p in gemini.read().records() if p.record.type == "tool_result"
    ]
    assert result.metadata == {"is_error": True}


def test_a_grown_message_replaces_its_earlier_version(
    gemini: GeminiHome, builder: GeminiLogBuilder
):
    answer = builder.answer("One.")
    grown_answer = {**answer, "content": "One. Two."}
    gemini.write(builder.header(), builder.prompt("count"), answer, grown_answer)

    assert gemini.read().texts("assistant_message") == ["One. Two."]


def test_the_tokens_of_a_repeated_message_count_once(gemini: GeminiHome):
    contents = gemini.read("tools")

    assert contents.main().usage == Usage(37070, 84, 33, 0)


def test_input_excludes_cached_tokens_and_output_includes_thoughts(
    gemini: GeminiHome, builder: GeminiLogBuilder
):
    gemini.write(builder.header(), builder.prompt("hello"), builder.answer("Hello."))

    assert TOKENS["input"] == 100
    assert gemini.read().main().usage == Usage(40, 27, 60, 0)


def test_the_tokens_of_a_message_without_text_have_their_own_record(
    gemini: GeminiHome, builder: GeminiLogBuilder
):
    gemini.write(builder.header(), builder.prompt("hello"), builder.answer(""))

    contents = gemini.read()
    assert contents.texts("token_usage") == [""]
    assert contents.main().usage == Usage(40, 27, 60, 0)


# Checkpoints and resumes


def test_a_resume_stores_nothing_twice(gemini: GeminiHome):
    contents = gemini.read("resume")

    assert [text for _, text in contents.user_messages()] == [
        "please do it [[ge-tools]] [cwd=/home/dev/work/resume]",
        "please do it [[again]] [cwd=/home/dev/work/resume]",
    ]
    assert len(contents.texts("tool_result")) == contents.main().tool_calls == 2
    assert len(contents.texts("thinking")) == 1
    assert len(contents.events("opened")) == 1


def test_a_resume_does_not_change_the_start_time(gemini: GeminiHome):
    contents = gemini.read("resume")

    started = contents.main().started_at
    assert started is not None
    assert started.second == 5


def test_a_resume_in_another_file_opens_no_second_session(gemini: GeminiHome):
    # This captured session was resumed in a second file.
    contents = gemini.read("compaction")

    assert len(contents.sessions) == 1
    assert len(contents.events("opened")) == 1
    assert len(contents.events("context")) == 1


def test_the_second_file_of_a_session_may_be_read_first(
    gemini: GeminiHome, builder: GeminiLogBuilder
):
    gemini.write(builder.header(startTime="2026-11-16T10:05:00.000Z"), name=SECOND_LOG)
    gemini.read()
    gemini.write(builder.header(), builder.prompt("hello"), builder.answer("Hello."))

    contents = gemini.read()
    assert contents.main().units == 1
    assert len(contents.records()) == 3


def test_a_truncated_result_in_a_checkpoint_does_not_replace_the_full_one(
    gemini: GeminiHome,
):
    contents = gemini.read("notes")

    assert contents.texts("tool_result") == ["x" * 400]


def test_a_checkpoint_adds_missing_messages(
    gemini: GeminiHome, builder: GeminiLogBuilder
):
    saved_messages = [
        builder.prompt("from a saved chat"),
        builder.answer([{"text": "Loaded."}]),
    ]
    checkpoint = make_checkpoint(*saved_messages)
    gemini.write(builder.header(), checkpoint, builder.prompt("go on"))

    contents = gemini.read()
    assert contents.user_messages() == [
        ("prompt", "from a saved chat"),
        ("prompt", "go on"),
    ]
    assert contents.texts("assistant_message") == ["Loaded."]


def test_parts_of_a_checkpoint_become_thoughts_text_and_calls(
    gemini: GeminiHome, builder: GeminiLogBuilder
):
    parts = [
        {"text": "**Look** around.", "thought": True},
        {"text": "I look."},
        {"functionCall": {"id": "call-9", "name": "ls", "args": {"path": "."}}},
    ]
    gemini.write(
        builder.header(), make_checkpoint(builder.prompt("look"), builder.answer(parts))
    )

    contents = gemini.read()
    assert contents.texts("thinking") == ["**Look** around."]
    assert contents.texts("assistant_message") == ["I look."]
    (call,) = [p.record for p in contents.records() if p.record.type == "tool_use"]
    assert (call.tool_call_id, call.tool_input) == ("call-9", '{"path":"."}')


def test_a_call_takes_only_its_own_result_from_a_merged_list(
    gemini: GeminiHome, builder: GeminiLogBuilder
):
    separate_calls = [
        make_tool_call("ls", "a.txt", "one"),
        make_tool_call("cat", "hello", "two"),
    ]
    merged_result = [part for call in separate_calls for part in call["result"]]
    calls = [{**call, "result": merged_result} for call in separate_calls]
    gemini.write(
        builder.header(),
        make_checkpoint(builder.prompt("x"), builder.answer("", toolCalls=calls)),
    )

    assert gemini.read().texts("tool_result") == ["a.txt", "hello"]


def test_a_compaction_adds_its_summary_and_no_copies(gemini: GeminiHome):
    contents = gemini.read("compaction")

    assert contents.events("compacted") == ["All done."]
    assert contents.main().units == 5
    assert len(contents.texts("assistant_message")) == 5


def test_a_compaction_mid_turn_does_not_retract_the_prompt(
    gemini: GeminiHome, builder: GeminiLogBuilder
):
    summary = builder.prompt("All of it.")
    reply = builder.answer([{"text": ACKNOWLEDGEMENT}])
    checkpoint = make_checkpoint(summary, reply)
    gemini.write(builder.header(), builder.prompt("go"), checkpoint)

    assert gemini.read().texts("error") == []


def test_a_rewind_is_an_event_and_removes_nothing(gemini: GeminiHome):
    contents = gemini.read("notes")

    assert len(contents.events("rewound")) == 1
    assert ("prompt", "delete it") in contents.user_messages()


def test_a_document_and_the_log_that_continues_it_are_one_session(gemini: GeminiHome):
    contents = gemini.read("document-resumed")

    assert contents.main().units == 3
    assert contents.main().tool_calls == 3
    assert contents.main().title == "Write a file"


def test_a_rewritten_document_adds_only_new_records(
    gemini: GeminiHome, builder: GeminiLogBuilder
):
    messages = [builder.prompt("hello"), builder.answer("Hello.")]
    gemini.write_document({**builder.header(), "messages": messages})
    gemini.read()
    messages += [builder.prompt("again"), builder.answer("Again.")]
    gemini.write_document({**builder.header(), "messages": messages})

    contents = gemini.read()
    assert contents.texts("assistant_message") == ["Hello.", "Again."]
    assert contents.main().units == 2


# Turns


def test_an_answer_without_calls_ends_the_turn(gemini: GeminiHome):
    assert gemini.read("hello").main().has_turn_ended


def test_calls_that_are_added_later_reopen_the_turn(
    gemini: GeminiHome, builder: GeminiLogBuilder
):
    answer = builder.answer("I look.")
    gemini.write(builder.header(), builder.prompt("look"), answer)
    before = gemini.read().main().has_turn_ended
    gemini.write({**answer, "toolCalls": [make_tool_call("ls", "a.txt")]})

    contents = gemini.read()
    assert (before, contents.main().has_turn_ended) == (True, False)
    assert contents.units()[-1].stop_reason == "unknown"


def test_a_message_without_text_does_not_end_the_turn(
    gemini: GeminiHome, builder: GeminiLogBuilder
):
    thoughts = [{"subject": "Plan", "description": "I will call."}]
    answer = builder.answer("", thoughts=thoughts)
    gemini.write(builder.header(), builder.prompt("look"), answer)

    assert not gemini.read().main().has_turn_ended


def test_a_retracted_prompt_ends_in_an_error(gemini: GeminiHome):
    contents = gemini.read("failed-prompt")

    assert contents.main().has_turn_ended
    assert contents.units()[-1].stop_reason == "error"


def test_an_answered_prompt_is_never_retracted(
    gemini: GeminiHome, builder: GeminiLogBuilder
):
    gemini.write(
        builder.header(),
        builder.prompt("hello"),
        builder.answer("Hello."),
        make_checkpoint(),
    )

    assert gemini.read().texts("error") == []


def test_a_cancelled_request_ends_the_turn(
    gemini: GeminiHome, builder: GeminiLogBuilder
):
    gemini.write(
        builder.header(),
        builder.prompt("go"),
        builder.message("info", "Request cancelled."),
    )

    assert gemini.read().units()[-1].stop_reason == "cancelled"


def test_an_error_during_a_turn_ends_the_turn(
    gemini: GeminiHome, builder: GeminiLogBuilder
):
    error = builder.message("error", "[API Error: quota]")
    gemini.write(builder.header(), builder.prompt("go"), error)

    assert gemini.read().units()[-1].stop_reason == "error"


def test_an_error_between_turns_does_not_fail_the_turn(
    gemini: GeminiHome, builder: GeminiLogBuilder
):
    gemini.write(
        builder.header(), builder.prompt("go"),
        builder.answer("All of it is done.", tokens={"output": 5}),
        builder.message("error", "Unknown command: /foo"),
    )  # fmt: skip

    assert gemini.read().units()[-1].stop_reason == "end_turn"


def test_a_session_killed_while_a_tool_ran_has_an_unknown_stop_reason(
    gemini: GeminiHome,
):
    contents = gemini.read("killed")

    assert contents.main().has_turn_ended
    assert contents.units()[-1].stop_reason == "unknown"


@pytest.mark.parametrize(
    ("tokens", "reason"),
    [
        ({"output": 12}, "end_turn"),
        ({"output": 12, "thoughts": 900}, "end_turn"),
        ({"output": 31}, "unknown"),
        ({"output": 0}, "unknown"),
        (None, "unknown"),
    ],
)
def test_an_answer_with_the_tokens_of_a_call_is_not_the_known_end_of_a_turn(
    gemini: GeminiHome, builder: GeminiLogBuilder, tokens: Any, reason: str
):
    answer = builder.answer("I will list all files in the folder.", tokens=tokens)
    gemini.write(builder.header(), builder.prompt("go"), answer)

    assert gemini.read().units()[-1].stop_reason == reason


def test_the_result_of_a_failed_command_begins_with_its_exit_code(gemini: GeminiHome):
    contents = gemini.read("refused-todos")

    result = next(
        p.record for p in contents.records() if p.record.type == "tool_result"
    )
    assert result.content.startswith("Exit code 3\nOutput: oops\n")
    assert result.metadata == {
        "is_error": True,
        "exit_code": 3,
        "report": "Exit code 3\noops",
    }


# Authorship


def test_every_user_message_has_its_origin(gemini: GeminiHome):
    assert gemini.read("speech").user_messages() == [
        ("prompt", "Read @a.txt please"),
        ("command", "/plan the work"),
        ("prompt", "what is this?\n[image image/png, 82 B]"),
        ("shell", "! ls"),
        ("command", "/help"),
        ("prompt", "count slowly"),
        ("queued", "faster"),
    ]


def test_referenced_files_are_attachments_of_the_prompt(gemini: GeminiHome):
    contents = gemini.read("speech")

    (prompt,) = [
        p.record for p in contents.records() if p.record.content == "Read @a.txt please"
    ]
    assert "Content from @a.txt:\nhello" in prompt.metadata["attached"]


def test_the_envelope_around_tool_output_is_removed(gemini: GeminiHome):
    assert "Output: 1\n2\n3" in gemini.read("speech").texts("tool_result")


def test_an_image_in_a_result_is_a_placeholder_with_type_and_size(gemini: GeminiHome):
    results = gemini.read("speech").texts("tool_result")

    assert "Binary content provided.\n[image image/png, 82 B]" in results


def test_thoughts_of_a_message_are_one_record(gemini: GeminiHome):
    (thinking,) = gemini.read("document").texts("thinking")

    assert thinking.startswith("**Reading the request**\n\nA file is wanted.\n\n**")


# Subagents


def test_a_subagent_is_linked_to_the_call_that_started_it(gemini: GeminiHome):
    contents = gemini.read("subagent")

    (unit,) = [unit for unit in contents.units() if unit.number]
    assert [child.summary.agent_type for child in unit.subagents] == ["generalist"]
    assert contents.subagent().spawn_call_id.startswith("invoke_agent__")


def test_the_first_message_of_a_subagent_is_its_task(
    gemini: GeminiHome, builder: GeminiLogBuilder
):
    task_builder = GeminiLogBuilder(SUBAGENT)
    gemini.write(
        task_builder.header(kind="subagent"),
        task_builder.prompt("count"),
        task_builder.answer("Hm."),
        task_builder.prompt("You must finish now."),
        name=f"app/chats/{SESSION}/{SUBAGENT}.jsonl",
    )
    gemini.write(builder.header(), builder.prompt("go"))

    contents = gemini.read()
    assert contents.texts("user_message", contents.subagent()) == ["count"]
    assert contents.events("notice", contents.subagent()) == ["You must finish now."]


def test_the_result_of_a_subagent_ends_its_turn(gemini: GeminiHome):
    contents = gemini.read("subagent")

    (unit,) = [unit for unit in contents.units() if unit.number]
    assert [child.stop_reason for child in unit.subagents] == ["end_turn"]


# Damaged logs


def test_complete_entries_of_a_damaged_log_are_read(gemini: GeminiHome):
    sessions = sorted(gemini.read("damaged").sessions, key=lambda s: s.key)

    assert [session.units for session in sessions] == [3, 1]


def test_damaged_entries_are_rejected(gemini: GeminiHome):
    assert len(gemini.read("damaged").rejected) == 3


def test_a_checkpoint_larger_than_the_lenient_limit_is_read(
    gemini: GeminiHome, builder: GeminiLogBuilder
):
    gemini.write(builder.header(), make_checkpoint(builder.prompt("x" * 5_000_000)))

    contents = gemini.read()
    assert (contents.main().units, contents.rejected) == (1, [])


# Growing logs


@pytest.mark.parametrize("case", ["tools", "resume", "notes", "speech", "damaged"])
def test_a_growing_log_gives_the_same_store_as_the_complete_one(
    gemini: GeminiHome, tmp_path: Path, case: str
):
    copy_home(FIXTURES / "gemini_cli" / case, gemini.home)
    logs = sorted(gemini.chats.rglob("*.jsonl"))
    gemini.read()
    complete = describe_store(gemini.store_path)
    gemini.store_path = tmp_path / "grown" / "store.db"
    data = {log: log.read_bytes() for log in logs}
    for log in logs:
        log.unlink()

    for log in logs:
        for line in data[log].splitlines(keepends=True):
            with log.open("ab") as file:
                file.write(line)
            gemini.read()

    assert describe_store(gemini.store_path) == complete


# Real logs


def test_every_message_of_older_documents_is_stored(
    shared_dir: Path, gemini: GeminiHome
):
    for path in sorted((shared_dir / "corpus" / "gemini").glob("*.json")):
        document = json.loads(path.read_text())
        target = gemini.chats / path.stem / "chats" / f"session-{path.name}"
        target.parent.mkdir(parents=True)
        shutil.copyfile(path, target)
        calls = [c for m in document["messages"] for c in m.get("toolCalls", [])]
        texts = {m["content"] for m in document["messages"] if m["type"] == "gemini"}

        contents = gemini.read()
        (main,) = [
            s for s in contents.sessions if s.key.session_id == document["sessionId"]
        ]

        results = contents.texts("tool_result", main)
        assert set(contents.texts("assistant_message", main)) >= texts - {""}
        assert len(results) >= len(calls)
        assert all(
            part["functionResponse"]["response"].get("output", "") in results
            for call in calls
            for part in call["result"]
            if call["status"] == "success"
        )
