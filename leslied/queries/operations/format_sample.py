"""A sample of log formats for a bug report: choice of the logs, and its files."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from leslied import __version__
from leslied.control_characters import escape_control_characters
from leslied.errors import UserError
from leslied.queries.operations.bug_report import collect_versions
from leslied.queries.resolve import resolve_id

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from leslied.model.format_sample import SampledSource
    from leslied.queries.context import QueryContext

MAX_LOGS = 20
"""Logs in one sample."""
_README = """This is a sample of log formats for leslied {version}.

about.json    versions of leslied, Python and the system
sample.json   for each log: the agent, its version, how many entries were read, which
              kinds they have, and which of them leslied does not know
*.jsonl       the structure of one entry of each kind
*.schema.json the names of tables and columns of a database; no rows
manifest.json the SHA-256 of each of these files

{contents}

Only structure is left: names of keys, types of values, and kinds such as
"type": "user". Every other text is replaced by its length, every number by 0 or 1,
every time by the start of the year 2000, every path and id by a counter; equal ids stay
equal. A line that is not JSON has `a` for every letter and `0` for every digit. The
paths of the logs are not included. Names of keys and kinds come from the log: review
the files before you send them.
"""


def list_sample_paths(context: QueryContext, target: str) -> list[Path]:
    """Return the logs to sample; `target` is the path of a log, or a session's id.

    Without a target, return logs with entries that leslied does not understand. Raise
    UserError if there is no log.
    """
    if not target:
        return _list_unknown_logs(context)
    path = Path(target).expanduser().absolute()
    if path.is_file():
        return [path]
    if "/" in target:
        raise UserError(f"There is no file {target}.", "Name a log or a session.")
    key = resolve_id(context.reader, target).session.key
    sources = context.reader.sizes.list_sources((key.agent, key.session_id))
    paths = [Path(os.fsdecode(source.path)) for source in sources]
    existing_paths = [path for path in paths if path.is_file()]
    if not existing_paths:
        raise UserError(
            "The agent has deleted the logs of this session.",
            "Name a session whose logs exist: leslied list",
        )
    return existing_paths[:MAX_LOGS]


def _list_unknown_logs(context: QueryContext) -> list[Path]:
    paths = context.reader.unknown.list_source_paths(MAX_LOGS)
    existing_paths = [
        path for name in paths if (path := Path(os.fsdecode(name))).is_file()
    ]
    if not existing_paths:
        raise UserError(
            "leslied understands every entry of the logs that it has read.",
            "Name a session or a file: leslied bundle --format-sample last",
        )
    return existing_paths


def make_sample_files(
    context: QueryContext, sources: Sequence[SampledSource]
) -> dict[str, bytes]:
    """Return the files of a sample by name, without recognized secrets."""
    contents = "\n".join(describe_sources(sources))
    log_descriptions = []
    texts = {"README.txt": _README.format(version=__version__, contents=contents)}
    texts["about.json"] = _dump_json(collect_versions())
    for number, source in enumerate(sources, 1):
        name = f"{number:02d}-{source.agent or 'unknown'}"
        log_descriptions.append({"file": name, **source.describe()})
        if source.lines:
            texts[f"{name}.jsonl"] = "".join(
                escape_control_characters(line) + "\n" for line in source.lines
            )
        if source.schema is not None:
            texts[f"{name}.schema.json"] = _dump_json(source.schema)
    texts["sample.json"] = _dump_json({"logs": log_descriptions})
    return {name: _clean(context, text) for name, text in texts.items()}


def summarize_sample(
    context: QueryContext, sources: Sequence[SampledSource]
) -> dict[str, Any]:
    """Return the fields of a FormatSampleResult that describe the sample."""
    agents = {f"{each.agent} {each.version}".strip(): None for each in sources}
    unknown_kinds = {kind: None for each in sources for kind in each.unknown_kinds}
    summary: dict[str, Any] = context.redact_value(
        {
            "entries": sum(len(each.lines) for each in sources),
            "kinds": len({kind for each in sources for kind in each.kinds}),
            "unknown_kinds": tuple(unknown_kinds),
            "agents": tuple(filter(None, agents)),
            "rejected": len({reason for each in sources for reason in each.rejected}),
        }
    )
    return summary


def describe_sources(sources: Iterable[SampledSource]) -> Iterator[str]:
    """Yield a line about each log of a sample, for its README."""
    for source in sources:
        agent = f"{source.agent or 'a file of no known agent'} {source.version}"
        unknown = ", ".join(source.unknown_kinds)
        parts = [
            f"{agent.rstrip()}: {len(source.lines)} of {source.read} entries",
            f"unknown kinds: {unknown}" if unknown else "",
            f"rejected: {', '.join(source.rejected)}" if source.rejected else "",
            f"tables: {len(source.schema['tables'])}" if source.schema else "",
            f"not read to its end: {source.problem}" if source.problem else "",
        ]
        yield "; ".join(filter(None, parts))


def _clean(context: QueryContext, text: str) -> bytes:
    """Return a text without recognized secrets and without the home directory."""
    home = str(context.home)
    without_home = text.replace(home, "~") if home != "/" else text
    return context.redact(without_home).encode(errors="replace")


def _dump_json(value: object) -> str:
    text = json.dumps(value, ensure_ascii=False, indent=2)
    return escape_control_characters(text) + "\n"
