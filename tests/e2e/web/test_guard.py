"""The guard of a real server: who gets an answer, and who does not."""

from __future__ import annotations

import itertools
import re
import socket
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from leslied.web.application import PAGES
from leslied.web.guard import OPEN_PATHS
from leslied.web.routes import ENDPOINTS
from tests.support.waiting import MAX_WAIT_SECONDS
from tests.support.web import WebServer, make_sample_home, serve_page
from tests.support.web_thread import read_all

pytestmark = pytest.mark.e2e

OPEN_ROUTES = [("GET", path) for path in OPEN_PATHS]
ROUTES = [
    *OPEN_ROUTES,
    *(("GET", re.sub(r"\{\w+\}", "x", path)) for path in PAGES),
    *(("GET", path) for path in ("/static/app.js", "/api/openapi.json")),
    *(("GET", path) for path in ("/nowhere", "/api/nowhere", "/static/nowhere")),
    *((e.method, "/api" + re.sub(r"\{\w+\}", "x", e.path)) for e in ENDPOINTS),
]
"""Every route but that of the events, whose answer does not end."""
METHODS = ("GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH", "TRACE")
HOSTS = ("127.0.0.1:{port}", "evil.example:{port}")
ORIGINS = (None, "http://127.0.0.1:{port}", "http://evil.example", "null")
SITES = (None, "same-origin", "none", "same-site", "cross-site")
GOOD_HOSTS = ["127.0.0.1:{port}", "localhost:{port}", "[::1]:{port}"]
BAD_HOSTS = [
    *("", " ", "127.0.0.1", "localhost", "[::1]", "::1", "::1:{port}", ":{port}"),
    *("127.0.0.1:", "127.0.0.1:0", "127.0.0.1:80", "127.0.0.1:{port}0"),
    *("127.0.0.1:0{port}", "127.0.0.1:{port}:{port}", "127.0.0.1:+{port}"),
    *(
        "127.0.0.1:{port}/",
        "127.0.0.1:{port}#",
        "127.0.0.1:{port}?",
        "127.0.0.1:{port}@x",
    ),
    *("x@127.0.0.1:{port}", "127.0.0.1:{port}.evil.example", "127.1:{port}"),
    *("127.0.0.2:{port}", "0.0.0.0:{port}", "0:{port}", "2130706433:{port}"),
    *(
        "0x7f000001:{port}",
        "0177.0.0.1:{port}",
        "127.0.0.1.:{port}",
        "LOCALHOST:{port}",
    ),
    *("localhost.:{port}", "localhost.evil.example:{port}", "evil.example:{port}"),
    *("evil.example", "127.0.0.1.nip.io:{port}", "[::ffff:127.0.0.1]:{port}"),
    *("[::]:{port}", "[0:0:0:0:0:0:0:1]:{port}", "127.0.0.1:{port}, evil.example"),
    *(
        "127.0.0.1:{port} evil.example",
        "http://127.0.0.1:{port}",
        "１２７.0.0.1:{port}",
    ),
    *("127.0.0.1\t:{port}", "ip6-localhost:{port}", "*:{port}", "127.0.0.1%00:{port}"),
]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WebServer]:
    """One server for all tests of this module, which only ask."""
    with (
        make_sample_home(tmp_path_factory.mktemp("guard")) as leslied,
        serve_page(leslied) as server,
    ):
        yield server


def read_status(answer: bytes) -> int:
    """Return the status of a response; 0 for none."""
    match = re.match(rb"HTTP/1\.1 (\d+)", answer)
    return int(match[1]) if match else 0


def ask(server: WebServer, method: str, path: str, *headers: str) -> int:
    """Send exactly these headers; return the status."""
    lines = [f"{method} {path} HTTP/1.1", *headers, "Connection: close", "", ""]
    data = "\r\n".join(lines).format(port=server.port).encode()
    with socket.create_connection(("127.0.0.1", server.port)) as client:
        client.settimeout(MAX_WAIT_SECONDS)
        client.sendall(data)
        return read_status(read_all(client))


@pytest.mark.threat("W1")
def test_only_three_hosts_are_answered(server: WebServer):
    cookie = f"Cookie: {server.cookie}"

    good = {h: ask(server, "GET", "/", f"Host: {h}", cookie) for h in GOOD_HOSTS}
    bad = {h: ask(server, "GET", "/", f"Host: {h}", cookie) for h in BAD_HOSTS}
    assert set(good.values()) == {200}
    assert len(bad) >= 40
    assert {
        host: status for host, status in bad.items() if status not in (400, 403)
    } == {}


@pytest.mark.threat("W1")
def test_a_request_with_no_host_or_two_is_refused(server: WebServer):
    cookie, host = f"Cookie: {server.cookie}", "Host: 127.0.0.1:{port}"

    assert ask(server, "GET", "/", cookie) == 400
    assert ask(server, "GET", "/", host, host, cookie) in (400, 403)
    assert ask(server, "GET", "/", host, "Host: evil.example", cookie) in (400, 403)


@pytest.mark.threat("W1")
def test_the_target_of_a_request_does_not_replace_its_host(server: WebServer):
    cookie = f"Cookie: {server.cookie}"
    absolute = "http://127.0.0.1:{port}/"

    assert ask(server, "GET", absolute, "Host: evil.example", cookie) == 403
    forwarded = ("X-Forwarded-Host: 127.0.0.1:{port}", "Forwarded: host=127.0.0.1")
    assert ask(server, "GET", "/", "Host: evil.example", cookie, *forwarded) == 403


def is_allowed(method: str, host: str, origin: str | None, site: str | None) -> bool:
    """Return what the guard must decide, written down a second time."""
    return (
        host == HOSTS[0]
        and origin in (None, "http://127.0.0.1:{port}")
        and site in (None, "same-origin", "none")
        and method in ("GET", "HEAD", "POST", "PUT", "DELETE")
    )


@pytest.mark.heavy
@pytest.mark.threat("W1", "W2", "W3")
def test_the_matrix_of_requests_has_no_wrong_answer(server: WebServer):
    wrong: list[object] = []
    counts: Counter[str] = Counter()
    paths = sorted({path for _, path in ROUTES})
    for case in itertools.product(paths, METHODS, HOSTS, ORIGINS, SITES, (True, False)):
        path, method, host, origin, site, has_cookie = case
        headers = [f"Host: {host}"]
        headers += [f"Origin: {origin}"] if origin else []
        headers += [f"Sec-Fetch-Site: {site}"] if site else []
        headers += [f"Cookie: {server.cookie}"] if has_cookie else []
        status = ask(server, method, path, *headers)
        is_read = method in ("GET", "HEAD")
        if not is_allowed(method, host, origin, site):
            is_right, kind = status in (403, 405), "refused"
        elif path in OPEN_PATHS and is_read:
            is_right, kind = status in (200, 303, 403), "open"
        elif not has_cookie:
            is_right, kind = status == 401, "without login"
        elif not is_read:
            is_right, kind = status == 403, "without token"
        else:
            is_right, kind = status in (200, 400, 404, 405), "answered"
        counts[kind] += 1
        if not is_right:
            wrong.append((case, status))

    print(f"{sum(counts.values())} requests: {dict(counts)}, {len(wrong)} wrong")
    assert wrong == []


@pytest.mark.threat("W3")
@pytest.mark.parametrize(("method", "path"), [*ROUTES, ("GET", "/api/events")])
def test_without_a_login_only_open_paths_answer(
    server: WebServer, method: str, path: str
):
    status = ask(server, method, path, "Host: 127.0.0.1:{port}")

    # A link needs a code; the other open routes reveal nothing.
    expected = 403 if path == "/login" else 200 if path in OPEN_PATHS else 401
    assert status == expected


@pytest.mark.threat("W3")
@pytest.mark.parametrize(
    ("method", "path"), [(m, p) for m, p in ROUTES if m not in ("GET", "HEAD")]
)
def test_without_the_form_token_nothing_changes(
    server: WebServer, method: str, path: str
):
    assert server.request(method, path, body=b"{}").status == 403


@pytest.mark.parametrize("path", [*(p for m, p in ROUTES if m == "GET"), "/api/events"])
def test_every_route_can_be_asked_for_without_its_body(server: WebServer, path: str):
    head = server.request("HEAD", path)

    assert head.body == b""
    if path != "/api/events":
        statuses = {303} if path == "/login" else {head.status}
        assert server.request("GET", path).status in statuses


@pytest.mark.threat("W2")
def test_no_response_allows_another_origin(server: WebServer):
    origin = {"Origin": f"http://127.0.0.1:{server.port}"}

    for method, path in itertools.product(("GET", "OPTIONS"), ("/", "/api/status")):
        names = server.request(method, path, origin).headers
        assert not [name for name in names if name.startswith("access-control")]


@pytest.mark.threat("W2")
def test_a_websocket_is_not_opened(server: WebServer):
    headers = (
        "Host: 127.0.0.1:{port}",
        "Upgrade: websocket",
        f"Cookie: {server.cookie}",
    )
    key = ("Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==", "Sec-WebSocket-Version: 13")

    assert ask(server, "GET", "/api/events", *headers, *key, "Origin: x") == 403


@pytest.mark.threat("W4")
def test_the_server_listens_on_the_loopback_interface_only(server: WebServer):
    if sys.platform != "linux":
        pytest.skip("reads /proc")
    tables = [Path(f"/proc/net/{name}").read_text() for name in ("tcp", "tcp6")]
    rows = [line.split() for line in "".join(tables).split("\n") if ":" in line]
    listening = "0A"
    addresses = [row[1] for row in rows if row[3] == listening]

    port = f"{server.port:04X}"
    own = [address for address in addresses if address.endswith(f":{port}")]
    assert own == [f"0100007F:{port}"]


SMUGGLED = """\
POST /api/x HTTP/1.1|Host: {host}|Content-Length: 5|Transfer-Encoding: chunked||0||GET /
GET / HTTP/1.1|Host: {host}|Content-Length: 36||GET /api/status HTTP/1.1|Host: x||
GET / HTTP/1.1|Host: {host}|Transfer-Encoding: chunked|Transfer-Encoding: x||0||
GET / HTTP/1.1|Host: {host}|Transfer-Encoding: chunked||fffffffffffffffffffff|a|
GET / HTTP/1.0||
GET //evil.example/%2e%2e HTTP/1.1|Host: {host}||
GET /\x00 HTTP/1.1|Host: {host}||
GET / HTTP/1.1|Host: {host}|Cookie: a|\tb||
"""
"""Requests with `|` for the end of a line."""


@pytest.mark.threat("W6")
@pytest.mark.parametrize("request_text", SMUGGLED.split("\n")[:-1])
def test_a_smuggled_request_is_refused(server: WebServer, request_text: str):
    text = request_text.format(host=f"127.0.0.1:{server.port}").replace("|", "\r\n")

    answer = server.send_raw(text.encode())

    statuses = re.findall(rb"HTTP/1\.1 (\d+)", answer)
    assert set(statuses) <= {b"400", b"401", b"403", b"404"}


@pytest.mark.threat("W6")
def test_a_request_that_is_too_large_is_refused(server: WebServer):
    token = {"X-Leslied-Token": server.find_token()}
    large = {**token, "Content-Length": "70000"}

    assert server.request("POST", "/api/x", large, b"").status == 413
    assert server.request("GET", "/?" + "x" * 9000).status == 414
