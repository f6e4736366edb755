"""Steps of ATIF trajectories."""

from __future__ import annotations

from typing import Any

from leslied.model.record import Usage
from tests.support.imports import decode_file, split_file, summarize


def decode(*steps: dict[str, Any], **fields: Any):
    return decode_file("atif", "t.json", {"steps": steps, **fields}).records[1:]


def test_a_trajectory_is_kept_under_its_ids():
    document = {"schema_version": "ATIF-v1.8", "session_id": "s", "trajectory_id": "t"}

    assert list(split_file("atif", "/x/any.json", document)) == ["s-t.json"]
    assert split_file("atif", "/x/any.json", {"steps": []}) == {}


def test_cached_tokens_are_subtracted_from_the_prompt():
    metrics = {"prompt_tokens": 100, "completion_tokens": 5, "cached_tokens": 60}

    records = decode({"source": "agent", "message": "a", "metrics": metrics})

    assert records[-1].usage == Usage(40, 5, 60)


def test_a_prompt_that_was_queued_is_not_a_prompt_of_its_own():
    (record,) = decode(
        {"source": "user", "message": "b", "extra": {"origin": "queued"}}
    )

    assert record.metadata == {"origin": "queued"}


def test_a_step_of_an_unknown_source_is_kept():
    assert summarize(decode({"source": "critic"})) == [
        ("unknown", '{"source":"critic"}')
    ]


def test_nested_subagents_are_linked_to_their_calls():
    result = {
        "source_call_id": "c",
        "subagent_trajectory_ref": [{"trajectory_id": "b"}],
    }
    step = {
        "source": "agent",
        "message": "",
        "tool_calls": [{"tool_call_id": "c", "function_name": "f", "arguments": {}}],
        "observation": {"results": [result]},
    }
    leaf = {"trajectory_id": "b", "steps": [{"source": "user", "message": "task"}]}
    middle = {"trajectory_id": "a", "steps": [step], "subagent_trajectories": [leaf]}

    records = decode(subagent_trajectories=[middle])

    links = {
        r.session.source: (
            r.metadata.get("tool_call_id"),
            r.metadata.get("parent_agent"),
        )
        for r in records
        if r.metadata.get("kind") == "subagent_linked"
    }
    assert links == {"subagent:a": (None, None), "subagent:a/b": ("c", "a")}
