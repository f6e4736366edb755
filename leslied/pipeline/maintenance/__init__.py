"""Work that users request: forget, prune, rebuild, import, proof and format samples.

The stages use `archive_repair` and `archive_replay`, too.
"""

from __future__ import annotations
