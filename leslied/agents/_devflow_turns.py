"""Decode devflow runs; `docs/formats/devflow.md` documents them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, get_args

from leslied.agents._entry import (
    LogEntry,
    as_count,
    as_dict,
    as_folder,
    as_list,
    as_text,
)
from leslied.agents._parsing import (
    parse_document,
    parse_time,
    printable_name,
    reject_entry,
)
from leslied.model.record import MAIN, DecodeResult, Origin, SessionKey, Usage

if TYPE_CHECKING:
    from collections.abc import Iterator

    from leslied.model.record import Record
    from leslied.model.source import RawEntry

_CALLS_BLOCK, _RESULTS_BLOCK, _USAGE_BLOCK = 10, 100_000, 200_000


def decode_run(entry: RawEntry, state: dict[str, Any]) -> DecodeResult:
    """Decode a document: the transcript of one run."""
    document = parse_document(entry.data)
    if not isinstance(document.get("turns"), list):
        reject_entry("a document without turns")
    # A file directly in the root has no folder of its own.
    folder = printable_name(("", *entry.source.parts)[-2])
    run_id = as_text(document.get("runId")) or folder or "run"
    try:
        records = tuple(_DevflowRun.make(document, entry.source.agent, run_id).decode())
    except RecursionError:
        reject_entry("nested too deeply")
    cwd = next((r.metadata["cwd"] for r in records if "cwd" in r.metadata), "")
    return DecodeResult(records=records, state=state, cwd=cwd)


@dataclass(slots=True)
class _DevflowRun:
    """One run; in exports of leslied, a subagent is a run that names its parent."""

    document: dict[str, Any]
    metadata: dict[str, Any]
    inputs: dict[str, Any]
    key: SessionKey
    scope: str

    @classmethod
    def make(cls, document: dict[str, Any], agent: str, run_id: str) -> _DevflowRun:
        """Return a run.

        It is a subagent if it names its parent run and the node `subagent:ID`.
        """
        metadata = as_dict(document.get("metadata"))
        inputs = as_dict(metadata.get("input"))
        parent, node = (
            as_text(inputs.get("parentRunId")),
            as_text(metadata.get("nodeId")),
        )
        kind, _, subagent_id = node.partition(":")
        is_subagent = bool(parent and kind == "subagent" and subagent_id)
        key = (
            SessionKey(agent, parent, node)
            if is_subagent
            else SessionKey(agent, run_id)
        )
        return cls(document, metadata, inputs, key, run_id)

    def decode(self) -> Iterator[Record]:
        """Yield the records of the run and its turns."""
        log_entry = self._make_entry("opened", self.metadata.get("startedAt"))
        if self.key.source != MAIN:
            names = {"tool_call_id": "toolCallId", "agent_type": "agentType"}
            names |= {"description": "description", "parent_agent": "parentAgent"}
            facts = {name: as_text(self.inputs.get(key)) for name, key in names.items()}
            yield log_entry.make_event("subagent_linked", block=1, **facts)
        yield log_entry.make_event(
            "opened",
            cwd=as_folder(self.inputs.get("project")),
            version=as_text(self.inputs.get("agentVersion")),
            note=as_text(self.metadata.get("flowId")),
        )
        for number, turn in enumerate(as_list(self.document.get("turns")), 1):
            yield from self._decode_turn(number, turn)
        yield from self._decode_end()

    def _make_entry(self, name: str, time: object, model: str = "") -> LogEntry:
        return LogEntry(
            key=self.key,
            native_id=name,
            scope=self.scope,
            created_at=parse_time(time),
            model=model,
        )

    def _decode_turn(self, number: int, value: object) -> Iterator[Record]:
        turn = as_dict(value)
        role, text = as_text(turn.get("role")), as_text(turn.get("content"))
        model = as_text(self.inputs.get("model")) if role == "assistant" else ""
        entry = self._make_entry(f"turn:{number}", turn.get("timestamp"), model)
        match role:
            case "user":
                origin = as_text(turn.get("origin"))
                is_valid = self.key.source == MAIN and origin in get_args(Origin)
                yield entry.make_prompt(text, origin=origin if is_valid else "")
            case "assistant":
                thinking, calls = as_text(turn.get("thinking")), turn.get("toolCalls")
                if thinking:
                    yield entry.make_thinking(thinking, block=1)
                if text or not (thinking or as_list(calls)):
                    yield entry.make_answer(text, block=2)
            case "system":
                yield entry.make_event("context", text)
            case "tool_result":
                yield entry.make_result("", "", text)
            case _:
                yield entry.make_unknown(value)
        yield from _decode_calls(entry, turn)
        tokens = (as_count(turn.get(name)) for name in ("tokensIn", "tokensOut"))
        if usage := Usage(*tokens):
            message_id = f"{self.scope}:{entry.native_id}"
            yield entry.make_usage(usage, message_id, block=_USAGE_BLOCK)

    def _decode_end(self) -> Iterator[Record]:
        """Yield the end of the run, unless it is still running."""
        entry = self._make_entry("ended", self.metadata.get("endedAt"))
        match self.metadata.get("status"):
            case "completed":
                yield entry.make_event("turn_ended", stop_reason="end_turn")
            case "canceled":
                yield entry.make_event("turn_ended", note="interrupt")
            case "failed":
                text = as_text(self.metadata.get("error")) or "The run failed."
                yield entry.make_record("error", "assistant", content=text)


def _decode_calls(entry: LogEntry, turn: dict[str, Any]) -> Iterator[Record]:
    """Yield the calls of a turn, then their results."""
    calls = [as_dict(call) for call in as_list(turn.get("toolCalls"))]
    ids = [
        as_text(call.get("id")) or f"{entry.scope}:{entry.native_id}:{number}"
        for number, call in enumerate(calls)
    ]
    names = [as_text(call.get("name")) for call in calls]
    for number, call in enumerate(calls):
        yield entry.make_call(
            names[number], ids[number], call.get("input"), block=_CALLS_BLOCK + number
        )
    for number, call in enumerate(calls):
        error = as_text(call.get("error"))
        if "output" not in call and not error:
            continue
        facts = {"is_error": True} if error else {}
        yield entry.make_result(
            names[number],
            ids[number],
            error or as_text(call.get("output")),
            block=_RESULTS_BLOCK + number,
            **facts,
        )
