"""The history of a file: each state once, each call where it belongs."""

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
    load_histories,
    load_index,
    thread_index_to_dict,
)
from tests.support.records import make_key, time_at

PLAN = ".leslie/threads/thread-1/plan.md"


def touch(call_id: str, seconds: float) -> FileChange:
    return FileChange(
        session=make_key(), kind="edit", path=PLAN, call_id=call_id, at=time_at(seconds)
    )


def file(sha256: str, seconds: float, *touches: FileChange, **more: Any) -> AssetFile:
    known = {"path": PLAN, "title": "Plan", "size": 1}
    told = {"sha256": sha256, "updated_at": time_at(seconds), "touches": touches}
    return AssetFile(**{**known, **told, **more})


def write(past: dict[str, Any] | None = None, *files: AssetFile) -> str:
    assets = [Asset(type="plan", path=f.path, files=[f]) for f in files]
    thread = ThreadIndex(
        id="thread-1",
        title="t",
        agent="claude-code",
        session_id="s",
        assets=assets,
        histories=past or {},
    )
    return json.dumps(thread_index_to_dict(thread))


def past(text: str | None) -> dict[str, Any]:
    return load_histories(text, "thread-1")


def test_a_new_state_is_appended_with_the_calls_that_led_to_it():
    one = extend_history([], file("a", 1, touch("c1", 0)))
    two = extend_history(
        one, file("b", 3, touch("c1", 0), touch("c2", 2), touch("c3", 2.5))
    )

    assert [(change.sha256, change.calls) for change in two] == [
        ("a", ["c1"]),
        ("b", ["c2", "c3"]),
    ]


def test_the_same_state_is_not_appended_again():
    one = extend_history([], file("a", 1))

    assert extend_history(one, file("a", 9)) == one


def test_a_call_that_is_learned_of_late_joins_its_state():
    history = extend_history(extend_history([], file("a", 1)), file("b", 3))

    told = extend_history(history, file("b", 3, touch("c1", 0.5)))

    assert [change.calls for change in told] == [["c1"], []]


def test_a_file_that_could_not_be_hashed_adds_nothing():
    assert extend_history([], file("", 1, touch("c1", 0))) == []


def test_history_is_read_back_and_goes_on():
    first = write(None, file("a", 1))

    second = json.loads(write(past(first), file("b", 2)))

    assert [h["sha256"] for h in second["assets"][0]["history"]] == ["a", "b"]
    assert second["assets"][0]["created_at"] == "2026-11-16T10:00:01.000Z"


def test_a_file_that_is_gone_keeps_its_history_and_gets_it_back():
    gone = write(past(write(None, file("a", 1))))
    assert json.loads(gone)["removed"][0]["path"] == PLAN

    back = json.loads(write(past(gone), file("b", 2)))

    assert [h["sha256"] for h in back["assets"][0]["history"]] == ["a", "b"]
    assert back["removed"] == []


def test_history_goes_on_where_the_thread_got_another_id():
    first = write(None, file("a", 1)).replace("thread-1", "thread-0")

    second = json.loads(write(past(first), file("b", 2)))

    assert [h["sha256"] for h in second["assets"][0]["history"]] == ["a", "b"]
    assert second["removed"] == []


def test_the_index_written_twice_says_the_same():
    first = write(None, file("a", 1, touch("c1", 0)))

    assert write(past(first), file("a", 1, touch("c1", 0))) == first


@pytest.mark.parametrize(
    "text",
    [None, "", "{", "[]", '{"assets": 7}', '{"assets": [{"type": 1}]}', "\ud800",
     '{"assets": [{"type": "plan", "path": "p", "files": [{"path": 1}]}]}'],
)  # fmt: skip
def test_a_damaged_index_has_no_past(text: str | None):
    assert past(text) == {}


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"assets": []}', '{"thread": 1}'])
def test_an_index_that_lacks_anything_is_not_shown(text: str):
    assert load_index(text) is None


def test_an_index_can_be_shown():
    index = load_index(write(None, file("a", 1, touch("c1", 0))))

    assert index
    assert index["assets"][0]["calls"][0]["call_id"] == "c1"
