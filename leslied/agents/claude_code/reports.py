"""Extract the text of a tool or subagent from results to which the client adds text."""

from __future__ import annotations

import re
from itertools import takewhile

_LAUNCHED = "Async agent launched successfully."
"""Start of the result of a subagent in the background; instructions follow."""
_FRAME_PREFIX = "[Subagent hand-back]"
"""Start of the line between the client's notes and a report; both are indented."""
_INDENT = "  "
_TRAILER = re.compile(
    r"(?:\A|\n)agentId: \w+ \((?:use SendMessage|for resuming)[^\n]*\)"
    r"(?:\n<usage>[^<]*</usage>)?\s*\Z"
)
"""Lines that the client appends to a report."""

_TOOL_ERROR = re.compile(r"<tool_use_error>(.*)</tool_use_error>", re.DOTALL)
_STATE_NOTE = " (file state is current in your context \u2014 no need to Read it back)"
"""Note that the client appends to the results of tools that write files."""


def find_report(text: str) -> str:
    """Return a subagent's report without the client's text; "" if it added none.

    In newer versions, the report is indented: only the client's own lines start in the
    first column, so a report cannot imitate them.
    """
    if text.startswith(_LAUNCHED):
        return _LAUNCHED
    lines = text.split("\n")
    notes = list(takewhile(_is_indented, lines))
    framed_lines = lines[len(notes) :]
    if framed_lines and framed_lines[0].startswith(_FRAME_PREFIX):
        report = takewhile(_is_indented, framed_lines[1:])
        return "\n".join(line.removeprefix(_INDENT) for line in report).strip("\n")
    # Older versions write no frame and only append lines.
    trailer = _TRAILER.search(text)
    return text[: trailer.start()].strip("\n") if trailer else ""


def strip_client_notes(text: str) -> str:
    """Return a result without the client's notes to the model; "" if it has none."""
    if error := _TOOL_ERROR.fullmatch(text):
        return error[1]
    return text.removesuffix(_STATE_NOTE) if text.endswith(_STATE_NOTE) else ""


def _is_indented(line: str) -> bool:
    return line.startswith(_INDENT) or not line.strip()
