"""The text form of a transcript, and its parser.

    header   = six lines `Name: value`, for a subagent two more, each with NL;
               last, if the user took the unit back: "Rewound: yes" NL
    file     = header "---" NL NL block *( NL block )
    block    = head NL content NL
    head     = "user:" | "assistant:" | "[Error]"
             | "[Tool call] NAME" [" #" INDEX] | "[Tool result] NAME" [" #" INDEX]
    subagent = "[Subagent] ID FILE" NL
    note     = "[Notification] TEXT" NL | "[Compacted]" NL
    cut      = "[Cut] N blocks, N bytes; the whole: leslied show --full CHAT" NL

A content line that looks like one of these lines, after any number of backslashes, is
written with one more backslash; so is the `#` of a NAME that itself ends like an INDEX.
Lines end at NL and nowhere else; FILE has no spaces. `docs/transcripts.md` explains the
format.
"""

from __future__ import annotations

import re
from datetime import datetime
from typing import TYPE_CHECKING, Any

from leslied.rendering.transcript_document import (
    AssistantBlock,
    CallBlock,
    CompactedBlock,
    CutBlock,
    ErrorBlock,
    NotificationBlock,
    ResultBlock,
    SubagentBlock,
    TranscriptDocument,
    UserBlock,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from leslied.rendering.transcript_document import TranscriptBlock

_FIELDS = (
    "Thread ID",
    "Chat ID",
    "Time Range",
    "Agent Mode",
    "Stop Reason",
    "Tool Calls",
    "Source",
    "Parent Chat ID",
)
_REWOUND, _REWOUND_LINE = "Rewound", "Rewound: yes"
_QUERY_START, _QUERY_END = "<user_query>", "</user_query>"
_STRUCTURAL = re.compile(
    r"^\\*[^\S\n]*(?:user:|assistant:|\[Tool call\]|\[Tool result\]|\[Error\]"
    r"|\[Subagent\]|\[Notification\]|\[Compacted\]|\[Cut\]|</?user_query>|---"
    rf"|(?:{'|'.join((*_FIELDS, _REWOUND))}):)",
    re.IGNORECASE | re.MULTILINE,
)
_CUT = re.compile(
    r"\[Cut\] (\d+) blocks, (\d+) bytes; the whole: leslied show --full (.*)"
)
_INDEXED_NAME = re.compile(r"(.*) #([1-9][0-9]{0,5})")
_NAME_LIKE_INDEXED = re.compile(r"(.* )(\\*)(#[1-9][0-9]{0,5})")
"""A name that ends like an index, after any number of backslashes."""
_COMPACTED = "[Compacted]"
_UNKNOWN = "unknown"


def serialize_document(document: TranscriptDocument) -> str:
    """Return the document as text; equal documents give equal bytes."""
    times = (document.started_at, document.ended_at)
    values = [
        document.thread_id,
        document.chat_id,
        " ~ ".join(t.isoformat(timespec="seconds") if t else _UNKNOWN for t in times),
        document.agent_mode,
        document.stop_reason,
        str(document.tool_calls),
    ]
    if document.source:
        values += [document.source, document.parent_chat_id]
    header = [f"{name}: {value}" for name, value in zip(_FIELDS, values, strict=False)]
    if document.is_rewound:
        header.append(_REWOUND_LINE)
    blocks = "\n\n".join(serialize_block(block) for block in document.blocks)
    return "\n".join([*header, "---", "", blocks, ""])


def serialize_block(block: TranscriptBlock) -> str:
    """Return one block as text, without the line end after it."""
    match block:
        case UserBlock(text):
            return f"user:\n{_QUERY_START}\n{_escape(text)}\n{_QUERY_END}"
        case AssistantBlock(text):
            return f"assistant:\n{_escape(text)}"
        case CallBlock(name, text, index):
            return f"[Tool call] {_format_name(name, index)}\n{_escape(text)}"
        case SubagentBlock(subagent_id, file):
            return f"[Subagent] {subagent_id} {file}"
        case ResultBlock(name, text, index):
            return f"[Tool result] {_format_name(name, index)}\n{_escape(text)}"
        case ErrorBlock(text):
            return f"[Error]\n{_escape(text)}"
        case NotificationBlock(text):
            return f"[Notification] {text}"
        case CompactedBlock():
            return _COMPACTED
        case CutBlock(omitted_blocks, omitted_bytes, chat_id):
            command = f"leslied show --full {chat_id}"
            counts = f"{omitted_blocks} blocks, {omitted_bytes} bytes"
            return f"[Cut] {counts}; the whole: {command}"


def parse_document(text: str) -> TranscriptDocument:
    """Parse a serialized document; raise ValueError if the text is not one."""
    head, separator, body = text.partition("\n---\n\n")
    if not separator or not body.endswith("\n"):
        raise ValueError("not a transcript")
    lines = head.split("\n")
    is_rewound = lines[-1] == _REWOUND_LINE
    if is_rewound:
        lines.pop()
    fields = dict(line.split(": ", 1) for line in lines)
    if list(fields) != list(_FIELDS[: len(lines)]) or len(lines) not in (6, 8):
        raise ValueError("not a transcript's header")
    started, ended = (_parse_time(t) for t in fields["Time Range"].split(" ~ "))
    return TranscriptDocument(
        thread_id=fields["Thread ID"],
        chat_id=fields["Chat ID"],
        started_at=started,
        ended_at=ended,
        agent_mode=fields["Agent Mode"],
        stop_reason=fields["Stop Reason"],
        tool_calls=int(fields["Tool Calls"]),
        source=fields.get("Source", ""),
        parent_chat_id=fields.get("Parent Chat ID", ""),
        is_rewound=is_rewound,
        blocks=tuple(_parse_blocks(body[:-1])),
    )


def _parse_blocks(body: str) -> Iterator[TranscriptBlock]:
    lines_of_block: list[str] = []
    for line in body.split("\n") if body else []:
        if lines_of_block and _is_block_head(line):
            # The blank line between two blocks belongs to neither of them.
            *block_lines, separator = lines_of_block
            if separator or not block_lines:
                raise ValueError(f"no blank line before {line[:40]!r}")
            yield _parse_block(block_lines)
            lines_of_block = []
        lines_of_block.append(line)
    if lines_of_block:
        yield _parse_block(lines_of_block)


def _is_block_head(line: str) -> bool:
    return line in ("user:", "assistant:", "[Error]", _COMPACTED) or line.startswith(
        ("[Tool call] ", "[Tool result] ", "[Subagent] ", "[Notification] ", "[Cut] ")
    )


def _parse_block(lines: list[str]) -> TranscriptBlock:
    """Return the block in these lines; raise ValueError if they are not a block."""
    head = lines[0]
    text = "\n".join(map(_unescape, lines[1:]))
    block_classes: dict[str, Any] = {
        "assistant:": AssistantBlock,
        "[Error]": ErrorBlock,
    }
    if head in block_classes:
        block: TranscriptBlock = block_classes[head](text)
        return block
    if head == "user:" and lines[1:2] == [_QUERY_START] and lines[-1] == _QUERY_END:
        return UserBlock("\n".join(map(_unescape, lines[2:-1])))
    if head.startswith("[Tool call] "):
        name, index = _parse_name(head.removeprefix("[Tool call] "))
        return CallBlock(name, text, index)
    if head.startswith("[Tool result] "):
        name, index = _parse_name(head.removeprefix("[Tool result] "))
        return ResultBlock(name, text, index)
    return _parse_one_line_block(head)


def _parse_one_line_block(head: str) -> TranscriptBlock:
    """Return the block that is this line; raise ValueError if there is none."""
    if head == _COMPACTED:
        return CompactedBlock()
    if head.startswith("[Notification] "):
        return NotificationBlock(head.removeprefix("[Notification] "))
    if head.startswith("[Subagent] "):
        subagent_id, _, file = head.removeprefix("[Subagent] ").rpartition(" ")
        return SubagentBlock(subagent_id, file)
    if match := _CUT.fullmatch(head):
        return CutBlock(int(match[1]), int(match[2]), match[3])
    raise ValueError(f"not a block: {head[:40]!r}")


def _format_name(name: str, index: int) -> str:
    """Return the name of a tool, followed by ` #` and the index unless that is 0.

    A name that itself ends with ` #1` or the like gets a backslash before the `#`.
    """
    match = _NAME_LIKE_INDEXED.fullmatch(name)
    escaped = f"{match[1]}\\{match[2]}{match[3]}" if match else name
    return f"{escaped} #{index}" if index else escaped


def _parse_name(text: str) -> tuple[str, int]:
    """Return the tool's name and index from a text that `_format_name` returned.

    The index is 0 if there is none.
    """
    match = _INDEXED_NAME.fullmatch(text)
    escaped, index = (match[1], int(match[2])) if match else (text, 0)
    name_match = _NAME_LIKE_INDEXED.fullmatch(escaped)
    if name_match and name_match[2]:
        return name_match[1] + name_match[2][1:] + name_match[3], index
    return escaped, index


def _parse_time(text: str) -> datetime | None:
    return None if text == _UNKNOWN else datetime.fromisoformat(text)


def _escape(text: str) -> str:
    """Return the text with a backslash before each line that looks structural."""
    if not _STRUCTURAL.search(text):
        return text
    lines = text.split("\n")
    return "\n".join("\\" + line if _STRUCTURAL.match(line) else line for line in lines)


def _unescape(line: str) -> str:
    return line[1:] if line[:1] == "\\" and _STRUCTURAL.match(line) else line
