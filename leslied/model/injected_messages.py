"""The form in which an inbox message is injected into an agent's context.

The hook program writes it and the decoder reads it. The hook program must start in
milliseconds, so this module imports little.
"""

from __future__ import annotations

from leslied.model.quotation import quote_lines, unquote_lines

_START, _END = '<leslie_message id="', "\n</leslie_message>"
_QUOTED = '" from="leslied inject'
"""Follows the id of a message with quoted lines. Older versions did not quote."""
_ESCAPES = (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;"))


def format_message(message_id: str, text: str) -> str:
    """Return the text to inject for a message."""
    lines = "\n".join(map(_escape, quote_lines(text)))
    return f'{_START}{message_id}{_QUOTED}">\n{lines}{_END}'


def split_messages(text: str) -> tuple[str, list[str]]:
    """Return the text without the messages in it, and the texts of the messages."""
    other_text, *parts = text.split(_START)
    messages = []
    for part in parts:
        head, separator, tail = part.partition(_END)
        attributes, is_message, message = head.partition('">\n')
        message_id = attributes.removesuffix(_QUOTED)
        if separator and is_message and '"' not in message_id:
            is_quoted = attributes != message_id
            if is_quoted:
                message = unquote_lines(message.split("\n"))
            messages.append(unescape(message))
            other_text += tail
        else:
            other_text += _START + part
    return other_text.strip(), messages


def _escape(line: str) -> str:
    """Return a quoted line in which nothing after the mark looks like a tag."""
    mark, text = line[:1], line[1:]
    for character, escape in _ESCAPES:
        text = text.replace(character, escape)
    return mark + text


def unescape(text: str) -> str:
    """Undo the escaping of `&`, `<` and `>` in a text."""
    for character, escape in reversed(_ESCAPES):
        text = text.replace(escape, character)
    return text
