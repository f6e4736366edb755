"""Titles of sessions, and texts truncated to the length of a title."""

from __future__ import annotations

import re

from leslied.graphemes import take_characters

_TITLE_CHARACTERS = 80
_EXAMINED_CHARACTERS = 4000
"""Start of a prompt in which its subject is looked for; it may be megabytes long."""
_MAX_LEAD_CHARACTERS = 30
"""A line of at most this length that ends with a colon is joined with the next one."""
_VISIBLE_ASCII = re.compile("[!-~]")
_PARTIAL_TOKEN = re.compile(r"(?<![!-~])(?=[!-~]*\d)(?=[!-~]*[A-Za-z])[!-~]+$")
"""Token with letters and digits at the end of a text: it may be part of a secret."""
_ATTACHMENT_MARK = re.compile(
    r"(?<!\[)\[(?:image\b|(?:audio|document|file|video) [\w.+-]+/)"
    r"[^\]\n]*(?:\]|\Z)[ \t]*",
    re.IGNORECASE,
)
"""Text that a client or an adapter writes in place of an attachment: `[Image #1]`."""
_LEAD_IN = re.compile(
    r"(?:please )?(?:implement|execute|follow) (?:the following|the|this|my) "
    r"(?:implementation )?(?:plan|spec|task|instructions)\s*[:.]?",
    re.IGNORECASE,
)
"""A line that announces a plan or task without saying what it is about."""
_TAG_LINE = re.compile(r"(?:</?[A-Za-z][\w:.-]*(?: [^<>]*)?>\s*)+|```.*|-{3,}")
"""A line that only starts or ends a part of the prompt."""
_BARE_COMMAND = re.compile(r"/[\w:.-]+")
_LINES_WITHOUT_SUBJECT = (_LEAD_IN, _TAG_LINE, _BARE_COMMAND)
_MARKUP = re.compile(r"^(?:#{1,6}|[>*•\u276f\u203a-])\s+")
_PLAN_LABEL = re.compile(
    r"^(?:implementation )?plan\s*[:\u2013\u2014-]\s+", re.IGNORECASE
)
_TAGGED = re.compile(r"^<([A-Za-z][\w:.-]*)(?: [^<>]*)?>(.*)</\1>$")
_WORD = re.compile(r"[^\W\d_]{2,}")
_FILLER_WORDS = frozenset(
    re.findall(
        r"\w+",
        """
        hello hi hey hallo hola bonjour salut ciao there good morning afternoon evening
        你好 您好 こんにちは 안녕하세요 привет test testing ping thanks thank you please
        yes yep yeah no nope ok okay sure go on ahead continue proceed do it both that
        this the and all of them
        """,
    )
)
"""Words that name no subject: greetings, consent and the like."""


def choose_title(title: str, first_prompt: str, description: str) -> str:
    """Return the log's title, else what the prompt is about, else the description.

    The description is that of a subagent's task.
    """
    prompt = strip_attachment_marks(first_prompt).strip() or first_prompt
    return title or _make_prompt_title(prompt) or description


def _make_prompt_title(prompt: str) -> str:
    """Return the first line of the prompt's subject, without markup."""
    lines = [line.strip() for line in find_subject(prompt).split("\n")]
    lines = [line for line in lines if line and not _TAG_LINE.fullmatch(line)]
    title = _strip_markup(lines[0]) if lines else prompt.strip().split("\n", 1)[0]
    if title.endswith(":") and len(title) <= _MAX_LEAD_CHARACTERS and len(lines) > 1:
        title = f"{title} {_strip_markup(lines[1])}"
    return truncate_text(title, _TITLE_CHARACTERS)


def find_subject(prompt: str) -> str:
    """Return the prompt, beginning with the first line that says what it is about.

    Greetings, tags and `Implement the following plan:` are skipped. Return the whole
    prompt if it has no such line.
    """
    position = 0
    for line in prompt[:_EXAMINED_CHARACTERS].split("\n"):
        if has_subject(line):
            return prompt[position:]
        position += len(line) + 1
    return prompt


def has_subject(text: str) -> bool:
    """Return whether a text says what it is about, unlike `hello` or `yes, do it`."""
    text = strip_attachment_marks(text[:_EXAMINED_CHARACTERS])
    line = text.strip().casefold()
    if any(pattern.fullmatch(line) for pattern in _LINES_WITHOUT_SUBJECT):
        return False
    return any(match[0] not in _FILLER_WORDS for match in _WORD.finditer(line))


def _strip_markup(line: str) -> str:
    """Return a line without Markdown's marks, a tag around it or `Plan:`."""
    for pattern in (_MARKUP, _PLAN_LABEL):
        line = pattern.sub("", line)
    return _TAGGED.sub(r"\2", line).strip() or line


def strip_attachment_marks(text: str) -> str:
    """Return the text without the marks of images and other attachments."""
    return _ATTACHMENT_MARK.sub("", text)


def truncate_text(text: str, limit: int) -> str:
    """Truncate a text to `limit` characters, including an ellipsis.

    If the cut would be inside a token with letters and digits, drop the token:
    redaction cannot recognize a part of a secret.
    """
    if len(text) <= limit:
        return text
    head = take_characters(text, limit - 1)
    if _VISIBLE_ASCII.match(text[limit - 1]):
        head = _PARTIAL_TOKEN.sub("", head)
    return head + "…"
