"""One thread with its assets, and the content of an asset."""

from __future__ import annotations

from pathlib import Path

import pytest

from leslied.errors import UserError
from leslied.queries.context import QueryContext
from leslied.queries.threads.thread_assets import (
    MAX_ASSET_BYTES,
    load_asset_content,
    load_thread_assets,
)
from tests.support.claude import SESSION
from tests.support.queries import SECRET
from tests.support.thread_home import PLAN, THREAD


def test_an_asset_names_the_call_that_wrote_it(thread_queries: QueryContext):
    thread = load_thread_assets(thread_queries, THREAD).to_dict()

    plan = next(asset for asset in thread["assets"] if asset["type"] == "plan")
    (call,) = plan["calls"]
    assert (call["session_id"], call["tool"]) == (SESSION, "Write")
    assert len(call["entry_id"]) == 32


def test_the_files_of_a_folder_are_listed(thread_queries: QueryContext):
    thread = load_thread_assets(thread_queries, THREAD).to_dict()

    transcripts = thread["assets"][-1]
    assert (transcripts["type"], len(transcripts["files"])) == ("transcript", 2)


def test_a_plan_is_rendered_without_secrets_and_raw_html(thread_queries: QueryContext):
    content = load_asset_content(thread_queries, THREAD, PLAN)

    assert content.title == "The plan"
    assert (content.boxes, content.ticked) == (2, 1)
    assert "&lt;b&gt;bold" in content.html
    assert SECRET not in content.html


def test_a_transcript_is_shown_as_it_is(thread_queries: QueryContext):
    thread = load_thread_assets(thread_queries, THREAD).to_dict()
    path = thread["assets"][-1]["files"][0]["path"]

    content = load_asset_content(thread_queries, THREAD, path)
    assert content.html.startswith("<pre>")
    assert (content.boxes, content.is_cut) == (0, False)


def test_a_long_asset_is_cut(thread_queries: QueryContext, home: Path):
    (home / "app" / PLAN).write_text("x" * (MAX_ASSET_BYTES + 1))

    content = load_asset_content(thread_queries, THREAD, PLAN)
    assert content.is_cut
    assert len(content.html) < MAX_ASSET_BYTES + 100


@pytest.mark.parametrize(
    "path",
    [
        "",
        "/etc/passwd",
        "../../../../etc/passwd",
        f".leslie/threads/{THREAD}/../../../config.toml",
        f".leslie/threads/{THREAD}/.meta/assets.json",
        f"./{PLAN}",
    ],
)
def test_a_path_that_is_no_asset_is_refused(thread_queries: QueryContext, path: str):
    with pytest.raises(UserError, match="has no asset"):
        load_asset_content(thread_queries, THREAD, path)


@pytest.mark.threat("X7")
def test_a_link_in_place_of_an_asset_is_refused(
    thread_queries: QueryContext, home: Path
):
    secret = home / "secret.txt"
    secret.write_text("secret")
    plan = home / "app" / PLAN
    plan.unlink()
    plan.symlink_to(secret)

    with pytest.raises(UserError, match="has no asset"):
        load_asset_content(thread_queries, THREAD, PLAN)


def test_an_unknown_thread_is_an_error(thread_queries: QueryContext):
    with pytest.raises(UserError):
        load_thread_assets(thread_queries, "zzzz")
