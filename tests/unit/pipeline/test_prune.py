"""Sessions that were pruned are gone everywhere, and do not come back."""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path

import pytest

from leslied.agents import load_adapters
from leslied.errors import UserError
from leslied.lookup import list_sessions, parse_query
from leslied.pipeline.prune import PruneGuard, Pruner, find_store_copies
from leslied.pipeline.rebuild import Rebuild
from leslied.store import Store, StoreReader
from tests.support.claude import ADAPTER, ClaudeHome, ClaudeLogBuilder
from tests.support.golden import make_environment
from tests.support.prune import (
    check_store,
    list_contents,
    list_files_containing,
    list_session_ids,
    make_archiver,
    prune_sessions,
    sync_and_archive,
)

OLD = "aaaaaaaa-2222-4333-8444-555555555555"
NEW = "bbbbbbbb-2222-4333-8444-555555555555"


class TwoSessions:
    """A home with two sessions, of which one will go."""

    def __init__(self, claude: ClaudeHome) -> None:
        self.claude = claude
        self.old, self.new = ClaudeLogBuilder(OLD), ClaudeLogBuilder(NEW)
        claude.write(
            self.old.prompt("where is zanzibar"),
            {"type": "api-request", "body": "zanzibar as noise"},
            self.old.call("Read", {"file": "zanzibar.txt"}, "c1"),
            self.old.result("c1", "zanzibar contents"),
            self.old.answer("zanzibar is here"),
            {"type": "summary", "summary": "zanzibar title", "leafUuid": "elsewhere"},
            name=f"-app/{OLD}.jsonl",
        )
        with self.log.open("ab") as log:
            log.write(b"{ zanzibar, no JSON }\n")
        child = ClaudeLogBuilder(OLD)
        claude.write(
            child.prompt("zanzibar again", isSidechain=True, agentId="a1"),
            name=f"-app/{OLD}/subagents/agent-a1.jsonl",
        )
        claude.write(
            self.new.prompt("hello"),
            self.new.answer("hi"),
            name=f"-app/{NEW}.jsonl",
        )
        sync_and_archive(claude)

    @property
    def log(self) -> Path:
        return self.claude.log(f"-app/{OLD}.jsonl")

    @property
    def data(self) -> Path:
        return self.claude.store_path.parent

    def rebuild(self) -> None:
        roots = tuple(ADAPTER.roots(make_environment(self.claude.home), []))
        Rebuild(
            path=self.claude.store_path,
            archive_dir=self.data / "archive",
            agents=[(ADAPTER, roots)],
            clock=self.claude.clock,
        ).run()


@pytest.fixture
def two(claude: ClaudeHome) -> TwoSessions:
    return TwoSessions(claude)


def test_what_goes_takes_its_subagents_along_and_leaves_the_others(two: TwoSessions):
    done = prune_sessions(two.claude, [OLD])

    assert done.sessions == 1
    assert list_contents(two.claude) == ["hello", "hi"]
    check_store(two.claude)


def test_no_word_of_it_is_left_in_any_file(two: TwoSessions):
    before = list_files_containing(two.data, "zanzibar")
    done = prune_sessions(two.claude, [OLD])

    assert any(name == "store.db" for name in before)
    assert any(name.endswith(".zst") for name in before)
    assert list_files_containing(two.data, "zanzibar") == []
    assert done.archive_files == 2


def test_the_file_is_smaller_afterwards(claude: ClaudeHome):
    claude.write(
        ClaudeLogBuilder(OLD).prompt("long " * 200_000), name=f"-app/{OLD}.jsonl"
    )
    sync_and_archive(claude)
    before = claude.store_path.stat().st_size
    prune_sessions(claude, [OLD])

    assert claude.store_path.stat().st_size < before / 3


def test_copies_of_the_store_go_too(two: TwoSessions):
    copy = two.data / "store.db.before-rebuild"
    copy.write_bytes(two.claude.store_path.read_bytes())

    done = prune_sessions(two.claude, [OLD])

    assert find_store_copies(two.claude.store_path) == []
    assert done.store_copies == 1


def test_the_agents_log_is_not_touched(two: TwoSessions):
    before = two.log.read_bytes(), two.log.stat()

    prune_sessions(two.claude, [OLD])

    assert (two.log.read_bytes(), two.log.stat()) == before


def test_a_sync_does_not_bring_it_back(two: TwoSessions):
    prune_sessions(two.claude, [OLD])
    sync_and_archive(two.claude)

    assert list_session_ids(two.claude) == {NEW}
    assert list_files_containing(two.data, "zanzibar") == []


@pytest.mark.parametrize("is_whole", [True, False])
def test_a_log_that_is_read_from_its_beginning_does_not_bring_it_back(
    two: TwoSessions, *, is_whole: bool
):
    prune_sessions(two.claude, [OLD])
    data = two.log.read_bytes()
    two.log.unlink()
    two.log.write_bytes(data if is_whole else data[: data.index(b"\n") + 1])
    os.utime(two.log, (1, 1))
    sync_and_archive(two.claude)

    assert list_session_ids(two.claude) == {NEW}
    assert list_files_containing(two.data, "zanzibar") == []


def test_a_copy_of_the_log_elsewhere_does_not_bring_it_back(two: TwoSessions):
    prune_sessions(two.claude, [OLD])
    copy = two.claude.log(f"-renamed/{OLD}.jsonl")
    copy.write_bytes(two.log.read_bytes())
    os.utime(copy, (1, 1))
    sync_and_archive(two.claude)

    assert list_session_ids(two.claude) == {NEW}
    assert list_files_containing(two.data, "zanzibar") == []


def test_a_copy_of_the_log_that_was_archived_goes_too(two: TwoSessions):
    copy = two.claude.log(f"-renamed/{OLD}.jsonl")
    copy.write_bytes(two.log.read_bytes())
    os.utime(copy, (1, 1))
    sync_and_archive(two.claude)
    done = prune_sessions(two.claude, [OLD])

    assert done.archive_files == 3
    assert list_files_containing(two.data, "zanzibar") == []


@pytest.mark.parametrize("has_store", [True, False])
def test_a_rebuild_does_not_bring_it_back(two: TwoSessions, *, has_store: bool):
    prune_sessions(two.claude, [OLD])
    if not has_store:
        two.claude.store_path.write_bytes(b"no store any more")
    two.rebuild()
    sync_and_archive(two.claude)

    assert list_session_ids(two.claude) == {NEW}
    assert list_files_containing(two.data, "zanzibar") == []


def test_what_the_agent_adds_later_begins_the_session_anew(two: TwoSessions):
    prune_sessions(two.claude, [OLD])
    two.claude.write(two.old.prompt("later"), name=f"-app/{OLD}.jsonl")
    sync_and_archive(two.claude)

    assert list_contents(two.claude) == ["hello", "hi", "later"]
    assert list_files_containing(two.data, "zanzibar") == []
    with StoreReader(two.claude.store_path) as reader:
        (session,) = [s for s in reader.list_sessions() if s.key.session_id == OLD]
    assert (session.units, session.title) == (1, "later")


def test_what_was_added_later_outlives_a_rebuild(two: TwoSessions):
    prune_sessions(two.claude, [OLD])
    two.claude.write(two.old.prompt("later"), name=f"-app/{OLD}.jsonl")
    sync_and_archive(two.claude)
    two.rebuild()

    assert list_contents(two.claude) == ["hello", "hi", "later"]


def test_a_line_without_an_id_that_comes_again_later_is_new(claude: ClaudeHome):
    line = {"type": "custom-title", "customTitle": "same words", "sessionId": OLD}
    claude.write(ClaudeLogBuilder(OLD).prompt("one"), line, name=f"-app/{OLD}.jsonl")
    sync_and_archive(claude)
    prune_sessions(claude, [OLD])
    claude.write(line, name=f"-app/{OLD}.jsonl")
    sync_and_archive(claude)

    assert list_contents(claude) == ["same words"]


def test_a_session_can_be_pruned_again(two: TwoSessions):
    prune_sessions(two.claude, [OLD])
    two.claude.write(two.old.prompt("later"), name=f"-app/{OLD}.jsonl")
    sync_and_archive(two.claude)
    prune_sessions(two.claude, [OLD])
    two.rebuild()

    assert list_session_ids(two.claude) == {NEW}


def test_what_a_fork_shows_stays_and_counts_on_for_it(claude: ClaudeHome):
    talk = ClaudeLogBuilder(OLD)
    shared = [talk.prompt("shared question"), talk.answer("shared answer")]
    claude.write(*shared, talk.prompt("only here"), name=f"-app/{OLD}.jsonl")
    fork = [{**line, "sessionId": NEW} for line in shared]
    claude.write(
        *fork, ClaudeLogBuilder(NEW).prompt("only there"), name=f"-app/{NEW}.jsonl"
    )
    sync_and_archive(claude)
    with StoreReader(claude.store_path) as reader:
        before = sum(s.usage.output_tokens for s in reader.list_sessions())
    prune_sessions(claude, [OLD])

    assert list_contents(claude) == ["only there", "shared answer", "shared question"]
    check_store(claude)
    with StoreReader(claude.store_path) as reader:
        shared = reader.search(parse_query("shared", {})).list_newest(9)
        assert [match.key.session_id for match in shared] == [NEW, NEW]
        assert reader.search(parse_query("only here", {})).list_newest(9) == []
        assert [s.usage.output_tokens for s in reader.list_sessions()] == [before]


def test_results_of_later_entries_are_still_archived(two: TwoSessions):
    """Placement numbers of what is gone are given again."""
    prune_sessions(two.claude, [OLD, NEW])
    two.claude.write(two.new.prompt("more"), name="-app/new.jsonl")
    sync_and_archive(two.claude)

    db = sqlite3.connect(two.claude.store_path)
    (fed,) = db.execute("SELECT count(*) FROM feed").fetchone()
    db.close()
    assert fed == 1


def test_a_crash_before_the_archive_was_swept_is_made_good_by_the_next_sync(
    two: TwoSessions,
):
    with StoreReader(two.claude.store_path) as reader:
        names = [s.key[:2] for s in list_sessions(reader) if "aaaa" in str(s.key)]
    with (
        Store(two.claude.store_path, two.claude.clock) as store,
        store.pruner() as pruning,
    ):
        pruning.remove(names)
    left = [
        name
        for name in list_files_containing(two.data, "zanzibar")
        if name[-4:] == ".zst"
    ]
    sync_and_archive(two.claude)

    assert left
    now = list_files_containing(two.data, "zanzibar")
    assert [name for name in now if name.endswith(".zst")] == []


def test_somebody_who_reads_on_is_told_of_and_the_next_run_ends_the_work(
    two: TwoSessions,
):
    db = sqlite3.connect(two.claude.store_path, isolation_level=None)
    db.execute("BEGIN")
    db.execute("SELECT count(*) FROM record").fetchone()
    first = prune_sessions(two.claude, [OLD])
    db.close()
    second = prune_sessions(two.claude, [])

    assert (first.is_store_shrunk, second.is_store_shrunk) == (False, True)
    assert list_files_containing(two.data, "zanzibar") == []


def test_too_little_room_is_told_before_anything_is_done(
    two: TwoSessions, monkeypatch: pytest.MonkeyPatch
):
    full = os.statvfs("/")
    monkeypatch.setattr(
        "shutil.disk_usage", lambda _: type("Full", (), {"free": full.f_bsize})()
    )
    with Store(two.claude.store_path, two.claude.clock) as store:
        work = Pruner(store=store, archiver=make_archiver(two.claude, store))
        with pytest.raises(UserError, match="nothing was removed"):
            work.check_free_space(10_000_000)


def find_reasons(
    two: TwoSessions, reader: StoreReader, **more: object
) -> dict[str, str]:
    """Why each session may not go, by the beginning of its id."""
    adapters = load_adapters()
    roots = {
        ADAPTER.name: tuple(
            adapters[ADAPTER.name].roots(make_environment(two.claude.home), [])
        )
    }
    known = {"live_sessions": set(), "clock": two.claude.clock, "roots": roots}
    asked = PruneGuard(reader=reader, **{**known, **more})
    return {
        s.key.session_id[:1]: asked.find_reason_to_keep(s)
        for s in list_sessions(reader)
    }


def test_a_session_that_is_over_may_go(two: TwoSessions):
    with StoreReader(two.claude.store_path) as reader:
        assert find_reasons(two, reader) == {"a": "", "b": ""}


def test_a_session_that_a_process_works_on_stays(claude: ClaudeHome):
    claude.write(ClaudeLogBuilder(OLD).prompt("hello"), name=f"-app/{OLD}.jsonl")
    claude.sync()
    two = type("Home", (), {"claude": claude})()
    live = {(ADAPTER.name, OLD)}

    with StoreReader(claude.store_path) as reader:
        assert find_reasons(two, reader, live_sessions=live) == {"a": "active"}


def test_a_log_with_news_keeps_its_session(two: TwoSessions):
    two.claude.write(two.old.answer("more"), name=f"-app/{OLD}.jsonl")

    with StoreReader(two.claude.store_path) as reader:
        assert find_reasons(two, reader) == {"a": "unread", "b": ""}


def test_a_session_that_ended_badly_stays_unless_it_is_asked_for(two: TwoSessions):
    two.claude.write(
        two.new.prompt("go on"),
        two.new.call("Bash", {}, "c9"),
        name=f"-app/{NEW}.jsonl",
    )
    sync_and_archive(two.claude)

    with StoreReader(two.claude.store_path) as reader:
        assert find_reasons(two, reader) == {"a": "", "b": "failed"}
        assert find_reasons(two, reader, include_failed=True) == {"a": "", "b": ""}


def test_a_source_that_fell_silent_is_not_asked_about_again(two: TwoSessions):
    prune_sessions(two.claude, [OLD])
    with Store(two.claude.store_path, two.claude.clock) as store:
        kept = make_archiver(two.claude, store).run()

    assert (kept.sources, kept.excluded, kept.missing) == (0, 0, 0)
