"""Reports of Codex's subagents in the JSON of the client."""

from __future__ import annotations

import pytest

from leslied.agents.codex.reports import find_notification, find_reports


@pytest.mark.parametrize(
    ("text", "reports"),
    [
        ('{"status":{"a":{"completed":"one"}},"timed_out":false}', "one"),
        (
            '{"status":{"a":{"completed":"one"},"b":{"completed":"two"}}}',
            "one\n\ntwo",
        ),
        ('{"status":{"a":{"completed":"one"},"b":"running"}}', ""),
        ('{"status":{},"timed_out":true}', ""),
        ('{"status":{"a":', ""),
        ("plain", ""),
    ],
)
def test_the_reports_are_found_if_all_subagents_have_one(text: str, reports: str):
    assert find_reports(text) == reports


@pytest.mark.parametrize(
    ("json", "notification"),
    [
        (
            '{"agent_path":"/root/x","status":{"completed":"one"}}',
            "subagent /root/x completed",
        ),
        ('{"agent_id":"7","status":"shutdown"}', "subagent 7 shutdown"),
        ("{}", "subagent"),
    ],
)
def test_a_notification_names_the_subagent_and_its_state(json: str, notification: str):
    text = f"<subagent_notification>\n{json}\n</subagent_notification>"

    assert find_notification(text) == notification


def test_other_text_is_not_a_notification():
    assert find_notification("<environment_context>x</environment_context>") == ""
