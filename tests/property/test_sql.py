"""Random SQL: a result does not depend on secrets, and only usage errors are raised."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from random import Random
from typing import Any

import pytest

from leslied.clock import SystemClock
from leslied.errors import UserError
from leslied.redact import Redactor
from leslied.store import VIEWS, SqlReader
from tests.support.clock import FakeClock
from tests.support.records import (
    StoreHarness,
    make_event,
    make_key,
    make_prompt,
    make_record,
    time_at,
)

EXAMPLES = int(os.environ.get("LESLIED_EXAMPLES", "300"))
HEAVY_EXAMPLES = max(EXAMPLES, 10_000)
SECRETS = ("ghp_" + "A1b2" * 9, "ghp_" + "Zx9Kq" * 8)
COLUMNS = {view.name: [column.name for column in view.columns] for view in VIEWS}
COLUMNS |= {
    "record": ["content", "tool_input", "spilled", "metadata", "id"],
    "session": ["title", "cwd", "source"],
    "record_text": ["text", "record_text", "rowid"],
    "session_names": ["source", "project"],
}
"""Columns of the views, and of tables that a query must not read."""
TABLES = list(COLUMNS)
FUNCTIONS_1 = (
    *("hex", "quote", "unicode", "lower", "upper", "length", "trim", "json", "typeof"),
    *("json_quote", "json_array", "json_type", "soundex", "abs", "char", "date"),
    *("likely", "sum", "count", "max", "group_concat", "json_group_array", "total"),
)
FUNCTIONS_2 = (
    *("instr", "substr", "glob", "like", "ifnull", "nullif", "printf", "ltrim"),
    *("json_extract", "min", "max", "call_of", "rtrim"),
)
OPERATORS = (
    *("||", "=", "<", ">", "LIKE", "GLOB", "IS", "+", "%", "AND", "->>", "MATCH", "&"),
)
LITERALS = (
    *("1", "-1", "0", "4", "'ghp_%'", "'*A1*'", "'$.command'", "NULL", "x'67'", "'a'"),
    *("9223372036854775807", "1e999", "''", "'%s%c'", "'ghp_A1b2'", "20"),
)


class RandomSql:
    """Writes random queries over the views."""

    def __init__(self, seed: int) -> None:
        self._random = Random(seed)
        self._table = self._random.choice(TABLES)

    def query(self) -> str:
        choose = self._random.choice
        columns = ", ".join(self._expression(3) for _ in range(choose((1, 1, 2))))
        query = f"SELECT {columns} FROM {self._table}"
        if self._random.random() < 0.2:
            query += f", json_each({self._expression(1)}) AS j"
        if self._random.random() < 0.5:
            query += f" WHERE {self._expression(2)}"
        if self._random.random() < 0.3:
            query += f" {choose(('GROUP', 'ORDER'))} BY {self._expression(1)}"
        if self._random.random() < 0.2:
            name = choose(TABLES)
            query = f"WITH {name} AS ({query}) SELECT * FROM {name}"
        if self._random.random() < 0.05:
            position = self._random.randrange(len(query))
            query = query[:position] + choose("();'\"*,") + query[position:]
        return f"{query} LIMIT 20"

    def _expression(self, depth: int) -> str:
        choose = self._random.choice
        kind = self._random.random()
        if depth == 0 or kind < 0.2:
            is_column = self._random.random() < 0.7
            return choose(COLUMNS[self._table]) if is_column else choose(LITERALS)
        part = self._expression(depth - 1)
        if kind < 0.55:
            return f"{choose(FUNCTIONS_1)}({part})"
        if kind < 0.75:
            return f"{choose(FUNCTIONS_2)}({part}, {self._expression(depth - 1)})"
        if kind < 0.8:
            table = choose(TABLES)
            return f"(SELECT {part} FROM {table} LIMIT 1)"
        if kind < 0.85:
            return f"replace({part}, {choose(LITERALS)}, {choose(LITERALS)})"
        if kind < 0.9:
            return f"CAST({part} AS {choose(('TEXT', 'BLOB', 'INTEGER'))})"
        return f"({part} {choose(OPERATORS)} {self._expression(depth - 1)})"


def fill_store(harness: StoreHarness, secret: str) -> None:
    """Commit a session with the secret in every text; other values are constant."""
    call = {"tool_name": secret, "tool_call_id": secret, "model": secret}
    tool_input = f'{{"command":"login {secret}"}}'
    failure = {secret: [secret], "is_error": True}
    harness.commit(
        make_event("opened", "0", metadata={"cwd": f"/home/dev/{secret}"}),
        make_prompt(f"Use {secret} now", "1", created_at=time_at(0)),
        make_record("", "2", type="tool_use", tool_input=tool_input, **call),
        make_record(f"x {secret}", "3", type="tool_result", metadata=failure, **call),
        make_record(f"{secret} {secret}", "4", message_id=secret, parent_id=secret),
        make_record(secret, "5", session=make_key("s", f"subagent:{secret}")),
        log=f"{secret}.jsonl",
    )


@pytest.fixture
def readers(tmp_path: Path) -> Iterator[list[SqlReader]]:
    """Yield readers of two stores that differ only in the secret."""
    redactor = Redactor(b"k" * 32)

    def redact(text: str) -> str:
        # The marker's hash depends on the secret, which is the purpose of a hash.
        marked = redactor.redact(text)
        for secret in redactor.find(text):
            marked = marked.replace(redactor.make_marker(secret), "[REDACTED]")
        return marked

    with ExitStack() as stack:
        readers = []
        for number, secret in enumerate(SECRETS):
            path = tmp_path / str(number) / "store.db"
            with StoreHarness(path, FakeClock()) as harness:
                fill_store(harness, secret)
            reader = SqlReader(path, SystemClock(), list, redact)
            readers.append(stack.enter_context(reader))
        yield readers


def run(reader: SqlReader, query: str) -> Any:
    """Return the rows, or the message of the error; raise what is no usage error."""
    try:
        return list(reader.execute(query, timeout=5).rows)
    except UserError as error:
        return error.message


def check_queries(readers: list[SqlReader], count: int) -> None:
    answers = 0
    for seed in range(count):
        query = RandomSql(seed).query()
        results = [run(reader, query) for reader in readers]
        answers += isinstance(results[0], list)

        assert repr(results[0]) == repr(results[1]), query
        assert SECRETS[0] not in repr(results), query
    assert answers > count // 10


@pytest.mark.threat("S1", "S4", "W7")
def test_no_result_depends_on_a_secret(readers: list[SqlReader]):
    check_queries(readers, EXAMPLES)


@pytest.mark.heavy
@pytest.mark.threat("S1", "S4", "W7")
def test_no_result_of_ten_thousand_queries_depends_on_a_secret(
    readers: list[SqlReader],
):
    check_queries(readers, HEAVY_EXAMPLES)


@pytest.mark.threat("S1")
def test_every_text_column_is_redacted(readers: list[SqlReader]):
    for view in VIEWS:
        for reader in readers:
            rows = run(reader, f"SELECT * FROM {view.name}")

            assert isinstance(rows, list)
            assert not any(secret in repr(rows) for secret in SECRETS), view.name
