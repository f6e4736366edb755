"""Fixtures of the tests of questions about usage."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from leslied.model.record import Record
from leslied.queries.context import QueryContext
from tests.support.clock import FakeClock
from tests.support.records import StoreHarness
from tests.support.usage import open_context

Ask = Callable[..., QueryContext]


@pytest.fixture
def commit(tmp_path: Path, clock: FakeClock) -> Iterator[Ask]:
    """Return a function that commits records, and opens what questions need."""
    with ExitStack() as stack:

        def commit(*records: Record) -> QueryContext:
            path = tmp_path / "data" / "store.db"
            harness = stack.enter_context(StoreHarness(path, clock))
            harness.commit(*records)
            return stack.enter_context(open_context(harness, clock))

        yield commit
