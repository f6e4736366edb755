"""Parameters of endpoints."""

from __future__ import annotations

from typing import Any

import pytest

from leslied.errors import UserError
from leslied.web.endpoint import Endpoint, Param, make_object_schema

TEXT = Param(name="text", about="A text.", maximum=3)
NUMBER = Param(name="number", about="A number.", type="integer", maximum=10)
FLAG = Param(name="flag", about="A flag.", type="flag", default=False)
CHOICE = Param(name="choice", about="One of two.", choices=("a", "b"))


@pytest.mark.parametrize(
    ("param", "value", "expected"),
    [
        (TEXT, "abc", "abc"),
        (TEXT, "", ""),
        (NUMBER, "10", 10),
        (NUMBER, 0, 0),
        (FLAG, "1", True),
        (FLAG, "TRUE", True),
        (FLAG, "false", False),
        (FLAG, False, False),
        (CHOICE, "b", "b"),
    ],
)
def test_a_valid_value_has_its_type(param: Param, value: Any, expected: Any):
    assert param.parse(value) == expected


@pytest.mark.parametrize(
    ("param", "value"),
    [
        (TEXT, "abcd"),
        (TEXT, 1),
        (TEXT, None),
        (TEXT, ["a"]),
        (NUMBER, "11"),
        (NUMBER, "-1"),
        (NUMBER, "1.0"),
        (NUMBER, "٣"),
        (NUMBER, "9" * 5000),
        (NUMBER, ""),
        (NUMBER, True),
        (NUMBER, {}),
        (FLAG, "yes"),
        (FLAG, 2),
        (CHOICE, "c"),
    ],
)
def test_an_invalid_value_is_an_error_that_names_the_parameter(
    param: Param, value: Any
):
    with pytest.raises(UserError, match=param.name) as caught:
        param.parse(value)

    assert caught.value.hint


@pytest.fixture
def endpoint() -> Endpoint:
    required = Param(name="name", about="Say something.", is_required=True)
    return Endpoint(
        path="/x/{id}", about="An x.", answer=lambda *_: {}, params=(required, FLAG)
    )


def test_missing_values_have_their_default(endpoint: Endpoint):
    arguments = endpoint.parse({"id": "1"}, {"name": "a"})

    assert arguments == {"id": "1", "name": "a", "flag": False}


def test_a_required_value_must_be_there(endpoint: Endpoint):
    with pytest.raises(UserError, match="name is missing"):
        endpoint.parse({"id": "1"}, {})


def test_an_unknown_parameter_is_an_error(endpoint: Endpoint):
    with pytest.raises(UserError, match="other is not a parameter") as caught:
        endpoint.parse({"id": "1"}, {"other": ""})

    assert "name, flag" in caught.value.hint


def test_a_parameter_cannot_replace_a_part_of_the_path(endpoint: Endpoint):
    with pytest.raises(UserError):
        endpoint.parse({"id": "1"}, {"name": "a", "id": "2"})


def test_the_schema_of_an_object_lists_its_fields():
    assert make_object_schema(a="array", b="string|null") == {
        "type": "object",
        "required": ["a", "b"],
        "properties": {"a": {"type": ["array"]}, "b": {"type": ["string", "null"]}},
    }
