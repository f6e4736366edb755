"""Finding words, whatever is asked."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from leslied.model.record import name_chat
from leslied.store.search import cut_snippet
from tests.support.clock import FakeClock
from tests.support.records import (
    AGENT,
    Shelf,
    at,
    make_event,
    make_key,
    make_prompt,
    make_record,
)

CJK = "今日は𠮷野家へ行く。佐々木さんと mixed日本語text 한국어텍스트 ｶﾀｶﾅ 時々"


@pytest.fixture
def shelf(tmp_path: Path, clock: FakeClock) -> Iterator[Shelf]:
    with Shelf(tmp_path / "data" / "store.db", clock) as shelf:
        yield shelf


def found(shelf: Shelf, words: str) -> list[str]:
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
    shelf: Shelf, words: str, names: list[str]
):
    texts = ("apple pie", "apple tree", "un café")
    shelf.keep(*[make_record(text, text) for text in texts])

    assert found(shelf, words) == names


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
def test_a_word_inside_a_run_of_cjk_is_found(shelf: Shelf, words: str):
    shelf.keep(make_record(CJK, "1"))

    assert len(shelf.search(words)) == 1


@pytest.mark.parametrize("words", ["日今", "家行", "本日", "text日本", "어국", "語 無"])
def test_characters_that_do_not_stand_together_are_not_found(shelf: Shelf, words: str):
    shelf.keep(make_record(CJK, "1"))

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
def test_no_question_is_an_error(shelf: Shelf, words: str):
    """W7."""
    shelf.keep(make_record("a b", "1"))

    shelf.search(words)
    shelf.search(words, by_rank=True)


@pytest.mark.parametrize("words", ["a\ud800", "\udcff", '"x \udfff"', "\udcffb*"])
def test_a_question_in_damaged_text_is_no_error(shelf: Shelf, words: str):
    """A5, W7: what a shell gives for an argument that is no text."""
    shelf.keep(make_record("a b", "1"))

    shelf.search(words)


def test_two_thousand_random_questions_are_no_errors(shelf: Shelf):
    """W7."""
    shelf.keep(make_record(CJK, "1"), make_record("AND or NOT near a* b", "2"))
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
        @given(query, st.booleans())
        def ask(words, by_rank):
            assert len(reader.search(words, 5, by_rank=by_rank)) <= 5

        ask()


@pytest.mark.parametrize(
    "word",
    ["secret-token", "foo_bar", "a.b.c", "x:y", "user@host", "C++", "#42", "e.g."],
)
def test_a_word_with_marks_is_found_as_it_is(shelf: Shelf, word: str):
    shelf.keep(make_record(f"the {word} here", "1"), make_record("nothing", "2"))

    assert found(shelf, word) == [f"the {word} here"]


# What is found


def test_only_the_current_version_is_found(shelf: Shelf):
    """G7."""
    shelf.keep(make_record("old words", "1"))
    shelf.keep(make_record("new words", "1"))

    assert found(shelf, "old") == []
    assert found(shelf, "words") == ["new words"]


def test_a_version_that_is_current_again_is_found_again(shelf: Shelf):
    """G7."""
    for text in ("old words", "new words", "old words"):
        shelf.keep(make_record(text, "1"))

    assert found(shelf, "words") == ["old words"]


def test_a_record_that_a_fork_shows_too_is_found_once(shelf: Shelf):
    """G1."""
    for name in ("first", "fork"):
        record = make_record("needle", "1", session=make_key(name))
        shelf.keep(record, log=f"{name}.jsonl")

    assert [hit.session_id for hit in shelf.search("needle")] == ["first"]


@pytest.mark.parametrize(
    "kind", ["user_message", "assistant_message", "thinking", "tool_result"]
)
def test_what_was_said_is_found(shelf: Shelf, kind: str):
    shelf.keep(make_record("needle", "1", type=kind))

    assert [hit.type for hit in shelf.search("needle")] == [kind]


def test_a_call_is_found_by_its_tool_and_its_arguments(shelf: Shelf):
    given_ = '{"command": "ls needle", "deep": [{"x": ["thread"]}]}'
    shelf.keep(
        make_record("", "1", type="tool_use", tool_name="Bash", tool_input=given_)
    )

    assert all(shelf.search(word) for word in ("bash", "needle", "thread"))
    assert shelf.search("command") == []


def test_an_event_is_not_found(shelf: Shelf):
    shelf.keep(make_event("notice", "1", content="needle"))

    assert shelf.search("needle") == []


def test_the_start_of_a_long_result_is_found(shelf: Shelf):
    text = "needle " + "x " * 10_000 + "thread"
    shelf.keep(make_record(text, "1", type="tool_result"))

    assert len(shelf.search("needle")) == 1
    assert shelf.search("thread") == []


def test_a_spilled_result_is_found_by_its_whole_text(shelf: Shelf):
    shelf.keep(make_record("part", "1", type="tool_result", spilled="all needle"))

    assert found(shelf, "needle") == ["all needle"]


# Order


def test_the_newest_come_first(shelf: Shelf):
    times = [3, 1, 2]
    shelf.keep(*[make_record(f"needle {n}", f"{n}", created_at=at(n)) for n in times])

    assert [hit.at for hit in shelf.search("needle")] == [at(3), at(2), at(1)]


def test_the_best_come_first_when_asked(shelf: Shelf):
    shelf.keep(
        make_record("needle needle needle", "1", created_at=at(1)),
        make_record("needle " + "hay " * 200, "2", created_at=at(2)),
    )

    hits = shelf.search("needle", by_rank=True)

    assert [hit.at for hit in hits] == [at(1), at(2)]
    assert hits[0].score > hits[1].score


def test_no_more_than_asked_for_are_told(shelf: Shelf):
    shelf.keep(*[make_record(f"needle {n}", f"{n}") for n in range(9)])

    with shelf.reader() as reader:
        assert len(reader.search("needle", 4)) == 4


def test_a_hit_names_its_unit(shelf: Shelf):
    shelf.keep(make_prompt("start", "1"), make_record("needle", "2"))
    (hit,) = shelf.search("needle")

    prompt = shelf.told()[0]
    assert hit.chat_id == name_chat(AGENT, "s", prompt.entry_id)


def test_a_hit_before_any_prompt_has_no_unit(shelf: Shelf):
    shelf.keep(make_record("needle", "1"))

    assert shelf.search("needle")[0].chat_id == ""


# Snippets


def test_a_snippet_is_one_line_around_the_word():
    text = "a\n" * 100 + "the needle\n\tis here" + " b" * 200

    snippet = cut_snippet(text, ["needle"])

    assert "the needle is here" in snippet
    assert "\n" not in snippet
    assert (snippet[0], snippet[-1]) == ("…", "…")


def test_a_short_text_is_its_own_snippet():
    assert cut_snippet("needle", ["needle"]) == "needle"


@pytest.mark.parametrize("terms", [["NEEDLE*"], ["nothing", "needle"], ["Needle"]])
def test_a_snippet_shows_the_first_word_it_can(terms: list[str]):
    assert "needle" in cut_snippet("x " * 300 + "needle", terms)


def test_letters_that_grow_when_folded_do_not_move_the_snippet():
    """`İ` becomes two characters in lower case."""
    assert "needle" in cut_snippet("İ" * 400 + " needle", ["needle"])


def test_a_word_found_without_its_accents_is_in_the_snippet(shelf: Shelf):
    shelf.keep(make_record("x " * 300 + "café", "1"))

    assert "café" in shelf.search("cafe")[0].snippet


def test_a_word_found_in_a_long_cjk_text_is_in_the_snippet(shelf: Shelf):
    shelf.keep(make_record("無" * 500 + "日本語", "1"))

    assert "日本" in shelf.search("日本")[0].snippet


def test_a_korean_word_is_not_mistaken_for_another_in_the_snippet(shelf: Shelf):
    """Taken apart, both begin with the same letters."""
    shelf.keep(make_record("하고 " + "x " * 300 + "한국", "1"))

    assert "한국" in shelf.search("한국")[0].snippet
