"""The history of one file: which session, prompt and call changed it, as diffs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from msgspec import Struct

from leslied.control_characters import format_one_line
from leslied.errors import UserError
from leslied.graphemes import ellipsize
from leslied.model.codec import encode_time
from leslied.model.record import SessionKey
from leslied.model.times import from_us
from leslied.queries.files import format_name, list_changes
from leslied.rendering.edits import find_edits
from leslied.rendering.labels import find_label
from leslied.sessions.path_changes import resolve_path
from leslied.sessions.tools import COMMAND_ARGUMENTS, parse_arguments

if TYPE_CHECKING:
    from collections.abc import Iterable

    from leslied.model.file_change import FileChangeKind
    from leslied.model.record import PlacedRecord
    from leslied.model.session import SessionSummary
    from leslied.queries.context import QueryContext
    from leslied.rendering.edits import DiffLine, FileEdit
    from leslied.store.read.file_queries import Outcome, StoredChange

_MAX_DIFF_LINES = 400
_MAX_COMMAND_CHARACTERS = 4000
_MAX_LINE_CHARACTERS = 200
"""Length of the first line of a prompt or an error."""


class FileRevision(Struct, frozen=True, kw_only=True):
    """One call that changed the file, or tried to."""

    kind: FileChangeKind
    outcome: Outcome
    path: str
    """The path of the file at that time."""
    moved_from: str
    agent: str
    session_id: str
    subagent_id: str
    session_title: str
    unit: int
    prompt: str
    """The first line of the prompt."""
    entry_id: str
    tool: str
    call_id: str
    at_us: int
    is_rewound: bool
    """Whether the user took back the prompt."""
    diff: tuple[DiffLine, ...]
    omitted_lines: int
    """Number of lines of the diff beyond the limit."""
    added: int
    removed: int
    command: str
    """The shell command, if the diff is not known."""
    error: str
    """The first line of the result of a call that failed."""

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form."""
        return {
            "kind": self.kind,
            "outcome": self.outcome,
            "path": self.path,
            "moved_from": self.moved_from or None,
            "agent": self.agent,
            "session_id": self.session_id,
            "subagent_id": self.subagent_id or None,
            "session_title": self.session_title,
            "unit": self.unit,
            "prompt": self.prompt,
            "entry_id": self.entry_id,
            "tool": self.tool,
            "call_id": self.call_id,
            "at": encode_time(from_us(self.at_us)) if self.at_us else None,
            "is_rewound": self.is_rewound,
            "diff": [list(line) for line in self.diff],
            "omitted_lines": self.omitted_lines,
            "added": self.added,
            "removed": self.removed,
            "command": self.command or None,
            "error": self.error or None,
        }


class FileHistory(NamedTuple):
    """The revisions of a file, newest first."""

    path: str
    name: str
    """The path below its project; outside of it, the absolute path."""
    project: str
    earlier_paths: list[str]
    """Paths that the file had before calls moved it."""
    total: int
    """Number of revisions, also of those that are left out."""
    changes: int
    """Number of calls that changed it."""
    failed: int
    """Number of calls that tried to change it, but failed or got no result."""
    sessions: int
    revisions: list[FileRevision]

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form."""
        return {
            **self._asdict(),
            "revisions": [revision.to_dict() for revision in self.revisions],
        }


def load_file_history(
    context: QueryContext, path: str, *, offset: int = 0, limit: int = 50
) -> FileHistory:
    """Return the newest revisions of a file after the first `offset` ones.

    Raise UserError if no call changed the file.
    """
    changes = list_changes(context)
    path = _find_path(context, changes, path)
    revisions, paths = _follow_moves(changes, path)
    if not revisions:
        raise UserError(
            f"No agent changed {path}.", "List changed files with: leslied files"
        )
    page = revisions[offset : offset + limit]
    calls = context.reader.files.load_calls([each.read_order for each in page])
    describer = _Describer(context)
    return FileHistory(
        path=context.redact(path),
        name=context.redact(format_name(path, revisions[0].stream)),
        project=context.redact(revisions[0].stream.project),
        earlier_paths=[context.redact(each) for each in paths if each != path],
        total=len(revisions),
        changes=sum(each.outcome == "done" for each in revisions),
        failed=sum(each.outcome != "done" for each in revisions),
        sessions=len({each.stream.key[:2] for each in revisions}),
        revisions=[
            describer.describe(change, calls[change.read_order])
            for change in page
            if change.read_order in calls
        ],
    )


def _find_path(
    context: QueryContext, changes: Iterable[StoredChange], shown_path: str
) -> str:
    """Return the path of a file from the path that users see, which is redacted."""
    paths = {change.path for change in changes}
    if shown_path in paths:
        return shown_path
    matches = (path for path in paths if context.redact(path) == shown_path)
    return next(matches, shown_path)


def _follow_moves(
    changes: Iterable[StoredChange], path: str
) -> tuple[list[StoredChange], list[str]]:
    """Return the changes of a file, newest first, and all paths that it had.

    A change at an earlier path counts until the call that moved the file.
    """
    revisions: dict[int, StoredChange] = {}
    paths = [path]
    end: tuple[int, int] | None = None
    by_path: dict[str, list[StoredChange]] = {}
    for change in changes:
        by_path.setdefault(change.path, []).append(change)
    # The loop also visits the paths that it appends.
    for current in paths:
        group = sorted(by_path.get(current, ()), key=_get_order, reverse=True)
        group = [each for each in group if end is None or _get_order(each) < end]
        revisions |= {each.read_order: each for each in group}
        move = next((e for e in group if e.moved_from and e.outcome == "done"), None)
        if move and move.moved_from not in paths:
            paths.append(move.moved_from)
            end = _get_order(move)
    return sorted(revisions.values(), key=_get_order, reverse=True), paths


def _get_order(change: StoredChange) -> tuple[int, int]:
    return change.created_us, change.read_order


class _Describer:
    """Description of revisions; sessions and prompts are looked up once."""

    def __init__(self, context: QueryContext) -> None:
        self._context = context
        self._sessions: dict[SessionKey, SessionSummary | None] = {}
        self._prompts: dict[tuple[SessionKey, int], str] = {}

    def describe(self, change: StoredChange, placed: PlacedRecord) -> FileRevision:
        """Return the revision, without secrets."""
        redacted_call = self._context.redact_entry(placed)
        key = self._context.redact_key(change.stream.key)
        session = self._find_session(change.stream.key)
        edit = _find_edit(change, placed, redacted_call)
        diff = edit.changes if edit else ()
        signs = [sign for sign, _ in diff]
        return FileRevision(
            kind=change.kind,
            outcome=change.outcome,
            path=self._context.redact(change.path),
            moved_from=self._context.redact(change.moved_from),
            agent=key.agent,
            session_id=key.session_id,
            subagent_id=key.subagent_id,
            session_title=session.title if session else "",
            unit=change.unit,
            prompt=self._find_prompt(change),
            entry_id=placed.entry_id,
            tool=redacted_call.record.tool_name,
            call_id=redacted_call.record.tool_call_id,
            at_us=change.created_us,
            is_rewound=bool(
                session and not key.subagent_id and session.is_rewound(change.unit)
            ),
            diff=diff[:_MAX_DIFF_LINES],
            omitted_lines=max(len(diff) - _MAX_DIFF_LINES, 0),
            added=signs.count("+"),
            removed=signs.count("-"),
            command="" if edit else _find_command(redacted_call),
            error=self._find_error(change, placed),
        )

    def _find_session(self, key: SessionKey) -> SessionSummary | None:
        """Return the main session of a stream, without secrets."""
        main = SessionKey(key.agent, key.session_id)
        if main not in self._sessions:
            session = self._context.reader.find_session(main)
            self._sessions[main] = session and self._context.redact_summary(session)
        return self._sessions[main]

    def _find_prompt(self, change: StoredChange) -> str:
        unit = (change.stream.key, change.unit)
        if unit not in self._prompts:
            prompt = self._context.reader.files.find_prompt(change.read_order)
            self._prompts[unit] = self._format_line(prompt)
        return self._prompts[unit]

    def _find_error(self, change: StoredChange, placed: PlacedRecord) -> str:
        if change.outcome != "failed":
            return ""
        call_id = placed.record.tool_call_id
        return self._format_line(self._context.reader.files.find_result(call_id))

    def _format_line(self, text: str) -> str:
        """Return the first line of a text, without secrets."""
        lines = self._context.redact(text).strip().split("\n")
        return ellipsize(format_one_line(lines[0]), _MAX_LINE_CHARACTERS)


def _find_edit(
    change: StoredChange, placed: PlacedRecord, redacted_call: PlacedRecord
) -> FileEdit | None:
    """Return the redacted edit of the file that changed, or None.

    A call may edit several files; their paths are compared before redaction.
    """
    tool = placed.record.tool_name
    edits = find_edits(tool, parse_arguments(placed.record.tool_input))
    shown_edits = find_edits(tool, parse_arguments(redacted_call.record.tool_input))
    if len(edits) == 1 == len(shown_edits):
        return shown_edits[0]
    for edit, shown_edit in zip(edits, shown_edits, strict=False):
        # `edit.path` is a label such as `old → new` or `path (deleted)`.
        names = edit.path.removesuffix(" (deleted)").split(" → ")
        if change.path in {resolve_path(change.stream.cwd, name) for name in names}:
            return shown_edit
    return None


def _find_command(redacted_call: PlacedRecord) -> str:
    arguments = parse_arguments(redacted_call.record.tool_input)
    return ellipsize(
        find_label(arguments, COMMAND_ARGUMENTS)[1], _MAX_COMMAND_CHARACTERS
    )
