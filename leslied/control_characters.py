"""Control, bidirectional and invisible characters, which must not reach a reader.

A terminal obeys some of them; others reorder the text around them, or hide text that a
program or an agent still reads. They are replaced by visible names, and escaped in
JSON. `docs/decisions/0050-invisible-characters.md` says which ones, and why.
"""

from __future__ import annotations

import re
from functools import cache

TYPE_CHECKING = False  # Importing it from `typing` would cost a hook milliseconds.
if TYPE_CHECKING:
    from collections.abc import Callable

_HIDDEN = (
    "\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f"
    "\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ud800-\uf8ff\ufe00-\ufe0f\ufeff"
    "\uffa0\ufff0-\ufffb\U00013430-\U0001345f\U0001bca0-\U0001bca3"
    "\U0001d173-\U0001d17a\U000e0000-\U0010ffff"
)
"""Everything that has no glyph of its own, except spaces, tab and newline.

Unicode's control and default-ignorable characters, line and paragraph separators,
private use, and lone surrogates, which cannot be encoded.
"""
_EMOJI = (
    "\xa9\xae\u203c\u2049\u2122\u2139\u2190-\u21ff\u2300-\u27bf\u2934\u2935\u2b00-\u2bff"
    "\u3030\u303d\u3297\u3299\U0001f000-\U0001faff"
)
_JOINING_LETTERS = (
    "\u0620-\u07ff\u0840-\u085f\u08a0-\u08e1\u08e3-\u0dff\u0f40-\u109f\u1780-\u17b3"
    "\u17b6-\u17dd\u1820-\u18aa\u1900-\u1aad\u1b00-\u1c4f\ua840-\ua8f7\ua980-\ua9df"
    "\ufb50-\ufdfb\ufe70-\ufefc\U00010a00-\U00010aff\U00011000-\U00011fff"
)
"""Letters and marks of scripts that use joiners: Arabic, Indic and their relatives."""
_NECESSARY = "|".join(
    (
        # One variation selector after an emoji or the character of a keycap.
        rf"(?<=[{_EMOJI}])[\ufe0e\ufe0f]|(?<=[0-9#*])\ufe0f(?=\u20e3)",
        # A joiner between two emoji.
        rf"(?<=[{_EMOJI}])\u200d(?=[{_EMOJI}])|(?<=[{_EMOJI}]\ufe0f)\u200d(?=[{_EMOJI}])",
        rf"(?<=[{_JOINING_LETTERS}])[\u200c\u200d]",
        r"(?<=[\u1820-\u18aa])[\u180b-\u180d\u180f]",
        # The flags of England, Scotland and Wales.
        "(?<=\U0001f3f4)(?:{})\U000e007f".format(
            "|".join(
                "".join(chr(0xE0000 + ord(letter)) for letter in region)
                for region in ("gbeng", "gbsct", "gbwls")
            )
        ),
    )
)
"""Hidden characters that ordinary text needs, each with its required neighbours."""
_DEPENDENT = frozenset("\u180b\u180c\u180d\u180f\u200c\u200d\ufe0e\ufe0f\U000e007f")
"""Hidden characters; every match of `_NECESSARY` contains at least one of them."""
_MAX_REPLACED_AT_ONCE = 16
"""Number of different characters up to which `str.replace` is faster than `re`."""
_HIDDEN_CHARACTER = re.compile(f"[{_HIDDEN}]")
_ASCII_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")


def replace_control_characters(text: str, replacement: str = "") -> str:
    """Replace each hidden character by `replacement`, or if that is "", by a name.

    Tabs and newlines stay.
    """
    return _substitute(text, lambda character: replacement or _format_name(character))


def escape_control_characters(json_text: str) -> str:
    """Escape the hidden characters in JSON, which leaves its value unchanged."""
    return _substitute(json_text, _format_json_escape)


def format_one_line(text: str) -> str:
    """Return the text on one line, with hidden characters replaced."""
    return replace_control_characters(" ".join(text.split()))


def _substitute(text: str, format_character: Callable[[str], str]) -> str:
    """Replace each hidden character, except those that ordinary text needs.

    Emoji and some scripts need hidden characters between others. If the text can have
    none of these, all are replaced in a faster way.
    """
    pattern = _ASCII_CONTROL if text.isascii() else _HIDDEN_CHARACTER
    characters = set(pattern.findall(text))
    if characters.isdisjoint(_DEPENDENT) and len(characters) <= _MAX_REPLACED_AT_ONCE:
        for character in characters:
            text = text.replace(character, format_character(character))
        return text
    return _compile_necessary_or_hidden().sub(
        lambda match: match[0] if match[1] else format_character(match[0]), text
    )


@cache
def _compile_necessary_or_hidden() -> re.Pattern[str]:
    return re.compile(f"({_NECESSARY})|[{_HIDDEN}]")


def _format_name(character: str) -> str:
    code = ord(character)
    if code < 0x20:
        return chr(0x2400 + code)  # such as ␛, from the block Control Pictures
    return "␡" if code == 0x7F else f"<U+{code:04X}>"


def _format_json_escape(character: str) -> str:
    units = character.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[n : n + 2].hex()}" for n in range(0, len(units), 2))
