"""Split Aider's chat history into runs of the program, and runs into blocks.

Aider ends each line that it writes itself, such as prompts and notices, with two
spaces, and puts an empty line before prompts and answers, but not before notices. So an
answer with similar Markdown in it is not taken for a prompt or a notice.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Literal

BlockKind = Literal["prompt", "answer", "notice"]

_HEADER = re.compile(r"# aider chat started at (\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)\s*")
_PROMPT, _NOTICE, _END = "#### ", "> ", "  "
_CERTAIN_NOTICE = re.compile(r"> (?:Commit [0-9a-f]{7,40} |Tokens: )")
"""Notices that may have several lines, of which only the last has the two spaces."""


@dataclass(slots=True)
class Block:
    """A prompt, an answer or a notice."""

    kind: BlockKind
    lines: list[str]
    is_open: bool = False
    """Whether the next line may continue the block."""

    @property
    def text(self) -> str:
        """Return the text without the marks of the client."""
        return "\n".join(self.lines).strip()


@dataclass(slots=True)
class Run:
    """A run of the program, which is a session."""

    started: str
    """Local time; empty for text before the first header."""
    blocks: list[Block] = field(default_factory=list)


def split_runs(text: str) -> list[Run]:
    """Return the runs in a history; drop an incomplete last line."""
    runs = [Run("")]
    follows_empty_line = True
    for line in text.replace("\r\n", "\n").split("\n")[:-1]:
        if header := _HEADER.fullmatch(line):
            runs.append(Run(header[1]))
        else:
            _add_line(runs[-1].blocks, line, follows_empty_line=follows_empty_line)
        follows_empty_line = not line.strip()
    return [run for run in runs if run.started or run.blocks]


def _add_line(blocks: list[Block], line: str, *, follows_empty_line: bool) -> None:
    """Add a line to the open block, if any, or start a block with it."""
    open_block = blocks[-1] if blocks and blocks[-1].is_open else None
    kind = _find_kind(line, open_block, follows_empty_line=follows_empty_line)
    content = _strip_marks(line, kind)
    if kind == "prompt" and open_block and open_block.kind == "prompt":
        open_block.lines.append(content)
    elif kind == "prompt":
        _close(open_block)
        blocks.append(Block(kind, [content], is_open=True))
    elif kind == "notice":
        _close(open_block)
        blocks.append(Block(kind, [content], is_open=not line.endswith(_END)))
    elif open_block and open_block.kind != "prompt":
        open_block.lines.append(line)
        open_block.is_open = open_block.kind == "answer" or not line.endswith(_END)
    else:
        _close(open_block)
        if line.strip():
            blocks.append(Block("answer", [line], is_open=True))


def _close(block: Block | None) -> None:
    if block:
        block.is_open = False


def _find_kind(
    line: str, open_block: Block | None, *, follows_empty_line: bool
) -> BlockKind | None:
    """Return the kind of a line that is marked as a prompt or a notice, or else None.

    Every line of a prompt is marked as a prompt, even if it continues one.
    """
    is_client_line = line.endswith(_END)
    if line.startswith(_PROMPT) and is_client_line:
        return "prompt"
    if not line.startswith(_NOTICE):
        return None
    in_answer = open_block is not None and open_block.kind == "answer"
    if is_client_line or _CERTAIN_NOTICE.match(line):
        return "notice"
    return None if in_answer or follows_empty_line else "notice"


def _strip_marks(line: str, kind: BlockKind | None) -> str:
    if kind == "prompt":
        return line.removeprefix(_PROMPT).removesuffix(_END)
    return line.removeprefix(_NOTICE).rstrip() if kind == "notice" else line
