"""`leslied forget`: delete a session, or all entries that contain a text, for good."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from leslied import deletion
from leslied.app import get_app
from leslied.cli.completion import complete_session
from leslied.cli.help import LesliedCommand
from leslied.cli.render.output import emit, format_table, json_option, sanitize
from leslied.cli.stop_daemon import advising_to_stop_the_daemon
from leslied.cli.terminal.progress import ProgressBar
from leslied.errors import UserError
from leslied.queries.operations.forget_plan import MIN_TEXT_CHARACTERS, ForgetRequest
from leslied.queries.short_ids import make_short_ids
from leslied.rendering.humanize import format_count, format_path

if TYPE_CHECKING:
    from collections.abc import Iterator

    from leslied.app import App
    from leslied.queries.operations.forget_plan import ForgetAnswer

_MAX_LISTED = 20
_REMAINDERS = {
    "log": "The agents' own logs still contain it; some hold other sessions too, so "
    "delete it there with the agent itself",
    "git": "Git tracks files of leslied here; its history keeps them",
    "asset": "Not written by leslied, so not changed",
    "own": "Still in these files; run the same command again",
    "path": "These paths contain the text; leslied keeps them, to know what it read",
}
"""Sentence about each kind of file that is not changed."""
_ELSEWHERE = (
    "Not reached: exports and bundles that you wrote elsewhere, backups, and what the "
    "daemon printed to the system's journal."
)


@click.command(
    cls=LesliedCommand,
    examples=[
        ("leslied forget 3f2a", "show what would be forgotten of a session"),
        ("leslied forget 3f2a --yes", "forget it"),
        ("leslied forget --text 'Project Zebra'", "show which entries contain a text"),
        ("leslied forget --text - --yes < secret.txt", "forget the text in a file"),
    ],
    exit_codes=[(4, "the daemon is running; the error says how to stop it")],
    see_also=["prune", "secrets", "search"],
)
@click.argument("session", metavar="[ID]", default="", shell_complete=complete_session)
@click.option(
    "--text",
    metavar="TEXT",
    help="Forget all entries with this text, as typed. `-` reads it from stdin.",
)
@click.option(
    "--yes", is_flag=True, help="Forget; without it, only show what would be forgotten."
)
@json_option
@click.pass_context
def command(
    ctx: click.Context, session: str, text: str | None, *, yes: bool, as_json: bool
) -> None:
    """Forget a session, or all entries that contain a text. A dry run without --yes.

    The entries are deleted from the store, its index, the archive, transcripts, exports
    and indexes of threads, and from messages of `leslied inject` and stored hook
    events. No file of leslied contains them afterwards, and they are never read again:
    not from the log, a copy of it or a fork. A session stays forgotten even if the
    agent continues it. With --text, only entries that exist now are deleted; to hide
    the text in new ones, add it to `redact.rules`.

    This cannot be undone. The agents' own logs are never touched.
    """
    app = get_app(ctx)
    request = _make_request(session, text)
    answer = _forget(app, request) if yes else deletion.plan_forget(app, request)
    emit(
        answer.to_dict,
        lambda: _format_lines(answer, app),
        as_json=as_json,
        warnings=answer.warnings,
    )


def _make_request(session: str, text: str | None) -> ForgetRequest:
    """Return the request; raise UserError unless it names one thing to forget."""
    if bool(session) == (text is not None):
        raise UserError(
            "Name the id of a session, or a text with --text; one of the two.",
            "List sessions with `leslied list`. Nothing is deleted without --yes.",
        )
    if text == "-":
        text = sys.stdin.read().rstrip("\n")
    if text is not None and len(text.strip()) < MIN_TEXT_CHARACTERS:
        raise UserError(
            f"The text is too short: it needs {MIN_TEXT_CHARACTERS} characters, or ids "
            "and numbers would match by chance.",
            "Use a longer part of it.",
        )
    return ForgetRequest(id=session, text=text or "")


def _forget(app: App, request: ForgetRequest) -> ForgetAnswer:
    with (
        advising_to_stop_the_daemon("Nothing was forgotten."),
        ProgressBar(app.clock) as bar,
    ):
        return deletion.forget(app, request, bar)


def _format_lines(answer: ForgetAnswer, app: App) -> Iterator[str]:
    if answer.is_empty:
        yield _format_empty_answer(answer)
    else:
        if not answer.is_done:
            yield from _session_table(answer, app)
            yield ""
        yield _format_counts(answer)
    yield from _remainder_lines(answer, app)
    if answer.is_empty:
        return
    yield _ELSEWHERE
    if not answer.is_done:
        yield (
            "Nothing was deleted. To forget it, run the same command with --yes. "
            "That cannot be undone."
        )
    if answer.request.text:
        yield (
            "The agent may write the text again. To hide it in all output, add a rule "
            "to redact.rules in the file that `leslied config path` prints."
        )


def _format_empty_answer(answer: ForgetAnswer) -> str:
    """Format the message for an answer without entries.

    If an earlier command to forget a session was interrupted after it had deleted the
    entries, this one finds none, and only deletes the rest.
    """
    if answer.is_done and not answer.request.text:
        return "An earlier, interrupted deletion was completed."
    return "No entry contains the text."


def _format_counts(answer: ForgetAnswer) -> str:
    verb = "Forgot" if answer.is_done else "To forget:"
    whole_count = sum(session.is_whole for session in answer.sessions)
    sessions = format_count(len(answer.sessions), "session")
    whole = f" ({whole_count} as a whole)" if whole_count else ""
    parts = [f"{_count_entries(answer.entries, '')} in {sessions}{whole}"]
    if answer.rejected:
        parts.append(_count_entries(answer.rejected, "undecodable "))
    if answer.archive_files:
        parts.append(f"lines in {format_count(answer.archive_files, 'archived log')}")
    return f"{verb} {', '.join(parts)}."


def _count_entries(number: int, adjective: str) -> str:
    return f"{number:,} {adjective}{'entry' if number == 1 else 'entries'}"


def _session_table(answer: ForgetAnswer, app: App) -> Iterator[str]:
    visible_sessions = answer.sessions[:_MAX_LISTED]
    ids = [each.session.key.session_id for each in visible_sessions]
    with app.open_queries() as queries:
        short_ids = make_short_ids(queries, ids)
    rows = [
        (
            short_ids[each.session.key.session_id],
            each.session.key.agent,
            format_path(each.session.project, str(app.home)).rpartition("/")[2] or "-",
            each.session.title or "-",
            "all" if each.is_whole else str(each.entries),
        )
        for each in visible_sessions
    ]
    headers = ("ID", "AGENT", "PROJECT", "TITLE", "ENTRIES")
    yield from format_table(headers, rows, flexible="TITLE", right_aligned=("ENTRIES",))
    if len(answer.sessions) > _MAX_LISTED:
        hidden_count = len(answer.sessions) - _MAX_LISTED
        yield f"… and {hidden_count} more (list all with --json)"


def _remainder_lines(answer: ForgetAnswer, app: App) -> Iterator[str]:
    home = str(app.home)
    for kind, sentence in _REMAINDERS.items():
        paths = [each.path for each in answer.remainders if each.kind == kind]
        if paths:
            yield f"{sentence}:"
            yield from (f"  {sanitize(format_path(path, home))}" for path in paths)
