"""The flow, and the only place where rooms meet.

Two one-way streets meet at the store. *ingest*: discover, read, decode, commit.
*settle*: detect, assemble, render, write. After them *collect* lists what threads hold.
No threads, no sleep, no signals here.
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
from leslied.pipeline.transcripts import Settle, SettleReport

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
    "Settle",
    "SettleReport",
    "StopDetection",
]
