"""Find what a subagent reported in the result that the client made of it."""

from __future__ import annotations

from itertools import takewhile

_LAUNCHED = "Async agent launched successfully."
"""Start of the result of a subagent in the background; instructions follow."""
_FRAME_PREFIX = "[Subagent hand-back]"
"""Start of the line before a report, since 2.1.3xx; the report is indented."""
_INDENT = "  "


def find_report(text: str, agent_id: str) -> str:
    """Return the report of a subagent; empty if the client added nothing to it.

    Only the client's own lines start in the first column after the frame, so a report
    cannot imitate them.
    """
    if text.startswith(_LAUNCHED):
        return _LAUNCHED
    lines = text.split("\n")
    frames = [n for n, line in enumerate(lines) if line.startswith(_FRAME_PREFIX)]
    if frames:
        indented = takewhile(_is_indented, lines[frames[0] + 1 :])
        return "\n".join(line.removeprefix(_INDENT) for line in indented).strip("\n")
    # Older versions only append lines, which start with the subagent's id.
    report, trailer, _ = f"\n{text}".rpartition(f"\nagentId: {agent_id}")
    return report.strip("\n") if trailer else ""


def _is_indented(line: str) -> bool:
    return line.startswith(_INDENT) or not line.strip()
