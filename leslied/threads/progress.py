"""Parser of progress files: done, open and blocked items, in any common dialect."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Literal

State = Literal["done", "open", "blocked"]

_ITEM = re.compile(r"([ \t]*)(?:[-*+]|\d{1,4}[.)])[ \t]+(.*)")
_CHECKBOX = re.compile(r"\[(.?)\][ \t]*(.*)")
_HEADING = re.compile(r"[ ]{0,3}(#{1,6})[ \t]+(.*?)[ \t#]*")
_BOLD = re.compile(r"[ ]{0,3}\*\*([^*]{2,60})\*\*:?[ \t]*")
_FENCE = re.compile(r"[ ]{0,3}(`{3,}|~{3,})")
_OVERALL = re.compile(
    r"overall\b.{0,40}?(\d{1,3})(?:\.\d+)?[ \t]*[%\uff05]", re.IGNORECASE
)
_TIME = re.compile(
    r"[ \t]*[(\uff08](\d{4}-\d\d-\d\d(?:[ T]\d\d:\d\d(?::\d\d)?)?)[)\uff09][ \t]*$"
)
_REASON = re.compile(
    r"(.*?)[ \t]*(?:[(\uff08]([^()\uff08\uff09]+)[)\uff09]"
    r"|[ \t][\u2014\u2013-]{1,2}[ \t]+(.+))$"
)
_SECTION_STATES: tuple[tuple[re.Pattern[str], State | None], ...] = (
    (
        re.compile(r"block|waiting|stuck|on hold|阻塞|⛔|🚫|❌", re.IGNORECASE),
        "blocked",
    ),
    (re.compile(r"complet|done|finish|shipped|完成|✅|☑", re.IGNORECASE), "done"),
    (
        re.compile(
            r"progress|to.?do|pending|open|next|current|remaining|backlog|doing"
            r"|进行|待办|🔵|🚧|⏳|⚪",
            re.IGNORECASE,
        ),
        "open",
    ),
)
_NOT_DONE = re.compile(
    r"not (yet )?(done|complet)|incomplete|unfinished", re.IGNORECASE
)
_REASON_PREFIX = re.compile(r"(?:reason|why)[:\uff1a][ \t]*", re.IGNORECASE)
_MAX_LINES = 20_000


@dataclass(slots=True)
class ProgressItem:
    """One item with its child items."""

    text: str
    state: State
    reason: str = ""
    """Reason why the item is blocked; empty if the file does not give one."""
    at: str = ""
    """Time in parentheses after the text, as written in the file."""
    depth: int = 0
    """Number of items that contain this one."""
    children: list[ProgressItem] = field(default_factory=list)


@dataclass(slots=True)
class ThreadProgress:
    """The items of a progress file, and the percentage that is done."""

    items: list[ProgressItem] = field(default_factory=list)
    """All items, at any depth, in file order."""
    stated_percent: int | None = None
    """Overall percentage stated in the file."""

    def list_items(self, state: State) -> list[ProgressItem]:
        """Return the items in this state, at any depth, in order."""
        return [item for item in self.items if item.state == state]

    @property
    def percent(self) -> int | None:
        """Percentage stated in the file, else counted over items without children."""
        if self.stated_percent is not None:
            return self.stated_percent
        leaves = [item for item in self.items if not item.children]
        done = sum(item.state == "done" for item in leaves)
        return 100 * done // len(leaves) if leaves else None


def parse_progress(text: str) -> ThreadProgress:
    """Parse the text; ignore lines that are not understood, and never raise."""
    parser = _ProgressParser()
    for line in text.removeprefix("\ufeff").split("\n")[:_MAX_LINES]:
        parser.read_line(line.rstrip("\r"))
    return parser.progress


class _ProgressParser:
    """Parser of a progress file, line by line."""

    def __init__(self) -> None:
        self.progress = ThreadProgress()
        # State of the items below the current heading, if the heading names one.
        self._section: State | None = None
        # Opening fence of the current code block; empty outside of code blocks.
        self._fence = ""
        # Indentation and item of each item that may contain the next one.
        self._parents: list[tuple[int, ProgressItem]] = []

    def read_line(self, line: str) -> None:
        """Update the progress with this line."""
        fence = _FENCE.match(line)
        if self._fence or fence:
            self._read_fence(fence)
            return
        overall = _OVERALL.search(line)
        if overall and self.progress.stated_percent is None:
            self.progress.stated_percent = min(int(overall[1]), 100)
            return
        if heading := _HEADING.fullmatch(line):
            self._read_heading(heading[2])
        elif bold := _BOLD.fullmatch(line):
            self._read_heading(bold[1])
        elif item := _ITEM.fullmatch(line):
            self._read_item(_measure_indent(item[1]), item[2].strip())

    def _read_fence(self, fence: re.Match[str] | None) -> None:
        if not self._fence and fence:
            self._fence = fence[1]
        elif fence and fence[1].startswith(self._fence):
            self._fence = ""

    def _read_heading(self, text: str) -> None:
        self._parents = []
        if _NOT_DONE.search(text):
            self._section = "open"
            return
        states = (state for pattern, state in _SECTION_STATES if pattern.search(text))
        self._section = next(states, None)
        # This is the title of the file, not the heading of items in progress.
        if text.strip().lower() == "progress":
            self._section = None

    def _read_item(self, indent: int, text: str) -> None:
        while self._parents and self._parents[-1][0] >= indent:
            self._parents.pop()
        parent = self._parents[-1][1] if self._parents else None
        checkbox = _CHECKBOX.fullmatch(text)
        if checkbox is None and (parent or self._section is None):
            self._read_reason(parent, text)
            return
        state = _find_state(
            checkbox[1] if checkbox else "",
            self._section,
            has_checkbox=checkbox is not None,
        )
        item = _make_item(checkbox[2] if checkbox else text, state, len(self._parents))
        if parent:
            parent.children.append(item)
        self._parents.append((indent, item))
        if item.text:
            self.progress.items.append(item)

    def _read_reason(self, parent: ProgressItem | None, text: str) -> None:
        """Use a child without a checkbox as the reason why its parent is blocked."""
        if parent and parent.state == "blocked" and not parent.reason:
            parent.reason = _REASON_PREFIX.sub("", text)


def _find_state(mark: str, section: State | None, *, has_checkbox: bool) -> State:
    """Return an item's state; `mark` is the character in its checkbox.

    `section` is the state that the heading above the item names, if any.
    """
    if mark in ("x", "X", "✓", "✔", "✅"):
        return "done"
    if mark in ("!", "✗"):
        return "blocked"
    # An unchecked item is open even in a section of finished ones.
    if has_checkbox and section == "done":
        return "open"
    return section or "open"


def _make_item(text: str, state: State, depth: int) -> ProgressItem:
    """Return an item; separate the time and the reason from its text."""
    at, reason = "", ""
    if match := _TIME.search(text):
        at, text = match[1], text[: match.start()]
    if state == "blocked" and (match := _REASON.fullmatch(text)):
        reason, text = (match[2] or match[3]).strip(), match[1]
    text = re.sub(r"\*\*|__|~~", "", text).strip()
    return ProgressItem(text, state, reason, at, depth)


def _measure_indent(indent: str) -> int:
    return len(indent.expandtabs(4))
