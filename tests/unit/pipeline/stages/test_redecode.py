"""Test the redecode stage: a raised decoder version decodes old entries again."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

from leslied.model.record import MAIN, Record, SessionKey
from leslied.pipeline import Budget, SettleReport, TranscriptStage
from leslied.queries.search import search_entries
from leslied.queries.search_query import parse_query
from leslied.sinks import OutputPolicy, leslie
from leslied.store import Store, StoreReader
from tests.support.claude import ADAPTER, SESSION, ClaudeHome, ClaudeLogBuilder
from tests.support.prune import list_session_ids, prune_sessions, sync_and_archive
from tests.support.redecode import (
    UpgradedAdapter,
    drop,
    make_ingest,
    make_stage,
    redecode,
    replace_text,
    split,
)

FORK = "99999999-2222-4333-8444-555555555555"
VERSION = ADAPTER.decoder_version
TRANSCRIPTS = ".leslie/threads/thread-11111111/.meta/transcripts"


@pytest.fixture
def ingested_log(claude: ClaudeHome, builder: ClaudeLogBuilder) -> Path:
    """Write and ingest a session of three units; return its log."""
    path = claude.write(
        *(builder.prompt("first"), builder.answer("one")),
        *(builder.prompt("second"), builder.answer("two")),
        *(builder.prompt("third"), builder.answer("three")),
    )
    claude.sync()
    return path


def settle(claude: ClaudeHome) -> SettleReport:
    policy = OutputPolicy(home=claude.home, central=claude.home / "c", user=os.getuid())
    with (
        Store(claude.store_path, claude.clock) as store,
        StoreReader(claude.store_path) as reader,
    ):
        return TranscriptStage(
            store=store,
            reader=reader,
            policy=policy,
            redactor=leslie.NoRedaction(),
            clock=claude.clock,
            zone=UTC,
            is_final=True,
            backfill="project",
        ).run()


def list_units(
    claude: ClaudeHome, session_id: str = SESSION, source: str = MAIN
) -> list[tuple[int, str]]:
    """Return the unit and the content of each record of a stream."""
    with StoreReader(claude.store_path) as reader:
        session = reader.find_session(SessionKey("claude-code", session_id, source))
        records = list(reader.list_records(session.key)) if session else []
    return [(placed.unit, placed.record.content) for placed in records]


def list_messages(claude: ClaudeHome, session_id: str = SESSION) -> list[str]:
    return [text for _, text in list_units(claude, session_id) if text]


def count_hits(claude: ClaudeHome, text: str) -> int:
    """Return how many entries contain a word."""
    query = parse_query(text, {"after": int, "before": int})
    with StoreReader(claude.store_path) as reader:
        result = search_entries(
            reader, query, "newest", 50, stop_cutoff_us=0, redact=lambda text: text
        )
    return len(result.hits)


def read_transcripts(project: Path) -> dict[str, tuple[str, int]]:
    """Return the text and the mtime of every transcript, by name."""
    return {
        path.name: (path.read_text(), path.stat().st_mtime_ns)
        for path in sorted((project / TRANSCRIPTS).glob("*.txt"))
    }


def get_agent(claude: ClaudeHome) -> dict[str, Any]:
    with StoreReader(claude.store_path) as reader:
        (agent,) = reader.summarize_agents()
    return agent


# What is due


@pytest.mark.usefixtures("ingested_log")
def test_nothing_is_decoded_while_the_version_is_the_same(claude: ClaudeHome):
    adapter = UpgradedAdapter(ADAPTER, version=VERSION)
    with Store(claude.store_path, claude.clock) as store:
        ingest = make_ingest(claude.home, store, adapter)
        report = make_stage(claude, store, ingest).run()

    assert (report.sources, adapter.decoded_entries) == (0, 0)


@pytest.mark.usefixtures("ingested_log")
def test_a_source_is_decoded_once_for_each_version(claude: ClaudeHome):
    first = redecode(claude)
    second = redecode(claude)
    third = redecode(claude, version=VERSION + 2)

    assert (first.sources, second.sources, third.sources) == (1, 0, 1)
    assert (first.entries, second.entries) == (6, 0)


def test_a_source_that_only_the_new_version_has_read_is_not_due(
    claude: ClaudeHome, builder: ClaudeLogBuilder
):
    claude.write(builder.prompt("first"))
    with Store(claude.store_path, claude.clock) as store:
        make_ingest(claude.home, store, UpgradedAdapter(ADAPTER)).scan()

    assert redecode(claude).sources == 0


def test_a_run_is_bounded_and_the_next_one_continues(claude: ClaudeHome):
    for number in range(5):
        builder = ClaudeLogBuilder(session_id=f"0000000{number}{SESSION[8:]}")
        claude.write(builder.prompt("old"), name=f"-app/{builder.session_id}.jsonl")
    claude.sync()

    change = replace_text("old", "new")
    # A small source counts as 64 KiB, so that two reach the limit.
    reports = [redecode(claude, change, max_bytes=100_000) for _ in range(3)]

    assert [report.sources for report in reports] == [2, 2, 1]
    assert [report.has_more for report in reports] == [True, True, False]
    assert (count_hits(claude, "old"), count_hits(claude, "new")) == (0, 5)


@pytest.mark.usefixtures("ingested_log")
def test_a_run_ends_after_its_bytes(claude: ClaudeHome):
    other = ClaudeLogBuilder(session_id=FORK)
    claude.write(other.prompt("more"), name=f"-app/{FORK}.jsonl")
    claude.sync()

    report = redecode(claude, max_bytes=1)

    assert (report.sources, report.has_more) == (1, True)


@pytest.mark.usefixtures("ingested_log")
def test_a_log_with_unread_entries_waits_until_they_are_read(
    claude: ClaudeHome, builder: ClaudeLogBuilder
):
    claude.write(builder.prompt("fourth"))

    before = redecode(claude)
    claude.sync()
    after = redecode(claude)

    assert (before.sources, after.sources) == (0, 1)


@pytest.mark.usefixtures("ingested_log")
def test_a_source_that_waits_does_not_hold_up_the_others(
    claude: ClaudeHome, builder: ClaudeLogBuilder
):
    other = ClaudeLogBuilder(session_id=FORK)
    claude.write(other.prompt("more"), name=f"-app/{FORK}.jsonl")
    claude.sync()
    claude.write(builder.prompt("fourth"))

    with Store(claude.store_path, claude.clock) as store:
        ingest = make_ingest(claude.home, store, UpgradedAdapter(ADAPTER))
        stage = make_stage(claude, store, ingest)
        reports = [stage.run(Budget(max_redecoded_bytes=1)) for _ in range(2)]

    assert [report.sources for report in reports] == [0, 1]


def test_a_failure_in_one_source_is_recorded_and_the_others_are_decoded(
    claude: ClaudeHome, ingested_log: Path, monkeypatch: pytest.MonkeyPatch
):
    other = ClaudeLogBuilder(session_id=FORK)
    claude.write(other.prompt("old"), name=f"-app/{FORK}.jsonl")
    claude.sync()
    monkeypatch.setattr(
        "leslied.tail.append.open_regular", fail_for(ingested_log, OSError("disk"))
    )

    report = redecode(claude, replace_text("old", "new"))

    assert list(report.errors) == [str(ingested_log)]
    assert list_messages(claude, FORK) == ["new"]


def fail_for(path: Path, error: Exception):
    """Return a replacement of `open_regular` that fails for one path."""
    from leslied.tail.files import open_regular  # noqa: PLC0415

    def open_or_fail(opened: Path, root: Path):
        if opened == path:
            raise error
        return open_regular(opened, root)

    return open_or_fail


def test_a_busy_daemon_puts_off_decoding(claude: ClaudeHome, ingested_log: Path):
    budget = Budget(changed_paths=[ingested_log], includes_backlog=False)
    with Store(claude.store_path, claude.clock) as store:
        ingest = make_ingest(claude.home, store, UpgradedAdapter(ADAPTER))
        report = make_stage(claude, store, ingest).run(budget)

    assert (report.sources, report.has_more) == (0, True)


@pytest.mark.usefixtures("ingested_log")
def test_a_stage_of_new_settings_continues_where_the_old_one_ended(
    claude: ClaudeHome, builder: ClaudeLogBuilder
):
    other = ClaudeLogBuilder(session_id=FORK)
    claude.write(other.prompt("more"), name=f"-app/{FORK}.jsonl")
    claude.sync()
    claude.write(builder.prompt("fourth"))

    with Store(claude.store_path, claude.clock) as store:
        ingest = make_ingest(claude.home, store, UpgradedAdapter(ADAPTER))
        old_stage, new_stage = (make_stage(claude, store, ingest) for _ in range(2))
        old_stage.run(Budget(max_redecoded_bytes=1))
        new_stage.adopt(old_stage)
        report = new_stage.run(Budget(max_redecoded_bytes=1))

    assert report.sources == 1


# What changes


@pytest.mark.usefixtures("ingested_log")
def test_changed_text_appears_and_the_old_text_is_not_found(claude: ClaudeHome):
    redecode(claude, replace_text("two", "better"))

    messages = ["first", "one", "second", "better", "third", "three"]
    assert list_messages(claude) == messages
    assert (count_hits(claude, "two"), count_hits(claude, "better")) == (0, 1)


@pytest.mark.usefixtures("ingested_log")
def test_metadata_that_does_not_make_a_version_is_updated(claude: ClaudeHome):
    def change(record: Record) -> list[Record]:
        model = "new-model" if record.type == "assistant_message" else ""
        return [structs.replace(record, model=model)]

    redecode(claude, change)

    with StoreReader(claude.store_path) as reader:
        (session,) = reader.list_sessions()
    assert session.model == "new-model"


@pytest.mark.usefixtures("ingested_log")
def test_an_entry_that_becomes_noise_disappears_and_units_are_renumbered(
    claude: ClaudeHome,
):
    redecode(claude, drop("second"))

    assert [item for item in list_units(claude) if item[1]] == [
        *((1, "first"), (1, "one"), (1, "two")),
        *((2, "third"), (2, "three")),
    ]
    with StoreReader(claude.store_path) as reader:
        (session,) = reader.list_sessions()
    assert session.units == 2
    assert count_hits(claude, "second") == 0


@pytest.mark.usefixtures("ingested_log")
def test_an_entry_that_becomes_two_records_is_placed_in_order(claude: ClaudeHome):
    redecode(claude, split("two", "two", "and a half"))

    assert [item for item in list_units(claude) if item[1]] == [
        *((1, "first"), (1, "one")),
        *((2, "second"), (2, "two"), (2, "and a half")),
        *((3, "third"), (3, "three")),
    ]


@pytest.mark.fault("A15")
@pytest.mark.usefixtures("ingested_log")
def test_an_entry_that_was_dropped_comes_back_with_a_later_version(claude: ClaudeHome):
    before = list_units(claude)

    redecode(claude, drop("second"))
    redecode(claude, version=VERSION + 2)

    assert list_units(claude) == before
    assert count_hits(claude, "second") == 1


@pytest.mark.usefixtures("ingested_log")
def test_ids_of_placements_stay_if_nothing_is_inserted(claude: ClaudeHome):
    with StoreReader(claude.store_path) as reader:
        newest = reader.change_feed.get_newest_read_order()

    redecode(claude, replace_text("two", "better"))
    redecode(claude, drop("three"), version=VERSION + 2)

    with StoreReader(claude.store_path) as reader:
        assert reader.change_feed.get_newest_read_order() == newest
        assert reader.change_feed.list_after(newest) == []


@pytest.mark.usefixtures("ingested_log")
def test_the_cursor_stays_and_new_entries_are_read_after_it(
    claude: ClaudeHome, builder: ClaudeLogBuilder
):
    redecode(claude, replace_text("two", "better"))
    claude.write(builder.prompt("fourth"))

    report = claude.sync()

    assert report.entries == 1
    assert list_messages(claude)[-2:] == ["three", "fourth"]


@pytest.mark.usefixtures("ingested_log")
def test_a_stopped_session_stays_stopped(claude: ClaudeHome):
    with Store(claude.store_path, claude.clock) as store:
        store.mark_stopped("claude-code", [SESSION])

    redecode(claude, replace_text("two", "better"))

    with StoreReader(claude.store_path) as reader:
        (session,) = reader.list_sessions()
    assert session.is_stopped


@pytest.mark.usefixtures("ingested_log")
def test_usage_of_a_message_that_changed_is_counted_once(claude: ClaudeHome):
    def halve(record: Record) -> list[Record]:
        if record.usage is None:
            return [record]
        usage = structs.replace(record.usage, input_tokens=5)
        return [structs.replace(record, usage=usage)]

    redecode(claude, halve)

    with StoreReader(claude.store_path) as reader:
        (session,) = reader.list_sessions()
    assert session.usage.input_tokens == 15


# Transcripts


@pytest.mark.usefixtures("ingested_log")
def test_only_the_unit_that_changed_is_rendered_and_written(
    claude: ClaudeHome, project: Path
):
    settle(claude)
    before = read_transcripts(project)

    redecode(claude, replace_text("two", "better"))
    report = settle(claude)

    after = read_transcripts(project)
    changed = {name for name in after if after[name] != before[name]}
    assert report.units == report.files_written == len(changed) == 1
    assert after.keys() == before.keys()
    assert "better" in after[changed.pop()][0]


@pytest.mark.usefixtures("ingested_log", "project")
def test_nothing_is_rendered_if_the_decoder_yields_the_same(claude: ClaudeHome):
    settle(claude)

    report = redecode(claude)

    assert report.sessions_changed == 0
    assert settle(claude).units == 0


@pytest.mark.usefixtures("ingested_log", "project")
def test_units_after_an_inserted_entry_are_not_rendered_again(claude: ClaudeHome):
    settle(claude)

    redecode(claude, split("one", "one", "and a half"))

    assert settle(claude).units == 1


@pytest.mark.usefixtures("ingested_log")
def test_transcripts_keep_their_names_when_units_are_renumbered(
    claude: ClaudeHome, project: Path
):
    settle(claude)
    before = read_transcripts(project)

    report = redecode(claude, drop("second"))
    settle_report = settle(claude)

    after = read_transcripts(project)
    (removed_name,) = before.keys() - after.keys()
    assert removed_name.endswith("second.txt")
    assert (report.files_removed, settle_report.units) == (1, 1)
    (third,) = [name for name in after if name.endswith("third.txt")]
    assert after[third] == before[third]


# Where the bytes come from


def test_a_log_that_is_gone_is_decoded_from_the_archive(
    claude: ClaudeHome, ingested_log: Path
):
    sync_and_archive(claude)
    ingested_log.unlink()
    claude.sync()

    report = redecode(claude, drop("second"))

    assert (report.sources, report.impossible) == (1, 0)
    assert list_messages(claude) == ["first", "one", "two", "third", "three"]
    assert not (claude.store_path.parent / "archive/.redecode").exists()


def test_a_log_that_is_gone_and_not_archived_is_left_as_it_is(
    claude: ClaudeHome, ingested_log: Path
):
    ingested_log.unlink()
    claude.sync()
    before = list_units(claude)

    report = redecode(claude, drop("second"))
    again = redecode(claude, drop("second"))

    assert (report.sources, report.impossible, again.impossible) == (0, 1, 0)
    assert list_units(claude) == before
    assert get_agent(claude)["decoder_versions"] == [(VERSION, VERSION + 1, 1)]


def test_entries_that_are_not_archived_stay_if_the_log_is_gone(
    claude: ClaudeHome, ingested_log: Path, builder: ClaudeLogBuilder
):
    sync_and_archive(claude)
    claude.write(builder.prompt("fourth"), builder.answer("four"))
    claude.sync()
    ingested_log.unlink()
    claude.sync()

    redecode(claude, replace_text("first", "changed"))

    messages = list_messages(claude)
    assert (messages[0], messages[-2:]) == ("changed", ["fourth", "four"])


def test_a_damaged_archive_changes_nothing(claude: ClaudeHome, ingested_log: Path):
    sync_and_archive(claude)
    ingested_log.unlink()
    claude.sync()
    (file,) = (claude.store_path.parent / "archive").rglob("*.zst")
    data = file.read_bytes()
    file.write_bytes(data[:-40] + bytes(20) + data[-20:])
    before = list_units(claude)

    report = redecode(claude, drop("second"))

    assert report.impossible == 1
    assert list_units(claude) == before


def test_a_last_line_without_a_line_end_is_decoded_again(
    claude: ClaudeHome, ingested_log: Path, builder: ClaudeLogBuilder
):
    claude.write(builder.prompt("last"))
    ingested_log.write_bytes(ingested_log.read_bytes()[:-1])
    claude.sync(is_final=True)

    redecode(claude, replace_text("last", "final"))

    assert list_messages(claude)[-1] == "final"


# Sessions that share entries


@pytest.fixture
def fork(
    claude: ClaudeHome, ingested_log: Path, builder: ClaudeLogBuilder
) -> Iterator[str]:
    """Write and ingest a fork of the session with one more answer."""
    name = f"-home-dev-app/{FORK}.jsonl"
    copy = ingested_log.read_text().replace(SESSION, FORK)
    claude.log(name).write_text(copy)
    builder.session_id = FORK
    claude.write(builder.prompt("fork"), builder.answer("four"), name=name)
    claude.sync()
    return FORK


def test_a_fork_shows_what_changed_in_the_entries_it_shares(
    claude: ClaudeHome, fork: str
):
    redecode(claude, replace_text("two", "better"))

    messages = ["first", "one", "second", "better", "third", "three"]
    assert list_messages(claude) == messages
    assert list_messages(claude, fork) == [*messages, "fork", "four"]


def test_an_entry_that_a_fork_shares_disappears_from_both(
    claude: ClaudeHome, fork: str
):
    redecode(claude, drop("second"))

    assert "second" not in list_messages(claude)
    assert "second" not in list_messages(claude, fork)
    assert count_hits(claude, "second") == 0


@pytest.mark.usefixtures("fork")
def test_usage_that_a_fork_shares_is_counted_once(claude: ClaudeHome):
    with StoreReader(claude.store_path) as reader:
        before = [session.usage for session in reader.list_sessions()]

    redecode(claude, replace_text("two", "better"))

    with StoreReader(claude.store_path) as reader:
        assert [session.usage for session in reader.list_sessions()] == before
    assert sum(usage.input_tokens for usage in before) == 4 * 10


@pytest.fixture
def subagent(claude: ClaudeHome, builder: ClaudeLogBuilder) -> str:
    """Write and ingest a session with a subagent; return the subagent's source."""
    claude.write(
        builder.prompt("delegate"),
        builder.call("Task", {"prompt": "look"}, "call_1"),
        builder.result("call_1", "seen", toolUseResult={"agentId": "abc"}),
        builder.answer("done"),
    )
    child = ClaudeLogBuilder(session_id=SESSION, cwd=builder.cwd)
    lines = [child.prompt("look"), child.answer("I saw it")]
    for number, line in enumerate(lines):
        line |= {"isSidechain": True, "agentId": "abc", "uuid": f"child-{number}"}
    claude.write(*lines, name=f"-home-dev-app/{SESSION}/subagents/agent-abc.jsonl")
    claude.sync()
    return "subagent:abc"


@pytest.mark.usefixtures("project")
def test_a_subagent_that_changed_makes_the_unit_of_its_call_due(
    claude: ClaudeHome, subagent: str
):
    settle(claude)

    redecode(claude, replace_text("I saw it", "I looked"))
    report = settle(claude)

    assert list_units(claude, SESSION, subagent)[-1] == (0, "I looked")
    assert (report.units, report.files_written) == (1, 1)


# What must not come back


@pytest.mark.usefixtures("ingested_log")
def test_pruned_entries_stay_pruned(claude: ClaudeHome):
    prune_sessions(claude, [SESSION])

    report = redecode(claude, split("two", "two", "and a half"))

    assert report.sources == 1
    assert list_session_ids(claude) == set()


@pytest.mark.usefixtures("ingested_log")
def test_entries_written_after_pruning_are_decoded_again(
    claude: ClaudeHome, builder: ClaudeLogBuilder
):
    prune_sessions(claude, [SESSION])
    claude.write(builder.prompt("fourth"), builder.answer("four"))
    claude.sync()

    redecode(claude, replace_text("four", "4"))

    assert list_messages(claude) == ["4th", "4"]


@pytest.mark.usefixtures("ingested_log")
def test_an_excluded_project_is_left_as_it_is(claude: ClaudeHome):
    before = list_units(claude)

    report = redecode(claude, drop("second"), is_excluded=lambda cwd: cwd != "")

    assert report.impossible == 1
    assert list_units(claude) == before


@pytest.mark.usefixtures("ingested_log")
def test_nothing_of_a_disabled_agent_is_decoded(claude: ClaudeHome):
    # Of a disabled agent, even sources without a folder are excluded.
    report = redecode(claude, drop("second"), is_excluded=lambda _: True)

    assert (report.sources, report.impossible) == (0, 0)


# Rewinds


def test_rewinds_are_found_in_a_store_that_did_not_record_them(
    claude: ClaudeHome, builder: ClaudeLogBuilder
):
    claude.write(builder.prompt("one"), one := builder.answer("1"))
    claude.write(builder.prompt("two"), builder.answer("2"))
    claude.write(builder.prompt("3", parentUuid=one["uuid"], version="2.1.197"))
    claude.sync()
    with closing(sqlite3.connect(claude.store_path)) as db, db:
        db.execute("UPDATE session SET forks = 'unknown'")

    redecode(claude)

    with StoreReader(claude.store_path) as reader:
        (session,) = reader.list_sessions()
    assert session.rewound == (range(2, 3),)
