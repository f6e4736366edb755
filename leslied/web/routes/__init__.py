"""The endpoints of the JSON API, by noun."""

from __future__ import annotations

from leslied.web.routes import files, reading, sessions, status, threads

ENDPOINTS = (
    *sessions.ENDPOINTS,
    *reading.ENDPOINTS,
    *files.ENDPOINTS,
    *threads.ENDPOINTS,
    *status.ENDPOINTS,
)
"""All endpoints, in the order of the documentation."""
