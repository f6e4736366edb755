"""The guard before every path: only the user's own browser gets an answer.

Other users of the machine can reach a server on the loopback interface, and so can
pages of other sites, among them those whose host name resolves to this machine (DNS
rebinding). The guard checks the raw headers, before any routing, and refuses with a
page that says why and what to do.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING

from starlette.exceptions import HTTPException

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from leslied.web.access import Access

    Headers = Iterable[tuple[bytes, bytes]]

LOGIN_PATH = "/login"
IDENTITY_PATH = "/identity"
_REFUSAL_STYLES = ("/static/css/tokens.css", "/static/css/refusal.css")
OPEN_PATHS = (LOGIN_PATH, IDENTITY_PATH, *_REFUSAL_STYLES)
"""Paths that need no cookie; none of them reveals anything."""
_API_PREFIX = "/api/"
FORM_TOKEN_HEADER = b"x-leslied-token"
MAX_BODY_BYTES = 64 * 1024
MAX_QUERY_BYTES = 8 * 1024
CONTENT_SECURITY_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)
_SECURITY_HEADERS = [
    (b"content-security-policy", CONTENT_SECURITY_POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cache-control", b"no-store"),
]
_READING_METHODS = ("GET", "HEAD")
_CHANGING_METHODS = ("POST", "PUT", "DELETE")


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a request gets no answer, and what the user can do."""

    status: int
    reason: str
    advice: str

    def render(self, path: str) -> tuple[str, bytes]:
        """Return media type and body of the answer: JSON below `/api`, else a page."""
        if path.startswith(_API_PREFIX):
            return "application/json", self._render_json()
        return "text/html; charset=utf-8", self._render_page()

    def _render_page(self) -> bytes:
        styles = "".join(
            f'<link rel="stylesheet" href="{path}">' for path in _REFUSAL_STYLES
        )
        advice = re.sub("`(.*?)`", r"<code>\1</code>", escape(self.advice))
        page = (
            '<!doctype html><html lang="en"><head><meta charset="utf-8">'
            '<meta name="viewport" content="width=device-width, initial-scale=1">'
            '<meta name="color-scheme" content="light dark">'
            f"<title>{self.status} · leslied</title>{styles}</head>"
            f"<body><main><h1>{escape(self.reason)}</h1><p>{advice}</p>"
            "</main></body></html>"
        )
        return page.encode()

    def _render_json(self) -> bytes:
        error = {"message": self.reason, "hint": self.advice}
        envelope: dict[str, object] = {
            "success": False,
            "data": None,
            "warnings": [],
            "error": error,
        }
        return json.dumps(envelope).encode()


TOO_LARGE = Refusal(413, "The request is too large.", "Send at most 64 KB.")
NOT_FOUND = Refusal(
    404,
    "Nothing is at this address.",
    "Go to the start page, /, or see /api/openapi.json.",
)
BROKEN = Refusal(
    500,
    "leslied made a mistake here.",
    "Try again. If it happens again, please report what `leslied web` has logged.",
)


class Guard:
    """ASGI middleware that checks every request and adds the security headers.

    It also answers in place of an application that fails: no error reaches the client.
    """

    def __init__(
        self,
        app: ASGIApp,
        access: Access,
        port: int,
        report: Callable[[Exception], None],
    ) -> None:
        self._app = app
        self._access = access
        self._report = report
        self._cookie_name = get_cookie_name(port)
        self._hosts = {
            f"{name}:{port}".encode() for name in ("127.0.0.1", "localhost", "[::1]")
        }

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer the request, or refuse it."""
        if scope["type"] == "http":
            await self._answer(scope, receive, send)
        elif scope["type"] == "lifespan":
            await self._app(scope, receive, send)

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        has_started = False

        async def send_with_security_headers(message: Message) -> None:
            nonlocal has_started
            if message["type"] == "http.response.start":
                has_started = True
                message["headers"] = [*message.get("headers", ()), *_SECURITY_HEADERS]
            await send(message)

        refusal: Refusal | None = BROKEN
        try:
            refusal = self.check(scope)
            if not refusal:
                await self._app(scope, _limit_body(receive), send_with_security_headers)
        except Exception as error:  # noqa: BLE001 - the server outlives every error
            self._report(error)
            refusal = None if has_started else BROKEN
        if refusal:
            await _send_refusal(refusal, scope, send_with_security_headers)

    def check(self, scope: Scope) -> Refusal | None:
        """Return why the request is refused, or None."""
        headers = list(scope["headers"])
        return (
            self._check_host(headers)
            or _check_origin(headers)
            or _check_size(scope, headers)
            or self._check_login(scope, headers)
        )

    def _check_host(self, headers: Headers) -> Refusal | None:
        hosts = _find_all(headers, b"host")
        if len(hosts) == 1 and hosts[0] in self._hosts:
            return None
        return Refusal(
            403,
            "This address is not leslied's.",
            "Open the link that `leslied web` prints, without changing its host.",
        )

    def _check_login(self, scope: Scope, headers: Headers) -> Refusal | None:
        method = scope["method"]
        if method not in (*_READING_METHODS, *_CHANGING_METHODS):
            return Refusal(405, f"Method {method} is not known.", "Use GET.")
        cookie = self._access.find_valid_cookie(
            iter_cookies(headers, self._cookie_name)
        )
        scope.setdefault("state", {})["cookie"] = cookie
        if scope["path"] in OPEN_PATHS and method in _READING_METHODS:
            return None
        if cookie is None:
            return Refusal(
                401,
                "Please log in.",
                "Run `leslied web` in a terminal, and open the link that it prints.",
            )
        if method in _READING_METHODS:
            return None
        tokens = [t.decode("latin-1") for t in _find_all(headers, FORM_TOKEN_HEADER)]
        if len(tokens) == 1 and self._access.is_valid_form_token(cookie, tokens[0]):
            return None
        return Refusal(
            403,
            "This request did not come from leslied's page.",
            "Reload the page and try again.",
        )


def get_cookie_name(port: int) -> str:
    """Return the cookie's name; browsers share cookies between ports."""
    return f"leslied-{port}"


def iter_cookies(headers: Headers, name: str) -> Iterator[str]:
    """Yield every value of a cookie.

    There may be several: pages on other ports of this machine can set it, too.
    """
    for header in _find_all(headers, b"cookie"):
        for pair in header.decode("latin-1").split(";"):
            key, _, value = pair.partition("=")
            if key.strip() == name:
                yield value.strip()


def _check_origin(headers: Headers) -> Refusal | None:
    """Refuse a request that a page of another site has caused."""
    (host,) = _find_all(headers, b"host")
    origins = _find_all(headers, b"origin")
    sites = _find_all(headers, b"sec-fetch-site")
    if all(origin == b"http://" + host for origin in origins) and all(
        site in (b"same-origin", b"none") for site in sites
    ):
        return None
    return Refusal(
        403,
        "Another page asked for this.",
        "leslied answers its own page only. If you want to open this address, type it "
        "into the address bar.",
    )


def _check_size(scope: Scope, headers: Headers) -> Refusal | None:
    if len(scope["query_string"]) > MAX_QUERY_BYTES:
        return Refusal(414, "The address is too long.", "Shorten the search.")
    sizes = _find_all(headers, b"content-length")
    if any(not _is_small(size) for size in sizes):
        return TOO_LARGE
    return None


def _is_small(size: bytes) -> bool:
    return size.isdigit() and len(size) < 18 and int(size) <= MAX_BODY_BYTES


def _find_all(headers: Headers, name: bytes) -> list[bytes]:
    return [value for key, value in headers if key.lower() == name]


def _limit_body(receive: Receive) -> Receive:
    """Return a `receive` that refuses a body that is sent in chunks and too large."""
    received_bytes = 0

    async def receive_limited() -> Message:
        nonlocal received_bytes
        message = await receive()
        received_bytes += len(message.get("body", b""))
        if received_bytes > MAX_BODY_BYTES:
            raise HTTPException(TOO_LARGE.status)
        return message

    return receive_limited


async def _send_refusal(refusal: Refusal, scope: Scope, send: Send) -> None:
    media_type, body = refusal.render(scope["path"])
    headers = [
        (b"content-type", media_type.encode()),
        (b"content-length", str(len(body)).encode()),
    ]
    if refusal is TOO_LARGE:
        # The rest of the body is not read.
        headers.append((b"connection", b"close"))
    start = {"type": "http.response.start", "status": refusal.status}
    await send({**start, "headers": headers})
    await send({"type": "http.response.body", "body": body})
