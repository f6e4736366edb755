"""After any prune, what is left is what a store of the others alone would be."""

from __future__ import annotations

import os
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from leslied.lookup import ResolvedId, list_sessions, load_units, parse_query
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
    """One session as it will be written."""

    id: str
    lines: list[dict[str, Any]] = field(default_factory=list)
    children: list[list[dict[str, Any]]] = field(default_factory=list)


@st.composite
def homes(draw: st.DrawFn) -> tuple[list[SessionLog], set[str]]:
    """Sessions, some of them forks of earlier ones, and which of them go."""
    logs: list[SessionLog] = []
    for number in range(draw(st.integers(1, 5))):
        log = SessionLog(f"{number:08x}-0000-4000-8000-000000000000")
        talk = ClaudeLogBuilder(log.id)
        if logs and draw(st.booleans()):
            parent = draw(st.sampled_from(logs))
            copied = parent.lines[: draw(st.integers(0, len(parent.lines)))]
            log.lines = [{**line, "sessionId": log.id} for line in copied]
        for turn in range(draw(st.integers(0, 3))):
            word = draw(st.sampled_from(WORDS))
            log.lines += _turn(talk, f"{word} w{number}x{turn}", draw(st.booleans()))
        for nth in range(draw(st.integers(0, 2))):
            log.children.append([_child(log.id, nth, f"{WORDS[nth]} c{number}x{nth}")])
        logs.append(log)
    return logs, set(draw(st.sets(st.sampled_from([log.id for log in logs]))))


def _turn(talk: ClaudeLogBuilder, text: str, has_call: bool) -> list[dict[str, Any]]:  # noqa: FBT001
    lines = [talk.prompt(text)]
    if has_call:
        call = f"call-{text}"
        lines.append(talk.call("Read", {"path": text}, call))
        lines.append(talk.result(call, f"result {text}"))
    return [*lines, talk.answer(f"answer {text}")]


def _child(session_id: str, nth: int, text: str) -> dict[str, Any]:
    talk = ClaudeLogBuilder(f"{session_id}/{nth}")
    line = talk.prompt(text, isSidechain=True, agentId=f"a{nth}")
    return {**line, "sessionId": session_id}


def make_home(folder: Path, logs: list[SessionLog]) -> ClaudeHome:
    """The logs, written one after the other, and read."""
    (folder / "home").mkdir(parents=True)
    claude = ClaudeHome(folder / "home", folder / "data" / "store.db", FakeClock())
    for second, log in enumerate(logs):
        files = {f"-app/{log.id}.jsonl": log.lines} if log.lines else {}
        for nth, lines in enumerate(log.children):
            files[f"-app/{log.id}/subagents/agent-a{nth}.jsonl"] = lines
        for name, lines in files.items():
            os.utime(claude.write(*lines, name=name), (second + 1, second + 1))
    sync_and_archive(claude)
    return claude


def snapshot_store(claude: ClaudeHome) -> dict[str, Any]:
    """All that can be seen, but for the store's own numbers."""
    with StoreReader(claude.store_path) as reader:
        found = list_sessions(reader)
        return {
            "sessions": [
                (s.key, s.title, s.units, s.tool_calls, s.usage, s.thread_id)
                for s in found
            ],
            "streams": sorted(
                (s.key, s.usage, [_record_row(p) for p in reader.list_records(s.row)])
                for s in reader.list_sessions()
            ),
            "chats": sorted(chat for _, _, chat in reader.find_units_by_prefix("")),
            "units": [
                [(u.chat_id, u.prompt, len(u.subagents)) for u in load_units(reader, f)]
                for f in map(ResolvedId, found)
            ],
            "hits": {
                word: sorted(
                    (h.key, h.chat_id, h.entry_id, h.text)
                    for h in reader.search(parse_query(word, {})).list_newest(99)
                )
                for word in (*WORDS, "answer", "result", "Read")
            },
        }


def _record_row(placed: Any) -> tuple[Any, ...]:
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
def test_what_is_left_is_what_the_others_alone_would_be(
    drawn: tuple[list[SessionLog], set[str]],
):
    logs, going = drawn
    with tempfile.TemporaryDirectory() as folder:
        claude = make_home(Path(folder) / "all", logs)
        prune_sessions(claude, going)
        check_store(claude)
        others = [log for log in logs if log.id not in going]
        alone = make_home(Path(folder) / "alone", others)

        assert snapshot_store(claude) == snapshot_store(alone)
        sync_and_archive(claude)
        assert snapshot_store(claude) == snapshot_store(alone)
        _check_words(claude, logs, going)


def _check_words(claude: ClaudeHome, logs: list[SessionLog], going: set[str]) -> None:
    """No file holds a word that only a session which is gone had."""
    texts = {log.id: str((log.lines, log.children)) for log in logs}
    left = "".join(text for name, text in texts.items() if name not in going)
    words = {f"w{n}x{turn}" for n in range(5) for turn in range(3)}
    for word in sorted(words):
        if word in "".join(texts.values()) and word not in left:
            assert list_files_containing(claude.store_path.parent, word) == []
