"""The JSON API: described, valid, and the same data as the commands."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote, urlencode

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from leslied.web.endpoint import Endpoint
from leslied.web.routes import ENDPOINTS
from tests.support.claude import SESSION
from tests.support.cli import LesliedRunner
from tests.support.web import WebServer, make_sample_home, serve_page

pytestmark = pytest.mark.e2e

READING = [endpoint for endpoint in ENDPOINTS if endpoint.method == "GET"]
COMMANDS = {
    "/sessions?limit=50000": ("list",),
    f"/sessions/{SESSION}": ("show", SESSION),
    "/status": ("status",),
}
"""Commands that print what an endpoint answers."""


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LesliedRunner]:
    """One home for all tests of this module, which only ask."""
    with make_sample_home(tmp_path_factory.mktemp("api")) as leslied:
        yield leslied


@pytest.fixture(scope="module")
def server(home: LesliedRunner) -> Iterator[WebServer]:
    with serve_page(home) as server:
        yield server


def make_query(endpoint: Endpoint) -> str:
    """Return values for the required parameters."""
    required = [param for param in endpoint.params if param.is_required]
    values = {"integer": "1", "flag": "true"}
    pairs = [
        f"{p.name}={p.choices[0] if p.choices else values.get(p.type, 'parser')}"
        for p in required
    ]
    return "?" + "&".join(pairs) if pairs else ""


@pytest.mark.parametrize("endpoint", READING, ids=lambda endpoint: endpoint.path)
def test_an_answer_is_what_its_schema_describes(server: WebServer, endpoint: Endpoint):
    path = re.sub(r"\{\w+\}", SESSION, endpoint.path) + make_query(endpoint)
    response = server.request("GET", f"/api{path}")

    if endpoint.media_type == "application/json":
        envelope = json.loads(response.body)
        assert set(envelope) == {"success", "data", "warnings", "error"}
        if envelope["success"]:
            Draft202012Validator(endpoint.schema).validate(envelope["data"])
        else:
            # The sample has nothing for some ids and paths.
            assert "{" in endpoint.path or make_query(endpoint)
            assert envelope["error"]["message"]


def test_the_served_description_is_that_of_the_endpoints(server: WebServer):
    response = server.request("GET", "/api/openapi.json")

    paths = json.loads(response.body)["paths"]
    assert set(paths) == {f"/api{endpoint.path}" for endpoint in ENDPOINTS}


@pytest.mark.parametrize("path", COMMANDS)
def test_an_answer_is_what_the_command_prints(
    server: WebServer, home: LesliedRunner, path: str
):
    printed = home(*COMMANDS[path], "--json").json["data"]

    assert drop_sizes(server.get(path)) == drop_sizes(printed)


def drop_sizes(data: Any) -> Any:
    """Leave out the size of the store, which grows by its readers' own files."""
    if "store" in data:
        data["store"].pop("bytes")
    return data


texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=60)


@pytest.mark.heavy
@pytest.mark.threat("W7")
@pytest.mark.parametrize(
    "endpoint",
    [e for e in READING if any(p.type == "text" for p in e.params)],
    ids=lambda endpoint: endpoint.path,
)
def test_random_values_never_break_an_endpoint(server: WebServer, endpoint: Endpoint):
    names = [param.name for param in endpoint.params]
    values = st.dictionaries(st.sampled_from(names), texts, max_size=3)

    count = 10_000 if endpoint.path == "/search" else 300

    @settings(max_examples=count, database=None)
    @given(values, texts)
    def check(values: dict[str, str], id_: str) -> None:
        path = re.sub(r"\{\w+\}", lambda _: quote(id_, safe="") or "x", endpoint.path)
        response = server.request("GET", f"/api{path}?{urlencode(values)}")

        assert response.status in (200, 400, 404), (values, response.body)

    check()


@pytest.mark.heavy
@pytest.mark.threat("W6")
def test_random_bytes_never_break_the_server(server: WebServer):
    @settings(max_examples=500, database=None)
    @given(st.binary(max_size=300))
    def check(data: bytes) -> None:
        answer = server.send_raw(data + b"\r\n\r\n")

        assert re.match(rb"HTTP/1\.1 4\d\d|$", answer), answer

    check()
    assert server.get("/status")
