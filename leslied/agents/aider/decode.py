"""Decode Aider's chat history, a Markdown file without ids and times of messages."""

from __future__ import annotations

import hashlib
import re
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from leslied.agents._entry import LogEntry, as_folder
from leslied.agents._parsing import parse_local_time, printable_name
from leslied.agents.aider.blocks import split_runs
from leslied.model.record import DecodeResult, SessionKey, Usage

if TYPE_CHECKING:
    from collections.abc import Iterator

    from leslied.agents.aider.blocks import Run
    from leslied.model.record import Record
    from leslied.model.source import RawEntry

    _Edits = dict[str, list[dict[str, str]]]

_OPENED_ID = "opened"
_RESULT_BLOCK, _END_BLOCK = 1, 2
_MODEL = re.compile(r"(?:Main model|Model): (\S+) with [\w-]+ edit format")
_TOKENS = re.compile(
    r"Tokens: (?P<input>\S+) sent(?:, (?P<cache_write>\S+) cache write)?"
    r"(?:, (?P<cache_read>\S+) cache hit)?, (?P<output>[\d.]+k?) received"
)
_COUNT = re.compile(r"(\d{1,9}(?:\.\d{1,3})?)(k?)")
_APPLIED = re.compile(r"Applied edit to (.+)")
_THOUGHT = re.compile(
    r"\A\s*<(think|thinking|thinking-content-[0-9a-f]{32})>(.*?)</\1>", re.DOTALL
)
_EDIT = re.compile(
    r"^(?P<path>[^\n`]+)\n+```[^\n]*\n<<<<<<< SEARCH\n"
    r"(?P<old>(?:(?!=======\n).*\n){0,1000}?)=======\n"
    r"(?P<new>(?:(?!>>>>>>> REPLACE).*\n){0,1000}?)>>>>>>> REPLACE",
    re.MULTILINE,
)
_INTERRUPT_PREFIX = "^C "
_ERROR_PREFIX = "litellm."
"""Start of a notice about a failed request: it names an exception of this library."""
_EMPTY_PROMPT = "<blank>"
"""Text that the client writes for an empty prompt."""


def decode_history(entry: RawEntry) -> DecodeResult:
    """Decode all runs in the history of a project."""
    text = entry.data.decode("utf-8", errors="replace")
    cwd = as_folder(printable_name(str(entry.source.path.parent)))
    records: list[Record] = []
    id_counts: dict[str, int] = {}
    for run in split_runs(text):
        session_id = _make_session_id(entry, run, id_counts)
        records += _decode_run(SessionKey(entry.source.agent, session_id), run, cwd)
    state = {"cwd": cwd} if cwd else {}
    noise = "" if records else "empty history"
    return DecodeResult(records=tuple(records), state=state, noise=noise, cwd=cwd)


def _make_session_id(entry: RawEntry, run: Run, id_counts: dict[str, int]) -> str:
    """Return an id from the time of the run and the project's name.

    The id stays the same when the project's folder is moved but not renamed. Runs of
    the same second are numbered; `id_counts` counts them.
    """
    time = re.sub(r"\D", "", run.started) or "undated"
    folder = printable_name(entry.source.path.parent.name)
    digest = hashlib.sha256(folder.encode()).hexdigest()[:8]
    id_ = f"{time[:8]}-{time[8:]}-{digest}" if run.started else f"{time}-{digest}"
    number = id_counts[id_] = id_counts.get(id_, 0) + 1
    return id_ if number == 1 else f"{id_}-{number}"


def _decode_run(key: SessionKey, run: Run, cwd: str) -> Iterator[Record]:
    """Decode a run; all of its records have the time at which it started."""
    started_at = parse_local_time(run.started)
    model = ""
    edits: _Edits = {}
    common: dict[str, Any] = {
        "key": key,
        "scope": key.session_id,
        "created_at": started_at,
    }
    yield LogEntry(native_id=_OPENED_ID, **common).make_event("opened", cwd=cwd)
    for number, block in enumerate(run.blocks, 1):
        entry = LogEntry(native_id=str(number), model=model, **common)
        match block.kind:
            case "prompt":
                yield from _decode_prompt(entry, block.text)
            case "answer":
                edits = _find_edits(block.text)
                yield from _decode_answer(entry, block.text)
            case "notice":
                if match := _MODEL.match(block.text):
                    model = match[1].partition("/")[2] or match[1]
                yield from _decode_notice(entry, block.text, edits)


def _decode_prompt(entry: LogEntry, text: str) -> Iterator[Record]:
    if text == _EMPTY_PROMPT:
        return
    if text.startswith("!"):
        yield entry.make_prompt(f"! {text[1:].strip()}", origin="shell")
        return
    yield entry.make_prompt(text, origin="command" if text.startswith("/") else "")


def _decode_answer(entry: LogEntry, text: str) -> Iterator[Record]:
    if thought := _THOUGHT.match(text):
        yield entry.make_thinking(thought[2].strip())
        text = text[thought.end() :].strip()
    if text or not thought:
        yield entry.make_answer(text, block=1)


def _decode_notice(entry: LogEntry, text: str, edits: _Edits) -> Iterator[Record]:
    """Decode a message of the client.

    The client reports tokens and edits after the answer, so each report ends the turn.
    `edits` are those in the last answer.
    """
    if tokens := _TOKENS.match(text):
        yield from _decode_tokens(entry, tokens)
        yield entry.make_event("turn_ended", block=_END_BLOCK)
    elif applied := _APPLIED.fullmatch(text):
        yield from _decode_edit(entry, applied[1], edits)
        yield entry.make_event("turn_ended", block=_END_BLOCK)
    elif text.startswith(_INTERRUPT_PREFIX):
        yield entry.make_event("turn_ended", text, note="interrupt")
    elif text.startswith(_ERROR_PREFIX):
        yield entry.make_record("error", "assistant", content=text, model=entry.model)
    else:
        yield entry.make_event("context", text, note="client")


def _find_edits(answer: str) -> _Edits:
    """Return the texts that an answer replaces, by file."""
    edits: _Edits = {}
    for edit in _EDIT.finditer(answer) if "<<<<<<< SEARCH" in answer else ():
        texts = {"old_string": edit["old"], "new_string": edit["new"]}
        edits.setdefault(edit["path"].strip(" *#`:"), []).append(texts)
    return edits


def _decode_edit(entry: LogEntry, path: str, edits: _Edits) -> Iterator[Record]:
    """Decode an applied edit as a call, with its result.

    `edits` are those in the last answer, by file.
    """
    arguments: dict[str, Any] = {"path": path}
    match edits.get(path, []):
        case [edit]:
            arguments |= edit
        case [_, *_] as file_edits:
            arguments["edits"] = file_edits
    call_id = f"{entry.scope}:{entry.native_id}"
    yield entry.make_call("edit", call_id, arguments)
    yield entry.make_result(
        "edit", call_id, f"Applied edit to {path}", block=_RESULT_BLOCK
    )


def _decode_tokens(entry: LogEntry, match: re.Match[str]) -> Iterator[Record]:
    """Decode the token counts of a request; Aider rounds counts of 1000 and more.

    Tokens sent include those that are read from or written to the cache.
    """
    names = ("input", "output", "cache_read", "cache_write")
    input_total, output, cache_read, cache_write = (
        _parse_count(match[name]) for name in names
    )
    input_tokens = max(input_total - cache_read - cache_write, 0)
    usage = Usage(input_tokens, output, cache_read, cache_write)
    if usage:
        record = entry.make_usage(usage, f"{entry.scope}:{entry.native_id}")
        yield replace(record, metadata={"report": match[0]})


def _parse_count(text: str | None) -> int:
    match = _COUNT.fullmatch(text or "")
    if match is None:
        return 0
    return round(float(match[1]) * (1000 if match[2] else 1))
