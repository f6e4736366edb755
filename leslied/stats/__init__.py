"""Adding up: what was used and what it cost, by day, model, project, tool and more.

The door: `Ledger` joins the store's sums with the prices, `Filters` say what counts.
"""

from __future__ import annotations

from leslied.stats.blocks import UsageBlock
from leslied.stats.tools import sum_tools
from leslied.stats.usage import UsageFilters, UsageStats

__all__ = ["UsageBlock", "UsageFilters", "UsageStats", "sum_tools"]
