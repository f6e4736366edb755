"""The ingest stage: discover, read, decode and commit entries."""

from __future__ import annotations
