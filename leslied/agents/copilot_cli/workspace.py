"""The session's title, in the few lines of YAML beside its log."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from leslied.agents._parsing import parse_time, printable
from leslied.agents.copilot_cli.line import LONGEST
from leslied.model.record import Decoded, Record, SessionKey

if TYPE_CHECKING:
    from leslied.agents.copilot_cli.line import State
    from leslied.model.source import RawEntry


def decode_workspace(entry: RawEntry, state: State) -> Decoded:
    """The session's title, from the few lines of YAML beside its log."""
    text = entry.data.decode(errors="replace")
    cwd = _yaml(text, "cwd")
    # Half a path would be another folder, which may not be excluded.
    cwd = cwd if len(cwd) <= LONGEST["cwd"] else ""
    state = {**state, "cwd": cwd} if cwd else state
    title = _yaml(text, "name") or _yaml(text, "summary")
    if not title:
        return Decoded(state=state, noise="workspace", cwd=cwd)
    changed = _yaml(text, "updated_at")
    session_id = printable(entry.source.parts[0])
    kind = "custom" if _yaml(text, "user_named") == "true" else "ai"
    record = Record(
        session=SessionKey(entry.source.agent, session_id),
        type="system_event",
        role="system",
        content=title,
        native_id=f"workspace:{changed}:{title}",
        scope=session_id,
        created_at=parse_time(changed),
        metadata={"kind": "title", "title_kind": kind, "is_side": True},
    )
    return Decoded(records=(record,), state=state, cwd=cwd)


def _yaml(text: str, name: str) -> str:
    """The text behind a top-level name: plain, quoted, or a block below it."""
    lines = text.split("\n")
    for number, line in enumerate(lines):
        if not line.startswith(f"{name}:"):
            continue
        value = line.removeprefix(f"{name}:").strip()
        if value[:1] in ("|", ">"):
            rest = lines[number + 1 :]
            block = [row.strip() for row in rest[: _count_indented(rest)]]
            return " ".join(filter(None, block))
        return _unquote(value)
    return ""


def _count_indented(lines: list[str]) -> int:
    flush = (n for n, line in enumerate(lines) if line.strip() and line[0] not in " \t")
    return next(flush, len(lines))


def _unquote(value: str) -> str:
    if len(value) > 1 and value[0] == value[-1] == "'":
        return value[1:-1].replace("''", "'")
    if len(value) > 1 and value[0] == value[-1] == '"':
        try:
            told = json.loads(value)
        except ValueError:
            return value[1:-1]
        return told.encode(errors="replace").decode() if isinstance(told, str) else ""
    return "" if value in ("null", "~") else value
