"""Classify who wrote a `user` message; a person wrote only a few of them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

from leslied.agents._parsing import format_size
from leslied.agents.codex.schema import list_field, object_field, text_field

if TYPE_CHECKING:
    from leslied.model.record import EventKind

_ENVELOPE = re.compile(
    r"\s*(?:#[^\n]*AGENTS\.md[^\n]*\s*)?<(environment_context|user_instructions"
    r"|INSTRUCTIONS|environments_instructions|apps_instructions|skills_instructions"
    r"|plugins_instructions|permissions instructions|collaboration_mode"
    r"|turn_aborted|skill|subagent_notification|codex_internal_context|goal_context"
    r"|recommended_plugins|hook_prompt|user_action|model_switch|startup_context"
    r"|current_time_reminder|image_resize_notice|guardian_sync_review"
    r"|external_\w+|realtime_conversation)(?:\s[^<>]*)?>.*?</\1>\s*",
    re.DOTALL,
)
_SHELL = re.compile(
    r"\s*<user_shell_command>\s*<command>\n?(.*?)\n?</command>\s*"
    r"<result>\n?(.*?)\n?</result>\s*</user_shell_command>\s*",
    re.DOTALL,
)
_FOLDER = re.compile(r"<cwd>([^<\n]+)</cwd>|Current working directory: ([^\n]+)")
_IMAGE_MARK = re.compile(r"\s*</?image(?: name=[^>]*)?>\s*")
_IDE_HEADING, _REQUEST_HEADING = (
    "# Context from my IDE setup:",
    "## My request for Codex:",
)
_NOTICE_MARKERS = ("aborted", "notification", "warning", "limit")
"""Client text whose kind contains one of these is a notice, not context."""
_MAX_NOTE_LENGTH = 60
_MAX_URL_LENGTH = 200
_DATA_URL = re.compile(r"data:([\w.+-]+/[\w.+-]+)?[^,]{0,80},")


class CodexAuthorship(NamedTuple):
    """A user message, split into a person's text and text that the client added."""

    text: str = ""
    """The person's text."""
    attached: str = ""
    """The client's text."""
    note: str = ""
    """The kind of the client's text."""
    shell: str = ""
    """The command that a person ran; its output is in `attached`."""

    @property
    def kind(self) -> EventKind:
        """The event kind of the client's text."""
        is_notice = any(marker in self.note for marker in _NOTICE_MARKERS)
        return "notice" if is_notice else "context"


def split_by_author(payload: dict[str, Any]) -> CodexAuthorship:
    """Split a user message into a person's text and the client's, part by part.

    Newer logs state the kind of each part. If a part is a shell command, only that part
    is returned.
    """
    metadata = object_field(payload, "internal_chat_message_metadata_passthrough")
    kinds = list_field(metadata, "content_item_kinds")
    texts, attached, note = [], [], ""
    for number, part in enumerate(list_part_texts(payload)):
        kind = kinds[number] if number < len(kinds) else ""
        split = _classify_part(part, kind if isinstance(kind, str) else "")
        if split.shell:
            return split
        texts.append(split.text)
        attached.append(split.attached)
        note = note or split.note
    return CodexAuthorship(_join_texts(texts), _join_texts(attached), note)


def find_folder(text: str) -> str:
    """Return the working directory in a description of the environment, or ""."""
    match = _FOLDER.search(text)
    return (match[1] or match[2]).strip() if match else ""


def list_part_texts(payload: dict[str, Any], field: str = "content") -> list[str]:
    """Return the texts of the parts in a field, with placeholders for images."""
    content = payload.get(field)
    if isinstance(content, str):
        return [content]
    return [format_part(part) for part in list_field(payload, field)]


def message_text(payload: dict[str, Any]) -> str:
    """Return all text of a message, with placeholders for images."""
    return _join_texts(list_part_texts(payload))


def format_part(part: Any) -> str:
    """Return a part's text, or a placeholder for images, audio and encrypted text."""
    if isinstance(part, str):
        return part
    if not isinstance(part, dict):
        return ""
    kind = text_field(part, "type")
    for name in ("image_url", "audio_url", "file_data"):
        if text_field(part, name):
            # Types are `input_image`, `input_audio` and so on.
            media_kind = kind.partition("_")[2] or "file"
            return format_url_placeholder(media_kind, text_field(part, name))
    if kind == "encrypted_content":
        return "[encrypted]"
    return text_field(part, "text")


def format_url_placeholder(kind: str, url: str) -> str:
    """Return a placeholder with the type and size of a data URL, or with the URL."""
    kind = kind.partition("_")[0]
    match = _DATA_URL.match(url)
    if match:
        size = (len(url) - match.end()) * 3 // 4
        return f"[{kind} {match[1] or 'data'}, {format_size(size)}]"
    return f"[{kind} {url[:_MAX_URL_LENGTH]}]"


def _classify_part(text: str, kind: str) -> CodexAuthorship:
    """Classify one part by the kind in the log, or else by its markup."""
    if kind.startswith("user."):
        return _classify_person(text)
    shell = _SHELL.fullmatch(text)
    if shell:
        return CodexAuthorship(attached=shell[2], note="output", shell=shell[1].strip())
    if kind and kind != "unknown":
        return CodexAuthorship(
            attached=text, note=kind.rpartition(".")[2][:_MAX_NOTE_LENGTH]
        )
    position, note = 0, ""
    while match := _ENVELOPE.match(text, position):
        position, note = match.end(), note or match[1]
    person = _classify_person(text[position:])
    return CodexAuthorship(person.text, text[:position] + person.attached, note)


def _classify_person(text: str) -> CodexAuthorship:
    """Split a person's request from the editor context that precedes it."""
    if _IMAGE_MARK.fullmatch(text):
        return CodexAuthorship()
    if text.lstrip().startswith(_IDE_HEADING) and _REQUEST_HEADING in text:
        attached, _, request = text.partition(_REQUEST_HEADING)
        return CodexAuthorship(request.lstrip("\n"), attached)
    return CodexAuthorship(text)


def _join_texts(texts: list[str]) -> str:
    return "\n\n".join(text for text in texts if text.strip())
