"""Test that a session which was exported and imported again says the same."""

from __future__ import annotations

from pathlib import Path, PurePosixPath
from typing import Any

import pytest

from leslied.agents import AgentAdapter, load_adapters
from leslied.model.imports import ImportFile
from leslied.model.session import Session, Unit
from leslied.rendering.messages import make_unit_messages, parse_input
from tests.support import golden
from tests.support.clock import FakeClock
from tests.support.exports import read_case_session, read_session, render

FORMATS = ("atif", "chibi", "devflow", "weakincentives")
AGENTS = ("claude-code", "codex", "copilot-cli", "gemini-cli", "pi", "opencode")
"""Agents whose logs have, together, everything that records can have."""
LOSSES = {
    ("chibi", "copilot-cli", "speech"): "a subagent without messages has no entries",
    ("chibi", "gemini-cli", "damaged"): "a result without an id is joined to a call",
}
"""What a format cannot say, by format, agent and case."""
QUICK_CASES = (
    "sub2-old",
    "tools-old",
    "rename-notification",
    "subagent-legacy",
    "tree",
)
"""Cases with subagents, calls, commands, nested subagents and rewinds."""
CASES = [
    pytest.param(
        adapter, case, marks=() if case.name in QUICK_CASES else pytest.mark.heavy
    )
    for adapter, case in golden.list_all_cases()
    if adapter.name in AGENTS
]


def import_artifacts(adapter: AgentAdapter, files: dict[str, bytes], home: Path):
    """Keep the files as the command `import` does; return how many were kept."""
    count = 0
    for name, data in files.items():
        for part in adapter.split_import(ImportFile(PurePosixPath("/x", name), data)):
            path = home / "imports" / adapter.name / part.name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(part.data)
            count += 1
    return count


def describe_session(session: Session) -> list[dict[str, Any]]:
    """Return what was said and done in each unit that a prompt started."""
    return [describe_unit(unit) for unit in session.units if unit.number]


def describe_unit(unit: Unit) -> dict[str, Any]:
    (group,) = make_unit_messages([unit])
    calls = [call for message in group.messages for call in message.calls]
    texts = [m.text for m in group.messages if m.speaker == "assistant"]
    return {
        "prompts": [m.text for m in group.messages if m.speaker == "user"],
        "text": "\n\n".join(filter(str.strip, texts)),
        "calls": [
            (call.name, parse_input(call.placed.record), call.output, call.is_error)
            for call in calls
        ],
        "subagents": {
            child.summary.subagent_id: (
                child.summary.spawn_call_id,
                describe_unit(child),
            )
            for child in unit.subagents
        },
    }


@pytest.mark.parametrize("format_name", FORMATS)
@pytest.mark.parametrize(("adapter", "case"), CASES, ids=golden.format_case_id)
def test_an_export_that_is_imported_has_the_same_units_texts_and_calls(
    adapter: AgentAdapter,
    case: Path,
    format_name: str,
    tmp_path: Path,
    clock: FakeClock,
):
    session = read_case_session(
        adapter, case, tmp_path / "home", tmp_path / "a.db", clock
    )
    if session is None or not any(unit.number for unit in session.units):
        pytest.skip("the fixture has no prompt")
    if reason := LOSSES.get((format_name, adapter.name, case.name)):
        pytest.skip(reason)
    reader = load_adapters()[format_name]
    home = tmp_path / "other"

    assert import_artifacts(reader, render(session, format_name), home)
    golden.sync_home(reader, home, tmp_path / "b.db", clock)

    copy = read_session(tmp_path / "b.db", clock)
    assert describe_session(copy) == describe_session(session)
