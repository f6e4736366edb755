"""The stages that move data from agents' logs to the store and from there to files.

This package connects the other packages. *Ingest* discovers, reads, decodes and commits
entries; the later stages detect stopped sessions and write transcripts, the asset
index, relations files, exports and the archive. `flow.py` lists them in order and
decides which of them run; `leslied sync` and the daemon decide when.

Its modules are imported on first use, so that commands that need few of them start
faster.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from leslied.lazy_imports import make_getattr

if TYPE_CHECKING:
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
    from leslied.pipeline.stages.archive_check import ArchiveCheck, ArchiveCheckReport
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
    "ArchiveCheck",
    "ArchiveCheckReport",
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

__getattr__ = make_getattr(
    __name__,
    {
        "ArchiveCheck": "stages.archive_check",
        "ArchiveCheckReport": "stages.archive_check",
        "Archiver": "stages.archive",
        "ArchiverReport": "stages.archive_frames",
        "AssetIndex": "stages.asset_index",
        "AssetIndexReport": "stages.asset_index",
        "Budget": "stage",
        "Exports": "stages.exports",
        "ExportsReport": "stages.exports",
        "FULL_BUDGET": "stage",
        "Flow": "flow",
        "FlowReport": "flow",
        "HookEvents": "stages.hook_events",
        "HookEventsReport": "stages.hook_events",
        "Ingest": "ingest.stage",
        "IngestReport": "ingest.batch",
        "LogEvent": "stage",
        "MovedThreads": "stages.moved_threads",
        "ProjectStage": "stages.projects",
        "ProjectsReport": "stages.projects",
        "RedecodeReport": "stages.redecode",
        "RedecodeStage": "stages.redecode",
        "RelationsReport": "stages.relations",
        "RelationsSync": "stages.relations",
        "Report": "stage",
        "SettleReport": "stages.transcript_writer",
        "Stage": "stage",
        "StageContext": "stage",
        "StopDetection": "stages.stop_detection",
        "StopReport": "stages.stop_detection",
        "Timing": "stage",
        "TranscriptStage": "stages.transcripts",
        "make_stages": "flow",
    },
)
