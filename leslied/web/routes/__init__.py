"""The endpoints of the JSON API, by noun."""

from __future__ import annotations

from leslied.web.routes import reading, search, sessions, stats, status

ENDPOINTS = (
    *sessions.ENDPOINTS,
    *reading.ENDPOINTS,
    *search.ENDPOINTS,
    *stats.ENDPOINTS,
    *status.ENDPOINTS,
)
"""All endpoints, in the order of the documentation."""
