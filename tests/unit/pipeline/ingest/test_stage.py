"""Test the ingest stage on real files and a real store."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from leslied import tail
from leslied.pipeline import Budget
from leslied.pipeline.failures import Failures
from leslied.pipeline.ingest import backlog
from leslied.pipeline.ingest.batch import BATCH_WEIGHT, DAEMON_BATCH_WEIGHT, Slice
from leslied.pipeline.work_marker import WorkMarker
from leslied.store import Store, StoreReader
from leslied.store.write.transaction import Transaction
from tests.support.claude import ClaudeHome, ClaudeLogBuilder, encode_json_lines
from tests.support.clock import FakeClock


def test_a_second_sync_decodes_nothing(claude: ClaudeHome):
    builder = ClaudeLogBuilder()
    claude.write(builder.prompt("hello"), builder.answer("hi"))
    first = claude.sync()

    second = claude.sync()

    assert (first.entries, first.added.records) == (2, 3)
    assert (second.entries, second.bytes_read, second.commits) == (0, 0, 0)


def test_only_appended_bytes_are_read(claude: ClaudeHome):
    builder = ClaudeLogBuilder()
    claude.write(*[builder.prompt("x" * 5000) for _ in range(100)])
    claude.sync()
    claude.write(line := builder.prompt("one more"))

    report = claude.sync()

    assert report.entries == 1
    assert report.bytes_read < 1000
    with StoreReader(claude.store_path) as reader:
        (session,) = reader.list_sessions()
        assert session.units == 101
        assert [p.record.native_id for p in reader.list_records(session.key)][-1] == (
            line["uuid"]
        )


def test_a_final_read_of_incomplete_logs_continues_from_their_cursors(
    claude: ClaudeHome,
):
    title = {"type": "custom-title", "customTitle": "One", "sessionId": "x"}
    claude.write(title, title)
    with claude.log().open("ab") as log:
        log.write(b'{"type": "custom-title", "customTitle": "Tw')
    first = claude.sync()

    final = claude.sync(is_final=True)

    assert first.added.placements == 2
    assert final.added.placements == 0


@pytest.mark.fault("E15")
def test_a_source_that_fails_unexpectedly_does_not_stop_the_others(
    claude: ClaudeHome, monkeypatch: pytest.MonkeyPatch
):
    builder, other_builder = (
        ClaudeLogBuilder(),
        ClaudeLogBuilder("22222222-2222-4333-8444-555555555555"),
    )
    bad = claude.write(builder.prompt("one"))
    claude.write(
        other_builder.prompt("two"),
        name=f"-home-dev-app/{other_builder.session_id}.jsonl",
    )

    read = tail.read

    def fail_for_bad_source(source: Any, *args: Any, **options: Any) -> Any:
        if source.path == bad:
            raise ZeroDivisionError
        return read(source, *args, **options)

    with monkeypatch.context() as patch:
        patch.setattr(tail, "read", fail_for_bad_source)
        report = claude.sync()

    assert report.entries == 1
    assert report.failures[bad].startswith("unexpected ZeroDivisionError")
    assert claude.sync().entries == 1


def test_a_failing_commit_affects_only_its_source_and_moves_no_cursor(
    claude: ClaudeHome, monkeypatch: pytest.MonkeyPatch
):
    builder, other_builder = (
        ClaudeLogBuilder(),
        ClaudeLogBuilder("22222222-2222-4333-8444-555555555555"),
    )
    bad = claude.write(builder.prompt("one"), builder.prompt("two"))
    claude.write(
        other_builder.prompt("two"),
        name=f"-home-dev-app/{other_builder.session_id}.jsonl",
    )
    add = Transaction.add

    def fail_for_bad_source(transaction: Transaction, chunk: Any) -> None:
        if chunk.source.path == bad:
            raise ZeroDivisionError
        add(transaction, chunk)

    with monkeypatch.context() as patch:
        patch.setattr(Transaction, "add", fail_for_bad_source)
        report = claude.sync()
    again = claude.sync()

    assert list(report.failures) == [bad]
    assert report.added.records > 0
    assert again.entries == 2
    assert again.failures == {}


def find_scan_time(claude: ClaudeHome) -> int:
    """Return when the last complete scan started, in nanoseconds; 0 for never."""
    with StoreReader(claude.store_path) as reader:
        return int(reader.summarize_agents()[0]["looked_ns"])


def test_a_scan_that_leaves_sources_for_the_next_run_is_not_complete(
    claude: ClaudeHome,
):
    """Status must not take the sources that were left out for read ones."""
    claude.slice = Slice(max_bytes=10**9, max_entries=10**9, max_sources=1)
    for number in range(2):
        builder = ClaudeLogBuilder(f"{number}2222222-2222-4333-8444-555555555555")
        claude.write(builder.prompt("one"), name=f"-app/{builder.session_id}.jsonl")
    claude.sync()
    scan_time = find_scan_time(claude)
    claude.slice = None
    claude.sync()

    assert scan_time == 0
    assert find_scan_time(claude) > 0


@pytest.mark.parametrize("weight", [1, BATCH_WEIGHT])
def test_a_failing_commit_keeps_the_entries_after_it_waiting(
    claude: ClaudeHome, clock: FakeClock, monkeypatch: pytest.MonkeyPatch, weight: int
):
    claude.limits = tail.ReadLimits(entries=1)
    builder = ClaudeLogBuilder()
    claude.write(*[builder.prompt(f"{number}") for number in range(3)])
    add = Transaction.add

    def fail_for_first_line(transaction: Transaction, chunk: Any) -> None:
        if chunk.entries and not chunk.entries[0].offset:
            raise ZeroDivisionError
        add(transaction, chunk)

    with Store(claude.store_path, clock) as store:
        with monkeypatch.context() as patch:
            patch.setattr(Transaction, "add", fail_for_first_line)
            replace(claude.make_ingest(store), weight=weight).scan()
        again = claude.make_ingest(store).scan()

    assert again.entries == 3
    assert list_prompts(claude) == ["0", "1", "2"]


def list_prompts(claude: ClaudeHome) -> list[str]:
    """Return the prompts in the store, in the order in which they were read."""
    with StoreReader(claude.store_path) as reader:
        (session,) = reader.list_sessions()
        placed = reader.list_records(session.key)
    return [p.record.content for p in placed if p.record.type == "user_message"]


def test_a_rewritten_log_is_decoded_without_the_state_of_the_old_one(
    claude: ClaudeHome,
):
    builder = ClaudeLogBuilder()
    log = claude.write(
        builder.prompt("go"),
        builder.line("queue-operation", operation="enqueue", content="of the old log"),
    )
    claude.sync()
    log.write_bytes(
        encode_json_lines(
            builder.prompt("go on"),
            builder.line("queue-operation", operation="enqueue", content="of the new"),
            builder.line("queue-operation", operation="remove"),
        )
    )
    claude.sync()

    assert list_prompts(claude) == ["go", "go on", "of the new"]


@pytest.mark.parametrize("weight", [DAEMON_BATCH_WEIGHT, BATCH_WEIGHT])
def test_every_line_of_a_long_log_is_stored_in_order(
    claude: ClaudeHome, clock: FakeClock, weight: int
):
    builder = ClaudeLogBuilder()
    prompts = [f"prompt {number}" for number in range(7_001)]
    claude.write(*map(builder.prompt, prompts))

    with Store(claude.store_path, clock) as store:
        report = replace(claude.make_ingest(store), weight=weight).scan()

    assert report.entries == len(prompts)
    assert list_prompts(claude) == prompts


def count_gone(claude: ClaudeHome) -> int:
    with StoreReader(claude.store_path) as reader:
        return int(reader.summarize_agents()[0]["gone"])


def test_a_log_is_no_longer_gone_when_its_root_is_configured_again(
    claude: ClaudeHome, tmp_path: Path
):
    claude.write(ClaudeLogBuilder().prompt("one"))
    claude.sync()
    home, claude.home = claude.home, tmp_path / "other"
    for folder in (".claude", ".config/claude"):
        (claude.home / folder / "projects").mkdir(parents=True)
    claude.sync()
    gone_before = count_gone(claude)
    claude.home = home

    report = claude.sync()

    assert (gone_before, count_gone(claude)) == (1, 0)
    assert report.added.records == 0
    assert claude.sync().commits == 0


@pytest.mark.fault("A16")
def test_many_rejected_lines_are_counted_but_stored_as_a_few_ranges(
    claude: ClaudeHome,
):
    claude.log().write_bytes(b"x\n" * 20_000)

    report = claude.sync()

    with StoreReader(claude.store_path) as reader:
        rows = reader.list_rejected(20_000)
        counts = reader.count_rows()
        (agent,) = reader.summarize_agents()
    assert report.rejected == counts["rejected"] == 20_000
    assert agent["rejected"] == 20_000
    assert len(rows) == 4 * tail.ReadLimits().rejections
    assert rows[-1]["reason"] == "4901 entries could not be decoded"
    assert rows[-1]["offset"] + rows[-1]["length"] == 39_999


def test_rejected_lines_count_for_the_size_of_a_commit(claude: ClaudeHome):
    """Without that, one commit would have all rejections of a log."""
    claude.limits = tail.ReadLimits(entries=100)
    claude.log().write_bytes(b"x\n" * 50_000)

    report = claude.sync()

    assert report.commits == 50_000 // BATCH_WEIGHT + 1


def test_a_slice_of_a_large_log_does_not_keep_other_logs_waiting(claude: ClaudeHome):
    claude.limits = tail.ReadLimits(entries=100)
    claude.slice = Slice(max_bytes=10**9, max_entries=300)
    large = claude.log("-home-dev-app/00000000-0000-4333-8444-555555555555.jsonl")
    large.write_bytes(b"{}\n" * 1000)
    claude.write(ClaudeLogBuilder().prompt("hello"))

    reports = [claude.sync() for _ in range(5)]

    assert [report.entries for report in reports] == [301, 300, 300, 100, 0]
    assert [report.unfinished for report in reports] == [{large}] * 3 + [set()] * 2
    assert [report.has_more for report in reports] == [True] * 3 + [False] * 2
    assert sum(report.added.records for report in reports) == 1002


def test_the_next_slice_does_not_read_the_bytes_before_it(claude: ClaudeHome):
    claude.limits = tail.ReadLimits(chunk=10_000)
    claude.slice = Slice(max_bytes=20_000, max_entries=10**9)
    builder = ClaudeLogBuilder()
    claude.write(*[builder.prompt("x" * 100) for _ in range(500)])
    size = claude.log().stat().st_size

    reports = [claude.sync()]
    while reports[-1].has_more:
        reports.append(claude.sync())

    assert len(reports) > 5
    assert max(report.bytes_read for report in reports) < 21_000
    assert sum(report.bytes_read for report in reports) < size * 1.2
    assert sum(report.entries for report in reports) == 500


@pytest.mark.fault("F7")
@pytest.mark.parametrize("is_scan", [True, False])
def test_many_files_do_not_keep_the_newest_log_waiting(
    claude: ClaudeHome, clock: FakeClock, *, is_scan: bool
):
    claude.slice = Slice(max_bytes=10**9, max_entries=10**9, max_sources=10)
    logs = []
    for number in range(25):
        builder = ClaudeLogBuilder(f"{number:08}-0000-4333-8444-555555555555")
        logs.append(claude.log(f"-home-dev-app/{builder.session_id}.jsonl"))
        logs[-1].parent.mkdir(parents=True, exist_ok=True)
        logs[-1].write_bytes(encode_json_lines(builder.prompt("hello")))
        os.utime(logs[-1], (number, number))
    with Store(claude.store_path, clock) as store:
        stage = claude.make_ingest(store)
        reports = [stage.run(Budget(changed_paths=None if is_scan else logs))]
        while reports[-1].has_more:
            reports.append(stage.run(Budget(changed_paths=())))

    assert reports[0].unfinished == set(logs[:15])
    assert [report.entries for report in reports] == [10, 10, 5]


class DaemonIngest:
    """The ingest stage of the daemon, with small slices, and a log for each session."""

    def __init__(self, claude: ClaudeHome, store: Store) -> None:
        claude.limits = tail.ReadLimits(chunk=20_000, entries=50)
        claude.slice = Slice(max_bytes=20_000, max_entries=50, max_small_bytes=5_000)
        self.claude, self.stage = claude, claude.make_ingest(store)
        self.store = store

    def write(self, number: int, lines: int) -> Path:
        """Write the log of a session with this many prompts, and return its path."""
        builder = ClaudeLogBuilder(f"{number:08}-0000-4333-8444-555555555555")
        return self.claude.write(
            *[builder.prompt(f"prompt {line}") for line in range(lines)],
            name=f"-home-dev-app/{builder.session_id}.jsonl",
        )

    def run(self, *changed_paths: Path, is_yielding: bool = False) -> list[str]:
        """Run the stage; return the session of each chunk that it committed."""
        committed: list[str] = []
        commit = self.store.commit

        def record(chunks: Any) -> Any:
            committed.extend(chunk.source.path.stem[7:8] for chunk in chunks)
            return commit(chunks)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(self.store, "commit", record)
            self.report = self.stage.run(
                Budget(changed_paths=changed_paths, should_yield=lambda: is_yielding)
            )
        return committed


@pytest.fixture
def daemon_ingest(claude: ClaudeHome, clock: FakeClock) -> Iterator[DaemonIngest]:
    with Store(claude.store_path, clock) as store:
        yield DaemonIngest(claude, store)


def test_a_live_log_is_committed_before_the_backlog(daemon_ingest: DaemonIngest):
    large, live = daemon_ingest.write(1, 500), daemon_ingest.write(2, 1)

    assert daemon_ingest.run(large, live) == ["2", "1"]


def test_a_slice_ends_at_its_number_of_lines(daemon_ingest: DaemonIngest):
    large = daemon_ingest.write(1, 500)

    daemon_ingest.run(large)

    assert daemon_ingest.report.entries == 50
    assert daemon_ingest.report.has_more


def test_a_slice_ends_at_its_number_of_bytes(daemon_ingest: DaemonIngest):
    builder = ClaudeLogBuilder()
    large = daemon_ingest.claude.write(
        *[builder.prompt("x" * 5_000) for _ in range(20)]
    )

    daemon_ingest.run(large)

    assert 0 < daemon_ingest.report.entries < 5


def test_the_backlog_yields_to_new_entries_after_one_source(
    daemon_ingest: DaemonIngest,
):
    logs = [daemon_ingest.write(number, 500) for number in (1, 2, 3)]
    live = daemon_ingest.write(4, 1)

    runs = [daemon_ingest.run(*logs, is_yielding=True)]
    runs += [daemon_ingest.run(live, is_yielding=True)]
    daemon_ingest.write(4, 2)
    runs += [daemon_ingest.run(live, is_yielding=True) for _ in range(2)]

    # Each source of the backlog has its turn.
    assert runs == [["1"], ["4", "2"], ["4", "3"], ["1"]]


def test_everything_is_read_in_the_end_exactly_once(daemon_ingest: DaemonIngest):
    logs = [daemon_ingest.write(number, 130) for number in (1, 2, 3)]
    entries = 0
    daemon_ingest.run(*logs)
    entries += daemon_ingest.report.entries
    while daemon_ingest.report.has_more:
        daemon_ingest.run()
        entries += daemon_ingest.report.entries

    assert entries == 390


def test_a_log_that_was_being_read_at_a_kill_is_read_alone(
    claude: ClaudeHome, clock: FakeClock, tmp_path: Path
):
    with Store(claude.store_path, clock) as store:
        ingest = DaemonIngest(claude, store)
        logs = [ingest.write(number, 1) for number in (1, 2, 3)]
        marker = WorkMarker(tmp_path / "in-progress")
        marker.add("source", str(logs[0]))
        failures = Failures(store, clock, marker=marker)
        ingest.stage = replace(ingest.stage, failures=failures)

        committed = ingest.run(*logs)
        counts = [failures.count_attempts("source", str(log)) for log in logs]

    assert committed == ["2", "3", "1"]
    assert ingest.report.commits == 2
    assert counts == [0, 0, 0]


def test_a_large_source_is_in_the_work_marker_until_it_is_committed(
    claude: ClaudeHome,
    clock: FakeClock,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
):
    with Store(claude.store_path, clock) as store:
        ingest = DaemonIngest(claude, store)
        monkeypatch.setattr(backlog, "_MIN_RISKY_BYTES", 64 * 1024)
        logs = [ingest.write(number, 200) for number in (1, 2)]
        small_log = ingest.write(3, 1)
        path = tmp_path / "in-progress"
        failures = Failures(store, clock, marker=WorkMarker(path))
        ingest.stage = replace(ingest.stage, failures=failures)
        markers_at_commits: list[bytes] = []
        commit = store.commit

        def read_marker_and_commit(chunks: Any) -> Any:
            markers_at_commits.append(path.read_bytes())
            return commit(chunks)

        monkeypatch.setattr(store, "commit", read_marker_and_commit)
        ingest.run(*logs, small_log)

    names = b"".join(markers_at_commits)
    assert all(log.stem.encode() in names for log in logs)
    assert small_log.stem.encode() not in names
    assert path.read_bytes() == b""


def test_a_source_is_named_as_in_progress_before_it_is_read(
    claude: ClaudeHome,
    clock: FakeClock,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.setattr(backlog, "_MIN_RISKY_BYTES", 1)
    log, marker = claude.write(ClaudeLogBuilder().prompt("one")), tmp_path / "marker"
    read, named = tail.read, []

    def read_and_record(*args: Any, **options: Any) -> Any:
        named.append(marker.read_text())
        return read(*args, **options)

    monkeypatch.setattr(tail, "read", read_and_record)
    with Store(claude.store_path, clock) as store:
        failures = Failures(store, clock, marker=WorkMarker(marker))
        replace(claude.make_ingest(store), failures=failures).scan()

    assert [str(log) in text for text in named] == [True]


def test_a_paused_log_that_waits_in_the_backlog_is_not_read(
    claude: ClaudeHome, clock: FakeClock
):
    claude.slice = Slice(max_bytes=10**9, max_entries=10**9, max_sources=1)
    logs = [claude.log(f"-home-dev-app/{name}.jsonl") for name in ("new", "old")]
    for time, log in enumerate(reversed(logs)):
        log.write_bytes(b"{}\n")
        os.utime(log, (time, time))
    with Store(claude.store_path, clock) as store:
        failures = Failures(store, clock)
        failures.record("source", str(logs[1]), "it failed")
        stage = replace(claude.make_ingest(store), failures=failures)
        reports = [stage.run(Budget(changed_paths=logs))]
        reports.append(stage.run(Budget(changed_paths=())))
        clock.advance(3600)
        reports.append(stage.run(Budget(changed_paths=logs)))
        reports.append(stage.run(Budget(changed_paths=())))

    assert [report.entries for report in reports] == [1, 0, 0, 1]


def test_a_run_for_changed_files_continues_unfinished_logs(
    claude: ClaudeHome, clock: FakeClock
):
    claude.limits = tail.ReadLimits(entries=100)
    claude.slice = Slice(max_bytes=10**9, max_entries=100)
    claude.log().write_bytes(b"{}\n" * 300)
    with Store(claude.store_path, clock) as store:
        stage = claude.make_ingest(store)
        stage.run(Budget(changed_paths=[claude.log()]))
        reloaded = claude.make_ingest(store)
        reloaded.adopt(stage)
        reports = [reloaded.run(Budget(changed_paths=())) for _ in range(3)]

    assert [report.entries for report in reports] == [100, 100, 0]
