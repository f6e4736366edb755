"""State of each agent: its logs on disk and its sources in the store."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from leslied.queries.agents import list_agents
from tests.support.claude import ADAPTER
from tests.support.clock import FakeClock
from tests.support.records import StoreHarness, make_prompt
from tests.support.redecode import UpgradedAdapter


@pytest.fixture
def harness(tmp_path: Path, clock: FakeClock) -> Iterator[StoreHarness]:
    """Open a store with three logs that version 1 of a decoder read."""
    with StoreHarness(tmp_path / "data" / "store.db", clock) as harness:
        for number in range(3):
            harness.commit(make_prompt("a", f"{number}"), log=f"{number}.jsonl")
        yield harness


def get_agent(harness: StoreHarness, version: int) -> dict[str, Any]:
    with harness.reader() as reader:
        (agent,) = list_agents(
            [(UpgradedAdapter(ADAPTER, version=version), [])], reader
        )
    return agent


def count_outdated(harness: StoreHarness, version: int) -> tuple[int, int]:
    agent = get_agent(harness, version)
    assert agent["decoder_version"] == version
    return agent["outdated_sources"], agent["stale_sources"]


def test_no_source_is_outdated_while_the_decoder_is_the_same(harness: StoreHarness):
    assert count_outdated(harness, version=1) == (0, 0)


def test_sources_of_an_older_decoder_are_outdated_until_they_are_decoded_again(
    harness: StoreHarness,
):
    with harness.store.decoder_versions() as ledger:
        ledger.mark_decoded(1, 2)

    assert count_outdated(harness, version=2) == (2, 0)


def test_sources_that_cannot_be_decoded_again_are_stale(harness: StoreHarness):
    with harness.store.decoder_versions() as ledger:
        ledger.mark_impossible(1, 2)

    assert count_outdated(harness, version=2) == (2, 1)
    assert count_outdated(harness, version=3) == (3, 0)


def test_an_agent_without_a_store_has_no_outdated_sources():
    (agent,) = list_agents([(ADAPTER, [])], None)

    assert (agent["outdated_sources"], agent["stale_sources"]) == (0, 0)
