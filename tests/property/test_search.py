"""Random search queries raise only usage errors."""

from __future__ import annotations

import os
from contextlib import suppress
from random import Random

import pytest

from leslied.app import App
from leslied.errors import UserError
from leslied.queries.search import SearchMode, search
from leslied.queries.search_query import parse_query
from leslied.queries.value_parsers import make_value_parsers
from tests.support.claude import ClaudeHome
from tests.support.queries import make_home_with_session

EXAMPLES = int(os.environ.get("LESLIED_EXAMPLES", "300"))
HEAVY_EXAMPLES = max(EXAMPLES, 10_000)
MODES: tuple[SearchMode, ...] = ("newest", "rank", "substring")
WORDS = (
    *(
        "a",
        "Done",
        "use",
        "wor*",
        "*",
        '"',
        "'",
        "(",
        ")",
        "-",
        "NOT",
        "OR",
        "AND",
        "NEAR",
    ),
    *('"two words"', "agent:", "agent:codex", "tool:*", "after:", "after:7d", "x:y"),
    *("is:error", "-is:subagent", "status:idle", "before:2026-99", "\0", "\ud800", "é"),
    *(
        "^",
        "{",
        "}",
        "text:a",
        "+",
        "NEAR(a b, 2)",
        "%",
        "_",
        "\\",
        "\n",
        "🙂",
        "ß" * 99,
    ),
    *("session:%", "project:/", "model:'", "role:x", "thread:", "\u202e", "1e999", ";"),
)


@pytest.fixture
def app(claude: ClaudeHome) -> App:
    return make_home_with_session(claude)


def check_searches(app: App, count: int) -> None:
    hits = 0
    value_parsers = make_value_parsers(app.clock.now(), app.home)
    with app.open_queries() as queries:
        for seed in range(count):
            random = Random(seed)
            separator = random.choice(("", " ", " ", " "))
            text = separator.join(random.choices(WORDS, k=random.randrange(1, 8)))
            with suppress(UserError):
                query = parse_query(text, value_parsers)
                hits += len(search(queries, query, random.choice(MODES), 20).hits)
    assert hits


@pytest.mark.threat("W7")
def test_a_random_search_raises_only_usage_errors(app: App):
    check_searches(app, EXAMPLES)


@pytest.mark.heavy
@pytest.mark.threat("W7")
def test_ten_thousand_random_searches_raise_only_usage_errors(app: App):
    check_searches(app, HEAVY_EXAMPLES)
