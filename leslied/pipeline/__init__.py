"""The stages that move data from agents' logs to the store and from there to files.

This package connects the other packages. *Ingest* discovers, reads, decodes and commits
entries; the later stages detect stopped sessions and write transcripts, the asset
index, relations files, exports and the archive. When a stage runs is decided by the
callers: `leslied sync` and the daemon.
"""

from __future__ import annotations

from leslied.pipeline.flow import Pipeline
from leslied.pipeline.ingest.batch import IngestReport
from leslied.pipeline.ingest.stage import Ingest
from leslied.pipeline.stages.archive import Archiver, ArchiverReport
from leslied.pipeline.stages.asset_index import AssetIndex, AssetIndexReport
from leslied.pipeline.stages.exports import Exports, ExportsReport
from leslied.pipeline.stages.hook_events import HookEvents, HookEventsReport
from leslied.pipeline.stages.relations import RelationsReport, RelationsSync
from leslied.pipeline.stages.stop_detection import StopDetection
from leslied.pipeline.stages.transcripts import SettleReport, TranscriptStage

__all__ = [
    "Archiver",
    "ArchiverReport",
    "AssetIndex",
    "AssetIndexReport",
    "Exports",
    "ExportsReport",
    "HookEvents",
    "HookEventsReport",
    "Ingest",
    "IngestReport",
    "Pipeline",
    "RelationsReport",
    "RelationsSync",
    "SettleReport",
    "StopDetection",
    "TranscriptStage",
]
