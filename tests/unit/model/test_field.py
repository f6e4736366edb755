"""The JSON form of a field."""

from __future__ import annotations

from types import SimpleNamespace

from leslied.model.field import Field, encode_fields, get_or_none, index_by_name


def test_a_value_is_encoded_unless_it_is_none():
    field = Field("number", "a number", get_or_none("number"), encode=str)

    assert field.encode_value(SimpleNamespace(number=3)) == "3"
    assert field.encode_value(SimpleNamespace(number=0)) is None


def test_fields_keep_their_order():
    fields = [Field(name, "", get_or_none(name)) for name in ("b", "a")]

    assert list(encode_fields(fields, SimpleNamespace(a=1, b=2))) == ["b", "a"]
    assert index_by_name(fields)["a"] is fields[1]
