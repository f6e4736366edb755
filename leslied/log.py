"""Logging to standard error: one line per event, without content of agents' logs.

Messages of unexpected exceptions may quote that content, and are left out.

File names, ids and reasons are logged, although they come from agents' logs, too.
One processor therefore replaces secrets and control characters in every event.
"""

from __future__ import annotations

import sys
import threading
import traceback
import warnings
from typing import TYPE_CHECKING, Any

from leslied.control_characters import escape_control_characters
from leslied.errors import describe_cause

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType

    from structlog.typing import EventDict, ExcInfo, FilteringBoundLogger

    Redact = Callable[[str], str]

_TRACEBACK_TITLE = "Traceback (most recent call last):"
_SAFE_ERRORS = (OSError, AttributeError, ImportError, NameError)
"""Errors whose messages contain only names of files and names in code."""


def make_logger(redact: Redact, *, as_json: bool = False) -> FilteringBoundLogger:
    """Configure structlog for this process and return a logger.

    `redact` replaces the secrets in a text. The logger does not fail if standard error
    is closed.
    """
    structlog = _import_structlog()

    def clean_event(_logger: object, _method: str, event: EventDict) -> EventDict:
        clean: EventDict = _clean_value(event, redact)
        return clean

    renderer: Any = structlog.processors.JSONRenderer()
    if not as_json:
        renderer = structlog.dev.ConsoleRenderer(colors=sys.stderr.isatty())
    structlog.configure(
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.ExceptionRenderer(_format_exc_info),
            clean_event,
            renderer,
        ],
        logger_factory=structlog.PrintLoggerFactory(_Stderr()),
        cache_logger_on_first_use=True,
    )
    log: FilteringBoundLogger = structlog.get_logger()
    return log


def _import_structlog() -> Any:
    """Import structlog, which only the daemon needs, without rich.

    structlog would use rich, with 4 MB of code, to format exceptions in a terminal;
    here, they are formatted by `_format_exc_info`.
    """
    is_hidden = "rich" not in sys.modules
    if is_hidden:
        # With None in place of a module, its import fails as if it were not installed.
        sys.modules["rich"] = None  # type: ignore[assignment]
    try:
        import structlog  # noqa: PLC0415
    finally:
        if is_hidden:
            del sys.modules["rich"]
    return structlog


def _clean_value(value: Any, redact: Redact) -> Any:
    """Replace secrets and control characters in a value to log, and in its keys."""
    if isinstance(value, dict):
        return {
            _to_line(redact(str(name))): _clean_value(item, redact)
            for name, item in value.items()
        }
    if isinstance(value, (list, tuple, set, frozenset)):
        return [_clean_value(item, redact) for item in value]
    if value is None or isinstance(value, (bool, int, float)):
        return value
    return _to_line(redact(str(value)))


def _to_line(text: str) -> str:
    """Return the text on one line, with escapes instead of control characters."""
    return escape_control_characters(text.replace("\n", "\\n"))


def _format_exc_info(exc_info: ExcInfo) -> str:
    _, error, _ = exc_info
    return format_exception(error)


def format_exception(error: BaseException) -> str:
    """Format an exception and its causes with their tracebacks.

    Messages that may quote the text of a session are left out.
    """
    parts: list[str] = []
    formatted_ids: set[int] = set()
    current: BaseException | None = error
    while current is not None and id(current) not in formatted_ids:
        formatted_ids.add(id(current))
        places = "".join(traceback.format_tb(current.__traceback__))
        message = _get_safe_message(current)
        parts.append(f"{_TRACEBACK_TITLE}\n{places}{type(current).__name__}{message}")
        context = None if current.__suppress_context__ else current.__context__
        current = current.__cause__ or context
    return "\n\nAfter that:\n\n".join(reversed(parts))


def _get_safe_message(error: BaseException) -> str:
    """Return what follows the type of an exception: a colon and a text, or nothing.

    The text is the exception's message only if that cannot quote a session.
    """
    if isinstance(error, _SAFE_ERRORS):
        return f": {error}"
    cause = describe_cause(error)
    return f": {cause}" if cause != type(error).__name__ else ""


def report_crashes(load_redact: Callable[[], Redact]) -> None:
    """Print unexpected errors and Python's warnings without secrets from now on.

    `load_redact` is called only for such an error or warning.
    """

    def report(
        kind: type[BaseException], error: BaseException, trace: TracebackType | None
    ) -> None:
        text = format_exception(error.with_traceback(trace))
        _print_crash(text, kind.__name__, load_redact)

    def report_thread(crash: threading.ExceptHookArgs) -> None:
        if crash.exc_value is not None:
            report(crash.exc_type, crash.exc_value, crash.exc_traceback)

    def report_warning(
        message: Warning | str, category: type[Warning], *position: Any, **_: Any
    ) -> None:
        place = ":".join(map(str, position[:2]))
        text = f"{place}: {category.__name__}: {message}"
        _print_crash(text, category.__name__, load_redact)

    sys.excepthook = report
    threading.excepthook = report_thread
    warnings.showwarning = report_warning


def _print_crash(text: str, kind: str, load_redact: Callable[[], Redact]) -> None:
    """Print the text indented, so that none of its lines looks like one of the log."""
    try:
        inert = escape_control_characters(load_redact()(text))
    except Exception:  # noqa: BLE001 - redaction itself may be what crashed
        inert = f"{kind}; its message is not shown, because redaction failed."
    lines = inert.rstrip("\n").split("\n")
    _Stderr().write("leslied crashed:\n" + "".join(f"  {line}\n" for line in lines))


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
