"""How full context windows were: the largest request of each session."""

from __future__ import annotations

from leslied.model.record import MAIN, Usage
from leslied.queries.usage.context_use import load_context_use
from leslied.queries.usage.scope import UsageScope
from tests.support.records import make_key, make_prompt, time_at
from tests.support.usage import SECRET, make_message

SCOPE = UsageScope()


def make_request(
    name: str, tokens: int, session: str = "s", source: str = MAIN, **fields
):
    """Return a message whose request had so many input tokens, half of them cached."""
    usage = Usage(tokens - tokens // 2, 10, tokens // 2)
    key = make_key(session, source)
    return make_message(name, time_at(0), usage, session=key, **fields)


def test_the_largest_request_of_a_session_counts(commit):
    context = commit(make_request("a", 30_000), make_request("b", 150_000))

    use = load_context_use(context, SCOPE, 10)

    (row,) = use.rows
    assert (row["peak_tokens"], row["window_tokens"]) == (150_000, 200_000)
    assert row["percent"] == 75
    assert sum(use.bins) == use.bins[7] == 1


def test_a_value_on_the_border_of_two_bins_is_in_the_lower_one(commit):
    context = commit(
        make_request("a", 20_000, "tenth"),
        make_request("b", 20_001, "more"),
        make_request("c", 200_000, "full"),
        make_request("d", 200_001, "above"),
    )

    use = load_context_use(context, SCOPE, 0)

    assert use.bins == (1, 1, 0, 0, 0, 0, 0, 0, 0, 1, 1)
    assert list(use.iter_bins())[-1] == (100, None, 1)


def test_subagents_are_not_counted(commit):
    context = commit(
        make_request("a", 1000), make_request("b", 9000, source="subagent:x")
    )

    (row,) = load_context_use(context, SCOPE, 10).rows

    assert row["peak_tokens"] == 1000


def test_a_model_with_an_unknown_window_is_in_no_bin(commit):
    context = commit(make_request("a", 1000, model="unheard-of"))

    use = load_context_use(context, SCOPE, 10)

    assert (sum(use.bins), use.unknown_sessions) == (0, 1)
    assert use.rows[0]["percent"] is None


def test_the_fullest_windows_come_first_without_secrets(commit):
    context = commit(
        make_request("a", 1000, "one"),
        make_prompt(f"Use {SECRET}", "p", session=make_key("two")),
        make_request("b", 2000, "two"),
        make_request("c", 500, "three"),
    )

    rows = load_context_use(context, SCOPE, 2).rows

    assert [row["session"] for row in rows] == ["two", "one"]
    assert rows[0]["title"] == "Use [secret]"


def test_the_json_form_names_the_limits_of_bins(commit):
    data = load_context_use(commit(), SCOPE, 10).to_dict()

    assert data["bins"][1] == {
        "above_percent": 10,
        "up_to_percent": 20,
        "sessions": 0,
    }
