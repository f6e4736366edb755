"""Write a home with many sessions of all agents, as copies of the test fixtures.

Each copy has ids of its own, so that nothing counts as read before.
"""

from __future__ import annotations

import re
import shutil
import sqlite3
import uuid
from collections import Counter
from contextlib import closing
from pathlib import Path

FIXTURES = Path(__file__).resolve().parents[1] / "fixtures" / "agents"
CASES = (
    "claude_code/tools-old",
    "codex/tools",
    "copilot_cli/tools",
    "gemini_cli/tools",
    "opencode/tools",
    "qwen_code/tools",
)
DATABASE = ".local/share/opencode/opencode.db"
_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_SHORT_UUID = re.compile(r"(?<=-)[0-9a-f]{8}(?=\.jsonl$)")
_OPENCODE_ID = re.compile(r"\b(?:ses|msg|prt|evt|call)_[A-Za-z0-9]+")


def write_home(home: Path, copies: int, counts: Counter[str]) -> None:
    """Copy the session of each agent so many times; count what was written."""
    for case in CASES:
        folder = FIXTURES / case / "home"
        for path in sorted(p for p in folder.rglob("*") if p.is_file()):
            name = path.relative_to(folder).as_posix()
            copy_file = _copy_database if name == DATABASE else _copy_log
            copy_file(path, home, name, copies)
        counts["sessions"] += copies
    files = [path for path in home.rglob("*") if path.is_file()]
    counts["files"] = len(files)
    counts["bytes"] = sum(path.stat().st_size for path in files)


def _copy_log(path: Path, home: Path, name: str, copies: int) -> None:
    text = path.read_text(encoding="utf-8")
    # Gemini's file names have only the first eight characters of the session's id.
    long_ids = {found[:8]: found for found in _UUID.findall(text)}
    match = _SHORT_UUID.search(name)
    for copy in range(copies):
        if match and match[0] in long_ids:
            short_id = _replace_ids(long_ids[match[0]], copy)[:8]
            new_name = name[: match.start()] + short_id + name[match.end() :]
        else:
            new_name = _replace_ids(name, copy)
        target = home / new_name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(_replace_ids(text, copy), encoding="utf-8")


def _replace_ids(text: str, copy: int) -> str:
    def make_id(match: re.Match[str]) -> str:
        return str(uuid.uuid5(uuid.NAMESPACE_OID, f"{match[0]} {copy}"))

    return _UUID.sub(make_id, text)


def _copy_database(path: Path, home: Path, name: str, copies: int) -> None:
    """Copy OpenCode's database, and all rows with ids of a session in it."""
    target = home / name
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(path, target)
    with closing(sqlite3.connect(target)) as db, db:
        query = "SELECT name FROM sqlite_schema WHERE type = 'table'"
        for (table,) in db.execute(query).fetchall():
            _copy_rows(db, table, copies - 1)


def _copy_rows(db: sqlite3.Connection, table: str, copies: int) -> None:
    rows = db.execute(f'SELECT * FROM "{table}"').fetchall()
    for row in rows:
        if not any(isinstance(v, str) and _OPENCODE_ID.search(v) for v in row):
            continue
        places = ", ".join("?" * len(row))
        insert = f'INSERT OR IGNORE INTO "{table}" VALUES ({places})'
        for copy in range(1, copies + 1):
            db.execute(insert, [_replace_opencode_ids(value, copy) for value in row])


def _replace_opencode_ids(value: object, copy: int) -> object:
    if not isinstance(value, str):
        return value
    # The first characters are a time, by which OpenCode sorts.
    return _OPENCODE_ID.sub(lambda match: f"{match[0][:-5]}{copy:05x}", value)
