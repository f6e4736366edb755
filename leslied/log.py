"""Logging to standard error: one line per event, without content of agents' logs."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from structlog.typing import FilteringBoundLogger


def make_logger(*, as_json: bool = False) -> FilteringBoundLogger:
    """Configure structlog for this process and return a logger.

    The logger does not fail if standard error is closed.
    """
    # The import takes 80 ms, and only the daemon needs it.
    import structlog  # noqa: PLC0415

    renderer: Any = structlog.processors.JSONRenderer()
    if not as_json:
        renderer = structlog.dev.ConsoleRenderer(colors=sys.stderr.isatty())
    structlog.configure(
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.ExceptionRenderer(),
            renderer,
        ],
        logger_factory=structlog.PrintLoggerFactory(_Stderr()),  # type: ignore[arg-type]
        cache_logger_on_first_use=True,
    )
    log: FilteringBoundLogger = structlog.get_logger()
    return log


class _Stderr:
    """Standard error, with write errors ignored."""

    def write(self, text: str) -> int:
        try:
            return sys.stderr.write(text)
        except (OSError, ValueError):
            return len(text)

    def flush(self) -> None:
        try:
            sys.stderr.flush()
        except (OSError, ValueError):
            return
