"""A sample has one entry of each kind, without its texts."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path

import pytest

from leslied.errors import SourceError
from leslied.model.format_sample import SampledSource
from leslied.pipeline.maintenance.format_sample import LogSampler, find_log
from leslied.redact.skeleton import Skeleton
from tests.support.claude import ADAPTER, ClaudeHome, ClaudeLogBuilder
from tests.support.golden import make_environment


def sample(claude: ClaudeHome, path: Path, **options: bool) -> SampledSource:
    roots = list(ADAPTER.roots(make_environment(claude.home), []))
    adapter, source, pattern = find_log([(ADAPTER, roots)], path)
    return LogSampler(adapter, source, pattern, Skeleton(), **options).run()


def test_one_entry_of_each_kind_is_sampled(claude: ClaudeHome):
    builder = ClaudeLogBuilder()
    path = claude.write(
        *(builder.prompt(f"private words {n}") for n in range(50)),
        builder.answer("private answer"),
        builder.line("novelty", words="private novelty"),
        builder.line("novelty", words="more private words"),
    )

    result = sample(claude, path)

    types = [json.loads(line)["type"] for line in result.lines]
    assert types == ["user", "assistant", "novelty"]
    assert result.unknown_kinds == ("novelty",)
    assert (result.agent, result.version) == ("claude-code", "2.1.325")
    assert (result.read, result.pattern) == (53, "*/*.jsonl")
    assert "private" not in "".join(result.lines)


def test_known_kinds_can_be_left_out(claude: ClaudeHome):
    builder = ClaudeLogBuilder()
    path = claude.write(
        builder.prompt("one"), builder.line("novelty"), builder.answer("two")
    )

    result = sample(claude, path, only_unknown=True)

    assert [json.loads(line)["type"] for line in result.lines] == ["novelty"]


@pytest.mark.parametrize(
    "line",
    [
        b"private words \xff that are not JSON",
        b'{"type": "user", "message": {"content": "torn private',
        b'["private", {"words": "private"}]',
        b"[" * 5000,
        b'{"n": ' + b"9" * 5000 + b"}",
        b"\x00\x1b[31mprivate",
    ],
)
def test_a_hostile_line_is_sampled_without_its_text(claude: ClaudeHome, line: bytes):
    path = claude.write(ClaudeLogBuilder().prompt("one"))
    with path.open("ab") as file:
        file.write(line + b"\n")

    result = sample(claude, path)

    assert len(result.lines) == 2
    assert len(result.rejected) + len(result.unknown_kinds) == 1
    assert "private" not in str(result)
    assert "\x1b" not in "".join(result.lines)


def test_a_kind_that_is_not_a_name_is_replaced(claude: ClaudeHome):
    path = claude.write({"type": "all my private words"})

    result = sample(claude, path)

    assert result.unknown_kinds == ("<text of 20 characters>",)


def test_many_kinds_are_limited(claude: ClaudeHome):
    path = claude.write(*({"type": f"kind-{n}"} for n in range(500)))

    result = sample(claude, path)

    assert len(result.lines) == 100
    assert result.read == 500


def test_a_file_of_no_agent_is_sampled(claude: ClaudeHome, tmp_path: Path):
    path = tmp_path / "new.jsonl"
    path.write_text('{"kind": "hello", "text": "private"}\n' * 3)

    result = sample(claude, path)

    assert (result.agent, result.pattern, result.shape) == ("", "", "append-log")
    assert result.lines == ('{"kind": "hello", "text": "<text of 7 characters>"}',)


def test_a_database_of_no_agent_has_only_a_schema(claude: ClaudeHome, tmp_path: Path):
    path = tmp_path / "new.db"
    db = sqlite3.connect(path)
    db.execute("CREATE TABLE message (id INTEGER, body TEXT DEFAULT 'private')")
    db.execute("INSERT INTO message VALUES (1, 'private')")
    db.commit()
    db.close()

    result = sample(claude, path)

    assert result.lines == ()
    assert result.schema == {
        "user_version": 0,
        "tables": {"message": ["id INTEGER", "body TEXT"]},
    }
    assert "private" not in str(result)


def test_a_damaged_database_is_named(claude: ClaudeHome, tmp_path: Path):
    path = tmp_path / "new.db"
    path.write_bytes(b"SQLite format 3\0" + b"\xff" * 5000)

    result = sample(claude, path)

    assert "cannot be read as SQLite" in result.problem


def test_what_is_not_a_file_is_refused(claude: ClaudeHome, tmp_path: Path):
    (tmp_path / "link").symlink_to("/etc/passwd")

    with pytest.raises(SourceError):
        sample(claude, tmp_path / "link")
    with pytest.raises(SourceError):
        sample(claude, tmp_path)
