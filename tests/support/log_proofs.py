"""Compare the logs of a home with a store."""

from __future__ import annotations

import sqlite3
import time
from pathlib import Path
from typing import Any

from leslied.agents import AgentAdapter
from leslied.model.log_proof import ProofReport, SourceProof
from leslied.pipeline.maintenance.log_proof import LogProof
from leslied.store import StoreReader
from tests.support.golden import make_environment


def prove_home(
    adapter: AgentAdapter, home: Path, store: Path, **options: Any
) -> ProofReport:
    """Return the comparison of an agent's logs with the store at a path."""
    roots = list(adapter.roots(make_environment(home), []))
    defaults = {"excludes": {}, "now_ns": time.time_ns(), "is_daemon_running": False}
    with StoreReader(store) as reader:
        return LogProof(
            reader=reader, agents=[(adapter, roots)], **(defaults | options)
        ).run()


def get_only_source(report: ProofReport) -> SourceProof:
    """Return the proof of the only log."""
    ((source,),) = [agent.sources for agent in report.agents]
    return source


def change_store(path: Path, *statements: str) -> None:
    """Damage a store with SQL."""
    db = sqlite3.connect(path)
    for statement in statements:
        db.execute(statement)
    db.commit()
    db.close()
