"""Which files a shell command certainly wrote. Anything doubtful is left out.

Only what is plain to see counts: a redirection or `tee` with a literal path, in a
command without branches, loops, subshells or substitutions.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Iterator

Mode = Literal["write", "append"]

_CONTROL = ("&&", "||", ";;", "|&", ";", "|", "&", "\n", "(", ")")
_OPERATORS = ("&>>", "&>", ">>", ">|", ">&", "<<<", "<<-", "<<", "<>", "<&", ">", "<")
_KEYWORDS = frozenset(
    [
        "if",
        "then",
        "else",
        "elif",
        "fi",
        "for",
        "while",
        "until",
        "do",
        "done",
        "case",
        "esac",
        "function",
        "select",
        "time",
        "coproc",
        "{",
        "}",
        "!",
        "[[",
        "eval",
        "exec",
        "source",
        ".",
        "trap",
        "alias",
        "set",
        "exit",
        "return",
        "break",
    ]
)
_LITERAL = re.compile(r"[^$`*?\[\]{}~!\0\n]+")
_WRITES: dict[str, Mode] = {
    ">": "write",
    ">|": "write",
    "&>": "write",
    ">>": "append",
    "&>>": "append",
}
_LONGEST = 200_000


@dataclass(frozen=True, slots=True)
class Written:
    """A path that a command wrote, as it stands there; relative ones to `folder`."""

    path: str
    mode: Mode
    folder: str | None = ""
    """Where the command had gone by then, relative to its start; None: who knows."""


@dataclass(slots=True)
class Simple:
    """One simple command: its words, what it redirects, what it was fed."""

    words: list[str] = field(default_factory=list)
    writes: list[tuple[str, Mode]] = field(default_factory=list)
    fed: list[str] = field(default_factory=list)
    before: str = ""
    """The operator that stands before it."""


class Doubtful(Exception):  # noqa: N818 - no accident: the answer is "who knows"
    """The command is more than can be read with certainty."""


def find_written(command: str) -> list[Written]:
    """The files that the command, if it succeeded, certainly wrote."""
    return [each for _, found in walk(command) for each in found]


def walk(command: str) -> Iterator[tuple[Simple, list[Written]]]:
    """Each simple command that certainly ran, with what it wrote; all or nothing."""
    try:
        commands = split(command)
    except Doubtful:
        return
    last = max((n for n, c in enumerate(commands) if c.before in ";\n"), default=0)
    folder: str | None = ""
    for number, simple in enumerate(commands):
        is_proven = number >= last and all(
            c.before != "||" for c in commands[last + 1 :]
        )
        has_run = _has_run(commands, number, is_proven=is_proven)
        if simple.words[:1] in (["cd"], ["pushd"], ["popd"]):
            is_piped = any(c.before[:1] == "|" for c in commands[number : number + 2])
            is_sure = has_run and is_proven and not is_piped
            folder = _go(folder, simple) if is_sure else None
        if not has_run:
            continue
        found = [Written(p, m, folder) for p, m in (*simple.writes, *_tee(simple))]
        yield simple, found


def _has_run(commands: list[Simple], number: int, *, is_proven: bool) -> bool:
    """Whether it ran: what stands behind `&&` or `||` may not have."""
    while commands[number].before in ("|", "|&"):
        number -= 1
    return commands[number].before in ("", ";", "\n") or (
        is_proven and commands[number].before == "&&"
    )


def _go(folder: str | None, simple: Simple) -> str | None:
    target = simple.words[1:]
    if simple.words[0] != "cd" or len(target) != 1 or target[0].startswith("-"):
        return None
    if not _LITERAL.fullmatch(target[0]):
        return None
    if target[0].startswith("/"):
        return target[0]
    return None if folder is None else f"{folder}/{target[0]}" if folder else target[0]


def _tee(simple: Simple) -> list[tuple[str, Mode]]:
    if simple.words[:1] != ["tee"]:
        return []
    options = [word for word in simple.words[1:] if word.startswith("-")]
    if any(word not in ("-a", "--append", "-i", "-ai", "-ia") for word in options):
        return []
    mode: Mode = "append" if any("a" in word for word in options) else "write"
    paths = [word for word in simple.words[1:] if not word.startswith("-")]
    return [(path, mode) for path in paths if _LITERAL.fullmatch(path)]


def split(command: str) -> list[Simple]:
    """The simple commands of a line of shell, or `Doubtful`."""
    if len(command) > _LONGEST or "\0" in command:
        raise Doubtful
    reader = _Reader(command.replace("\r\n", "\n").replace("\\\n", " "))
    return reader.read()


class _Reader:
    """Reads a command from left to right, once."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._now = Simple()
        self._done: list[Simple] = []
        self._waiting: list[tuple[Simple, str, bool]] = []

    def read(self) -> list[Simple]:
        while self._at < len(self._text):
            self._step()
        self._end("")
        if self._waiting:
            raise Doubtful
        return self._done

    def _step(self) -> None:
        rest = self._text[self._at : self._at + 3]
        if rest[0] in " \t":
            self._at += 1
        elif rest[0] == "#":
            end = self._text.find("\n", self._at)
            self._at = len(self._text) if end < 0 else end
        elif operator := _starts(rest, _OPERATORS):
            self._at += len(operator)
            self._redirect(operator)
        elif operator := _starts(rest, _CONTROL):
            self._at += len(operator)
            self._control(operator)
        else:
            self._word()

    def _control(self, operator: str) -> None:
        if operator in ("(", ")", "&", ";;"):
            raise Doubtful
        self._end(operator)
        if operator == "\n":
            self._take_fed()

    def _end(self, operator: str) -> None:
        """The command is over; an empty one between two line ends is none."""
        now, self._now = self._now, Simple(before=operator)
        if now.words or now.writes or now.fed:
            if now.words and now.words[0] in _KEYWORDS:
                raise Doubtful
            self._done.append(now)
        elif operator not in ("\n", ""):
            raise Doubtful
        elif now.before in ("&&", "||", "|", "|&"):
            self._now.before = now.before
        elif not self._done:
            self._now.before = ""

    def _redirect(self, operator: str) -> None:
        if self._now.words and self._glued() and self._now.words[-1].isdigit():
            self._now.words.pop()
        while self._text[self._at : self._at + 1] in (" ", "\t"):
            self._at += 1
        word = self._take_word()
        if operator in ("<<", "<<-"):
            self._waiting.append((self._now, word, operator == "<<-"))
        elif operator == "<>":
            raise Doubtful
        elif operator in _WRITES and _LITERAL.fullmatch(word):
            self._now.writes.append((word, _WRITES[operator]))

    def _glued(self) -> bool:
        """Whether a number stands directly before the operator: `2> file`."""
        before = self._text[: self._at].rstrip("<>&|")
        return before[-1:].isdigit()

    def _word(self) -> None:
        self._now.words.append(self._take_word())

    def _take_word(self) -> str:
        """The word here without its quotes; a `$` in it stays and marks it."""
        begin, parts = self._at, list[str]()
        while self._at < len(self._text):
            char = self._text[self._at]
            if char in " \t\n;|&<>()":
                break
            if char in "'\"":
                parts.append(self._take_quoted(char))
            elif char == "\\":
                parts.append(self._text[self._at + 1 : self._at + 2])
                self._at += 2
            else:
                self._refuse_substitution()
                parts.append(char)
                self._at += 1
        if self._at == begin:
            raise Doubtful
        return "".join(parts)

    def _take_quoted(self, quote: str) -> str:
        self._at += 1
        parts: list[str] = []
        while self._text[self._at : self._at + 1] != quote:
            if self._at >= len(self._text):
                raise Doubtful
            if quote == '"':
                self._refuse_substitution()
                if self._text[self._at] == "\\":
                    self._at += 1
            parts.append(self._text[self._at : self._at + 1])
            self._at += 1
        self._at += 1
        return "".join(parts)

    def _refuse_substitution(self) -> None:
        """A command inside a command may hold anything, quotes and ends included."""
        if self._text.startswith(("$(", "`", "<(", ">(", "$'"), self._at):
            raise Doubtful

    def _take_fed(self) -> None:
        """The lines after this one, up to each mark, were fed to their commands."""
        for simple, mark, is_indented in self._waiting:
            lines: list[str] = []
            while True:
                if self._at >= len(self._text):
                    raise Doubtful
                end = self._text.find("\n", self._at)
                end = len(self._text) if end < 0 else end
                line = self._text[self._at : end]
                self._at = end + 1
                line = line.lstrip("\t") if is_indented else line
                if line == mark:
                    break
                lines.append(line)
            simple.fed.append("\n".join(lines))
        self._waiting = []


def _starts(text: str, operators: tuple[str, ...]) -> str:
    return next((each for each in operators if text.startswith(each)), "")
