"""Both streets together: what `sync` does once and the daemon over and over."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from leslied.model.source import Root, WatchDepth

if TYPE_CHECKING:
    from collections.abc import Sequence

    from leslied.pipeline.collect import Collect
    from leslied.pipeline.failures import Failures
    from leslied.pipeline.ingest import Ingest
    from leslied.pipeline.keep import Keep
    from leslied.pipeline.publish import Publish
    from leslied.pipeline.relate import Relate
    from leslied.pipeline.settle import Settle
    from leslied.pipeline.stops import Stops
    from leslied.pipeline.told import Told


@dataclass(frozen=True, slots=True, kw_only=True)
class Streets:
    """Ingests, then what hooks told, stops, settle, relate, collect, publish, keep."""

    ingests: Sequence[Ingest]
    told: Told
    stops: Stops
    settle: Settle
    relate: Relate
    collect: Collect
    publish: Publish
    keep: Keep
    failures: Failures

    @property
    def roots(self) -> list[Root]:
        """Every folder an agent writes in."""
        return [root for ingest in self.ingests for root in ingest.roots]

    @property
    def watched(self) -> list[Root]:
        """Those, and the folder where hooks leave word."""
        spool = Root(path=self.told.folder, patterns=(), watch=WatchDepth.FLAT)
        return [*self.roots, spool]
