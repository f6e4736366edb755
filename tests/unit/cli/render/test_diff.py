"""Differences between sessions as text and as JSON."""

from __future__ import annotations

from typing import Any

import click
import pytest

from leslied.cli.render.diff import render_diff
from leslied.model.difference import DiffOptions, FieldDifference
from leslied.model.session import Unit
from leslied.model.stats import Cost
from leslied.queries.diff_encoding import fields_to_dicts, units_to_dicts
from leslied.sessions.align import align_units
from tests.support.records import make_prompt, make_record, time_at
from tests.support.units import (
    make_call,
    make_child,
    make_result,
    make_turn_unit,
    make_unit,
)

METADATA = [FieldDifference("agent", "claude-code", "codex")]
DEFAULT_OPTIONS = {
    "context": 3,
    "is_full": False,
    "is_summary": False,
    "home": "/home/dev",
}


def make_options(**fields: Any) -> DiffOptions:
    return DiffOptions(**{**DEFAULT_OPTIONS, **fields})


def render_styled(a: list[Unit], b: list[Unit], **fields: Any) -> list[str]:
    return list(render_diff(METADATA, align_units(a, b), make_options(**fields)))


def render_plain(a: list[Unit], b: list[Unit], **fields: Any) -> str:
    return click.unstyle("\n".join(render_styled(a, b, **fields)))


def test_metadata_is_shown_side_by_side():
    metadata = [
        FieldDifference("project", "/home/dev/app", "/srv"),
        FieldDifference("started_at", time_at(0), None),
        FieldDifference("duration_seconds", 3661.2, 5.0),
        FieldDifference("output_tokens", 123_456, 0),
        FieldDifference("cost_usd", Cost(5 * 10**12, 1), Cost()),
        FieldDifference("part", None, None),
    ]

    text = "\n".join(render_diff(metadata, (), make_options()))

    lines = click.unstyle(text).split("\n")
    assert [line.split() for line in lines[3:6]] == [
        ["duration", "1:01:01", "0:00:05"],
        ["tokens", "out", "123k", "0"],
        ["cost", "$5.00", "-"],
    ]
    assert lines[1].split() == ["project", "~/app", "/srv"]
    assert not any(line.startswith("part") for line in lines)


def test_identical_sessions_are_reported_in_a_sentence():
    assert render_plain([make_turn_unit("go")], [make_turn_unit("go")]).endswith(
        "\n\nThe sessions have the same content."
    )


def test_units_that_forks_share_are_summed_up_in_one_line():
    shared = [make_turn_unit(f"step {n}") for n in range(12)]

    page = render_plain(
        [*shared, make_turn_unit("left")], [*shared, make_turn_unit("right")]
    )

    assert "\n12 units are the same.\n" in page
    assert "step" not in page


def test_a_changed_answer_is_shown_with_signs():
    page = render_plain(
        [make_turn_unit("go", "it works\nwell")],
        [make_turn_unit("go", "it fails\nwell")],
    )

    assert "@@ answer @@\n- it works\n+ it fails\n  well" in page
    assert "  > go\n" in page
    assert "… 1 entry is the same" in page


def test_words_that_differ_are_highlighted():
    lines = render_styled(
        [make_turn_unit("go", "a red fox ran")],
        [make_turn_unit("go", "a blue fox ran")],
    )

    (removed,) = [line for line in lines if "- " in line]
    assert click.style("red", fg="red", dim=False, reverse=True) in removed


def test_a_unit_that_only_one_side_has_is_shown_with_its_prompt():
    page = render_plain(
        [make_turn_unit("one"), make_turn_unit("two")], [make_turn_unit("one")]
    )

    assert "── only in A: unit 1 chat-" in page
    assert page.endswith("- > two\n- done")


def test_an_unchanged_call_is_shown_above_its_changed_result():
    call = make_call("Bash", '{"command": "make"}', "1")
    page = render_plain(
        [make_unit(make_prompt("go"), call, make_result("1", "ok", tool_name="Bash"))],
        [make_unit(make_prompt("go"), call, make_result("1", "no", tool_name="Bash"))],
    )

    assert "  ● Bash make\n@@ result of Bash @@\n- ok\n+ no" in page


def test_a_result_that_failed_on_one_side_is_marked():
    call = make_call("Bash", "{}", "1")
    failed = make_result("1", "x", tool_name="Bash", metadata={"is_error": True})

    page = render_plain(
        [make_unit(call, make_result("1", "x"))], [make_unit(call, failed)]
    )

    assert "failed in B only" in page


def test_a_summary_lists_changed_units_without_their_changes():
    page = render_plain(
        [make_turn_unit("go", "yes")], [make_turn_unit("go now", "no")], is_summary=True
    )

    assert "2 changed ──\n- > go\n+ > go now" in page
    assert "@@" not in page


def test_changed_fields_of_a_unit_are_shown():
    cancelled = make_turn_unit("go", stop_reason="cancelled")

    assert "  stop reason: end_turn → cancelled" in render_plain(
        [make_turn_unit("go")], [cancelled]
    )


def test_a_subagents_differences_are_indented():
    def make_unit_with_subagent(answer: str) -> Unit:
        child = make_child(make_prompt("look"), make_record(answer), name="kid")
        return make_unit(make_prompt("go"), subagents=(child,))

    page = render_plain([make_unit_with_subagent("x")], [make_unit_with_subagent("y")])

    assert "    ── changed: subagent kid kid · 1 the same, 1 changed ──" in page
    assert "    - x\n    + y" in page


@pytest.mark.parametrize(("is_full", "count"), [(False, 40), (True, 100)])
def test_long_texts_are_cut_unless_full_output_is_requested(is_full: bool, count: int):  # noqa: FBT001
    text = "\n".join(f"line {n}" for n in range(100))
    page = render_plain(
        [make_unit(make_prompt("go"), make_record(text))],
        [make_unit(make_prompt("go"))],
        is_full=is_full,
    )

    assert page.count("\n- line") == count
    assert ("60 more lines; --full shows all" in page) is not is_full


def test_a_long_line_is_cut_around_its_change():
    body = " ".join(f"w{n}" for n in range(200))
    page = render_plain(
        [make_turn_unit("go", f"{body} red {body}")],
        [make_turn_unit("go", f"{body} blue {body}")],
    )

    (removed,) = [line for line in page.split("\n") if line.startswith("- ")]
    assert "red" in removed
    assert len(removed) < 200


def test_texts_too_long_to_compare_are_marked():
    text = "\n".join(f"a{n}" for n in range(3000))
    page = render_plain([make_turn_unit("go", text)], [make_turn_unit("go", "b")])

    assert "too long to be compared line by line: 2999 more lines in A" in page


def test_control_characters_never_reach_the_terminal():
    text = "\x1b]0;pwned\x07\x1b[2J"
    a = make_unit(make_prompt(text), make_call(text, "{}", "1"), make_record(text))

    page = render_plain([a], [make_unit(make_prompt("go"))])

    assert "\x1b]" not in page
    assert "\x1b[2J" not in page
    assert "␛]0;pwned␇" in page


def test_json_has_every_unit_and_every_change():
    a, b = (
        [make_turn_unit("one"), make_turn_unit("go", "yes")],
        [make_turn_unit("one"), make_turn_unit("go", "no"), make_turn_unit("more")],
    )

    same, changed, added = units_to_dicts(align_units(a, b), make_options())

    (change,) = changed["changes"]
    assert (same["status"], same["changes"]) == ("same", [])
    assert change["diff"] == ["@@ -1,1 +1,1 @@", "-yes", "+no"]
    assert (change["a"]["text"], change["b"]["text"]) == ("yes", "no")
    assert (added["status"], added["a"], added["b"]["prompt"]) == (
        "only_b",
        None,
        "more",
    )


def test_a_json_summary_counts_entries_without_showing_them():
    (unit,) = units_to_dicts(
        align_units([make_turn_unit("a", "x")], [make_turn_unit("a", "y")]),
        make_options(is_summary=True),
    )

    assert unit["changes"] == []
    assert unit["entries"] == {"same": 1, "changed": 1, "only_a": 0, "only_b": 0}


def test_json_metadata_has_plain_values():
    metadata = [
        FieldDifference("cost_usd", Cost(5 * 10**11, 1), Cost()),
        FieldDifference("started_at", time_at(0), None),
    ]

    assert fields_to_dicts(metadata) == [
        {"field": "cost_usd", "a": 0.5, "b": None},
        {"field": "started_at", "a": "2026-11-16T10:00:00.000Z", "b": None},
    ]
