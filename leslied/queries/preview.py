"""Redaction of previews, before leslied has any files, and of error messages."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from leslied.config import load_secret_finder
from leslied.errors import ConfigError
from leslied.redact import Redactor

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


def make_preview_redact(config_file: Path) -> Callable[[str], str]:
    """Return a function that removes the secrets from a text.

    The key is temporary, because previews and completion must not create the key file.
    Raise ConfigError if the settings of redaction are invalid.
    """
    return Redactor(os.urandom(32), load_secret_finder(config_file)).redact


def make_fail_safe_redact(config_file: Path) -> Callable[[str], str]:
    """Return a function that removes the secrets from a text.

    If the settings of redaction are invalid, it removes only the built-in kinds of
    secrets.
    """
    try:
        return make_preview_redact(config_file)
    except ConfigError:
        return Redactor(os.urandom(32)).redact
