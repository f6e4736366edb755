"""Test that the sample of any fixture has its kinds, but nothing that anybody wrote."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from leslied.agents import AgentAdapter
from leslied.pipeline.maintenance.format_sample import LogSampler, find_log
from leslied.redact.skeleton import Skeleton
from leslied.tail import discover
from tests.support.golden import (
    copy_home,
    format_case_id,
    list_all_cases,
    make_environment,
)

SENTENCE = re.compile(r"[^\W\d_]{2,} [^\W\d_]{2,}")
"""Two words: a text that somebody wrote, not a name."""
OWN_WORDS = {"text of", "of characters", "nested more", "more deeply"}


def iter_texts(value: Any) -> Iterator[str]:
    """Yield all texts in a JSON value, also the keys of objects."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        yield from value
        for item in value.values():
            yield from iter_texts(item)
    elif isinstance(value, list):
        for item in value:
            yield from iter_texts(item)


@pytest.mark.parametrize(("adapter", "case"), list_all_cases(), ids=format_case_id)
def test_a_sample_has_no_text_of_the_log(adapter: AgentAdapter, case: Path, home: Path):
    copy_home(case, home)
    roots = list(adapter.roots(make_environment(home), []))
    for source in discover(adapter.name, roots).sources:
        log = find_log([(adapter, roots)], source.path)
        sample = LogSampler(*log, Skeleton()).run()
        again = LogSampler(*log, Skeleton()).run()
        texts = []
        for line in sample.lines:
            try:
                texts += iter_texts(json.loads(line))
            except ValueError:
                assert set(re.findall(r"[a-zA-Z0-9]", line)) <= {"a", "0"}

        words = {word for text in texts for word in SENTENCE.findall(text)}
        assert sample.agent == adapter.name
        assert sample == again
        assert words <= OWN_WORDS
        assert str(home) not in "".join(texts)
        assert bool(sample.lines) == bool(sample.read)
