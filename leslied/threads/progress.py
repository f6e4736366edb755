"""What a progress file says: done, open, blocked and why. Any order, any dialect."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Literal

State = Literal["done", "open", "blocked"]

_ITEM = re.compile(r"([ \t]*)(?:[-*+]|\d{1,4}[.)])[ \t]+(.*)")
_BOX = re.compile(r"\[(.?)\][ \t]*(.*)")
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
_SECTIONS: tuple[tuple[re.Pattern[str], State | None], ...] = (
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
_WHY = re.compile(r"(?:reason|why)[:\uff1a][ \t]*", re.IGNORECASE)
_MOST_LINES = 20_000


@dataclass(slots=True)
class Item:
    """One task; what hangs below it is part of it."""

    text: str
    state: State
    reason: str = ""
    """Why it is blocked, as far as the file tells."""
    at: str = ""
    """The time that stands behind it, as written."""
    depth: int = 0
    children: list[Item] = field(default_factory=list)


@dataclass(slots=True)
class Progress:
    """All tasks in the order of the file, and how much of them is done."""

    items: list[Item] = field(default_factory=list)
    told_percent: int | None = None
    """What the file itself says of the whole."""

    def of(self, state: State) -> list[Item]:
        """The tasks in this state, at any depth, in order."""
        return [item for item in self.items if item.state == state]

    @property
    def percent(self) -> int | None:
        """How much is done: as told, else counted over tasks without subtasks."""
        if self.told_percent is not None:
            return self.told_percent
        leaves = [item for item in self.items if not item.children]
        done = sum(item.state == "done" for item in leaves)
        return 100 * done // len(leaves) if leaves else None


def parse_progress(text: str) -> Progress:
    """What the text says, as far as it can be understood; never an error."""
    parser = _Parser()
    for line in text.removeprefix("\ufeff").split("\n")[:_MOST_LINES]:
        parser.take(line.rstrip("\r"))
    return parser.progress


class _Parser:
    """Goes through a file line by line."""

    def __init__(self) -> None:
        self.progress = Progress()
        self._section: State | None = None
        self._fence = ""
        self._path: list[tuple[int, Item]] = []

    def take(self, line: str) -> None:
        """What this line adds."""
        fence = _FENCE.match(line)
        if self._fence or fence:
            self._take_fence(fence)
            return
        overall = _OVERALL.search(line)
        if overall and self.progress.told_percent is None:
            self.progress.told_percent = min(int(overall[1]), 100)
            return
        heading = _HEADING.fullmatch(line)
        bold = _BOLD.fullmatch(line)
        if heading or bold:
            self._take_heading(heading[2] if heading else bold[1] if bold else "")
        elif item := _ITEM.fullmatch(line):
            self._take_item(_width(item[1]), item[2].strip())

    def _take_fence(self, fence: re.Match[str] | None) -> None:
        if not self._fence and fence:
            self._fence = fence[1]
        elif fence and fence[1].startswith(self._fence):
            self._fence = ""

    def _take_heading(self, text: str) -> None:
        self._path = []
        if _NOT_DONE.search(text):
            self._section = "open"
            return
        found = (state for words, state in _SECTIONS if words.search(text))
        self._section = next(found, None)
        if text.strip().lower() == "progress":
            self._section = None

    def _take_item(self, width: int, text: str) -> None:
        while self._path and self._path[-1][0] >= width:
            self._path.pop()
        parent = self._path[-1][1] if self._path else None
        box = _BOX.fullmatch(text)
        if box is None and (parent or self._section is None):
            self._take_note(parent, text)
            return
        state = _tell(box[1] if box else "", self._section, has_box=box is not None)
        item = _make(box[2] if box else text, state, len(self._path))
        if parent:
            parent.children.append(item)
        self._path.append((width, item))
        if item.text:
            self.progress.items.append(item)

    def _take_note(self, parent: Item | None, text: str) -> None:
        """A plain line below a blocked task tells why."""
        if parent and parent.state == "blocked" and not parent.reason:
            parent.reason = _WHY.sub("", text)


def _tell(mark: str, section: State | None, *, has_box: bool) -> State:
    if mark in ("x", "X", "✓", "✔", "✅"):
        return "done"
    if mark in ("!", "✗"):
        return "blocked"
    if has_box and section == "done":
        return "open"
    return section or "open"


def _make(text: str, state: State, depth: int) -> Item:
    at, reason = "", ""
    if found := _TIME.search(text):
        at, text = found[1], text[: found.start()]
    if state == "blocked" and (found := _REASON.fullmatch(text)):
        reason, text = (found[2] or found[3]).strip(), found[1]
    text = re.sub(r"\*\*|__|~~", "", text).strip()
    return Item(text, state, reason, at, depth)


def _width(indent: str) -> int:
    return len(indent.expandtabs(4))
