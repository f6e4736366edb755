"""ATIF: one document in the Agent Trajectory Interchange Format, with subagents."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from leslied.model.codec import encode_time
from leslied.model.output import Artifact
from leslied.rendering.messages import (
    find_export_origin,
    find_version,
    make_unit_messages,
    parse_input,
    sum_unit_usage,
)
from leslied.sinks._contract import Sink
from leslied.sinks._text import dump_json, encode_text, make_file_stem

if TYPE_CHECKING:
    from collections.abc import Sequence

    from leslied.model.record import Usage
    from leslied.model.session import Session, SessionSummary, Unit
    from leslied.rendering.messages import SpeakerMessage, ToolInvocation

VERSION = "ATIF-v1.8"
_SOURCES = {"user": "user", "assistant": "agent"}
_MODEL_EVENTS = ("context", "compacted")
"""Kinds of events whose text the model saw; the others are bookkeeping."""


def render(session: Session) -> tuple[Artifact, ...]:
    """Render one trajectory; the trajectories of subagents are embedded."""
    trajectory = _Trajectory(session.summary, session.units).to_dict()
    trajectory["trajectory_id"] = session.summary.thread_id or None
    trajectory["final_metrics"]["total_cost_usd"] = session.cost_usd
    body = encode_text(dump_json(_drop_none(trajectory), 2) + "\n")
    return (Artifact(path=f"{make_file_stem(session)}.trajectory.json", body=body),)


class _Trajectory:
    """The trajectory of one session or subagent."""

    def __init__(self, summary: SessionSummary, units: Sequence[Unit]) -> None:
        self._summary, self._units = summary, units
        self._subagents: dict[str, dict[str, Any]] = {}

    def to_dict(self) -> dict[str, Any]:
        """Return the document; values that are not known are None."""
        steps = [
            step
            for group in make_unit_messages(self._units)
            for message in group.messages
            if (step := self._step_to_dict(message, group.unit))
        ]
        for unit in self._units:
            for child in unit.subagents:
                self._embed(child)
        # The format requires at least one step.
        steps = steps or [{"source": "system", "message": ""}]
        usage = sum_unit_usage(self._units)
        return {
            "schema_version": VERSION,
            "session_id": self._summary.key.session_id,
            "trajectory_id": self._summary.key.source,
            "agent": self._agent_to_dict(),
            "steps": [{"step_id": n, **step} for n, step in enumerate(steps, 1)],
            "final_metrics": {**_totals_to_dict(usage), "total_steps": len(steps)},
            "subagent_trajectories": list(self._subagents.values()) or None,
            "extra": _drop_none({"title": self._summary.title or None}),
        }

    def _agent_to_dict(self) -> dict[str, Any]:
        summary = self._summary
        extra = {
            "agent_type": summary.agent_type or None,
            "description": summary.description or None,
            "spawn_call_id": summary.spawn_call_id or None,
            "cwd": summary.cwd or None,
        }
        return {
            "name": summary.key.agent,
            "version": find_version(self._units) or "unknown",
            "model_name": summary.model or None,
            "extra": _drop_none(extra) or None,
        }

    def _step_to_dict(
        self, message: SpeakerMessage, unit: Unit
    ) -> dict[str, Any] | None:
        """Return the message as a step, or None if the format has no place for it."""
        if message.speaker == "unknown":
            return None
        if message.speaker == "event" and not (
            message.event_kind in _MODEL_EVENTS and message.text.strip()
        ):
            return None
        calls = [_call_to_dict(call) for call in message.calls]
        step = {
            "timestamp": encode_time(message.placed.record.created_at),
            "source": _SOURCES.get(message.speaker, "system"),
            "message": "" if message.speaker == "tool" else message.text,
            "model_name": message.model or None,
            "reasoning_content": message.thinking or None,
            "tool_calls": calls or None,
            "observation": self._observation_to_dict(message),
            "metrics": _usage_to_dict(message.usage) if message.usage else None,
            "extra": _drop_none(
                {
                    "chat_id": unit.chat_id,
                    "kind": message.event_kind or None,
                    "origin": find_export_origin(message.placed, unit) or None,
                }
            ),
        }
        # In this format, only steps of the agent may have these fields.
        if step["source"] != "agent":
            step |= dict.fromkeys(("model_name", "reasoning_content", "metrics"))
        return step

    def _observation_to_dict(self, message: SpeakerMessage) -> dict[str, Any] | None:
        """Return the results of the calls, with references to their subagents."""
        if message.speaker == "tool":
            return {"results": [{"content": message.text}]}
        results = [self._result_to_dict(call) for call in message.calls]
        # A call without a result or a subagent has only its id.
        results = [result for result in results if len(result) > 1]
        return {"results": results} if results else None

    def _result_to_dict(self, call: ToolInvocation) -> dict[str, Any]:
        result: dict[str, Any] = {"source_call_id": call.call_id}
        if call.result:
            result["content"] = call.output
        if call.is_error:
            result["extra"] = {"is_error": True}
        if call.subagents:
            ids = [self._embed(child) for child in call.subagents]
            result["subagent_trajectory_ref"] = [
                {"trajectory_id": trajectory_id} for trajectory_id in ids
            ]
        return result

    def _embed(self, child: Unit) -> str:
        """Embed the subagent's trajectory unless that is done, and return its id."""
        trajectory_id = child.summary.key.source
        if trajectory_id not in self._subagents:
            trajectory = _Trajectory(child.summary, [child])
            self._subagents[trajectory_id] = trajectory.to_dict()
        return trajectory_id


def _call_to_dict(call: ToolInvocation) -> dict[str, Any]:
    return {
        "tool_call_id": call.call_id,
        "function_name": call.name,
        "arguments": parse_input(call.placed.record),
    }


def _usage_to_dict(usage: Usage) -> dict[str, Any]:
    """Return the tokens of one message; prompt tokens include cached ones."""
    return {
        "prompt_tokens": usage.input_tokens
        + usage.cache_read_tokens
        + usage.cache_write_tokens,
        "completion_tokens": usage.output_tokens,
        "cached_tokens": usage.cache_read_tokens,
        "extra": {"cache_write_tokens": usage.cache_write_tokens},
    }


def _totals_to_dict(usage: Usage) -> dict[str, Any]:
    """Return the tokens of a whole trajectory."""
    metrics = _usage_to_dict(usage)
    names = ("prompt_tokens", "completion_tokens", "cached_tokens")
    return {f"total_{name}": metrics[name] for name in names}


def _drop_none(value: Any) -> Any:
    """Return the value without fields that are None; keep those of call arguments."""
    if isinstance(value, dict):
        return {
            name: item if name == "arguments" else _drop_none(item)
            for name, item in value.items()
            if item is not None
        }
    return [_drop_none(item) for item in value] if isinstance(value, list) else value


SINK = Sink(name="atif", about="an ATIF trajectory, subagents inside", render=render)
