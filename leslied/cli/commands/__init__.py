"""Commands of the command line, one module each; `cli` imports them when called."""

from __future__ import annotations
