"""Adding up: what was used and what it cost, by day, model, project, tool and more.

The door: `Ledger` joins the store's sums with the prices, `Filters` say what counts.
"""

from __future__ import annotations

from leslied.stats.blocks import Block
from leslied.stats.ledger import Filters, Ledger
from leslied.stats.tools import sum_tools

__all__ = ["Block", "Filters", "Ledger", "sum_tools"]
