"""Supported agents and their logs."""

from __future__ import annotations

from leslied.queries.agents import list_agents
from leslied.queries.context import QueryContext
from tests.support.claude import ADAPTER, ClaudeHome
from tests.support.queries import make_app


def test_an_agent_with_logs_is_found(queries: QueryContext):
    agents = {agent.name: agent for agent in list_agents(queries)}
    agent = agents[ADAPTER.name]

    assert agent.found
    assert (agent.logs, agent.sessions) == (1, 1)
    assert agent.lag_seconds == 0
    assert not any(each.found for each in agents.values() if each is not agent)


def test_agents_are_listed_before_there_is_a_store(claude: ClaudeHome):
    with make_app(claude).open_queries() as queries:
        agents = [agent.to_dict() for agent in list_agents(queries)]

    assert agents
    assert {agent["sessions"] for agent in agents} == {0}
