"""Token prices, from the providers' price lists.

`load_prices` loads the table that ships with leslied. `make prices` generates it from
the genai-prices package. Nothing is fetched over the network, and a model that is not
in the table has no price.
"""

from __future__ import annotations

from leslied.prices.table import PriceTable, Tariff, find_price_breaks, load_prices

__all__ = ["PriceTable", "Tariff", "find_price_breaks", "load_prices"]
