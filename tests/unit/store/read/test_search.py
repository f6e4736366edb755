"""Full-text and substring search, with operators and filters."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import get_args

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec import structs

from leslied.model.query import AllOf, Query, Term
from leslied.model.record import SHELL
from leslied.model.times import to_us
from leslied.queries.search import SearchMode, search_entries
from leslied.queries.search_query import parse_query
from leslied.sessions.units import make_chat_id
from leslied.store import StoreReader
from tests.support.clock import FakeClock
from tests.support.records import (
    AGENT,
    StoreHarness,
    make_call,
    make_event,
    make_key,
    make_prompt,
    make_record,
    make_result,
    time_at,
)
from tests.support.sqlite_steps import count_steps

CJK = "今日は𠮷野家へ行く。佐々木さんと mixed日本語text 한국어텍스트 ｶﾀｶﾅ 時々"


@pytest.fixture
def harness(tmp_path: Path, clock: FakeClock) -> Iterator[StoreHarness]:
    with StoreHarness(tmp_path / "data" / "store.db", clock) as harness:
        yield harness


def search_snippets(harness: StoreHarness, words: str) -> list[str]:
    """Return the snippets of all hits, sorted."""
    return sorted(hit.snippet for hit in harness.search(words))


# Words


@pytest.mark.parametrize(
    ("words", "matches"),
    [
        ("apple", ["apple pie", "apple tree"]),
        ("APPLE Pie", ["apple pie"]),
        ("pie apple", ["apple pie"]),
        ('"apple pie"', ["apple pie"]),
        ('"pie apple"', []),
        ("app", []),
        ("app*", ["apple pie", "apple tree"]),
        ("app* tr*", ["apple tree"]),
        ('"apple tr*"', ["apple tree"]),
        ("cafe", ["un café"]),
        ("CAFÉ", ["un café"]),
        ("nothing", []),
    ],
)
def test_all_words_must_match_in_any_order(
    harness: StoreHarness, words: str, matches: list[str]
):
    texts = ("apple pie", "apple tree", "un café")
    harness.commit(*[make_record(text, text) for text in texts])

    assert search_snippets(harness, words) == matches


@pytest.mark.parametrize(
    "words",
    [
        "今日",
        "野家",
        "𠮷野",
        "佐々木",
        "々木",
        "行く",
        "本語",
        "日本語",
        "mixed",
        "text",
        "mixed日本",
        "本語text",
        "국어",
        "한국어",
        "텍스트",
        "ﾀｶ",
        "時々",
        "日本*",
        "mix*",
        '"日本語text"',
        "今日 日本",
    ],
)
def test_a_word_inside_a_run_of_cjk_is_found(harness: StoreHarness, words: str):
    harness.commit(make_record(CJK, "1"))

    assert len(harness.search(words)) == 1


@pytest.mark.parametrize("words", ["日今", "家行", "本日", "text日本", "어국", "語 無"])
def test_cjk_characters_that_are_not_adjacent_are_not_found(
    harness: StoreHarness, words: str
):
    harness.commit(make_record(CJK, "1"))

    assert harness.search(words) == []


@pytest.mark.threat("W7")
@pytest.mark.parametrize(
    "words",
    [
        "secret-token",
        "a AND b",
        "NEAR(a b)",
        "content:x",
        "-x",
        '"',
        '"""',
        "'; DROP TABLE record; --",
        "(",
        ")",
        "*",
        "**",
        "^a",
        "a*b",
        "{a b}",
        "a + b",
        "\\",
        "\0",
        "a\0b",
        "%",
        "",
        " ",
        "\n",
        "²",
        "🎉",
        "a" * 10_000,
        "a " * 2000,
        "\u0301",
        "ⅷ*",
    ],
)
def test_a_query_with_special_characters_raises_no_error(
    harness: StoreHarness, words: str
):
    harness.commit(make_record("a b", "1"))

    for mode in get_args(SearchMode):
        harness.search(words, mode)


@pytest.mark.fault("A5")
@pytest.mark.threat("W7")
@pytest.mark.parametrize("words", ["a\ud800", "\udcff", '"x \udfff"', "\udcffb*"])
def test_a_query_with_surrogates_is_not_an_error(harness: StoreHarness, words: str):
    """Python decodes invalid UTF-8 in shell arguments to lone surrogates."""
    harness.commit(make_record("a b", "1"))

    harness.search(words)


@pytest.mark.threat("W7")
def test_two_thousand_random_queries_raise_no_error(harness: StoreHarness):
    harness.commit(make_record(CJK, "1"), make_record("AND or NOT near a* b", "2"))
    pieces = ["AND", "OR", "NOT", "NEAR(", '"', "*", "^", ":", "(", ")", "日本", "{"]
    query = st.lists(
        st.one_of(st.sampled_from(pieces), st.text(max_size=6)), max_size=8
    ).map(" ".join)

    with harness.reader() as reader:

        @settings(
            max_examples=2000,
            derandomize=True,
            deadline=None,
            database=None,
            suppress_health_check=list(HealthCheck),
        )
        @given(query, st.sampled_from(get_args(SearchMode)))
        def check(words, mode):
            query = parse_query(words, {})
            result = search_entries(
                reader, query, mode, 5, stop_cutoff_us=0, redact=lambda text: text
            )
            assert len(result.hits) <= 5

        check()


@pytest.mark.parametrize(
    "word",
    ["secret-token", "foo_bar", "a.b.c", "x:y", "user@host", "C++", "#42", "e.g."],
)
def test_a_word_with_punctuation_is_found_literally(harness: StoreHarness, word: str):
    harness.commit(make_record(f"the {word} here", "1"), make_record("nothing", "2"))

    assert search_snippets(harness, word) == [f"the {word} here"]


# Matches


@pytest.mark.fault("G7")
def test_only_the_current_version_is_found(harness: StoreHarness):
    harness.commit(make_record("old words", "1"))
    harness.commit(make_record("new words", "1"))

    assert search_snippets(harness, "old") == []
    assert search_snippets(harness, "words") == ["new words"]


@pytest.mark.fault("G7")
def test_a_version_that_is_current_again_is_found_again(harness: StoreHarness):
    for text in ("old words", "new words", "old words"):
        harness.commit(make_record(text, "1"))

    assert search_snippets(harness, "words") == ["old words"]


@pytest.mark.fault("G1")
def test_a_record_that_a_fork_shares_is_found_once(harness: StoreHarness):
    for name in ("first", "fork"):
        record = make_record("needle", "1", session=make_key(name))
        harness.commit(record, log=f"{name}.jsonl")

    assert [hit.key.session_id for hit in harness.search("needle")] == ["first"]


@pytest.mark.parametrize(
    "kind", ["user_message", "assistant_message", "thinking", "tool_result"]
)
def test_messages_and_results_are_found(harness: StoreHarness, kind: str):
    harness.commit(make_record("needle", "1", type=kind))

    assert [hit.type for hit in harness.search("needle")] == [kind]


def test_a_call_is_found_by_its_tool_and_its_arguments(harness: StoreHarness):
    tool_input = '{"command": "ls needle", "deep": [{"x": ["thread"]}]}'
    harness.commit(
        make_record("", "1", type="tool_use", tool_name="Bash", tool_input=tool_input)
    )

    assert all(harness.search(word) for word in ("bash", "needle", "thread"))
    assert harness.search("command") == []


def test_an_event_is_not_found(harness: StoreHarness):
    harness.commit(make_event("notice", "1", content="needle"))

    assert harness.search("needle") == []


def test_the_start_of_a_long_result_is_found(harness: StoreHarness):
    text = "needle " + "x " * 10_000 + "thread"
    harness.commit(make_record(text, "1", type="tool_result"))

    assert len(harness.search("needle")) == 1
    assert harness.search("thread") == []


def test_a_spilled_result_is_found_by_its_whole_text(harness: StoreHarness):
    harness.commit(make_record("part", "1", type="tool_result", spilled="all needle"))

    assert search_snippets(harness, "needle") == ["all needle"]


# Order


def test_the_newest_matches_come_first(harness: StoreHarness):
    times = [3, 1, 2]
    harness.commit(
        *[make_record(f"needle {n}", f"{n}", created_at=time_at(n)) for n in times]
    )

    assert [hit.at for hit in harness.search("needle")] == [
        time_at(3),
        time_at(2),
        time_at(1),
    ]


def test_the_best_matches_come_first_in_rank_mode(harness: StoreHarness):
    harness.commit(
        make_record("needle needle needle", "1", created_at=time_at(1)),
        make_record("needle " + "hay " * 200, "2", created_at=time_at(2)),
    )

    hits = harness.search("needle", "rank")

    assert [hit.at for hit in hits] == [time_at(1), time_at(2)]
    assert hits[0].score > hits[1].score


def test_the_number_of_matches_is_limited(harness: StoreHarness):
    harness.commit(*[make_record(f"needle {n}", f"{n}") for n in range(9)])

    with harness.reader() as reader:
        query = parse_query("needle", {})
        assert len(reader.search(query).list_newest(4)) == 4
        assert len(reader.search(query).list_best(4)) == 4


def test_a_hit_has_the_chat_id_of_its_unit(harness: StoreHarness):
    harness.commit(make_prompt("start", "1"), make_record("needle", "2"))
    (hit,) = harness.search("needle")

    prompt = harness.list_records()[0]
    assert hit.chat_id == make_chat_id(make_key(), prompt.entry_id)


def test_a_hit_before_the_first_prompt_has_no_chat_id(harness: StoreHarness):
    harness.commit(make_record("needle", "1"))

    assert harness.search("needle")[0].chat_id == ""


def test_a_hit_in_a_subagent_is_shown_by_the_id_of_the_subagent(harness: StoreHarness):
    key = make_key("s", "subagent:a17")
    harness.commit(make_record("needle", "1", session=key), log="a17")
    (hit,) = harness.search("needle")

    assert hit.show_id == "a17"
    assert hit.chat_id.startswith("chat-")


def test_a_result_has_the_tool_of_its_call(harness: StoreHarness):
    harness.commit(make_call("Bash", "c1"), make_result("needle", "c1"))

    assert [hit.tool_name for hit in harness.search("needle")] == ["Bash"]


# Operators


@pytest.mark.parametrize(
    ("words", "matches"),
    [
        ("apple OR pear", ["apple pie", "apple tree", "pear tree"]),
        ("apple AND tree", ["apple tree"]),
        ("tree NOT apple", ["pear tree"]),
        ("tree -apple", ["pear tree"]),
        ('-"apple tree" apple', ["apple pie"]),
        ("(pie OR pear) -tree", ["apple pie"]),
        ("pie OR pear tree", ["apple pie", "pear tree"]),
        ("-apple", ["pear tree"]),
        ("apple OR", ["apple pie", "apple tree"]),
        ("tr* -app*", ["pear tree"]),
        ("or", []),
    ],
)
def test_operators_combine_words(harness: StoreHarness, words: str, matches: list[str]):
    texts = ("apple pie", "apple tree", "pear tree")
    harness.commit(*[make_record(text, text) for text in texts])

    assert search_snippets(harness, words) == matches
    assert sorted(h.snippet for h in harness.search(words, "rank")) == matches


@pytest.mark.parametrize(
    ("words", "count"),
    [("ppl", 2), ("pple pi", 1), ("PPL -tree", 1), ("%", 0), ("_", 0), ("xx OR ie", 1)],
)
def test_substring_mode_finds_parts_of_words(
    harness: StoreHarness, words: str, count: int
):
    harness.commit(*[make_record(text, text) for text in ("apple pie", "apple tree")])

    assert len(harness.search(words, "substring")) == count


def test_substring_mode_finds_a_quote_in_arguments(harness: StoreHarness):
    call = make_call("Bash", "c1", tool_input='{"command":"say \\"hi\\""}')
    harness.commit(call)

    with harness.reader() as reader:
        query = Query(words=AllOf((Term('y "h'),)))
        assert len(reader.search(query, is_substring=True).list_newest(5)) == 1


# Filters


@pytest.fixture
def two_projects(harness: StoreHarness) -> StoreHarness:
    """Commit two sessions in two projects, with a subagent, calls and an error."""
    app = make_key("aaaa-1")
    subagent = make_key("aaaa-1", "subagent:b1")
    lib = make_key("bbbb-2")
    context = {"kind": "context"}
    harness.commit(
        make_event("context", "x1", session=app, metadata=context | {"cwd": "/w/app"}),
        make_prompt("needle prompt", "a1", session=app, created_at=time_at(1)),
        make_call("Bash", "c1", session=app, created_at=time_at(2), model="opus-5"),
        make_result("needle out", "c1", session=app, created_at=time_at(3)),
        log="app",
    )
    harness.commit(
        make_record("needle below", "b1", session=subagent, created_at=time_at(4)),
        log="below",
    )
    harness.commit(
        make_event("context", "x2", session=lib, metadata=context | {"cwd": "/w/lib"}),
        make_call("Read", "c2", session=lib, created_at=time_at(5)),
        make_result(
            "needle bad",
            "c2",
            session=lib,
            created_at=time_at(6),
            metadata={"is_error": 1},
        ),
        log="lib",
    )
    return harness


@pytest.mark.parametrize(
    ("words", "matches"),
    [
        ("needle project:app", ["below", "out", "prompt"]),
        ("needle project:/w/lib", ["bad"]),
        ("needle project:/w", ["bad", "below", "out", "prompt"]),
        ("needle -project:app", ["bad"]),
        ("needle project:app project:lib", ["bad", "below", "out", "prompt"]),
        ("needle project:a%p", []),
        ("needle tool:bash", ["out"]),
        ("needle tool:B*", ["out"]),
        ("needle tool:bash tool:read", ["bad", "out"]),
        ("needle -tool:bash", ["bad", "below", "prompt"]),
        ("needle tool:nope", []),
        ("needle role:user", ["prompt"]),
        ("needle is:error", ["bad"]),
        ("needle -is:error role:tool", ["out"]),
        ("needle is:subagent", ["below"]),
        ("needle -is:subagent project:app", ["out", "prompt"]),
        ("needle session:bbbb", ["bad"]),
        (f"needle agent:{AGENT}", ["bad", "below", "out", "prompt"]),
        ("needle agent:codex", []),
        ("needle status:stopped", ["bad", "below", "out", "prompt"]),
        ("needle status:active", []),
        ("is:error", ["bad"]),
        ("project:lib role:tool", ["bad"]),
    ],
)
def test_a_filter_narrows_the_search(
    two_projects: StoreHarness, words: str, matches: list[str]
):
    # So late that every session counts as stopped.
    stop_cutoff_us = 2**60
    for mode in ("newest", "rank"):
        hits = two_projects.search(words, mode, stop_cutoff_us)

        assert sorted(hit.snippet.split()[-1] for hit in hits) == matches


def test_a_session_with_recent_entries_is_active(two_projects: StoreHarness):
    assert len(two_projects.search("needle status:active", stop_cutoff_us=0)) == 4


def test_after_is_inclusive_and_before_is_exclusive(two_projects: StoreHarness):
    third, fourth = (to_us(time_at(n)) for n in (3, 4))

    hits = two_projects.search(f"needle after:{third} before:{fourth}")

    assert [hit.at for hit in hits] == [time_at(3)]


def test_a_filter_works_without_words(two_projects: StoreHarness):
    assert [hit.tool_name for hit in two_projects.search("model:opus")] == ["Bash"]


@pytest.mark.parametrize("query_filter", ["tool:Bash", "project:app", "role:user"])
def test_filtered_matches_are_ranked_regardless_of_other_matches(
    two_projects: StoreHarness, query_filter: str, monkeypatch
):
    monkeypatch.setattr("leslied.store.read.search.MAX_RANKED", 3)
    monkeypatch.setattr("leslied.store.read.search._MAX_PRESELECTED", 0)
    two_projects.commit(*[make_record(f"needle {n}", f"{n}") for n in range(9)])

    ranked_hits = two_projects.search(f"needle {query_filter}", "rank")

    all_hits = two_projects.search(f"needle {query_filter}")
    assert all_hits
    assert {hit.entry_id for hit in ranked_hits} == {hit.entry_id for hit in all_hits}


@pytest.mark.parametrize(
    "query_filter", ["tool:Bash", "tool:Read", "tool:B*", "project:lib"]
)
def test_few_and_many_candidates_give_the_same_matches(
    two_projects: StoreHarness, query_filter: str, monkeypatch
):
    # A tool result whose call is missing: no tool filter may match it.
    lost_result = make_result("needle lost", "gone", session=make_key("aaaa-1"))
    two_projects.commit(structs.replace(lost_result, tool_name="Bash"), log="app2")
    hits_with_few_candidates = two_projects.search(f"needle {query_filter}")
    monkeypatch.setattr("leslied.store.read.search._MAX_PRESELECTED", 0)

    assert two_projects.search(f"needle {query_filter}") == hits_with_few_candidates


def test_substring_mode_matches_a_star_literally(harness: StoreHarness):
    harness.commit(make_record("int* x", "1"), make_record("int x", "2"))

    assert len(harness.search("int*", "substring")) == 1


def test_only_the_newest_of_too_many_matches_are_ranked(
    harness: StoreHarness, monkeypatch
):
    monkeypatch.setattr("leslied.store.read.search.MAX_RANKED", 3)
    harness.commit(*[make_record(f"needle {n}", f"{n}") for n in range(5)])

    with harness.reader() as reader:
        search = reader.search(parse_query("needle", {}))
        matches = search.list_best(10)

    assert search.is_truncated
    assert sorted(match.text for match in matches) == [
        f"needle {n}" for n in (1, 2, 3, 4)
    ]


# Output of commands and injected messages


@pytest.mark.parametrize("mode", get_args(SearchMode))
def test_the_output_of_a_program_is_found(harness: StoreHarness, mode: SearchMode):
    output = make_event("notice", "a", content="needle", tool_name=SHELL)
    harness.commit(output, make_event("notice", "b", content="needle"))

    (hit,) = harness.search("needle", mode)

    assert (hit.type, hit.tool_name) == ("system_event", SHELL)


# Cost


def test_a_search_for_a_rare_word_does_not_visit_every_record(harness: StoreHarness):
    def search() -> None:
        search_entries(
            reader,
            parse_query("rare", {}),
            "newest",
            20,
            stop_cutoff_us=0,
            redact=lambda text: text,
        )

    harness.commit(make_record("a rare word", "rare"))
    harness.commit(*(make_record("often", f"{number}") for number in range(5)))
    with StoreReader(harness.path) as reader:
        few = count_steps(reader._db, search)
    harness.commit(*(make_record("often", f"{number}") for number in range(5, 300)))

    with StoreReader(harness.path) as reader:
        # Less than one step for each record that does not match.
        assert count_steps(reader._db, search) < few + 295
