"""Filters become SQL conditions."""

from __future__ import annotations

from typing import get_args

import pytest

from leslied.model.query import Filter, FilterKey
from leslied.queries.value_parsers import SESSION_FILTER_KEYS
from leslied.store.read.filter_sql import (
    ALWAYS_TRUE,
    compile_entry_filters,
    compile_session_list_filters,
    compile_stream_filters,
)

VALUES: dict[str, str | int] = {"after": 1, "before": 1, "is": "error"}


@pytest.mark.parametrize("key", get_args(FilterKey))
def test_a_filter_with_any_key_limits_a_search(key: FilterKey):
    filters = [Filter(key, VALUES.get(key, "x"))]

    conditions = {
        compile_entry_filters(filters)[0],
        compile_stream_filters(filters, stop_cutoff_us=0)[0],
    }

    assert conditions != {ALWAYS_TRUE}


@pytest.mark.parametrize("key", SESSION_FILTER_KEYS.values())
def test_a_filter_with_such_a_key_limits_a_list_of_sessions(key: FilterKey):
    filters = [Filter(key, VALUES.get(key, "x"))]

    assert compile_session_list_filters(filters, stop_cutoff_us=0)[0] != ALWAYS_TRUE
