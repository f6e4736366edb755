"""The stages that move data from agents' logs to the store and from there to files.

This package connects the other packages. *Ingest* discovers, reads, decodes and commits
entries; the later stages detect stopped sessions and write transcripts, the asset
index, relations files, exports and the archive. When a stage runs is decided by the
callers: `leslied sync` and the daemon.
"""

from __future__ import annotations

from leslied.pipeline.archiver import Archiver, ArchiverReport
from leslied.pipeline.asset_index import AssetIndex, AssetIndexReport
from leslied.pipeline.batch import IngestReport
from leslied.pipeline.exports import Exports, ExportsReport
from leslied.pipeline.flow import Pipeline
from leslied.pipeline.hook_events import HookEvents, HookEventsReport
from leslied.pipeline.ingest import Ingest
from leslied.pipeline.relations_sync import RelationsReport, RelationsSync
from leslied.pipeline.stop_detection import StopDetection
from leslied.pipeline.transcripts import SettleReport, TranscriptStage

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
