"""What tokens cost, by the list prices of those who sell them.

The door: `load_prices`. The table is made of the genai-prices package (`make prices`)
and comes with leslied: nothing is asked over the network, and a model that is not in it
has no price.
"""

from __future__ import annotations

from leslied.prices.table import PriceTable, Tariff, find_price_boundaries, load_prices

__all__ = ["PriceTable", "Tariff", "find_price_boundaries", "load_prices"]
