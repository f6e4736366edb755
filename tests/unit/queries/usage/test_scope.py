"""A scope keeps only the messages that its filters and times select."""

from __future__ import annotations

from datetime import UTC

import pytest

from leslied.errors import UserError
from leslied.model.query import Filter
from leslied.model.record import Usage
from leslied.model.times import to_us
from leslied.queries.context import QueryContext
from leslied.queries.usage.scope import UsageScope, open_usage
from tests.support.records import make_key, time_at
from tests.support.usage import OPUS, SONNET, make_folder_event, make_message


@pytest.fixture
def context(commit) -> QueryContext:
    """Two sessions in two projects; the first one uses two models."""
    return commit(
        make_folder_event("/home/dev/app", "one"),
        make_folder_event("/home/dev/other", "two"),
        make_message("a", time_at(0), Usage(1), session=make_key("one")),
        make_message("b", time_at(60), Usage(2), session=make_key("one"), model=SONNET),
        make_message("c", time_at(120), Usage(4), session=make_key("two")),
    )


def count_input(context: QueryContext, **fields) -> int:
    scope = UsageScope(zone=UTC, **fields)
    total = open_usage(context, scope).sum_groups("day", scope.select(context))[1]
    return total.usage.input_tokens


def test_without_filters_every_message_counts(context: QueryContext):
    assert count_input(context) == 7


@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        ([("model", "opus")], 5),
        ([("model", SONNET)], 2),
        ([("model", "%")], 0),
        ([("project", "/home/dev/app")], 3),
        ([("project", "/home/dev/app"), ("model", OPUS)], 1),
        ([("agent", "claude-code"), ("project", "/home/dev/other")], 4),
    ],
)
def test_filters_select_messages(
    context: QueryContext, filters: list[tuple], expected: int
):
    filters = tuple(Filter(*each) for each in filters)

    assert count_input(context, filters=filters) == expected


def test_the_end_of_a_range_does_not_belong_to_it(context: QueryContext):
    since, until = to_us(time_at(60)), to_us(time_at(120))

    assert count_input(context, since_us=since, until_us=until) == 2


def test_an_unknown_agent_is_an_error(context: QueryContext):
    with pytest.raises(UserError, match="nobody"):
        count_input(context, filters=(Filter("agent", "nobody"),))
