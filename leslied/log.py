"""One line per event on standard error, and never a word of what a log says."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from structlog.typing import FilteringBoundLogger


def make_logger(*, as_json: bool = False) -> FilteringBoundLogger:
    """A logger for this process; a closed standard error is no reason to die."""
    import structlog  # noqa: PLC0415 - 80 ms that only the daemon pays

    render: Any = structlog.processors.JSONRenderer()
    if not as_json:
        render = structlog.dev.ConsoleRenderer(colors=sys.stderr.isatty())
    structlog.configure(
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.ExceptionRenderer(),
            render,
        ],
        logger_factory=structlog.PrintLoggerFactory(_Stderr()),  # type: ignore[arg-type]
        cache_logger_on_first_use=True,
    )
    log: FilteringBoundLogger = structlog.get_logger()
    return log


class _Stderr:
    """Standard error that swallows its own failure."""

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
