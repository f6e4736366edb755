"""The line of an entry, from the log or the archive."""

from __future__ import annotations

from leslied.app import App
from leslied.clock import SystemClock
from leslied.model.record import PlacedRecord, SessionKey
from leslied.paths import get_paths
from leslied.queries.context import QueryContext
from leslied.queries.reading.raw_lines import load_raw_line
from tests.support.claude import SESSION, ClaudeHome
from tests.support.cli import LesliedRunner
from tests.support.queries import write_session


def get_answer(queries: QueryContext) -> PlacedRecord:
    key = SessionKey("claude-code", SESSION)
    return queries.reader.reading.list_heads(key)[-1]


def test_the_line_is_read_from_the_log(queries: QueryContext):
    line = load_raw_line(queries, get_answer(queries))

    assert line["message"]["content"][0]["text"] == "Nothing is left."


def test_a_log_that_was_replaced_has_no_line(queries: QueryContext, claude: ClaudeHome):
    placed = get_answer(queries)
    claude.log().write_text("x" * (placed.offset + placed.length))

    assert load_raw_line(queries, placed) is None


def test_a_log_that_is_gone_is_read_from_the_archive(claude: ClaudeHome):
    leslied = LesliedRunner(claude.home)
    write_session(claude)
    assert leslied("sync", "--stop-all").code == 0
    claude.log().unlink()
    app = App(leslied.environ, get_paths(leslied.environ), SystemClock())

    with app.open_queries() as queries:
        line = load_raw_line(queries, get_answer(queries))

    assert line["message"]["content"][0]["text"] == "Nothing is left."


def test_a_link_out_of_the_agents_folder_is_not_followed(
    queries: QueryContext, claude: ClaudeHome
):
    claude.log().rename(claude.home / "elsewhere.jsonl")
    claude.log().symlink_to(claude.home / "elsewhere.jsonl")

    assert load_raw_line(queries, get_answer(queries)) is None
