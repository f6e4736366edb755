"""Requests to the guarded application without a server."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from leslied.app import App
from leslied.web.access import Access
from leslied.web.application import Application
from leslied.web.guard import get_cookie_name

PORT = 7373
HOST = b"127.0.0.1:7373"


@dataclass
class AsgiResponse:
    """What an application sent."""

    status: int = 0
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes = b""


def make_scope(
    method: str = "GET",
    path: str = "/",
    headers: Sequence[tuple[bytes, bytes]] = (),
    query: bytes = b"",
    host: bytes = HOST,
) -> dict[str, Any]:
    """Return what uvicorn says about a request."""
    return {
        "type": "http",
        "http_version": "1.1",
        "method": method,
        "path": path,
        "raw_path": path.encode(),
        "query_string": query,
        "headers": [(b"host", host), *headers],
        "root_path": "",
        "scheme": "http",
        "state": {},
    }


def call(
    asgi: Any, scope: Mapping[str, Any], body: Sequence[bytes] = (b"",)
) -> AsgiResponse:
    """Send one request, with its body in pieces; return the response."""
    return asyncio.run(_call(asgi, scope, list(body)))


async def _call(asgi: Any, scope: Any, pieces: list[bytes]) -> AsgiResponse:
    response = AsgiResponse()

    async def receive() -> dict[str, Any]:
        if not pieces:
            await asyncio.sleep(3600)
        body = pieces.pop(0)
        return {"type": "http.request", "body": body, "more_body": bool(pieces)}

    async def send(message: dict[str, Any]) -> None:
        if message["type"] == "http.response.start":
            response.status = message["status"]
            headers = message["headers"]
            response.headers = {k.decode(): v.decode() for k, v in headers}
        else:
            response.body += message.get("body", b"")

    await asgi(scope, receive, send)
    return response


@contextmanager
def open_application(
    app: App, errors: list[Exception] | None = None
) -> Iterator[Application]:
    """Make an application whose unexpected errors go to a list."""
    access = Access(app.paths, app.clock)
    reported = [] if errors is None else errors
    application = Application(app, access, PORT, reported.append)
    yield application
    application.close()


def make_login(access: Access) -> list[tuple[bytes, bytes]]:
    """Return the headers of a browser that has logged in, with its form token."""
    cookie = access.redeem(access.make_code())
    assert cookie
    return [
        (b"cookie", f"{get_cookie_name(PORT)}={cookie}".encode()),
        (b"x-leslied-token", access.make_form_token(cookie).encode()),
    ]
