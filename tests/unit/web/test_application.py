"""Paths, pages and errors of the application."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from leslied.app import App
from leslied.errors import StoreUnusable
from leslied.web import application as application_module
from leslied.web.access import Access
from leslied.web.application import PAGES, Application
from leslied.web.endpoint import Content, Endpoint, Param
from tests.support.asgi import (
    AsgiResponse,
    call,
    make_login,
    make_scope,
    open_application,
)
from tests.support.queries import SECRET


def fail(*_: Any) -> Any:
    raise ValueError("text of a session")


def refuse(*_: Any) -> Any:
    raise StoreUnusable(f"The store {SECRET} is damaged.", "Run: leslied doctor")


ENDPOINTS = (
    Endpoint(path="/fail", about="Fail.", answer=fail),
    Endpoint(path="/refuse", about="Refuse.", answer=refuse),
    Endpoint(
        path="/image", about="An image.", answer=lambda *_: Content(b"x", "image/png")
    ),
    Endpoint(
        path="/echo",
        about="Return the text.",
        method="POST",
        answer=lambda _, arguments: {"text": arguments["text"]},
        params=(Param(name="text", about="A text."),),
    ),
)


@pytest.fixture
def errors() -> list[Exception]:
    return []


@pytest.fixture
def application(
    app: App, errors: list[Exception], monkeypatch: pytest.MonkeyPatch
) -> Iterator[Application]:
    endpoints = (*application_module.ENDPOINTS, *ENDPOINTS)
    monkeypatch.setattr(application_module, "ENDPOINTS", endpoints)
    with open_application(app, errors) as application:
        yield application


@pytest.fixture
def login(access: Access) -> list[tuple[bytes, bytes]]:
    return make_login(access)


def get(application: Application, path: str, login: Any, method="GET") -> AsgiResponse:
    path, _, query = path.partition("?")
    scope = make_scope(method, path, login, query.encode())
    return call(application.guard, scope)


def post(application: Application, login: Any, *body: bytes) -> AsgiResponse:
    return call(application.guard, make_scope("POST", "/api/echo", login), body)


@pytest.mark.parametrize("path", [path.replace("{id}", "x") for path in PAGES])
def test_every_page_is_the_same_file_with_a_form_token(
    application: Application, login: Any, path: str
):
    response = get(application, path, login)

    assert response.status == 200
    assert login[1][1] in response.body
    assert b"{{token}}" not in response.body


@pytest.mark.threat("W3")
@pytest.mark.usefixtures("access")
def test_the_form_token_is_not_in_any_page_without_a_login(application: Application):
    bodies = [get(application, path, []).body for path in ("/", "/login", "/nowhere")]

    assert not [body for body in bodies if b"leslied-token" in body]


@pytest.mark.parametrize(
    ("target", "location"),
    [
        ("/s/abc", "/s/abc"),
        ("/search", "/search"),
        ("//evil.example", "/"),
        ("http://evil.example", "/"),
        ("/\\evil.example", "/"),
        ("/s/../../x", "/"),
    ],
)
def test_a_login_leads_only_to_addresses_of_this_server(
    application: Application, access: Access, target: str, location: str
):
    path = f"/login?code={access.make_code()}&to={target}"

    response = get(application, path, [])

    assert (response.status, response.headers["location"]) == (303, location)


@pytest.mark.threat("W3")
def test_the_cookie_is_hidden_from_scripts_and_other_sites(
    application: Application, access: Access
):
    response = get(application, f"/login?code={access.make_code()}", [])

    attributes = response.headers["set-cookie"].lower().split("; ")
    assert {"httponly", "samesite=strict", "path=/"} <= set(attributes)


def test_a_link_that_does_not_work_says_what_to_do(application: Application):
    response = get(application, "/login?code=1.2.3", [])

    assert response.status == 403
    assert b"leslied web" in response.body


def test_a_used_link_leads_a_browser_that_has_logged_in_to_the_page(
    application: Application, login: Any
):
    response = get(application, "/login?code=1.2.3", login)

    assert (response.status, response.headers["location"]) == (303, "/")
    assert "set-cookie" not in response.headers


def test_looking_at_a_link_does_not_use_it(application: Application, access: Access):
    path = f"/login?code={access.make_code()}"

    assert get(application, path, [], "HEAD").status == 200
    assert get(application, path, []).status == 303


def test_an_unknown_path_is_a_page_or_json(application: Application, login: Any):
    page = get(application, "/nowhere", login)
    data = get(application, "/api/nowhere", login)

    assert (page.status, data.status) == (404, 404)
    assert page.headers["content-type"].startswith("text/html")
    assert json.loads(data.body)["error"]["message"]


@pytest.mark.threat("W6")
@pytest.mark.parametrize(
    "name",
    ["../../access.py", "%2e%2e/access.py", "/etc/passwd", "", "index.html", "css"],
)
def test_a_path_that_does_not_name_a_file_of_the_page_is_not_found(
    application: Application, login: Any, name: str
):
    assert get(application, f"/static/{name}", login).status == 404


def test_a_file_of_the_page_has_its_media_type(application: Application, login: Any):
    response = get(application, "/static/app.js", login)

    assert response.status == 200
    assert response.headers["content-type"].startswith("text/javascript")


def test_the_api_describes_itself(application: Application, login: Any):
    response = get(application, "/api/openapi.json", login)

    assert "/api/sessions" in json.loads(response.body)["paths"]


def test_an_unexpected_error_is_reported_and_hidden(
    application: Application, login: Any, errors: list[Exception]
):
    response = get(application, "/api/fail", login)

    assert response.status == 500
    assert b"session" not in response.body
    assert b"Traceback" not in response.body
    assert json.loads(response.body)["error"]["hint"]
    assert [str(error) for error in errors] == ["text of a session"]


def test_an_expected_error_is_redacted(application: Application, login: Any):
    response = get(application, "/api/refuse", login)

    assert response.status == 503
    assert SECRET not in response.body.decode()
    assert json.loads(response.body)["error"]["hint"] == "Run: leslied doctor"


def test_a_missing_store_may_be_there_later(
    application: Application, app: App, login: Any
):
    app.paths.store_file.unlink()

    response = get(application, "/api/sessions", login)

    assert response.status == 503
    assert response.headers["retry-after"] == "5"
    assert json.loads(response.body)["error"]["hint"] == "Run: leslied sync"


def test_an_invalid_parameter_is_a_bad_request(application: Application, login: Any):
    response = get(application, "/api/sessions?limit=many", login)

    assert response.status == 400
    assert "limit" in json.loads(response.body)["error"]["message"]


def test_content_has_its_own_media_type(application: Application, login: Any):
    response = get(application, "/api/image", login)

    assert (response.body, response.headers["content-type"]) == (b"x", "image/png")


def test_a_change_reads_its_values_from_the_body(application: Application, login: Any):
    response = post(application, login, b'{"te', b'xt": "hi"}')

    assert json.loads(response.body)["data"] == {"text": "hi"}


@pytest.mark.parametrize(
    "body", [b"{", b"[]", b"1", b"\xff", b"[" * 30_000, b'{"x": 1}', b'{"text": 1}']
)
def test_a_body_that_is_not_valid_is_a_bad_request(
    application: Application, login: Any, body: bytes
):
    response = post(application, login, body)

    assert response.status == 400
    assert json.loads(response.body)["error"]["message"]


@pytest.mark.threat("W6")
def test_a_body_in_chunks_has_a_limit(
    application: Application, login: Any, errors: list[Exception]
):
    response = post(application, login, b"x" * 65_000, b"x" * 1000, b"")

    assert response.status == 413
    assert errors == []


def test_the_wrong_method_is_refused(application: Application, login: Any):
    assert get(application, "/api/echo", login).status == 405
    assert get(application, "/api/status", login, "POST").status == 405


def test_an_answer_about_events_can_be_asked_for_without_its_body(
    application: Application, login: Any
):
    response = get(application, "/api/events", login, "HEAD")

    assert response.headers["content-type"].startswith("text/event-stream")


def test_a_server_proves_that_it_has_the_key(application: Application, access: Access):
    response = get(application, "/identity?challenge=abc", [])

    assert access.is_valid_proof(7373, "abc", response.body.decode())
