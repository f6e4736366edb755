"""How full the context windows of sessions were."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec import Struct

from leslied.model.record import MAIN
from leslied.queries.sessions import find_sessions
from leslied.queries.usage.scope import open_usage
from leslied.queries.usage.totals import get_session

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from leslied.model.session import SessionSummary
    from leslied.queries.context import QueryContext
    from leslied.queries.usage.scope import UsageScope
    from leslied.queries.usage.totals import SessionName, UsageStats

_PERCENT_STEP = 10
_FULL = 100


class ContextPeak(Struct, frozen=True, kw_only=True):
    """The largest request of a session."""

    session: SessionName
    model: str
    tokens: int
    """Input tokens of the request, including cached ones."""
    window: int | None
    """Tokens that fit in the model's window; None if it is unknown."""

    @property
    def percent(self) -> float | None:
        """Percentage of the window that the request filled; None if it is unknown."""
        return self.tokens * _FULL / self.window if self.window else None

    @property
    def rank(self) -> tuple[float, int]:
        """Sort key: the fullest window, then the most tokens."""
        return (self.percent or 0.0, self.tokens)


class ContextUse(Struct, frozen=True, kw_only=True):
    """Distribution of the largest request of each session, and the fullest windows."""

    bins: tuple[int, ...]
    """Sessions by percent of the window: up to 10, up to 20, …, up to 100, more."""
    unknown_sessions: int
    """Sessions with a model whose window is unknown; they are in no bin."""
    rows: tuple[dict[str, Any], ...]
    """The sessions with the fullest windows."""

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form."""
        return {
            "bins": [
                {"above_percent": low, "up_to_percent": high, "sessions": count}
                for low, high, count in self.iter_bins()
            ],
            "unknown_sessions": self.unknown_sessions,
            "rows": list(self.rows),
        }

    def iter_bins(self) -> Iterator[tuple[int, int | None, int]]:
        """Yield lower and upper limit in percent, and number of sessions, for CSV."""
        for index, count in enumerate(self.bins):
            low = index * _PERCENT_STEP
            yield low, low + _PERCENT_STEP if low < _FULL else None, count


def load_context_use(
    context: QueryContext, scope: UsageScope, limit: int
) -> ContextUse:
    """Return how full the windows of main sessions were, without those of subagents."""
    peaks = _find_peaks(context, scope)
    peaks_with_window = [peak for peak in peaks if peak.window]
    fullest = sorted(peaks, key=lambda peak: peak.rank, reverse=True)[:limit]
    sessions = find_sessions(context.reader, [peak.session for peak in fullest])
    return ContextUse(
        bins=_count_bins(peaks_with_window),
        unknown_sessions=len(peaks) - len(peaks_with_window),
        rows=tuple(
            _to_row(context, peak, sessions.get(peak.session)) for peak in fullest
        ),
    )


def _find_peaks(context: QueryContext, scope: UsageScope) -> list[ContextPeak]:
    """Return the fullest window of each session."""
    stats = open_usage(context, scope)
    peaks: dict[SessionName, ContextPeak] = {}
    for bucket in stats.list_buckets(
        "session", scope.select(context), with_sessions=True
    ):
        # `size` is that of the largest request. It is 0 if only the sum of several
        # requests is known.
        if bucket.session is None or bucket.session.source != MAIN or not bucket.size:
            continue
        name = get_session(bucket.session)
        peak = _make_peak(stats, name, bucket.model, bucket.size)
        if name not in peaks or peak.rank > peaks[name].rank:
            peaks[name] = peak
    return list(peaks.values())


def _make_peak(
    stats: UsageStats, session: SessionName, model: str, tokens: int
) -> ContextPeak:
    window = stats.find_window(model)
    return ContextPeak(session=session, model=model, tokens=tokens, window=window)


def _count_bins(peaks: Iterable[ContextPeak]) -> tuple[int, ...]:
    """Return the number of sessions in each tenth of the window, and above it."""
    # The last bin is for requests that are larger than the window.
    last_bin = _FULL // _PERCENT_STEP
    counts = [0] * (last_bin + 1)
    for peak in peaks:
        # The upper limit of a bin belongs to it, so that a full window is not above it.
        bin_index = -(-peak.tokens * last_bin // (peak.window or 1)) - 1
        counts[min(max(bin_index, 0), last_bin)] += 1
    return tuple(counts)


def _to_row(
    context: QueryContext, peak: ContextPeak, session: SessionSummary | None
) -> dict[str, Any]:
    agent, session_id = peak.session
    return {
        "session": context.redact(session_id),
        "agent": agent,
        "title": context.redact(session.title) or None if session else None,
        "project": context.redact(session.project) or None if session else None,
        "model": context.redact(peak.model),
        "peak_tokens": peak.tokens,
        "window_tokens": peak.window,
        "percent": peak.percent,
    }
