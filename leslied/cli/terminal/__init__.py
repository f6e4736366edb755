"""Control of the terminal: pager, keyboard, playback, progress bar."""

from __future__ import annotations
