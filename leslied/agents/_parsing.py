"""Parse JSON and times leniently, and format names and sizes, for all agents."""

from __future__ import annotations

import json
import re
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Any, NoReturn, cast

import msgspec

from leslied.errors import DecodeError
from leslied.model.times import EPOCH

_MAX_INTEGER_DIGITS = 4000
"""Python refuses to convert text of more than 4300 digits to an integer."""
_MAX_INTEGER_BITS = 63
_MAX_LENIENT_BYTES = 4 * 1024 * 1024
"""Lenient parsing builds every value: a larger line would cost too much memory."""
_MAX_LARGE_VALUES = 500_000
"""Number of values in a large line. Each takes about 100 bytes of memory: a line of
32 MiB with nothing but empty lists would take more than a gigabyte."""
_VALUE_SIGNS = (b",", b"[", b"{")
"""Every value but the first of a line begins after one of these."""
_JSON_STRING = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"', re.DOTALL)
_LARGE_INTEGER = re.compile(rb"[0-9]{19}")
"""An integer that may exceed 64 bits."""
_OBJECT_DECODER = msgspec.json.Decoder(dict[str, Any])
_MIN_EPOCH_MILLISECONDS = 100_000_000_000
"""A larger number is milliseconds; as seconds, it would be after the year 5000."""
_PERCENT_CODE = re.compile(rb"%([0-9A-Fa-f]{2})")
_DRIVE = re.compile(r"/[A-Za-z]:(/|\Z)")
_FAILED_EXIT_LINE = re.compile(
    r"\nExit Code: (-?[1-9]\d{0,8})"
    r"(?=(?:\n(?:Signal|Background PIDs|Process Group PGID): [^\n]*)*\s*\Z)"
)
_SHELL_OUTPUT = re.compile(
    r"(?:Command: .*?\nDirectory: [^\n]*\n)?Output: (?P<text>.*?)"
    r"(?:\nError: \(none\)|(?P<error>\nError: .*?))?"
    r"(?:\n(?:Exit Code|Signal|Background PIDs|Process Group PGID): [^\n]*)*\s*",
    re.DOTALL,
)
"""How Gemini CLI and Qwen Code report the output of a command."""


def parse_object(data: bytes) -> dict[str, Any]:
    """Return the JSON object in `data`, or raise DecodeError.

    JSON that msgspec rejects is parsed in a slower and more lenient way. All values can
    be encoded again: lone surrogates are replaced, and NaN and numbers that are too
    large become text. More than 4 MiB of data must be valid.
    """
    if len(data) > _MAX_LENIENT_BYTES:
        return _parse_large_object(data)
    if not _LARGE_INTEGER.search(data):
        with suppress(msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return _OBJECT_DECODER.decode(data)
    text = data.decode("utf-8-sig", errors="replace")
    try:
        value = json.loads(
            text,
            strict=False,
            parse_constant=str,
            parse_int=_parse_int,
            parse_float=_parse_float,
        )
        if isinstance(value, dict):
            return cast("dict[str, Any]", _sanitize_value(value))
    except json.JSONDecodeError as error:
        raise DecodeError(f"not JSON: {error.msg} at character {error.pos}") from error
    except RecursionError as error:
        raise DecodeError("nested too deeply") from error
    raise DecodeError(f"JSON, but {type(value).__name__} instead of an object")


def _parse_large_object(data: bytes) -> dict[str, Any]:
    """Return the JSON object in a large line, or raise DecodeError."""
    if _count_values(data) > _MAX_LARGE_VALUES:
        raise DecodeError(f"too large for so many values: {len(data)} bytes")
    try:
        value = _OBJECT_DECODER.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        reason = f"damaged and too large to repair: {len(data)} bytes"
        raise DecodeError(reason) from error
    if not _LARGE_INTEGER.search(data):
        return value
    return cast("dict[str, Any]", _sanitize_value(value))


def _count_values(data: bytes) -> int:
    """Return an upper bound for the number of values in some JSON."""
    signs = sum(map(data.count, _VALUE_SIGNS))
    if signs > _MAX_LARGE_VALUES:
        # Leave out the signs inside texts. This takes longer, so it is done only now.
        signs = sum(map(_JSON_STRING.sub(b"", data).count, _VALUE_SIGNS))
    return signs + 1


def parse_document(data: bytes) -> dict[str, Any]:
    """Return the JSON object of a whole file of any size, or raise DecodeError."""
    value = parse_value(data)
    if not isinstance(value, dict):
        raise DecodeError(f"JSON, but {type(value).__name__} instead of an object")
    return value


def parse_value(data: bytes) -> Any:
    """Return the JSON value of a whole file, which may be a list, or raise DecodeError.

    A file that is too large for lenient parsing must be valid.
    """
    text = data.removeprefix(b"\xef\xbb\xbf")
    if len(text) <= _MAX_LENIENT_BYTES // 2:
        return parse_object(b'{"document":%b}' % text)["document"]
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        reason = f"damaged and too large to repair: {len(data)} bytes"
        raise DecodeError(reason) from error


def to_json(value: object) -> str:
    """Return a plain value as compact JSON."""
    return msgspec.json.encode(value).decode()


def parse_time(value: object) -> datetime | None:
    """Return a time with a zone, from ISO text, or seconds or milliseconds since 1970.

    Return None if the value is not a valid time. Text without a zone is in UTC.
    """
    try:
        if isinstance(value, str):
            time = datetime.fromisoformat(value)
            # The first and last years cannot be converted to every time zone.
            if not 1 < time.year < 9999:
                return None
            return time if time.tzinfo else time.replace(tzinfo=UTC)
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            seconds = value / 1000 if value > _MIN_EPOCH_MILLISECONDS else value
            return EPOCH + timedelta(seconds=seconds)
    except (ValueError, OverflowError):
        pass
    return None


def parse_local_time(value: object) -> datetime | None:
    """Return a time with a zone; text without one is in the machine's time zone.

    Return None if the value is not a valid time.
    """
    time = parse_time(value)
    try:
        if time and isinstance(value, str) and not datetime.fromisoformat(value).tzinfo:
            return time.replace(tzinfo=None).astimezone()
    except (ValueError, OverflowError, OSError):
        pass
    return time


def parse_file_uri(uri: object) -> str:
    """Return the path that a `file://` address names, or "" for anything else."""
    if not isinstance(uri, str) or not uri.startswith("file:///"):
        return ""
    path = uri.removeprefix("file://").partition("?")[0].partition("#")[0]
    data = _PERCENT_CODE.sub(
        lambda code: bytes.fromhex(code[1].decode()),
        path.encode(errors="replace"),
    )
    text = data.decode(errors="replace")
    # Windows: the drive has a slash before it.
    return text[1:] if _DRIVE.match(text) else text


def printable_name(name: str) -> str:
    """Return a file name as text; escape bytes that are not UTF-8."""
    if name.isascii():
        return name
    return name.encode(errors="surrogateescape").decode(errors="backslashreplace")


def format_size(size: int) -> str:
    """Return a size for people: `512 B`, `12 KB`, `3.4 MB`."""
    if size < 1000:
        return f"{size} B"
    if size < 1_000_000:
        return f"{size / 1000:.0f} KB"
    return f"{size / 1_000_000:.1f} MB"


def _parse_int(digits: str) -> int | str:
    """Return the integer, or its digits as text if it exceeds 64 bits."""
    if len(digits) > _MAX_INTEGER_DIGITS:
        return digits
    number = int(digits)
    return number if -(2**63) <= number < 2**63 else digits


def _parse_float(digits: str) -> float | str:
    """Return the number, or its digits as text if it is too large for a float."""
    number = float(digits)
    return digits if number in (float("inf"), float("-inf")) else number


def _sanitize_value(value: Any) -> Any:
    """Return the value so that it can be encoded again.

    Lone surrogates are replaced by U+FFFD; integers of over 64 bits become text.
    """
    if isinstance(value, str):
        return value if value.isascii() else _replace_surrogates(value)
    if isinstance(value, int) and value.bit_length() > _MAX_INTEGER_BITS:
        return str(value)
    if isinstance(value, list):
        return [_sanitize_value(item) for item in value]
    if isinstance(value, dict):
        return {
            _replace_surrogates(key): _sanitize_value(item)
            for key, item in value.items()
        }
    return value


def _replace_surrogates(text: str) -> str:
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def mark_exit_code(text: str, code: object) -> tuple[str, dict[str, Any]]:
    """Return a command's output and metadata.

    If the command failed, the output begins with its exit code.
    """
    if type(code) is not int or not 0 < abs(code) < 2**31:
        return text, {}
    lines = [f"Exit code {code}", *([text] if text else [])]
    return "\n".join(lines), {"is_error": True, "exit_code": code}


def parse_shell_result(text: str) -> tuple[str, dict[str, Any]]:
    """Return the text and metadata of a command's result.

    `text` is the result as Gemini CLI or Qwen Code wrote it. The metadata's `report` is
    the command's own output, after its exit code if it failed.
    """
    failed = _FAILED_EXIT_LINE.search(text)
    text_without_exit_code = (
        text[: failed.start()] + text[failed.end() :] if failed else text
    )
    marked, metadata = mark_exit_code(
        text_without_exit_code, int(failed[1]) if failed else None
    )
    if output := _SHELL_OUTPUT.fullmatch(text_without_exit_code):
        output_text = output["text"] + (output["error"] or "")
        report, _ = mark_exit_code(output_text, metadata.get("exit_code"))
        metadata["report"] = report
    return marked, metadata


def parse_task_notification(text: str) -> dict[str, str]:
    """Return metadata from a client's message that a background task has ended.

    `notification` is the message's summary on one line, `report` the task's result.
    Return an empty dict for any other text.
    """
    if not text.lstrip().startswith("<task-notification>"):
        return {}
    head, _, tail = text.partition("<result>")
    summary = head.partition("<summary>")[2].partition("</summary>")[0]
    # The task may have written any tags: only the last end tag is the client's.
    facts = {
        "notification": " ".join(summary.split()),
        "report": tail.rpartition("</result>")[0].strip(),
    }
    return {name: value for name, value in facts.items() if value}


def reject_entry(reason: str) -> NoReturn:
    """Raise DecodeError with this reason."""
    raise DecodeError(reason)
