"""The index of a thread: each file revision once, each call with its revision."""

from __future__ import annotations

import json
from typing import Any

import pytest

from leslied.model.file_change import FileChange
from leslied.threads.index import (
    Asset,
    AssetFile,
    ThreadIndex,
    extend_history,
    parse_histories,
    parse_index,
    thread_index_to_dict,
)
from tests.support.records import make_key, time_at

PLAN = ".leslie/threads/thread-1/plan.md"


def make_change(call_id: str, seconds: float) -> FileChange:
    return FileChange(
        session=make_key(), kind="edit", path=PLAN, call_id=call_id, at=time_at(seconds)
    )


def make_file(sha256: str, seconds: float, *changes: FileChange) -> AssetFile:
    return AssetFile(
        path=PLAN,
        title="Plan",
        size=1,
        sha256=sha256,
        updated_at=time_at(seconds),
        changes=changes,
    )


def encode_index(histories: dict[str, Any] | None = None, *files: AssetFile) -> str:
    assets = [Asset(type="plan", path=f.path, files=[f]) for f in files]
    thread = ThreadIndex(
        id="thread-1",
        title="t",
        agent="claude-code",
        session_id="s",
        assets=assets,
        histories=histories or {},
    )
    return json.dumps(thread_index_to_dict(thread))


def parse_thread_histories(text: str | None) -> dict[str, Any]:
    return parse_histories(text, "thread-1")


def test_a_new_revision_is_appended_with_the_calls_that_led_to_it():
    first = extend_history([], make_file("a", 1, make_change("c1", 0)))
    changes = make_change("c1", 0), make_change("c2", 2), make_change("c3", 2.5)
    second = extend_history(first, make_file("b", 3, *changes))

    assert [(revision.sha256, revision.calls) for revision in second] == [
        ("a", ["c1"]),
        ("b", ["c2", "c3"]),
    ]


def test_the_same_revision_is_not_appended_again():
    history = extend_history([], make_file("a", 1))

    assert extend_history(history, make_file("a", 9)) == history


def test_a_call_that_becomes_known_late_is_added_to_its_revision():
    first = extend_history([], make_file("a", 1))
    second = extend_history(first, make_file("b", 3))

    extended = extend_history(second, make_file("b", 3, make_change("c1", 0.5)))

    assert [revision.calls for revision in extended] == [["c1"], []]


def test_a_file_without_a_hash_adds_no_revision():
    assert extend_history([], make_file("", 1, make_change("c1", 0))) == []


def test_the_history_of_an_earlier_index_is_continued():
    first = encode_index(None, make_file("a", 1))

    second = json.loads(encode_index(parse_thread_histories(first), make_file("b", 2)))

    assert [h["sha256"] for h in second["assets"][0]["history"]] == ["a", "b"]
    assert second["assets"][0]["created_at"] == "2026-11-16T10:00:01.000Z"


def test_a_removed_file_keeps_its_history_and_continues_it_on_return():
    without_file = encode_index(
        parse_thread_histories(encode_index(None, make_file("a", 1)))
    )
    assert json.loads(without_file)["removed"][0]["path"] == PLAN

    restored = json.loads(
        encode_index(parse_thread_histories(without_file), make_file("b", 2))
    )

    assert [h["sha256"] for h in restored["assets"][0]["history"]] == ["a", "b"]
    assert restored["removed"] == []


def test_a_history_continues_when_the_thread_gets_another_id():
    first = encode_index(None, make_file("a", 1)).replace("thread-1", "thread-0")

    second = json.loads(encode_index(parse_thread_histories(first), make_file("b", 2)))

    assert [h["sha256"] for h in second["assets"][0]["history"]] == ["a", "b"]
    assert second["removed"] == []


def test_encoding_the_index_again_gives_the_same_bytes():
    file = make_file("a", 1, make_change("c1", 0))
    first = encode_index(None, file)

    assert encode_index(parse_thread_histories(first), file) == first


@pytest.mark.parametrize(
    "text",
    [None, "", "{", "[]", '{"assets": 7}', '{"assets": [{"type": 1}]}', "\ud800",
     '{"assets": [{"type": "plan", "path": "p", "files": [{"path": 1}]}]}'],
)  # fmt: skip
def test_a_damaged_index_has_no_histories(text: str | None):
    assert parse_thread_histories(text) == {}


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"assets": []}', '{"thread": 1}'])
def test_an_index_without_required_fields_is_refused(text: str):
    assert parse_index(text) is None


def test_a_valid_index_is_parsed():
    index = parse_index(encode_index(None, make_file("a", 1, make_change("c1", 0))))

    assert index
    assert index["assets"][0]["calls"][0]["call_id"] == "c1"
