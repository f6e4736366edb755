"""The form in which an inbox message is injected into an agent's context.

The hook program writes it and the decoder reads it. The hook program must start in
milliseconds, so this module imports nothing.
"""

from __future__ import annotations

_START, _END = '<leslie_message id="', "\n</leslie_message>"
_ESCAPES = (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;"))


def format_message(message_id: str, text: str) -> str:
    """Return the text to inject for a message."""
    for character, escape in _ESCAPES:
        text = text.replace(character, escape)
    return f'{_START}{message_id}">\n{text}{_END}'


def split_messages(text: str) -> tuple[str, list[str]]:
    """Return the text without the messages in it, and the texts of the messages."""
    rest, *parts = text.split(_START)
    messages = []
    for part in parts:
        head, separator, tail = part.partition(_END)
        message_id, is_message, message = head.partition('">\n')
        if separator and is_message and '"' not in message_id:
            messages.append(unescape(message))
            rest += tail
        else:
            rest += _START + part
    return rest.strip(), messages


def unescape(text: str) -> str:
    """Return a text in which `&`, `<` and `>` were escaped, as it was before."""
    for character, escape in reversed(_ESCAPES):
        text = text.replace(escape, character)
    return text
