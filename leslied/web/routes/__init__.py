"""The endpoints of the JSON API, by noun."""

from __future__ import annotations

from leslied.web.routes import marks, session_index, sessions, status

ENDPOINTS = (
    *session_index.ENDPOINTS,
    *sessions.ENDPOINTS,
    *marks.ENDPOINTS,
    *status.ENDPOINTS,
)
"""All endpoints, in the order of the documentation."""
