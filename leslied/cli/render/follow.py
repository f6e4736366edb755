"""Lines of `leslied follow`: entries of many sessions, each with a label."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from leslied.cli.render.output import sanitize
from leslied.cli.render.record import RecordRenderer
from leslied.cli.render.session_labels import LABEL_WIDTH, SessionLabels, pick_color
from leslied.rendering.events import shows_turn_end
from leslied.rendering.humanize import format_path

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from leslied.cli.render.options import RenderOptions
    from leslied.model.record import Record, SessionKey
    from leslied.model.session import SessionSummary


class FollowView:
    """Renderer for interleaved entries of many sessions.

    A log often marks the end of a turn more than once; only the first mark is shown.
    """

    def __init__(
        self,
        options: RenderOptions,
        home: str,
        list_similar_ids: Callable[[list[str]], Iterable[str]],
    ) -> None:
        self._options = replace(options, width=max(options.width - LABEL_WIDTH - 1, 0))
        self._home = home
        self._labels = SessionLabels(list_similar_ids)
        self._renderers: dict[SessionKey, RecordRenderer] = {}
        self._busy_sessions: set[SessionKey] = set()
        """Sessions whose turn has begun and not ended."""

    def render_record(
        self, record: Record, summary: SessionSummary | None
    ) -> Iterator[str]:
        """Yield the labelled lines of one record."""
        key = record.session
        if key not in self._renderers:
            folder = summary.cwd if summary else ""
            self._renderers[key] = RecordRenderer(replace(self._options, folder=folder))
        label = self._format_label(key, summary)
        for line in self._renderers[key].render(record, ""):
            if line.strip():
                yield label + line
        if shows_turn_end(record) and key in self._busy_sessions:
            self._busy_sessions.discard(key)
            yield self._format_notice(key, summary, "turn ended")
        elif record.type in ("user_message", "thinking", "tool_use", "tool_result"):
            self._busy_sessions.add(key)

    def format_start(self, key: SessionKey, summary: SessionSummary | None) -> str:
        """Format the notice that a session or subagent started."""
        if summary is None:
            return self._format_notice(key, summary, "begins")
        if summary.is_subagent:
            parts = ["subagent begins", summary.description, summary.subagent_id]
        else:
            folder = format_path(summary.cwd, self._home)
            parts = ["session begins", key.agent, folder, key.session_id]
        return self._format_notice(
            key, summary, " · ".join(part for part in parts if part)
        )

    def format_stop(self, key: SessionKey, summary: SessionSummary | None) -> str:
        """Format the notice that a session stopped, which also ends its turn."""
        self._busy_sessions.discard(key)
        return self._format_notice(key, summary, "session stopped")

    def _format_notice(
        self, key: SessionKey, summary: SessionSummary | None, text: str
    ) -> str:
        options = self._options
        line = sanitize(f"· {text}")
        if options.is_rich:
            line = options.truncate(line, options.width)
        return self._format_label(key, summary) + options.paint(line, dim=True)

    def _format_label(self, key: SessionKey, summary: SessionSummary | None) -> str:
        label = self._labels.format_label(key, summary)
        return self._options.paint(label, fg=pick_color(key.session_id)) + " "
