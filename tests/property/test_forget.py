"""What is forgotten never comes back, and everything else stays as it was."""

from __future__ import annotations

import os
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from leslied.store import StoreReader
from tests.property.test_prune import SessionLog, homes, make_home
from tests.support.claude import ClaudeHome, ClaudeLogBuilder
from tests.support.forget import forget, list_holders
from tests.support.prune import check_store, sync_and_archive
from tests.support.queries import make_app

EXAMPLES = int(os.environ.get("LESLIED_EXAMPLES", "150"))

pytestmark = [pytest.mark.timeout(600 + EXAMPLES), pytest.mark.threat("S10")]


@dataclass
class Forgetting:
    """What to forget, and what happens afterwards."""

    logs: list[SessionLog]
    session_id: str
    """The session to forget, or "" to forget the text."""
    text: str
    steps: list[str]


@st.composite
def forgettings(draw: st.DrawFn) -> Forgetting:
    logs, _ = draw(homes())
    number = draw(st.integers(0, len(logs) - 1))
    is_session = draw(st.booleans())
    turn = draw(st.integers(0, 2))
    steps = draw(st.lists(st.sampled_from(["grow", "rebuild", "copy", "replace"])))
    return Forgetting(
        logs=logs,
        session_id=logs[number].id if is_session and _has_lines(logs[number]) else "",
        text=f"w{number}x{turn}",
        steps=steps,
    )


def _has_lines(log: SessionLog) -> bool:
    return bool(log.lines or log.children)


def list_entries(claude: ClaudeHome) -> dict[Any, list[tuple[Any, ...]]]:
    """Return the contents of all entries in order, by stream, except context."""
    with StoreReader(claude.store_path) as reader:
        return {
            session.key: [
                (placed.entry_id, placed.record.content, placed.record.tool_input)
                for placed in reader.list_records(session.key)
                if placed.record.type != "system_event"
            ]
            for session in reader.list_sessions()
        }


def remove_forgotten(
    entries: dict[Any, list[tuple[Any, ...]]], forgetting: Forgetting
) -> dict[Any, list[tuple[Any, ...]]]:
    """Return the entries that must remain."""
    forgotten_ids = {
        entry[0]
        for key, stream in entries.items()
        for entry in stream
        if (
            key.session_id == forgetting.session_id
            if forgetting.session_id
            else forgetting.text in f"{entry[1]} {entry[2]}"
        )
    }
    remaining = {
        key: [entry for entry in stream if entry[0] not in forgotten_ids]
        for key, stream in entries.items()
    }
    return {key: stream for key, stream in remaining.items() if stream}


def take_step(claude: ClaudeHome, forgetting: Forgetting, step: str) -> None:
    """Let the logs change, or rebuild the store."""
    logs = sorted(claude.projects.glob("-app/*.jsonl"))
    if step == "grow":
        for log in logs:
            builder = ClaudeLogBuilder(log.stem)
            name = f"-app/{log.name}"
            claude.write(
                builder.prompt("grown", uuid=f"grown of {log.stem}"), name=name
            )
    elif step == "copy":
        for log in logs:
            claude.log(f"-copy/{log.name}").write_bytes(log.read_bytes())
    elif step == "replace":
        for log in logs:
            data = log.read_bytes()
            log.unlink()
            log.write_bytes(b"\n" + data)
    else:
        make_app(claude).make_rebuild(lambda *_: None).run()


@settings(
    max_examples=max(EXAMPLES // 5, 1),
    derandomize=True,
    deadline=None,
    database=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(forgettings())
def test_what_is_forgotten_never_comes_back(forgetting: Forgetting):
    with tempfile.TemporaryDirectory() as folder:
        claude = make_home(Path(folder), forgetting.logs)
        if not claude.projects.exists():
            return
        expected = remove_forgotten(list_entries(claude), forgetting)
        by_id = {"session_id": forgetting.session_id}
        forget(
            claude, **(by_id if forgetting.session_id else {"text": forgetting.text})
        )

        assert list_entries(claude) == expected
        check_store(claude)
        for step in forgetting.steps:
            take_step(claude, forgetting, step)
            sync_and_archive(claude)
            check_remaining(claude, expected, forgetting)
        if not forgetting.session_id:
            assert list_holders(forgetting.text, claude.store_path.parent) == []


def check_remaining(
    claude: ClaudeHome,
    expected: dict[Any, list[tuple[Any, ...]]],
    forgetting: Forgetting,
) -> None:
    """Check that exactly the expected entries are there, besides new ones."""
    entries = {
        key: [entry for entry in stream if entry[1] != "grown"]
        for key, stream in list_entries(claude).items()
    }

    assert {key: stream for key, stream in entries.items() if stream} == expected
    assert forgetting.session_id not in {key.session_id for key in entries}
