"""The endpoints of the JSON API, by noun."""

from __future__ import annotations

from leslied.web.routes import marks, sessions, status

ENDPOINTS = (*sessions.ENDPOINTS, *marks.ENDPOINTS, *status.ENDPOINTS)
"""All endpoints, in the order of the documentation."""
