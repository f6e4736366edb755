"""Decode exports of the Gemini app and of Google AI Studio.

`docs/formats/gemini-app.md` documents them.
"""

from __future__ import annotations

import html
import re
from typing import TYPE_CHECKING, Any

from leslied.agents._entry import LogEntry, as_count, as_dict, as_list, as_text
from leslied.agents._parsing import (
    parse_document,
    parse_time,
    printable_name,
    reject_entry,
    to_json,
)
from leslied.model.record import DecodeResult, SessionKey, Usage

if TYPE_CHECKING:
    from collections.abc import Iterator

    from leslied.model.record import Record
    from leslied.model.source import RawEntry

_PROMPT_PREFIX = "Prompted "
"""Start of the title of a prompt, in English."""
_BREAK = re.compile(
    r"</(?:p|div|li|h[1-6]|pre|tr|ul|ol)>|<br\s*/?>|<hr\s*/?>", re.IGNORECASE
)
_ITEM = re.compile(r"<li[^>]*>", re.IGNORECASE)
_TAG = re.compile(r"<[^<>]*>")
_USAGE_BLOCK = 1000
_END_REASONS = frozenset({"STOP", "FINISH_REASON_STOP"})
_FILES = ("driveImage", "driveVideo", "driveAudio", "driveDocument", "inlineFile")


def decode_document(entry: RawEntry, state: dict[str, Any]) -> DecodeResult:
    """Decode a document: the activities of a day, or a prompt of AI Studio."""
    document = parse_document(entry.data)
    name = printable_name(entry.source.parts[-1]).removesuffix(".json")
    log_entry = LogEntry(
        key=SessionKey(entry.source.agent, name), native_id="opened", scope=name
    )
    try:
        if isinstance(document.get("activities"), list):
            records = tuple(_decode_day(log_entry, document))
        elif isinstance(document.get("chunkedPrompt"), dict):
            records = tuple(_decode_prompt(log_entry, document))
        else:
            reject_entry("neither activities nor a prompt")
    except RecursionError:
        reject_entry("nested too deeply")
    return DecodeResult(records=records, state=state)


def _decode_day(log_entry: LogEntry, document: dict[str, Any]) -> Iterator[Record]:
    """Decode a day: each activity is a prompt with its answer."""
    yield log_entry.make_event("opened")
    numbers: dict[str, int] = {}
    for activity in as_list(document.get("activities")):
        fields = as_dict(activity)
        time = as_text(fields.get("time"))
        numbers[time] = numbers.get(time, 0) + 1
        entry = LogEntry(
            key=log_entry.key,
            native_id=f"{time}#{numbers[time]}",
            scope=log_entry.scope,
            created_at=parse_time(time),
        )
        yield from _decode_activity(entry, fields)


def _decode_activity(entry: LogEntry, fields: dict[str, Any]) -> Iterator[Record]:
    title = as_text(fields.get("title"))
    answers = [
        _to_text(as_text(as_dict(item).get("html")))
        for item in as_list(fields.get("safeHtmlItem"))
    ]
    if not answers and not title.startswith(_PROMPT_PREFIX):
        # Another kind of activity, such as "Used an Assistant feature".
        yield entry.make_event("notice", title or to_json(fields), note="activity")
        return
    files = [
        f"[file {name}]" for name in map(as_text, as_list(fields.get("attachedFiles")))
    ]
    yield entry.make_prompt("\n\n".join([title.removeprefix(_PROMPT_PREFIX), *files]))
    if answers:
        text = "\n\n".join(answers)
        yield entry.make_answer(text, block=1, stop_reason="end_turn")


def _to_text(markup: str) -> str:
    """Return the text of HTML; lines end where its blocks end."""
    text = _TAG.sub("", _ITEM.sub("- ", _BREAK.sub("\n", markup)))
    return re.sub(r"\n{3,}", "\n\n", html.unescape(text)).strip()


def _decode_prompt(log_entry: LogEntry, document: dict[str, Any]) -> Iterator[Record]:
    """Decode a prompt of AI Studio, which is a whole conversation."""
    yield log_entry.make_event("opened")
    yield log_entry.make_event(
        "title", log_entry.key.session_id, block=1, title_kind="custom"
    )
    if instruction := _join_parts(as_dict(document.get("systemInstruction"))):
        yield log_entry.make_event(
            "context", instruction, block=2, note="system_prompt"
        )
    settings = as_dict(document.get("runSettings"))
    model = as_text(settings.get("model")).removeprefix("models/")
    chunks = as_list(as_dict(document.get("chunkedPrompt")).get("chunks"))
    follows_prompt = False
    for number, value in enumerate(chunks):
        chunk = as_dict(value)
        entry = LogEntry(
            key=log_entry.key,
            native_id=f"chunk:{number}",
            scope=log_entry.scope,
            created_at=parse_time(chunk.get("createTime")),
            model=model,
        )
        is_user = chunk.get("role") == "user"
        yield from _decode_chunk(entry, chunk, follows_prompt=follows_prompt)
        follows_prompt = is_user


def _decode_chunk(
    entry: LogEntry, chunk: dict[str, Any], *, follows_prompt: bool
) -> Iterator[Record]:
    """Decode a chunk; a user's chunk right after another one continues the prompt.

    The client makes a chunk of each file in a prompt.
    """
    text = _format_chunk(chunk)
    match chunk.get("role"):
        case "user":
            yield entry.make_prompt(text, origin="queued" if follows_prompt else "")
        case "model" if chunk.get("isThought") is True:
            yield entry.make_thinking(text)
        case "model":
            yield from _decode_answer(entry, chunk, text)
        case _:
            yield entry.make_unknown(chunk)
            return
    tokens = as_count(chunk.get("tokenCount"))
    if tokens and chunk.get("role") == "model":
        usage = Usage(output_tokens=tokens)
        message_id = f"{entry.scope}:{entry.native_id}"
        yield entry.make_usage(usage, message_id, block=_USAGE_BLOCK)


def _decode_answer(
    entry: LogEntry, chunk: dict[str, Any], text: str
) -> Iterator[Record]:
    if code := as_dict(chunk.get("executableCode")):
        arguments = {name: as_text(code.get(name)) for name in ("language", "code")}
        yield entry.make_call("code_execution", entry.native_id, arguments)
        return
    if result := as_dict(chunk.get("codeExecutionResult")):
        is_error = as_text(result.get("outcome")) not in ("", "OUTCOME_OK")
        facts = {"is_error": True} if is_error else {}
        number = entry.native_id.partition(":")[2]
        # The call is the chunk before its result.
        call_id = f"chunk:{int(number) - 1}"
        output = as_text(result.get("output"))
        yield entry.make_result("code_execution", call_id, output, **facts)
        return
    reason = as_text(chunk.get("finishReason"))
    is_finished = reason in _END_REASONS
    is_cut = reason.endswith("MAX_TOKENS")
    stop_reason = "end_turn" if is_finished else "max_tokens" if is_cut else ""
    yield entry.make_answer(text, stop_reason=stop_reason)


def _format_chunk(chunk: dict[str, Any]) -> str:
    """Return the text of a chunk, or a placeholder for its file."""
    if text := as_text(chunk.get("text")) or _join_parts(chunk):
        return text
    for name in _FILES:
        if name in chunk:
            file = as_dict(chunk[name])
            kind = name.removeprefix("drive").removeprefix("inline").lower()
            label = as_text(file.get("id")) or as_text(file.get("mimeType"))
            return f"[{kind} {label or 'without a name'}]"
    return ""


def _join_parts(content: dict[str, Any]) -> str:
    parts = map(as_dict, as_list(content.get("parts")))
    texts = [as_text(content.get("text")), *(as_text(p.get("text")) for p in parts)]
    return "\n\n".join(dict.fromkeys(filter(None, texts)))
