"""Statistics of usage and cost, by day, model, project, tool and more.

`UsageStats` computes costs from the store's sums and the prices; `UsageSelection` says
what is counted.
"""

from __future__ import annotations

from leslied.stats.blocks import UsageBlock
from leslied.stats.tools import summarize_tools
from leslied.stats.usage import UsageSelection, UsageStats

__all__ = ["UsageBlock", "UsageSelection", "UsageStats", "summarize_tools"]
