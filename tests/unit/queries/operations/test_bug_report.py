"""Data for a bug report."""

from __future__ import annotations

import io
import json
import zipfile

from leslied.agents import load_adapters
from leslied.app import App
from leslied.queries.context import QueryContext
from leslied.queries.operations.bug_report import (
    collect_store_state,
    collect_versions,
    dump_session,
    list_rejected,
    list_report_files,
    make_zip,
)
from leslied.sinks import load_sinks
from tests.support.queries import SECRET


def test_the_versions_name_all_agents_and_formats():
    versions = collect_versions()

    assert set(versions["agents"]) == set(load_adapters())
    assert set(versions["outputs"]) == set(load_sinks())


def test_the_state_of_an_undamaged_store_is_ok(queries: QueryContext):
    state = collect_store_state(queries)

    assert state["store_check"] == "ok"
    assert state["store"]["sessions"] == 1
    assert list_rejected(queries) == []


def test_the_session_contains_no_secret(queries: QueryContext):
    assert SECRET not in dump_session(queries, "last")


def make_files(queries: QueryContext, id_prefix: str = "") -> dict[str, bytes]:
    files = list_report_files(queries, id_prefix)
    return {file.name: file.make_data() for file in files}


def test_a_report_without_an_id_has_no_session(queries: QueryContext):
    files = make_files(queries)

    assert list(files) == ["README.txt", "about.json", "status.json", "rejected.json"]
    assert json.loads(files["status.json"])["store_check"] == "ok"


def test_the_settings_are_in_the_report_without_the_name_of_the_user(
    queries: QueryContext,
):
    queries.paths.config_file.write_text(f"# {queries.home}/app {SECRET}")
    files = make_files(queries)

    assert files["config.toml"].startswith(b"# ~/app ")
    assert SECRET.encode() not in files["config.toml"]


def test_a_session_is_in_the_report_if_its_id_is_passed(queries: QueryContext):
    assert "session.json" in make_files(queries, "last")


def test_an_unusable_store_does_not_prevent_a_report(app: App):
    app.paths.store_file.write_bytes(b"not a database")
    with app.open_queries() as queries:
        files = make_files(queries, "last")

    for name in ("status.json", "rejected.json", "session.json"):
        assert list(json.loads(files[name])) == ["error"]


def test_a_zip_has_the_files_and_a_manifest():
    files = {"a.txt": b"text"}

    with zipfile.ZipFile(io.BytesIO(make_zip(files))) as archive:
        assert archive.namelist() == ["a.txt", "manifest.json"]
        assert archive.read("a.txt") == b"text"


def test_the_same_files_give_the_same_zip():
    files = {"a.txt": b"text"}

    assert make_zip(files) == make_zip(files)
