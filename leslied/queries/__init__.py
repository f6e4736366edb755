"""Lookup of sessions and entries by id, filters or a search query.

This package combines `store` and `sessions` for reading, as `pipeline` does for
writing.
"""

from __future__ import annotations

from leslied.queries.agent_names import check_agents
from leslied.queries.resolve import ResolvedId, resolve_id
from leslied.queries.search import (
    SearchHit,
    SearchMode,
    SearchResult,
    fold_text,
    search_entries,
)
from leslied.queries.search_query import has_syntax, make_filter, parse_query
from leslied.queries.sessions import add_costs, list_sessions, load_session_summary
from leslied.queries.tool_usage import summarize_tools
from leslied.queries.units import format_resume_command, load_session, load_units
from leslied.queries.usage import UsageSelection, UsageStats
from leslied.queries.usage_blocks import UsageBlock
from leslied.redact.session import redact_entry, redact_unit

__all__ = [
    "ResolvedId",
    "SearchHit",
    "SearchMode",
    "SearchResult",
    "UsageBlock",
    "UsageSelection",
    "UsageStats",
    "add_costs",
    "check_agents",
    "fold_text",
    "format_resume_command",
    "has_syntax",
    "list_sessions",
    "load_session",
    "load_session_summary",
    "load_units",
    "make_filter",
    "parse_query",
    "redact_entry",
    "redact_unit",
    "resolve_id",
    "search_entries",
    "summarize_tools",
]
