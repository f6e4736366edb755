"""The images of an entry."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from leslied.errors import UserError
from leslied.model.record import SessionKey
from leslied.queries.context import QueryContext
from leslied.queries.reading.images import (
    MAX_IMAGE_BYTES,
    iter_images,
    load_image,
    load_images,
)
from tests.support.claude import SESSION, ClaudeHome, ClaudeLogBuilder

PNG = b"\x89PNG\r\n\x1a\n" + bytes(16)
KEY = SessionKey("claude-code", SESSION)


def make_block(data: bytes = PNG, media_type: str = "image/png") -> dict[str, Any]:
    source = {
        "type": "base64",
        "media_type": media_type,
        "data": base64.b64encode(data).decode(),
    }
    return {"type": "image", "source": source}


def write_prompt(queries: QueryContext, claude: ClaudeHome, *blocks: Any) -> str:
    """Append a prompt with these blocks; return the id of its entry."""
    builder = ClaudeLogBuilder(first_number=50)
    text = {"type": "text", "text": "look"}
    claude.write(builder.prompt([text, *blocks]))
    claude.sync()
    return queries.reader.reading.list_heads(KEY)[-1].entry_id


def test_an_image_is_sent_with_its_type(queries: QueryContext, claude: ClaudeHome):
    entry_id = write_prompt(queries, claude, make_block())

    image = load_image(queries, SESSION, entry_id, 0)

    assert image == ("image/png", PNG, "")
    with pytest.raises(UserError, match="not in the log"):
        load_image(queries, SESSION, entry_id, 1)


def test_images_are_found_in_the_forms_of_several_agents():
    data = base64.b64encode(PNG).decode()
    line = {
        "a": {"inlineData": {"mimeType": "image/png", "data": data}},
        "b": {"image_url": f"data:image/png;base64,{data}"},
    }

    assert [image.data for image in iter_images(line, "")] == [PNG, PNG]


def test_only_images_of_the_call_are_found():
    line = [
        {"tool_use_id": "c1", "content": [make_block()]},
        {"tool_use_id": "c2", "content": [make_block(PNG + b"2")]},
    ]

    assert [image.data for image in iter_images(line, "c2")] == [PNG + b"2"]


@pytest.mark.threat("W5")
@pytest.mark.parametrize(
    "block",
    [
        pytest.param(make_block(PNG, "text/html"), id="another type"),
        pytest.param({"media_type": ["x"], "data": 7}, id="no texts"),
        pytest.param({"media_type": "image/png", "data": 7}, id="no text"),
    ],
)
def test_only_images_are_found(block: Any):
    assert list(iter_images(block, "")) == []


@pytest.mark.threat("W5")
@pytest.mark.parametrize(
    ("block", "problem"),
    [
        pytest.param(make_block(b"<script>"), "damaged", id="not an image"),
        pytest.param(
            make_block(b"<svg/>", "image/svg+xml"), "Only PNG", id="a picture of code"
        ),
        pytest.param(
            make_block(PNG + bytes(MAX_IMAGE_BYTES)), "larger than 20 MB", id="large"
        ),
        pytest.param(
            {"media_type": "image/png", "data": "%%%"}, "damaged", id="not base64"
        ),
        pytest.param("data:image/png;base64,", "damaged", id="an empty address"),
    ],
)
def test_what_cannot_be_shown_has_a_reason_instead_of_data(block: Any, problem: str):
    (image,) = iter_images(block, "")

    assert problem in image.problem
    assert image.data == b""


def test_images_keep_their_numbers_beside_damaged_ones(
    queries: QueryContext, claude: ClaudeHome
):
    entry_id = write_prompt(queries, claude, make_block(b"broken"), make_block())

    images = load_images(queries, SESSION, entry_id).to_dict()["images"]

    assert [image["problem"] for image in images] == [
        "The image in the log is damaged.",
        None,
    ]
    assert load_image(queries, SESSION, entry_id, 1).data == PNG
    with pytest.raises(UserError, match="damaged"):
        load_image(queries, SESSION, entry_id, 0)


def test_images_of_a_deleted_log_are_listed_with_the_reason(
    queries: QueryContext, claude: ClaudeHome
):
    entry_id = write_prompt(queries, claude, make_block())
    claude.log().unlink()

    (image,) = load_images(queries, SESSION, entry_id).images

    assert image.problem == "The original line is gone or cannot be shown."


def test_deeply_nested_lines_do_not_fail():
    line: Any = make_block()
    for _ in range(500):
        line = [line]

    assert list(iter_images(line, "")) == []
