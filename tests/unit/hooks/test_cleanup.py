"""Files of hooks that match are deleted, and no others."""

from __future__ import annotations

from pathlib import Path

from leslied.hooks import inbox, injection_state, learned_roots, spool
from leslied.hooks.cleanup import delete_learned_roots, delete_matching


def test_matching_files_are_deleted(tmp_path: Path):
    data = str(tmp_path)
    inbox.enqueue(data, "thread-a", "a secret", 1)
    inbox.enqueue(data, "thread-b", "hello", 2)
    for session_id in ("secret", "other"):
        state = injection_state.InjectionState({})
        injection_state.save(data, session_id, state)
        event = {"hook_event_name": "Stop", "session_id": session_id}
        spool.write_event(data, event, len(session_id))

    def has_secret(path: str, content: bytes) -> bool:
        return "secret" in path or b"secret" in content

    assert delete_matching(data, has_secret) == 3
    assert not [p for p in tmp_path.rglob("*") if "secret" in p.name]
    assert [e["session_id"] for e in spool.read_events(data, 0).events] == ["other"]
    assert not inbox.list_messages(data, "thread-a")
    assert len(inbox.list_messages(data, "thread-b")) == 1


def test_learned_folders_that_match_are_deleted(tmp_path: Path):
    for folder in ("/home/secret", "/home/other"):
        learned_roots.add(str(tmp_path), folder)
    removed = delete_learned_roots(str(tmp_path), lambda line: b"secret" in line)
    learned, _ = learned_roots.load(str(tmp_path))

    assert removed == 1
    assert learned == ["/home/other"]


def test_without_files_nothing_is_deleted(tmp_path: Path):
    assert delete_matching(str(tmp_path), lambda *_: True) == 0
    assert delete_learned_roots(str(tmp_path), lambda line: b"x" in line) == 0
    assert not (tmp_path / learned_roots.FILE).exists()
