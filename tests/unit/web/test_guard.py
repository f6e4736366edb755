"""The guard before every path."""

from __future__ import annotations

import json
from typing import Any

import pytest

from leslied.web.access import Access
from leslied.web.guard import (
    CONTENT_SECURITY_POLICY,
    MAX_BODY_BYTES,
    MAX_QUERY_BYTES,
    OPEN_PATHS,
    Guard,
    iter_cookies,
)
from tests.support.asgi import HOST, PORT, call, make_login, make_scope

SECURITY_HEADERS = {
    "content-security-policy": CONTENT_SECURITY_POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}


async def answer_ok(scope: Any, receive: Any, send: Any) -> None:
    """Read the body and answer, as the application does."""
    while (await receive()).get("more_body"):
        pass
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": b"ok"})


@pytest.fixture
def errors() -> list[Exception]:
    return []


@pytest.fixture
def guard(access: Access, errors: list[Exception]) -> Guard:
    return Guard(answer_ok, access, PORT, errors.append)


@pytest.mark.threat("W1", "W2", "W3")
def test_the_users_own_browser_gets_an_answer(guard: Guard, access: Access):
    response = call(guard, make_scope(headers=make_login(access)))

    assert (response.status, response.body) == (200, b"ok")


@pytest.mark.threat("W1")
@pytest.mark.parametrize("host", [b"evil.example", b"127.0.0.1", b"127.0.0.1:80", b""])
def test_another_host_is_refused(guard: Guard, access: Access, host: bytes):
    scope = make_scope(headers=make_login(access), host=host)

    assert call(guard, scope).status == 403


@pytest.mark.threat("W1")
def test_two_hosts_are_refused(guard: Guard, access: Access):
    scope = make_scope(headers=[*make_login(access), (b"Host", HOST)])

    assert call(guard, scope).status == 403


@pytest.mark.threat("W2")
@pytest.mark.parametrize(
    ("name", "value"),
    [
        (b"origin", b"http://evil.example"),
        (b"origin", b"null"),
        (b"origin", b"http://127.0.0.1:7374"),
        (b"origin", b"http://localhost:7373"),
        (b"origin", b"https://127.0.0.1:7373"),
        (b"sec-fetch-site", b"cross-site"),
        (b"sec-fetch-site", b"same-site"),
        (b"sec-fetch-site", b""),
    ],
)
def test_what_another_page_causes_is_refused(
    guard: Guard, access: Access, name: bytes, value: bytes
):
    scope = make_scope(headers=[*make_login(access), (name, value)])

    assert call(guard, scope).status == 403


@pytest.mark.threat("W3")
def test_without_a_cookie_a_page_says_what_to_do(guard: Guard):
    response = call(guard, make_scope())

    assert response.status == 401
    assert "leslied web" in response.body.decode()
    assert response.headers["content-type"].startswith("text/html")


@pytest.mark.threat("W3")
def test_the_paths_that_need_no_login_are_few(guard: Guard):
    assert set(OPEN_PATHS) == {
        "/login",
        "/identity",
        "/static/css/tokens.css",
        "/static/css/refusal.css",
    }
    assert call(guard, make_scope(path="/static/css/refusal.css")).status == 200
    assert call(guard, make_scope(path="/static/css/base.css")).status == 401


@pytest.mark.threat("W3")
def test_below_the_api_a_refusal_is_json(guard: Guard):
    response = call(guard, make_scope(path="/api/status"))

    envelope = json.loads(response.body)
    assert response.status == 401
    assert envelope["success"] is False
    assert "leslied web" in envelope["error"]["hint"]


@pytest.mark.threat("W2")
@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE"])
def test_a_change_needs_the_form_token(guard: Guard, access: Access, method: str):
    cookie, token = make_login(access)

    without = call(guard, make_scope(method, headers=[cookie]))
    twice = call(guard, make_scope(method, headers=[cookie, token, token]))
    once = call(guard, make_scope(method, headers=[cookie, token]))
    assert (without.status, twice.status, once.status) == (403, 403, 200)


@pytest.mark.threat("W2")
@pytest.mark.parametrize("method", ["OPTIONS", "TRACE", "CONNECT", "PATCH", "X<b>"])
def test_other_methods_are_refused(guard: Guard, access: Access, method: str):
    response = call(guard, make_scope(method, headers=make_login(access)))

    assert response.status == 405
    assert b"<b>" not in response.body
    assert "access-control-allow-origin" not in response.headers


@pytest.mark.threat("W5")
def test_every_response_has_the_security_headers(guard: Guard, access: Access):
    responses = [
        call(guard, make_scope()),
        call(guard, make_scope(host=b"evil.example")),
        call(guard, make_scope(headers=make_login(access))),
    ]

    for response in responses:
        assert response.headers.items() >= SECURITY_HEADERS.items()


@pytest.mark.threat("W6")
def test_a_long_query_is_refused(guard: Guard, access: Access):
    scope = make_scope(headers=make_login(access), query=b"x" * (MAX_QUERY_BYTES + 1))

    assert call(guard, scope).status == 414


@pytest.mark.threat("W6")
@pytest.mark.parametrize("size", [b"65537", b"9" * 40, b"-1", b"1e3", b""])
def test_a_body_that_is_announced_as_too_large_is_refused(
    guard: Guard, access: Access, size: bytes
):
    headers = [*make_login(access), (b"content-length", size)]

    assert call(guard, make_scope("POST", headers=headers)).status == 413


@pytest.mark.threat("W6")
def test_a_body_that_becomes_too_large_is_not_read_on(
    guard: Guard, access: Access, errors: list[Exception]
):
    pieces = [b"x" * MAX_BODY_BYTES, b"x", b"x"]

    call(guard, make_scope("POST", headers=make_login(access)), pieces)

    assert getattr(errors[0], "status_code", None) == 413


def test_an_error_of_the_application_is_reported_and_answered(access: Access):
    async def fail(scope: Any, receive: Any, send: Any) -> None:
        raise ValueError("text of a session")

    errors: list[Exception] = []
    guard = Guard(fail, access, PORT, errors.append)

    response = call(guard, make_scope(path="/api/x", headers=make_login(access)))

    assert response.status == 500
    assert b"session" not in response.body
    assert json.loads(response.body)["error"]["message"]
    assert len(errors) == 1


def test_an_error_in_the_middle_of_an_answer_is_only_reported(access: Access):
    async def fail(scope: Any, receive: Any, send: Any) -> None:
        await answer_ok(scope, receive, send)
        raise ValueError

    errors: list[Exception] = []
    guard = Guard(fail, access, PORT, errors.append)

    response = call(guard, make_scope(headers=make_login(access)))

    assert (response.status, len(errors)) == (200, 1)


def test_a_websocket_gets_no_answer(guard: Guard):
    response = call(guard, {**make_scope(), "type": "websocket"})

    assert response.status == 0


@pytest.mark.parametrize(
    ("header", "values"),
    [
        (b"a=1", ["1"]),
        (b"b=2; a=1; a=3", ["1", "3"]),
        (b'a=1=2;a="x"', ["1=2", '"x"']),
        (b"{bad}; =; ;a", [""]),
        (b"aa=1; A=2", []),
        (b"\xff=\xfe; a=\xe9", ["é"]),
    ],
)
def test_every_value_of_a_cookie_is_found(header: bytes, values: list[str]):
    assert list(iter_cookies([(b"Cookie", header)], "a")) == values
