"""The description of a sampled log."""

from __future__ import annotations

from leslied.model.format_sample import SampledSource


def test_the_description_counts_entries_instead_of_repeating_them():
    sample = SampledSource(
        agent="codex",
        version="1.0",
        shape="append-log",
        pattern="*.jsonl",
        read=9,
        lines=("{}", "[]"),
        kinds=(".type=a",),
        unknown_kinds=("a",),
        rejected=(),
        schema={"tables": {}},
    )

    description = sample.describe()

    assert description["entries"] == 2
    assert description["unknown_kinds"] == ("a",)
    assert not {"lines", "schema"} & description.keys()
