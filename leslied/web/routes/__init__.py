"""The endpoints of the JSON API, by noun."""

from __future__ import annotations

from leslied.web.routes import search, sessions, status

ENDPOINTS = (*sessions.ENDPOINTS, *search.ENDPOINTS, *status.ENDPOINTS)
"""All endpoints, in the order of the documentation."""
