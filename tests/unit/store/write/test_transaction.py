"""Ids, versions, placements and units of records that are committed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from leslied.model.decoded_chunk import DecodedChunk
from leslied.model.record import Usage
from leslied.model.source import Cursor, Noise, Rejection
from tests.support.claude import (
    SESSION,
    ClaudeHome,
    ClaudeLogBuilder,
    encode_json_lines,
)
from tests.support.clock import FakeClock
from tests.support.records import (
    LOGS,
    StoreHarness,
    append,
    make_chunk,
    make_entry,
    make_event,
    make_key,
    make_prompt,
    make_record,
    make_source,
    rewrite_in_place,
    time_at,
)

COMMAND = {"origin": "command"}


@pytest.fixture
def harness(tmp_path: Path, clock: FakeClock) -> Iterator[StoreHarness]:
    with StoreHarness(tmp_path / "data" / "store.db", clock) as harness:
        yield harness


def list_units(harness: StoreHarness, session_id: str = "s") -> list[tuple[int, str]]:
    """Return the unit and the content of each record."""
    return [(p.unit, p.record.content) for p in harness.list_records(session_id)]


def commit_each(harness: StoreHarness, *records) -> None:
    """Commit every record in its own transaction."""
    for record in records:
        harness.commit(record)


def commit_together(harness: StoreHarness, *records) -> None:
    """Commit all records in one transaction."""
    harness.commit(*records)


# Ids


def test_a_record_read_twice_is_stored_once(harness: StoreHarness):
    harness.commit(make_prompt("one", "1"))

    report = harness.commit(make_prompt("one", "1"), generation=2)

    assert (report.records, report.placements) == (0, 0)


@pytest.mark.fault("G2")
def test_a_record_read_twice_in_one_commit_is_stored_once(harness: StoreHarness):
    report = harness.commit(make_prompt("one", "1"), make_prompt("one", "1"))

    assert (report.records, report.placements) == (1, 1)


def test_blocks_of_one_line_are_separate_records(harness: StoreHarness):
    harness.commit(*[make_record(f"{n}", "1", block=n) for n in range(3)])

    assert harness.contents() == ["0", "1", "2"]
    assert len({placed.entry_id for placed in harness.list_records()}) == 3


@pytest.mark.fault("G8")
def test_equal_ids_with_different_scopes_are_different_records(harness: StoreHarness):
    for session in ("a", "b"):
        harness.commit(
            make_prompt(session, "1", scope=session, session=make_key(session)),
            log=f"{session}.jsonl",
        )

    assert (harness.contents("a"), harness.contents("b")) == (["a"], ["b"])


def test_repeated_lines_without_an_id_are_separate_records(harness: StoreHarness):
    line = make_record("again")

    report = harness.commit(line, line, line)

    assert (report.records, report.placements) == (3, 3)


def test_repeated_lines_are_counted_across_commits(harness: StoreHarness):
    line = make_record("again")
    harness.commit(line, line)

    report = harness.commit(line)

    assert report.records == 1
    assert harness.contents() == ["again"] * 3


@pytest.mark.fault("B1")
@pytest.mark.parametrize(("times", "added"), [(1, 0), (3, 0), (5, 2)])
def test_a_new_generation_adds_only_additional_repetitions(
    harness: StoreHarness, times: int, added: int
):
    line = make_record("again")
    harness.commit(line, line, line)

    report = harness.commit(*[line] * times, generation=2)

    assert report.records == added


@pytest.mark.fault("B1")
def test_a_generation_that_changes_within_a_commit_restarts_the_count(
    harness: StoreHarness,
):
    line = make_record("again")
    chunks = [make_chunk(line, line, generation=n) for n in (1, 2, 3)]

    report = harness.store.commit(chunks)

    assert report.records == 2


@pytest.mark.fault("B1")
def test_lines_that_moved_in_a_rewritten_log_are_not_stored_again(
    harness: StoreHarness,
):
    lines = [make_record("one"), make_record("two")]
    harness.commit(*lines)

    report = harness.commit(make_record("first"), *lines, generation=2)

    assert (report.records, report.placements) == (1, 1)
    assert sorted(harness.contents()) == ["first", "one", "two"]


@pytest.mark.fault("A2")
def test_a_line_stored_incomplete_and_then_complete_is_one_record(
    harness: StoreHarness,
):
    record = make_record("again")
    entry = make_entry(record, 0, is_complete=False)
    harness.commit(entries=(entry,))

    report = harness.commit(record)

    assert report.records == 0
    assert harness.contents() == ["again"]


@pytest.mark.fault("B7")
def test_the_same_line_in_two_files_of_one_session_is_one_record(harness: StoreHarness):
    harness.commit(make_record("again"), log="old.jsonl")

    report = harness.commit(make_record("again"), log="new.jsonl")

    assert report.records == 0


@pytest.mark.fault("B7")
def test_the_same_line_in_two_sessions_is_two_records(harness: StoreHarness):
    harness.commit(make_record("again", session=make_key("a")), log="a.jsonl")
    harness.commit(make_record("again", session=make_key("b")), log="b.jsonl")

    assert harness.count("record") == 2


# Versions


@pytest.mark.fault("G7")
@pytest.mark.parametrize("commit", [commit_each, commit_together])
def test_a_changed_entry_gets_a_new_version(harness: StoreHarness, commit):
    commit(harness, make_prompt("old", "1"), make_prompt("new", "1"))

    assert harness.contents() == ["new"]
    assert harness.count("record") == 2
    assert harness.count("placement") == 1


@pytest.mark.fault("G7")
@pytest.mark.parametrize("commit", [commit_each, commit_together])
def test_an_entry_that_is_changed_back_has_its_old_version_again(
    harness: StoreHarness, commit
):
    commit(harness, *[make_prompt(text, "1") for text in ("old", "new", "old")])

    assert harness.contents() == ["old"]
    assert harness.count("record") == 2


@pytest.mark.fault("G7")
@pytest.mark.parametrize("commit", [commit_each, commit_together])
def test_exactly_one_version_is_current(harness: StoreHarness, commit):
    commit(harness, *[make_prompt(text, "1") for text in "abcabcaba"])

    query = "SELECT content FROM record WHERE is_current"
    assert harness.execute(query) == [("a",)]


@pytest.mark.fault("G7")
def test_a_new_version_has_the_same_entry_id(harness: StoreHarness):
    harness.commit(make_prompt("old", "1"))
    (before,) = harness.list_records()
    harness.commit(make_prompt("new", "1"))

    (after,) = harness.list_records()
    assert after.entry_id == before.entry_id


@pytest.mark.fault("G7")
@pytest.mark.parametrize(
    "fields",
    [
        {"created_at": time_at(5)},
        {"model": "other"},
        {"parent_id": "other"},
        {"message_id": "other"},
        {"usage": Usage(5, 5)},
        {"metadata": {"origin": "prompt", "stop_reason": "end_turn"}},
        {"spilled": "all of it"},
    ],
    ids=lambda fields: next(iter(fields)),
)
def test_a_change_outside_the_content_creates_no_new_version(
    harness: StoreHarness, fields
):
    harness.commit(make_prompt("same", "1", usage=Usage(1, 1)))

    report = harness.commit(make_prompt("same", "1", **fields))

    assert report.records == 0


@pytest.mark.fault("G7")
@pytest.mark.parametrize(
    "fields",
    [
        {"content": "other"},
        {"type": "thinking"},
        {"role": "system"},
        {"tool_name": "Bash"},
        {"tool_call_id": "c1"},
        {"tool_input": "{}"},
    ],
    ids=lambda fields: next(iter(fields)),
)
def test_changed_content_creates_a_new_version(harness: StoreHarness, fields):
    harness.commit(make_prompt("same", "1"))

    report = harness.commit(
        make_prompt(**{"content": "same", "native_id": "1", **fields})
    )

    assert (report.records, report.placements) == (1, 0)


@pytest.mark.fault("G7")
def test_changed_metadata_of_an_event_creates_a_new_version(harness: StoreHarness):
    harness.commit(make_event("notice", "1", metadata={"note": "a"}))

    report = harness.commit(make_event("notice", "1", metadata={"note": "b"}))

    assert report.records == 1


@pytest.mark.fault("G7")
@pytest.mark.parametrize("kind", ["opened", "context"])
def test_changed_context_creates_no_new_version(harness: StoreHarness, kind: str):
    harness.commit(make_event(kind, "1", metadata={"cwd": "/a"}))

    report = harness.commit(
        make_event(kind, "1", metadata={"cwd": "/a", "version": "2"})
    )

    assert report.records == 0


# Forks


@pytest.mark.fault("G1")
def test_a_fork_shares_records_but_not_placements(harness: StoreHarness):
    for name in ("a", "b"):
        key = make_key(name)
        shared_prompts = [make_prompt(f"{n}", f"n{n}", session=key) for n in "12"]
        unshared_prompt = make_prompt(name, name, session=key)
        harness.commit(*shared_prompts, unshared_prompt, log=f"{name}.jsonl")

    assert (harness.count("record"), harness.count("placement")) == (4, 6)
    assert harness.contents("a") == ["1", "2", "a"]
    assert harness.contents("b") == ["1", "2", "b"]


@pytest.mark.fault("G1")
def test_a_shared_record_has_the_session_and_path_of_the_fork(harness: StoreHarness):
    for name in ("a", "b"):
        record = make_prompt("one", "1", session=make_key(name))
        harness.commit(record, log=f"{name}.jsonl")

    (placed,) = harness.list_records("b")
    assert placed.record.session == make_key("b")
    assert placed.path == str(LOGS / "b.jsonl")


@pytest.mark.fault("G1", "G7")
def test_a_new_version_in_a_fork_is_shown_in_both_sessions(harness: StoreHarness):
    harness.commit(make_prompt("old", "1", session=make_key("a")), log="a.jsonl")
    harness.commit(make_prompt("new", "1", session=make_key("b")), log="b.jsonl")

    assert harness.contents("a") == harness.contents("b") == ["new"]


@pytest.mark.fault("G1")
def test_forked_sessions_count_their_own_units(harness: StoreHarness):
    for name in ("a", "b"):
        records = [make_prompt(f"{n}", f"n{n}", session=make_key(name)) for n in "123"]
        harness.commit(*records, log=f"{name}.jsonl")

    assert [harness.session(name).units for name in "ab"] == [3, 3]


# Units


@pytest.mark.parametrize("commit", [commit_each, commit_together])
def test_a_prompt_starts_a_unit(harness: StoreHarness, commit):
    commit(
        harness,
        make_event("opened", "0"),
        make_prompt("one", "1"),
        make_record("yes", "2"),
        make_prompt("two", "3"),
        make_record("no", "4"),
    )

    assert list_units(harness) == [
        (0, ""),
        (1, "one"),
        (1, "yes"),
        (2, "two"),
        (2, "no"),
    ]


@pytest.mark.parametrize("commit", [commit_each, commit_together])
def test_a_command_with_an_answer_starts_a_unit(harness: StoreHarness, commit):
    commit(
        harness,
        make_prompt("/init", "1", metadata=COMMAND),
        make_event("notice", "2", content="running"),
        make_record("done", "3"),
        make_event("turn_ended", "4"),
    )

    assert list_units(harness) == [(1, "/init"), (1, "running"), (1, "done"), (1, "")]
    assert harness.session().units == 1


@pytest.mark.parametrize("commit", [commit_each, commit_together])
def test_a_command_without_an_answer_starts_no_unit(harness: StoreHarness, commit):
    commit(
        harness,
        make_prompt("/model", "1", metadata=COMMAND),
        make_event("notice", "2", content="set"),
        make_prompt("hello", "3"),
        make_record("hi", "4"),
    )

    assert list_units(harness) == [(0, "/model"), (0, "set"), (1, "hello"), (1, "hi")]


@pytest.mark.parametrize("commit", [commit_each, commit_together])
def test_units_after_an_answered_command_are_numbered_in_order(
    harness: StoreHarness, commit
):
    commit(
        harness,
        make_prompt("zero", "0"),
        make_prompt("/init", "1", metadata=COMMAND),
        make_record("done", "2"),
        make_prompt("next", "3"),
        make_record("ok", "4"),
        make_prompt("/again", "5", metadata=COMMAND),
        make_record("yes", "6"),
        make_prompt("last", "7"),
    )

    assert [unit for unit, _ in list_units(harness)] == [1, 2, 2, 3, 3, 4, 4, 5]


@pytest.mark.parametrize("commit", [commit_each, commit_together])
def test_a_shell_command_starts_a_unit_only_with_an_answer(
    harness: StoreHarness, commit
):
    shell = {"origin": "shell"}
    commit(
        harness,
        make_prompt("! ls", "1", metadata=shell),
        make_event("notice", "2", content="a b"),
        make_prompt("! pwd", "3", metadata=shell),
        make_record("I see", "4"),
    )

    assert list_units(harness) == [(0, "! ls"), (0, "a b"), (1, "! pwd"), (1, "I see")]


@pytest.mark.parametrize("kind", ["thinking", "tool_use", "assistant_message"])
def test_a_command_with_any_output_of_the_agent_starts_a_unit(
    harness: StoreHarness, kind: str
):
    harness.commit(
        make_prompt("/init", "1", metadata=COMMAND), make_record("x", "2", type=kind)
    )

    assert harness.session().units == 1


@pytest.mark.parametrize("kind", ["tool_result", "system_event", "error"])
def test_a_command_without_output_of_the_agent_starts_no_unit(
    harness: StoreHarness, kind: str
):
    harness.commit(
        make_prompt("/init", "1", metadata=COMMAND), make_record("x", "2", type=kind)
    )

    assert harness.session().units == 0


def test_output_in_another_session_starts_no_unit(harness: StoreHarness):
    harness.commit(make_prompt("/init", "1", metadata=COMMAND))
    harness.commit(make_record("done", "2", session=make_key("b")), log="b.jsonl")

    assert harness.session().units == 0


def test_a_command_answered_in_a_later_commit_has_a_chat_id(harness: StoreHarness):
    harness.commit(make_prompt("/init", "1", metadata=COMMAND))
    harness.commit(make_record("done", "2"))

    with harness.reader() as reader:
        ((_, unit, _),) = reader.find_units_by_prefix("chat-")
    assert unit == 1


# Titles


def make_title(text: str, kind: str, **metadata: str):
    """Return an event that sets the title; its kind decides the title's rank."""
    return make_event("title", content=text, metadata={"title_kind": kind, **metadata})


@pytest.mark.parametrize("commit", [commit_each, commit_together])
def test_the_title_with_the_highest_rank_is_used(harness: StoreHarness, commit):
    kinds = ["ai", "summary", "custom", "agent", "ai"]
    commit(
        harness, make_prompt("one", "1"), *[make_title(kind, kind) for kind in kinds]
    )

    assert harness.session().title == "custom"


def test_the_last_title_of_equal_rank_is_used(harness: StoreHarness):
    harness.commit(
        make_prompt("one", "1"), make_title("old", "ai"), make_title("new", "ai")
    )

    assert harness.session().title == "new"


def test_a_repeated_title_is_used_again(harness: StoreHarness):
    titles = [make_title(text, "custom") for text in ("a", "b", "a")]
    harness.commit(make_prompt("one", "1"), *titles)

    assert harness.session().title == "a"


def test_an_empty_title_does_not_replace_a_title(harness: StoreHarness):
    harness.commit(
        make_prompt("one", "1"), make_title("a", "custom"), make_title("", "custom")
    )

    assert harness.session().title == "a"


@pytest.mark.fault("G5")
@pytest.mark.parametrize(
    "is_leaf_first", [True, False], ids=["leaf first", "summary first"]
)
@pytest.mark.parametrize("is_one_commit", [True, False])
def test_a_summary_is_the_title_of_the_session_with_its_leaf(
    harness: StoreHarness, is_leaf_first, is_one_commit
):
    old = make_chunk(
        make_prompt("one", "leaf", session=make_key("old")), log="old.jsonl"
    )
    metadata = {"title_kind": "summary", "leaf": "leaf"}
    summary = make_event(
        "title", content="A", metadata=metadata, session=make_key("new")
    )
    new = make_chunk(summary, log="new.jsonl")
    chunks = [old, new] if is_leaf_first else [new, old]
    for batch in [chunks] if is_one_commit else [[chunk] for chunk in chunks]:
        harness.store.commit(batch)

    assert harness.session("old").title == "A"
    assert harness.session("new").title == ""


def test_a_summary_with_an_unknown_leaf_is_not_used(harness: StoreHarness):
    harness.commit(make_prompt("one", "1"), make_title("A", "summary", leaf="unknown"))

    assert harness.session().title == "one"


# Copies


def make_copy(builder: ClaudeLogBuilder, text: str, uuid: str, **fields: object):
    """Return the copy of a subagent's line in the log of its parent."""
    message = {"id": "m1", "content": [{"type": "text", "text": text}], **fields}
    inner = {"type": "assistant", "uuid": uuid, "message": message}
    data = {"type": "agent_progress", "agentId": "x", "message": inner}
    return builder.line("progress", data=data, parentToolUseID="call")


def write_original(claude: ClaudeHome, text: str, uuid: str, **fields: object) -> None:
    """Write a line to the log of the subagent `x`."""
    message = {"id": "m1", "content": [{"type": "text", "text": text}], **fields}
    line = {"type": "assistant", "uuid": uuid, "isSidechain": True, "message": message}
    name = f"-home-dev-app/{SESSION}/subagents/agent-x.jsonl"
    claude.write(line, name=name)


def sync_subagent(claude: ClaudeHome, harness: StoreHarness):
    """Sync, and return the only subagent and its messages."""
    claude.sync(harness.store)
    with harness.reader() as reader:
        (child,) = [s for s in reader.list_sessions() if s.is_subagent]
        records = [p.record for p in reader.list_records(child.key)]
    return child, [r.content for r in records if r.type == "assistant_message"]


@pytest.mark.fault("G5")
def test_a_copy_is_shown_while_there_is_no_original(
    claude: ClaudeHome, harness: StoreHarness
):
    claude.write(make_copy(ClaudeLogBuilder(), "seen", "u1"))

    assert sync_subagent(claude, harness)[1] == ["seen"]


@pytest.mark.fault("G5")
@pytest.mark.parametrize("uuid", ["u1", "u2"], ids=["same id", "another id"])
@pytest.mark.parametrize("is_copy_first", [True, False])
def test_an_entry_that_was_copied_and_then_read_itself_is_shown_once(
    claude: ClaudeHome, harness: StoreHarness, uuid: str, is_copy_first
):
    steps = [
        lambda: claude.write(make_copy(ClaudeLogBuilder(), "seen", "u1")),
        lambda: write_original(claude, "seen", uuid),
    ]
    for step in steps if is_copy_first else steps[::-1]:
        step()
        claude.sync(harness.store)

    assert sync_subagent(claude, harness)[1] == ["seen"]


@pytest.mark.parametrize("uuid", ["u1", "u2"], ids=["same id", "another id"])
def test_a_hidden_copy_is_not_found_by_a_search(
    claude: ClaudeHome, harness: StoreHarness, uuid: str
):
    claude.write(make_copy(ClaudeLogBuilder(), "needle", "u1"))
    write_original(claude, "needle", uuid)
    claude.sync(harness.store)

    assert len(harness.search("needle")) == 1


@pytest.mark.parametrize("uuid", ["u1", "u2"], ids=["same id", "another id"])
def test_calls_of_a_hidden_copy_are_not_counted(
    claude: ClaudeHome, harness: StoreHarness, uuid: str
):
    call = [{"type": "tool_use", "id": "c", "name": "Bash", "input": {}}]
    claude.write(make_copy(ClaudeLogBuilder(), "", "u1", content=call))
    write_original(claude, "", uuid, content=call)

    assert sync_subagent(claude, harness)[0].tool_calls == 1


def test_tokens_of_a_copy_count_once(claude: ClaudeHome, harness: StoreHarness):
    usage = {"input_tokens": 7}
    claude.write(make_copy(ClaudeLogBuilder(), "seen", "u1", usage=usage))
    write_original(claude, "seen", "u2", usage=usage)

    assert sync_subagent(claude, harness)[0].usage == Usage(7)


# Noise and rejections


def test_noise_and_rejections_are_counted(harness: StoreHarness):
    noise = (Noise(0, 5, "a"), Noise(5, 5, "b"))
    harness.commit(noise=noise, rejected=(Rejection(10, 5, "torn", b"d", b"head"),))

    with harness.reader() as reader:
        counts = reader.count_rows()
        (rejected,) = reader.list_rejected(5)
    assert (counts["noise"], counts["rejected"]) == (2, 1)
    assert (rejected["offset"], rejected["length"], rejected["reason"]) == (
        10,
        5,
        "torn",
    )


@pytest.mark.fault("B1")
def test_a_new_generation_resets_noise_and_rejections(harness: StoreHarness):
    noise, rejected = (Noise(0, 5, "a"),), (Rejection(10, 5, "torn", b"d", b"head"),)
    harness.commit(noise=noise, rejected=rejected)

    harness.commit(noise=noise, rejected=rejected, generation=2)

    assert (harness.count("noise"), harness.count("rejected")) == (1, 1)


@pytest.mark.fault("B1")
def test_a_generation_that_changes_within_a_commit_resets_noise(
    harness: StoreHarness,
):
    noise = (Noise(0, 5, "a"),)

    harness.store.commit([make_chunk(noise=noise, generation=n) for n in (1, 2)])

    assert harness.execute("SELECT generation FROM noise") == [(2,)]


def test_noise_is_counted_for_each_source(harness: StoreHarness):
    harness.commit(noise=(Noise(0, 5, "a"),), log="a.jsonl")
    harness.commit(noise=(Noise(0, 5, "a"),), log="b.jsonl")

    harness.commit(generation=2, log="a.jsonl")

    assert harness.count("noise") == 1


# Order and size


def test_repeated_entries_are_recognized_beyond_one_query_batch(harness: StoreHarness):
    records = [make_prompt(f"{n}", f"n{n}") for n in range(1203)]
    harness.commit(*records)

    report = harness.commit(*records, generation=2)

    assert (report.records, report.placements) == (0, 0)


@pytest.mark.parametrize("count", [1, 499, 500, 501, 1_000, 1_001, 5_000, 12_000])
def test_every_record_of_a_commit_of_any_size_is_stored(
    harness: StoreHarness, count: int
):
    contents = [f"{number}" for number in range(count)]

    report = harness.commit(*(make_record(text, f"n{text}") for text in contents))

    assert (report.records, report.placements) == (count, count)
    assert harness.contents() == contents


@pytest.mark.fault("G6")
def test_records_are_in_the_order_they_were_read(harness: StoreHarness):
    latest_first = [
        make_record(f"{n}", f"n{n}", created_at=time_at(-n)) for n in range(9)
    ]
    harness.commit(*latest_first)

    assert harness.contents() == [f"{n}" for n in range(9)]


@pytest.mark.fault("E1")
@pytest.mark.parametrize("size", [1, 2, 3, 7])
def test_the_size_of_commits_does_not_change_the_result(
    tmp_path: Path, clock: FakeClock, size: int
):
    records = [
        make_prompt("/a", "1", metadata=COMMAND),
        make_record("b", "2", usage=Usage(1), message_id="m"),
        make_prompt("c", "3"),
        make_record("d"),
        make_record("d"),
        make_prompt("e", "3"),
        make_record("f", "2", usage=Usage(3), message_id="m"),
    ]
    with StoreHarness(tmp_path / "data" / "store.db", clock) as harness:
        for start in range(0, len(records), size):
            harness.commit(*records[start : start + size])

        assert list_units(harness) == [
            (1, "/a"),
            (1, "f"),
            (2, "e"),
            (2, "d"),
            (2, "d"),
        ]
        assert harness.session().usage == Usage(3)


@pytest.mark.fault("E1")
def test_a_log_read_line_by_line_has_the_same_units_as_read_at_once(claude: ClaudeHome):
    builder = ClaudeLogBuilder()
    lines = [
        builder.prompt("<command-name>/init</command-name>"),
        builder.answer("done"),
        builder.prompt("next"),
        {"type": "custom-title", "customTitle": "t"},
        builder.answer("ok"),
    ]
    results = []
    for name, sizes in (("a", [5]), ("b", [1] * 5)):
        home = ClaudeHome(claude.home, claude.home / name / "store.db", claude.clock)
        path, start = home.log(), 0
        path.write_bytes(b"")
        for size in sizes:
            append(path, encode_json_lines(*lines[start : start + size]))
            home.sync()
            start += size
        with StoreHarness(home.store_path, home.clock) as harness:
            results.append(list_units(harness, SESSION))

    assert results[0] == results[1]


def test_one_chunk_may_contain_records_of_many_sessions(harness: StoreHarness):
    records = [make_prompt(name, name, session=make_key(name)) for name in "abc"]
    entries = tuple(make_entry(record, n) for n, record in enumerate(records))
    chunk = DecodedChunk(
        source=make_source(LOGS / "a.jsonl"),
        cursor=Cursor(),
        decoder_version=1,
        entries=entries,
    )

    harness.store.commit([chunk])

    assert [harness.contents(name) for name in "abc"] == [["a"], ["b"], ["c"]]


@pytest.mark.fault("B3", "G7")
def test_a_rewritten_log_shows_its_new_content(claude: ClaudeHome):
    line = encode_json_lines(ClaudeLogBuilder().prompt("old words"))
    claude.log().write_bytes(line)
    claude.sync()
    rewrite_in_place(claude.log(), line.replace(b"old", b"new"))
    claude.sync()

    with StoreHarness(claude.store_path, claude.clock) as harness:
        assert harness.contents(SESSION) == ["", "new words"]
