"""The user's stars, tags and notes, and which sessions are unread."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, Any

from msgspec import Struct, structs

from leslied.annotations import NO_ANNOTATIONS, Annotation, SessionName
from leslied.errors import AnnotationsUnusable, UserError
from leslied.model.query import Selection
from leslied.model.times import to_us
from leslied.queries.resolve import resolve_id
from leslied.queries.search_query import sanitize_text

if TYPE_CHECKING:
    from collections.abc import Iterable

    from leslied.annotations import Snapshot
    from leslied.model.session import SessionSummary
    from leslied.queries.context import QueryContext

MAX_NOTE_CHARACTERS = 10_000
MAX_TAG_CHARACTERS = 50
MAX_TAGS = 20
"""Tags that one session may have."""
_TAG = re.compile(r"[\w./:@-]+")
"""What a tag may consist of: no spaces, which separate tags."""


class Marks(Struct, frozen=True, kw_only=True):
    """What the user added to a session, without secrets."""

    starred: bool = False
    tags: tuple[str, ...] = ()
    note: str = ""
    unread: bool = False
    """Whether the session went on after the user's last visit."""

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form."""
        return {
            "starred": self.starred,
            "tags": list(self.tags),
            "note": self.note or None,
            "unread": self.unread,
        }


class MarkedSession(Struct, frozen=True):
    """A session, named by its id, with its marks."""

    summary: SessionSummary
    marks: Marks

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form."""
        key = self.summary.key
        names = {"id": key.session_id, "agent": key.agent}
        return names | self.marks.to_dict()


class TagCounts(Struct, frozen=True):
    """How many sessions have a star, and how many have each tag."""

    starred: int
    tags: tuple[tuple[str, int], ...]
    """Tags and their numbers of sessions, the most frequent first."""

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form."""
        tags = [{"name": name, "sessions": count} for name, count in self.tags]
        return {"starred_sessions": self.starred, "tags": tags}


class MarksChange(Struct, frozen=True, kw_only=True):
    """A change of a session's marks; fields that are None change nothing."""

    is_starred: bool | None = None
    tags: str | None = None
    """The tags that replace the present ones, separated by spaces or commas."""
    added_tags: tuple[str, ...] = ()
    removed_tags: tuple[str, ...] = ()
    note: str | None = None
    """The new note; an empty one deletes it."""
    is_visited: bool | None = None
    """Whether the user has seen everything; if not, the session becomes unread."""

    def apply(self, annotation: Annotation, now_us: int) -> Annotation:
        """Return the changed annotation; raise UserError if a value is not valid."""
        changes: dict[str, Any] = {"tags": self._change_tags(annotation.tags)}
        if self.is_starred is not None:
            changes["is_starred"] = self.is_starred
        if self.note is not None:
            changes["note"] = _check_note(self.note)
        if self.is_visited is not None:
            changes["visited_us"] = now_us if self.is_visited else 0
        return structs.replace(annotation, **changes)

    def _change_tags(self, base_tags: Iterable[str]) -> tuple[str, ...]:
        """Return the new tags of a session that has `base_tags`.

        `tags` replaces them, unless it is None. Then `added_tags` are added and
        `removed_tags` removed.
        """
        if self.tags is not None:
            base_tags = map(check_tag, split_tags(self.tags))
        tags = {*base_tags, *map(check_tag, self.added_tags)}
        tags -= set(map(check_tag, self.removed_tags))
        if len(tags) > MAX_TAGS:
            raise UserError(
                f"A session may have at most {MAX_TAGS} tags.", "Remove some of them."
            )
        return tuple(sorted(tags))


def split_tags(text: str) -> tuple[str, ...]:
    """Return the tags in a text, which are separated by spaces or commas."""
    return tuple(text.replace(",", " ").split())


def check_tag(text: str) -> str:
    """Return the tag as it is stored; raise UserError if it cannot be one."""
    tag = text.strip().removeprefix("#").lower()
    if _TAG.fullmatch(tag) and len(tag) <= MAX_TAG_CHARACTERS:
        return tag
    raise UserError(
        f"{text!r} cannot be a tag.",
        f"Use at most {MAX_TAG_CHARACTERS} letters, digits and any of . / : @ _ -",
    )


def _check_note(text: str) -> str:
    note = sanitize_text(text).strip()
    if len(note) > MAX_NOTE_CHARACTERS:
        raise UserError(
            f"The note has {len(note):,} characters.",
            f"Shorten it to at most {MAX_NOTE_CHARACTERS:,}.",
        )
    return note


def load_annotations(context: QueryContext) -> Snapshot:
    """Return all annotations; none if their file cannot be used.

    Sessions can be read without them; `leslied doctor` reports the damage.
    """
    try:
        return context.annotations.load()
    except AnnotationsUnusable:
        return NO_ANNOTATIONS


def make_marks(
    context: QueryContext, annotations: Snapshot, summary: SessionSummary
) -> Marks:
    """Return the marks of a session; those of a subagent are empty."""
    if summary.is_subagent:
        return Marks()
    ended_us = to_us(summary.ended_at) if summary.ended_at else None
    name = SessionName(summary.key.agent, summary.key.session_id)
    return make_session_marks(context, annotations, name, ended_us)


def make_session_marks(
    context: QueryContext,
    annotations: Snapshot,
    name: SessionName,
    last_entry_us: int | None,
) -> Marks:
    """Return the marks of the session with this name and this last entry."""
    annotation = annotations.get(name)
    return Marks(
        starred=annotation.is_starred,
        tags=tuple(map(context.redact, annotation.tags)),
        note=context.redact(annotation.note) if annotation.note else "",
        unread=annotations.is_unread(name, last_entry_us),
    )


def load_marks(context: QueryContext, id_prefix: str) -> MarkedSession:
    """Return the marks of a session; the id may also name a part of the session.

    Raise UserError if the id is unknown, AnnotationsUnusable for a damaged file.
    """
    return _load_marks(context, resolve_id(context.reader, id_prefix).session)


def change_marks(
    context: QueryContext, id_prefix: str, change: MarksChange
) -> MarkedSession:
    """Change the marks of the session that an id names; return the new ones.

    Raise UserError if the id is unknown or a value is not valid, and
    AnnotationsUnusable if the file cannot be written.
    """
    summary = resolve_id(context.reader, id_prefix).session
    now_us = to_us(context.now)
    context.annotations.update(
        SessionName(summary.key.agent, summary.key.session_id),
        lambda annotation: change.apply(annotation, now_us),
        now_us,
    )
    return _load_marks(context, summary)


def _load_marks(context: QueryContext, summary: SessionSummary) -> MarkedSession:
    marks = make_marks(context, context.annotations.load(), summary)
    return MarkedSession(context.redact_summary(summary), marks)


def select_marked(
    context: QueryContext, *, is_starred: bool, tag: str | None
) -> tuple[SessionName, ...] | None:
    """Return the sessions with a star, if `is_starred`, and with the tag, if any.

    Return None if neither is required.
    """
    if not is_starred and not tag:
        return None
    required_tag = check_tag(tag) if tag else None
    return tuple(
        name
        for name, annotation in context.annotations.load().by_session.items()
        if (annotation.is_starred or not is_starred)
        and (required_tag is None or required_tag in annotation.tags)
    )


def count_tags(context: QueryContext) -> TagCounts:
    """Count the sessions with a star and with each tag, without hidden sessions."""
    annotations = context.annotations.load()
    marked_names = tuple(
        name
        for name, annotation in annotations.by_session.items()
        if annotation.is_starred or annotation.tags
    )
    groups = context.reader.select_sessions(
        Selection(only=marked_names, with_hidden=False)
    )
    listed_annotations = [annotations.get(SessionName(*group)) for group in groups]
    counts = Counter(
        context.redact(tag) for each in listed_annotations for tag in each.tags
    )
    sorted_counts = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return TagCounts(
        sum(each.is_starred for each in listed_annotations), tuple(sorted_counts)
    )
