"""Test that every entry of every fixture is accounted for in the store."""

from __future__ import annotations

from pathlib import Path

import pytest

from leslied.agents import AgentAdapter
from tests.support.clock import FakeClock
from tests.support.golden import copy_home, format_case_id, list_all_cases, sync_home
from tests.support.log_proofs import change_store, prove_home


@pytest.mark.parametrize(("adapter", "case"), list_all_cases(), ids=format_case_id)
def test_every_entry_is_accounted_for(
    adapter: AgentAdapter, case: Path, home: Path, tmp_path: Path, clock: FakeClock
):
    store = tmp_path / "data" / "store.db"
    copy_home(case, home)
    sync_home(adapter, home, store, clock)

    report = prove_home(adapter, home, store)

    missing = [
        (source.path, source.examples)
        for agent in report.agents
        for source in agent.sources
        if source.missing
    ]
    assert missing == []

    change_store(store, "DELETE FROM record")
    if any(agent.count("record") for agent in report.agents):
        assert prove_home(adapter, home, store).is_failed
