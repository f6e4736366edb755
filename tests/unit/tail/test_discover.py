"""Test discovering sources, and folders that cannot be read."""

from __future__ import annotations

import errno
import os
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from leslied.model.source import Pattern, Root, Shape
from leslied.pipeline import Ingest, IngestReport
from leslied.store import Store, StoreReader
from leslied.tail import Discovery, discover, find_source, find_sources
from tests.support.claude import (
    ADAPTER,
    SESSION,
    ClaudeHome,
    ClaudeLogBuilder,
    encode_json_lines,
)
from tests.support.records import AGENT, append, bump_mtime
from tests.support.work import count_calls

PATTERNS = (
    Pattern(glob="*/*.jsonl"),
    Pattern(glob="*/deep/**/agent-*.jsonl"),
    Pattern(glob="*/*.json", shape=Shape.DOCUMENT),
)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "projects"
    (folder / "p").mkdir(parents=True)
    return folder


def write_files(root: Path, *names: str) -> None:
    """Write small files with these names below the root."""
    for name in names:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("{}\n")


def walk(*roots: Path) -> Discovery:
    """Discover the sources below these roots."""
    return discover(AGENT, [Root(path=root, patterns=PATTERNS) for root in roots])


def list_names(discovery: Discovery) -> list[str]:
    return sorted("/".join(source.parts) for source in discovery.sources)


def count_gone(claude: ClaudeHome) -> int:
    """Return the number of sources that are marked as gone."""
    with StoreReader(claude.store_path) as reader:
        return int(reader.summarize_agents()[0]["gone"])


def make_ingest(claude: ClaudeHome, store: Store) -> Ingest:
    root = Root(path=claude.projects, patterns=(Pattern(glob="*/*.jsonl"),))
    return Ingest(adapter=ADAPTER, store=store, roots=(root,))


@contextmanager
def failing_os_call(name: str, path: Path, error_number: int) -> Iterator[None]:
    """Make a function of `os` fail for one path."""
    real_call = getattr(os, name)

    def fail(at, *args, **kwargs):
        # A file is opened by its name, relative to its folder's descriptor.
        if os.fspath(at) in (str(path), path.name):
            raise OSError(error_number, os.strerror(error_number), str(path))
        return real_call(at, *args, **kwargs)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, name, fail)
        yield


# Which files are sources


def test_only_names_that_match_are_sources(root: Path):
    write_files(root, "a.jsonl", "p/a.jsonl", "p/a.txt", "p/q/a.jsonl", "p/a.jsonl.gz")

    assert list_names(walk(root)) == ["p/a.jsonl"]


@pytest.mark.parametrize("folders", ["", "x/", "x/y/", "x/y/z/"])
def test_two_stars_match_any_number_of_folders(root: Path, folders: str):
    write_files(root, f"p/deep/{folders}agent-1.jsonl", f"p/deep/{folders}other.jsonl")

    assert list_names(walk(root)) == [f"p/deep/{folders}agent-1.jsonl"]


def test_the_pattern_decides_the_shape(root: Path):
    write_files(root, "p/a.jsonl", "p/a.json")

    shapes = {s.path.suffix: s.shape for s in walk(root).sources}

    assert shapes == {".jsonl": Shape.APPEND_LOG, ".json": Shape.DOCUMENT}


def test_sources_are_sorted_by_change_the_oldest_first(root: Path):
    write_files(root, "p/a.jsonl", "p/b.jsonl", "p/c.jsonl")
    for age, name in enumerate("bca"):
        os.utime(root / "p" / f"{name}.jsonl", (age, age))

    assert [source.path.stem for source in walk(root).sources] == ["b", "c", "a"]


@pytest.mark.fault("B3")
def test_a_rewritten_file_of_the_same_size_has_changed(root: Path):
    write_files(root, "p/a.jsonl", "p/b.jsonl")
    stamps = {os.fsencode(s.path): s.stamp for s in walk(root).sources}
    bump_mtime(root / "p" / "b.jsonl")

    changed = discover(AGENT, [Root(path=root, patterns=PATTERNS)], stamps)

    assert list_names(changed) == ["p/b.jsonl"]
    assert (changed.count, changed.gone_paths) == (2, [])


def test_an_unchanged_log_costs_one_stat_and_few_calls(root: Path):
    logs = 100
    write_files(root, *(f"p/{number}.jsonl" for number in range(logs)))
    roots = [Root(path=root, patterns=PATTERNS)]
    stamps = {os.fsencode(s.path): s.stamp for s in walk(root).sources}

    with count_calls() as calls:
        discovery = discover(AGENT, roots, stamps)

    assert (discovery.count, discovery.sources) == (logs, [])
    # `Path.stat` of the root calls `os.stat`.
    assert calls["stat"] == logs + 2
    assert calls["python"] < 4 * logs


def test_the_first_pattern_that_matches_a_name_decides(root: Path):
    patterns = (
        Pattern(glob="*/*.json"),
        Pattern(glob="*/*.json.gz", shape=Shape.DOCUMENT),
        Pattern(glob="*/**/*.gz", shape=Shape.COMPRESSED_LOG),
    )
    write_files(root, "p/a.json", "p/a.json.gz", "p/q/b.json.gz")

    sources = discover(AGENT, [Root(path=root, patterns=patterns)]).sources

    assert {source.path.name: source.shape for source in sources} == {
        "a.json": Shape.APPEND_LOG,
        "a.json.gz": Shape.DOCUMENT,
        "b.json.gz": Shape.COMPRESSED_LOG,
    }


def test_discovery_opens_no_file(root: Path, monkeypatch: pytest.MonkeyPatch):
    write_files(root, "p/a.jsonl")
    monkeypatch.setattr("leslied.tail.files.os.open", None)

    assert list_names(walk(root)) == ["p/a.jsonl"]


@pytest.mark.parametrize(
    "name", ["p/a.jsonl", "p/a.json", "p/a.txt", "a.jsonl", "p/deep/x/agent-1.jsonl"]
)
def test_a_single_path_gives_the_same_source_as_a_walk(root: Path, name: str):
    write_files(root, name)
    (expected,) = walk(root).sources or [None]

    source = find_source(AGENT, [Root(path=root, patterns=PATTERNS)], root / name)

    assert source == expected


# Links and other things that are not files


@pytest.mark.fault("B11")
def test_a_hard_link_is_the_same_source(root: Path):
    write_files(root, "p/a.jsonl")
    os.link(root / "p" / "a.jsonl", root / "p" / "b.jsonl")

    assert len(walk(root).sources) == 1


@pytest.mark.fault("B11")
def test_a_link_to_a_file_below_the_root_is_the_same_source(root: Path):
    write_files(root, "p/a.jsonl")
    (root / "p" / "b.jsonl").symlink_to("a.jsonl")

    assert len(walk(root).sources) == 1


@pytest.mark.fault("B11")
def test_a_link_to_a_folder_below_the_root_adds_no_source(root: Path):
    write_files(root, "p/a.jsonl")
    (root / "q").symlink_to("p")

    assert len(walk(root).sources) == 1


@pytest.mark.fault("B11")
def test_the_same_folder_as_two_roots_is_read_once(root: Path):
    write_files(root, "p/a.jsonl")
    other = root.with_name("other")
    other.symlink_to(root)

    assert list_names(walk(root, other)) == ["p/a.jsonl"]


@pytest.mark.fault("B11")
@pytest.mark.threat("P5")
@pytest.mark.parametrize("walker", ["discover", "find_source"])
@pytest.mark.parametrize("link", ["p/a.jsonl", "q"], ids=["file", "folder"])
def test_a_link_out_of_the_root_is_not_followed(root: Path, link: str, walker: str):
    write_files(root.parent, "away/a.jsonl")
    away = root.parent / "away"
    (root / link).symlink_to(away / "a.jsonl" if link != "q" else away)
    path = root / link if link != "q" else root / "q" / "a.jsonl"
    roots = [Root(path=root, patterns=PATTERNS)]

    if walker == "discover":
        assert not walk(root).sources
    else:
        assert find_source(AGENT, roots, path) is None


@pytest.mark.fault("B11")
def test_a_broken_link_is_ignored(root: Path):
    (root / "p" / "a.jsonl").symlink_to("nowhere")

    discovery = walk(root)

    assert (discovery.sources, discovery.unreadable) == ([], {})


@pytest.mark.fault("B12")
@pytest.mark.parametrize("target", ["../p", "..", ".", "deep"])
def test_a_loop_of_links_ends(root: Path, target: str):
    write_files(root, "p/a.jsonl", "p/deep/agent-1.jsonl")
    (root / "p" / "deep" / "loop").symlink_to(target)
    (root / "p" / "loop").symlink_to(target)

    assert len(walk(root).sources) == 2


@pytest.mark.fault("B12")
def test_a_link_to_itself_is_not_a_source(root: Path):
    (root / "p" / "a.jsonl").symlink_to("a.jsonl")
    roots = [Root(path=root, patterns=PATTERNS)]

    assert find_source(AGENT, roots, root / "p" / "a.jsonl") is None


@pytest.mark.fault("B13")
@pytest.mark.threat("P5")
def test_a_pipe_is_skipped_without_waiting(root: Path):
    os.mkfifo(root / "p" / "a.jsonl")
    write_files(root, "p/b.jsonl")

    assert list_names(walk(root)) == ["p/b.jsonl"]


@pytest.mark.fault("B13")
def test_a_socket_and_a_folder_are_not_sources(root: Path, monkeypatch):
    (root / "p" / "c.jsonl").mkdir()
    monkeypatch.chdir(root / "p")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("a.jsonl")

        assert walk(root).sources == []


# Folders that cannot be read


@pytest.mark.fault("B16")
def test_a_missing_root_is_reported_only_as_missing(root: Path):
    discovery = walk(root / "nowhere", root)

    assert discovery.missing_roots == [root / "nowhere"]
    assert discovery.unreadable == {}


@pytest.mark.fault("B15", "B16")
def test_a_root_without_permission_does_not_end_the_walk(root: Path):
    write_files(root, "p/a.jsonl")
    hidden = root.parent / "hidden"

    with failing_os_call("stat", hidden, errno.EACCES):
        discovery = walk(hidden, root)

    assert list_names(discovery) == ["p/a.jsonl"]
    assert hidden in {*discovery.unreadable, *discovery.missing_roots}


@pytest.mark.fault("B15")
@pytest.mark.parametrize("error_number", [errno.EACCES, errno.EMFILE, errno.EIO])
def test_a_folder_that_cannot_be_listed_hides_only_itself(
    root: Path, error_number: int
):
    write_files(root, "p/a.jsonl", "q/b.jsonl")

    with failing_os_call("scandir", root / "p", error_number):
        discovery = walk(root)

    assert list_names(discovery) == ["q/b.jsonl"]
    assert list(discovery.unreadable) == [root / "p"]


@pytest.mark.fault("B15")
@pytest.mark.parametrize("error_number", [errno.EACCES, errno.EMFILE])
@pytest.mark.parametrize("part", ["-home-dev-app", ""], ids=["project", "root"])
def test_nothing_counts_as_deleted_in_a_folder_that_cannot_be_listed(
    claude: ClaudeHome, error_number: int, part: str
):
    claude.write(ClaudeLogBuilder().prompt("one"))
    claude.sync()

    with failing_os_call("scandir", claude.projects / part, error_number):
        report = claude.sync()

    assert list(report.unreadable) == [claude.projects / part]
    assert count_gone(claude) == 0


@pytest.mark.fault("B16")
def test_nothing_counts_as_deleted_while_the_root_is_missing(claude: ClaudeHome):
    path = claude.write(ClaudeLogBuilder().prompt("one"))
    claude.sync()
    claude.projects.rename(claude.home / "away")
    claude.sync()
    gone_count = count_gone(claude)
    (claude.home / "away").rename(claude.projects)
    append(path, encode_json_lines(ClaudeLogBuilder("x").prompt("two")))

    report = claude.sync()

    assert (gone_count, report.entries) == (0, 1)


@pytest.mark.fault("B16")
def test_a_root_created_later_is_found(claude: ClaudeHome):
    first = claude.sync()
    claude.write(ClaudeLogBuilder().prompt("one"))

    second = claude.sync()

    assert claude.projects in first.missing_roots
    assert second.entries == 1


@pytest.mark.fault("B14")
def test_a_log_without_permission_is_reported_and_read_later(
    claude: ClaudeHome,
):
    path = claude.write(ClaudeLogBuilder().prompt("one"))
    with failing_os_call("open", path, errno.EACCES):
        report_without_permission = claude.sync()
    with StoreReader(claude.store_path) as reader:
        errors = reader.list_source_problems()

    report = claude.sync()

    assert list(report_without_permission.unreadable) == [path]
    assert errors == [(str(path), "cannot be opened: Permission denied")]
    assert (report.entries, report.unreadable) == (1, {})


@pytest.mark.fault("B14")
def test_a_log_without_permission_does_not_stop_the_others(claude: ClaudeHome):
    path = claude.write(ClaudeLogBuilder().prompt("one"))
    claude.write(ClaudeLogBuilder("x").prompt("two"), name="p/x.jsonl")

    with failing_os_call("open", path, errno.EACCES):
        report = claude.sync()

    assert report.entries == 1
    with StoreReader(claude.store_path) as reader:
        assert [s.key.session_id for s in reader.list_sessions()] == ["x"]


@pytest.mark.fault("B14", "F12")
def test_an_error_that_lasts_is_recorded_once(claude: ClaudeHome):
    path = claude.write(ClaudeLogBuilder().prompt("one"))
    with (
        Store(claude.store_path, claude.clock) as store,
        failing_os_call("open", path, errno.EACCES),
    ):
        claude.sync(store)
        before = store._db.total_changes

        claude.sync(store)

        assert store._db.total_changes == before


@pytest.mark.fault("B8")
def test_a_log_deleted_between_walk_and_read_affects_no_other(claude: ClaudeHome):
    path = claude.write(ClaudeLogBuilder().prompt("one"))
    claude.write(ClaudeLogBuilder("x").prompt("two"), name="p/x.jsonl")

    with failing_os_call("open", path, errno.ENOENT):
        report = claude.sync()

    assert (report.entries, list(report.unreadable)) == (1, [path])


# Moved folders


def move_project(claude: ClaudeHome) -> tuple[Path, Path]:
    """Ingest a project with a session and a subagent, then rename it.

    Return the old and the new path of the session's log.
    """
    task = ClaudeLogBuilder().prompt("task", isSidechain=True, agentId="x")
    builder = ClaudeLogBuilder()
    old_log = claude.write(*[builder.prompt("x" * 500) for _ in range(50)])
    claude.write(task, name=f"-home-dev-app/{SESSION}/subagents/agent-x.jsonl")
    claude.sync()
    new_folder = claude.projects / "-home-dev-renamed"
    old_log.parent.rename(new_folder)
    return old_log, new_folder / old_log.name


@pytest.mark.fault("B10")
def test_a_renamed_project_is_not_read_again(claude: ClaudeHome):
    move_project(claude)

    report = claude.sync()

    assert (report.entries, report.added.records, report.added.placements) == (0, 0, 0)
    assert report.bytes_read < 100_000
    assert count_gone(claude) == 0


@pytest.mark.fault("B10")
def test_a_renamed_project_continues_at_its_cursors(claude: ClaudeHome):
    _, new_log = move_project(claude)
    claude.sync()
    append(new_log, encode_json_lines(ClaudeLogBuilder("x").prompt("and then")))

    report = claude.sync()

    assert report.entries == 1
    with StoreReader(claude.store_path) as reader:
        (main,) = [s for s in reader.list_sessions() if not s.is_subagent]
        last = list(reader.list_records(main.key))[-1]
    assert (last.record.content, last.path) == ("and then", str(new_log))


@pytest.mark.fault("B10")
def test_a_renamed_log_that_grew_is_read_from_its_cursor(claude: ClaudeHome):
    _, new_log = move_project(claude)
    append(new_log, encode_json_lines(ClaudeLogBuilder("x").prompt("and then")))

    report = claude.sync()

    assert report.entries == 1


@pytest.mark.fault("B10")
def test_an_event_for_a_moved_log_does_not_read_it_again(claude: ClaudeHome):
    _, new_log = move_project(claude)
    with Store(claude.store_path, claude.clock) as store:
        report: IngestReport = make_ingest(claude, store).ingest_files([new_log])

    assert report.entries == 0


@pytest.mark.fault("B7", "B10")
def test_a_copied_project_is_read_and_shares_its_records(claude: ClaudeHome):
    path = claude.write(ClaudeLogBuilder().prompt("one"))
    claude.sync()
    copy = claude.log(f"copy/{SESSION}.jsonl")
    copy.write_bytes(path.read_bytes())

    report = claude.sync()

    assert (report.entries, report.added.records, report.added.placements) == (1, 0, 0)
    assert count_gone(claude) == 0


# Names

needs_any_file_name = pytest.mark.skipif(
    sys.platform == "darwin", reason="its file systems accept only UTF-8 names"
)


@pytest.mark.fault("B17")
@needs_any_file_name
@pytest.mark.parametrize(
    "name",
    [
        b"pat\xe9",
        b"\xff\xfe",
        b"two\nlines",
        b"tab\tand\x1b[31mcolour",
        "日本語".encode(),
        b"x" * 249,
        b"-rf",
        b" ",
    ],
    ids=repr,
)
def test_a_log_of_any_name_is_read_and_shown(claude: ClaudeHome, name: bytes):
    folder = claude.log("p/x").parent
    path = Path(os.fsdecode(os.fsencode(folder) + b"/" + name + b".jsonl"))
    path.write_bytes(encode_json_lines(ClaudeLogBuilder().prompt("hello")))

    report = claude.sync()

    assert (report.entries, report.unreadable) == (1, {})
    with StoreReader(claude.store_path) as reader:
        (session,) = reader.list_sessions()
        assert session.title == "hello"
        assert list(reader.list_records(session.key))[-1].path == str(path)


@pytest.mark.fault("B17")
@needs_any_file_name
@pytest.mark.parametrize("name", [b"pat\xe9", b"two\nlines"], ids=repr)
def test_a_project_folder_of_any_name_is_read(claude: ClaudeHome, name: bytes):
    path = claude.log(f"{os.fsdecode(name)}/{SESSION}.jsonl")
    path.write_bytes(encode_json_lines(ClaudeLogBuilder().prompt("hello")))

    first = claude.sync()
    second = claude.sync()

    assert (first.entries, first.unreadable) == (1, {})
    assert (second.entries, second.bytes_read) == (0, 0)


@pytest.mark.fault("B17")
@needs_any_file_name
def test_a_log_with_an_odd_name_does_not_stop_the_others(claude: ClaudeHome):
    claude.write(ClaudeLogBuilder().prompt("one"))
    odd_log = claude.log(os.fsdecode(b"p/pat\xe9.jsonl"))
    odd_log.write_bytes(encode_json_lines(ClaudeLogBuilder("x").prompt("two")))

    report = claude.sync()

    assert report.entries == 2


@pytest.mark.fault("B17")
@needs_any_file_name
def test_names_that_differ_only_in_odd_bytes_are_two_sessions(claude: ClaudeHome):
    for name in (b"a\xfe", b"a\xff"):
        path = claude.log(f"p/{os.fsdecode(name)}.jsonl")
        path.write_bytes(
            encode_json_lines(ClaudeLogBuilder(repr(name)).prompt(repr(name)))
        )

    claude.sync()

    with StoreReader(claude.store_path) as reader:
        assert len(reader.list_sessions()) == 2


def test_links_are_resolved_once_for_each_folder_of_changed_files(
    root: Path, monkeypatch: pytest.MonkeyPatch
):
    names = [f"{folder}/{number}.jsonl" for folder in "pq" for number in range(50)]
    write_files(root, *names)
    resolved_paths: list[str] = []
    resolve = os.path.realpath

    def record(path: str, *, strict: bool) -> str:
        resolved_paths.append(path)
        return resolve(path, strict=strict)

    monkeypatch.setattr("os.path.realpath", record)
    paths = [root / name for name in names]
    sources = find_sources(AGENT, [Root(path=root, patterns=PATTERNS)], paths)

    assert [source.path for source in sources] == paths
    assert sorted(resolved_paths) == [str(root), str(root / "p"), str(root / "q")]


def test_files_outside_the_roots_are_not_looked_at(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    write_files(tmp_path, "other/p/a.jsonl")
    monkeypatch.delattr("os.lstat")
    roots = [Root(path=root, patterns=PATTERNS)]

    assert not find_sources(AGENT, roots, [tmp_path / "other/p/a.jsonl"])
