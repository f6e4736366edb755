"""Messages to a thread, each delivered exactly once.

A message is a file, and its name says how far it is; every step is one rename:

    <time>_<id>.queued
    <time>_<id>.claimed.<session>.<prompt>.<offset>     said, not yet proven
    <time>_<id>.delivered.<session>.<prompt>.<offset>

The agent's own log is the truth. It holds the message's id once the agent has taken the
message; an agent that died in between has a log without it, and the message goes back
into the queue. The offset is where the log ended when the message was said.
"""

from __future__ import annotations

import os

from leslied.hooks.files import (
    get_age_seconds,
    get_size,
    list_names,
    make_safe_name,
    read_part,
    remove_file,
    write_atomic,
)
from leslied.mini_json import dumps, loads

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

FOLDER = "inbox"
MAX_TEXT_CHARACTERS = 8000
"""Claude Code puts longer additions into a file of their own."""
_MAX_BYTES = 65_536
_SEARCH_BYTES = 4_000_000
"""How far behind a claim's offset its message must stand, if at all."""
_REQUEUE_AFTER_SECONDS = 5.0
"""Seconds an agent has to write down what it was told."""
_DELETE_AFTER_SECONDS = 30 * 86400.0
_ESCAPES = (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;"))


class InboxMessage:
    """One message, as its file tells."""

    __slots__ = ("at_ns", "folder", "id", "name", "session", "state", "tail", "thread")

    def __init__(self, folder: str, name: str) -> None:
        stem, self.state, *rest = [*name.split("."), ""]
        stamp, _, self.id = stem.partition("_")
        if not stamp.isdecimal() or not self.id.startswith("msg-"):
            raise ValueError(name)
        self.at_ns = int(stamp)
        self.folder, self.name = folder, name
        self.thread = folder.rpartition("/")[2]
        self.session = rest[0] if rest else ""
        self.tail = [part for part in rest if part]

    @property
    def path(self) -> str:
        """The file."""
        return f"{self.folder}/{self.name}"

    @property
    def offset(self) -> int:
        """Where the log ended when the message was said."""
        last = self.tail[-1] if self.tail else ""
        return int(last) if last.isdecimal() else 0

    def read_text(self) -> str:
        """What it says."""
        try:
            told = loads(read_part(self.path, 0, _MAX_BYTES) or b"{}")
            return str(told["text"])
        except (ValueError, RecursionError, KeyError, TypeError):
            return ""

    def move_to(self, state: str, *tail: str) -> bool:
        """Whether it was this caller who took the step; nobody else did then."""
        stem = self.name.partition(".")[0]
        name = ".".join([stem, state, *tail])
        try:
            os.utime(self.path)
            os.rename(self.path, f"{self.folder}/{name}")  # noqa: PTH104
        except OSError:
            return False
        self.name, self.state, self.tail = name, state, list(tail)
        self.session = tail[0] if tail else ""
        return True


def enqueue(data_dir: str, thread: str, text: str, now_ns: int) -> str:
    """The next prompt of this thread will receive the text; its id."""
    message_id = f"msg-{os.urandom(6).hex()}"
    told = dumps({"id": message_id, "text": text})
    folder = f"{data_dir}/{FOLDER}/{make_safe_name(thread)}"
    name = f"{now_ns:020}_{message_id}.queued"
    write_atomic(folder, name, told, is_synced=True)
    return message_id


def list_messages(data_dir: str, thread: str) -> list[InboxMessage]:
    """Every message of the thread, oldest first."""
    folder = f"{data_dir}/{FOLDER}/{make_safe_name(thread)}"
    found = []
    for name in list_names(folder):
        try:
            found.append(InboxMessage(folder, name))
        except ValueError:
            continue
    return found


def list_threads(data_dir: str) -> list[str]:
    """Every thread that was ever sent a message."""
    return list_names(f"{data_dir}/{FOLDER}")


def claim(messages: list[InboxMessage], max_characters: int, *tail: str) -> list[str]:
    """The messages said now, oldest first, as many as there is room for.

    From here on nobody else says them, until a log shows that they were lost.
    """
    said: list[str] = []
    for message in messages:
        if message.state != "queued":
            continue
        text = _format_message(message.id, message.read_text())
        if said and len(text) > max_characters:
            break
        if message.move_to("claimed", *tail):
            said.append(text)
            max_characters -= len(text)
    return said


def settle(
    messages: list[InboxMessage],
    now_ns: int,
    find_log: Callable[[str], str],
    stopped_session: str = "",
) -> None:
    """What was said is delivered where the log has it, and queued again where not.

    `stopped` is a session that has just answered: where no log is kept, that is proof.
    """
    for message in messages:
        if message.state != "claimed":
            continue
        log = find_log(message.session)
        if is_in_log(message, log) or (
            message.session == stopped_session and log and not get_size(log)
        ):
            message.move_to("delivered", *message.tail)
        elif log and get_age_seconds(message.path, now_ns) >= _REQUEUE_AFTER_SECONDS:
            message.move_to("queued")


def is_in_log(message: InboxMessage, log: str) -> bool:
    """Whether the agent wrote the message down."""
    start = message.offset if message.offset <= get_size(log) else 0
    return message.id.encode() in (read_part(log, start, _SEARCH_BYTES) or b"")


def delete_old(data_dir: str, now_ns: int) -> None:
    """Messages delivered a month ago are forgotten."""
    for thread in list_threads(data_dir):
        for message in list_messages(data_dir, thread):
            is_old = get_age_seconds(message.path, now_ns) > _DELETE_AFTER_SECONDS
            if message.state == "delivered" and is_old:
                remove_file(message.path)


def _format_message(message_id: str, text: str) -> str:
    for plain, escaped in _ESCAPES:
        text = text.replace(plain, escaped)
    return f'<leslie_message id="{message_id}">\n{text}\n</leslie_message>'
