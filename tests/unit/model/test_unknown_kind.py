"""The JSON form of an unknown kind."""

from __future__ import annotations

from leslied.model.unknown_kind import UnknownKind


def test_the_json_form_has_all_fields():
    kind = UnknownKind(agent="codex", version="1.0", kind="novelty", entries=2)

    assert kind.to_dict() == {
        "agent": "codex",
        "version": "1.0",
        "kind": "novelty",
        "entries": 2,
    }
