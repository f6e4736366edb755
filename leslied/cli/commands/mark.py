"""`leslied mark`: stars, tags and notes of sessions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from leslied.app import get_app
from leslied.cli.completion import complete_session, complete_tag
from leslied.cli.help import LesliedCommand
from leslied.cli.render.output import emit, format_table, json_option, sanitize
from leslied.errors import UserError
from leslied.queries.annotations import (
    MarksChange,
    change_marks,
    count_tags,
    load_marks,
)
from leslied.rendering.humanize import format_count

if TYPE_CHECKING:
    from collections.abc import Iterator

    from leslied.queries.annotations import MarkedSession, TagCounts


@click.command(
    cls=LesliedCommand,
    examples=[
        ("leslied mark last --star", "add a star to the last active session"),
        ("leslied mark 5e55 --tag bug --tag later", "add two tags"),
        ('leslied mark 5e55 --note "The fix is in unit 3"', "replace the note"),
        ("leslied mark 5e55", "show the star, tags and note of a session"),
        ("leslied mark", "count stars and tags"),
        ("leslied list --tag bug", "list the sessions with a tag"),
    ],
    see_also=["list", "web"],
)
@click.argument(
    "session", metavar="[ID|last]", required=False, shell_complete=complete_session
)
@click.option("--star/--no-star", default=None, help="Add a star, or remove it.")
@click.option(
    "--tag",
    "added_tags",
    metavar="TAG",
    multiple=True,
    shell_complete=complete_tag,
    help="Add a tag. Repeat the option for more.",
)
@click.option(
    "--untag",
    "removed_tags",
    metavar="TAG",
    multiple=True,
    shell_complete=complete_tag,
    help="Remove a tag. Repeat the option for more.",
)
@click.option(
    "--note", metavar="TEXT", help="Replace the note; an empty TEXT deletes it."
)
@click.option("--read/--unread", default=None, help="Mark as read, or as unread.")
@json_option
@click.pass_context
def command(ctx: click.Context, /, **options: Any) -> None:
    """Add a star, tags and a note to a session, or show them.

    They are kept in leslied's own data folder, in a file beside the store: not in logs
    or transcripts, and not sent to agents. `leslied web` shows and changes them, too.
    Without an ID, show the number of sessions with a star, and of those with each tag.
    """
    change = MarksChange(
        is_starred=options["star"],
        added_tags=options["added_tags"],
        removed_tags=options["removed_tags"],
        note=options["note"],
        is_visited=options["read"],
    )
    is_change = change != MarksChange()
    as_json, session = options["as_json"], options["session"]
    with get_app(ctx).open_queries() as queries:
        if session is None:
            if is_change:
                raise UserError("Which session?", "Give its id, or `last`.")
            counts = count_tags(queries)
            emit(counts.to_dict, lambda: _tag_lines(counts), as_json=as_json)
            return
        if is_change:
            marked_session = change_marks(queries, session, change)
        else:
            marked_session = load_marks(queries, session)
    emit(marked_session.to_dict, lambda: _lines(marked_session), as_json=as_json)


def _lines(marked_session: MarkedSession) -> Iterator[str]:
    marks, summary = marked_session.marks, marked_session.summary
    star = "★ " if marks.starred else ""
    yield f"{star}{sanitize(summary.title or summary.key.session_id)}"
    if marks.tags:
        yield f"tags: {' '.join(marks.tags)}"
    if marks.note:
        yield sanitize(marks.note)
    if marks.unread:
        yield click.style("unread", dim=True)
    if not (marks.starred or marks.tags or marks.note):
        yield click.style("No star, no tags, no note.", dim=True)


def _tag_lines(counts: TagCounts) -> Iterator[str]:
    yield f"{format_count(counts.starred, 'session')} with a star"
    if counts.tags:
        rows = [(name, str(sessions)) for name, sessions in counts.tags]
        yield from format_table(
            ("TAG", "SESSIONS"), rows, flexible="TAG", right_aligned=("SESSIONS",)
        )
    else:
        yield click.style("No tags yet. Add one: leslied mark ID --tag bug", dim=True)
