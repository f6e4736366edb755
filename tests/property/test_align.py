"""Comparing has no sides, and finds nothing where nothing differs."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import replace
from itertools import pairwise
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from leslied.model.difference import EntryDifference, FieldDifference, UnitDifference
from leslied.model.record import Record
from leslied.model.session import Unit
from leslied.sessions.align import align_units
from leslied.sessions.sequence_alignment import align_sequences
from leslied.sessions.text_diff import diff_texts
from tests.support.records import make_prompt, make_record
from tests.support.units import (
    make_call,
    make_child,
    make_placed,
    make_result,
    make_unit,
)

EXAMPLES = int(os.environ.get("LESLIED_EXAMPLES", "200"))
MIRRORED = {"only_a": "only_b", "only_b": "only_a"}
FLIPPED = {" ": " ", "-": "+", "+": "-"}

words = st.lists(st.sampled_from(["go", "fix", "it", "now", "x"]), max_size=4).map(
    " ".join
)


def _answer(drawn: tuple[str, str]) -> list[Record]:
    return [make_record(drawn[0] or "-", model=drawn[1])]


def _run(drawn: tuple[str, str, str, bool]) -> list[Record]:
    tool, given_, output, is_answered = drawn
    call = make_call(tool, f'{{"c": "{given_}"}}', f"{tool}{given_}{output}")
    return [call, make_result(call.tool_call_id, output)] if is_answered else [call]


steps = st.one_of(
    st.tuples(words, st.sampled_from(["large", "small"])).map(_answer),
    st.tuples(st.sampled_from(["Bash", "Read"]), words, words, st.booleans()).map(_run),
)
bodies = st.lists(steps, max_size=4).map(lambda found: [r for s in found for r in s])
children = st.tuples(words, bodies).map(
    lambda drawn: make_child(make_prompt(drawn[0] or "look"), *drawn[1])
)


@st.composite
def units(draw: st.DrawFn) -> Unit:
    """One of few prompts, some of them the very same entry, as in a fork."""
    shared = draw(st.sampled_from(["", "", "shared-1", "shared-2"]))
    prompt = make_prompt(draw(words) or "go")
    subagents = tuple(draw(st.lists(children, max_size=2)))
    return make_unit(make_placed(prompt, shared), *draw(bodies), subagents=subagents)


sessions = st.lists(units(), max_size=5)


def mirror(found: Any) -> Any:
    """The same difference as the other side sees it."""
    changed = {"a": found.b, "b": found.a}
    if isinstance(found, FieldDifference):
        return replace(found, **changed)
    changed["status"] = MIRRORED.get(found.status, found.status)
    changed["fields"] = tuple(map(mirror, found.fields))
    if isinstance(found, UnitDifference):
        changed["entries"] = tuple(map(mirror, found.entries))
        changed["subagents"] = tuple(map(mirror, found.subagents))
    return replace(found, **changed)


def sorted_differences(found: Iterable[UnitDifference]) -> list[Any]:
    """All that was found, in an order that has no sides."""
    return sorted(
        (
            *_status_and_ids(each, "chat_id"),
            sorted((f.field, f.a, f.b) for f in each.fields),
            sorted(_status_and_ids(entry, "entry_id") for entry in each.entries),
            sorted_differences(each.subagents),
        )
        for each in found
    )


def _status_and_ids(
    each: UnitDifference | EntryDifference, id_: str
) -> tuple[str, str, str]:
    return each.status, getattr(each.a, id_, ""), getattr(each.b, id_, "")


@settings(max_examples=EXAMPLES, deadline=None)
@given(sessions)
def test_a_session_does_not_differ_from_itself(found: list[Unit]):
    compared = align_units(found, found)

    assert {each.status for each in compared} <= {"same"}
    assert len(compared) == len(found)


@settings(max_examples=EXAMPLES, deadline=None)
@given(sessions, sessions)
def test_what_differs_one_way_differs_the_other_way(a: list[Unit], b: list[Unit]):
    assert sorted_differences(align_units(a, b)) == sorted_differences(
        map(mirror, align_units(b, a))
    )


@settings(max_examples=EXAMPLES, deadline=None)
@given(sessions, sessions)
def test_every_unit_and_every_entry_is_told_once(a: list[Unit], b: list[Unit]):
    compared = align_units(a, b)

    assert [each.a for each in compared if each.a] == a
    assert [each.b for each in compared if each.b] == b
    for each in compared:
        if each.a and each.b:
            ours = [e.a for e in each.entries if e.a]
            assert sorted(p.entry_id for p in ours) == sorted(
                p.entry_id for p in each.a.entries
            )


lines = st.lists(st.sampled_from(["a", "b", "a b c", "a b d", ""]), max_size=12)


@settings(max_examples=EXAMPLES, deadline=None)
@given(lines, lines)
def test_both_texts_can_be_read_from_their_difference(a: list[str], b: list[str]):
    compared = diff_texts("\n".join(a), "\n".join(b)).lines

    ours = [line.text for line in compared if line.sign != "+"]
    theirs = [line.text for line in compared if line.sign != "-"]
    assert (ours, theirs) == (a or [""], b or [""])


@settings(max_examples=EXAMPLES, deadline=None)
@given(lines, lines)
def test_texts_differ_the_same_both_ways(a: list[str], b: list[str]):
    there = diff_texts("\n".join(a), "\n".join(b)).lines
    back = diff_texts("\n".join(b), "\n".join(a)).lines

    assert sorted((x.sign, x.text, x.marks) for x in there) == sorted(
        (FLIPPED[x.sign], x.text, x.marks) for x in back
    )


@settings(max_examples=EXAMPLES, deadline=None)
@given(st.text("abc", max_size=40), st.text("abc", max_size=40))
def test_pairs_rise_on_both_sides_and_are_equal(a: str, b: str):
    pairs = align_sequences(a, b)

    assert all(a[i] == b[j] for i, j in pairs)
    assert all(x[0] < y[0] and x[1] < y[1] for x, y in pairwise(pairs))
