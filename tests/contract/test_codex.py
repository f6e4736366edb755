"""What Codex's rollouts mean, fact by fact."""

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
from leslied.sessions import RecordStream, assemble
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
    """What the store tells after a sync."""

    def __init__(self, path: Path) -> None:
        with StoreReader(path) as reader:
            self.streams = {s.key[1:]: s for s in reader.list_sessions()}
            self._records = {
                key: list(reader.list_records(s.row)) for key, s in self.streams.items()
            }

    def main(self, session_id: str = "") -> SessionSummary:
        mains = [s for s in self.streams.values() if s.key.source == MAIN]
        (found,) = [s for s in mains if s.key.session_id.startswith(session_id)]
        return found

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
        """Whose words, and the words, of every user message."""
        spoken = self.records_of_type("user_message", session)
        return [(r.metadata["origin"], r.content) for r in spoken]

    def units(self, session: SessionSummary | None = None) -> Any:
        main = session or self.main()
        mine = [s for s in self.subagents() if s.key[1] == main.key.session_id]
        others = [RecordStream(s, self.records(s)) for s in mine]
        return assemble(RecordStream(main, self.records(main)), others)


@pytest.fixture
def read(home: Path, tmp_path: Path, clock):
    """Reads a fixture case, or whatever stands in the home."""

    def read_case(case: str = "") -> CodexStoreContents:
        if case:
            copy_home(FIXTURES / "codex" / case, home)
        sync_home(ADAPTER, home, tmp_path / "store.db", clock)
        return CodexStoreContents(tmp_path / "store.db")

    return read_case


def decode(
    payload: Any, type_: str = "response_item", state: dict[str, Any] | None = None
) -> Any:
    """One line of a thread, decoded."""
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
    """What becomes of a user message made of these texts."""
    content = [{"type": "input_text", "text": text} for text in texts]
    told = {"content_item_kinds": kinds} if kinds else {}
    (record,) = decode(
        {
            "type": "message",
            "role": "user",
            "content": content,
            "internal_chat_message_metadata_passthrough": told,
        }
    ).records
    return record


@pytest.mark.parametrize("case", ["hello", "legacy"])
def test_a_prompt_that_is_written_twice_is_told_once(read, case: str):
    words = [words for _, words in read(case).user_messages()]

    assert len(words) == len(set(words))


def test_an_answer_that_is_written_twice_is_told_once(read):
    (answer,) = read("hello").records_of_type("assistant_message")

    assert answer.content == "Hello from the scripted model."


def test_a_resumed_thread_goes_on_in_the_same_units(read):
    told = read("resume")

    assert [(unit.number, unit.stop_reason) for unit in told.units()] == [
        (0, "unknown"),
        (1, "end_turn"),
        (2, "end_turn"),
    ]


def test_an_interrupted_turn_is_cancelled(read):
    units = read("interrupt").units()

    assert [unit.stop_reason for unit in units[1:]] == ["cancelled", "end_turn"]


def test_a_turn_the_server_broke_off_is_an_error(read):
    told = read("err500")

    assert told.units()[-1].stop_reason == "error"
    assert told.main().has_turn_ended


def test_an_error_told_twice_is_told_once(read):
    told = read("legacy")

    ends = [r for r in told.records_of_type("error") if r.role == "assistant"]
    assert [r.content for r in ends] == ["The model is busy."]
    assert told.units()[-1].stop_reason == "error"


def test_a_killed_turn_has_not_ended(read):
    told = read("killed")

    assert not told.main().has_turn_ended
    assert told.units()[-1].entries[-2].record.metadata["is_unanswered"]


def test_a_prompt_typed_while_the_agent_works_steers_the_unit(read):
    told = read("legacy")

    assert told.user_messages()[:2] == [
        ("prompt", "Why does the stone stop?"),
        ("queued", "Look at the axle too"),
    ]


def test_a_command_run_by_hand_is_shown_as_typed(read):
    assert ("shell", "! ls axle") in read("legacy").user_messages()


def test_a_planned_turn_says_so(read):
    modes = [unit.agent_mode for unit in read("legacy").units()]

    assert modes == ["agent", "agent", "plan", "agent"]


def test_the_name_a_thread_was_given_is_its_title(read):
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
def test_the_client_s_own_words_are_no_prompt(text: str):
    assert decode_user_message(text).type == "system_event"


def test_a_prompt_may_follow_an_envelope():
    record = decode_user_message(
        "<environment_context>\nx\n</environment_context>\n\nMend the sail"
    )

    assert (record.content, record.metadata["origin"]) == ("Mend the sail", "prompt")


def test_an_envelope_that_never_ends_is_somebody_s_words():
    text = "<skill> is a tag I do not understand"

    assert decode_user_message(text).content == text


def test_words_the_log_calls_a_person_s_are_a_prompt_whatever_they_look_like():
    text = "<skill>\nwhat is this?\n</skill>"

    assert decode_user_message(text, kinds=["user.text"]).content == text


def test_words_the_log_calls_context_are_no_prompt_whatever_they_look_like():
    record = decode_user_message("Mind the wind", kinds=["weather.report"])

    assert (record.type, record.metadata["note"]) == ("system_event", "report")


def test_what_an_editor_attached_stands_beside_the_request(read):
    prompt = read("legacy").records_of_type("user_message")[0]

    assert prompt.content == "Why does the stone stop?"
    assert "Active file: stone.py" in prompt.metadata["attached"]


def test_a_picture_is_shown_by_kind_and_size(read):
    words = [words for _, words in read("legacy").user_messages()]

    assert "[image image/png, 36 B]\n\nPlan a new axle like this" in words


def test_a_failed_command_says_so(read):
    told = {
        r.tool_call_id: r.metadata
        for r in read("legacy").records_of_type("tool_result")
    }

    assert told["call_2"] == {"exit_code": 2, "is_error": True}
    assert told["call_1"] == {"exit_code": 0}


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
def test_an_answer_loses_the_client_s_header_and_keeps_what_it_said(
    output: Any, content: str, metadata: dict[str, Any]
):
    item = {"type": "function_call_output", "call_id": "call_1", "output": output}

    (record,) = decode(item).records

    assert (record.content, record.metadata) == (content, metadata)


def test_a_patch_is_a_call_with_its_text(read):
    call = read("tools").records_of_type("tool_use")[-1]

    assert json.loads(call.tool_input)["input"].startswith("*** Begin Patch")


def test_arguments_that_are_no_json_lose_nothing(read):
    call = read("unknown-lines").records_of_type("tool_use")[-1]

    assert json.loads(call.tool_input) == {"arguments": '{"command": ['}


def test_a_search_the_model_s_host_did_is_answered(read):
    units = read("legacy").units()

    calls = [p.record for unit in units for p in unit.entries]
    assert not any(record.metadata.get("is_unanswered") for record in calls)


def test_thinking_that_cannot_be_read_is_noise(read):
    thoughts = [record.content for record in read("legacy").records_of_type("thinking")]

    assert thoughts == ["**Looking at the stone**"]


def test_tokens_are_those_of_each_message(read):
    told = read("tools")

    counted = [r.message_id for r in told.records_of_type("token_usage")]
    assert len(counted) == len(set(counted)) == 4
    assert told.main().usage == Usage(39315 - 44, 92, 44, 0)


def test_a_running_total_that_is_told_twice_counts_once(read):
    assert read("legacy").main().usage == Usage(4200 - 3100, 140, 3100, 0)


def test_a_log_that_changes_its_way_of_counting_counts_once():
    tokens = {"input_tokens": 10, "output_tokens": 1}
    by_message = {"response_id": "resp_1", "usage": tokens}
    info = {"total_token_usage": tokens, "last_token_usage": tokens}
    first = decode(by_message, "token_usage_record")

    second = decode({"type": "token_count", "info": info}, "event_msg", first.state)

    assert (len(first.records), second.records) == (1, ())


def test_a_subagent_hangs_under_the_call_that_spawned_it(read):
    told = read("subagent")

    (child,) = told.subagents()
    (call, _) = told.records_of_type("tool_use")
    assert child.spawn_call_id == call.tool_call_id
    assert child.key.session_id == told.main().key.session_id
    assert [len(unit.subagents) for unit in told.units()] == [0, 1]
    assert told.user_messages(child) == [("task", "Count the files [[cx-worker]]")]


def test_a_subagent_s_news_is_no_prompt(read):
    assert [origin for origin, _ in read("subagent").user_messages()] == ["prompt"]


def test_a_subagent_repeats_nothing_of_its_parent(read):
    told = read("subagent-v2")

    (child,) = told.subagents()
    assert told.user_messages(child) == [("task", "/root/count_files: [encrypted]")]
    assert [r.content for r in told.records_of_type("assistant_message", child)] == [
        "V2 finished."
    ]
    assert told.units()[1].subagents[0].stop_reason == "end_turn"


def test_a_subagent_of_a_subagent_hangs_under_it(read):
    told = read("subagent-legacy")

    (unit,) = [unit for unit in told.units() if unit.subagents]
    (child,) = unit.subagents
    (grandchild,) = child.subagents
    assert (child.prompt, grandchild.prompt) == (
        "Count the stones",
        "Count the pebbles",
    )


def test_an_old_subagent_s_own_words_begin_after_a_pause(read):
    told = read("subagent-legacy")

    (child,) = [s for s in told.subagents() if s.title == "Count the stones"]
    assert told.user_messages(child) == [("task", "Count the stones")]
    assert child.usage == Usage(50, 5, 0, 0)


def test_a_fork_shows_what_it_repeats_and_counts_only_its_own(read):
    told = read("legacy-fork")
    first, fork = told.main(THREAD), told.main(FORK)

    assert [words for _, words in told.user_messages(fork)] == [
        "Why does the stone stop?",
        "Look at the axle too",
        "Which wood?",
    ]
    assert first.usage == Usage(1100, 140, 3100, 0)
    assert fork.usage == Usage(100, 5, 1700, 0)


def test_a_fork_that_holds_only_its_own_turns_names_its_parent(read):
    told = read("fork")

    (opened,) = [
        p.record.metadata
        for s in told.streams.values()
        for p in told.records(s)
        if "forked_from" in p.record.metadata
    ]
    assert opened["forked_from"] in {s.key.session_id for s in told.streams.values()}


def test_a_thread_of_the_client_s_own_makes_no_unit(read):
    told = read("unknown-lines")

    assert told.user_messages() == [("task", "Review the sails")]
    assert told.main().units == 0


def test_an_old_log_is_in_the_folder_its_context_names(read):
    assert read("bare-lines").main().cwd == "/home/dev/mill"


def test_the_same_question_asked_twice_is_asked_twice(read):
    assert [words for _, words in read("bare-lines").user_messages()] == [
        "How many sacks?"
    ] * 2


def test_an_old_document_that_grew_tells_only_what_is_new(read, home: Path):
    read("old-document")
    (path,) = home.rglob("*.json")
    value = json.loads(path.read_text())
    more = {"type": "message", "role": "user", "content": [{"text": "Once more"}]}
    value["items"].append(more)
    path.write_text(json.dumps(value))

    told = read()

    assert [words for _, words in told.user_messages()] == [
        "Sweep the mill",
        "Once more",
    ]
    assert len(told.records_of_type("assistant_message")) == 1


def archive_thread(home: Path) -> None:
    """The thread is put away, as `codex archive` does."""
    (path,) = home.rglob("rollout-*.jsonl")
    folder = home / ".codex" / "archived_sessions"
    folder.mkdir()
    shutil.move(path, folder / path.name)


def compress_thread(home: Path) -> None:
    """The thread is compressed where it stands."""
    (path,) = home.rglob("rollout-*.jsonl")
    packed = zstandard.ZstdCompressor(level=3).compress(path.read_bytes())
    path.with_name(f"{path.name}.zst").write_bytes(packed)
    path.unlink()


@pytest.mark.parametrize("put_away", [archive_thread, compress_thread])
@pytest.mark.parametrize("case", ["tools", "legacy", "bare-lines"])
def test_a_thread_that_was_put_away_is_not_told_again(
    read, home: Path, tmp_path: Path, put_away, case: str
):
    read(case)
    before = describe_store(tmp_path / "store.db")
    put_away(home)

    read()

    # Noise is told of each file; sessions and records are the same.
    assert describe_store(tmp_path / "store.db")[:-1] == before[:-1]


def test_a_thread_packed_and_plain_is_told_once(read, home: Path):
    copy_home(FIXTURES / "codex" / "packed", home)
    (path,) = home.rglob("*.zst")
    plain = zstandard.ZstdDecompressor().decompress(path.read_bytes())
    path.with_suffix("").write_bytes(plain)

    told = read()

    assert told.user_messages() == [("prompt", "Close the sluice")]
    assert told.main().usage == Usage(100, 5, 0, 0)


def test_a_reverted_thread_s_second_file_is_the_same_thread(read, home: Path):
    copy_home(FIXTURES / "codex" / "hello", home)
    (path,) = home.rglob("rollout-*.jsonl")
    path.rename(path.with_name(f"{path.stem}_{FORK}.jsonl"))

    assert read().main().key.session_id == "01a1e1f8-af5a-7f13-b529-e0142c1a1c8b"


def test_the_folders_are_those_of_the_home_codex_uses(home: Path):
    own = Environment(home=home, environ={"CODEX_HOME": "/c"}, platform="linux")

    roots = [
        [str(root.path) for root in ADAPTER.roots(env, configured)]
        for env, configured in (
            (make_environment(home), []),
            (own, []),
            (own, [Path("/d/sessions"), Path("/d/archived_sessions")]),
        )
    ]
    assert roots == [
        [f"{home}/.codex/sessions", f"{home}/.codex/archived_sessions"],
        ["/c/sessions", "/c/archived_sessions"],
        ["/d/sessions", "/d/archived_sessions"],
    ]


def test_a_lock_s_name_is_the_thread_it_is_for():
    told = [
        ADAPTER.parse_live_process(Path(name), b"")
        for name in (f"{THREAD}.lock", ".c.lock")
    ]

    assert told == [LiveProcess(THREAD, None), None]


@pytest.mark.skipif(not Path("/proc/locks").exists(), reason="Linux tells of locks")
def test_a_thread_is_live_while_its_lock_is_held(home: Path):
    folder = home / ".codex" / "thread-writer-locks"
    folder.mkdir(parents=True)
    path = folder / f"{THREAD}.lock"

    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        held = find(home)

    assert (held, find(home)) == ({THREAD: True}, {THREAD: False})


def find(home: Path) -> dict[str, bool]:
    registries = ADAPTER.live_registries(make_environment(home), [])
    return tail.find_processes(registries, ADAPTER.parse_live_process)


def test_a_thread_goes_on_by_its_id():
    assert ADAPTER.resume_command(THREAD) == f"codex resume {THREAD}"
