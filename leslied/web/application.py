"""The application: which path leads to which page, file or endpoint."""

from __future__ import annotations

import json
import re
from contextlib import asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.responses import RedirectResponse, Response, StreamingResponse
from starlette.routing import Route

from leslied.errors import AnnotationsUnusable, LesliedError, StoreUnusable, UserError
from leslied.web.access import COOKIE_SECONDS
from leslied.web.assets import load_assets
from leslied.web.backend import Backend
from leslied.web.endpoint import Content
from leslied.web.guard import LOGIN_PATH, Guard, find_cookie, get_cookie_name
from leslied.web.live import Live
from leslied.web.openapi import make_openapi
from leslied.web.routes import ENDPOINTS

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping

    from starlette.requests import Request
    from starlette.types import ASGIApp

    from leslied.app import App
    from leslied.web.access import Access
    from leslied.web.endpoint import Answer, Endpoint

PAGES = ("/", "/s/{id}", "/search", "/files", "/stats", "/threads")
"""Paths of the page; its script shows what belongs to each."""
_THREADS = 4
_TARGET = re.compile(r"/(s/)?[\w.:-]*")
"""Where a link may lead after the login."""


def make_application(app: App, access: Access, port: int) -> ASGIApp:
    """Return the guarded application that answers on this port."""
    return Guard(_Application(app, access, port).make(), access, port)


class _Application:
    """Handlers of all paths."""

    def __init__(self, app: App, access: Access, port: int) -> None:
        self._access = access
        self._cookie_name = get_cookie_name(port)
        self._backend = Backend(app, _THREADS)
        self._live_backend = Backend(app, 1)
        self._live = Live(self._live_backend)
        self._assets = load_assets()
        self._app = app

    def make(self) -> Starlette:
        routes = [
            Route(LOGIN_PATH, self._log_in),
            *(Route(path, self._show_page) for path in PAGES),
            Route("/static/{name:path}", self._send_asset),
            Route("/api/events", self._send_events),
            Route("/api/openapi.json", self._send_openapi),
            *(
                Route(
                    f"/api{endpoint.path}",
                    partial(self._answer, endpoint=endpoint),
                    methods=[endpoint.method],
                )
                for endpoint in ENDPOINTS
            ),
        ]
        return Starlette(
            routes=routes,
            lifespan=self._live_for,
            exception_handlers={HTTPException: _send_http_error},
        )

    @asynccontextmanager
    async def _live_for(self, _: Starlette) -> AsyncIterator[None]:
        yield
        self._backend.close()
        self._live_backend.close()

    async def _log_in(self, request: Request) -> Response:
        """Exchange the code of a link for the cookie."""
        if request.method == "HEAD":
            return Response()
        cookie = self._access.redeem(request.query_params.get("code", ""))
        if cookie is None:
            raise HTTPException(
                403,
                "This link was used before, or is too old. Run `leslied web` again.",
            )
        target = request.query_params.get("to", "/")
        response = RedirectResponse(target if _TARGET.fullmatch(target) else "/", 303)
        response.set_cookie(
            self._cookie_name,
            cookie,
            max_age=COOKIE_SECONDS,
            httponly=True,
            samesite="strict",
        )
        return response

    async def _show_page(self, request: Request) -> Response:
        """Send the page with the token that its changing requests carry."""
        cookie = find_cookie(request.scope["headers"], self._cookie_name)
        page = self._assets["index.html"]
        token = self._access.make_form_token(cookie).encode()
        return Response(
            page.body.replace(b"{{token}}", token), media_type=page.media_type
        )

    async def _send_asset(self, request: Request) -> Response:
        asset = self._assets.get(request.path_params["name"])
        if asset is None or asset.media_type.startswith("text/html"):
            raise HTTPException(404)
        return Response(asset.body, media_type=asset.media_type)

    async def _send_events(self, _: Request) -> Response:
        return StreamingResponse(self._live.listen(), media_type="text/event-stream")

    async def _send_openapi(self, _: Request) -> Response:
        return _make_json(make_openapi(ENDPOINTS))

    async def _answer(self, request: Request, *, endpoint: Endpoint) -> Response:
        """Parse the arguments, ask, and send the answer in the envelope of `--json`."""
        try:
            values = await _read_values(request)
            arguments = endpoint.parse(request.path_params, values)
            answer: Answer = await self._backend.ask(
                lambda queries: endpoint.answer(queries, arguments)
            )
        except LesliedError as error:
            return self._send_error(error)
        if isinstance(answer, Content):
            return Response(answer.body, media_type=answer.media_type)
        return _make_json(_make_envelope(answer))

    def _send_error(self, error: LesliedError) -> Response:
        redact = self._app.load_redact()
        status = 503 if isinstance(error, StoreUnusable | AnnotationsUnusable) else 400
        return _make_json(
            _make_envelope(None, redact(error.message), redact(error.hint)), status
        )


async def _read_values(request: Request) -> Mapping[str, Any]:
    """Return the values in the query, or in the body of a changing request."""
    if request.method in ("GET", "HEAD"):
        return dict(request.query_params)
    body = await request.body()
    try:
        values = json.loads(body or b"{}")
    except (ValueError, RecursionError):
        values = None
    if not isinstance(values, dict):
        raise UserError("The body is not a JSON object.", "Send a JSON object.")
    return values


async def _send_http_error(request: Request, error: Exception) -> Response:
    """Send an error of the routing, as JSON below `/api`, else as the page."""
    if not isinstance(error, HTTPException):
        raise error
    text = error.detail if error.status_code != 404 else "Nothing is at this address."
    if request.scope["path"].startswith("/api/"):
        hint = "See /api/openapi.json for what there is."
        return _make_json(_make_envelope(None, text, hint), error.status_code)
    return Response(text, error.status_code, media_type="text/plain")


def _make_envelope(
    data: Mapping[str, Any] | None, message: str = "", hint: str = ""
) -> dict[str, Any]:
    error = {"message": message, "hint": hint or None} if message else None
    return {"success": not message, "data": data, "warnings": [], "error": error}


def _make_json(value: Any, status: int = 200) -> Response:
    return Response(json.dumps(value), status, media_type="application/json")
