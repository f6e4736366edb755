"""Statistics of usage and cost, by day, model, project, tool and more.

`UsageStats` joins the store's sums with prices; `UsageFilters` selects what is counted.
"""

from __future__ import annotations

from leslied.stats.blocks import UsageBlock
from leslied.stats.tools import sum_tools
from leslied.stats.usage import UsageFilters, UsageStats

__all__ = ["UsageBlock", "UsageFilters", "UsageStats", "sum_tools"]
