"""The shape of a Claude Code log line: only the fields that mean something to us.

A typed decoder skips what is not declared (copies of tool output, images as base64)
without building it, which is most of a log's bytes. A line it refuses is read again
slowly and its odd fields are dropped one by one: a line is never lost to a surprise.
"""

from __future__ import annotations

from functools import cache
from typing import Any, TypeVar, get_args, get_origin

import msgspec
from msgspec import Raw

from leslied.agents._parsing import parse_object, to_json
from leslied.errors import DecodeError

NOTHING = Raw(b"")
T = TypeVar("T", bound=msgspec.Struct)


class Payload(msgspec.Struct):
    """An image's or document's source; the data itself is only measured."""

    type: str | None = None
    media_type: str | None = None
    data: Raw = NOTHING


class Part(msgspec.Struct):
    """One part of a tool result."""

    type: str | None = None
    text: str | None = None
    source: Payload | None = None
    tool_name: str | None = None


class Block(msgspec.Struct):
    """One block of a message."""

    type: str | None = None
    text: str | None = None
    thinking: str | None = None
    id: str | None = None
    name: str | None = None
    input: Raw = NOTHING
    tool_use_id: str | None = None
    content: str | list[Part] | None = None
    is_error: bool | None = None
    source: Payload | None = None
    title: str | None = None


class CacheWrites(msgspec.Struct):
    """How long what was written to the cache is kept."""

    ephemeral_1h_input_tokens: int | None = None


class Tokens(msgspec.Struct):
    """The usage of one API message."""

    input_tokens: int | None = None
    output_tokens: int | None = None
    cache_read_input_tokens: int | None = None
    cache_creation_input_tokens: int | None = None
    cache_creation: CacheWrites | None = None


class Message(msgspec.Struct):
    """An API message, or the part of one that a line holds."""

    content: str | list[Block] | None = None
    id: str | None = None
    model: str | None = None
    stop_reason: str | None = None
    usage: Tokens | None = None


class PromptOrigin(msgspec.Struct):
    """Who made a prompt."""

    kind: str | None = None


class ToolOutcome(msgspec.Struct):
    """What the client noted beside a tool result."""

    agentId: str | None = None
    persistedOutputPath: str | None = None


class Line(msgspec.Struct):
    """One log line of any type."""

    type: str | None = None
    subtype: str | None = None
    uuid: str | None = None
    parentUuid: str | None = None
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
    message: Message | None = None
    toolUseResult: ToolOutcome | str | list[Raw] | None = None
    attachment: Raw = NOTHING
    data: Raw = NOTHING
    parentToolUseID: str | None = None
    content: Raw = NOTHING
    level: str | None = None
    operation: str | None = None
    summary: str | None = None
    aiTitle: str | None = None
    customTitle: str | None = None
    agentName: str | None = None
    leafUuid: str | None = None
    messageId: str | None = None
    mode: str | None = None
    error: Raw = NOTHING
    compactMetadata: Raw = NOTHING
    microcompactMetadata: Raw = NOTHING
    durationMs: float | None = None
    retryAttempt: int | None = None
    maxRetries: int | None = None
    stopReason: str | None = None
    prUrl: str | None = None
    totalCostUSD: float | None = None
    worktreeSession: Raw = NOTHING
    planContent: str | None = None
    logicalParentUuid: str | None = None
    tool_name: str | None = None
    tool_use_id: str | None = None
    input: Raw = NOTHING


class Attachment(msgspec.Struct):
    """Something the client put into the context."""

    type: str | None = None
    prompt: str | list[Block] | None = None
    commandMode: str | None = None
    filename: str | None = None
    displayPath: str | None = None
    content: Raw = NOTHING
    hookName: str | None = None
    hookEvent: str | None = None
    planFilePath: str | None = None
    text: str | None = None


class Progress(msgspec.Struct):
    """A passing state; a subagent's holds a whole line of its log."""

    type: str | None = None
    agentId: str | None = None
    message: Raw = NOTHING


class AgentMeta(msgspec.Struct):
    """The side file of a subagent's log."""

    agentType: str | None = None
    description: str | None = None
    toolUseId: str | None = None
    parentAgentId: str | None = None
    spawnDepth: int | None = None
    requestShape: str | None = None
    finished: bool | None = None
    name: str | None = None


_LINE = msgspec.json.Decoder(Line)


def parse_line(data: bytes) -> Line:
    """The line's known fields; fields of an odd type are left out, never the line."""
    try:
        return _LINE.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return coerce(parse_object(data), Line)


def parse_as(raw: Raw, shape: type[T]) -> T:
    """A nested object's known fields; an empty shape where there is none."""
    data = bytes(raw)
    if data[:1] != b"{":
        return shape()
    try:
        return msgspec.json.decode(data, type=shape)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        pass
    try:
        return coerce(parse_object(data), shape)
    except DecodeError:
        return shape()


def parse_raw(raw: Raw) -> Any:
    """A nested value as plain Python; None where there is none."""
    data = bytes(raw)
    if not data:
        return None
    try:
        return msgspec.json.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        pass
    try:
        return parse_object(b'{"it":' + data + b"}")["it"]
    except DecodeError:
        return data.decode(errors="replace")


def coerce(value: dict[str, Any], shape: type[T]) -> T:
    """An instance with every field of the value that fits."""
    fitting = {}
    for field in _fields_of(shape):
        if field.encode_name in value:
            item = _fit(value[field.encode_name], field.type)
            if item is not _UNFIT:
                fitting[field.name] = item
    return shape(**fitting)


_UNFIT = object()
_fields_of = cache(msgspec.structs.fields)


def _fit(value: Any, wanted: Any) -> Any:
    """The value in the wanted form, or `_UNFIT`."""
    if wanted is Raw:
        return Raw(msgspec.json.encode(value))
    for member in (wanted, *get_args(wanted)):
        fitted = _fit_member(value, member)
        if fitted is not _UNFIT:
            return fitted
    try:
        return msgspec.convert(value, wanted, strict=False)
    except msgspec.ValidationError:
        return _UNFIT


def _fit_member(value: Any, member: Any) -> Any:
    """The value as a struct, or as a list of structs; a lone one is a list of one."""
    if _is_struct(member):
        if isinstance(value, dict):
            return coerce(value, member)
        if isinstance(value, str) and member is Message:
            return Message(content=value)
    elif get_origin(member) is list and _is_struct(shape := get_args(member)[0]):
        if isinstance(value, dict):
            return [_fit_item(value, shape)]
        if isinstance(value, list):
            return [_fit_item(each, shape) for each in value]
    return _UNFIT


def _fit_item(value: Any, shape: Any) -> Any:
    """A list's item; what is no object stands there as its own text."""
    if isinstance(value, dict):
        return coerce(value, shape)
    text = value if isinstance(value, str) else to_json(value)
    return shape(type="text", text=text)


def _is_struct(shape: Any) -> bool:
    return isinstance(shape, type) and issubclass(shape, msgspec.Struct)
