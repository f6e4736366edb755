"""The endpoints of the JSON API, by noun."""

from __future__ import annotations

from leslied.web.routes import files, sessions, status

ENDPOINTS = (*files.ENDPOINTS, *sessions.ENDPOINTS, *status.ENDPOINTS)
"""All endpoints, in the order of the documentation."""
