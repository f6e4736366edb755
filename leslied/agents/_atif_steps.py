"""Decode ATIF trajectories; `docs/formats/atif.md` documents them."""

from __future__ import annotations

from dataclasses import dataclass, field
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
    to_json,
)
from leslied.model.record import MAIN, DecodeResult, Origin, SessionKey, Usage

if TYPE_CHECKING:
    from collections.abc import Iterator

    from leslied.model.record import Record
    from leslied.model.source import RawEntry

_CALLS_BLOCK, _RESULTS_BLOCK, _USAGE_BLOCK = 10, 100_000, 200_000
"""Block numbers of a step's first call, first result and token counts."""
_MAX_DEPTH = 20
"""The number of levels of nested subagents that are read."""
_SUBAGENT = "subagent:"


def decode_trajectory(entry: RawEntry, state: dict[str, Any]) -> DecodeResult:
    """Decode a document: a trajectory, and the trajectories that it embeds."""
    document = parse_document(entry.data)
    if not isinstance(document.get("steps"), list):
        reject_entry("a document without steps")
    stem = printable_name(entry.source.parts[-1]).removesuffix(".json")
    ids = (document.get("session_id"), document.get("trajectory_id"), stem)
    session_id = next(filter(None, map(as_text, ids)), "unknown")
    try:
        key = SessionKey(entry.source.agent, session_id)
        records = tuple(_TrajectoryDecoder(document, key).decode())
    except RecursionError:
        reject_entry("nested too deeply")
    cwd = next((r.metadata["cwd"] for r in records if "cwd" in r.metadata), "")
    return DecodeResult(records=records, state=state, cwd=cwd)


@dataclass(slots=True)
class _TrajectoryDecoder:
    """A decoder for the trajectory of a session or subagent."""

    document: dict[str, Any]
    key: SessionKey
    link: dict[str, str] = field(default_factory=dict)
    """Facts about the call that spawned the subagent."""
    depth: int = 0
    callers: dict[str, str] = field(default_factory=dict)
    """Ids of the calls that spawned subagents, by the subagent's trajectory id."""

    def decode(self) -> Iterator[Record]:
        """Yield the records of the session or subagent, then those of its subagents."""
        yield from self._decode_head()
        for number, step in enumerate(as_list(self.document.get("steps")), 1):
            yield from self._decode_step(number, step)
        children = as_list(self.document.get("subagent_trajectories"))
        for number, child in enumerate(children if self.depth < _MAX_DEPTH else ()):
            yield from self._decode_child(number, as_dict(child))

    def _decode_head(self) -> Iterator[Record]:
        log_entry, agent = (
            self._make_entry("opened"),
            as_dict(self.document.get("agent")),
        )
        extra = as_dict(agent.get("extra"))
        if self.key.source != MAIN:
            facts = {
                name: as_text(extra.get(name)) for name in ("agent_type", "description")
            }
            yield log_entry.make_event("subagent_linked", block=1, **self.link, **facts)
        yield log_entry.make_event(
            "opened",
            cwd=as_folder(extra.get("cwd")),
            version=as_text(agent.get("version")),
            original_agent=as_text(agent.get("name")),
        )
        title = as_text(as_dict(self.document.get("extra")).get("title"))
        if title and self.key.source == MAIN:
            yield self._make_entry("title").make_event(
                "title", title, title_kind="custom"
            )

    def _make_entry(self, name: str, time: object = None, model: str = "") -> LogEntry:
        """Return the fields that the records of a step share.

        The native id contains the id of the trajectory, because other documents may
        contain trajectories of the same session, with the same step numbers.
        """
        trajectory_id = as_text(self.document.get("trajectory_id"))
        return LogEntry(
            key=self.key,
            native_id=f"{trajectory_id}:{name}",
            created_at=parse_time(time),
            scope=f"{self.key.session_id}:{self.key.source}",
            model=model,
        )

    def _decode_step(self, number: int, value: object) -> Iterator[Record]:
        step = as_dict(value)
        agent_model = as_text(as_dict(self.document.get("agent")).get("model_name"))
        source = as_text(step.get("source"))
        model = as_text(step.get("model_name")) or agent_model
        entry = self._make_entry(
            f"step:{number}", step.get("timestamp"), model if source == "agent" else ""
        )
        text = _join_parts(step.get("message"))
        match source:
            case "user":
                origin = as_text(as_dict(step.get("extra")).get("origin"))
                is_valid = self.key.source == MAIN and origin in get_args(Origin)
                yield entry.make_prompt(text, origin=origin if is_valid else "")
            case "agent":
                yield from self._decode_agent_step(entry, step, text)
            case "system":
                kind = as_text(as_dict(step.get("extra")).get("kind"))
                is_compacted = kind == "compacted"
                if text or not step.get("observation"):
                    yield entry.make_event(
                        "compacted" if is_compacted else "context", text
                    )
            case _:
                yield entry.make_unknown(value)
                return
        yield from self._decode_results(entry, step)

    def _decode_agent_step(
        self, entry: LogEntry, step: dict[str, Any], text: str
    ) -> Iterator[Record]:
        thinking = as_text(step.get("reasoning_content"))
        if thinking:
            yield entry.make_thinking(thinking, block=1)
        calls = as_list(step.get("tool_calls"))
        if text or not (thinking or calls):
            yield entry.make_answer(text, block=2)
        for block, item in enumerate(calls, _CALLS_BLOCK):
            call = as_dict(item)
            yield entry.make_call(
                as_text(call.get("function_name")),
                as_text(call.get("tool_call_id")),
                call.get("arguments"),
                block=block,
            )
        if usage := _parse_usage(as_dict(step.get("metrics"))):
            message_id = f"{entry.scope}:{entry.native_id}"
            yield entry.make_usage(usage, message_id, block=_USAGE_BLOCK)

    def _decode_results(
        self, entry: LogEntry, step: dict[str, Any]
    ) -> Iterator[Record]:
        names = {
            as_text(call.get("tool_call_id")): as_text(call.get("function_name"))
            for call in map(as_dict, as_list(step.get("tool_calls")))
        }
        results = as_list(as_dict(step.get("observation")).get("results"))
        for block, item in enumerate(results, _RESULTS_BLOCK):
            result = as_dict(item)
            call_id = as_text(result.get("source_call_id"))
            self._record_callers(result, call_id)
            if "content" not in result and call_id:
                continue
            facts = {}
            if as_dict(result.get("extra")).get("is_error") is True:
                facts["is_error"] = True
            yield entry.make_result(
                names.get(call_id, ""),
                call_id,
                _join_parts(result.get("content")),
                block=block,
                **facts,
            )

    def _record_callers(self, result: dict[str, Any], call_id: str) -> None:
        """Record that this call spawned the subagents that its result names."""
        for reference in as_list(result.get("subagent_trajectory_ref")):
            trajectory_id = as_text(as_dict(reference).get("trajectory_id"))
            self.callers.setdefault(trajectory_id, call_id)

    def _decode_child(self, number: int, child: dict[str, Any]) -> Iterator[Record]:
        trajectory_id = as_text(child.get("trajectory_id"))
        name = trajectory_id.removeprefix(_SUBAGENT) or str(number)
        if self.depth:
            parent = self.key.subagent_id
            # leslied's exports have ids that are unique in the session. Other programs'
            # ids need to be unique only among the subagents of one trajectory.
            is_unique = trajectory_id.startswith(_SUBAGENT)
            name = name if is_unique else f"{parent}/{name}"
        extra = as_dict(as_dict(child.get("agent")).get("extra"))
        call_id = self.callers.get(trajectory_id) or as_text(extra.get("spawn_call_id"))
        link = {"tool_call_id": call_id}
        if self.depth:
            link["parent_agent"] = self.key.subagent_id
        key = SessionKey(self.key.agent, self.key.session_id, _SUBAGENT + name)
        yield from _TrajectoryDecoder(child, key, link, self.depth + 1).decode()


def _parse_usage(metrics: dict[str, Any]) -> Usage | None:
    """Return the tokens of a step; in this format, the input includes cached ones."""
    names = ("prompt_tokens", "completion_tokens", "cached_tokens")
    input_total, output, cache_read = (as_count(metrics.get(name)) for name in names)
    cache_write = as_count(as_dict(metrics.get("extra")).get("cache_write_tokens"))
    input_tokens = max(input_total - cache_read - cache_write, 0)
    return Usage(input_tokens, output, cache_read, cache_write) or None


def _join_parts(content: object) -> str:
    """Return content as text, with placeholders for parts that are not text."""
    if isinstance(content, str):
        return content
    texts = []
    for part in map(as_dict, as_list(content)):
        if part.get("type") == "text":
            texts.append(as_text(part.get("text")))
        else:
            source = as_dict(part.get("source"))
            name = as_text(source.get("path")) or to_json(part)
            texts.append(f"[{as_text(part.get('type')) or 'part'} {name}]")
    return "\n\n".join(texts)
