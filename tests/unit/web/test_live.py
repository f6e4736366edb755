"""Events about changes of the store."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest

from leslied.app import App
from leslied.errors import EmptyStore, UserError
from leslied.queries.context import QueryContext
from leslied.store import Store
from leslied.web import live
from leslied.web.backend import Backend
from leslied.web.live import ChangeFinder, Live
from tests.support.claude import SESSION, ClaudeHome, ClaudeLogBuilder
from tests.support.waiting import MAX_WAIT_SECONDS


@pytest.fixture
def context(app: App) -> Iterator[QueryContext]:
    with app.open_queries() as context:
        yield context


def write_more(claude: ClaudeHome, name: str = "more") -> None:
    claude.write(ClaudeLogBuilder(name).prompt(name), name=f"-p/{name}.jsonl")
    claude.sync()


def test_the_first_call_only_reports_the_daemon(context: QueryContext):
    assert ChangeFinder().find(context) == [{"type": "daemon", "is_running": False}]


def test_without_a_change_nothing_is_reported(context: QueryContext):
    finder = ChangeFinder()
    finder.find(context)

    assert finder.find(context) == []


def test_a_new_session_is_reported_once(context: QueryContext, claude: ClaudeHome):
    finder = ChangeFinder()
    finder.find(context)
    write_more(claude)

    assert finder.find(context) == [{"type": "sessions", "ids": ["more"]}]
    assert finder.find(context) == []


def test_a_session_that_stops_is_reported(context: QueryContext, claude: ClaudeHome):
    finder = ChangeFinder()
    finder.find(context)
    claude.clock.advance(1)
    with Store(claude.store_path, claude.clock) as store:
        store.mark_stopped("claude-code", [SESSION])

    assert finder.find(context) == [{"type": "sessions", "ids": [SESSION]}]


def test_a_store_that_was_replaced_is_reported(app: App):
    finder = ChangeFinder()
    with app.open_queries() as first:
        finder.find(first)
    with app.open_queries() as second:
        assert finder.find(second) == [{"type": "store"}]


def test_no_event_is_lost_if_the_store_cannot_be_read(app: App):
    finder = ChangeFinder()
    store = app.paths.store_file
    moved = store.rename(store.with_name("elsewhere"))
    with app.open_queries() as context, pytest.raises(EmptyStore):
        finder.find(context)

    moved.rename(store)

    with app.open_queries() as context:
        assert finder.find(context) == [{"type": "daemon", "is_running": False}]


async def read_event(stream: AsyncIterator[str]) -> Any:
    """Return the next event that is not a comment."""
    async with asyncio.timeout(MAX_WAIT_SECONDS):
        async for text in stream:
            if text.startswith("data: "):
                return json.loads(text.removeprefix("data: "))
    raise AssertionError("the stream has ended")


def test_a_page_gets_events_until_the_server_ends(app: App, claude: ClaudeHome):
    backend = Backend(app, 1)

    async def run() -> list[Any]:
        live = Live(backend, lambda _: None)
        stream = live.listen()
        daemon = await read_event(stream)
        write_more(claude)
        sessions = await read_event(stream)
        assert live.has_listeners
        live.close()
        rest = [text async for text in stream]
        assert not live.has_listeners
        return [daemon, sessions, *filter(None, rest)]

    events = asyncio.run(run())
    backend.close()
    assert events == [
        {"type": "daemon", "is_running": False},
        {"type": "sessions", "ids": ["more"]},
    ]


def test_a_page_that_is_gone_is_forgotten(app: App):
    backend = Backend(app, 1)

    async def run() -> bool:
        live = Live(backend, lambda _: None)
        stream = live.listen()
        await anext(stream)
        await stream.aclose()
        return live.has_listeners

    assert not asyncio.run(run())
    backend.close()


class FailingBackend:
    """A backend whose first questions fail."""

    def __init__(self, *errors: Exception) -> None:
        self.errors = list(errors)

    async def ask(self, _question: Any) -> list[Any]:
        if self.errors:
            raise self.errors.pop(0)
        return [{"type": "store"}]


def test_the_poller_outlives_errors(monkeypatch):
    monkeypatch.setattr(live, "_RETRY_SECONDS", 0)
    reported: list[Exception] = []
    bug = ValueError("bug")

    async def run() -> Any:
        backend: Any = FailingBackend(UserError("no store"), bug)
        stream = Live(backend, reported.append).listen()
        return [await read_event(stream), await read_event(stream)]

    assert asyncio.run(run()) == [
        {"type": "daemon", "is_running": False},
        {"type": "store"},
    ]
    assert reported == [bug]


def test_pages_learn_that_a_missing_store_is_there(app: App):
    backend = Backend(app, 1)
    store = app.paths.store_file
    moved = store.rename(store.with_name("elsewhere"))

    async def run() -> list[Any]:
        stream = Live(backend, lambda _: None).listen()
        daemon = await read_event(stream)
        moved.rename(store)
        return [daemon, await read_event(stream)]

    events = asyncio.run(run())
    backend.close()
    assert events == [{"type": "daemon", "is_running": False}, {"type": "store"}]


def test_a_page_that_is_opened_later_gets_the_state_of_the_daemon(app: App):
    backend = Backend(app, 1)

    async def run() -> Any:
        live = Live(backend, lambda _: None)
        await read_event(live.listen())
        return await read_event(live.listen())

    assert asyncio.run(run()) == {"type": "daemon", "is_running": False}
    backend.close()


@pytest.mark.threat("W6")
def test_a_page_that_does_not_read_is_dropped(monkeypatch):
    monkeypatch.setattr(live, "_POLL_SECONDS", 0)
    monkeypatch.setattr(live, "_MAX_WAITING_EVENTS", 3)

    async def run() -> list[str]:
        backend: Any = FailingBackend()
        pages = Live(backend, lambda _: None)
        stream = pages.listen()
        await anext(stream)
        async with asyncio.timeout(MAX_WAIT_SECONDS):
            while pages.has_listeners:  # noqa: ASYNC110 - it has no event
                await asyncio.sleep(0)
            return [text async for text in stream]

    assert asyncio.run(run()) == []
