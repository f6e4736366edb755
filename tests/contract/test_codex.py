"""Test how Codex's rollouts are decoded."""

from __future__ import annotations

import fcntl
import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import zstandard

from leslied import tail
from leslied.agents import load_adapters
from leslied.model.record import MAIN, PlacedRecord, Record, Usage
from leslied.model.session import LiveProcess, SessionSummary
from leslied.model.source import Environment, FileStamp, RawEntry, Shape, SourceRef
from leslied.sessions.assemble import RecordStream, assemble
from leslied.store import StoreReader
from tests.support.golden import (
    FIXTURES,
    copy_home,
    describe_store,
    make_environment,
    sync_home,
)

ADAPTER = load_adapters()["codex"]
THREAD = "019c2310-0000-7000-8000-00000000000a"
FORK = "019c2380-0000-7000-8000-00000000000b"
ROOT = Path("/home/dev/.codex/sessions")


class CodexStoreContents:
    """Contents of the store after a sync."""

    def __init__(self, path: Path) -> None:
        with StoreReader(path) as reader:
            self.streams = {s.key[1:]: s for s in reader.list_sessions()}
            self._records = {
                key: list(reader.list_records(s.key)) for key, s in self.streams.items()
            }

    def main(self, id_prefix: str = "") -> SessionSummary:
        """Return the only main session whose id starts with the prefix."""
        mains = [s for s in self.streams.values() if s.key.source == MAIN]
        (main,) = [s for s in mains if s.key.session_id.startswith(id_prefix)]
        return main

    def subagents(self) -> list[SessionSummary]:
        return [s for s in self.streams.values() if s.is_subagent]

    def records(self, session: SessionSummary | None = None) -> list[PlacedRecord]:
        return self._records[(session or self.main()).key[1:]]

    def records_of_type(
        self, type_: str, session: SessionSummary | None = None
    ) -> list[Record]:
        return [p.record for p in self.records(session) if p.record.type == type_]

    def user_messages(
        self, session: SessionSummary | None = None
    ) -> list[tuple[str, str]]:
        """Return the origin and text of every user message."""
        messages = self.records_of_type("user_message", session)
        return [(r.metadata["origin"], r.content) for r in messages]

    def units(self, session: SessionSummary | None = None) -> Any:
        main = session or self.main()
        children = [s for s in self.subagents() if s.key[1] == main.key.session_id]
        child_streams = [RecordStream(s, self.records(s)) for s in children]
        return assemble(RecordStream(main, self.records(main)), child_streams)


@pytest.fixture
def read(home: Path, tmp_path: Path, clock):
    """Return a function that syncs a fixture case or the home, and reads the store."""

    def read_case(case: str = "") -> CodexStoreContents:
        if case:
            copy_home(FIXTURES / "codex" / case, home)
        sync_home(ADAPTER, home, tmp_path / "store.db", clock)
        return CodexStoreContents(tmp_path / "store.db")

    return read_case


def decode(
    payload: Any, type_: str = "response_item", state: dict[str, Any] | None = None
) -> Any:
    """Decode one line of a thread."""
    source = SourceRef(
        agent=ADAPTER.name,
        path=ROOT / f"2026/02/03/rollout-2026-02-03T10-00-00-{THREAD}.jsonl",
        root=ROOT,
        shape=Shape.APPEND_LOG,
        stamp=FileStamp(0, 0, 0, 0, 0),
    )
    line = {"timestamp": "2026-02-03T10:00:00Z", "type": type_, "payload": payload}
    return ADAPTER.decode(RawEntry(source, 0, json.dumps(line).encode()), state or {})


def decode_user_message(*texts: str, kinds: list[str] | None = None) -> Record:
    """Return the record of a user message with these texts."""
    content = [{"type": "input_text", "text": text} for text in texts]
    metadata = {"content_item_kinds": kinds} if kinds else {}
    (record,) = decode(
        {
            "type": "message",
            "role": "user",
            "content": content,
            "internal_chat_message_metadata_passthrough": metadata,
        }
    ).records
    return record


@pytest.mark.parametrize("case", ["hello", "legacy"])
def test_a_prompt_that_is_written_twice_is_stored_once(read, case: str):
    texts = [text for _, text in read(case).user_messages()]

    assert len(texts) == len(set(texts))


def test_an_answer_that_is_written_twice_is_stored_once(read):
    (answer,) = read("hello").records_of_type("assistant_message")

    assert answer.content == "Hello from the scripted model."


def test_a_resumed_thread_continues_its_units(read):
    contents = read("resume")

    assert [(unit.number, unit.stop_reason) for unit in contents.units()] == [
        (0, "unknown"),
        (1, "end_turn"),
        (2, "end_turn"),
    ]


def test_an_interrupted_turn_is_cancelled(read):
    units = read("interrupt").units()

    assert [unit.stop_reason for unit in units[1:]] == ["cancelled", "end_turn"]


def test_a_turn_that_a_server_error_ended_has_the_stop_reason_error(read):
    contents = read("err500")

    assert contents.units()[-1].stop_reason == "error"
    assert contents.main().has_turn_ended


def test_the_message_of_an_error_in_json_is_shown():
    body = json.dumps({"error": {"type": "invalid", "message": "bad request"}})

    (record,) = decode({"type": "error", "message": body}, "event_msg").records

    assert record.content == "bad request"


def test_an_error_that_is_written_twice_is_stored_once(read):
    contents = read("legacy")

    errors = contents.records_of_type("error")
    final_errors = [r.content for r in errors if r.role == "assistant"]
    assert final_errors == ["The model is busy."]
    assert contents.units()[-1].stop_reason == "error"


def test_a_killed_turn_has_not_ended(read):
    contents = read("killed")

    assert not contents.main().has_turn_ended
    assert contents.units()[-1].entries[-2].record.metadata["is_unanswered"]


def test_a_prompt_typed_while_the_agent_works_is_queued(read):
    contents = read("legacy")

    assert contents.user_messages()[:2] == [
        ("prompt", "Why does the stone stop?"),
        ("queued", "Look at the axle too"),
    ]


def test_a_command_that_a_person_ran_is_stored_as_typed(read):
    assert ("shell", "! ls axle") in read("legacy").user_messages()


def test_a_turn_in_plan_mode_has_the_mode(read):
    modes = [unit.agent_mode for unit in read("legacy").units()]

    assert modes == ["agent", "agent", "plan", "agent"]


def test_the_custom_name_of_a_thread_is_its_title(read):
    assert read("legacy").main().title == "The stone and the axle"


@pytest.mark.parametrize(
    "text",
    [
        "<environment_context>\n<cwd>/x</cwd>\n</environment_context>",
        "# AGENTS.md instructions for /x\n\n<INSTRUCTIONS>\nBe brief.\n</INSTRUCTIONS>",
        "<user_instructions>\nBe brief.\n</user_instructions>",
        "<turn_aborted>\nnote\n</turn_aborted>",
        "<subagent_notification>\n{}\n</subagent_notification>",
        '<codex_internal_context source="goal">\ngo on\n</codex_internal_context>',
        "<skill>\n<name>sew</name>\n</skill>",
    ],
)
def test_text_that_the_client_adds_is_not_a_prompt(text: str):
    assert decode_user_message(text).type == "system_event"


def test_a_prompt_may_follow_an_envelope():
    record = decode_user_message(
        "<environment_context>\nx\n</environment_context>\n\nMend the sail"
    )

    assert (record.content, record.metadata["origin"]) == ("Mend the sail", "prompt")


def test_an_unclosed_envelope_is_a_prompt():
    text = "<skill> is a tag I do not understand"

    assert decode_user_message(text).content == text


def test_text_that_the_log_marks_as_user_text_is_a_prompt():
    text = "<skill>\nwhat is this?\n</skill>"

    assert decode_user_message(text, kinds=["user.text"]).content == text


def test_text_that_the_log_marks_as_context_is_not_a_prompt():
    record = decode_user_message("Mind the wind", kinds=["weather.report"])

    assert (record.type, record.metadata["note"]) == ("system_event", "report")


def test_editor_context_is_an_attachment_of_the_prompt(read):
    prompt = read("legacy").records_of_type("user_message")[0]

    assert prompt.content == "Why does the stone stop?"
    assert "Active file: stone.py" in prompt.metadata["attached"]


def test_an_image_is_a_placeholder_with_type_and_size(read):
    texts = [text for _, text in read("legacy").user_messages()]

    assert "[image image/png, 36 B]\n\nPlan a new axle like this" in texts


def test_the_result_of_a_failed_command_is_marked_as_an_error(read):
    metadata = {
        r.tool_call_id: r.metadata
        for r in read("legacy").records_of_type("tool_result")
    }

    assert metadata["call_2"] == {"exit_code": 2, "is_error": True}
    assert metadata["call_1"] == {"exit_code": 0}


@pytest.mark.parametrize(
    ("output", "content", "metadata"),
    [
        (
            "Chunk ID: 4ac\nProcess exited with code 0\nWall time: 0 s\nOutput:\nhi\n",
            "hi\n",
            {"exit_code": 0},
        ),
        (
            "Exit code: 3\nWall time: 0 seconds\nOutput:\nno\n",
            "Exit code: 3\nno\n",
            {"exit_code": 3, "is_error": True},
        ),
        (
            '{"output":"no\\n","metadata":{"exit_code":2}}',
            "Exit code 2\nno\n",
            {"exit_code": 2, "is_error": True},
        ),
        (
            "unsupported call: update_plan",
            "unsupported call: update_plan",
            {"is_error": True},
        ),
        (
            "Wall time: 9 seconds\nProcess running with session ID 7\nOutput:\nso far",
            "Wall time: 9 seconds\nProcess running with session ID 7\nOutput:\nso far",
            {},
        ),
        ('{"output": "no code"}', "no code", {}),
        ({"content": "refused", "success": False}, "refused", {"is_error": True}),
        ([{"type": "input_text", "text": "a"}, {"text": "b"}], "a\nb", {}),
        (None, "", {}),
        (7, "7", {}),
    ],
)
def test_the_header_of_a_result_becomes_metadata(
    output: Any, content: str, metadata: dict[str, Any]
):
    item = {"type": "function_call_output", "call_id": "call_1", "output": output}

    (record,) = decode(item).records

    assert (record.content, record.metadata) == (content, metadata)


def test_a_patch_is_a_call_with_the_patch_text(read):
    call = read("tools").records_of_type("tool_use")[-1]

    assert json.loads(call.tool_input)["input"].startswith("*** Begin Patch")


def test_arguments_that_are_not_json_are_preserved(read):
    call = read("unknown-lines").records_of_type("tool_use")[-1]

    assert json.loads(call.tool_input) == {"arguments": '{"command": ['}


def test_no_hosted_search_is_marked_as_unanswered(read):
    units = read("legacy").units()

    records = [p.record for unit in units for p in unit.entries]
    assert not any(record.metadata.get("is_unanswered") for record in records)


def test_encrypted_reasoning_is_noise(read):
    thoughts = [record.content for record in read("legacy").records_of_type("thinking")]

    assert thoughts == ["**Looking at the stone**"]


def test_tokens_are_counted_by_message(read):
    contents = read("tools")

    message_ids = [r.message_id for r in contents.records_of_type("token_usage")]
    assert len(message_ids) == len(set(message_ids)) == 4
    assert contents.main().usage == Usage(39315 - 44, 92, 44, 0)


def test_a_repeated_running_total_counts_once(read):
    assert read("legacy").main().usage == Usage(4200 - 3100, 140, 3100, 0)


def test_a_log_with_both_kinds_of_token_counts_counts_once():
    tokens = {"input_tokens": 10, "output_tokens": 1}
    by_message = {"response_id": "resp_1", "usage": tokens}
    info = {"total_token_usage": tokens, "last_token_usage": tokens}
    first = decode(by_message, "token_usage_record")

    second = decode({"type": "token_count", "info": info}, "event_msg", first.state)

    assert (len(first.records), second.records) == (1, ())


def test_a_subagent_is_linked_to_the_call_that_spawned_it(read):
    contents = read("subagent")

    (child,) = contents.subagents()
    (call, _) = contents.records_of_type("tool_use")
    assert child.spawn_call_id == call.tool_call_id
    assert child.key.session_id == contents.main().key.session_id
    assert [len(unit.subagents) for unit in contents.units()] == [0, 1]
    assert contents.user_messages(child) == [("task", "Count the files [[cx-worker]]")]


def test_a_notification_of_a_subagent_is_not_a_prompt(read):
    assert [origin for origin, _ in read("subagent").user_messages()] == ["prompt"]


def test_lines_that_a_subagent_repeats_from_its_parent_are_noise(read):
    contents = read("subagent-v2")

    (child,) = contents.subagents()
    assert contents.user_messages(child) == [("task", "/root/count_files: [encrypted]")]
    assert [
        r.content for r in contents.records_of_type("assistant_message", child)
    ] == ["V2 finished."]
    assert contents.units()[1].subagents[0].stop_reason == "end_turn"


def test_a_nested_subagent_belongs_to_its_parent(read):
    contents = read("subagent-legacy")

    (unit,) = [unit for unit in contents.units() if unit.subagents]
    (child,) = unit.subagents
    (grandchild,) = child.subagents
    assert (child.prompt, grandchild.prompt) == (
        "Count the stones",
        "Count the pebbles",
    )


def test_in_old_logs_a_subagents_own_lines_start_after_a_pause(read):
    contents = read("subagent-legacy")

    (child,) = [s for s in contents.subagents() if s.title == "Count the stones"]
    assert contents.user_messages(child) == [("task", "Count the stones")]
    assert child.usage == Usage(50, 5, 0, 0)


def test_a_fork_includes_its_parents_lines_and_counts_only_its_own_tokens(read):
    contents = read("legacy-fork")
    first, fork = contents.main(THREAD), contents.main(FORK)

    assert [text for _, text in contents.user_messages(fork)] == [
        "Why does the stone stop?",
        "Look at the axle too",
        "Which wood?",
    ]
    assert first.usage == Usage(1100, 140, 3100, 0)
    assert fork.usage == Usage(100, 5, 1700, 0)


def test_a_fork_without_repeated_lines_names_its_parent(read):
    contents = read("fork")

    (opened,) = [
        p.record.metadata
        for s in contents.streams.values()
        for p in contents.records(s)
        if "forked_from" in p.record.metadata
    ]
    assert opened["forked_from"] in {
        s.key.session_id for s in contents.streams.values()
    }


def test_a_thread_that_the_client_started_has_no_units(read):
    contents = read("unknown-lines")

    assert contents.user_messages() == [("task", "Review the sails")]
    assert contents.main().units == 0


def test_the_directory_of_an_old_log_comes_from_the_environment_context(read):
    assert read("bare-lines").main().cwd == "/home/dev/mill"


def test_the_same_prompt_typed_twice_is_two_prompts(read):
    assert [text for _, text in read("bare-lines").user_messages()] == [
        "How many sacks?"
    ] * 2


def test_a_grown_document_adds_only_new_records(read, home: Path):
    read("old-document")
    (path,) = home.rglob("*.json")
    value = json.loads(path.read_text())
    new_item = {"type": "message", "role": "user", "content": [{"text": "Once more"}]}
    value["items"].append(new_item)
    path.write_text(json.dumps(value))

    contents = read()

    assert [text for _, text in contents.user_messages()] == [
        "Sweep the mill",
        "Once more",
    ]
    assert len(contents.records_of_type("assistant_message")) == 1


def archive_thread(home: Path) -> None:
    """Move the thread's file to the archive, as `codex archive` does."""
    (path,) = home.rglob("rollout-*.jsonl")
    folder = home / ".codex" / "archived_sessions"
    folder.mkdir()
    shutil.move(path, folder / path.name)


def compress_thread(home: Path) -> None:
    """Compress the thread's file in place."""
    (path,) = home.rglob("rollout-*.jsonl")
    compressed = zstandard.ZstdCompressor(level=3).compress(path.read_bytes())
    path.with_name(f"{path.name}.zst").write_bytes(compressed)
    path.unlink()


@pytest.mark.parametrize("archive", [archive_thread, compress_thread])
@pytest.mark.parametrize("case", ["tools", "legacy", "bare-lines"])
def test_a_thread_that_was_archived_is_not_stored_again(
    read, home: Path, tmp_path: Path, archive, case: str
):
    read(case)
    before = describe_store(tmp_path / "store.db")
    archive(home)

    read()

    # Noise is stored per file; sessions and records must be the same.
    assert describe_store(tmp_path / "store.db")[:-1] == before[:-1]


def test_a_thread_with_a_plain_and_a_compressed_file_is_stored_once(read, home: Path):
    copy_home(FIXTURES / "codex" / "packed", home)
    (path,) = home.rglob("*.zst")
    plain = zstandard.ZstdDecompressor().decompress(path.read_bytes())
    path.with_suffix("").write_bytes(plain)

    contents = read()

    assert contents.user_messages() == [("prompt", "Close the sluice")]
    assert contents.main().usage == Usage(100, 5, 0, 0)


def test_the_second_file_of_a_reverted_thread_is_the_same_thread(read, home: Path):
    copy_home(FIXTURES / "codex" / "hello", home)
    (path,) = home.rglob("rollout-*.jsonl")
    path.rename(path.with_name(f"{path.stem}_{FORK}.jsonl"))

    assert read().main().key.session_id == "01a1e1f8-af5a-7f13-b529-e0142c1a1c8b"


def test_roots_follow_the_environment_and_the_configuration(home: Path):
    env_with_home = Environment(
        home=home, environ={"CODEX_HOME": "/c"}, platform="linux"
    )

    roots = [
        [str(root.path) for root in ADAPTER.roots(env, configured)]
        for env, configured in (
            (make_environment(home), []),
            (env_with_home, []),
            (env_with_home, [Path("/d/sessions"), Path("/d/archived_sessions")]),
        )
    ]
    assert roots == [
        [f"{home}/.codex/sessions", f"{home}/.codex/archived_sessions"],
        ["/c/sessions", "/c/archived_sessions"],
        ["/d/sessions", "/d/archived_sessions"],
    ]


def test_the_name_of_a_lock_file_names_its_thread():
    processes = [
        ADAPTER.parse_live_process(Path(name), b"")
        for name in (f"{THREAD}.lock", ".c.lock")
    ]

    assert processes == [LiveProcess(THREAD, None), None]


@pytest.mark.skipif(not Path("/proc/locks").exists(), reason="needs /proc/locks")
def test_a_thread_is_live_while_its_lock_is_held(home: Path):
    folder = home / ".codex" / "thread-writer-locks"
    folder.mkdir(parents=True)
    path = folder / f"{THREAD}.lock"

    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        while_locked = check_live_threads(home)

    assert (while_locked, check_live_threads(home)) == ({THREAD: True}, {THREAD: False})


def check_live_threads(home: Path) -> dict[str, bool]:
    registries = ADAPTER.live_registries(make_environment(home), [])
    return tail.check_session_processes(registries, ADAPTER.parse_live_process)


def test_a_thread_is_resumed_by_its_id():
    assert ADAPTER.resume_command(THREAD) == f"codex resume {THREAD}"
