"""Whose words a `user` message holds: in most of them no human speaks."""

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
_NOTICE_WORDS = ("aborted", "notification", "warning", "limit")
_DATA_URL = re.compile(r"data:([\w.+-]+/[\w.+-]+)?[^,]{0,80},")


class CodexAuthorship(NamedTuple):
    """A person's words, and what the client put beside them."""

    text: str = ""
    attached: str = ""
    note: str = ""
    """What kind of envelope the client's part was."""
    shell: str = ""
    """The command a person ran by hand."""

    @property
    def kind(self) -> EventKind:
        """The kind of event the client's part is."""
        is_notice = any(word in self.note for word in _NOTICE_WORDS)
        return "notice" if is_notice else "context"


def classify_author(payload: dict[str, Any]) -> CodexAuthorship:
    """The words of a user message, part by part: the log may tell each part's kind."""
    told = object_field(payload, "internal_chat_message_metadata_passthrough")
    kinds = list_field(told, "content_item_kinds")
    words, attached, note = [], [], ""
    for number, part in enumerate(list_part_texts(payload)):
        kind = kinds[number] if number < len(kinds) else ""
        heard = _classify_part(part, kind if isinstance(kind, str) else "")
        if heard.shell:
            return heard
        words.append(heard.text)
        attached.append(heard.attached)
        note = note or heard.note
    return CodexAuthorship(_join_texts(words), _join_texts(attached), note)


def find_folder(text: str) -> str:
    """The folder that an environment's description names."""
    found = _FOLDER.search(text)
    return (found[1] or found[2]).strip() if found else ""


def list_part_texts(payload: dict[str, Any], name: str = "content") -> list[str]:
    """The texts of a message or tool result, pictures as placeholders."""
    content = payload.get(name)
    if isinstance(content, str):
        return [content]
    return [format_part(part) for part in list_field(payload, name)]


def message_text(payload: dict[str, Any], name: str = "content") -> str:
    """All words of a message."""
    return _join_texts(list_part_texts(payload, name))


def format_part(part: Any) -> str:
    """A part's words, or what stands for its picture, sound or secret."""
    if isinstance(part, str):
        return part
    if not isinstance(part, dict):
        return ""
    kind = text_field(part, "type")
    for name in ("image_url", "audio_url", "file_data"):
        if text_field(part, name):
            return format_data_url(
                kind.partition("_")[2] or "file", text_field(part, name)
            )
    if kind == "encrypted_content":
        return "[encrypted]"
    return text_field(part, "text")


def format_data_url(kind: str, url: str) -> str:
    """What stands for a picture: its type and size, or its address."""
    kind = kind.partition("_")[0]
    found = _DATA_URL.match(url)
    if found:
        size = (len(url) - found.end()) * 3 // 4
        return f"[{kind} {found[1] or 'data'}, {format_size(size)}]"
    return f"[{kind} {url[:200]}]"


def _classify_part(text: str, kind: str) -> CodexAuthorship:
    """One part: by the kind the log tells, else by the envelope it stands in."""
    if kind.startswith("user."):
        return _classify_person(text)
    shell = _SHELL.fullmatch(text)
    if shell:
        return CodexAuthorship("", shell[2], "output", shell[1].strip())
    if kind and kind != "unknown":
        return CodexAuthorship("", text, kind.rpartition(".")[2][:60])
    at, note = 0, ""
    while found := _ENVELOPE.match(text, at):
        at, note = found.end(), note or found[1]
    heard = _classify_person(text[at:])
    return CodexAuthorship(heard.text, text[:at] + heard.attached, note)


def _classify_person(text: str) -> CodexAuthorship:
    """The request alone: an editor writes before it what is open in it."""
    if _IMAGE_MARK.fullmatch(text):
        return CodexAuthorship()
    if text.lstrip().startswith(_IDE_HEADING) and _REQUEST_HEADING in text:
        attached, _, words = text.partition(_REQUEST_HEADING)
        return CodexAuthorship(words.lstrip("\n"), attached)
    return CodexAuthorship(text)


def _join_texts(texts: list[str]) -> str:
    return "\n\n".join(text for text in texts if text.strip())
