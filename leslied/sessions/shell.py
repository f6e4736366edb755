"""Files that a shell command certainly wrote; anything uncertain is omitted.

Only redirections and `tee` with a literal path count, in a command without branches,
loops, subshells or substitutions.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Iterator

WriteMode = Literal["write", "append"]

# An operator must come before any other that it starts with.
_CONTROL_OPERATORS = ("&&", "||", ";;", "|&", ";", "|", "&", "\n", "(", ")")
_REDIRECT_OPERATORS = (
    "&>>",
    "&>",
    ">>",
    ">|",
    ">&",
    "<<<",
    "<<-",
    "<<",
    "<>",
    "<&",
    ">",
    "<",
)
_UNSUPPORTED_COMMANDS = frozenset(
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
"""First words of commands that make the effect of a command line uncertain."""
_LITERAL_PATH = re.compile(r"[^$`*?\[\]{}~!\0\n]+")
"""A path in which the shell expands nothing."""
_WRITE_MODES: dict[str, WriteMode] = {
    ">": "write",
    ">|": "write",
    "&>": "write",
    ">>": "append",
    "&>>": "append",
}
_MAX_COMMAND_LINE_CHARACTERS = 200_000


@dataclass(frozen=True, slots=True)
class ShellWrite:
    """A file that a command wrote; a relative path is relative to `folder`."""

    path: str
    mode: WriteMode
    folder: str | None = ""
    """Working folder, relative to that of the command line; None if unknown."""


@dataclass(slots=True)
class SimpleCommand:
    """One simple command: its words, output redirections and here-documents."""

    words: list[str] = field(default_factory=list)
    redirects: list[tuple[str, WriteMode]] = field(default_factory=list)
    heredocs: list[str] = field(default_factory=list)
    operator: str = ""
    """Operator before the command; empty for the first command."""


class UnsupportedShellSyntax(Exception):  # noqa: N818 - an answer, not an error
    """The command uses syntax whose effect cannot be determined with certainty."""


def find_writes(command_line: str) -> list[ShellWrite]:
    """Return the files that the command line certainly wrote, provided it succeeded."""
    return [write for _, writes in iter_commands(command_line) for write in writes]


def iter_commands(
    command_line: str,
) -> Iterator[tuple[SimpleCommand, list[ShellWrite]]]:
    """Yield each simple command that certainly ran, with the files it wrote.

    The command line must have succeeded. Yield nothing if any part of it uses
    unsupported syntax.
    """
    try:
        commands = parse_commands(command_line)
    except UnsupportedShellSyntax:
        return
    # The exit status depends only on the commands after the last `;` or line end, so
    # success proves nothing about earlier ones.
    list_starts = [
        number
        for number, command in enumerate(commands)
        if command.operator in ("", ";", "\n")
    ]
    last_list_start = max(list_starts, default=0)
    has_alternative = any(
        command.operator == "||" for command in commands[last_list_start + 1 :]
    )
    folder: str | None = ""
    for number, command in enumerate(commands):
        is_success_proven = number >= last_list_start and not has_alternative
        has_run = _has_run(commands, number, is_success_proven=is_success_proven)
        if command.words[:1] in (["cd"], ["pushd"], ["popd"]):
            # It depends on the shell whether a `cd` in a pipeline has an effect.
            is_piped = any(c.operator[:1] == "|" for c in commands[number : number + 2])
            is_certain = has_run and is_success_proven and not is_piped
            folder = _change_folder(folder, command) if is_certain else None
        if not has_run:
            continue
        writes = [
            ShellWrite(path, mode, folder)
            for path, mode in (*command.redirects, *_find_tee_writes(command))
        ]
        yield command, writes


def _has_run(
    commands: list[SimpleCommand], number: int, *, is_success_proven: bool
) -> bool:
    """Return whether the command certainly ran.

    All commands of a pipeline run together, so the operator before the first decides.
    After `&&`, a command ran if the success of the command line proves it.
    """
    while commands[number].operator in ("|", "|&"):
        number -= 1
    return commands[number].operator in ("", ";", "\n") or (
        is_success_proven and commands[number].operator == "&&"
    )


def _change_folder(folder: str | None, command: SimpleCommand) -> str | None:
    """Return the working folder after a `cd`; None if it cannot be determined."""
    arguments = command.words[1:]
    if command.words[0] != "cd" or len(arguments) != 1:
        return None
    target = arguments[0]
    if target.startswith("-") or not _LITERAL_PATH.fullmatch(target):
        return None
    if target.startswith("/"):
        return target
    if folder is None:
        return None
    return f"{folder}/{target}" if folder else target


def _find_tee_writes(command: SimpleCommand) -> list[tuple[str, WriteMode]]:
    """Return the literal paths that a `tee` writes to, each with the mode."""
    if command.words[:1] != ["tee"]:
        return []
    options = [word for word in command.words[1:] if word.startswith("-")]
    if any(word not in ("-a", "--append", "-i", "-ai", "-ia") for word in options):
        return []
    mode: WriteMode = "append" if any("a" in word for word in options) else "write"
    paths = [word for word in command.words[1:] if not word.startswith("-")]
    return [(path, mode) for path in paths if _LITERAL_PATH.fullmatch(path)]


def parse_commands(command_line: str) -> list[SimpleCommand]:
    """Parse a shell command line; raise UnsupportedShellSyntax if it is too complex."""
    if len(command_line) > _MAX_COMMAND_LINE_CHARACTERS or "\0" in command_line:
        raise UnsupportedShellSyntax
    text = command_line.replace("\r\n", "\n").replace("\\\n", " ")
    return _ShellParser(text).parse()


class _ShellParser:
    """Parser of a shell command line, in a single pass."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._position = 0
        self._current = SimpleCommand()
        self._commands: list[SimpleCommand] = []
        # Command, delimiter, and whether leading tabs are stripped.
        self._pending_heredocs: list[tuple[SimpleCommand, str, bool]] = []

    def parse(self) -> list[SimpleCommand]:
        while self._position < len(self._text):
            self._parse_next()
        self._finish_command("")
        if self._pending_heredocs:
            raise UnsupportedShellSyntax
        return self._commands

    def _parse_next(self) -> None:
        upcoming = self._text[self._position : self._position + 3]
        if upcoming[0] in " \t":
            self._position += 1
        elif upcoming[0] == "#":
            end = self._text.find("\n", self._position)
            self._position = len(self._text) if end < 0 else end
        elif operator := _match_operator(upcoming, _REDIRECT_OPERATORS):
            self._position += len(operator)
            self._parse_redirect(operator)
        elif operator := _match_operator(upcoming, _CONTROL_OPERATORS):
            self._position += len(operator)
            self._parse_control(operator)
        else:
            self._parse_word()

    def _parse_control(self, operator: str) -> None:
        if operator in ("(", ")", "&", ";;"):
            raise UnsupportedShellSyntax
        self._finish_command(operator)
        if operator == "\n":
            self._read_heredocs()

    def _finish_command(self, operator: str) -> None:
        """Finish the current command; `operator` precedes the next one.

        An empty command is allowed only before a line end or at the end of the text.
        """
        finished, self._current = self._current, SimpleCommand(operator=operator)
        if finished.words or finished.redirects or finished.heredocs:
            if finished.words and finished.words[0] in _UNSUPPORTED_COMMANDS:
                raise UnsupportedShellSyntax
            self._commands.append(finished)
        elif operator not in ("\n", ""):
            raise UnsupportedShellSyntax
        # In `a &&\nb`, the operator before `b` is `&&` and not the line end.
        elif finished.operator in ("&&", "||", "|", "|&"):
            self._current.operator = finished.operator
        elif not self._commands:
            self._current.operator = ""

    def _parse_redirect(self, operator: str) -> None:
        """Parse the target after a redirection operator; record it if it is written.

        The number of a file descriptor before the operator is not a word.
        """
        if (
            self._current.words
            and self._has_fd_number()
            and self._current.words[-1].isdigit()
        ):
            self._current.words.pop()
        while self._text[self._position : self._position + 1] in (" ", "\t"):
            self._position += 1
        word = self._read_word()
        if operator in ("<<", "<<-"):
            self._pending_heredocs.append((self._current, word, operator == "<<-"))
        elif operator == "<>":
            raise UnsupportedShellSyntax
        elif operator in _WRITE_MODES and _LITERAL_PATH.fullmatch(word):
            self._current.redirects.append((word, _WRITE_MODES[operator]))

    def _has_fd_number(self) -> bool:
        """Return whether a number directly precedes the operator: `2> file`."""
        before = self._text[: self._position].rstrip("<>&|")
        return before[-1:].isdigit()

    def _parse_word(self) -> None:
        self._current.words.append(self._read_word())

    def _read_word(self) -> str:
        """Read the word at the position without its quotes.

        A `$` is kept, so that the word does not count as a literal path.
        """
        start, parts = self._position, list[str]()
        while self._position < len(self._text):
            char = self._text[self._position]
            if char in " \t\n;|&<>()":
                break
            if char in "'\"":
                parts.append(self._read_quoted(char))
            elif char == "\\":
                parts.append(self._text[self._position + 1 : self._position + 2])
                self._position += 2
            else:
                self._reject_substitution()
                parts.append(char)
                self._position += 1
        if self._position == start:
            raise UnsupportedShellSyntax
        return "".join(parts)

    def _read_quoted(self, quote: str) -> str:
        """Read a quoted string, up to and including the closing quote."""
        self._position += 1
        parts: list[str] = []
        while self._text[self._position : self._position + 1] != quote:
            if self._position >= len(self._text):
                raise UnsupportedShellSyntax
            if quote == '"':
                self._reject_substitution()
                if self._text[self._position] == "\\":
                    self._position += 1
            parts.append(self._text[self._position : self._position + 1])
            self._position += 1
        self._position += 1
        return "".join(parts)

    def _reject_substitution(self) -> None:
        """Raise UnsupportedShellSyntax at a substitution; it may contain anything."""
        if self._text.startswith(("$(", "`", "<(", ">(", "$'"), self._position):
            raise UnsupportedShellSyntax

    def _read_heredocs(self) -> None:
        """Read the pending here-documents, each up to its delimiter."""
        for command, delimiter, strips_tabs in self._pending_heredocs:
            lines: list[str] = []
            while True:
                if self._position >= len(self._text):
                    raise UnsupportedShellSyntax
                end = self._text.find("\n", self._position)
                end = len(self._text) if end < 0 else end
                line = self._text[self._position : end]
                self._position = end + 1
                line = line.lstrip("\t") if strips_tabs else line
                if line == delimiter:
                    break
                lines.append(line)
            command.heredocs.append("\n".join(lines))
        self._pending_heredocs = []


def _match_operator(text: str, operators: tuple[str, ...]) -> str:
    """Return the operator with which the text starts; empty if there is none."""
    return next((operator for operator in operators if text.startswith(operator)), "")
