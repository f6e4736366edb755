"""Comparing sessions is symmetric, and equal sessions have no differences."""

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
from leslied.rendering.text_diff import diff_texts
from leslied.sessions.align import align_units
from leslied.sessions.sequence_alignment import align_sequences
from tests.support.records import make_prompt, make_record
from tests.support.units import (
    make_call,
    make_child,
    make_placed,
    make_result,
    make_unit,
)

EXAMPLES = int(os.environ.get("LESLIED_EXAMPLES", "200"))
MIRRORED_STATUSES = {"only_a": "only_b", "only_b": "only_a"}
FLIPPED_SIGNS = {" ": " ", "-": "+", "+": "-"}

words = st.lists(st.sampled_from(["go", "fix", "it", "now", "x"]), max_size=4).map(
    " ".join
)


def _make_answer_records(drawn: tuple[str, str]) -> list[Record]:
    return [make_record(drawn[0] or "-", model=drawn[1])]


def _make_call_records(drawn: tuple[str, str, str, bool]) -> list[Record]:
    tool, text, output, is_answered = drawn
    call = make_call(tool, f'{{"c": "{text}"}}', f"{tool}{text}{output}")
    return [call, make_result(call.tool_call_id, output)] if is_answered else [call]


steps = st.one_of(
    st.tuples(words, st.sampled_from(["large", "small"])).map(_make_answer_records),
    st.tuples(st.sampled_from(["Bash", "Read"]), words, words, st.booleans()).map(
        _make_call_records
    ),
)
bodies = st.lists(steps, max_size=4).map(
    lambda parts: [r for part in parts for r in part]
)
children = st.tuples(words, bodies).map(
    lambda drawn: make_child(make_prompt(drawn[0] or "look"), *drawn[1])
)


@st.composite
def units(draw: st.DrawFn) -> Unit:
    """Draw a unit; the prompts of some have the same entry id, as in a fork."""
    entry_id = draw(st.sampled_from(["", "", "shared-1", "shared-2"]))
    prompt = make_prompt(draw(words) or "go")
    subagents = tuple(draw(st.lists(children, max_size=2)))
    return make_unit(make_placed(prompt, entry_id), *draw(bodies), subagents=subagents)


sessions = st.lists(units(), max_size=5)


def mirror(difference: Any) -> Any:
    """Return the difference with sides a and b exchanged."""
    changes = {"a": difference.b, "b": difference.a}
    if isinstance(difference, FieldDifference):
        return replace(difference, **changes)
    changes["status"] = MIRRORED_STATUSES.get(difference.status, difference.status)
    changes["fields"] = tuple(map(mirror, difference.fields))
    if isinstance(difference, UnitDifference):
        changes["entries"] = tuple(map(mirror, difference.entries))
        changes["subagents"] = tuple(map(mirror, difference.subagents))
    return replace(difference, **changes)


def sort_differences(differences: Iterable[UnitDifference]) -> list[Any]:
    """Return all differences in an order that does not depend on the sides."""
    return sorted(
        (
            *_get_status_and_ids(difference, "chat_id"),
            sorted((f.field, f.a, f.b) for f in difference.fields),
            sorted(
                _get_status_and_ids(entry, "entry_id") for entry in difference.entries
            ),
            sort_differences(difference.subagents),
        )
        for difference in differences
    )


def _get_status_and_ids(
    difference: UnitDifference | EntryDifference, id_: str
) -> tuple[str, str, str]:
    return (
        difference.status,
        getattr(difference.a, id_, ""),
        getattr(difference.b, id_, ""),
    )


@settings(max_examples=EXAMPLES, deadline=None)
@given(sessions)
def test_a_session_does_not_differ_from_itself(session: list[Unit]):
    differences = align_units(session, session)

    assert {difference.status for difference in differences} <= {"same"}
    assert len(differences) == len(session)


@settings(max_examples=EXAMPLES, deadline=None)
@given(sessions, sessions)
def test_comparing_units_is_symmetric(a: list[Unit], b: list[Unit]):
    assert sort_differences(align_units(a, b)) == sort_differences(
        map(mirror, align_units(b, a))
    )


@settings(max_examples=EXAMPLES, deadline=None)
@given(sessions, sessions)
def test_every_unit_and_entry_is_compared_once(a: list[Unit], b: list[Unit]):
    differences = align_units(a, b)

    assert [difference.a for difference in differences if difference.a] == a
    assert [difference.b for difference in differences if difference.b] == b
    for difference in differences:
        if difference.a and difference.b:
            entries = [e.a for e in difference.entries if e.a]
            assert sorted(p.entry_id for p in entries) == sorted(
                p.entry_id for p in difference.a.entries
            )


lines = st.lists(st.sampled_from(["a", "b", "a b c", "a b d", ""]), max_size=12)


@settings(max_examples=EXAMPLES, deadline=None)
@given(lines, lines)
def test_both_texts_can_be_restored_from_their_difference(a: list[str], b: list[str]):
    diff_lines = diff_texts("\n".join(a), "\n".join(b)).lines

    a_lines = [line.text for line in diff_lines if line.sign != "+"]
    b_lines = [line.text for line in diff_lines if line.sign != "-"]
    assert (a_lines, b_lines) == (a or [""], b or [""])


@settings(max_examples=EXAMPLES, deadline=None)
@given(lines, lines)
def test_comparing_texts_is_symmetric(a: list[str], b: list[str]):
    forward = diff_texts("\n".join(a), "\n".join(b)).lines
    backward = diff_texts("\n".join(b), "\n".join(a)).lines

    assert sorted((x.sign, x.text, x.marks) for x in forward) == sorted(
        (FLIPPED_SIGNS[x.sign], x.text, x.marks) for x in backward
    )


@settings(max_examples=EXAMPLES, deadline=None)
@given(st.text("abc", max_size=40), st.text("abc", max_size=40))
def test_aligned_pairs_are_equal_and_increasing(a: str, b: str):
    pairs = align_sequences(a, b)

    assert all(a[i] == b[j] for i, j in pairs)
    assert all(
        i < next_i and j < next_j for (i, j), (next_i, next_j) in pairwise(pairs)
    )
