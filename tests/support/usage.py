"""A store of messages with tokens, and questions about them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime

from leslied.model.record import Record, Usage
from leslied.paths import AppPaths
from leslied.queries.context import QueryContext
from leslied.store import StoreReader
from tests.support.clock import FakeClock
from tests.support.records import StoreHarness, make_event, make_key, make_record

OPUS = "claude-opus-4-5-20251101"
SONNET = "claude-sonnet-4-5-20250929"
SECRET = "ghp_" + "A1b2" * 9


def make_message(name: str, at: datetime | None, usage: Usage, **fields) -> Record:
    """Return an answer of a model; `fields` replace those of the record."""
    defaults = {"message_id": name, "model": OPUS, "usage": usage, "created_at": at}
    return make_record(name, name, **{**defaults, **fields})


def make_folder_event(folder: str, session: str) -> Record:
    """Return the event that names the working directory of a session."""
    key = make_key(session)
    metadata = {"cwd": folder}
    return make_event("context", f"cwd-{session}", session=key, metadata=metadata)


@contextmanager
def open_context(harness: StoreHarness, clock: FakeClock) -> Iterator[QueryContext]:
    """Open a context that replaces one secret."""
    folder = harness.path.parent
    with QueryContext(
        open_reader=lambda: StoreReader(harness.path),
        clock=clock,
        load_redact=lambda: lambda text: text.replace(SECRET, "[secret]"),
        paths=AppPaths(config_file=folder, data_dir=folder, state_dir=folder),
        home=folder,
        list_agent_roots=list,
    ) as context:
        yield context
