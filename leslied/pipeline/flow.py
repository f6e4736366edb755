"""All stages together, as `sync` runs them once and the daemon again and again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from leslied.model.source import Root, WatchDepth

if TYPE_CHECKING:
    from collections.abc import Sequence

    from leslied.pipeline.failures import Failures
    from leslied.pipeline.ingest.stage import Ingest
    from leslied.pipeline.stages.archive import Archiver
    from leslied.pipeline.stages.asset_index import AssetIndex
    from leslied.pipeline.stages.exports import Exports
    from leslied.pipeline.stages.hook_events import HookEvents
    from leslied.pipeline.stages.relations import RelationsSync
    from leslied.pipeline.stages.stop_detection import StopDetection
    from leslied.pipeline.stages.transcripts import TranscriptStage


@dataclass(frozen=True, slots=True, kw_only=True)
class Pipeline:
    """The stages of the pipeline. Callers decide when each of them runs."""

    ingests: Sequence[Ingest]
    hook_events: HookEvents
    stop_detection: StopDetection
    transcripts: TranscriptStage
    relations_sync: RelationsSync
    asset_index: AssetIndex
    exports: Exports
    archiver: Archiver
    failures: Failures

    @property
    def roots(self) -> list[Root]:
        """Return the roots of all agents."""
        return [root for ingest in self.ingests for root in ingest.roots]

    @property
    def watched_roots(self) -> list[Root]:
        """Return the roots of all agents and the folder of pending hook events."""
        spool = Root(
            path=self.hook_events.spool_dir, patterns=(), watch=WatchDepth.FLAT
        )
        return [*self.roots, spool]
