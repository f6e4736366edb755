"""Test writing the transcripts of a unit: names first, then files, then the ledger."""

from __future__ import annotations

import resource
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from datetime import UTC
from pathlib import Path

import pytest

from leslied.errors import SinkError
from leslied.folders import FileBatch
from leslied.model.session import Session
from leslied.pipeline.stages.transcript_writer import (
    OutputFolders,
    SettleReport,
    TranscriptWriter,
)
from leslied.sinks import leslie
from leslied.store import Store
from tests.support.clock import FakeClock
from tests.support.path_recorder import PathRecorder
from tests.support.records import make_chunk, make_key, make_prompt, make_record
from tests.support.units import make_child, make_summary, make_turn_unit


@pytest.fixture
def store(tmp_path: Path, clock: FakeClock):
    with Store(tmp_path / "store.db", clock) as store:
        subagent = make_key(source="subagent:a1")
        prompts = (make_prompt("fix it"), make_prompt("count", session=subagent))
        store.commit([make_chunk(*prompts)])
        yield store


@pytest.fixture
def writer(tmp_path: Path) -> TranscriptWriter:
    """Return the writer of a unit with a subagent."""
    summary = make_summary(make_key(), folder=str(tmp_path))
    child = make_child(make_prompt("count"), make_record("3"))
    unit = make_turn_unit("fix it", summary=summary, subagents=(child,))
    return TranscriptWriter(
        session=Session(summary=summary, units=(unit,), status="stopped"),
        redactor=leslie.NoRedaction(),
        report=SettleReport(),
        limits=leslie.TranscriptLimits(),
        zone=UTC,
    )


def write_files(
    writer: TranscriptWriter, central: Path, contents: list[bytes] | None = None
) -> None:
    """Write the files, with other contents than those of the unit if given."""
    contents = contents or writer.render()
    with ExitStack() as stack:
        outputs = OutputFolders(central, stack)
        writer.write_files(contents, outputs, stack.enter_context(FileBatch()))


@contextmanager
def limit_file_size(size: int) -> Iterator[None]:
    """Let writing fail in the middle of a file of more bytes, as on a full disk."""
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, limits[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)


def list_files(folder: Path) -> list[Path]:
    return sorted(folder.rglob("*.txt"))


def test_names_are_reserved_before_any_file_exists(
    writer: TranscriptWriter, store: Store, tmp_path: Path
):
    with store.transcripts() as ledger:
        writer.reserve_names(ledger)
        transcript = ledger.find_transcript(make_key(), 1)

    assert transcript is not None
    assert transcript.file.endswith("-fix-it.txt")
    assert (transcript.newest, list_files(tmp_path)) == (0, [])


def test_files_equal_those_of_the_export(
    writer: TranscriptWriter, store: Store, tmp_path: Path
):
    with store.transcripts() as ledger:
        writer.reserve_names(ledger)
    write_files(writer, tmp_path / "central")

    artifacts = leslie.SINK.render(writer.session)
    assert {str(path.relative_to(tmp_path)) for path in list_files(tmp_path)} == {
        artifact.path for artifact in artifacts
    }
    assert all((tmp_path / a.path).read_bytes() == a.body for a in artifacts)


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="needs /proc")
def test_a_unit_and_its_subagents_cost_one_walk_to_their_folder(
    writer: TranscriptWriter, store: Store, tmp_path: Path
):
    with store.transcripts() as ledger:
        writer.reserve_names(ledger)
    # Rendering imports modules, which opens files, too.
    contents = writer.render()
    with PathRecorder() as recorder:
        write_files(writer, tmp_path / "central", contents)

    walk, transcripts = len(tmp_path.parts) + 1, 2 * 6
    # Rules that do not exist yet are looked for once more before they are written.
    git_rules = 16 + 2 * len(tmp_path.parts)
    assert len(list_files(tmp_path)) == 2
    assert recorder.opens <= walk + git_rules + transcripts


def test_a_file_with_the_right_content_is_not_written_again(
    writer: TranscriptWriter, store: Store, tmp_path: Path
):
    inodes = []
    for _ in range(2):
        with store.transcripts() as ledger:
            writer.reserve_names(ledger)
        write_files(writer, tmp_path / "central")
        with store.transcripts() as ledger:
            writer.save(ledger)
        inodes.append([path.stat().st_ino for path in list_files(tmp_path)])

    assert writer.report.files_written == 2
    assert inodes[0] == inodes[1]


def test_no_transcript_has_its_name_before_all_are_written(
    writer: TranscriptWriter, store: Store, tmp_path: Path
):
    with store.transcripts() as ledger:
        writer.reserve_names(ledger)
    with ExitStack() as stack:
        outputs = OutputFolders(tmp_path / "central", stack)
        batch = stack.enter_context(FileBatch())
        writer.write_files(writer.render(), outputs, batch)
        files_before = list_files(tmp_path)

    assert files_before == []
    assert len(list_files(tmp_path)) == 2


def test_a_full_disk_leaves_the_old_transcripts_whole(
    writer: TranscriptWriter, store: Store, tmp_path: Path
):
    with store.transcripts() as ledger:
        writer.reserve_names(ledger)
    write_files(writer, tmp_path / "central")
    old = {path: path.read_bytes() for path in list_files(tmp_path)}
    contents = [content + b"x" * 50_000 for content in old.values()]

    with limit_file_size(30_000), pytest.raises(SinkError, match="cannot be written"):
        write_files(writer, tmp_path / "central", contents)

    assert {path: path.read_bytes() for path in list_files(tmp_path)} == old
