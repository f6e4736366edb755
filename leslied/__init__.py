"""leslied reads what coding agents write on disk and makes it worth reading."""

from __future__ import annotations

__version__ = "0.1.0"
