"""When a log counts as complete."""

from __future__ import annotations

from typing import Any

import pytest

from leslied.model.log_proof import (
    VERDICTS,
    AgentProof,
    MissingEntry,
    ProofReport,
    SourceProof,
)
from leslied.model.unknown_kind import UnknownKind


def make_source(**fields: Any) -> SourceProof:
    counts = {"record": 3, **fields.pop("counts", {})}
    defaults = {"path": "/log", "bytes": 10, "entries": 4, "is_same": True}
    return SourceProof(**{**defaults, **fields}, counts=counts)


def make_report(**fields: Any) -> ProofReport:
    agent = AgentProof(name="codex", sources=[make_source(**fields)], deleted_logs=0)
    return ProofReport(agents=[agent], unknown_kinds=[])


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"counts": {"noise": 1, "rejected": 1, "deleted": 1, "empty": 1}},
        {"counts": {"outdated": 1}},
        {"counts": {"unread": 1}},
        {"problem": "is damaged"},
    ],
)
def test_a_log_is_complete_if_nothing_is_missing(fields: dict[str, Any]):
    report = make_report(**fields)

    assert not report.is_failed
    assert report.to_dict()["complete"]


@pytest.mark.parametrize(
    "fields",
    [
        {"counts": {"missing": 1}},
        {"counts": {"unread": 1}, "is_late": True},
        {"problem": "is damaged", "is_late": True},
    ],
)
def test_a_log_with_missing_entries_is_incomplete(fields: dict[str, Any]):
    report = make_report(**fields)

    assert report.is_failed
    assert not report.to_dict()["complete"]


def test_the_json_form_has_totals_and_every_source():
    example = MissingEntry(offset=5, length=2, reason="not read yet")
    source = make_source(counts={"unread": 1}, examples=(example,))
    kind = UnknownKind(agent="codex", version="1", kind="novelty", entries=2)
    agent = AgentProof(name="codex", sources=[source, source], deleted_logs=3)

    data = ProofReport(agents=[agent], unknown_kinds=[kind]).to_dict()

    (encoded,) = data["agents"]
    assert (encoded["logs"], encoded["gone"], encoded["bytes"]) == (2, 3, 20)
    assert {name: encoded[name] for name in VERDICTS if encoded[name]} == {
        "record": 6,
        "unread": 2,
    }
    assert encoded["sources"][0]["examples"] == [
        {"offset": 5, "length": 2, "reason": "not read yet"}
    ]
    assert data["unknown_kinds"] == [
        {"agent": "codex", "version": "1", "kind": "novelty", "entries": 2}
    ]
