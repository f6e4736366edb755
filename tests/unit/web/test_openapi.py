"""The OpenAPI description."""

from __future__ import annotations

import re

from jsonschema import Draft202012Validator

from leslied.web.endpoint import Endpoint, Param
from leslied.web.openapi import make_openapi
from leslied.web.routes import ENDPOINTS


def test_every_endpoint_is_described():
    paths = make_openapi(ENDPOINTS)["paths"]

    described = {(p, m) for p, operations in paths.items() for m in operations}
    assert described == {(f"/api{e.path}", e.method.lower()) for e in ENDPOINTS}


def test_no_two_endpoints_have_the_same_path_and_method():
    keys = [(endpoint.path, endpoint.method) for endpoint in ENDPOINTS]

    assert len(keys) == len(set(keys))


def test_the_description_has_the_required_parts():
    document = make_openapi(ENDPOINTS)

    assert document["openapi"].startswith("3.1")
    assert {"title", "version"} <= set(document["info"])
    for path, operations in document["paths"].items():
        for operation in operations.values():
            assert operation["summary"].endswith("."), path
            assert set(operation["responses"]) >= {"200", "400"}


def test_path_parameters_are_the_placeholders_of_the_path():
    for path, operations in make_openapi(ENDPOINTS)["paths"].items():
        for operation in operations.values():
            in_path = {p["name"] for p in operation["parameters"] if p["in"] == "path"}
            assert in_path == set(re.findall(r"\{(\w+)", path))


def test_every_schema_is_a_valid_json_schema():
    for endpoint in ENDPOINTS:
        Draft202012Validator.check_schema(endpoint.schema)


def test_every_json_answer_has_described_fields():
    answers = [e for e in ENDPOINTS if e.media_type == "application/json"]

    assert [e.path for e in answers if not e.schema.get("required")] == []


def test_a_parameter_is_described_with_its_limits():
    params = (
        Param(name="text", about="A text.", maximum=5, is_required=True),
        Param(name="n", about="A number.", type="integer", default=2, maximum=9),
        Param(name="kind", about="A kind.", choices=("a", "b")),
    )
    endpoint = Endpoint(path="/x", about="An x.", answer=lambda *_: {}, params=params)

    text, number, kind = make_openapi([endpoint])["paths"]["/api/x"]["get"][
        "parameters"
    ]
    assert (text["required"], text["schema"]["maxLength"]) == (True, 5)
    assert number["schema"] == {
        "type": "integer",
        "minimum": 0,
        "maximum": 9,
        "default": 2,
    }
    assert kind["schema"]["enum"] == ["a", "b"]


def test_the_values_of_a_change_are_in_the_body():
    param = Param(name="text", about="A text.", is_required=True)
    endpoint = Endpoint(
        path="/x", about="An x.", answer=lambda *_: {}, params=(param,), method="PUT"
    )

    operation = make_openapi([endpoint])["paths"]["/api/x"]["put"]
    schema = operation["requestBody"]["content"]["application/json"]["schema"]
    assert operation["parameters"] == []
    assert (schema["required"], schema["additionalProperties"]) == (["text"], False)


def test_an_answer_that_is_not_json_has_its_media_type():
    endpoint = Endpoint(
        path="/x", about="An x.", answer=lambda *_: {}, media_type="image/png"
    )

    operation = make_openapi([endpoint])["paths"]["/api/x"]["get"]
    assert list(operation["responses"]["200"]["content"]) == ["image/png"]
