"""The endpoints of the JSON API: one module for each subject."""

from __future__ import annotations

from leslied.web.routes import (
    files,
    marks,
    reading,
    search,
    session_index,
    sessions,
    stats,
    status,
    threads,
)

ENDPOINTS = (
    *session_index.ENDPOINTS,
    *sessions.ENDPOINTS,
    *marks.ENDPOINTS,
    *reading.ENDPOINTS,
    *search.ENDPOINTS,
    *files.ENDPOINTS,
    *stats.ENDPOINTS,
    *threads.ENDPOINTS,
    *status.ENDPOINTS,
)
"""All endpoints, in the order in which they are tried for a path and documented."""
