"""Sessions as files."""

from __future__ import annotations

import json

import pytest

from leslied.model.query import Filter, Selection
from leslied.queries.context import QueryContext
from leslied.queries.export import (
    list_formats,
    load_for_export,
    render_session,
    resolve_sessions,
)
from tests.support.queries import SECRET


@pytest.mark.threat("S1")
def test_every_format_renders_without_the_secret(queries: QueryContext):
    (resolved,) = resolve_sessions(queries, "last", Selection())
    session = load_for_export(queries, resolved, is_utc=True)

    for name in list_formats():
        for artifact in render_session(session, name):
            assert SECRET.encode() not in artifact.body


def test_without_an_id_the_selected_sessions_are_exported(queries: QueryContext):
    elsewhere = Selection(filters=(Filter("project", "/elsewhere"),))

    assert len(resolve_sessions(queries, "", Selection())) == 1
    assert resolve_sessions(queries, "", elsewhere) == []


def test_the_json_document_has_every_unit(queries: QueryContext):
    (resolved,) = resolve_sessions(queries, "last", Selection())
    session = load_for_export(queries, resolved, is_utc=True)
    (artifact,) = render_session(session, "json")

    assert len(json.loads(artifact.body)["units"]) == len(session.units)
