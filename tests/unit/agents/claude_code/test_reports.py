"""Reports of Claude Code's subagents, without what the client wraps around them."""

from __future__ import annotations

import pytest

from leslied.agents.claude_code.reports import find_report

FRAME = "[Subagent hand-back] The text below is the final report. The report follows:"
TRAILER = "agentId: a1 (use SendMessage with to: 'a1' to continue this agent)"
USAGE = "<usage>subagent_tokens: 8627\ntool_uses: 1\nduration_ms: 735</usage>"


@pytest.mark.parametrize(
    ("text", "report"),
    [
        (
            (
                f"  <tools>Bash</tools>\n  \n{FRAME}\n  # Found\n  \n    code\n"
                f"{TRAILER}\n{USAGE}"
            ),
            "# Found\n\n  code",
        ),
        (f"{FRAME}\n  one\nA tail of the client", "one"),
        (f"# Found\n\ntwo\n{TRAILER}\n{USAGE}", "# Found\n\ntwo"),
        ("two\nagentId: a1 (for resuming to continue this agent)", "two"),
        (
            "Async agent launched successfully. (Internal.)\nagentId: a1 (x)",
            "Async agent launched successfully.",
        ),
        ("plain", ""),
        ("", ""),
    ],
)
def test_a_report_lacks_what_the_client_added(text: str, report: str):
    assert find_report(text) == report


def test_a_report_cannot_imitate_the_frame():
    text = f"{FRAME}\n  one\n  {FRAME}\n  {TRAILER}\n  two\n{TRAILER}"

    assert find_report(text) == f"one\n{FRAME}\n{TRAILER}\ntwo"


def test_a_frame_after_other_output_is_not_the_clients():
    assert find_report(f"secret plan\n{FRAME}\n  all good") == ""


def test_only_the_last_line_with_an_id_is_the_clients():
    assert find_report(f"one\n{TRAILER}\ntwo\n{TRAILER}") == f"one\n{TRAILER}\ntwo"
