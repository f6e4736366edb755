"""Exports of the Gemini app and AI Studio."""

from __future__ import annotations

from typing import Any

import pytest

from leslied.errors import DecodeError
from tests.support.imports import decode_file, split_file, summarize


def decode_activity(**fields: Any):
    document = {"activities": [{"time": "2026-11-01T08:00:00Z", **fields}]}
    return decode_file("gemini-app", "activity/d.json", document).records[1:]


def decode_chunks(*chunks: dict[str, Any]):
    document = {"chunkedPrompt": {"chunks": chunks}}
    return decode_file("gemini-app", "prompts/p.json", document).records[2:]


def test_the_activities_of_a_day_are_kept_together_the_oldest_first():
    def make(time: str) -> dict[str, Any]:
        return {"header": "Gemini Apps", "time": time}

    times = ("2026-11-02T01:00:00Z", "2026-11-01T09:00:00Z", "2026-11-01T08:00:00Z")
    copies = split_file("gemini-app", "/x/MyActivity.json", [make(t) for t in times])

    assert sorted(copies) == ["activity/2026-11-01.json", "activity/2026-11-02.json"]
    first = copies["activity/2026-11-01.json"]
    assert first.index(b"T08") < first.index(b"T09")


def test_the_activities_of_other_products_are_not_kept():
    items = [{"header": "Search", "time": "2026-11-01"}]

    assert split_file("gemini-app", "/x/MyActivity.json", items) == {}


def test_markup_is_removed_from_an_answer():
    html = "<p>1 &lt; 2<br>yes</p><script>x</script>"

    records = decode_activity(title="Prompted Why?", safeHtmlItem=[{"html": html}])

    assert summarize(records) == [
        ("user_message", "Why?"),
        ("assistant_message", "1 < 2\nyes\nx"),
    ]


def test_a_chunk_of_the_user_after_another_one_is_queued():
    records = decode_chunks(
        {"role": "user", "text": "a"}, {"role": "user", "text": "b"}
    )

    assert [r.metadata["origin"] for r in records] == ["prompt", "queued"]


def test_a_chunk_of_an_unknown_role_is_kept():
    assert summarize(decode_chunks({"role": "x"})) == [("unknown", '{"role":"x"}')]


def test_another_document_is_rejected():
    with pytest.raises(DecodeError):
        decode_file("gemini-app", "prompts/p.json", {})
