"""Pages of messages."""

from __future__ import annotations

import json
from typing import Any

import pytest

from leslied.errors import UserError
from leslied.queries.context import QueryContext
from leslied.queries.reading.messages import (
    MessageAddress,
    find_position,
    load_messages,
    load_start,
    reveal_messages,
)
from leslied.queries.reading.pages import PAGE_MESSAGES
from tests.support.claude import SESSION, ClaudeHome, ClaudeLogBuilder
from tests.support.queries import SECRET
from tests.support.reader_sessions import LONG, write_unit_with_late_result


def load(queries: QueryContext, **address: Any) -> dict[str, Any]:
    return load_messages(
        queries, MessageAddress(session_id=SESSION, **address)
    ).to_dict()


def test_a_page_has_the_messages_of_a_unit(queries: QueryContext):
    prompt, call, answer = load(queries, unit=1)["messages"]

    assert (prompt["speaker"], prompt["origin"]) == ("user", "prompt")
    assert call["calls"][0]["outcome"] == "ok"
    assert "<p>Done.</p>" in answer["html"]


@pytest.mark.threat("S1")
def test_secrets_are_redacted_and_marked(queries: QueryContext):
    page = load(queries, unit=1)

    assert SECRET not in json.dumps(page)
    assert [m["has_secrets"] for m in page["messages"]] == [True, True, False]


def test_secrets_are_revealed_on_request(queries: QueryContext):
    address = MessageAddress(session_id=SESSION, unit=1)

    page = reveal_messages(queries, address).to_dict()

    assert SECRET in page["messages"][0]["text"]
    assert SECRET not in json.dumps(load(queries, unit=1))


def test_a_subagent_is_below_its_call_and_can_be_read(sample: QueryContext):
    calls = [c for m in load(sample, unit=1)["messages"] for c in m.get("calls", [])]
    (subagent,) = [child for call in calls for child in call["subagents"]]
    page = load(sample, subagent=subagent["id"])

    speakers = [message["speaker"] for message in page["messages"]]
    assert speakers == ["user", "assistant", "assistant"]
    assert page["messages"][1]["calls"][0]["tool"] == "Grep"


def test_long_units_have_several_pages(claude: ClaudeHome, queries: QueryContext):
    builder = ClaudeLogBuilder(first_number=50)
    prompt = builder.prompt("more")
    answers = [builder.answer(f"answer {n}") for n in range(PAGE_MESSAGES + 1)]
    claude.write(prompt, *answers)
    claude.sync()

    first, second = (load(queries, unit=3, page=number) for number in (0, 1))

    assert (first["pages"], first["total"]) == (2, PAGE_MESSAGES + 2)
    assert len(first["messages"]) == PAGE_MESSAGES
    assert len(second["messages"]) == 2


def test_the_position_of_an_entry_leads_to_it(sample: QueryContext):
    entry = load(sample, subagent="a5c0041")["messages"][1]["calls"][0]["result_id"]

    position = find_position(sample, SESSION, entry).to_dict()

    assert position == {"unit": 1, "page": 0, "subagents": ["a5c0041"]}


def test_a_unit_or_entry_that_does_not_exist_is_an_error(queries: QueryContext):
    with pytest.raises(UserError, match="no unit 99"):
        load(queries, unit=99)
    with pytest.raises(UserError, match="no entry"):
        find_position(queries, SESSION, "0" * 32)


def test_a_page_beyond_the_last_is_empty(queries: QueryContext):
    assert load(queries, unit=1, page=7)["messages"] == []


def test_the_start_has_the_header_and_the_first_messages(queries: QueryContext):
    start = load_start(queries, SESSION).to_dict()

    assert start["session"]["id"] == SESSION
    assert start["page"] == load(queries, unit=1)


def test_the_start_of_a_long_unit_needs_only_its_first_entries(
    queries: QueryContext, claude: ClaudeHome
):
    write_unit_with_late_result(claude, answers=1500)
    claude.sync()

    page = load_start(queries, LONG).to_dict()["page"]

    assert len(page["messages"]) == PAGE_MESSAGES
    assert page["total"] == 1000


def test_the_start_looks_further_if_the_first_entries_are_one_message(
    queries: QueryContext, claude: ClaudeHome
):
    builder = ClaudeLogBuilder(LONG)
    lines = [builder.prompt("Work")]
    lines += [builder.answer(f"part {n}", id="same") for n in range(1500)]
    lines += [builder.answer(f"answer {n}") for n in range(PAGE_MESSAGES)]
    claude.write(*lines, name=f"-home-dev-app/{LONG}.jsonl")
    claude.sync()

    page = load_start(queries, LONG).to_dict()["page"]

    whole = load_messages(queries, MessageAddress(session_id=LONG, unit=1)).to_dict()
    assert page == whole


def test_a_page_shows_what_was_added_to_its_unit(
    queries: QueryContext, claude: ClaudeHome
):
    assert load(queries, unit=2)["total"] == 2
    builder = ClaudeLogBuilder(first_number=50)
    claude.write(builder.answer("one more"))
    claude.sync()

    assert load(queries, unit=2)["total"] == 3
