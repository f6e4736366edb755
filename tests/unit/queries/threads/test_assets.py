"""Indexes of assets, and problems with their names."""

from __future__ import annotations

from pathlib import Path

import pytest

from leslied.errors import UserError
from leslied.queries.context import QueryContext
from leslied.queries.threads.assets import lint_thread_assets, load_asset_indexes


def test_a_thread_without_an_index_is_an_error(queries: QueryContext, tmp_path: Path):
    with pytest.raises(UserError, match="no asset index") as error:
        load_asset_indexes(queries, "last", tmp_path)

    # Without this option, the transcripts of old sessions are not written.
    assert error.value.hint.endswith("leslied sync --stop-all")


def test_without_an_id_threads_without_an_index_are_left_out(
    queries: QueryContext, tmp_path: Path
):
    assert load_asset_indexes(queries, "", tmp_path).threads == []


def test_a_thread_without_assets_has_no_problems(queries: QueryContext, tmp_path: Path):
    assert lint_thread_assets(queries, "last", tmp_path).to_dict() == {"findings": []}
