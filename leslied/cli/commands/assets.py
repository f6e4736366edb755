"""`leslied assets`: plans, designs and notes of threads, and who wrote them."""

from __future__ import annotations

from itertools import groupby
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from leslied.app import get_app
from leslied.cli.completion import complete_thread
from leslied.cli.help import LesliedCommand
from leslied.cli.render.output import (
    emit,
    format_table,
    format_time,
    json_option,
    parse_time,
    sanitize,
)
from leslied.errors import UserError
from leslied.layout import thread_folder
from leslied.queries.threads.assets import lint_thread_assets, load_asset_indexes
from leslied.rendering.humanize import format_bytes

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from leslied.queries.threads.assets import AssetFinding

_COLUMNS = ("TYPE", "PATH", "TITLE", "SIZE", "CHANGED", "BY")


@click.command(
    cls=LesliedCommand,
    examples=[
        ("leslied assets", "show the assets of the current project"),
        ("leslied assets last", "show those of the last active session's thread"),
        ("leslied assets last --json", "include hashes and tool calls"),
        ("leslied assets lint", "check the names of all assets"),
    ],
    exit_codes=[(1, "`lint` found a problem")],
    see_also=["threads", "context", "show"],
)
@click.argument(
    "arguments",
    nargs=-1,
    metavar="[lint] [THREAD|last]",
    shell_complete=complete_thread,
)
@json_option
@click.pass_context
def command(ctx: click.Context, *, arguments: tuple[str, ...], as_json: bool) -> None:
    """Show the assets of a thread, or of every thread of the current project.

    An asset is a file in the thread's folder: a plan, a list of progress, a design,
    learnings, a discussion, or a transcript. The column BY shows the tool call that
    changed it last. Outside a project, the assets of all threads are shown.

    `leslied assets lint` checks the names of assets and exits with 1 if it finds a
    problem.
    """
    app = get_app(ctx)
    is_lint = arguments[:1] == ("lint",)
    thread_ids = arguments[1:] if is_lint else arguments
    if len(thread_ids) > 1:
        raise UserError(
            f"Name one thread, not {len(thread_ids)}.", "Try: leslied assets --help"
        )
    thread_id = thread_ids[0] if thread_ids else ""
    with app.open_queries() as queries:
        if is_lint:
            lint = lint_thread_assets(queries, thread_id, Path.cwd())
            emit(lint.to_dict, lambda: _lint_lines(lint.findings), as_json=as_json)
            ctx.exit(1 if lint.findings else 0)
        indexes = load_asset_indexes(queries, thread_id, Path.cwd())
    emit(
        indexes.to_dict,
        lambda: _lines(indexes.threads, is_single=bool(thread_ids)),
        as_json=as_json,
    )


def _lines(threads: Sequence[dict[str, Any]], *, is_single: bool) -> Iterator[str]:
    if not threads:
        yield (
            "No thread has an asset index yet. "
            "Use an agent in a project, then run: leslied sync"
        )
        return
    # Leave out threads with nothing but transcripts, or the list would be too long.
    visible_threads = [
        thread for thread in threads if is_single or _has_other_assets(thread)
    ]
    for number, thread in enumerate(visible_threads):
        if not is_single:
            if number:
                yield ""
            title = sanitize(thread.get("title") or "").replace("\n", " ")
            yield click.style(f"{sanitize(str(thread['thread']))}  {title}", bold=True)
        yield from format_table(
            _COLUMNS,
            list(_iter_rows(thread)),
            flexible="TITLE",
            right_aligned=("SIZE",),
            droppable=("SIZE", "BY", "CHANGED"),
        )
        yield from _progress_lines(thread)
    hidden_count = len(threads) - len(visible_threads)
    if hidden_count:
        if visible_threads:
            yield ""
        subject = "thread has" if hidden_count == 1 else "threads have"
        yield (
            f"{hidden_count} {subject} only transcripts. "
            "List sessions with: leslied list"
        )


def _has_other_assets(thread: dict[str, Any]) -> bool:
    """Return whether the thread has assets other than transcripts."""
    return any(asset["type"] != "transcript" for asset in thread["assets"])


def _iter_rows(thread: dict[str, Any]) -> Iterator[tuple[str, ...]]:
    prefix = f"{thread_folder(thread['thread'])}/"
    # The agent's own files come first, then the transcripts that leslied wrote.
    assets = sorted(thread["assets"], key=lambda a: a["type"] == "transcript")
    for asset in assets:
        files = asset.get("files", [asset])
        if asset["type"] == "transcript":
            yield _transcript_row(asset, files, prefix)
            continue
        for file in files:
            yield (
                asset["type"],
                file["path"].removeprefix(prefix),
                file["title"],
                format_bytes(file["size"]),
                format_time(parse_time(file["updated_at"])),
                _format_call(file),
            )


def _transcript_row(
    asset: dict[str, Any], files: list[dict[str, Any]], prefix: str
) -> tuple[str, ...]:
    newest_time = max((file["updated_at"] for file in files), default="")
    return (
        "transcript",
        asset["path"].removeprefix(prefix),
        f"{len(files)} files" if len(files) != 1 else "1 file",
        format_bytes(sum(file["size"] for file in files)),
        format_time(parse_time(newest_time)),
        "leslied",
    )


def _format_call(file: dict[str, Any]) -> str:
    """Format the tool call that changed the file last, and the number of other calls.

    Return `-` if the call is unknown.
    """
    tool_by_call = {call["call_id"]: call["tool"] for call in file.get("calls", [])}
    history = file.get("history", [])
    last_ids = history[-1]["calls"] if history else list(tool_by_call)
    call_id = next((each for each in reversed(last_ids) if each in tool_by_call), "")
    if not call_id:
        return "-"
    suffix = f" (+{len(tool_by_call) - 1})" if len(tool_by_call) > 1 else ""
    return f"{tool_by_call[call_id]} {call_id}{suffix}"


def _progress_lines(thread: dict[str, Any]) -> Iterator[str]:
    progress = thread.get("progress")
    if not progress:
        return
    percent = progress["percent"]
    yield ""
    yield (
        f"{progress['done']} done, {progress['open']} open, "
        f"{progress['blocked']} blocked"
        + (f" ({percent} %)" if percent is not None else "")
    )
    for item in progress["items"]:
        mark = {"done": "✓", "blocked": "!"}.get(item["state"], "·")
        suffix = f" (blocked: {item['reason']})" if item.get("reason") else ""
        yield sanitize(f"{'  ' * item['depth']}{mark} {item['text']}{suffix}")


def _lint_lines(findings: Sequence[AssetFinding]) -> Iterator[str]:
    for (thread, path), group in groupby(findings, attrgetter("thread", "path")):
        file_findings = list(group)
        messages = "; ".join(finding.message for finding in file_findings)
        suggestion = next((f.better for f in file_findings if f.better), "")
        yield sanitize(
            f"{thread}/{path}: {messages}"
            + (f". Try: {suggestion}" if suggestion else "")
        )
    if not findings:
        yield "All asset names are valid."
