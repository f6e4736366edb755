"""What Gemini CLI's logs mean, fact by fact."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

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

SECOND = LOG.replace("T10-00", "T10-05")
CHILD = "99999999-2222-4333-8444-555555555555"
THANKS = "Got it. Thanks for the additional context!"
CONTEXT = "<session_context>\n- **Workspace Directories:**\n  - {}\n</session_context>"


@pytest.fixture
def gemini(home: Path, tmp_path: Path, clock) -> GeminiHome:
    return GeminiHome(home, tmp_path / "data" / "store.db", clock)


@pytest.fixture
def talk() -> GeminiLogBuilder:
    return GeminiLogBuilder()


# Where


def test_logs_are_looked_for_in_the_home(home: Path):
    (root,) = ADAPTER.roots(make_environment(home), [])

    assert root.path == home / ".gemini" / "tmp"


def test_a_home_of_its_own_takes_the_place_of_the_home(home: Path):
    environ = {"GEMINI_CLI_HOME": "/elsewhere"}
    env = Environment(home=home, environ=environ, platform="linux")

    (root,) = ADAPTER.roots(env, [])

    assert root.path == Path("/elsewhere/.gemini/tmp")


@pytest.mark.parametrize("folder", ["/a/.gemini", "/a/.gemini/tmp"])
def test_a_configured_folder_may_be_either(home: Path, folder: str):
    (root,) = ADAPTER.roots(make_environment(home), [Path(folder)])

    assert root.path == Path("/a/.gemini/tmp")


def test_the_older_file_is_a_document(home: Path):
    (root,) = ADAPTER.roots(make_environment(home), [])

    shapes = {pattern.glob: pattern.shape for pattern in root.patterns}
    assert shapes["*/chats/session-*.json"] is Shape.DOCUMENT


def test_a_session_goes_on_by_its_id():
    assert ADAPTER.resume_command("x") == "gemini --resume x"


# The session and its folder


def test_the_header_names_the_session(gemini: GeminiHome):
    told = gemini.read("hello")

    assert told.main().key.session_id == "db27dd20-08b5-483b-bd75-480b50d8a43a"


def test_the_marker_beside_the_chats_tells_the_folder(gemini: GeminiHome):
    told = gemini.read("hello")

    assert told.main().cwd == "/home/dev/work/hello"


def test_the_marker_tells_a_subagent_s_folder_too(gemini: GeminiHome):
    told = gemini.read("subagent")

    assert told.subagent().cwd == "/home/dev/work/subagent"


def test_without_the_marker_the_context_tells_the_folder(
    gemini: GeminiHome, talk: GeminiLogBuilder
):
    context = talk.prompt(CONTEXT.format("/home/dev/app"))
    gemini.write(talk.header(), make_checkpoint(context), talk.prompt("hello"))

    assert gemini.read().main().cwd == "/home/dev/app"


def test_a_log_that_lost_its_header_is_named_by_its_file(
    gemini: GeminiHome, talk: GeminiLogBuilder
):
    gemini.write(talk.prompt("hello"))

    assert gemini.read().main().key.session_id == Path(LOG).stem


def test_the_injected_context_is_no_prompt(gemini: GeminiHome):
    told = gemini.read("hello")

    assert told.user_messages() == [("prompt", "say hi [[hello]]")]
    assert len(told.events("context")) == 1


def test_a_summary_is_the_title(gemini: GeminiHome, talk: GeminiLogBuilder):
    gemini.write(talk.header(), talk.prompt("hello"), {"$set": {"summary": "Greets"}})

    assert gemini.read().main().title == "Greets"


def test_a_newer_summary_is_the_title(gemini: GeminiHome, talk: GeminiLogBuilder):
    titles = [{"$set": {"summary": name}} for name in ("Greets", "Greets twice")]
    gemini.write(talk.header(), talk.prompt("hello"), *titles)

    assert gemini.read().main().title == "Greets twice"


# Messages that come again


def test_a_message_that_gains_calls_is_told_once(gemini: GeminiHome):
    told = gemini.read("tools")

    assert told.texts("assistant_message") == [
        "I will list files.",
        "Gemini scripted run is finished.",
    ]
    assert told.main().tool_calls == 2


def test_a_result_sent_back_to_the_model_is_told_once(
    gemini: GeminiHome, talk: GeminiLogBuilder
):
    made = make_tool_call("ls", "a.txt")
    gemini.write(
        talk.header(), talk.prompt("list"), talk.answer("", toolCalls=[made]),
        talk.tool_results(made),
    )  # fmt: skip

    assert gemini.read().texts("tool_result") == ["a.txt"]


def test_a_result_that_only_the_model_was_told_is_kept(
    gemini: GeminiHome, talk: GeminiLogBuilder
):
    gemini.write(
        talk.header(),
        talk.prompt("list"),
        talk.tool_results(make_tool_call("ls", "a.txt")),
    )

    assert gemini.read().texts("tool_result") == ["a.txt"]


def test_the_result_keeps_its_failure_when_it_is_sent_back(
    gemini: GeminiHome, talk: GeminiLogBuilder
):
    made = make_tool_call("ls", "no such folder", status="error")
    gemini.write(
        talk.header(), talk.prompt("list"), talk.answer("", toolCalls=[made]),
        talk.tool_results(made),
    )  # fmt: skip

    (result,) = [
        p.record for p in gemini.read().records() if p.record.type == "tool_result"
    ]
    assert result.metadata == {"is_error": True}


def test_a_grown_message_replaces_what_it_was(
    gemini: GeminiHome, talk: GeminiLogBuilder
):
    answer = talk.answer("One.")
    grown = {**answer, "content": "One. Two."}
    gemini.write(talk.header(), talk.prompt("count"), answer, grown)

    assert gemini.read().texts("assistant_message") == ["One. Two."]


def test_the_tokens_of_a_message_that_comes_again_count_once(gemini: GeminiHome):
    told = gemini.read("tools")

    assert told.main().usage == Usage(37070, 84, 33, 0)


def test_cached_tokens_are_no_input_and_thoughts_are_output(
    gemini: GeminiHome, talk: GeminiLogBuilder
):
    gemini.write(talk.header(), talk.prompt("hello"), talk.answer("Hello."))

    assert TOKENS["input"] == 100
    assert gemini.read().main().usage == Usage(40, 27, 60, 0)


def test_a_message_of_calls_alone_has_its_tokens_before_they_end(
    gemini: GeminiHome, talk: GeminiLogBuilder
):
    gemini.write(talk.header(), talk.prompt("hello"), talk.answer(""))

    told = gemini.read()
    assert told.texts("token_usage") == [""]
    assert told.main().usage == Usage(40, 27, 60, 0)


# Checkpoints and resumes


def test_a_resume_tells_nothing_twice(gemini: GeminiHome):
    told = gemini.read("resume")

    assert [words for _, words in told.user_messages()] == [
        "please do it [[ge-tools]] [cwd=/home/dev/work/resume]",
        "please do it [[again]] [cwd=/home/dev/work/resume]",
    ]
    assert len(told.texts("tool_result")) == told.main().tool_calls == 2
    assert len(told.texts("thinking")) == 1
    assert len(told.events("opened")) == 1


def test_a_resume_does_not_change_the_times(gemini: GeminiHome):
    told = gemini.read("resume")

    started = told.main().started_at
    assert started is not None
    assert started.second == 5


def test_a_resume_in_a_later_minute_opens_no_second_session(gemini: GeminiHome):
    told = gemini.read("compaction")

    assert len(told.sessions) == 1
    assert len(told.events("opened")) == 1
    assert len(told.events("context")) == 1


def test_the_second_file_of_a_session_may_come_first(
    gemini: GeminiHome, talk: GeminiLogBuilder
):
    gemini.write(talk.header(startTime="2026-11-16T10:05:00.000Z"), name=SECOND)
    gemini.read()
    gemini.write(talk.header(), talk.prompt("hello"), talk.answer("Hello."))

    told = gemini.read()
    assert told.main().units == 1
    assert len(told.records()) == 3


def test_a_checkpoint_cuts_no_result(gemini: GeminiHome):
    told = gemini.read("notes")

    assert told.texts("tool_result") == ["x" * 400]


def test_a_checkpoint_adds_what_was_never_told(
    gemini: GeminiHome, talk: GeminiLogBuilder
):
    old = [talk.prompt("from a saved chat"), talk.answer([{"text": "Loaded."}])]
    gemini.write(talk.header(), make_checkpoint(*old), talk.prompt("go on"))

    told = gemini.read()
    assert told.user_messages() == [
        ("prompt", "from a saved chat"),
        ("prompt", "go on"),
    ]
    assert told.texts("assistant_message") == ["Loaded."]


def test_parts_of_a_checkpoint_are_thoughts_words_and_calls(
    gemini: GeminiHome, talk: GeminiLogBuilder
):
    parts = [
        {"text": "**Look** around.", "thought": True},
        {"text": "I look."},
        {"functionCall": {"id": "call-9", "name": "ls", "args": {"path": "."}}},
    ]
    gemini.write(
        talk.header(), make_checkpoint(talk.prompt("look"), talk.answer(parts))
    )

    told = gemini.read()
    assert told.texts("thinking") == ["**Look** around."]
    assert told.texts("assistant_message") == ["I look."]
    (used,) = [p.record for p in told.records() if p.record.type == "tool_use"]
    assert (used.tool_call_id, used.tool_input) == ("call-9", '{"path":"."}')


def test_a_call_takes_only_its_own_result_of_a_merged_list(
    gemini: GeminiHome, talk: GeminiLogBuilder
):
    made = [make_tool_call("ls", "a.txt", "one"), make_tool_call("cat", "hello", "two")]
    merged = [part for each in made for part in each["result"]]
    calls = [{**each, "result": merged} for each in made]
    gemini.write(
        talk.header(),
        make_checkpoint(talk.prompt("x"), talk.answer("", toolCalls=calls)),
    )

    assert gemini.read().texts("tool_result") == ["a.txt", "hello"]


def test_a_compaction_tells_its_summary_and_no_copies(gemini: GeminiHome):
    told = gemini.read("compaction")

    assert told.events("compacted") == ["All done."]
    assert told.main().units == 5
    assert len(told.texts("assistant_message")) == 5


def test_a_compaction_in_mid_turn_takes_no_prompt_back(
    gemini: GeminiHome, talk: GeminiLogBuilder
):
    summary, thanks = talk.prompt("All of it."), talk.answer([{"text": THANKS}])
    gemini.write(talk.header(), talk.prompt("go"), make_checkpoint(summary, thanks))

    assert gemini.read().texts("error") == []


def test_a_rewind_is_told_and_takes_nothing_away(gemini: GeminiHome):
    told = gemini.read("notes")

    assert len(told.events("rewound")) == 1
    assert ("prompt", "delete it") in told.user_messages()


def test_a_document_and_the_log_made_of_it_are_one(gemini: GeminiHome):
    told = gemini.read("document-resumed")

    assert told.main().units == 3
    assert told.main().tool_calls == 3
    assert told.main().title == "Write a file"


def test_a_document_written_anew_adds_what_is_new(
    gemini: GeminiHome, talk: GeminiLogBuilder
):
    messages = [talk.prompt("hello"), talk.answer("Hello.")]
    gemini.write_document({**talk.header(), "messages": messages})
    gemini.read()
    messages += [talk.prompt("again"), talk.answer("Again.")]
    gemini.write_document({**talk.header(), "messages": messages})

    told = gemini.read()
    assert told.texts("assistant_message") == ["Hello.", "Again."]
    assert told.main().units == 2


# Turns


def test_an_answer_without_calls_ends_the_turn(gemini: GeminiHome):
    assert gemini.read("hello").main().has_turn_ended


def test_calls_that_come_later_open_the_turn_again(
    gemini: GeminiHome, talk: GeminiLogBuilder
):
    answer = talk.answer("I look.")
    gemini.write(talk.header(), talk.prompt("look"), answer)
    before = gemini.read().main().has_turn_ended
    gemini.write({**answer, "toolCalls": [make_tool_call("ls", "a.txt")]})

    told = gemini.read()
    assert (before, told.main().has_turn_ended) == (True, False)
    assert told.units()[-1].stop_reason == "unknown"


def test_a_message_without_words_ends_no_turn(
    gemini: GeminiHome, talk: GeminiLogBuilder
):
    thoughts = [{"subject": "Plan", "description": "I will call."}]
    answer = talk.answer("", thoughts=thoughts)
    gemini.write(talk.header(), talk.prompt("look"), answer)

    assert not gemini.read().main().has_turn_ended


def test_a_prompt_that_is_taken_back_ends_in_an_error(gemini: GeminiHome):
    told = gemini.read("failed-prompt")

    assert told.main().has_turn_ended
    assert told.units()[-1].stop_reason == "error"


def test_an_answered_prompt_is_never_taken_back(
    gemini: GeminiHome, talk: GeminiLogBuilder
):
    gemini.write(
        talk.header(), talk.prompt("hello"), talk.answer("Hello."), make_checkpoint()
    )

    assert gemini.read().texts("error") == []


def test_a_cancelled_request_ends_the_turn(gemini: GeminiHome, talk: GeminiLogBuilder):
    gemini.write(
        talk.header(), talk.prompt("go"), talk.message("info", "Request cancelled.")
    )

    assert gemini.read().units()[-1].stop_reason == "cancelled"


def test_an_error_in_mid_turn_ends_the_turn(gemini: GeminiHome, talk: GeminiLogBuilder):
    error = talk.message("error", "[API Error: quota]")
    gemini.write(talk.header(), talk.prompt("go"), error)

    assert gemini.read().units()[-1].stop_reason == "error"


def test_an_error_between_turns_is_no_failed_turn(
    gemini: GeminiHome, talk: GeminiLogBuilder
):
    gemini.write(
        talk.header(), talk.prompt("go"), talk.answer("Done."),
        talk.message("error", "Unknown command: /foo"),
    )  # fmt: skip

    assert gemini.read().units()[-1].stop_reason == "end_turn"


# Who speaks


def test_words_are_told_apart(gemini: GeminiHome):
    assert gemini.read("speech").user_messages() == [
        ("prompt", "Read @a.txt please"),
        ("command", "/plan the work"),
        ("prompt", "what is this?\n[image image/png, 82 B]"),
        ("shell", "! ls"),
        ("command", "/help"),
        ("prompt", "count slowly"),
        ("queued", "faster"),
    ]


def test_referenced_files_stand_beside_the_prompt(gemini: GeminiHome):
    told = gemini.read("speech")

    (prompt,) = [
        p.record for p in told.records() if p.record.content == "Read @a.txt please"
    ]
    assert "Content from @a.txt:\nhello" in prompt.metadata["attached"]


def test_the_envelope_around_tool_output_is_left_out(gemini: GeminiHome):
    assert "Output: 1\n2\n3" in gemini.read("speech").texts("tool_result")


def test_a_picture_in_a_result_is_told_by_its_size(gemini: GeminiHome):
    results = gemini.read("speech").texts("tool_result")

    assert "Binary content provided.\n[image image/png, 82 B]" in results


def test_thoughts_of_a_message_are_one_record(gemini: GeminiHome):
    (thinking,) = gemini.read("document").texts("thinking")

    assert thinking.startswith("**Reading the request**\n\nA file is wanted.\n\n**")


# Subagents


def test_a_subagent_hangs_under_the_call_that_started_it(gemini: GeminiHome):
    told = gemini.read("subagent")

    (unit,) = [unit for unit in told.units() if unit.number]
    assert [child.summary.agent_type for child in unit.subagents] == ["generalist"]
    assert told.subagent().spawn_call_id.startswith("invoke_agent__")


def test_a_subagent_s_first_words_are_its_task(
    gemini: GeminiHome, talk: GeminiLogBuilder
):
    child = GeminiLogBuilder(CHILD)
    gemini.write(
        child.header(kind="subagent"), child.prompt("count"), child.answer("Hm."),
        child.prompt("You must finish now."), name=f"app/chats/{SESSION}/{CHILD}.jsonl",
    )  # fmt: skip
    gemini.write(talk.header(), talk.prompt("go"))

    told = gemini.read()
    assert told.texts("user_message", told.subagent()) == ["count"]
    assert told.events("notice", told.subagent()) == ["You must finish now."]


def test_a_subagent_s_result_ends_its_turn(gemini: GeminiHome):
    told = gemini.read("subagent")

    (unit,) = [unit for unit in told.units() if unit.number]
    assert [child.stop_reason for child in unit.subagents] == ["end_turn"]


# Damage


def test_what_is_whole_in_a_damaged_log_is_read(gemini: GeminiHome):
    (main, lone) = sorted(gemini.read("damaged").sessions, key=lambda s: s.key)

    assert (main.units, lone.units) == (3, 1)


def test_damage_is_counted(gemini: GeminiHome):
    assert len(gemini.read("damaged").rejected) == 3


def test_a_checkpoint_larger_than_what_is_mended_is_read(
    gemini: GeminiHome, talk: GeminiLogBuilder
):
    gemini.write(talk.header(), make_checkpoint(talk.prompt("x" * 5_000_000)))

    told = gemini.read()
    assert (told.main().units, told.rejected) == (1, [])


# Growth


@pytest.mark.parametrize("case", ["tools", "resume", "notes", "speech", "damaged"])
def test_a_growing_log_gives_what_the_whole_one_gives(
    gemini: GeminiHome, tmp_path: Path, case: str
):
    copy_home(FIXTURES / "gemini_cli" / case, gemini.home)
    logs = sorted(gemini.chats.rglob("*.jsonl"))
    gemini.read()
    whole = describe_store(gemini.store_path)
    gemini.store_path = tmp_path / "grown" / "store.db"
    data = {log: log.read_bytes() for log in logs}
    for log in logs:
        log.unlink()

    for log in logs:
        for line in data[log].splitlines(keepends=True):
            with log.open("ab") as file:
                file.write(line)
            gemini.read()

    assert describe_store(gemini.store_path) == whole


# Real logs of others


def test_every_message_of_older_documents_is_told(shared: Path, gemini: GeminiHome):
    for path in sorted((shared / "corpus" / "gemini").glob("*.json")):
        whole = json.loads(path.read_text())
        to = gemini.chats / path.stem / "chats" / f"session-{path.name}"
        to.parent.mkdir(parents=True)
        shutil.copyfile(path, to)
        calls = [c for m in whole["messages"] for c in m.get("toolCalls", [])]
        texts = {m["content"] for m in whole["messages"] if m["type"] == "gemini"}

        told = gemini.read()
        (main,) = [s for s in told.sessions if s.key.session_id == whole["sessionId"]]

        results = told.texts("tool_result", main)
        assert set(told.texts("assistant_message", main)) >= texts - {""}
        assert len(results) >= len(calls)
        assert all(
            part["functionResponse"]["response"].get("output", "") in results
            for each in calls
            for part in each["result"]
            if each["status"] == "success"
        )
