"""Questions in threads, with a time limit, and a store that changes."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from leslied.app import App
from leslied.errors import StoreUnusable, UserError
from leslied.queries.context import QueryContext
from leslied.store import StoreReader
from leslied.web import backend as backend_module
from leslied.web.backend import Backend, TookTooLong
from tests.support.claude import ClaudeHome
from tests.support.waiting import MAX_WAIT_SECONDS

ENDLESS = (
    "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) "
    "SELECT count(*) FROM n"
)


def count_sessions(context: QueryContext) -> int:
    return len(context.reader.list_sessions())


@pytest.fixture
def backend(app: App) -> Iterator[Backend]:
    backend = Backend(app, 1)
    yield backend
    backend.close()


def ask(backend: Backend, question: Callable[[QueryContext], Any]) -> Any:
    return asyncio.run(backend.ask(question))


def test_a_question_is_answered(backend: Backend):
    assert ask(backend, count_sessions) == 1


def test_the_store_stays_open_between_questions(backend: Backend):
    readers = [ask(backend, lambda context: context.reader) for _ in range(2)]

    assert readers[0] is readers[1]


def test_the_store_is_opened_before_the_first_question(backend: Backend):
    backend.open_soon()

    assert ask(backend, lambda context: "reader" in vars(context))


def test_a_store_that_cannot_be_opened_soon_is_reported_with_the_first_question(
    app: App, backend: Backend
):
    app.paths.store_file.unlink()
    backend.open_soon()

    with pytest.raises(UserError, match="Nothing has been read yet"):
        ask(backend, count_sessions)


def test_a_missing_store_is_found_as_soon_as_it_exists(app: App, backend: Backend):
    store = app.paths.store_file
    moved = store.rename(store.with_name("elsewhere"))

    with pytest.raises(UserError, match="Nothing has been read yet"):
        ask(backend, count_sessions)
    moved.rename(store)
    assert ask(backend, count_sessions) == 1


def test_a_store_that_was_replaced_is_opened_again(
    app: App, backend: Backend, claude: ClaudeHome
):
    first = ask(backend, lambda context: context.reader)
    for file in app.paths.data_dir.glob("store.db*"):
        file.unlink()
    claude.sync()

    assert ask(backend, lambda context: context.reader) is not first


def test_a_damaged_store_is_an_error_that_says_so(app: App, backend: Backend):
    app.paths.store_file.write_bytes(b"not a database" * 1000)

    with pytest.raises(StoreUnusable, match="cannot be used"):
        ask(backend, count_sessions)


def test_after_an_error_the_store_is_opened_again(backend: Backend):
    first = ask(backend, lambda context: context.reader)
    with pytest.raises(ZeroDivisionError):
        ask(backend, lambda _: 1 // 0)

    assert ask(backend, lambda context: context.reader) is not first


@pytest.mark.threat("W7")
def test_an_endless_query_is_interrupted(app: App):
    backend = Backend(app, 1, max_seconds=0.05)

    def count_forever(context: QueryContext) -> Any:
        assert isinstance(context.reader, StoreReader)
        return context.reader._db.execute(ENDLESS).fetchone()

    with pytest.raises(TookTooLong) as caught:
        ask(backend, count_forever)
    answer = ask(backend, count_sessions)
    backend.close()
    assert caught.value.hint
    assert answer == 1


def test_a_client_does_not_wait_forever(app: App, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(backend_module, "_MAX_WAIT_SECONDS", 0.05)
    backend, is_over = Backend(app, 1), threading.Event()

    with pytest.raises(TookTooLong):
        ask(backend, lambda _: is_over.wait(MAX_WAIT_SECONDS))
    is_over.set()
    backend.close()


def test_closing_interrupts_a_query(app: App):
    backend = Backend(app, 1)

    async def run() -> None:
        def count_forever(context: QueryContext) -> Any:
            assert isinstance(context.reader, StoreReader)
            loop.call_soon_threadsafe(backend.close)
            return context.reader._db.execute(ENDLESS).fetchone()

        loop = asyncio.get_running_loop()
        await backend.ask(count_forever)

    with pytest.raises(TookTooLong):
        asyncio.run(run())
