"""Messages to a thread, each delivered exactly once.

A message is a file. Its name holds its state, and every transition is one rename:

    <time>_<id>.queued
    <time>_<id>.claimed.<session>.<prompt>.<offset>     injected, not confirmed yet
    <time>_<id>.delivered.<session>.<prompt>.<offset>

The agent's log decides whether a message was delivered: the log contains the message's
id once the agent has accepted the message. If the agent died before that, the log lacks
the id and the message is queued again. The offset is the size of the log at the
injection.
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
from leslied.model.injected_messages import format_message

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

FOLDER = "inbox"
MAX_TEXT_CHARACTERS = 8000
"""Claude Code moves longer injected texts into a file."""
_MAX_FILE_BYTES = 65_536
_MAX_SEARCH_BYTES = 4_000_000
"""Length of the part of the log, from the claim's offset, that is searched."""
_REQUEUE_AFTER_SECONDS = 5.0
"""Time that an agent has to log an injected message."""
_DELETE_AFTER_SECONDS = 30 * 86400.0


class InboxMessage:
    """One message, with the state parsed from its file name.

    `at_ns` is when the message was queued. `claim_fields` are the session, prompt and
    log offset of a claimed or delivered message, and empty for a queued one. `session`
    is the first claim field. Raise ValueError if the file name is not a message's.
    """

    __slots__ = (
        "at_ns",
        "claim_fields",
        "folder",
        "id",
        "name",
        "session",
        "state",
        "thread",
    )

    def __init__(self, folder: str, name: str) -> None:
        # For example `00173…_msg-5e6f.claimed.SESSION.PROMPT.OFFSET`.
        stem, _, state_and_fields = name.partition(".")
        self.state, *fields = state_and_fields.split(".")
        time_text, _, self.id = stem.partition("_")
        if not time_text.isdecimal() or not self.id.startswith("msg-"):
            raise ValueError(name)
        self.at_ns = int(time_text)
        self.folder, self.name = folder, name
        self.thread = folder.rpartition("/")[2]
        self.session = fields[0] if fields else ""
        self.claim_fields = [field for field in fields if field]

    @property
    def path(self) -> str:
        """Path of the message's file."""
        return f"{self.folder}/{self.name}"

    @property
    def offset(self) -> int:
        """Size of the agent's log when the message was injected."""
        text = self.claim_fields[-1] if self.claim_fields else ""
        return int(text) if text.isdecimal() else 0

    def read_text(self) -> str:
        """Return the message's text, empty if the file is unreadable or invalid."""
        try:
            fields = loads(read_part(self.path, 0, _MAX_FILE_BYTES) or b"{}")
            return str(fields["text"])
        except (ValueError, RecursionError, KeyError, TypeError):
            return ""

    def move_to(self, state: str, *claim_fields: str) -> bool:
        """Rename the file to the new state; return False if the rename failed.

        `claim_fields` are the session, the prompt and the size of the log, unless the
        new state is `queued`. Of several processes that try the same transition,
        exactly one succeeds.
        """
        stem = self.name.partition(".")[0]
        name = ".".join([stem, state, *claim_fields])
        try:
            os.utime(self.path)
            os.rename(self.path, f"{self.folder}/{name}")  # noqa: PTH104
        except OSError:
            return False
        self.name, self.state, self.claim_fields = name, state, list(claim_fields)
        self.session = claim_fields[0] if claim_fields else ""
        return True


def enqueue(data_dir: str, thread: str, text: str, now_ns: int) -> str:
    """Queue a text for the next prompt of the thread; return the message's id."""
    message_id = f"msg-{os.urandom(6).hex()}"
    data = dumps({"id": message_id, "text": text})
    folder = f"{data_dir}/{FOLDER}/{make_safe_name(thread)}"
    name = f"{now_ns:020}_{message_id}.queued"
    write_atomic(folder, name, data, is_synced=True)
    return message_id


def list_messages(data_dir: str, thread: str) -> list[InboxMessage]:
    """Return all messages of the thread, oldest first."""
    folder = f"{data_dir}/{FOLDER}/{make_safe_name(thread)}"
    messages = []
    for name in list_names(folder):
        try:
            messages.append(InboxMessage(folder, name))
        except ValueError:
            continue
    return messages


def list_threads(data_dir: str) -> list[str]:
    """Return the names of the inbox's folders: thread ids, or hashes of unsafe ones."""
    return list_names(f"{data_dir}/{FOLDER}")


def claim(
    messages: list[InboxMessage], max_characters: int, *claim_fields: str
) -> list[str]:
    """Claim queued messages and return their texts to inject, oldest first.

    The first message is claimed whatever its length, further ones while they fit. A
    claimed message is not injected again unless `resolve_claims` queues it again.
    `claim_fields` are the session, the prompt and the size of the log.
    """
    texts: list[str] = []
    for message in messages:
        if message.state != "queued":
            continue
        text = format_message(message.id, message.read_text())
        if texts and len(text) > max_characters:
            break
        if message.move_to("claimed", *claim_fields):
            texts.append(text)
            max_characters -= len(text)
    return texts


def resolve_claims(
    messages: list[InboxMessage],
    now_ns: int,
    find_log: Callable[[str], str],
    answering_session: str = "",
) -> None:
    """Mark claimed messages as delivered if the session's log contains them.

    A message that is not in the log after 5 seconds is queued again. `find_log` returns
    the path of a session's log, or an empty string; without a path, the message stays
    claimed.

    `answering_session` is a session whose agent has just answered. If its log is
    missing or empty, the answer counts as proof that its messages were delivered.
    """
    for message in messages:
        if message.state != "claimed":
            continue
        log = find_log(message.session)
        if is_in_log(message, log) or (
            message.session == answering_session and log and not get_size(log)
        ):
            message.move_to("delivered", *message.claim_fields)
        elif log and get_age_seconds(message.path, now_ns) >= _REQUEUE_AFTER_SECONDS:
            message.move_to("queued")


def is_in_log(message: InboxMessage, log: str) -> bool:
    """Return whether the log contains the message's id after the claim's offset.

    `log` is the log's path. A log that is shorter than the offset was replaced, and is
    searched from its start.
    """
    start = message.offset if message.offset <= get_size(log) else 0
    return message.id.encode() in (read_part(log, start, _MAX_SEARCH_BYTES) or b"")


def delete_old(data_dir: str, now_ns: int) -> None:
    """Delete messages that were delivered more than 30 days ago."""
    for thread in list_threads(data_dir):
        for message in list_messages(data_dir, thread):
            is_old = get_age_seconds(message.path, now_ns) > _DELETE_AFTER_SECONDS
            if message.state == "delivered" and is_old:
                remove_file(message.path)
