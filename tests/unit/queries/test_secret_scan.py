"""A scan names every place with a secret, and never the secret."""

from __future__ import annotations

from datetime import timedelta

import pytest

from leslied.app import App
from leslied.model.times import to_us
from leslied.queries.context import QueryContext
from leslied.queries.secret_scan import SecretScan, scan_secrets
from tests.support.claude import SESSION, ClaudeHome, ClaudeLogBuilder
from tests.support.queries import SECRET


def scan(
    app: App, queries: QueryContext, since_us: int | None = None, limit: int = 100
) -> SecretScan:
    return scan_secrets(queries, app.load_redactor(), since_us, limit)


def test_every_field_with_a_secret_is_listed(app: App, queries: QueryContext):
    result = scan(app, queries)

    assert {secret.field for secret in result.secrets} == {
        *("title", "content", "tool_input")
    }
    assert {secret.kind for secret in result.secrets} == {"github"}
    assert result.counts == {"github": result.total}
    assert not result.has_more


def test_the_answer_contains_markers_and_no_secret(app: App, queries: QueryContext):
    answer = scan(app, queries).to_dict()

    assert SECRET not in str(answer)
    assert {secret["marker"] for secret in answer["secrets"]} == {
        app.load_redactor().redact(SECRET)
    }


def test_a_secret_is_listed_with_its_session_unit_and_entry(
    app: App, queries: QueryContext
):
    (secret,) = [s for s in scan(app, queries).secrets if s.field == "tool_input"]
    (entry,) = [
        placed
        for placed in queries.reader.change_feed.list_after(0)
        if SECRET in placed.record.tool_input
    ]

    assert secret.key.session_id == SESSION
    assert secret.entry_id == entry.entry_id
    assert secret.chat_id == queries.reader.find_chat_id(secret.key, 1)
    assert secret.to_dict()["transcript"] is None


def test_the_newest_places_are_listed_first(app: App, queries: QueryContext):
    everything = scan(app, queries)

    result = scan(app, queries, limit=1)

    assert result.secrets == everything.secrets[:1]
    assert result.has_more
    assert result.counts == everything.counts
    times = [secret.at for secret in everything.secrets if secret.at]
    assert times == sorted(times, reverse=True)


def test_older_entries_are_not_scanned(app: App, queries: QueryContext):
    newest = max(s.at for s in scan(app, queries).secrets if s.at)

    result = scan(app, queries, since_us=to_us(newest + timedelta(days=1)))

    assert result.to_dict() == {
        "secrets": [],
        "counts": {},
        "total": 0,
        "has_more": False,
    }


@pytest.mark.parametrize(
    ("settings", "kinds"),
    [
        ('allow = ["ghp_.*"]', set()),
        (
            'rules.word = { pattern = "to log in", anchors = ["to log"] }',
            {"word", "github"},
        ),
    ],
)
def test_the_settings_decide_what_is_secret(
    app: App, queries: QueryContext, settings: str, kinds: set[str]
):
    app.paths.config_file.write_text(f"[redact]\n{settings}\n")

    assert set(scan(app, queries).counts) == kinds


def test_a_secret_in_the_path_of_a_log_is_listed_once(claude: ClaudeHome, app: App):
    builder = ClaudeLogBuilder("other")
    claude.write(
        builder.prompt("one"), builder.answer("two"), name=f"-{SECRET}/other.jsonl"
    )
    claude.sync()

    with app.open_queries() as queries:
        fields = [
            secret.field
            for secret in scan(app, queries).secrets
            if secret.key.session_id == "other"
        ]

    assert fields == ["path"]
