"""Stars, tags and notes through the API of the real server."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing, contextmanager
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import pytest

from tests.support.cli import LesliedRunner
from tests.support.waiting import MAX_WAIT_SECONDS
from tests.support.web import WebServer

pytestmark = pytest.mark.e2e


@contextmanager
def listen(server: WebServer) -> Iterator[Iterator[Any]]:
    """Yield the events that the server sends from now on."""
    connection = HTTPConnection("127.0.0.1", server.port, timeout=MAX_WAIT_SECONDS)
    with closing(connection):
        connection.request("GET", "/api/events", headers={"Cookie": server.cookie})
        lines = iter(connection.getresponse().readline, b"")
        data = (line for line in lines if line.startswith(b"data: "))
        events = (json.loads(line.removeprefix(b"data: ")) for line in data)
        # The state of the daemon comes with the first poll, after which changes count.
        assert next(events)["type"] == "daemon"
        yield events


def find_session(server: WebServer) -> dict[str, Any]:
    (session,) = server.get("/sessions")["sessions"]
    return dict(session)


def test_marks_are_changed_and_listed(server: WebServer):
    session_id = find_session(server)["id"]
    server.change("PUT", f"/sessions/{session_id}/star", {"starred": True})
    server.change("PUT", f"/sessions/{session_id}/tags", {"tags": "bug"})
    server.change("PUT", f"/sessions/{session_id}/note", {"note": "<b>a note</b>"})

    session = find_session(server)
    assert session["starred"]
    assert session["tags"] == ["bug"]
    assert session["note"] == "<b>a note</b>"
    assert server.get("/sessions?starred=1&tag=bug")["sessions"] == [session]
    assert server.get("/sessions?tag=other")["sessions"] == []
    assert server.get("/tags")["tags"] == [{"name": "bug", "sessions": 1}]


def test_open_pages_learn_of_a_change_by_a_command(
    server: WebServer, leslied: LesliedRunner
):
    session_id = find_session(server)["id"]
    with listen(server) as events:
        assert leslied("mark", session_id, "--star").code == 0

        assert next(events) == {"type": "annotations", "ids": [session_id]}


def test_a_change_without_the_token_is_refused(server: WebServer):
    session_id = find_session(server)["id"]

    response = server.request(
        "PUT", f"/api/sessions/{session_id}/star", body=b'{"starred": true}'
    )

    assert response.status == 403
    assert not find_session(server)["starred"]


def test_a_damaged_file_is_reported_and_sessions_are_listed(
    server: WebServer, home: Path
):
    path = home / ".local/share/leslied/annotations.db"
    path.write_bytes(b"not a database" * 100)

    response = server.request("GET", "/api/tags")

    assert response.status == 503
    assert "move the file away" in json.loads(response.body)["error"]["hint"]
    assert find_session(server)["starred"] is False
