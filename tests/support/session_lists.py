"""Homes with many sessions, and long lists of sessions as the page gets them."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any

from playwright.sync_api import Page, Route

from leslied.queries.session_index import FIELDS
from tests.support.claude import ClaudeHome, ClaudeLogBuilder

PROJECTS = ("/home/dev/app", "/home/dev/parser", "/srv/old/parser")


def make_session_id(number: int) -> str:
    return f"{number:08d}-2222-4333-8444-555555555555"


def write_session(
    claude: ClaudeHome, number: int, title: str = "", hours_ago: int = 0
) -> ClaudeLogBuilder:
    """Write a session of one prompt; return the builder of its further lines."""
    session_id = make_session_id(number)
    started_at = datetime.now(UTC).replace(tzinfo=None) - timedelta(hours=hours_ago)
    project = PROJECTS[number % len(PROJECTS)]
    builder = ClaudeLogBuilder(session_id, project, started_at)
    write_lines(
        claude,
        builder,
        builder.prompt(title or f"Task {number} of many"),
        builder.answer("Done."),
    )
    return builder


def write_lines(claude: ClaudeHome, builder: ClaudeLogBuilder, *lines: Any) -> None:
    """Append lines to the log of a session."""
    claude.write(*lines, name=f"-home-dev/{builder.session_id}.jsonl")


def make_index(count: int) -> dict[str, Any]:
    """Return the answer of `/sessions/index` for so many sessions."""
    now_ms = int(datetime.now(UTC).timestamp() * 1000)
    sessions = [
        [
            make_session_id(number),
            number % 2,
            f"Session {number}",
            number % len(PROJECTS),
            0,
            "stopped",
            now_ms - number * 600_000 - 60_000,
            now_ms - number * 600_000,
            *(1 + number % 7, number % 50, 1000 * number, 0, 0, None, None),
        ]
        for number in range(count)
    ]
    return {
        "fields": FIELDS,
        "agents": ["claude-code", "codex"],
        "projects": list(PROJECTS),
        "models": ["claude-opus-4-5-20251101"],
        "sessions": sessions,
    }


def serve_index(page: Page, count: int) -> None:
    """Answer the page's question for all sessions with so many of them."""
    answer = {"success": True, "data": make_index(count), "warnings": [], "error": None}
    body = json.dumps(answer)

    def answer_index(route: Route) -> None:
        route.fulfill(body=body, content_type="application/json")

    page.route("**/api/sessions/index", answer_index)
