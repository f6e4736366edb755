"""Redaction of text that is shown before leslied has any files."""

from __future__ import annotations

import os

from leslied.redact import Redactor


def redact_preview(text: str) -> str:
    """Return the text without secrets.

    The key is temporary, because previews and completion must not create the key file.
    """
    return Redactor(os.urandom(32)).redact(text)
