"""Compare the store with independent counts of messages in whole logs.

The counting follows `formats/claude-code.md`, section 6, and uses only `json`, not
leslied's decoder.
"""

from __future__ import annotations

import json
import re
import shutil
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from leslied.agents import load_adapters
from leslied.model.record import MAIN
from leslied.store import StoreReader
from tests.support import golden
from tests.support.claude import ClaudeHome

ADAPTER = load_adapters()["claude-code"]
SHARED = Path(__file__).resolve().parents[3] / "shared"
CAPTURES = sorted(SHARED.glob("captures/claude-*/*/config/projects"))
FLAT_FOLDERS = [SHARED / "corpus" / "claude-1.0"]
PROJECTS = sorted(SHARED.glob("corpus/*/projects"))
GROWTH_STATES = sorted(SHARED.glob("corpus/growth/*.jsonl"))

Counts = dict[tuple[str, bool], Counter[str]]
"""Counts by session id, separately for the session (False) and its subagents (True)."""

COMMAND = re.compile(
    r"\s*(<command-(name|message|args)>.*?</command-\2>\s*)+", re.DOTALL
)
SHELL = re.compile(r"\s*<bash-input>.*?</bash-input>\s*", re.DOTALL)
ATTACHED_TAG = re.compile(
    r"\s*<(system-reminder|ide_opened_file|ide_selection|ide_diagnostics|"
    r"user-memory-input)>.*?</\1>\s*",
    re.DOTALL,
)
MACHINE_PREFIXES = (
    "<local-command-",
    "<bash-std",
    "<task-notification>",
    "<teammate-message",
    "<agent-message",
    "Stop hook feedback:",
    "Operation stopped by hook",
    "<tick>",
    "<goal>",
    "<session-start-hook>",
    "[Request interrupted by user",
    "This session is being continued from a previous conversation",
)


def iter_objects(path: Path) -> Iterator[dict[str, Any]]:
    """Yield every object in a log, including several on one line."""
    decoder = json.JSONDecoder()
    for line in path.read_bytes().split(b"\n"):
        text, position = line.decode(errors="replace").strip("\0 \r"), 0
        while position < len(text):
            value, position = decoder.raw_decode(text, position)
            yield value


def list_blocks(line: dict[str, Any]) -> list[dict[str, Any]]:
    content = line["message"].get("content") or ""
    return content if isinstance(content, list) else [{"type": "text", "text": content}]


def find_origin(line: dict[str, Any], text: str) -> str:
    """Return `prompt`, `command` or `shell` for a person's text, or ""."""
    kind = (line.get("origin") or {}).get("kind", "human")
    is_system = kind != "human" or line.get("promptSource") == "system"
    if line.get("isMeta") or line.get("isCompactSummary") or is_system:
        return ""
    if text.lstrip().startswith(MACHINE_PREFIXES):
        return ""
    if SHELL.fullmatch(text):
        return "shell"
    if COMMAND.fullmatch(text):
        return "command"
    while match := ATTACHED_TAG.match(text):
        text = text[match.end() :]
    return "prompt" if text.strip() else ""


def count_message(line: dict[str, Any], counts: Counter[str]) -> None:
    """Count texts, calls and results of an assistant or user line."""
    message = line["message"]
    is_synthetic = (
        line.get("isApiErrorMessage") or message.get("model") == "<synthetic>"
    )
    if line["type"] == "assistant" and not is_synthetic:
        kinds = Counter(block["type"] for block in list_blocks(line))
        counts["texts"] += kinds["text"]
        counts["calls"] += kinds["tool_use"]
    if line["type"] == "user":
        counts["results"] += sum(b["type"] == "tool_result" for b in list_blocks(line))


def count_user_text(line: dict[str, Any], counts: Counter[str]) -> None:
    """Count a person's text in a user line; text next to a result was queued."""
    blocks = list_blocks(line)
    text_blocks = [block for block in blocks if block["type"] != "tool_result"]
    texts = [block.get("text") or "an image" for block in text_blocks]
    origin = find_origin(line, "\n\n".join(texts)) if text_blocks else ""
    has_result = len(text_blocks) < len(blocks)
    if origin:
        counts["queued" if has_result and origin == "prompt" else origin] += 1


class ExpectedSession:
    """Counts of one main log, and the lines of its subagents."""

    def __init__(self, path: Path, counts: Counter[str]) -> None:
        self.counts = counts
        self.subagent_lines: dict[str, list[dict[str, Any]]] = defaultdict(list)
        self._chains: dict[str, str] = {}
        self._queued: list[str] = []
        self._has_open_command = False
        counted_uuids: set[str] = set()
        for line in iter_objects(path):
            uuid = line.get("uuid")
            if uuid and uuid in counted_uuids:
                continue
            counted_uuids.add(uuid or "")
            self._count_line(line)

    def _count_line(self, line: dict[str, Any]) -> None:
        kind = line["type"]
        if line.get("isSidechain"):
            self._add_subagent_line(line)
        elif kind in ("user", "assistant"):
            before = self.counts.copy()
            count_message(line, self.counts)
            if kind == "user":
                count_user_text(line, self.counts)
            self._count_unit(self.counts - before, line)
        elif kind == "progress" and line["data"]["type"] == "agent_progress":
            self.subagent_lines[line["data"]["agentId"]].append(line["data"]["message"])
        elif kind == "queue-operation":
            self._count_queue_operation(line)
        elif kind == "system" and line.get("subtype") == "local_command":
            is_command = bool(COMMAND.fullmatch(line["content"]))
            self.counts["command"] += is_command
            self._has_open_command = self._has_open_command or is_command

    def _count_unit(self, line_counts: Counter[str], line: dict[str, Any]) -> None:
        """Count a unit for a prompt, or for a command that the agent answers."""
        if line_counts["prompt"] or line_counts["command"] or line_counts["shell"]:
            self._has_open_command = not line_counts["prompt"]
            self.counts["units"] += line_counts["prompt"]
        elif self._has_open_command and line["type"] == "assistant":
            is_synthetic = line["message"].get("model") == "<synthetic>"
            self._has_open_command = is_synthetic
            self.counts["units"] += not is_synthetic

    def _add_subagent_line(self, line: dict[str, Any]) -> None:
        """Add the line to its subagent, which is named after its first line."""
        first_uuid = self._chains.get(line["parentUuid"]) or line["uuid"]
        self._chains[line["uuid"]] = first_uuid
        self.subagent_lines[first_uuid].append(line)

    def _count_queue_operation(self, line: dict[str, Any]) -> None:
        """Count queued prompts; the logs do not report them in attachments as well."""
        text, operation = line.get("content"), line["operation"]
        if operation == "enqueue" and find_origin(line, text or ""):
            self._queued.append(text)
        elif operation == "dequeue" and self._queued:
            self._queued.pop(0)
        elif operation == "remove" and self._queued:
            self._queued.pop(0)
            self.counts["queued"] += 1


def count_logs(projects: Path) -> Counts:
    """Count every session below a projects directory."""
    counts: Counts = defaultdict(Counter)
    subagent_lines: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for path in sorted(projects.glob("*/*.jsonl")):
        if not path.name.startswith("agent-"):
            session = ExpectedSession(path, counts[path.stem, False])
            subagent_lines |= {
                (path.stem, agent): lines
                for agent, lines in session.subagent_lines.items()
            }
    for path in projects.glob("*/**/agent-*.jsonl"):
        lines = list(iter_objects(path))
        is_sibling = path.parent.parent == projects
        owner = lines[0]["sessionId"] if is_sibling else path.parents[1].name
        subagent_lines[owner, path.stem.removeprefix("agent-")] = lines
    for (owner, _), lines in subagent_lines.items():
        counts[owner, True]["subagents"] += 1
        messages = [line for line in lines if line["type"] in ("user", "assistant")]
        for line in {line["uuid"]: line for line in messages}.values():
            count_message(line, counts[owner, True])
    # The unary plus removes counts of zero.
    return {key: +counter for key, counter in counts.items() if +counter}


def count_store(path: Path) -> Counts:
    """Count every session in the store in the same way."""
    names = {
        "assistant_message": "texts",
        "tool_use": "calls",
        "tool_result": "results",
    }
    counts: Counts = defaultdict(Counter)
    with StoreReader(path) as reader:
        for session in reader.list_sessions():
            counter = counts[session.key.session_id, session.is_subagent]
            counter["subagents"] += session.is_subagent
            placements = list(reader.list_records(session.key))
            counter["units"] += len({placed.unit for placed in placements} - {0})
            for placed in placements:
                record = placed.record
                counter[names.get(record.type, "")] += 1
                if record.type == "user_message" and session.key.source == MAIN:
                    counter[record.metadata["origin"]] += 1
    origins = {"prompt", "command", "shell", "queued"}
    relevant_names = {*names.values(), *origins, "subagents", "units"}
    relevant_counts = {
        key: Counter(
            {
                name: count
                for name, count in counter.items()
                if name in relevant_names and count
            }
        )
        for key, counter in counts.items()
    }
    return {key: counter for key, counter in relevant_counts.items() if counter}


def list_rejection_reasons(path: Path) -> list[str]:
    with StoreReader(path) as reader:
        return [row["reason"] for row in reader.list_rejected(99)]


@pytest.mark.parametrize(
    "projects", [*CAPTURES, *PROJECTS], ids=lambda path: "/".join(path.parts[-4:-1])
)
@pytest.mark.usefixtures("shared_dir")
def test_the_store_has_the_same_counts_as_the_logs(claude: ClaudeHome, projects: Path):
    shutil.copytree(projects, claude.projects)

    claude.sync(is_final=True)

    assert list_rejection_reasons(claude.store_path) == []
    assert count_store(claude.store_path) == count_logs(claude.projects)


@pytest.mark.parametrize("folder", FLAT_FOLDERS, ids=lambda path: path.name)
@pytest.mark.usefixtures("shared_dir")
def test_the_store_has_the_same_counts_as_logs_of_the_first_versions(
    claude: ClaudeHome, folder: Path
):
    shutil.copytree(folder, claude.projects / "x")

    claude.sync(is_final=True)

    assert list_rejection_reasons(claude.store_path) == []
    assert count_store(claude.store_path) == count_logs(claude.projects)


@pytest.mark.parametrize("is_final", [False, True])
@pytest.mark.usefixtures("shared_dir")
def test_a_growing_log_gives_the_same_store_as_the_complete_one(
    claude: ClaudeHome, tmp_path: Path, *, is_final: bool
):
    for state in GROWTH_STATES:
        size = claude.log().stat().st_size if claude.log().exists() else 0
        with claude.log().open("ab") as log:
            log.write(state.read_bytes()[size:])
        claude.sync(is_final=is_final)
    claude.sync(is_final=True)
    grown_rows = golden.describe_store(claude.store_path)

    claude.store_path = tmp_path / "at-once" / "store.db"
    claude.sync(is_final=True)

    assert grown_rows == golden.describe_store(claude.store_path)
    assert count_store(claude.store_path) == count_logs(claude.projects)


def test_the_tokens_of_a_real_fork_count_once(shared_dir: Path, claude: ClaudeHome):
    shutil.copytree(shared_dir / "corpus" / "fork-pair" / "projects", claude.projects)
    largest_counts: dict[tuple[str, str], int] = {}
    for path in claude.projects.glob("*/*.jsonl"):
        for line in iter_objects(path):
            # A progress line contains a line of a subagent.
            is_progress = line["type"] == "progress"
            inner_line = line["data"].get("message") if is_progress else line
            if inner_line and inner_line["type"] == "assistant":
                message = inner_line["message"]
                tokens = message["usage"]["output_tokens"]
                key = (message["id"], inner_line.get("requestId", ""))
                largest_counts[key] = max(largest_counts.get(key, 0), tokens)

    claude.sync(is_final=True)

    with StoreReader(claude.store_path) as reader:
        total = sum(session.usage.output_tokens for session in reader.list_sessions())
    assert total == sum(largest_counts.values()) > 0
