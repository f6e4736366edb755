"""Decode `workspace.yaml`, which contains a session's title and directory."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from leslied.agents._parsing import parse_time, printable_name
from leslied.agents.copilot_cli.schema import MAX_FACT_LENGTHS
from leslied.model.record import DecodeResult, Record, SessionKey

if TYPE_CHECKING:
    from leslied.agents.copilot_cli.schema import State
    from leslied.model.source import RawEntry


def decode_workspace(entry: RawEntry, state: State) -> DecodeResult:
    """Decode the session's title and directory."""
    text = entry.data.decode(errors="replace")
    cwd = _find_yaml_value(text, "cwd")
    # An overlong path is ignored: truncated, it would name another directory, which
    # `projects.exclude` may not match.
    cwd = cwd if len(cwd) <= MAX_FACT_LENGTHS["cwd"] else ""
    state = {**state, "cwd": cwd} if cwd else state
    title = _find_yaml_value(text, "name") or _find_yaml_value(text, "summary")
    if not title:
        return DecodeResult(state=state, noise="workspace", cwd=cwd)
    updated_at = _find_yaml_value(text, "updated_at")
    session_id = printable_name(entry.source.parts[0])
    is_custom = _find_yaml_value(text, "user_named") == "true"
    title_kind = "custom" if is_custom else "ai"
    record = Record(
        session=SessionKey(entry.source.agent, session_id),
        type="system_event",
        role="system",
        content=title,
        native_id=f"workspace:{updated_at}:{title}",
        scope=session_id,
        created_at=parse_time(updated_at),
        metadata={"kind": "title", "title_kind": title_kind, "is_side": True},
    )
    return DecodeResult(records=(record,), state=state, cwd=cwd)


def _find_yaml_value(text: str, name: str) -> str:
    """Return the value of a top-level key: plain, quoted, or a block; "" if missing."""
    lines = text.split("\n")
    for number, line in enumerate(lines):
        if not line.startswith(f"{name}:"):
            continue
        value = line.removeprefix(f"{name}:").strip()
        if value[:1] in ("|", ">"):
            next_lines = lines[number + 1 :]
            block_lines = next_lines[: _count_indented(next_lines)]
            return " ".join(filter(None, map(str.strip, block_lines)))
        return _unquote(value)
    return ""


def _count_indented(lines: list[str]) -> int:
    """Return how many lines precede the first that is neither indented nor blank."""
    unindented = (
        number
        for number, line in enumerate(lines)
        if line.strip() and line[0] not in " \t"
    )
    return next(unindented, len(lines))


def _unquote(value: str) -> str:
    """Return a YAML value without its quotes; null becomes ""."""
    if len(value) > 1 and value[0] == value[-1] == "'":
        return value[1:-1].replace("''", "'")
    if len(value) > 1 and value[0] == value[-1] == '"':
        try:
            text = json.loads(value)
        except ValueError:
            return value[1:-1]
        return text.encode(errors="replace").decode() if isinstance(text, str) else ""
    return "" if value in ("null", "~") else value
