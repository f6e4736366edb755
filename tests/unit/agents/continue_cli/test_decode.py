"""Ids, folders and times of Continue's sessions."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from leslied.agents.continue_cli import ADAPTER
from leslied.model.record import Record
from tests.support.agent_home import AgentHome


@pytest.fixture
def continue_cli(home: Path, tmp_path: Path, clock) -> AgentHome:
    return AgentHome(ADAPTER, home, tmp_path / "store.db", clock)


def decode(
    agent: AgentHome, *items: Any, beside: str = "", **fields: Any
) -> list[Record]:
    document = {"history": list(items), **fields}
    return list(agent.decode("a-b.json", document, {"beside": beside}).records)


def make_item(role: str, text: str, **fields: Any) -> dict[str, Any]:
    return {"message": {"role": role, "content": text}, **fields}


def list_ids(records: list[Record]) -> list[str]:
    return [record.native_id for record in records[1:]]


def test_a_message_is_identified_by_the_prompt_before_it(continue_cli: AgentHome):
    turn = [make_item("user", "hi"), make_item("assistant", "Hello.")]

    first, second, third, fourth = list_ids(decode(continue_cli, *turn, *turn))

    assert first.endswith("-1+0")
    assert second == first.replace("+0", "+1")
    assert (third, fourth) == (
        first.replace("-1+", "-2+"),
        second.replace("-1+", "-2+"),
    )


def test_ids_after_a_summary_differ(continue_cli: AgentHome):
    summary = make_item("assistant", "Sum.", conversationSummary="Sum.")
    prompt = make_item("user", "hi")

    (before,) = list_ids(decode(continue_cli, prompt))
    _, after = list_ids(decode(continue_cli, summary, prompt))

    assert after.endswith(f"/{before}")


@pytest.mark.parametrize(
    ("folder", "cwd"),
    [
        ("/home/dev/a%20b", "/home/dev/a%20b"),
        ("file:///home/dev/a%20b", "/home/dev/a b"),
        ("file:///home/%C3%A9%ZZ", "/home/\u00e9%ZZ"),
        (7, ""),
    ],
)
def test_a_folder_is_a_path_or_a_uri(continue_cli: AgentHome, folder: Any, cwd: str):
    (opened,) = decode(continue_cli, workspaceDirectory=folder)

    assert opened.metadata.get("cwd", "") == cwd


@pytest.mark.parametrize(
    ("beside", "time"),
    [
        ('a-b", "title": "x", "dateCreated": "1794900000000"', True),
        ('a-b", "dateCreated": 1794900000000', True),
        ('a-b"}, {"dateCreated": "1794900000000"', False),
        ("", False),
    ],
)
def test_the_time_is_that_of_the_session_in_the_list(
    continue_cli: AgentHome, beside: str, *, time: bool
):
    records = decode(continue_cli, make_item("user", "hi"), beside=beside)

    at = datetime(2026, 11, 17, 7, 20, tzinfo=UTC) if time else None
    assert [record.created_at for record in records] == [at, at]
