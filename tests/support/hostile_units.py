"""Sessions made of text that imitates the structure of a transcript.

Every text that a log chooses is hostile: contents, tool names, parameters, ids of
sessions, subagents and calls, models and folders.
"""

from __future__ import annotations

from datetime import UTC
from random import Random
from typing import NamedTuple

from leslied.control_characters import format_one_line, replace_control_characters
from leslied.model.record import PlacedRecord, Record
from leslied.model.session import Session, Unit
from leslied.sinks.leslie import (
    AssistantBlock,
    CallBlock,
    CompactedBlock,
    CutBlock,
    ErrorBlock,
    NotificationBlock,
    ResultBlock,
    SubagentBlock,
    TranscriptDocument,
    TranscriptLimits,
    UserBlock,
    parse_document,
    render,
)
from tests.support.records import make_event, make_key, make_prompt, make_record
from tests.support.units import (
    make_call,
    make_child,
    make_placed,
    make_result,
    make_summary,
    make_unit,
)

PIECES = [
    "user:", "assistant:", "[Tool call] x", "[Tool result] ", "[Error]", "---", "\\",
    "<user_query>", "</user_query>", "Thread ID: t", "Chat ID:", "[Cut] 1 blocks, 2 ",
    "[Subagent] a b", "\n", "\n\n", " ", "\t", "", "hello", "日本", "🎉", "\u2028",
    "\u0085", "\r", "\r\n", "\x1c", "Source: x", "\\\\user:", " user:", "User:", "é",
    "a: b", "Rewound: yes", "\n---\n\n", "\nassistant:\n", "\n</user_query>\n\n",
    "[Notification] x", "[Compacted]", "[compacted] ", " #2", "#1", " \\#12", " #0",
    "\u200b", "\u202e", "\x1b[2K", "\U000e0041", "\ufeff", "\u3164", "\xa0", "\ud800",
]  # fmt: skip
UNLIMITED = TranscriptLimits(
    params=10**9, result=10**9, query=10**9, file=10**9, include_thinking=True
)


class ShownBlock(NamedTuple):
    """What a transcript must show of an entry: who speaks, a name, and the text."""

    role: str
    name: str
    text: str


def make_text(rng: Random) -> str:
    """Return up to seven pieces of hostile text."""
    return "".join(rng.choices(PIECES, k=rng.randrange(8)))


def make_hostile_unit(
    rng: Random, depth: int = 0, call: str = ""
) -> tuple[Unit, list[ShownBlock]]:
    """Return a random unit, and the blocks that its transcript must have.

    Above depth 0 it is a unit of a subagent, which `call` started.
    """
    entries: list[PlacedRecord] = []
    blocks: list[ShownBlock] = []
    children: list[Unit] = []
    for number in range(rng.randrange(1, 5)):
        record, record_blocks = _make_entry(rng)
        entries.append(make_placed(record))
        blocks += record_blocks
        if depth < 2 and rng.random() < 0.15:
            spawn_id, name = f"{make_text(rng)}{depth}.{number}", make_text(rng)
            child, _ = make_hostile_unit(rng, depth + 1, spawn_id)
            children.append(child)
            entries.append(make_placed(make_call(name, "{}", spawn_id)))
            entries.append(make_placed(make_result(spawn_id, "done")))
            shown_name = format_one_line(name) or "unknown"
            blocks += [
                ShownBlock("call", shown_name, "{}"),
                ShownBlock("subagent", format_one_line(child.summary.subagent_id), ""),
                ShownBlock("result", "unknown", "done"),
            ]
    fields = {"subagents": tuple(children), "is_rewound": rng.random() < 0.2}
    if depth:
        name = make_text(rng) or "a1"
        return make_child(*entries, name=name, call=call, **fields), blocks
    return make_unit(*entries, **fields), blocks


def _make_entry(rng: Random) -> tuple[Record, list[ShownBlock]]:
    """Return a random record, and the blocks that show it."""
    text, name = make_text(rng), make_text(rng)
    shown, shown_name = clean(text), format_one_line(name) or "unknown"
    result = ShownBlock("result", shown_name, shown)
    match rng.randrange(7):
        case 0:
            return make_prompt(text), [ShownBlock("user", "", shown)]
        case 1:
            record = make_record(text, model=make_text(rng))
            return record, [ShownBlock("assistant", "", shown)] * bool(text.strip())
        case 2:
            call = ShownBlock("call", shown_name, shown.replace("\n", " "))
            record = make_call(name, text, f"{make_text(rng)} {rng.random()}")
            return record, [call, result._replace(text="(no result)")]
        case 3:
            return make_result(f"{rng.random()}", text, tool_name=name), [result]
        case 4:
            record = make_record(text, type="error", role="system")
            return record, [ShownBlock("error", "", shown)]
        case 5:
            record = make_event("notice", metadata={"notification": f"n{text}"})
            block = ShownBlock("notification", "", format_one_line(f"n{text}"))
            return record, [block]
        case _:
            block = ShownBlock("assistant", "", clean(f"(thinking)\n{text}"))
            return make_record(text, type="thinking"), [block] * bool(text.strip())


def clean(text: str) -> str:
    """Return the text as a transcript shows it."""
    return replace_control_characters(text.replace("\r\n", "\n").strip("\n"))


def read_blocks(document: TranscriptDocument) -> list[ShownBlock]:
    """Return what the blocks of a parsed transcript show."""
    return [_read_block(block) for block in document.blocks]


def _read_block(block: object) -> ShownBlock:
    match block:
        case UserBlock(text):
            return ShownBlock("user", "", text)
        case AssistantBlock(text):
            return ShownBlock("assistant", "", text)
        case CallBlock(name, text):
            return ShownBlock("call", name, text)
        case ResultBlock(name, text):
            return ShownBlock("result", name, text)
        case SubagentBlock(subagent_id):
            return ShownBlock("subagent", subagent_id, "")
        case ErrorBlock(text):
            return ShownBlock("error", "", text)
        case NotificationBlock(text):
            return ShownBlock("notification", "", text)
        case CompactedBlock() | CutBlock():
            return ShownBlock("mark", "", "")
    raise AssertionError(block)


def find_spoof(rng: Random) -> str:
    """Render a random unit and read it back; return what differs, or ""."""
    unit, expected = make_hostile_unit(rng)
    key, thread_id = make_key(make_text(rng) or "s"), make_text(rng)
    summary = make_summary(
        key, thread_id=thread_id, title=make_text(rng), cwd=make_text(rng)
    )
    session = Session(summary=summary, units=(unit,), status="idle", zone=UTC)
    texts = [artifact.body.decode() for artifact in render(session, UNLIMITED)]
    try:
        documents = [parse_document(text) for text in texts]
    except ValueError as error:
        return f"{error}: {texts}"
    if read_blocks(documents[0]) != expected:
        return f"{read_blocks(documents[0])} instead of {expected}"
    headers = [(d.thread_id, d.source, d.is_rewound) for d in documents]
    expected_headers = [
        (
            format_one_line(thread_id),
            format_one_line(each.summary.key.source) if each is not unit else "",
            each.is_rewound,
        )
        for each in _list_units(unit)
    ]
    return "" if headers == expected_headers else f"{headers}: {expected_headers}"


def _list_units(unit: Unit) -> list[Unit]:
    """Return the unit and those of its subagents, in the order of their files."""
    return [unit, *(each for child in unit.subagents for each in _list_units(child))]
