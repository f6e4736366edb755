"""Fast queries for shell completion; importing this module loads little else."""

from __future__ import annotations

from leslied.store.read.completion_queries import CompletionReader

__all__ = ["CompletionReader"]
