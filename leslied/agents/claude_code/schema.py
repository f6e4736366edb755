"""Define the fields of a Claude Code log line that leslied uses.

Most bytes of a log are in other fields (copies of tool output, images as base64). A
typed decoder skips these fields without building their values. A line that the typed
decoder rejects is parsed again, slowly, and fields of an unexpected type are dropped
one by one, so that no line is lost.
"""

from __future__ import annotations

from functools import cache
from typing import Any, TypeVar, get_args, get_origin

import msgspec
from msgspec import Raw

from leslied.agents._parsing import parse_object, to_json
from leslied.errors import DecodeError

EMPTY_RAW = Raw(b"")
T = TypeVar("T", bound=msgspec.Struct)


class MediaSource(msgspec.Struct):
    """Source of an image or document; only the size of the data is used."""

    type: str | None = None
    media_type: str | None = None
    data: Raw = EMPTY_RAW


class ToolResultPart(msgspec.Struct):
    """One part of a tool result."""

    type: str | None = None
    text: str | None = None
    source: MediaSource | None = None
    tool_name: str | None = None


class ContentBlock(msgspec.Struct):
    """One block of a message."""

    type: str | None = None
    text: str | None = None
    thinking: str | None = None
    id: str | None = None
    name: str | None = None
    input: Raw = EMPTY_RAW
    tool_use_id: str | None = None
    content: str | list[ToolResultPart] | None = None
    is_error: bool | None = None
    source: MediaSource | None = None
    title: str | None = None


class CacheCreation(msgspec.Struct):
    """Cache writes by lifetime."""

    ephemeral_1h_input_tokens: int | None = None


class ClaudeUsage(msgspec.Struct):
    """Token counts of one API message."""

    input_tokens: int | None = None
    output_tokens: int | None = None
    cache_read_input_tokens: int | None = None
    cache_creation_input_tokens: int | None = None
    cache_creation: CacheCreation | None = None


class ClaudeMessage(msgspec.Struct):
    """An API message, or the part of one that a line holds."""

    content: str | list[ContentBlock] | None = None
    id: str | None = None
    model: str | None = None
    stop_reason: str | None = None
    usage: ClaudeUsage | None = None


class PromptOrigin(msgspec.Struct):
    """Where a prompt comes from."""

    kind: str | None = None


class ToolUseResult(msgspec.Struct):
    """Facts that the client stores next to a tool result."""

    agentId: str | None = None
    status: str | None = None
    persistedOutputPath: str | None = None


class ClaudeLine(msgspec.Struct):
    """One log line of any type."""

    type: str | None = None
    subtype: str | None = None
    uuid: str | None = None
    parentUuid: str | msgspec.UnsetType | None = msgspec.UNSET
    """None if the log says that the line has no parent; unset if it says nothing."""
    timestamp: str | int | float | None = None
    sessionId: str | None = None
    session_id: str | None = None
    cwd: str | None = None
    version: str | None = None
    gitBranch: str | None = None
    entrypoint: str | None = None
    permissionMode: str | None = None
    isSidechain: bool | None = None
    isMeta: bool | None = None
    isCompactSummary: bool | None = None
    isApiErrorMessage: bool | None = None
    agentId: str | None = None
    requestId: str | None = None
    promptSource: str | None = None
    origin: PromptOrigin | None = None
    message: ClaudeMessage | None = None
    toolUseResult: ToolUseResult | str | list[Raw] | None = None
    toolDenialKind: str | None = None
    attachment: Raw = EMPTY_RAW
    data: Raw = EMPTY_RAW
    parentToolUseID: str | None = None
    content: Raw = EMPTY_RAW
    level: str | None = None
    operation: str | None = None
    summary: str | None = None
    aiTitle: str | None = None
    customTitle: str | None = None
    agentName: str | None = None
    leafUuid: str | None = None
    explicit: bool | None = None
    messageId: str | None = None
    mode: str | None = None
    error: Raw = EMPTY_RAW
    compactMetadata: Raw = EMPTY_RAW
    microcompactMetadata: Raw = EMPTY_RAW
    durationMs: float | None = None
    retryAttempt: int | None = None
    maxRetries: int | None = None
    stopReason: str | None = None
    prUrl: str | None = None
    totalCostUSD: float | None = None
    worktreeSession: Raw = EMPTY_RAW
    planContent: str | None = None
    logicalParentUuid: str | None = None
    tool_name: str | None = None
    tool_use_id: str | None = None
    input: Raw = EMPTY_RAW


class Attachment(msgspec.Struct):
    """Something the client added to the context."""

    type: str | None = None
    prompt: str | list[ContentBlock] | None = None
    commandMode: str | None = None
    filename: str | None = None
    displayPath: str | None = None
    content: Raw = EMPTY_RAW
    hookName: str | None = None
    hookEvent: str | None = None
    planFilePath: str | None = None
    text: str | None = None


class ProgressData(msgspec.Struct):
    """A progress report; that of a subagent contains a whole line of its log."""

    type: str | None = None
    agentId: str | None = None
    message: Raw = EMPTY_RAW


class SubagentMeta(msgspec.Struct):
    """The metadata file of a subagent's log."""

    agentType: str | None = None
    description: str | None = None
    toolUseId: str | None = None
    parentAgentId: str | None = None
    spawnDepth: int | None = None
    requestShape: str | None = None
    finished: bool | None = None
    name: str | None = None


_LINE_DECODER = msgspec.json.Decoder(ClaudeLine)


def parse_line(data: bytes) -> ClaudeLine:
    """Return the line's known fields, without those of an unexpected type."""
    try:
        return _LINE_DECODER.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return coerce(parse_object(data), ClaudeLine)


def parse_struct(raw: Raw, struct_type: type[T]) -> T:
    """Return a nested object's known fields; all defaults if it is not an object."""
    data = bytes(raw)
    if data[:1] != b"{":
        return struct_type()
    try:
        return msgspec.json.decode(data, type=struct_type)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        pass
    try:
        return coerce(parse_object(data), struct_type)
    except DecodeError:
        return struct_type()


def parse_raw(raw: Raw) -> Any:
    """Return a nested value as plain Python; None if it is absent."""
    data = bytes(raw)
    if not data:
        return None
    try:
        return msgspec.json.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        pass
    try:
        return parse_object(b'{"value":' + data + b"}")["value"]
    except DecodeError:
        return data.decode(errors="replace")


def coerce(value: dict[str, Any], struct_type: type[T]) -> T:
    """Return a struct of the fields of `value`, without those of an unsuitable type."""
    fields = {}
    for field in _fields_of(struct_type):
        if field.encode_name in value:
            item = _fit(value[field.encode_name], field.type)
            if item is not _UNFIT:
                fields[field.name] = item
    return struct_type(**fields)


_UNFIT = object()
"""Stands for a value that cannot be converted, because None is a valid value."""
_fields_of = cache(msgspec.structs.fields)


def _fit(value: Any, field_type: Any) -> Any:
    """Return the value converted to a type or, for a union, to one of its members.

    Return `_UNFIT` if that is impossible.
    """
    if field_type is Raw:
        return Raw(msgspec.json.encode(value))
    for member_type in (field_type, *get_args(field_type)):
        converted = _fit_struct(value, member_type)
        if converted is not _UNFIT:
            return converted
    try:
        return msgspec.convert(value, field_type, strict=False)
    except msgspec.ValidationError:
        return _UNFIT


def _fit_struct(value: Any, expected_type: Any) -> Any:
    """Return the value as a struct or a list of structs, or `_UNFIT`.

    If a list is expected, a single object becomes a list of one.
    """
    if _is_struct(expected_type):
        if isinstance(value, dict):
            return coerce(value, expected_type)
        if isinstance(value, str) and expected_type is ClaudeMessage:
            return ClaudeMessage(content=value)
    elif get_origin(expected_type) is list and _is_struct(
        item_type := get_args(expected_type)[0]
    ):
        if isinstance(value, dict):
            return [_fit_item(value, item_type)]
        if isinstance(value, list):
            return [_fit_item(item, item_type) for item in value]
    return _UNFIT


def _fit_item(value: Any, struct_type: Any) -> Any:
    """Return a list item as a struct; anything but an object becomes its text."""
    if isinstance(value, dict):
        return coerce(value, struct_type)
    text = value if isinstance(value, str) else to_json(value)
    return struct_type(type="text", text=text)


def _is_struct(type_: Any) -> bool:
    return isinstance(type_, type) and issubclass(type_, msgspec.Struct)
