"""Supported agents and their logs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from leslied.queries.context import QueryContext
from leslied.queries.operations.agents import AgentState, list_agents, make_agent_state
from tests.support.claude import ADAPTER, ClaudeHome
from tests.support.clock import FakeClock
from tests.support.queries import make_app
from tests.support.records import StoreHarness, make_prompt
from tests.support.redecode import UpgradedAdapter


def test_an_agent_with_logs_is_found(queries: QueryContext):
    agents = {agent.name: agent for agent in list_agents(queries).agents}
    agent = agents[ADAPTER.name]

    assert agent.found
    assert (agent.logs, agent.sessions) == (1, 1)
    assert agent.lag_seconds == 0
    assert not any(each.found for each in agents.values() if each is not agent)


def test_agents_are_listed_before_there_is_a_store(claude: ClaudeHome):
    with make_app(claude).open_queries() as queries:
        agents = list_agents(queries).to_dict()["agents"]

    assert agents
    assert {agent["sessions"] for agent in agents} == {0}
    assert {agent["outdated_sources"] for agent in agents} == {0}


@pytest.fixture
def harness(tmp_path: Path, clock: FakeClock) -> Iterator[StoreHarness]:
    """Open a store with three logs that version 1 of a decoder read."""
    with StoreHarness(tmp_path / "data" / "store.db", clock) as harness:
        for number in range(3):
            harness.commit(make_prompt("a", f"{number}"), log=f"{number}.jsonl")
        yield harness


def load_state(harness: StoreHarness, version: int) -> AgentState:
    """Return the state of an agent whose decoder has this version now."""
    with harness.reader() as reader:
        (summary,) = reader.summarize_agents()
    return make_agent_state(UpgradedAdapter(ADAPTER, version=version), [], summary)


def count_outdated(harness: StoreHarness, version: int) -> tuple[int, int]:
    agent = load_state(harness, version)
    return agent.outdated_sources, agent.stale_sources


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
