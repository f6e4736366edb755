"""The file of the user's stars, tags and notes."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
from msgspec.structs import replace

from leslied.annotations import NO_ANNOTATIONS, Annotation, Annotations, SessionName
from leslied.errors import AnnotationsUnusable
from leslied.literal_text import LiteralText

ONE = SessionName("claude-code", "one")
TWO = SessionName("codex", "two")
NOW_US = 1_000_000


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "data" / "annotations.db"


@pytest.fixture
def annotations(path: Path) -> Annotations:
    return Annotations(path)


def save(annotations: Annotations, name: SessionName, annotation: Annotation) -> None:
    annotations.update(name, lambda _: annotation, NOW_US)


def test_reading_creates_no_file(annotations: Annotations, path: Path):
    assert annotations.load() == NO_ANNOTATIONS
    assert not path.parent.exists()


def test_what_is_saved_is_read_by_another_process(annotations: Annotations, path: Path):
    annotation = Annotation(
        is_starred=True, tags=("bug", "later"), note="a note\n", visited_us=7
    )

    save(annotations, ONE, annotation)

    assert Annotations(path).load().by_session == {ONE: annotation}


def test_only_the_user_can_read_the_file(annotations: Annotations, path: Path):
    save(annotations, ONE, Annotation(is_starred=True))

    assert path.stat().st_mode & 0o777 == 0o600
    assert path.parent.stat().st_mode & 0o777 == 0o700


def test_an_empty_annotation_is_not_kept(annotations: Annotations):
    save(annotations, ONE, Annotation(tags=("bug",)))
    save(annotations, ONE, Annotation())

    assert annotations.load().by_session == {}


def test_a_change_by_another_process_is_seen(annotations: Annotations, path: Path):
    save(annotations, ONE, Annotation(note="first"))
    assert annotations.load().get(ONE).note == "first"

    save(Annotations(path), ONE, Annotation(note="second"))

    assert annotations.load().get(ONE).note == "second"


def test_annotations_that_did_not_change_are_not_read_again(annotations: Annotations):
    save(annotations, ONE, Annotation(note="first"))

    assert annotations.load() is annotations.load()


def test_a_deleted_file_and_a_new_one_are_noticed(annotations: Annotations, path: Path):
    save(annotations, ONE, Annotation(note="first"))
    path.unlink()

    assert annotations.load() == NO_ANNOTATIONS
    save(annotations, TWO, Annotation(note="second"))
    assert set(annotations.load().by_session) == {TWO}


def test_several_processes_lose_no_change(path: Path):
    script = (
        "import sys\n"
        "from pathlib import Path\n"
        "from msgspec.structs import replace\n"
        "from leslied.annotations import Annotations, SessionName\n"
        "path, tag = Path(sys.argv[1]), sys.argv[2]\n"
        "for number in range(10):\n"
        "    Annotations(path).update(SessionName('a', 'b'), lambda old: "
        "replace(old, tags=(*old.tags, f'{tag}{number}')), 1)\n"
    )
    processes = [
        subprocess.Popen([sys.executable, "-c", script, str(path), tag])
        for tag in ("x", "y", "z")
    ]

    assert [process.wait() for process in processes] == [0, 0, 0]
    (annotation,) = Annotations(path).load().by_session.values()
    assert len(annotation.tags) == 30


def test_a_failed_change_changes_nothing(annotations: Annotations):
    save(annotations, ONE, Annotation(note="first"))

    def fail(_: Annotation) -> Annotation:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        annotations.update(ONE, fail, NOW_US)
    assert annotations.load().get(ONE).note == "first"
    # The failure has released the lock.
    save(annotations, TWO, Annotation(note="second"))


def test_a_deleted_note_is_not_left_in_the_file(annotations: Annotations, path: Path):
    save(annotations, ONE, Annotation(note="zanzibar"))
    save(annotations, TWO, Annotation(note="other"))

    annotations.delete([ONE])

    assert set(annotations.load().by_session) == {TWO}
    files = list(path.parent.iterdir())
    assert all(b"zanzibar" not in file.read_bytes() for file in files)


def test_annotations_with_a_forgotten_text_are_deleted(annotations: Annotations):
    save(annotations, ONE, Annotation(note="in zanzibar"))
    save(annotations, TWO, Annotation(note="other"))

    annotations.forget_text(LiteralText("zanzibar"))

    assert set(annotations.load().by_session) == {TWO}


def test_deleting_creates_no_file(annotations: Annotations, path: Path):
    annotations.delete([ONE])
    annotations.forget_text(LiteralText("zanzibar"))

    assert not path.exists()


def test_a_damaged_file_is_an_error_with_a_next_step(
    annotations: Annotations, path: Path
):
    path.parent.mkdir()
    path.write_bytes(b"not a database" * 100)

    for use in (annotations.load, annotations.check, lambda: annotations.delete([ONE])):
        with pytest.raises(AnnotationsUnusable, match="cannot be used") as error:
            use()
        assert "move the file away" in error.value.hint


def test_damage_inside_the_file_is_found(annotations: Annotations, path: Path):
    for number in range(200):
        save(annotations, SessionName("a", f"{number}"), Annotation(note="x" * 200))
    annotations.check()
    annotations.close()
    data = bytearray(path.read_bytes())
    data[5 * 4096 : 7 * 4096] = b"\x55" * 8192
    path.write_bytes(data)

    with pytest.raises(AnnotationsUnusable):
        annotations.check()


def test_a_file_of_a_newer_leslied_is_refused(annotations: Annotations, path: Path):
    save(annotations, ONE, Annotation(note="first"))
    with closing(sqlite3.connect(path)) as db:
        db.execute("PRAGMA user_version = 99")

    with pytest.raises(AnnotationsUnusable, match="newer leslied"):
        annotations.load()
    with pytest.raises(AnnotationsUnusable, match="newer leslied"):
        save(annotations, ONE, Annotation(note="second"))


def test_a_file_whose_creation_was_interrupted_is_completed(
    annotations: Annotations, path: Path
):
    path.parent.mkdir()
    path.touch()

    assert annotations.load() == NO_ANNOTATIONS
    save(annotations, ONE, Annotation(note="first"))
    assert annotations.load().get(ONE).note == "first"


def test_a_folder_that_cannot_be_used_is_an_error(annotations: Annotations, path: Path):
    path.parent.write_text("no folder")

    with pytest.raises(AnnotationsUnusable):
        save(annotations, ONE, Annotation(note="first"))
    with pytest.raises(AnnotationsUnusable):
        annotations.load()


def test_a_session_is_unread_if_it_went_on_after_the_visit(annotations: Annotations):
    save(annotations, ONE, Annotation(visited_us=50))
    snapshot = annotations.load()

    assert not snapshot.is_unread(ONE, 50)
    assert snapshot.is_unread(ONE, 51)
    assert not snapshot.is_unread(ONE, None)


def test_a_deletion_in_an_empty_file_is_not_the_first_use(
    annotations: Annotations, path: Path
):
    path.parent.mkdir(mode=0o700)
    path.touch(mode=0o600)

    annotations.delete([ONE])

    # Before the first use no session is unread.
    assert not annotations.load().is_unread(TWO, NOW_US)


def test_a_session_without_a_visit_is_unread_if_it_is_newer_than_the_first_use(
    annotations: Annotations,
):
    assert not annotations.load().is_unread(TWO, NOW_US + 1)
    save(annotations, ONE, Annotation(is_starred=True))
    snapshot = annotations.load()

    assert not snapshot.is_unread(TWO, NOW_US)
    assert snapshot.is_unread(TWO, NOW_US + 1)


def test_the_first_annotation_in_an_empty_file_is_the_first_use(
    annotations: Annotations, path: Path
):
    path.parent.mkdir(mode=0o700)
    path.touch(mode=0o600)
    annotations.load()

    save(annotations, ONE, Annotation(is_starred=True))

    assert annotations.load().is_unread(TWO, NOW_US + 1)


def test_a_change_keeps_the_other_marks(annotations: Annotations):
    save(annotations, ONE, Annotation(note="first", tags=("bug",)))

    changed = annotations.update(ONE, lambda old: replace(old, is_starred=True), NOW_US)

    assert changed == Annotation(is_starred=True, note="first", tags=("bug",))
    assert annotations.load().get(ONE) == changed
