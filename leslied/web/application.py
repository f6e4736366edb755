"""The application: which path leads to which page, file or endpoint."""

from __future__ import annotations

import json
import re
from contextlib import aclosing, asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.responses import RedirectResponse, Response, StreamingResponse
from starlette.routing import Route

from leslied.errors import EmptyStore, LesliedError, StoreUnusable, UserError
from leslied.web.access import COOKIE_SECONDS
from leslied.web.assets import load_assets
from leslied.web.backend import Backend
from leslied.web.endpoint import Content
from leslied.web.guard import (
    BROKEN,
    IDENTITY_PATH,
    LOGIN_PATH,
    NOT_FOUND,
    TOO_LARGE,
    Guard,
    Refusal,
    get_cookie_name,
)
from leslied.web.live import Live
from leslied.web.openapi import make_openapi
from leslied.web.routes import ENDPOINTS

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Mapping

    from starlette.requests import Request

    from leslied.app import App
    from leslied.web.access import Access
    from leslied.web.endpoint import Answer, Endpoint

PAGES = ("/", "/s/{id}", "/search", "/files", "/stats", "/threads")
"""Paths of the page; its script decides what to show at each of them."""
_QUERY_THREADS = 4
_RETRY_AFTER_SECONDS = "5"
"""When to ask again for a store that is missing or cannot be used."""
_OLD_LINK = Refusal(
    403,
    "This link was used before, or is too old.",
    "Run `leslied web` again, and open the link that it prints.",
)
_TARGET = re.compile(r"/(s/)?[\w.:-]*")
"""Paths to which a link may lead after the login."""


class Application:
    """Handlers of all paths, behind the guard."""

    def __init__(
        self,
        app: App,
        access: Access,
        port: int,
        report: Callable[[Exception], None],
    ) -> None:
        """Make the application that answers on this port.

        `report` is called with unexpected errors.
        """
        self._access = access
        self._port = port
        self._cookie_name = get_cookie_name(port)
        self._backend = Backend(app, _QUERY_THREADS)
        self._live_backend = Backend(app, 1)
        self.live = Live(self._live_backend, report)
        self._assets = load_assets()
        self._app = app
        self.guard = Guard(self._make_router(), access, port, report)

    def _make_router(self) -> Starlette:
        routes = [
            Route(LOGIN_PATH, self._log_in),
            Route(IDENTITY_PATH, self._prove_identity),
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
            lifespan=self._run_lifespan,
            exception_handlers={
                HTTPException: _send_http_error,
                Exception: _send_http_error,
            },
        )

    @asynccontextmanager
    async def _run_lifespan(self, _: Starlette) -> AsyncIterator[None]:
        yield
        self.close()

    def close(self) -> None:
        """End the threads."""
        self._backend.close()
        self._live_backend.close()

    async def _log_in(self, request: Request) -> Response:
        """Exchange the code of a link for the cookie."""
        if request.method == "HEAD":
            return Response()
        cookie = self._access.redeem(request.query_params.get("code", ""))
        if cookie is None and request.state.cookie is None:
            return _send_refusal(request, _OLD_LINK)
        target = request.query_params.get("to", "/")
        response = RedirectResponse(target if _TARGET.fullmatch(target) else "/", 303)
        if cookie is None:
            # The browser is logged in already, and its link was opened again.
            return response
        response.set_cookie(
            self._cookie_name,
            cookie,
            max_age=COOKIE_SECONDS,
            httponly=True,
            samesite="strict",
        )
        return response

    async def _prove_identity(self, request: Request) -> Response:
        """Prove to a process of the user that this server is leslied's."""
        challenge = request.query_params.get("challenge", "")
        proof = self._access.make_proof(self._port, challenge)
        return Response(proof, media_type="text/plain")

    async def _show_page(self, request: Request) -> Response:
        """Send the page with the token for its requests that change something."""
        self._backend.open_soon()
        page = self._assets["index.html"]
        token = self._access.make_form_token(request.state.cookie).encode()
        return Response(
            page.body.replace(b"{{token}}", token), media_type=page.media_type
        )

    async def _send_asset(self, request: Request) -> Response:
        asset = self._assets.get(request.path_params["name"])
        if asset is None or asset.media_type.startswith("text/html"):
            raise HTTPException(404)
        return Response(asset.body, media_type=asset.media_type)

    async def _send_events(self, request: Request) -> Response:
        if request.method == "HEAD":
            return Response(media_type="text/event-stream")
        events = self._listen(request.state.cookie)
        return StreamingResponse(events, media_type="text/event-stream")

    async def _listen(self, cookie: str) -> AsyncIterator[str]:
        """Yield events while the cookie is valid."""
        async with aclosing(self.live.listen()) as events:
            async for event in events:
                if self._access.find_valid_cookie([cookie]) is None:
                    return
                yield event

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
        is_temporary = isinstance(error, EmptyStore | StoreUnusable)
        is_wrong_question = isinstance(error, UserError) and not is_temporary
        envelope = _make_envelope(None, redact(error.message), redact(error.hint))
        response = _make_json(envelope, 400 if is_wrong_question else 503)
        if is_temporary:
            response.headers["Retry-After"] = _RETRY_AFTER_SECONDS
        return response


async def _read_values(request: Request) -> Mapping[str, Any]:
    """Return the values in the body of a changing request, else in the query string."""
    if request.method in ("GET", "HEAD"):
        return dict(request.query_params)
    try:
        body = await request.body()
    except ClientDisconnect:
        raise HTTPException(400) from None
    try:
        values = json.loads(body or b"{}")
    except (ValueError, RecursionError):
        values = None
    if not isinstance(values, dict):
        raise UserError("The body is not a JSON object.", "Send a JSON object.")
    return values


async def _send_http_error(request: Request, error: Exception) -> Response:
    """Return the answer to an HTTP error, such as 404, or to an unexpected error."""
    if not isinstance(error, HTTPException):
        return _send_refusal(request, BROKEN)
    refusals = {404: NOT_FOUND, 413: TOO_LARGE}
    other = Refusal(error.status_code, f"{error.detail}.", NOT_FOUND.advice)
    return _send_refusal(request, refusals.get(error.status_code, other))


def _send_refusal(request: Request, refusal: Refusal) -> Response:
    media_type, body = refusal.render(request.scope["path"])
    return Response(body, refusal.status, media_type=media_type)


def _make_envelope(
    data: Mapping[str, Any] | None, message: str = "", hint: str = ""
) -> dict[str, Any]:
    error = {"message": message, "hint": hint or None} if message else None
    return {"success": not message, "data": data, "warnings": [], "error": error}


def _make_json(value: Any, status: int = 200) -> Response:
    return Response(json.dumps(value), status, media_type="application/json")
