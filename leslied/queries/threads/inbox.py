"""Messages to agents and their delivery state."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, NamedTuple

from msgspec import Struct

from leslied.errors import UserError
from leslied.hooks import inbox, injection_state
from leslied.model.codec import encode_time
from leslied.model.times import to_ns

if TYPE_CHECKING:
    from leslied.queries.context import QueryContext


class QueuedMessage(Struct, frozen=True, kw_only=True):
    """A message to the agent of a thread."""

    id: str
    thread_id: str
    state: str
    """`queued`, `claimed` or `delivered`."""
    queued_at: datetime
    session_id: str
    """The session that received the message; empty before that."""
    text: str

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form."""
        return {
            "id": self.id,
            "thread_id": self.thread_id,
            "state": self.state,
            "queued_at": encode_time(self.queued_at),
            "session_id": self.session_id or None,
            "text": self.text,
        }


class Inbox(NamedTuple):
    """The messages, newest last."""

    messages: list[QueuedMessage]

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form."""
        return {"messages": [message.to_dict() for message in self.messages]}


def load_inbox(context: QueryContext, prefix: str = "") -> Inbox:
    """Return the messages to threads whose id starts with `prefix`.

    Their states are updated from the agents' logs. Raise UserError if a prefix is given
    and no such thread has messages.
    """
    folder = str(context.paths.data_dir)
    threads = [t for t in inbox.list_threads(folder) if t.startswith(prefix)]
    if prefix and not threads:
        raise UserError(
            f"No message was sent to a thread that starts with {prefix!r}.",
            "List all messages with: leslied inbox",
        )
    now_ns = to_ns(context.now)
    messages = [
        message for thread in threads for message in inbox.list_messages(folder, thread)
    ]
    inbox.resolve_claims(
        messages,
        now_ns,
        lambda thread: injection_state.load(folder, thread).transcript,
    )
    messages.sort(key=lambda message: message.at_ns)
    return Inbox([_describe_message(context, message) for message in messages])


def _describe_message(
    context: QueryContext, message: inbox.InboxMessage
) -> QueuedMessage:
    queued_message = QueuedMessage(
        id=message.id,
        thread_id=message.thread,
        state=message.state,
        queued_at=datetime.fromtimestamp(message.at_ns // 1_000_000_000, UTC),
        session_id=message.session,
        text=message.read_text(),
    )
    return context.redact_value(queued_message)
