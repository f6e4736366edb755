"""Questions about tokens, cost and tools: totals by day, model, project and more."""

from __future__ import annotations
