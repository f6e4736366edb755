"""The stages that move data from agents' logs to the store and from there to files.

This package connects the other packages. *Ingest* discovers, reads, decodes and commits
entries; the later stages detect stopped sessions and write transcripts, the asset
index, relations files, exports and the archive. `flow.py` lists them in order and
decides which of them run; `leslied sync` and the daemon decide when.
"""

from __future__ import annotations

from leslied.pipeline.flow import Flow, FlowReport, make_stages
from leslied.pipeline.ingest.batch import IngestReport
from leslied.pipeline.ingest.stage import Ingest
from leslied.pipeline.stage import (
    FULL_BUDGET,
    Budget,
    LogEvent,
    Report,
    Stage,
    StageContext,
    Timing,
)
from leslied.pipeline.stages.archive import Archiver
from leslied.pipeline.stages.archive_frames import ArchiverReport
from leslied.pipeline.stages.asset_index import AssetIndex, AssetIndexReport
from leslied.pipeline.stages.exports import Exports, ExportsReport
from leslied.pipeline.stages.hook_events import HookEvents, HookEventsReport
from leslied.pipeline.stages.moved_threads import MovedThreads
from leslied.pipeline.stages.projects import ProjectsReport, ProjectStage
from leslied.pipeline.stages.redecode import RedecodeReport, RedecodeStage
from leslied.pipeline.stages.relations import RelationsReport, RelationsSync
from leslied.pipeline.stages.stop_detection import StopDetection, StopReport
from leslied.pipeline.stages.transcript_writer import SettleReport
from leslied.pipeline.stages.transcripts import TranscriptStage

__all__ = [
    "FULL_BUDGET",
    "Archiver",
    "ArchiverReport",
    "AssetIndex",
    "AssetIndexReport",
    "Budget",
    "Exports",
    "ExportsReport",
    "Flow",
    "FlowReport",
    "HookEvents",
    "HookEventsReport",
    "Ingest",
    "IngestReport",
    "LogEvent",
    "MovedThreads",
    "ProjectStage",
    "ProjectsReport",
    "RedecodeReport",
    "RedecodeStage",
    "RelationsReport",
    "RelationsSync",
    "Report",
    "SettleReport",
    "Stage",
    "StageContext",
    "StopDetection",
    "StopReport",
    "Timing",
    "TranscriptStage",
    "make_stages",
]
