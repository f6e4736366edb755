"""Response items: what was said, thought, called and answered."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from leslied.agents._parsing import to_json
from leslied.agents.codex.authorship import (
    classify_author,
    find_folder,
    format_data_url,
    format_part,
    list_part_texts,
    message_text,
)
from leslied.agents.codex.routing import id_field, record_facts
from leslied.agents.codex.schema import (
    is_json,
    list_field,
    object_field,
    parse_json,
    text_field,
)
from leslied.errors import DecodeError
from leslied.model.record import MAIN

if TYPE_CHECKING:
    from collections.abc import Callable

    from leslied.agents.codex.authorship import CodexAuthorship
    from leslied.agents.codex.routing import LineContext
    from leslied.model.record import Record

    RecordsStateNoise = tuple[tuple[Record, ...], dict[str, Any], str]
    """Records, what to remember, and the kind of noise it was instead."""

_OUTPUT_HEADER = re.compile(
    r"(?:(?:Chunk ID|Wall time|Original token count|Total output lines): [^\n]*\n)*"
    r"((?:Process exited with code|Exit code:) (-?\d{1,12}))\n"
    r"(?:(?:Wall time|Original token count|Total output lines): [^\n]*\n)*"
    r"Output:(?:\n|$)"
)
_PAYLOAD = re.compile(r"\A(?:[\w ]+: [^\n]*\n)*Payload:\n")
_ACTION_FIELDS = ("query", "queries", "url", "pattern", "command")
_SEARCH_ARGUMENTS = ("query", "limit")
_MAX_SPAWNS = 8


def decode_item(
    payload: dict[str, Any], context: LineContext, state: dict[str, Any]
) -> RecordsStateNoise:
    """What one response item means; nothing where nobody knows its type."""
    kind = text_field(payload, "type")
    if kind in ("compaction", "compaction_summary", "context_compaction"):
        return (), state, f"response_item/{kind}"
    if kind in ("ghost_snapshot", "additional_tools", "compaction_trigger"):
        return (), state, f"response_item/{kind}"
    decode = _DECODERS.get(kind)
    return decode(payload, context, state) if decode else ((), state, "")


def _decode_message(
    payload: dict[str, Any], context: LineContext, state: dict[str, Any]
) -> RecordsStateNoise:
    match text_field(payload, "role"):
        case "user":
            return _decode_user(payload, context, state)
        case "assistant":
            final = text_field(payload, "phase") == "final_answer"
            metadata = {"stop_reason": "end_turn"} if final else {}
            text = message_text(payload)
            record = context.make_record(
                "assistant_message",
                "assistant",
                text,
                model=context.model,
                metadata=metadata,
            )
            return (record,), state, ""
        case "developer" | "system" as role:
            return (
                (context.make_event("context", message_text(payload), note=role),),
                state,
                "",
            )
    return (), state, ""


def _decode_user(
    payload: dict[str, Any], context: LineContext, state: dict[str, Any]
) -> RecordsStateNoise:
    """A prompt, a command run by hand, or the client's own words."""
    heard = classify_author(payload)
    if heard.shell:
        said = _make_user_message(context, f"! {heard.shell}", "shell")
        told = context.make_event("notice", heard.attached, note=heard.note, block=1)
        return (said, told), state, ""
    if not heard.text:
        return *_decode_client_text(heard, context, state), ""
    more: dict[str, Any] = {"attached": heard.attached} if heard.attached else {}
    if state.get("is_task"):
        return (_make_user_message(context, heard.text, "task", **more),), state, ""
    if state.get("facts", {}).get("mode") == "plan":
        more["permission_mode"] = "plan"
    if state.get("turn") == "asked":
        return (_make_user_message(context, heard.text, "queued", **more),), state, ""
    if state.get("turn"):
        state = {**state, "turn": "asked"}
    return (_make_user_message(context, heard.text, "prompt", **more),), state, ""


def _decode_client_text(
    author: CodexAuthorship, context: LineContext, state: dict[str, Any]
) -> tuple[tuple[Record, ...], dict[str, Any]]:
    """The client's words; the oldest logs name their folder nowhere else."""
    changed: dict[str, str] = {}
    if author.note == "environment_context" and not state.get("cwd"):
        changed, state = record_facts({"cwd": find_folder(author.attached)}, state)
    event = context.make_event(
        author.kind, author.attached, note=author.note, **changed
    )
    return (event,), state


def _make_user_message(
    context: LineContext, words: str, origin: str, **more: Any
) -> Record:
    metadata = {"origin": origin, **more}
    return context.make_record("user_message", "user", words, metadata=metadata)


def _decode_agent_message(
    payload: dict[str, Any], context: LineContext, state: dict[str, Any]
) -> RecordsStateNoise:
    """Words from one agent to another: a subagent's task, or its answer."""
    text = "".join(list_part_texts(payload))
    author, to = (text_field(payload, name)[:200] for name in ("author", "recipient"))
    if context.key.source != MAIN and to.startswith(author):
        words = _PAYLOAD.sub("", text)
        words = f"{to}: {words}" if words.startswith("[encrypted]") else words
        return (_make_user_message(context, words, "task", author=author),), state, ""
    note = "agent_message"
    return (context.make_event("notice", text, note=note, author=author),), state, ""


def _decode_reasoning(
    payload: dict[str, Any], context: LineContext, state: dict[str, Any]
) -> RecordsStateNoise:
    """What can be read of it; most is encrypted."""
    texts = [*list_part_texts(payload, "summary"), *list_part_texts(payload, "content")]
    words = "\n\n".join(text for text in texts if text.strip())
    if not words:
        return (), state, "response_item/reasoning"
    record = context.make_record("thinking", "assistant", words, model=context.model)
    return (record,), state, ""


def _decode_call(
    payload: dict[str, Any], context: LineContext, state: dict[str, Any]
) -> RecordsStateNoise:
    """A tool call: its arguments are JSON in a string, or free text."""
    name, space = text_field(payload, "name"), text_field(payload, "namespace")
    given = payload.get("arguments")
    if given is None:
        tool_input = to_json({"input": text_field(payload, "input")})
    elif isinstance(given, dict):
        tool_input = to_json({n: given[n] for n in _SEARCH_ARGUMENTS if n in given})
    else:
        tool_input = given if is_json(given) else to_json({"arguments": given})
    call = text_field(payload, "call_id")
    if name == "spawn_agent" and id_field(payload, "call_id"):
        state = {**state, "spawns": [*state.get("spawns", []), call][-_MAX_SPAWNS:]}
    kind = text_field(payload, "type")
    name = name or kind.removesuffix("_call")
    name = f"{space.rstrip('_')}__{name}" if space.startswith("mcp__") else name
    return (_make_call(context, name, call, tool_input),), state, ""


def _make_call(context: LineContext, name: str, call: str, tool_input: str) -> Record:
    return context.make_record(
        "tool_use",
        "assistant",
        tool_name=name,
        tool_call_id=call,
        tool_input=tool_input,
        model=context.model,
    )


def _decode_action(
    payload: dict[str, Any], context: LineContext, state: dict[str, Any]
) -> RecordsStateNoise:
    """A command or a search that stands in the item; the search has no result."""
    action = object_field(payload, "action")
    known = {name: action[name] for name in _ACTION_FIELDS if name in action}
    if "working_directory" in action:
        known["workdir"] = action["working_directory"]
    name = text_field(payload, "type").removesuffix("_call")
    call = text_field(payload, "call_id") or text_field(payload, "id")
    record = _make_call(context, name, call, to_json(known))
    if name == "local_shell":
        return (record,), state, ""
    return (record, _make_hosted_result(payload, context, name, call)), state, ""


def _make_hosted_result(
    payload: dict[str, Any], context: LineContext, name: str, call: str
) -> Record:
    """The end of a call that the model's own host answered: the log has no more."""
    result = text_field(payload, "result")
    content = format_data_url("image", f"data:image,{result}") if result else ""
    return context.make_record(
        "tool_result",
        "tool",
        content or text_field(payload, "status"),
        tool_call_id=call,
        tool_name=name,
        block=1,
    )


def _decode_image(
    payload: dict[str, Any], context: LineContext, state: dict[str, Any]
) -> RecordsStateNoise:
    call = text_field(payload, "id")
    asked = to_json({"prompt": text_field(payload, "revised_prompt")})
    record = _make_call(context, "image_generation", call, asked)
    return (
        (record, _make_hosted_result(payload, context, "image_generation", call)),
        state,
        "",
    )


def _decode_result(
    payload: dict[str, Any], context: LineContext, state: dict[str, Any]
) -> RecordsStateNoise:
    """A tool's answer; of a subagent's start, also the link to it."""
    call = text_field(payload, "call_id")
    content, metadata = _read_output(payload)
    record = context.make_record(
        "tool_result", "tool", content, tool_call_id=call, metadata=metadata
    )
    child = _parse_spawned_id(content) if call in state.get("spawns", []) else ""
    if not child:
        return (record,), state, ""
    return (
        (record, context.make_subagent_link(child, "result", tool_call_id=call)),
        state,
        "",
    )


def _read_output(payload: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """The answer without the client's header, and what that header said."""
    output = payload.get("output")
    metadata: dict[str, Any] = {}
    if isinstance(output, dict):
        if output.get("success") is False:
            metadata["is_error"] = True
        output = output.get("content", output.get("body"))
    if output is None:
        names = (text_field(t, "name") for t in _objects(payload, "tools"))
        return "\n".join(name for name in names if name), metadata
    if isinstance(output, list):
        return "\n".join(filter(None, map(format_part, output))), metadata
    text = output if isinstance(output, str) else to_json(output)
    text, code = _unwrap(text)
    if code is not None:
        metadata["exit_code"] = code
    if code:
        metadata["is_error"] = True
    return text, metadata


def _unwrap(text: str) -> tuple[str, int | None]:
    """A command's own words and its exit code; a failed one keeps the line saying so.

    Older clients put both into a JSON object, newer ones write a few lines before.
    """
    found = _OUTPUT_HEADER.match(text)
    if found:
        code, rest = int(found[2]), text[found.end() :]
        return (f"{found[1]}\n{rest}" if code else rest), code
    if text.startswith('{"output":'):
        value = _parse_or_empty(text)
        payload = object_field(value, "metadata").get("exit_code")
        if isinstance(value.get("output"), str):
            is_code = type(payload) is int and abs(payload) < 2**31
            return value["output"], payload if is_code else None
    return text, None


def _parse_spawned_id(text: str) -> str:
    return id_field(_parse_or_empty(text), "agent_id")


def _parse_or_empty(text: str) -> dict[str, Any]:
    try:
        return parse_json(text.encode())
    except DecodeError:
        return {}


def _objects(payload: dict[str, Any], name: str) -> list[dict[str, Any]]:
    return [each for each in list_field(payload, name) if isinstance(each, dict)]


_DECODERS: dict[
    str, Callable[[dict[str, Any], LineContext, dict[str, Any]], RecordsStateNoise]
] = {
    "message": _decode_message,
    "agent_message": _decode_agent_message,
    "reasoning": _decode_reasoning,
    "function_call": _decode_call,
    "custom_tool_call": _decode_call,
    "tool_search_call": _decode_call,
    "local_shell_call": _decode_action,
    "web_search_call": _decode_action,
    "image_generation_call": _decode_image,
    "function_call_output": _decode_result,
    "custom_tool_call_output": _decode_result,
    "tool_search_output": _decode_result,
}
