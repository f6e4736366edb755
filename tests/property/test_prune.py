"""A pruned store equals a store that never had the pruned sessions."""

from __future__ import annotations

import os
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from leslied.queries.resolve import ResolvedId
from leslied.queries.search_query import parse_query
from leslied.queries.sessions import list_sessions
from leslied.queries.units import load_units
from leslied.store import StoreReader
from tests.support.claude import ClaudeHome, ClaudeLogBuilder
from tests.support.clock import FakeClock
from tests.support.prune import (
    check_store,
    list_files_containing,
    prune_sessions,
    sync_and_archive,
)

EXAMPLES = int(os.environ.get("LESLIED_EXAMPLES", "150"))
WORDS = ("apple", "birne", "中文", "naïve", "plum")

pytestmark = pytest.mark.timeout(600 + EXAMPLES)


@dataclass
class SessionLog:
    """Log lines of one session and its subagents."""

    id: str
    lines: list[dict[str, Any]] = field(default_factory=list)
    children: list[list[dict[str, Any]]] = field(default_factory=list)


@st.composite
def homes(draw: st.DrawFn) -> tuple[list[SessionLog], set[str]]:
    """Draw sessions, some forked from earlier ones, and the ids to prune."""
    logs: list[SessionLog] = []
    for number in range(draw(st.integers(1, 5))):
        log = SessionLog(f"{number:08x}-0000-4000-8000-000000000000")
        builder = ClaudeLogBuilder(log.id)
        if logs and draw(st.booleans()):
            parent = draw(st.sampled_from(logs))
            copied_lines = parent.lines[: draw(st.integers(0, len(parent.lines)))]
            log.lines = [{**line, "sessionId": log.id} for line in copied_lines]
        for turn in range(draw(st.integers(0, 3))):
            word = draw(st.sampled_from(WORDS))
            log.lines += _make_turn(
                builder, f"{word} w{number}x{turn}", has_call=draw(st.booleans())
            )
        for child_number in range(draw(st.integers(0, 2))):
            log.children.append(
                [
                    _make_subagent_line(
                        log.id,
                        child_number,
                        f"{WORDS[child_number]} c{number}x{child_number}",
                    )
                ]
            )
        logs.append(log)
    return logs, set(draw(st.sets(st.sampled_from([log.id for log in logs]))))


def _make_turn(
    builder: ClaudeLogBuilder, text: str, *, has_call: bool
) -> list[dict[str, Any]]:
    lines = [builder.prompt(text)]
    if has_call:
        call = f"call-{text}"
        lines.append(builder.call("Read", {"path": text}, call))
        lines.append(builder.result(call, f"result {text}"))
    return [*lines, builder.answer(f"answer {text}")]


def _make_subagent_line(
    session_id: str, child_number: int, text: str
) -> dict[str, Any]:
    builder = ClaudeLogBuilder(f"{session_id}/{child_number}")
    line = builder.prompt(text, isSidechain=True, agentId=f"a{child_number}")
    return {**line, "sessionId": session_id}


def make_home(folder: Path, logs: list[SessionLog]) -> ClaudeHome:
    """Write the logs one after the other, then sync and archive them."""
    (folder / "home").mkdir(parents=True)
    claude = ClaudeHome(folder / "home", folder / "data" / "store.db", FakeClock())
    for second, log in enumerate(logs):
        files = {f"-app/{log.id}.jsonl": log.lines} if log.lines else {}
        for child_number, lines in enumerate(log.children):
            files[f"-app/{log.id}/subagents/agent-a{child_number}.jsonl"] = lines
        for name, lines in files.items():
            os.utime(claude.write(*lines, name=name), (second + 1, second + 1))
    sync_and_archive(claude)
    return claude


def snapshot_store(claude: ClaudeHome) -> dict[str, Any]:
    """Return everything a reader can see, without row ids."""
    with StoreReader(claude.store_path) as reader:
        sessions = list_sessions(reader)
        return {
            "sessions": [
                (s.key, s.title, s.units, s.tool_calls, s.usage, s.thread_id)
                for s in sessions
            ],
            "streams": sorted(
                (
                    s.key,
                    s.usage,
                    [_make_record_row(p) for p in reader.list_records(s.key)],
                )
                for s in reader.list_sessions()
            ),
            "chats": sorted(chat for _, _, chat in reader.find_units_by_prefix("")),
            "units": [
                [
                    (u.chat_id, u.prompt, len(u.subagents))
                    for u in load_units(reader, resolved)
                ]
                for resolved in map(ResolvedId, sessions)
            ],
            "hits": {
                word: sorted(
                    (hit.key, hit.chat_id, hit.entry_id, hit.text)
                    for hit in reader.search(parse_query(word, {})).list_newest(99)
                )
                for word in (*WORDS, "answer", "result", "Read")
            },
        }


def _make_record_row(placed: Any) -> tuple[Any, ...]:
    record = placed.record
    return (placed.entry_id, placed.sequence, placed.unit, record.type, record.content)


@settings(
    max_examples=max(EXAMPLES // 3, 1),
    derandomize=True,
    deadline=None,
    database=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(homes())
def test_a_pruned_store_equals_a_store_of_the_remaining_sessions(
    drawn: tuple[list[SessionLog], set[str]],
):
    logs, pruned_ids = drawn
    with tempfile.TemporaryDirectory() as folder:
        claude = make_home(Path(folder) / "all", logs)
        prune_sessions(claude, pruned_ids)
        check_store(claude)
        remaining_logs = [log for log in logs if log.id not in pruned_ids]
        expected = make_home(Path(folder) / "remaining", remaining_logs)

        assert snapshot_store(claude) == snapshot_store(expected)
        sync_and_archive(claude)
        assert snapshot_store(claude) == snapshot_store(expected)
        _check_words_are_gone(claude, logs, pruned_ids)


def _check_words_are_gone(
    claude: ClaudeHome, logs: list[SessionLog], pruned_ids: set[str]
) -> None:
    """Check that no file contains a word that only pruned sessions had."""
    texts = {log.id: str((log.lines, log.children)) for log in logs}
    remaining_text = "".join(
        text for session_id, text in texts.items() if session_id not in pruned_ids
    )
    all_text = "".join(texts.values())
    words = {f"w{n}x{turn}" for n in range(5) for turn in range(3)}
    for word in sorted(words):
        if word in all_text and word not in remaining_text:
            assert list_files_containing(claude.store_path.parent, word) == []
