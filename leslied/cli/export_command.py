"""`leslied export`: sessions as files, in the form that somebody asked for."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from datetime import UTC
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from leslied import sinks
from leslied.cli.app import get_app
from leslied.cli.completion import complete_session
from leslied.cli.filters import filter_options, format_no_sessions, parse_filters
from leslied.cli.help import LesliedCommand
from leslied.cli.output import (
    emit,
    format_bytes,
    format_count,
    format_path,
    json_option,
)
from leslied.cli.progress import ProgressBar
from leslied.errors import UserError
from leslied.lookup import ResolvedId, list_sessions, load_session, resolve_id
from leslied.model.query import Selection
from leslied.redact.session import redact_session
from leslied.sessions import stopped_before_us

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from leslied.cli.app import App
    from leslied.model.output import Artifact
    from leslied.model.query import Filter
    from leslied.model.session import Session
    from leslied.sinks import Sink
    from leslied.store import StoreReader

FORMATS = (
    "leslie",
    "markdown",
    "html",
    "json",
    "jsonl",
    "devflow",
    "chibi",
    "weakincentives",
    "atif",
)
"""In the order people are told; a test holds it to the sinks that there are."""


@click.command(
    cls=LesliedCommand,
    examples=[
        ("leslied export last -f markdown", "the newest session, on the screen"),
        ("leslied export last -f html -o talk.html", "a page to send to somebody"),
        ("leslied export chat-01922cb7 -f json", "one unit, for a program"),
        ("leslied export --all -f html -o talks/", "every session, each a page"),
        ("leslied export --all --project app -f jsonl -o app/", "one project's"),
        ("leslied export last -f jsonl | jq .type", "its records, one a line"),
    ],
    see_also=["list", "show", "bundle"],
)
@click.argument(
    "wanted",
    metavar="[ID|last]",
    required=False,
    default="",
    shell_complete=complete_session,
)
@click.option(
    "-f",
    "--format",
    "form",
    type=click.Choice(FORMATS),
    metavar="FORM",
    required=True,
    help=f"What to make of it: {', '.join(FORMATS)}.",
)
@click.option(
    "-o",
    "--output",
    metavar="PATH",
    default="",
    type=click.Path(),
    help="The file or folder to write.",
)
@click.option("--all", "has_all", is_flag=True, help="Every session, into a folder.")
@filter_options
@click.option("--reveal", is_flag=True, help="Leave secrets as they are in the log.")
@json_option
@click.pass_context
def command(ctx: click.Context, /, wanted: str, form: str, **options: Any) -> None:
    """Take a session, unit or subagent away, or all sessions, or some of them.

    For reading elsewhere, for sending, or for another program: markdown and html are
    for people, json, jsonl and atif for programs; leslie, devflow, chibi and
    weakincentives are what the tools of these names read.

    Without -o, a form that is one text goes to standard output. A PATH that ends in /
    or is a folder gets all files below it; any other is the file itself. With --all,
    filters narrow the sessions down as they do for `leslied list`. Secrets are replaced
    unless you ask to --reveal them.
    """
    app = get_app(ctx)
    request = _ExportRequest(
        app=app,
        sink=sinks.load_sinks()[form],
        session_ref=wanted,
        filters=parse_filters(app, options),
        output=options["output"],
        is_all=options["has_all"],
        reveal=options["reveal"],
        as_json=options["as_json"],
    )
    request.check()
    if request.output in ("", "-"):
        request.print()
        return
    written = list(request.write())
    data = {
        "format": form,
        "sessions": request.sessions,
        "files": [{"path": str(path), "bytes": size} for path, size in written],
    }
    emit(data, lambda: _lines(data, request), as_json=request.as_json)


@dataclass(slots=True, kw_only=True)
class _ExportRequest:
    """What was asked for."""

    app: App
    sink: Sink
    session_ref: str
    filters: tuple[Filter, ...]
    output: str
    is_all: bool
    reveal: bool
    as_json: bool
    sessions: int = 0

    def check(self) -> None:
        """Words that contradict each other are refused before anything is read."""
        if self.is_all and self.session_ref:
            raise UserError(
                "Either an ID or --all, not both.", "Leave one of them out."
            )
        if not self.is_all and not self.session_ref:
            raise UserError("Which session?", "See the ids: leslied list")
        if self.filters and not self.is_all:
            raise UserError(
                "An ID needs no filters: they choose among all sessions.",
                "Say --all instead of the ID, or leave them out.",
            )
        if self.is_all and self.output in ("", "-"):
            raise UserError("--all makes many files.", "Say where: -o FOLDER")
        if self.as_json and self.output in ("", "-"):
            raise UserError(
                "--json tells which files were written, and none would be.",
                "Say where: -o PATH, or leave --json out.",
            )

    def print(self) -> None:
        """The one text, on standard output."""
        (artifacts,) = self._render()
        needed = [artifact for artifact in artifacts if not artifact.is_derived]
        if len(needed) != 1 or needed[0].path.endswith(".gz"):
            raise UserError(
                f"{self.sink.name} makes {format_count(len(artifacts), 'file')} of it.",
                "Say where: -o FOLDER",
            )
        sys.stdout.buffer.write(needed[0].body)
        sys.stdout.buffer.flush()

    def write(self) -> Iterator[tuple[Path, int]]:
        """Every file stands where it was wanted."""
        target = self._find_target()
        for artifacts in self._render():
            needed = [artifact for artifact in artifacts if not artifact.is_derived]
            if target.is_dir():
                yield from _write_artifacts(target, artifacts)
            elif len(needed) == 1:
                _write_artifact(target, needed[0])
                yield target, len(needed[0].body)
            else:
                sinks.make_folder(target)
                yield from _write_artifacts(target, artifacts)

    def _find_target(self) -> Path:
        """The place as it really is; an agent's folder, or no file, is refused."""
        path = Path(self.output).expanduser()
        target = path.parent.resolve() / path.name if path.name else path.resolve()
        _check_target(target, self.output)
        settings = self.app.load_settings()
        for adapter, roots in self.app.iter_agent_roots(settings):
            if any(target.is_relative_to(root.path.resolve()) for root in roots):
                raise UserError(
                    f"{target} is {adapter.name}'s own folder.",
                    "leslied never writes there; choose another place.",
                )
        if self.is_all or self.output.endswith("/"):
            sinks.make_folder(target)
        elif not target.parent.is_dir():
            raise UserError(
                f"There is no folder {target.parent}.", f"mkdir -p {target.parent}"
            )
        return target

    def _render(self) -> Iterator[tuple[Artifact, ...]]:
        with self.app.open_reader() as reader:
            for session in self._load_sessions(reader):
                self.sessions += 1
                clean = session
                if not self.reveal:
                    clean = redact_session(session, self.app.redact)
                yield self.sink.render(clean)

    def _load_sessions(self, reader: StoreReader) -> Iterator[Session]:
        now = self.app.clock.now()
        is_utc = self.app.load_settings().output.timezone == "utc"
        for found in self._resolve_targets(reader):
            at = found.session.started_at or now
            zone = UTC if is_utc else at.astimezone().tzinfo or UTC
            yield load_session(reader, found, now, zone)

    def _resolve_targets(self, reader: StoreReader) -> Iterable[ResolvedId]:
        if not self.is_all:
            return [resolve_id(reader, self.session_ref, with_costs=True)]
        now = self.app.clock.now()
        chosen = Selection(filters=self.filters, quiet_us=stopped_before_us(now))
        found = list_sessions(reader, chosen, with_costs=True)
        return self._with_progress([ResolvedId(each) for each in found])

    def _with_progress(self, found: Sequence[ResolvedId]) -> Iterator[ResolvedId]:
        with ProgressBar(self.app.clock) as bar:
            bar.start("Writing sessions")
            yield from bar.track(found)


def _check_target(target: Path, shown_path: str) -> None:
    if target.is_symlink():
        raise UserError(f"{shown_path} is a link.", "Name the place it leads to.")
    if target.exists() and not (target.is_file() or target.is_dir()):
        raise UserError(f"{shown_path} is no file.", "Name a file or a folder.")


def _write_artifacts(
    folder: Path, artifacts: Sequence[Artifact]
) -> Iterator[tuple[Path, int]]:
    for artifact in artifacts:
        sinks.write_artifact(folder, artifact)
        yield folder / artifact.path, len(artifact.body)


def _write_artifact(target: Path, artifact: Artifact) -> None:
    sinks.write_file(target.parent, target.name, artifact.body)


def _lines(data: dict[str, Any], request: _ExportRequest) -> Iterator[str]:
    files, home = data["files"], str(request.app.home)
    size = format_bytes(sum(each["bytes"] for each in files))
    if len(files) == 1:
        yield f"{format_path(files[0]['path'], home)} ({size})"
        return
    if not files:
        yield format_no_sessions(request.filters)
        return
    yield (
        f"{format_count(data['sessions'], 'session')}, {format_count(len(files), 'file')} "
        f"({size})"
    )
    for each in files[:10]:
        yield f"  {format_path(each['path'], home)}"
    if len(files) > 10:
        yield f"  … and {len(files) - 10} more"
