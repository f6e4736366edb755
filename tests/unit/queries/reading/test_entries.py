"""One entry, its line and its images."""

from __future__ import annotations

import base64
import itertools
import json
from typing import Any

import pytest

from leslied.errors import UserError
from leslied.model.record import SessionKey
from leslied.queries.context import QueryContext
from leslied.queries.reading.entries import (
    MAX_IMAGE_BYTES,
    iter_images,
    load_entry,
    load_image,
)
from tests.support.claude import SESSION, ClaudeHome, ClaudeLogBuilder
from tests.support.queries import SECRET

PNG = b"\x89PNG\r\n\x1a\n" + bytes(16)
KEY = SessionKey("claude-code", SESSION)


def make_block(data: bytes = PNG, media_type: str = "image/png") -> dict[str, Any]:
    source = {
        "type": "base64",
        "media_type": media_type,
        "data": base64.b64encode(data).decode(),
    }
    return {"type": "image", "source": source}


def test_an_entry_has_its_whole_text_and_its_line(queries: QueryContext):
    _, prompt, *_ = queries.reader.reading.list_heads(KEY)

    entry = load_entry(queries, SESSION, prompt.entry_id).to_dict()

    assert entry["text"].startswith("Use [REDACTED")
    assert entry["line"]["message"]["role"] == "user"
    assert entry["entry"]["type"] == "user_message"


@pytest.mark.threat("S1")
def test_the_line_of_an_entry_has_no_secrets(queries: QueryContext):
    _, prompt, *_ = queries.reader.reading.list_heads(KEY)

    entry = load_entry(queries, SESSION, prompt.entry_id).to_dict()

    assert SECRET not in json.dumps(entry)


def test_an_image_is_sent_with_its_type(queries: QueryContext, claude: ClaudeHome):
    builder = ClaudeLogBuilder()
    builder._numbers = itertools.count(50)
    text = {"type": "text", "text": "look"}
    claude.write(builder.prompt([text, make_block()]))
    claude.sync()
    placed = queries.reader.reading.list_heads(KEY)[-1]

    image = load_image(queries, SESSION, placed.entry_id, 0)

    assert image == ("image/png", PNG)
    with pytest.raises(UserError, match="not in the log"):
        load_image(queries, SESSION, placed.entry_id, 1)


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
        pytest.param(make_block(b"<script>"), id="not an image"),
        pytest.param(make_block(b"<svg/>", "image/svg+xml"), id="a picture of code"),
        pytest.param(make_block(PNG, "text/html"), id="another type"),
        pytest.param(make_block(PNG + bytes(MAX_IMAGE_BYTES)), id="too large"),
        pytest.param({"media_type": "image/png", "data": "%%%"}, id="not base64"),
        pytest.param({"media_type": ["x"], "data": 7}, id="no texts"),
    ],
)
def test_only_images_are_sent(block: Any):
    assert list(iter_images(block, "")) == []


def test_deeply_nested_lines_do_not_fail():
    line: Any = make_block()
    for _ in range(500):
        line = [line]

    assert list(iter_images(line, "")) == []


def test_an_unknown_entry_is_an_error(queries: QueryContext):
    with pytest.raises(UserError, match="no entry"):
        load_entry(queries, SESSION, "f" * 32)
