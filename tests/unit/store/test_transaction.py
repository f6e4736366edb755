"""Naming, deduplicating, placing: each record once, wherever it stands."""

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
def shelf(tmp_path: Path, clock: FakeClock) -> Iterator[StoreHarness]:
    with StoreHarness(tmp_path / "data" / "store.db", clock) as shelf:
        yield shelf


def units(shelf: StoreHarness, session_id: str = "s") -> list[tuple[int, str]]:
    return [(p.unit, p.record.content) for p in shelf.list_records(session_id)]


def commit_each(shelf: StoreHarness, *records) -> None:
    """Every record in a commit of its own."""
    for record in records:
        shelf.commit(record)


def commit_together(shelf: StoreHarness, *records) -> None:
    shelf.commit(*records)


# Names


def test_a_record_read_twice_is_kept_once(shelf: StoreHarness):
    shelf.commit(make_prompt("one", "1"))

    again = shelf.commit(make_prompt("one", "1"), generation=2)

    assert (again.records, again.placements) == (0, 0)


def test_a_record_read_twice_in_one_commit_is_kept_once(shelf: StoreHarness):
    """G2."""
    done = shelf.commit(make_prompt("one", "1"), make_prompt("one", "1"))

    assert (done.records, done.placements) == (1, 1)


def test_blocks_of_one_line_are_records_of_their_own(shelf: StoreHarness):
    shelf.commit(*[make_record(f"{n}", "1", block=n) for n in range(3)])

    assert shelf.contents() == ["0", "1", "2"]
    assert len({placed.entry_id for placed in shelf.list_records()}) == 3


def test_ids_that_hold_in_one_session_only_do_not_meet(shelf: StoreHarness):
    """G8."""
    for session in ("a", "b"):
        shelf.commit(
            make_prompt(session, "1", scope=session, session=make_key(session)),
            log=f"{session}.jsonl",
        )

    assert (shelf.contents("a"), shelf.contents("b")) == (["a"], ["b"])


def test_the_same_line_without_an_id_counts_as_often_as_it_stands(shelf: StoreHarness):
    line = make_record("again")

    done = shelf.commit(line, line, line)

    assert (done.records, done.placements) == (3, 3)


def test_lines_without_an_id_go_on_counting_in_the_next_commit(shelf: StoreHarness):
    line = make_record("again")
    shelf.commit(line, line)

    done = shelf.commit(line)

    assert done.records == 1
    assert shelf.contents() == ["again"] * 3


@pytest.mark.parametrize(("times", "added"), [(1, 0), (3, 0), (5, 2)])
def test_a_new_generation_adds_only_lines_that_stand_more_often(
    shelf: StoreHarness, times: int, added: int
):
    """B1."""
    line = make_record("again")
    shelf.commit(line, line, line)

    done = shelf.commit(*[line] * times, generation=2)

    assert done.records == added


def test_a_generation_that_changes_within_a_commit_counts_anew(shelf: StoreHarness):
    """B1."""
    line = make_record("again")
    readings = [make_chunk(line, line, generation=n) for n in (1, 2, 3)]

    done = shelf.store.commit(readings)

    assert done.records == 2


def test_a_line_without_an_id_and_without_its_end_is_not_counted_yet(
    shelf: StoreHarness,
):
    """A2."""
    record = make_record("again")
    entry = make_entry(record, 0, is_complete=False)
    shelf.commit(entries=(entry,))

    done = shelf.commit(record)

    assert done.records == 0
    assert shelf.contents() == ["again"]


def test_the_same_line_in_two_files_of_one_session_is_one_record(shelf: StoreHarness):
    """B7."""
    shelf.commit(make_record("again"), log="old.jsonl")

    done = shelf.commit(make_record("again"), log="new.jsonl")

    assert done.records == 0


def test_the_same_line_in_two_sessions_is_two_records(shelf: StoreHarness):
    """B7."""
    shelf.commit(make_record("again", session=make_key("a")), log="a.jsonl")
    shelf.commit(make_record("again", session=make_key("b")), log="b.jsonl")

    assert shelf.count("record") == 2


# Versions


@pytest.mark.parametrize("keep", [commit_each, commit_together])
def test_an_entry_that_changed_has_a_new_version(shelf: StoreHarness, keep):
    """G7."""
    keep(shelf, make_prompt("old", "1"), make_prompt("new", "1"))

    assert shelf.contents() == ["new"]
    assert shelf.count("record") == 2
    assert shelf.count("placement") == 1


@pytest.mark.parametrize("keep", [commit_each, commit_together])
def test_an_entry_changed_back_shows_its_old_version(shelf: StoreHarness, keep):
    """G7."""
    keep(shelf, *[make_prompt(text, "1") for text in ("old", "new", "old")])

    assert shelf.contents() == ["old"]
    assert shelf.count("record") == 2


@pytest.mark.parametrize("keep", [commit_each, commit_together])
def test_exactly_one_version_is_current(shelf: StoreHarness, keep):
    """G7."""
    keep(shelf, *[make_prompt(text, "1") for text in "abcabcaba"])

    current = "SELECT content FROM record WHERE is_current"
    assert shelf.execute(current) == [("a",)]


def test_a_version_keeps_the_id_of_its_entry(shelf: StoreHarness):
    """G7."""
    shelf.commit(make_prompt("old", "1"))
    (before,) = shelf.list_records()
    shelf.commit(make_prompt("new", "1"))

    (after,) = shelf.list_records()
    assert after.entry_id == before.entry_id


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
def test_another_envelope_is_no_new_version(shelf: StoreHarness, fields):
    """G7."""
    shelf.commit(make_prompt("same", "1", usage=Usage(1, 1)))

    done = shelf.commit(make_prompt("same", "1", **fields))

    assert done.records == 0


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
def test_another_saying_is_a_new_version(shelf: StoreHarness, fields):
    """G7."""
    shelf.commit(make_prompt("same", "1"))

    done = shelf.commit(make_prompt(**{"content": "same", "native_id": "1", **fields}))

    assert (done.records, done.placements) == (1, 0)


def test_an_event_that_says_more_is_a_new_version(shelf: StoreHarness):
    """G7."""
    shelf.commit(make_event("notice", "1", metadata={"note": "a"}))

    done = shelf.commit(make_event("notice", "1", metadata={"note": "b"}))

    assert done.records == 1


@pytest.mark.parametrize("kind", ["opened", "context"])
def test_what_a_line_says_of_its_surroundings_is_no_new_version(
    shelf: StoreHarness, kind: str
):
    """G7."""
    shelf.commit(make_event(kind, "1", metadata={"cwd": "/a"}))

    done = shelf.commit(make_event(kind, "1", metadata={"cwd": "/a", "version": "2"}))

    assert done.records == 0


# Forks


def test_a_fork_shares_its_records_and_has_places_of_its_own(shelf: StoreHarness):
    """G1."""
    for name in ("a", "b"):
        shared = [make_prompt(f"{n}", f"n{n}", session=make_key(name)) for n in "12"]
        own = make_prompt(name, name, session=make_key(name))
        shelf.commit(*shared, own, log=f"{name}.jsonl")

    assert (shelf.count("record"), shelf.count("placement")) == (4, 6)
    assert shelf.contents("a") == ["1", "2", "a"]
    assert shelf.contents("b") == ["1", "2", "b"]


def test_a_record_shown_in_a_fork_belongs_to_the_fork(shelf: StoreHarness):
    """G1."""
    for name in ("a", "b"):
        record = make_prompt("one", "1", session=make_key(name))
        shelf.commit(record, log=f"{name}.jsonl")

    (placed,) = shelf.list_records("b")
    assert placed.record.session == make_key("b")
    assert placed.path == str(LOGS / "b.jsonl")


def test_a_version_found_in_a_fork_is_shown_in_both(shelf: StoreHarness):
    """G1, G7."""
    shelf.commit(make_prompt("old", "1", session=make_key("a")), log="a.jsonl")
    shelf.commit(make_prompt("new", "1", session=make_key("b")), log="b.jsonl")

    assert shelf.contents("a") == shelf.contents("b") == ["new"]


def test_forked_sessions_count_units_of_their_own(shelf: StoreHarness):
    """G1."""
    for name in ("a", "b"):
        records = [make_prompt(f"{n}", f"n{n}", session=make_key(name)) for n in "123"]
        shelf.commit(*records, log=f"{name}.jsonl")

    assert [shelf.session(name).units for name in "ab"] == [3, 3]


# Units


@pytest.mark.parametrize("keep", [commit_each, commit_together])
def test_a_prompt_starts_a_unit(shelf: StoreHarness, keep):
    keep(
        shelf,
        make_event("opened", "0"),
        make_prompt("one", "1"),
        make_record("yes", "2"),
        make_prompt("two", "3"),
        make_record("no", "4"),
    )

    assert units(shelf) == [(0, ""), (1, "one"), (1, "yes"), (2, "two"), (2, "no")]


@pytest.mark.parametrize("keep", [commit_each, commit_together])
def test_a_command_the_agent_answers_starts_a_unit(shelf: StoreHarness, keep):
    keep(
        shelf,
        make_prompt("/init", "1", metadata=COMMAND),
        make_event("notice", "2", content="running"),
        make_record("done", "3"),
        make_event("turn_ended", "4"),
    )

    assert units(shelf) == [(1, "/init"), (1, "running"), (1, "done"), (1, "")]
    assert shelf.session().units == 1


@pytest.mark.parametrize("keep", [commit_each, commit_together])
def test_a_command_nobody_answers_starts_no_unit(shelf: StoreHarness, keep):
    keep(
        shelf,
        make_prompt("/model", "1", metadata=COMMAND),
        make_event("notice", "2", content="set"),
        make_prompt("hello", "3"),
        make_record("hi", "4"),
    )

    assert units(shelf) == [(0, "/model"), (0, "set"), (1, "hello"), (1, "hi")]


@pytest.mark.parametrize("keep", [commit_each, commit_together])
def test_units_after_an_answered_command_keep_their_numbers(shelf: StoreHarness, keep):
    keep(
        shelf,
        make_prompt("zero", "0"),
        make_prompt("/init", "1", metadata=COMMAND),
        make_record("done", "2"),
        make_prompt("next", "3"),
        make_record("ok", "4"),
        make_prompt("/again", "5", metadata=COMMAND),
        make_record("yes", "6"),
        make_prompt("last", "7"),
    )

    assert [unit for unit, _ in units(shelf)] == [1, 2, 2, 3, 3, 4, 4, 5]


@pytest.mark.parametrize("keep", [commit_each, commit_together])
def test_a_shell_command_starts_a_unit_only_when_it_is_answered(
    shelf: StoreHarness, keep
):
    shell = {"origin": "shell"}
    keep(
        shelf,
        make_prompt("! ls", "1", metadata=shell),
        make_event("notice", "2", content="a b"),
        make_prompt("! pwd", "3", metadata=shell),
        make_record("I see", "4"),
    )

    assert units(shelf) == [(0, "! ls"), (0, "a b"), (1, "! pwd"), (1, "I see")]


@pytest.mark.parametrize("kind", ["thinking", "tool_use", "assistant_message"])
def test_any_word_of_the_agent_is_an_answer(shelf: StoreHarness, kind: str):
    shelf.commit(
        make_prompt("/init", "1", metadata=COMMAND), make_record("x", "2", type=kind)
    )

    assert shelf.session().units == 1


@pytest.mark.parametrize("kind", ["tool_result", "system_event", "error"])
def test_what_the_agent_did_not_say_is_no_answer(shelf: StoreHarness, kind: str):
    shelf.commit(
        make_prompt("/init", "1", metadata=COMMAND), make_record("x", "2", type=kind)
    )

    assert shelf.session().units == 0


def test_an_answer_in_another_session_answers_no_command_here(shelf: StoreHarness):
    shelf.commit(make_prompt("/init", "1", metadata=COMMAND))
    shelf.commit(make_record("done", "2", session=make_key("b")), log="b.jsonl")

    assert shelf.session().units == 0


def test_a_command_answered_in_a_later_run_has_its_chat_id(shelf: StoreHarness):
    shelf.commit(make_prompt("/init", "1", metadata=COMMAND))
    shelf.commit(make_record("done", "2"))

    with shelf.reader() as reader:
        ((_, unit, _),) = reader.find_units_by_prefix("chat-")
    assert unit == 1


# Titles


def make_title(text: str, kind: str, **told: str):
    return make_event("title", content=text, metadata={"title_kind": kind, **told})


@pytest.mark.parametrize("keep", [commit_each, commit_together])
def test_the_title_of_the_highest_rank_stands(shelf: StoreHarness, keep):
    kinds = ["ai", "summary", "custom", "agent", "ai"]
    keep(shelf, make_prompt("one", "1"), *[make_title(kind, kind) for kind in kinds])

    assert shelf.session().title == "custom"


def test_of_one_rank_the_last_title_stands(shelf: StoreHarness):
    shelf.commit(
        make_prompt("one", "1"), make_title("old", "ai"), make_title("new", "ai")
    )

    assert shelf.session().title == "new"


def test_a_title_given_again_stands_again(shelf: StoreHarness):
    titles = [make_title(text, "custom") for text in ("a", "b", "a")]
    shelf.commit(make_prompt("one", "1"), *titles)

    assert shelf.session().title == "a"


def test_an_empty_title_takes_no_name_away(shelf: StoreHarness):
    shelf.commit(
        make_prompt("one", "1"), make_title("a", "custom"), make_title("", "custom")
    )

    assert shelf.session().title == "a"


@pytest.mark.parametrize("order", [1, -1], ids=["leaf first", "summary first"])
@pytest.mark.parametrize("is_together", [True, False])
def test_a_summary_names_the_session_its_leaf_stands_in(
    shelf: StoreHarness, order: int, is_together
):
    """G5."""
    old = make_chunk(
        make_prompt("one", "leaf", session=make_key("old")), log="old.jsonl"
    )
    told = {"title_kind": "summary", "leaf": "leaf"}
    summary = make_event("title", content="A", metadata=told, session=make_key("new"))
    new = make_chunk(summary, log="new.jsonl")
    readings = [old, new][::order]
    for batch in [readings] if is_together else [[each] for each in readings]:
        shelf.store.commit(batch)

    assert shelf.session("old").title == "A"
    assert shelf.session("new").title == ""


def test_a_summary_of_an_unknown_leaf_names_nobody(shelf: StoreHarness):
    shelf.commit(make_prompt("one", "1"), make_title("A", "summary", leaf="unknown"))

    assert shelf.session().title == "one"


# Copies


def show_progress(talk: ClaudeLogBuilder, text: str, uuid: str, **message: object):
    """A subagent's line as its parent's log shows it."""
    said = {"id": "m1", "content": [{"type": "text", "text": text}], **message}
    inner = {"type": "assistant", "uuid": uuid, "message": said}
    data = {"type": "agent_progress", "agentId": "x", "message": inner}
    return talk.line("progress", data=data, parentToolUseID="call")


def write_original(claude: ClaudeHome, text: str, uuid: str, **message: object) -> None:
    said = {"id": "m1", "content": [{"type": "text", "text": text}], **message}
    line = {"type": "assistant", "uuid": uuid, "isSidechain": True, "message": said}
    name = f"-home-dev-app/{SESSION}/subagents/agent-x.jsonl"
    claude.write(line, name=name)


def child_of(claude: ClaudeHome, shelf: StoreHarness):
    claude.sync(shelf.store)
    with shelf.reader() as reader:
        (child,) = [s for s in reader.list_sessions() if s.is_subagent]
        told = [p.record for p in reader.list_records(child.row)]
    return child, [r.content for r in told if r.type == "assistant_message"]


def test_a_copy_is_shown_while_there_is_no_original(
    claude: ClaudeHome, shelf: StoreHarness
):
    """G5."""
    claude.write(show_progress(ClaudeLogBuilder(), "seen", "u1"))

    assert child_of(claude, shelf)[1] == ["seen"]


@pytest.mark.parametrize("uuid", ["u1", "u2"], ids=["same id", "another id"])
@pytest.mark.parametrize("is_copy_first", [True, False])
def test_copies_are_hidden_once_there_are_originals(
    claude: ClaudeHome, shelf: StoreHarness, uuid: str, is_copy_first
):
    """G5."""
    steps = [
        lambda: claude.write(show_progress(ClaudeLogBuilder(), "seen", "u1")),
        lambda: write_original(claude, "seen", uuid),
    ]
    for step in steps if is_copy_first else steps[::-1]:
        step()
        claude.sync(shelf.store)

    assert child_of(claude, shelf)[1] == ["seen"]


@pytest.mark.parametrize("uuid", ["u1", "u2"], ids=["same id", "another id"])
def test_a_hidden_copy_is_not_found(claude: ClaudeHome, shelf: StoreHarness, uuid: str):
    claude.write(show_progress(ClaudeLogBuilder(), "needle", "u1"))
    write_original(claude, "needle", uuid)
    claude.sync(shelf.store)

    assert len(shelf.search("needle")) == 1


@pytest.mark.parametrize("uuid", ["u1", "u2"], ids=["same id", "another id"])
def test_a_hidden_copys_calls_are_not_counted(
    claude: ClaudeHome, shelf: StoreHarness, uuid: str
):
    call = [{"type": "tool_use", "id": "c", "name": "Bash", "input": {}}]
    claude.write(show_progress(ClaudeLogBuilder(), "", "u1", content=call))
    write_original(claude, "", uuid, content=call)

    assert child_of(claude, shelf)[0].tool_calls == 1


def test_a_copys_tokens_count_once(claude: ClaudeHome, shelf: StoreHarness):
    usage = {"input_tokens": 7}
    claude.write(show_progress(ClaudeLogBuilder(), "seen", "u1", usage=usage))
    write_original(claude, "seen", "u2", usage=usage)

    assert child_of(claude, shelf)[0].usage == Usage(7)


# Noise and rejects


def test_what_is_no_record_is_counted(shelf: StoreHarness):
    noise = (Noise(0, 5, "a"), Noise(5, 5, "b"))
    shelf.commit(noise=noise, rejected=(Rejection(10, 5, "torn", b"d", b"head"),))

    with shelf.reader() as reader:
        counts = reader.count_rows()
        (rejected,) = reader.list_rejected(5)
    assert (counts["noise"], counts["rejected"]) == (2, 1)
    assert (rejected["offset"], rejected["length"], rejected["reason"]) == (
        10,
        5,
        "torn",
    )


def test_a_new_generation_starts_its_own_counts(shelf: StoreHarness):
    """B1."""
    noise, rejected = (Noise(0, 5, "a"),), (Rejection(10, 5, "torn", b"d", b"head"),)
    shelf.commit(noise=noise, rejected=rejected)

    shelf.commit(noise=noise, rejected=rejected, generation=2)

    assert (shelf.count("noise"), shelf.count("rejected")) == (1, 1)


def test_a_generation_that_changes_within_a_commit_leaves_no_old_counts(
    shelf: StoreHarness,
):
    """B1."""
    noise = (Noise(0, 5, "a"),)

    shelf.store.commit([make_chunk(noise=noise, generation=n) for n in (1, 2)])

    assert shelf.execute("SELECT generation FROM noise") == [(2,)]


def test_two_sources_keep_counts_of_their_own(shelf: StoreHarness):
    shelf.commit(noise=(Noise(0, 5, "a"),), log="a.jsonl")
    shelf.commit(noise=(Noise(0, 5, "a"),), log="b.jsonl")

    shelf.commit(generation=2, log="a.jsonl")

    assert shelf.count("noise") == 1


# Order and size


def test_more_entries_than_one_question_holds_are_all_known(shelf: StoreHarness):
    records = [make_prompt(f"{n}", f"n{n}") for n in range(1203)]
    shelf.commit(*records)

    done = shelf.commit(*records, generation=2)

    assert (done.records, done.placements) == (0, 0)


def test_records_stand_in_the_order_they_were_read(shelf: StoreHarness):
    """G6."""
    late_first = [
        make_record(f"{n}", f"n{n}", created_at=time_at(-n)) for n in range(9)
    ]
    shelf.commit(*late_first)

    assert shelf.contents() == [f"{n}" for n in range(9)]


@pytest.mark.parametrize("size", [1, 2, 3, 7])
def test_how_much_goes_into_a_commit_changes_nothing(
    tmp_path: Path, clock: FakeClock, size: int
):
    """E1."""
    records = [
        make_prompt("/a", "1", metadata=COMMAND),
        make_record("b", "2", usage=Usage(1), message_id="m"),
        make_prompt("c", "3"),
        make_record("d"),
        make_record("d"),
        make_prompt("e", "3"),
        make_record("f", "2", usage=Usage(3), message_id="m"),
    ]
    with StoreHarness(tmp_path / "data" / "store.db", clock) as shelf:
        for start in range(0, len(records), size):
            shelf.commit(*records[start : start + size])

        assert units(shelf) == [(1, "/a"), (1, "f"), (2, "e"), (2, "d"), (2, "d")]
        assert shelf.session().usage == Usage(3)


def test_a_log_read_line_by_line_gives_what_it_gives_at_once(claude: ClaudeHome):
    """E1."""
    talk = ClaudeLogBuilder()
    lines = [
        talk.prompt("<command-name>/init</command-name>"),
        talk.answer("done"),
        talk.prompt("next"),
        {"type": "custom-title", "customTitle": "t"},
        talk.answer("ok"),
    ]
    told = []
    for name, sizes in (("a", [5]), ("b", [1] * 5)):
        home = ClaudeHome(claude.home, claude.home / name / "store.db", claude.clock)
        path, at_ = home.log(), 0
        path.write_bytes(b"")
        for size in sizes:
            append(path, encode_json_lines(*lines[at_ : at_ + size]))
            home.sync()
            at_ += size
        with StoreHarness(home.store_path, home.clock) as shelf:
            told.append(units(shelf, SESSION))

    assert told[0] == told[1]


def test_one_reading_may_hold_records_of_many_sessions(shelf: StoreHarness):
    """G4."""
    records = [make_prompt(name, name, session=make_key(name)) for name in "abc"]
    entries = tuple(make_entry(record, n) for n, record in enumerate(records))
    reading = DecodedChunk(
        source=make_source(LOGS / "a.jsonl"),
        cursor=Cursor(),
        decoder_version=1,
        entries=entries,
    )

    shelf.store.commit([reading])

    assert [shelf.contents(name) for name in "abc"] == [["a"], ["b"], ["c"]]


def test_a_rewritten_log_shows_its_new_words(claude: ClaudeHome):
    """B3, G7."""
    line = encode_json_lines(ClaudeLogBuilder().prompt("old words"))
    claude.log().write_bytes(line)
    claude.sync()
    rewrite_in_place(claude.log(), line.replace(b"old", b"new"))
    claude.sync()

    with StoreHarness(claude.store_path, claude.clock) as shelf:
        assert shelf.contents(SESSION) == ["", "new words"]
