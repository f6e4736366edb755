"""Finding words, whatever is asked."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import get_args

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec import structs

from leslied.lookup import SearchMode, parse_query, search_entries
from leslied.model.query import AllOf, Query, Term
from leslied.model.record import make_chat_id
from leslied.store.columns import to_us
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

CJK = "今日は𠮷野家へ行く。佐々木さんと mixed日本語text 한국어텍스트 ｶﾀｶﾅ 時々"


@pytest.fixture
def shelf(tmp_path: Path, clock: FakeClock) -> Iterator[StoreHarness]:
    with StoreHarness(tmp_path / "data" / "store.db", clock) as shelf:
        yield shelf


def search_snippets(shelf: StoreHarness, words: str) -> list[str]:
    return sorted(hit.snippet for hit in shelf.search(words))


# Words


@pytest.mark.parametrize(
    ("words", "names"),
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
def test_all_the_words_are_found_in_any_order(
    shelf: StoreHarness, words: str, names: list[str]
):
    texts = ("apple pie", "apple tree", "un café")
    shelf.commit(*[make_record(text, text) for text in texts])

    assert search_snippets(shelf, words) == names


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
def test_a_word_inside_a_run_of_cjk_is_found(shelf: StoreHarness, words: str):
    shelf.commit(make_record(CJK, "1"))

    assert len(shelf.search(words)) == 1


@pytest.mark.parametrize("words", ["日今", "家行", "本日", "text日本", "어국", "語 無"])
def test_characters_that_do_not_stand_together_are_not_found(
    shelf: StoreHarness, words: str
):
    shelf.commit(make_record(CJK, "1"))

    assert shelf.search(words) == []


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
def test_no_question_is_an_error(shelf: StoreHarness, words: str):
    """W7."""
    shelf.commit(make_record("a b", "1"))

    for manner in get_args(SearchMode):
        shelf.search(words, manner)


@pytest.mark.parametrize("words", ["a\ud800", "\udcff", '"x \udfff"', "\udcffb*"])
def test_a_question_in_damaged_text_is_no_error(shelf: StoreHarness, words: str):
    """A5, W7: what a shell gives for an argument that is no text."""
    shelf.commit(make_record("a b", "1"))

    shelf.search(words)


def test_two_thousand_random_questions_are_no_errors(shelf: StoreHarness):
    """W7."""
    shelf.commit(make_record(CJK, "1"), make_record("AND or NOT near a* b", "2"))
    pieces = ["AND", "OR", "NOT", "NEAR(", '"', "*", "^", ":", "(", ")", "日本", "{"]
    query = st.lists(
        st.one_of(st.sampled_from(pieces), st.text(max_size=6)), max_size=8
    ).map(" ".join)

    with shelf.reader() as reader:

        @settings(
            max_examples=2000,
            derandomize=True,
            deadline=None,
            database=None,
            suppress_health_check=list(HealthCheck),
        )
        @given(query, st.sampled_from(get_args(SearchMode)))
        def ask(words, manner):
            query = parse_query(words, {})
            answer = search_entries(reader, query, manner, 5, quiet_us=0, redact=str)
            assert len(answer.hits) <= 5

        ask()


@pytest.mark.parametrize(
    "word",
    ["secret-token", "foo_bar", "a.b.c", "x:y", "user@host", "C++", "#42", "e.g."],
)
def test_a_word_with_marks_is_found_as_it_is(shelf: StoreHarness, word: str):
    shelf.commit(make_record(f"the {word} here", "1"), make_record("nothing", "2"))

    assert search_snippets(shelf, word) == [f"the {word} here"]


# What is found


def test_only_the_current_version_is_found(shelf: StoreHarness):
    """G7."""
    shelf.commit(make_record("old words", "1"))
    shelf.commit(make_record("new words", "1"))

    assert search_snippets(shelf, "old") == []
    assert search_snippets(shelf, "words") == ["new words"]


def test_a_version_that_is_current_again_is_found_again(shelf: StoreHarness):
    """G7."""
    for text in ("old words", "new words", "old words"):
        shelf.commit(make_record(text, "1"))

    assert search_snippets(shelf, "words") == ["old words"]


def test_a_record_that_a_fork_shows_too_is_found_once(shelf: StoreHarness):
    """G1."""
    for name in ("first", "fork"):
        record = make_record("needle", "1", session=make_key(name))
        shelf.commit(record, log=f"{name}.jsonl")

    assert [hit.key.session_id for hit in shelf.search("needle")] == ["first"]


@pytest.mark.parametrize(
    "kind", ["user_message", "assistant_message", "thinking", "tool_result"]
)
def test_what_was_said_is_found(shelf: StoreHarness, kind: str):
    shelf.commit(make_record("needle", "1", type=kind))

    assert [hit.type for hit in shelf.search("needle")] == [kind]


def test_a_call_is_found_by_its_tool_and_its_arguments(shelf: StoreHarness):
    given_ = '{"command": "ls needle", "deep": [{"x": ["thread"]}]}'
    shelf.commit(
        make_record("", "1", type="tool_use", tool_name="Bash", tool_input=given_)
    )

    assert all(shelf.search(word) for word in ("bash", "needle", "thread"))
    assert shelf.search("command") == []


def test_an_event_is_not_found(shelf: StoreHarness):
    shelf.commit(make_event("notice", "1", content="needle"))

    assert shelf.search("needle") == []


def test_the_start_of_a_long_result_is_found(shelf: StoreHarness):
    text = "needle " + "x " * 10_000 + "thread"
    shelf.commit(make_record(text, "1", type="tool_result"))

    assert len(shelf.search("needle")) == 1
    assert shelf.search("thread") == []


def test_a_spilled_result_is_found_by_its_whole_text(shelf: StoreHarness):
    shelf.commit(make_record("part", "1", type="tool_result", spilled="all needle"))

    assert search_snippets(shelf, "needle") == ["all needle"]


# Order


def test_the_newest_come_first(shelf: StoreHarness):
    times = [3, 1, 2]
    shelf.commit(
        *[make_record(f"needle {n}", f"{n}", created_at=time_at(n)) for n in times]
    )

    assert [hit.at for hit in shelf.search("needle")] == [
        time_at(3),
        time_at(2),
        time_at(1),
    ]


def test_the_best_come_first_when_asked(shelf: StoreHarness):
    shelf.commit(
        make_record("needle needle needle", "1", created_at=time_at(1)),
        make_record("needle " + "hay " * 200, "2", created_at=time_at(2)),
    )

    hits = shelf.search("needle", "rank")

    assert [hit.at for hit in hits] == [time_at(1), time_at(2)]
    assert hits[0].score > hits[1].score


def test_no_more_than_asked_for_are_told(shelf: StoreHarness):
    shelf.commit(*[make_record(f"needle {n}", f"{n}") for n in range(9)])

    with shelf.reader() as reader:
        query = parse_query("needle", {})
        assert len(reader.search(query).list_newest(4)) == 4
        assert len(reader.search(query).list_best(4)) == 4


def test_a_hit_names_its_unit(shelf: StoreHarness):
    shelf.commit(make_prompt("start", "1"), make_record("needle", "2"))
    (hit,) = shelf.search("needle")

    prompt = shelf.list_records()[0]
    assert hit.chat_id == make_chat_id(AGENT, "s", prompt.entry_id)


def test_a_hit_before_any_prompt_has_no_unit(shelf: StoreHarness):
    shelf.commit(make_record("needle", "1"))

    assert shelf.search("needle")[0].chat_id == ""


def test_a_hit_of_a_subagent_is_opened_by_its_id(shelf: StoreHarness):
    key = make_key("s", "subagent:a17")
    shelf.commit(make_record("needle", "1", session=key), log="a17")
    (hit,) = shelf.search("needle")

    assert hit.show_id == "a17"
    assert hit.chat_id.startswith("chat-")


def test_a_result_is_told_with_the_tool_that_was_called(shelf: StoreHarness):
    shelf.commit(make_call("Bash", "c1"), make_result("needle", "c1"))

    assert [hit.tool_name for hit in shelf.search("needle")] == ["Bash"]


# Operators


@pytest.mark.parametrize(
    ("words", "names"),
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
def test_operators_join_the_words(shelf: StoreHarness, words: str, names: list[str]):
    texts = ("apple pie", "apple tree", "pear tree")
    shelf.commit(*[make_record(text, text) for text in texts])

    assert search_snippets(shelf, words) == names
    assert sorted(h.snippet for h in shelf.search(words, "rank")) == names


@pytest.mark.parametrize(
    ("words", "count"),
    [("ppl", 2), ("pple pi", 1), ("PPL -tree", 1), ("%", 0), ("_", 0), ("xx OR ie", 1)],
)
def test_a_substring_is_found_inside_words(shelf: StoreHarness, words: str, count: int):
    shelf.commit(*[make_record(text, text) for text in ("apple pie", "apple tree")])

    assert len(shelf.search(words, "substring")) == count


def test_a_substring_with_a_quote_is_found_in_arguments(shelf: StoreHarness):
    call = make_call("Bash", "c1", tool_input='{"command":"say \\"hi\\""}')
    shelf.commit(call)

    with shelf.reader() as reader:
        query = Query(words=AllOf((Term('y "h'),)))
        assert len(reader.search(query, is_substring=True).list_newest(5)) == 1


# Filters


@pytest.fixture
def house(shelf: StoreHarness) -> StoreHarness:
    """Two sessions in two projects, a subagent, calls and an error."""
    app = make_key("aaaa-1")
    below = make_key("aaaa-1", "subagent:b1")
    lib = make_key("bbbb-2")
    context = {"kind": "context"}
    shelf.commit(
        make_event("context", "x1", session=app, metadata=context | {"cwd": "/w/app"}),
        make_prompt("needle prompt", "a1", session=app, created_at=time_at(1)),
        make_call("Bash", "c1", session=app, created_at=time_at(2), model="opus-5"),
        make_result("needle out", "c1", session=app, created_at=time_at(3)),
        log="app",
    )
    shelf.commit(
        make_record("needle below", "b1", session=below, created_at=time_at(4)),
        log="below",
    )
    shelf.commit(
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
    return shelf


@pytest.mark.parametrize(
    ("words", "names"),
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
        ("needle agent:toy", ["bad", "below", "out", "prompt"]),
        ("needle agent:codex", []),
        ("needle status:stopped", ["bad", "below", "out", "prompt"]),
        ("needle status:active", []),
        ("is:error", ["bad"]),
        ("project:lib role:tool", ["bad"]),
    ],
)
def test_a_filter_narrows_the_search(house: StoreHarness, words: str, names: list[str]):
    quiet = 2**60
    for manner in ("newest", "rank"):
        hits = house.search(words.replace("toy", AGENT), manner, quiet)

        assert sorted(hit.snippet.split()[-1] for hit in hits) == names


def test_a_session_that_spoke_lately_is_active(house: StoreHarness):
    assert len(house.search("needle status:active", quiet_us=0)) == 4


def test_after_counts_its_moment_and_before_does_not(house: StoreHarness):
    third, fourth = (to_us(time_at(n)) for n in (3, 4))

    hits = house.search(f"needle after:{third} before:{fourth}")

    assert [hit.at for hit in hits] == [time_at(3)]


def test_calls_of_a_model_are_found_without_words(house: StoreHarness):
    assert [hit.tool_name for hit in house.search("model:opus")] == ["Bash"]


@pytest.mark.parametrize("words", ["tool:Bash", "project:app", "role:user"])
def test_what_a_filter_leaves_is_weighed_however_many_others_there_are(
    house: StoreHarness, words: str, monkeypatch
):
    monkeypatch.setattr("leslied.store.search.MAX_RANKED", 3)
    monkeypatch.setattr("leslied.store.search._FEW", 0)
    house.commit(*[make_record(f"needle {n}", f"{n}") for n in range(9)])

    best = house.search(f"needle {words}", "rank")

    newest = house.search(f"needle {words}")
    assert {hit.entry_id for hit in best} == {hit.entry_id for hit in newest} != set()


@pytest.mark.parametrize("words", ["tool:Bash", "tool:Read", "tool:B*", "project:lib"])
def test_few_or_many_are_found_alike(house: StoreHarness, words: str, monkeypatch):
    """A result without its call is no call of the tool, however it is looked for."""
    lost = make_result("needle lost", "gone", session=make_key("aaaa-1"))
    house.commit(structs.replace(lost, tool_name="Bash"), log="app2")
    few = house.search(f"needle {words}")
    monkeypatch.setattr("leslied.store.search._FEW", 0)

    assert house.search(f"needle {words}") == few


def test_a_star_is_a_character_where_characters_are_sought(shelf: StoreHarness):
    shelf.commit(make_record("int* x", "1"), make_record("int x", "2"))

    assert len(shelf.search("int*", "substring")) == 1


def test_too_many_hits_are_not_all_weighed(shelf: StoreHarness, monkeypatch):
    monkeypatch.setattr("leslied.store.search.MAX_RANKED", 3)
    shelf.commit(*[make_record(f"needle {n}", f"{n}") for n in range(5)])

    with shelf.reader() as reader:
        question = reader.search(parse_query("needle", {}))
        found, is_cut = question.list_best(10), question.is_truncated

    assert is_cut
    assert sorted(match.text for match in found) == [
        f"needle {n}" for n in (1, 2, 3, 4)
    ]
