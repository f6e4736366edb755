"""The endpoints of the JSON API, by noun."""

from __future__ import annotations

from leslied.web.routes import files, reading, sessions, status

ENDPOINTS = (
    *sessions.ENDPOINTS,
    *reading.ENDPOINTS,
    *files.ENDPOINTS,
    *status.ENDPOINTS,
)
"""All endpoints, in the order of the documentation."""
