"""Response items: what was said, thought, called and answered."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from leslied.agents._parsing import to_json
from leslied.agents.codex.place import id_in, note_facts
from leslied.agents.codex.speech import (
    find_folder,
    hear,
    parts_of,
    tell_data,
    tell_part,
    text_of,
)
from leslied.agents.codex.wire import (
    is_json,
    list_in,
    object_in,
    parse_json,
    text_in,
)
from leslied.errors import DecodeError
from leslied.model.record import MAIN

if TYPE_CHECKING:
    from collections.abc import Callable

    from leslied.agents.codex.place import Here
    from leslied.agents.codex.speech import Speech
    from leslied.model.record import Record

    Outcome = tuple[tuple[Record, ...], dict[str, Any], str]
    """Records, what to remember, and the kind of noise it was instead."""

_HEADER = re.compile(
    r"(?:(?:Chunk ID|Wall time|Original token count|Total output lines): [^\n]*\n)*"
    r"((?:Process exited with code|Exit code:) (-?\d{1,12}))\n"
    r"(?:(?:Wall time|Original token count|Total output lines): [^\n]*\n)*"
    r"Output:(?:\n|$)"
)
_PAYLOAD = re.compile(r"\A(?:[\w ]+: [^\n]*\n)*Payload:\n")
_ACTIONS = ("query", "queries", "url", "pattern", "command")
_ASKED = ("query", "limit")
_MOST_SPAWNS = 8


def decode_item(payload: dict[str, Any], here: Here, state: dict[str, Any]) -> Outcome:
    """What one response item means; nothing where nobody knows its type."""
    kind = text_in(payload, "type")
    if kind in ("compaction", "compaction_summary", "context_compaction"):
        return (), state, f"response_item/{kind}"
    if kind in ("ghost_snapshot", "additional_tools", "compaction_trigger"):
        return (), state, f"response_item/{kind}"
    decode = _DECODERS.get(kind)
    return decode(payload, here, state) if decode else ((), state, "")


def _decode_message(
    payload: dict[str, Any], here: Here, state: dict[str, Any]
) -> Outcome:
    match text_in(payload, "role"):
        case "user":
            return _decode_user(payload, here, state)
        case "assistant":
            final = text_in(payload, "phase") == "final_answer"
            metadata = {"stop_reason": "end_turn"} if final else {}
            text = text_of(payload)
            record = here.make(
                "assistant_message",
                "assistant",
                text,
                model=here.model,
                metadata=metadata,
            )
            return (record,), state, ""
        case "developer" | "system" as role:
            return (here.tell("context", text_of(payload), note=role),), state, ""
    return (), state, ""


def _decode_user(payload: dict[str, Any], here: Here, state: dict[str, Any]) -> Outcome:
    """A prompt, a command run by hand, or the client's own words."""
    heard = hear(payload)
    if heard.shell:
        said = _speak(here, f"! {heard.shell}", "shell")
        told = here.tell("notice", heard.attached, note=heard.note, block=1)
        return (said, told), state, ""
    if not heard.words:
        return *_tell_context(heard, here, state), ""
    more: dict[str, Any] = {"attached": heard.attached} if heard.attached else {}
    if state.get("is_task"):
        return (_speak(here, heard.words, "task", **more),), state, ""
    if state.get("facts", {}).get("mode") == "plan":
        more["permission_mode"] = "plan"
    if state.get("turn") == "asked":
        return (_speak(here, heard.words, "queued", **more),), state, ""
    if state.get("turn"):
        state = {**state, "turn": "asked"}
    return (_speak(here, heard.words, "prompt", **more),), state, ""


def _tell_context(
    heard: Speech, here: Here, state: dict[str, Any]
) -> tuple[tuple[Record, ...], dict[str, Any]]:
    """The client's words; the oldest logs name their folder nowhere else."""
    changed: dict[str, str] = {}
    if heard.note == "environment_context" and not state.get("cwd"):
        changed, state = note_facts({"cwd": find_folder(heard.attached)}, state)
    event = here.tell(heard.kind, heard.attached, note=heard.note, **changed)
    return (event,), state


def _speak(here: Here, words: str, origin: str, **more: Any) -> Record:
    metadata = {"origin": origin, **more}
    return here.make("user_message", "user", words, metadata=metadata)


def _decode_agent_message(
    payload: dict[str, Any], here: Here, state: dict[str, Any]
) -> Outcome:
    """Words from one agent to another: a subagent's task, or its answer."""
    text = "".join(parts_of(payload))
    author, to = (text_in(payload, name)[:200] for name in ("author", "recipient"))
    if here.key.source != MAIN and to.startswith(author):
        words = _PAYLOAD.sub("", text)
        words = f"{to}: {words}" if words.startswith("[encrypted]") else words
        return (_speak(here, words, "task", author=author),), state, ""
    note = "agent_message"
    return (here.tell("notice", text, note=note, author=author),), state, ""


def _decode_reasoning(
    payload: dict[str, Any], here: Here, state: dict[str, Any]
) -> Outcome:
    """What can be read of it; most is encrypted."""
    texts = [*parts_of(payload, "summary"), *parts_of(payload, "content")]
    words = "\n\n".join(text for text in texts if text.strip())
    if not words:
        return (), state, "response_item/reasoning"
    record = here.make("thinking", "assistant", words, model=here.model)
    return (record,), state, ""


def _decode_call(payload: dict[str, Any], here: Here, state: dict[str, Any]) -> Outcome:
    """A tool call: its arguments are JSON in a string, or free text."""
    name, space = text_in(payload, "name"), text_in(payload, "namespace")
    given = payload.get("arguments")
    if given is None:
        tool_input = to_json({"input": text_in(payload, "input")})
    elif isinstance(given, dict):
        tool_input = to_json({n: given[n] for n in _ASKED if n in given})
    else:
        tool_input = given if is_json(given) else to_json({"arguments": given})
    call = text_in(payload, "call_id")
    if name == "spawn_agent" and id_in(payload, "call_id"):
        state = {**state, "spawns": [*state.get("spawns", []), call][-_MOST_SPAWNS:]}
    kind = text_in(payload, "type")
    name = name or kind.removesuffix("_call")
    name = f"{space.rstrip('_')}__{name}" if space.startswith("mcp__") else name
    return (_call(here, name, call, tool_input),), state, ""


def _call(here: Here, name: str, call: str, tool_input: str) -> Record:
    return here.make(
        "tool_use",
        "assistant",
        tool_name=name,
        tool_call_id=call,
        tool_input=tool_input,
        model=here.model,
    )


def _decode_action(
    payload: dict[str, Any], here: Here, state: dict[str, Any]
) -> Outcome:
    """A command or a search that stands in the item; the search has no result."""
    action = object_in(payload, "action")
    known = {name: action[name] for name in _ACTIONS if name in action}
    if "working_directory" in action:
        known["workdir"] = action["working_directory"]
    name = text_in(payload, "type").removesuffix("_call")
    call = text_in(payload, "call_id") or text_in(payload, "id")
    record = _call(here, name, call, to_json(known))
    if name == "local_shell":
        return (record,), state, ""
    return (record, _close(payload, here, name, call)), state, ""


def _close(payload: dict[str, Any], here: Here, name: str, call: str) -> Record:
    """The end of a call that the model's own host answered: the log has no more."""
    result = text_in(payload, "result")
    content = tell_data("image", f"data:image,{result}") if result else ""
    return here.make(
        "tool_result",
        "tool",
        content or text_in(payload, "status"),
        tool_call_id=call,
        tool_name=name,
        block=1,
    )


def _decode_image(
    payload: dict[str, Any], here: Here, state: dict[str, Any]
) -> Outcome:
    call = text_in(payload, "id")
    asked = to_json({"prompt": text_in(payload, "revised_prompt")})
    record = _call(here, "image_generation", call, asked)
    return (record, _close(payload, here, "image_generation", call)), state, ""


def _decode_result(
    payload: dict[str, Any], here: Here, state: dict[str, Any]
) -> Outcome:
    """A tool's answer; of a subagent's start, also the link to it."""
    call = text_in(payload, "call_id")
    content, metadata = _read_output(payload)
    record = here.make(
        "tool_result", "tool", content, tool_call_id=call, metadata=metadata
    )
    child = _spawned(content) if call in state.get("spawns", []) else ""
    if not child:
        return (record,), state, ""
    return (record, here.link(child, "result", tool_call_id=call)), state, ""


def _read_output(payload: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """The answer without the client's header, and what that header said."""
    output = payload.get("output")
    metadata: dict[str, Any] = {}
    if isinstance(output, dict):
        if output.get("success") is False:
            metadata["is_error"] = True
        output = output.get("content", output.get("body"))
    if output is None:
        names = (text_in(t, "name") for t in _objects(payload, "tools"))
        return "\n".join(name for name in names if name), metadata
    if isinstance(output, list):
        return "\n".join(filter(None, map(tell_part, output))), metadata
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
    found = _HEADER.match(text)
    if found:
        code, rest = int(found[2]), text[found.end() :]
        return (f"{found[1]}\n{rest}" if code else rest), code
    if text.startswith('{"output":'):
        value = _parse(text)
        told = object_in(value, "metadata").get("exit_code")
        if isinstance(value.get("output"), str):
            is_code = type(told) is int and abs(told) < 2**31
            return value["output"], told if is_code else None
    return text, None


def _spawned(text: str) -> str:
    return id_in(_parse(text), "agent_id")


def _parse(text: str) -> dict[str, Any]:
    try:
        return parse_json(text.encode())
    except DecodeError:
        return {}


def _objects(payload: dict[str, Any], name: str) -> list[dict[str, Any]]:
    return [each for each in list_in(payload, name) if isinstance(each, dict)]


_DECODERS: dict[str, Callable[[dict[str, Any], Here, dict[str, Any]], Outcome]] = {
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
