"""Test that pruned sessions are deleted everywhere and never imported again."""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path

import pytest

from leslied.agents import load_adapters
from leslied.annotations import Annotation, Annotations, SessionName
from leslied.errors import UserError
from leslied.model.project import ProjectFolder, Repository
from leslied.pipeline.maintenance.prune import PruneGuard, Pruner
from leslied.pipeline.maintenance.rebuild import Rebuild
from leslied.queries.operations.disk import find_store_copies
from leslied.queries.search_query import parse_query
from leslied.queries.sessions import list_sessions
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
    """A home with two sessions, one of which will be pruned."""

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
def two_sessions(claude: ClaudeHome) -> TwoSessions:
    return TwoSessions(claude)


def test_pruning_deletes_a_session_and_its_subagents_and_no_others(
    two_sessions: TwoSessions,
):
    report = prune_sessions(two_sessions.claude, [OLD])

    assert report.sessions == 1
    assert list_contents(two_sessions.claude) == ["hello", "hi"]
    check_store(two_sessions.claude)


@pytest.mark.threat("S10")
def test_no_text_of_a_pruned_session_is_left_in_any_file(two_sessions: TwoSessions):
    before = list_files_containing(two_sessions.data, "zanzibar")
    report = prune_sessions(two_sessions.claude, [OLD])

    assert any(name == "store.db" for name in before)
    assert any(name.endswith(".zst") for name in before)
    assert list_files_containing(two_sessions.data, "zanzibar") == []
    assert report.archive_files == 2


def test_pruning_shrinks_the_store(claude: ClaudeHome):
    claude.write(
        ClaudeLogBuilder(OLD).prompt("long " * 200_000), name=f"-app/{OLD}.jsonl"
    )
    sync_and_archive(claude)
    before = claude.store_path.stat().st_size
    prune_sessions(claude, [OLD])

    assert claude.store_path.stat().st_size < before / 3


@pytest.mark.threat("S10")
def test_copies_of_the_store_are_deleted(two_sessions: TwoSessions):
    copy = two_sessions.data / "store.db.before-rebuild"
    copy.write_bytes(two_sessions.claude.store_path.read_bytes())

    report = prune_sessions(two_sessions.claude, [OLD])

    assert find_store_copies(two_sessions.claude.store_path) == []
    assert report.store_copies == 1


def test_the_agents_log_is_not_changed(two_sessions: TwoSessions):
    before = two_sessions.log.read_bytes(), two_sessions.log.stat()

    prune_sessions(two_sessions.claude, [OLD])

    assert (two_sessions.log.read_bytes(), two_sessions.log.stat()) == before


@pytest.mark.threat("S10")
def test_a_sync_does_not_import_a_pruned_session_again(two_sessions: TwoSessions):
    prune_sessions(two_sessions.claude, [OLD])
    sync_and_archive(two_sessions.claude)

    assert list_session_ids(two_sessions.claude) == {NEW}
    assert list_files_containing(two_sessions.data, "zanzibar") == []


@pytest.mark.parametrize("is_whole", [True, False])
def test_a_replaced_log_does_not_import_a_pruned_session_again(
    two_sessions: TwoSessions, *, is_whole: bool
):
    prune_sessions(two_sessions.claude, [OLD])
    data = two_sessions.log.read_bytes()
    two_sessions.log.unlink()
    two_sessions.log.write_bytes(data if is_whole else data[: data.index(b"\n") + 1])
    os.utime(two_sessions.log, (1, 1))
    sync_and_archive(two_sessions.claude)

    assert list_session_ids(two_sessions.claude) == {NEW}
    assert list_files_containing(two_sessions.data, "zanzibar") == []


def test_a_copied_log_does_not_import_a_pruned_session_again(two_sessions: TwoSessions):
    prune_sessions(two_sessions.claude, [OLD])
    copy = two_sessions.claude.log(f"-renamed/{OLD}.jsonl")
    copy.write_bytes(two_sessions.log.read_bytes())
    os.utime(copy, (1, 1))
    sync_and_archive(two_sessions.claude)

    assert list_session_ids(two_sessions.claude) == {NEW}
    assert list_files_containing(two_sessions.data, "zanzibar") == []


def test_the_archive_file_of_a_copied_log_is_deleted(two_sessions: TwoSessions):
    copy = two_sessions.claude.log(f"-renamed/{OLD}.jsonl")
    copy.write_bytes(two_sessions.log.read_bytes())
    os.utime(copy, (1, 1))
    sync_and_archive(two_sessions.claude)
    report = prune_sessions(two_sessions.claude, [OLD])

    assert report.archive_files == 3
    assert list_files_containing(two_sessions.data, "zanzibar") == []


@pytest.mark.threat("S10")
@pytest.mark.parametrize("has_store", [True, False])
def test_a_rebuild_does_not_import_a_pruned_session_again(
    two_sessions: TwoSessions, *, has_store: bool
):
    prune_sessions(two_sessions.claude, [OLD])
    if not has_store:
        two_sessions.claude.store_path.write_bytes(b"no store any more")
    two_sessions.rebuild()
    sync_and_archive(two_sessions.claude)

    assert list_session_ids(two_sessions.claude) == {NEW}
    assert list_files_containing(two_sessions.data, "zanzibar") == []


def test_entries_added_after_pruning_start_the_session_again(two_sessions: TwoSessions):
    prune_sessions(two_sessions.claude, [OLD])
    two_sessions.claude.write(
        two_sessions.old.prompt("later"), name=f"-app/{OLD}.jsonl"
    )
    sync_and_archive(two_sessions.claude)

    assert list_contents(two_sessions.claude) == ["hello", "hi", "later"]
    assert list_files_containing(two_sessions.data, "zanzibar") == []
    with StoreReader(two_sessions.claude.store_path) as reader:
        (session,) = [s for s in reader.list_sessions() if s.key.session_id == OLD]
    assert (session.units, session.title) == (1, "later")


def test_entries_added_after_pruning_survive_a_rebuild(two_sessions: TwoSessions):
    prune_sessions(two_sessions.claude, [OLD])
    two_sessions.claude.write(
        two_sessions.old.prompt("later"), name=f"-app/{OLD}.jsonl"
    )
    sync_and_archive(two_sessions.claude)
    two_sessions.rebuild()

    assert list_contents(two_sessions.claude) == ["hello", "hi", "later"]


def test_a_line_without_an_id_that_is_written_again_is_new(claude: ClaudeHome):
    line = {"type": "custom-title", "customTitle": "same words", "sessionId": OLD}
    claude.write(ClaudeLogBuilder(OLD).prompt("one"), line, name=f"-app/{OLD}.jsonl")
    sync_and_archive(claude)
    prune_sessions(claude, [OLD])
    claude.write(line, name=f"-app/{OLD}.jsonl")
    sync_and_archive(claude)

    assert list_contents(claude) == ["same words"]


def test_a_session_can_be_pruned_again(two_sessions: TwoSessions):
    prune_sessions(two_sessions.claude, [OLD])
    two_sessions.claude.write(
        two_sessions.old.prompt("later"), name=f"-app/{OLD}.jsonl"
    )
    sync_and_archive(two_sessions.claude)
    prune_sessions(two_sessions.claude, [OLD])
    two_sessions.rebuild()

    assert list_session_ids(two_sessions.claude) == {NEW}


def test_entries_shared_with_a_fork_stay_and_count_for_the_fork(claude: ClaudeHome):
    builder = ClaudeLogBuilder(OLD)
    shared = [builder.prompt("shared question"), builder.answer("shared answer")]
    claude.write(*shared, builder.prompt("only here"), name=f"-app/{OLD}.jsonl")
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


def test_a_source_read_after_pruning_is_linked_to_its_session(
    two_sessions: TwoSessions,
):
    """Ids of deleted placements are reused, so they must not count as processed."""
    prune_sessions(two_sessions.claude, [OLD, NEW])
    two_sessions.claude.write(two_sessions.new.prompt("more"), name="-app/new.jsonl")
    sync_and_archive(two_sessions.claude)

    db = sqlite3.connect(two_sessions.claude.store_path)
    (feed_rows,) = db.execute("SELECT count(*) FROM feed").fetchone()
    db.close()
    assert feed_rows == 1


def test_archive_files_left_by_a_crash_are_deleted_at_the_next_sync(
    two_sessions: TwoSessions,
):
    with StoreReader(two_sessions.claude.store_path) as reader:
        keys = [s.key[:2] for s in list_sessions(reader) if "aaaa" in str(s.key)]
    with (
        Store(two_sessions.claude.store_path, two_sessions.claude.clock) as store,
        store.pruner() as pruner,
    ):
        pruner.remove(keys)
    remaining = [
        name
        for name in list_files_containing(two_sessions.data, "zanzibar")
        if name[-4:] == ".zst"
    ]
    sync_and_archive(two_sessions.claude)

    assert remaining
    now = list_files_containing(two_sessions.data, "zanzibar")
    assert [name for name in now if name.endswith(".zst")] == []


def test_a_reader_prevents_vacuuming_until_the_next_run(
    two_sessions: TwoSessions,
):
    db = sqlite3.connect(two_sessions.claude.store_path, isolation_level=None)
    db.execute("BEGIN")
    db.execute("SELECT count(*) FROM record").fetchone()
    first = prune_sessions(two_sessions.claude, [OLD])
    db.close()
    second = prune_sessions(two_sessions.claude, [])

    assert (first.is_store_shrunk, second.is_store_shrunk) == (False, True)
    assert list_files_containing(two_sessions.data, "zanzibar") == []


def test_the_annotations_of_a_pruned_session_are_deleted(two_sessions: TwoSessions):
    annotations = Annotations(two_sessions.data / "annotations.db")
    for session_id in (OLD, NEW):
        name = SessionName(ADAPTER.name, session_id)
        annotations.update(name, lambda _: Annotation(note="zanzibar"), 1)

    prune_sessions(two_sessions.claude, [OLD])

    assert set(annotations.load().by_session) == {SessionName(ADAPTER.name, NEW)}


def test_damaged_annotations_do_not_keep_a_session_from_being_pruned(
    two_sessions: TwoSessions,
):
    (two_sessions.data / "annotations.db").write_bytes(b"not a database" * 100)

    report = prune_sessions(two_sessions.claude, [OLD])

    assert list_session_ids(two_sessions.claude) == {NEW}
    assert "annotations.db cannot be used" in "".join(report.list_warnings())


def test_too_little_disk_space_is_reported(
    two_sessions: TwoSessions, monkeypatch: pytest.MonkeyPatch
):
    full = os.statvfs("/")
    monkeypatch.setattr(
        "shutil.disk_usage", lambda _: type("Full", (), {"free": full.f_bsize})()
    )
    with Store(two_sessions.claude.store_path, two_sessions.claude.clock) as store:
        pruner = Pruner(
            store=store,
            archiver=make_archiver(two_sessions.claude, store),
            annotations=Annotations(two_sessions.data / "annotations.db"),
        )
        with pytest.raises(UserError, match="Nothing was deleted"):
            pruner.check_free_space(10_000_000)


def find_reasons(
    claude: ClaudeHome, reader: StoreReader, **options: object
) -> dict[str, str]:
    """Return why each session must not be pruned, by the first character of its id."""
    adapters = load_adapters()
    roots = {
        ADAPTER.name: tuple(
            adapters[ADAPTER.name].roots(make_environment(claude.home), [])
        )
    }
    defaults = {
        "live_sessions": set(),
        "clock": claude.clock,
        "roots": roots,
    }
    guard = PruneGuard(reader=reader, **{**defaults, **options})
    return {
        s.key.session_id[:1]: guard.find_reason_to_keep(s)
        for s in list_sessions(reader)
    }


def test_a_stopped_session_may_be_pruned(two_sessions: TwoSessions):
    with StoreReader(two_sessions.claude.store_path) as reader:
        assert find_reasons(two_sessions.claude, reader) == {"a": "", "b": ""}


def test_a_session_with_a_live_process_must_not_be_pruned(claude: ClaudeHome):
    claude.write(ClaudeLogBuilder(OLD).prompt("hello"), name=f"-app/{OLD}.jsonl")
    claude.sync()
    live = {(ADAPTER.name, OLD)}

    with StoreReader(claude.store_path) as reader:
        assert find_reasons(claude, reader, live_sessions=live) == {"a": "active"}


def test_a_session_with_an_unread_log_must_not_be_pruned(two_sessions: TwoSessions):
    two_sessions.claude.write(two_sessions.old.answer("more"), name=f"-app/{OLD}.jsonl")

    with StoreReader(two_sessions.claude.store_path) as reader:
        assert find_reasons(two_sessions.claude, reader) == {"a": "unread", "b": ""}


def test_a_failed_session_must_not_be_pruned_unless_requested(
    two_sessions: TwoSessions,
):
    two_sessions.claude.write(
        two_sessions.new.prompt("go on"),
        two_sessions.new.call("Bash", {}, "c9"),
        name=f"-app/{NEW}.jsonl",
    )
    sync_and_archive(two_sessions.claude)

    with StoreReader(two_sessions.claude.store_path) as reader:
        assert find_reasons(two_sessions.claude, reader) == {"a": "", "b": "failed"}
        assert find_reasons(two_sessions.claude, reader, include_failed=True) == {
            "a": "",
            "b": "",
        }


def test_a_pruned_source_is_not_archived_again(two_sessions: TwoSessions):
    prune_sessions(two_sessions.claude, [OLD])
    with Store(two_sessions.claude.store_path, two_sessions.claude.clock) as store:
        report = make_archiver(two_sessions.claude, store).run()

    assert (report.sources, report.excluded, report.missing) == (0, 0, 0)


def test_folders_without_remaining_sessions_are_forgotten(claude: ClaudeHome):
    for session_id, folder in ((OLD, "/zanzibar"), (NEW, "/app")):
        builder = ClaudeLogBuilder(session_id, folder)
        claude.write(builder.prompt("hello"), name=f"-app/{session_id}.jsonl")
    sync_and_archive(claude)
    with Store(claude.store_path, claude.clock) as store, store.projects() as ledger:
        for folder in ("/zanzibar", "/app"):
            ledger.save_folders([ProjectFolder(folder, folder, folder, folder)])
            ledger.save_repositories([Repository(path=folder)])

    prune_sessions(claude, [OLD])

    with Store(claude.store_path, claude.clock) as store, store.projects() as ledger:
        assert [each.path for each in ledger.list_folders()] == ["/app"]
        assert [each.path for each in ledger.list_repositories()] == ["/app"]
