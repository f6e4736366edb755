"""Messages, results and manifests of Cline's sessions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from leslied.agents.cline import ADAPTER
from leslied.model.record import DecodeResult, Record
from tests.support.agent_home import AgentHome

SESSION = "1794876958815_385te"


@pytest.fixture
def cline(home: Path, tmp_path: Path, clock) -> AgentHome:
    return AgentHome(ADAPTER, home, tmp_path / "store.db", clock)


def decode(cline: AgentHome, *messages: Any, stem: str = SESSION) -> DecodeResult:
    document = {"version": 1, "messages": messages}
    return cline.decode(f"{SESSION}/{stem}.messages.json", document)


def decode_result(cline: AgentHome, content: Any) -> Record:
    part = {"type": "tool_result", "tool_use_id": "c", "content": content}
    message = {"id": "1", "role": "user", "content": [part]}
    return decode(cline, message).records[-1]


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("plain", "plain"),
        ('{"text": "An answer."}', "An answer."),
        ('{"other": 1}', '{"other": 1}'),
        ("{broken", "{broken"),
        ([{"query": "a", "result": "x"}], "x"),
        ([{"query": "a", "result": "x"}, {"result": "y"}], "a\nx\n\ny"),
        ([{"unknown": 1}], '{"unknown":1}'),
        ([{"success": True}], ""),
        (None, ""),
    ],
)
def test_a_result_is_what_the_operations_report(
    cline: AgentHome, content: Any, text: str
):
    assert decode_result(cline, content).content == text


def test_an_operation_that_fails_is_an_error(cline: AgentHome):
    operation = {"query": "a", "error": "no such file", "success": False}

    record = decode_result(cline, [operation])

    assert (record.content, record.metadata) == ("no such file", {"is_error": True})


def test_results_of_calls_with_the_same_id_are_distinct(cline: AgentHome):
    parts = [{"type": "tool_result", "tool_use_id": "c", "content": t} for t in "xy"]
    messages = [
        {"id": t, "role": "user", "content": [part]}
        for t, part in zip("12", parts, strict=True)
    ]

    records = decode(cline, *messages).records[1:]

    assert [(r.native_id, r.block) for r in records] == [
        ("result:c", 0),
        ("result:c", 1),
    ]


def test_messages_with_the_same_id_are_one(cline: AgentHome):
    message = {"id": "1", "role": "user", "content": "hi"}

    assert len(decode(cline, message, message).records) == 2


def test_a_file_with_another_name_is_a_subagent(cline: AgentHome):
    message = {"id": "1", "role": "user", "content": "Count"}

    link, prompt = decode(cline, message, stem="agent_1.2").records

    assert link.metadata == {"kind": "subagent_linked"}
    assert prompt.session.source == "subagent:agent_1.2"
    assert prompt.metadata["origin"] == "task"


def test_a_title_that_is_the_beginning_of_the_prompt_is_not_a_title(cline: AgentHome):
    manifest = {"prompt": "say hi to all", "metadata": {"title": "say hi"}}

    assert cline.decode(f"{SESSION}/{SESSION}.json", manifest).records == ()
