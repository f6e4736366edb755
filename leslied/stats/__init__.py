"""Statistics of usage and cost, by day, model, project, tool and more.

`UsageStats` computes costs from the store's sums and the prices; `UsageFilters` selects
what is counted.
"""

from __future__ import annotations

from leslied.stats.blocks import UsageBlock
from leslied.stats.tools import summarize_tools
from leslied.stats.usage import UsageFilters, UsageStats

__all__ = ["UsageBlock", "UsageFilters", "UsageStats", "summarize_tools"]
