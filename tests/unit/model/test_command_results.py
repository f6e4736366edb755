"""Results of commands in JSON form."""

from __future__ import annotations

from leslied.model.command_results import (
    EffectiveConfig,
    ExportResult,
    SentMessage,
    WrittenFile,
)


def test_the_fields_are_those_of_the_json_form():
    sent = SentMessage(id="msg-1", thread_id="thread-1")

    assert sent.to_dict() == {"id": "msg-1", "thread_id": "thread-1", "state": "queued"}


def test_inherited_fields_come_first():
    config = EffectiveConfig(path="/c", exists=True, settings={"store": {}})

    assert list(config.to_dict()) == ["path", "exists", "settings"]


def test_results_in_a_result_are_encoded_too():
    files = (WrittenFile(path="/a", bytes=3),)

    exported = ExportResult(format="html", sessions=1, files=files).to_dict()

    assert exported["files"] == [{"path": "/a", "bytes": 3}]
