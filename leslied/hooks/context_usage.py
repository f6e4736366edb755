"""Estimate of how full an agent's context window is, from the end of its log."""

from __future__ import annotations

from leslied.hooks.files import read_tail
from leslied.mini_json import loads

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

TAIL_BYTES = 262_144
"""Length of the end of the log that is searched for the last answer."""
_DEFAULT_WINDOW_TOKENS = 200_000
_LARGE_WINDOW_TOKENS = 1_000_000
_LARGE_WINDOW_MARKER = "[1m]"
"""Part of a model's name that selects the large window."""
_NEARLY_FULL_RATIO = 0.9
_USAGE_FIELDS = (
    "input_tokens",
    "cache_read_input_tokens",
    "cache_creation_input_tokens",
    "output_tokens",
)


def is_nearly_full(log: str, model: str = "") -> bool:
    """Return whether the last request and its answer fill 90 % of the window.

    `log` is the path of the agent's log. `model` is the name in the hook event, which
    can have a marker that the names in the log lack.
    """
    for line in reversed(read_tail(log, TAIL_BYTES).split(b"\n")):
        if b'"usage"' not in line or b'"assistant"' not in line:
            continue
        used_tokens, logged_models = _parse_usage(line)
        if used_tokens:
            return used_tokens >= _NEARLY_FULL_RATIO * _get_window_tokens(
                used_tokens, f"{model} {logged_models}"
            )
    return False


def _get_window_tokens(used_tokens: int, models: str) -> int:
    """Return the window's size: large if a name has the marker or usage requires it.

    `models` contains all names of the model, separated by spaces.
    """
    if _LARGE_WINDOW_MARKER in models or used_tokens > _DEFAULT_WINDOW_TOKENS:
        return _LARGE_WINDOW_TOKENS
    return _DEFAULT_WINDOW_TOKENS


def _parse_usage(line: bytes) -> tuple[int, str]:
    """Return the used tokens and the model names of an answer in the log.

    Return (0, "") if the line is not an answer of the main agent.
    """
    try:
        entry = loads(line)
    except (ValueError, RecursionError):
        return 0, ""
    if not isinstance(entry, dict) or entry.get("type") != "assistant":
        return 0, ""
    message = entry.get("message")
    if entry.get("isSidechain") or not isinstance(message, dict):
        return 0, ""
    usage = message.get("usage")
    counts = [_get_count(usage, name) for name in _USAGE_FIELDS]
    return sum(counts), f"{message.get('model')} {entry.get('requestedModel')}"


def _get_count(usage: Any, name: str) -> int:
    value = usage.get(name) if isinstance(usage, dict) else 0
    return value if isinstance(value, int) and value > 0 else 0
