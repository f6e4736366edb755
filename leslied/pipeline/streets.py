"""Both streets together: what `sync` does once and the daemon over and over."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from leslied.model.source import Root
    from leslied.pipeline.ingest import Ingest
    from leslied.pipeline.keep import Keep
    from leslied.pipeline.publish import Publish
    from leslied.pipeline.relate import Relate
    from leslied.pipeline.settle import Settle
    from leslied.pipeline.stops import Stops


@dataclass(frozen=True, slots=True, kw_only=True)
class Streets:
    """One agent's ingest each, then stops, settle, relate, publish and keep."""

    ingests: Sequence[Ingest]
    stops: Stops
    settle: Settle
    relate: Relate
    publish: Publish
    keep: Keep

    @property
    def roots(self) -> list[Root]:
        """Every folder an agent writes in."""
        return [root for ingest in self.ingests for root in ingest.roots]
