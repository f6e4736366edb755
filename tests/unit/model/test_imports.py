"""Files that users import."""

from __future__ import annotations

from pathlib import PurePosixPath

import pytest

from leslied.model.imports import ImportFile, make_import_name


def make_file(data: bytes) -> ImportFile:
    return ImportFile(PurePosixPath("/x/file"), data)


def test_the_items_of_an_array_keep_their_bytes():
    file = make_file(b' [{"a": 1.0},\n {"b":  2}, 3]')

    assert file.list_objects() == [
        ({"a": 1.0}, b'{"a": 1.0}'),
        ({"b": 2}, b'{"b":  2}'),
    ]
    assert file.first_object == {"a": 1.0}


def test_an_object_is_a_document_and_its_own_first_object():
    file = make_file(b'\xef\xbb\xbf{"a": 1}')

    assert (file.document, file.first_object, file.items) == ({"a": 1}, {"a": 1}, [])


def test_the_first_object_of_lines_is_the_first_line():
    file = make_file(b'\n{"a": 1}\n{"b": 2}\n')

    assert (file.document, file.first_object) == ({}, {"a": 1})


@pytest.mark.parametrize("data", [b"", b"[", b"{", b"text", b"[1", b"[" * 10_000])
def test_data_that_is_not_json_has_no_document_and_no_items(data: bytes):
    file = make_file(data)

    assert (file.document, file.first_object, file.items) == ({}, {}, [])


@pytest.mark.parametrize("name", ["5b1d2c3e-0000", "Prime numbers", "日本語", "a"])
def test_a_plain_id_is_a_file_name(name: str):
    assert make_import_name(name, ".json") == f"{name}.json"


@pytest.mark.parametrize(
    "name", ["", "..", "../x", "a/b", ".hidden", "x" * 300, "語" * 90, "a\n", "a\udc80"]
)
def test_any_other_id_is_hashed(name: str):
    made = make_import_name(name, ".json")

    assert len(made) == len(".json") + 32
    assert made != make_import_name(name + "x", ".json")
