"""Decode response items: messages, reasoning, tool calls and results."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from leslied.agents._parsing import mark_exit_code, to_json
from leslied.agents.codex.authorship import (
    find_folder,
    format_part,
    format_url_placeholder,
    list_part_texts,
    message_text,
    split_by_author,
)
from leslied.agents.codex.reports import find_notification, find_reports
from leslied.agents.codex.routing import id_field, record_facts
from leslied.agents.codex.schema import (
    is_json_object,
    list_field,
    object_field,
    parse_json_or_empty,
    text_field,
)
from leslied.model.record import MAIN, SHELL

if TYPE_CHECKING:
    from collections.abc import Callable

    from leslied.agents.codex.authorship import CodexAuthorship
    from leslied.agents.codex.routing import LineContext
    from leslied.model.record import Record

    RecordsStateNoise = tuple[tuple[Record, ...], dict[str, Any], str]
    """Records, the new state, and the kind of noise instead of records."""

_NOISE_ITEMS = frozenset(
    {
        "compaction",
        "compaction_summary",
        "context_compaction",
        "ghost_snapshot",
        "additional_tools",
        "compaction_trigger",
    }
)
"""Types of items that repeat other lines or serve only the client."""
_OUTPUT_HEADER = re.compile(
    r"(?:(?:Chunk ID|Wall time|Original token count|Total output lines): [^\n]*\n)*"
    r"((?:Process exited with code|Exit code:) (-?\d{1,12}))\n"
    r"(?:(?:Wall time|Original token count|Total output lines): [^\n]*\n)*"
    r"Output:(?:\n|$)"
)
"""Header that the client writes before a command's output; group 2 is the exit code."""
_FAILED_CALL_PREFIXES = (
    "unsupported call: ",
    "unsupported custom tool call: ",
    "failed to parse function arguments: ",
    "apply_patch verification failed: ",
    "update_plan is a TODO/checklist tool and is not allowed",
)
"""Start of the result of a call that the client did not run."""
_PAYLOAD_HEADER = re.compile(r"\A(?:[\w ]+: [^\n]*\n)*Payload:\n")
_ACTION_FIELDS = ("query", "queries", "url", "pattern", "command")
_SEARCH_ARGUMENTS = ("query", "limit")
"""The stored arguments of a tool search; no other call has an object as arguments."""
_MAX_SPAWNS = 8
"""Number of spawning calls in the decode state, which must stay small."""


def decode_item(
    payload: dict[str, Any], context: LineContext, state: dict[str, Any]
) -> RecordsStateNoise:
    """Decode one response item; an unknown type has neither records nor noise."""
    kind = text_field(payload, "type")
    if kind in _NOISE_ITEMS:
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
            is_final = text_field(payload, "phase") == "final_answer"
            metadata = {"stop_reason": "end_turn"} if is_final else {}
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
    """Decode a prompt, a command that a person ran, or the client's own text."""
    author = split_by_author(payload)
    if author.shell:
        message = _make_user_message(context, f"! {author.shell}", "shell")
        output = context.make_event("notice", author.attached, note=author.note)
        return (message, replace(output, block=1, tool_name=SHELL)), state, ""
    if not author.text:
        return *_decode_client_text(author, context, state), ""
    metadata: dict[str, Any] = {"attached": author.attached} if author.attached else {}
    if state.get("is_task"):
        return (
            (_make_user_message(context, author.text, "task", **metadata),),
            state,
            "",
        )
    if state.get("facts", {}).get("mode") == "plan":
        metadata["permission_mode"] = "plan"
    # `open` becomes `asked` at the turn's first prompt; later ones were typed mid-turn.
    if state.get("turn") == "asked":
        return (
            (_make_user_message(context, author.text, "queued", **metadata),),
            state,
            "",
        )
    if state.get("turn"):
        state = {**state, "turn": "asked"}
    return (_make_user_message(context, author.text, "prompt", **metadata),), state, ""


def _decode_client_text(
    author: CodexAuthorship, context: LineContext, state: dict[str, Any]
) -> tuple[tuple[Record, ...], dict[str, Any]]:
    """Decode the client's text and, in the oldest logs, the directory that it names."""
    changed: dict[str, str] = {}
    if author.note == "environment_context" and not state.get("cwd"):
        changed, state = record_facts({"cwd": find_folder(author.attached)}, state)
    notification = find_notification(author.attached)
    event = context.make_event(
        author.kind,
        author.attached,
        note=author.note,
        notification=notification or None,
        **changed,
    )
    return (event,), state


def _make_user_message(
    context: LineContext, text: str, origin: str, **facts: Any
) -> Record:
    metadata = {"origin": origin, **facts}
    if context.ordinal is not None:
        metadata["ordinal"] = context.ordinal
    return context.make_record("user_message", "user", text, metadata=metadata)


def _decode_agent_message(
    payload: dict[str, Any], context: LineContext, state: dict[str, Any]
) -> RecordsStateNoise:
    """Decode a message between agents: a subagent's task, or its answer."""
    text = "".join(list_part_texts(payload))
    author, recipient = (
        text_field(payload, name)[:200] for name in ("author", "recipient")
    )
    # Agents are named by path: a parent's name is a prefix of its subagents' names.
    if context.key.source != MAIN and recipient.startswith(author):
        task = _PAYLOAD_HEADER.sub("", text)
        task = f"{recipient}: {task}" if task.startswith("[encrypted]") else task
        return (_make_user_message(context, task, "task", author=author),), state, ""
    note = "agent_message"
    return (context.make_event("notice", text, note=note, author=author),), state, ""


def _decode_reasoning(
    payload: dict[str, Any], context: LineContext, state: dict[str, Any]
) -> RecordsStateNoise:
    """Decode the readable part of a reasoning item; most are encrypted."""
    texts = [*list_part_texts(payload, "summary"), *list_part_texts(payload, "content")]
    content = "\n\n".join(text for text in texts if text.strip())
    if not content:
        return (), state, "response_item/reasoning"
    record = context.make_record("thinking", "assistant", content, model=context.model)
    return (record,), state, ""


def _decode_call(
    payload: dict[str, Any], context: LineContext, state: dict[str, Any]
) -> RecordsStateNoise:
    """Decode a tool call.

    Its arguments are JSON in a string, or free text; those of a tool search are an
    object, of which the query and the limit are stored.
    """
    name = text_field(payload, "name")
    arguments = payload.get("arguments")
    if arguments is None:
        tool_input = to_json({"input": text_field(payload, "input")})
    elif isinstance(arguments, dict):
        tool_input = to_json(
            {key: arguments[key] for key in _SEARCH_ARGUMENTS if key in arguments}
        )
    else:
        tool_input = (
            arguments
            if is_json_object(arguments)
            else to_json({"arguments": arguments})
        )
    call_id = text_field(payload, "call_id")
    if name == "spawn_agent" and id_field(payload, "call_id"):
        state = {**state, "spawns": [*state.get("spawns", []), call_id][-_MAX_SPAWNS:]}
    tool_name = name or text_field(payload, "type").removesuffix("_call")
    namespace = text_field(payload, "namespace")
    if namespace.startswith("mcp__"):
        tool_name = f"{namespace.rstrip('_')}__{tool_name}"
    return (_make_call(context, tool_name, call_id, tool_input),), state, ""


def _make_call(
    context: LineContext, name: str, call_id: str, tool_input: str
) -> Record:
    return context.make_record(
        "tool_use",
        "assistant",
        tool_name=name,
        tool_call_id=call_id,
        tool_input=tool_input,
        model=context.model,
    )


def _decode_action(
    payload: dict[str, Any], context: LineContext, state: dict[str, Any]
) -> RecordsStateNoise:
    """Decode a shell call or a web search; a search has no separate result item."""
    action = object_field(payload, "action")
    arguments = {name: action[name] for name in _ACTION_FIELDS if name in action}
    if "working_directory" in action:
        arguments["workdir"] = action["working_directory"]
    name = text_field(payload, "type").removesuffix("_call")
    call_id = text_field(payload, "call_id") or text_field(payload, "id")
    record = _make_call(context, name, call_id, to_json(arguments))
    if name == "local_shell":
        return (record,), state, ""
    return (record, _make_hosted_result(payload, context, name, call_id)), state, ""


def _make_hosted_result(
    payload: dict[str, Any], context: LineContext, name: str, call_id: str
) -> Record:
    """Return the result of a tool that ran on the server, from the item of its call."""
    # The result is an image in base 64, like the end of a data URL.
    result = text_field(payload, "result")
    content = format_url_placeholder("image", f"data:image,{result}") if result else ""
    return context.make_record(
        "tool_result",
        "tool",
        content or text_field(payload, "status"),
        tool_call_id=call_id,
        tool_name=name,
        block=1,
    )


def _decode_image(
    payload: dict[str, Any], context: LineContext, state: dict[str, Any]
) -> RecordsStateNoise:
    """Decode the generation of an image, which has no separate result item."""
    call_id = text_field(payload, "id")
    arguments = to_json({"prompt": text_field(payload, "revised_prompt")})
    record = _make_call(context, "image_generation", call_id, arguments)
    return (
        (record, _make_hosted_result(payload, context, "image_generation", call_id)),
        state,
        "",
    )


def _decode_result(
    payload: dict[str, Any], context: LineContext, state: dict[str, Any]
) -> RecordsStateNoise:
    """Decode a tool result, and the link to a subagent that the call started."""
    call_id = text_field(payload, "call_id")
    content, metadata = _parse_output(payload)
    record = context.make_record(
        "tool_result", "tool", content, tool_call_id=call_id, metadata=metadata
    )
    if report := find_reports(content):
        record = replace(record, metadata={**metadata, "report": report})
    child = _parse_spawned_id(content) if call_id in state.get("spawns", []) else ""
    if not child:
        return (record,), state, ""
    return (
        (record, context.make_subagent_link(child, "result", tool_call_id=call_id)),
        state,
        "",
    )


def _parse_output(payload: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """Return the output, and metadata of the result.

    The client's header is removed from the output, except for a line with a nonzero
    exit code; the code is also in the metadata.
    """
    output = payload.get("output")
    metadata: dict[str, Any] = {}
    if isinstance(output, dict):
        if output.get("success") is False:
            metadata["is_error"] = True
        output = output.get("content", output.get("body"))
    if output is None:
        # The result of a tool search is a list of tools.
        names = (text_field(tool, "name") for tool in _list_objects(payload, "tools"))
        return "\n".join(name for name in names if name), metadata
    if isinstance(output, list):
        return "\n".join(filter(None, map(format_part, output))), metadata
    text = output if isinstance(output, str) else to_json(output)
    text, code = _split_exit_code(text)
    if code is not None:
        metadata["exit_code"] = code
    if code or text.startswith(_FAILED_CALL_PREFIXES):
        metadata["is_error"] = True
    return text, metadata


def _split_exit_code(text: str) -> tuple[str, int | None]:
    """Return a command's output, and its exit code or None.

    Older clients put both into a JSON object, newer ones write a header. The header's
    line with a nonzero code stays in the output.
    """
    match = _OUTPUT_HEADER.match(text)
    if match:
        code, body = int(match[2]), text[match.end() :]
        return (f"{match[1]}\n{body}" if code else body), code
    if text.startswith('{"output":'):
        value = parse_json_or_empty(text)
        exit_code = object_field(value, "metadata").get("exit_code")
        if isinstance(value.get("output"), str):
            is_code = type(exit_code) is int and abs(exit_code) < 2**31
            text, _ = mark_exit_code(value["output"], exit_code)
            return text, exit_code if is_code else None
    return text, None


def _parse_spawned_id(text: str) -> str:
    """Return the subagent's id in the result of a spawning call, or ""."""
    return id_field(parse_json_or_empty(text), "agent_id")


def _list_objects(payload: dict[str, Any], name: str) -> list[dict[str, Any]]:
    return [item for item in list_field(payload, name) if isinstance(item, dict)]


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
