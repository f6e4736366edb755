"""No text of a log makes a terminal act, in any command, with or without a pager."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import pytest

from leslied.cli.commands.export import FORMATS
from leslied.control_characters import replace_control_characters
from tests.support.claude import (
    AFTER_STORE_CREATION,
    SESSION,
    ClaudeLogBuilder,
)
from tests.support.cli import LesliedRunner
from tests.support.terminal import run_at_terminal

pytestmark = [pytest.mark.e2e, pytest.mark.heavy, pytest.mark.threat("R1")]

OTHER_SESSION = "99999999-2222-4333-8444-555555555555"
THREAD = "thread-11111111"
SEQUENCES = (
    "\x1b]52;c;aGk=\x07", "\x1b]0;pwned\x07", "\x1b]8;;http://evil.example\x1b\\x",
    "\x1b[2J", "\x1b[1;1H", "\x1b[6n", "\x1b[?1049h", "\x1bc", "\x1bP+q\x1b\\",
    "\x9b2J", "\x9d0;x\x9c", "\x1b_x\x1b\\", "\x1b[21t", "\x1bZ", "a\rb", "a\x08\x08b",
    "\x0e\x0f", "\u202egnp.exe\u202c", "\u2066x\u2069", "\u200b", "\U000e0041",
    "\ufeff", "\xad",
)  # fmt: skip
BYTES = "".join(f"{n}:{chr(n)}" for n in (*range(32), *range(127, 160)))
HOSTILE = BYTES + "".join(SEQUENCES)
OWN_SEQUENCES = re.compile(r"\r\x1b\[K|\x1b\[[0-9;]*m|\x1b\[\?25[hl]|\x1b\[K|\x1b\[J")
"""Colours, erasing and hiding the cursor: all that leslied itself writes."""
COMMANDS = (
    ("list",),
    ("list", "--all", "--subagents"),
    ("list", "--json"),
    ("show", SESSION),
    ("show", SESSION, "--full", "--thinking"),
    ("show", SESSION, "--summary"),
    ("show", SESSION, "--style", "log"),
    ("show", SESSION, "--style", "leslie"),
    ("show", SESSION, "--style", "markdown"),
    ("show", SESSION, "--json"),
    ("search", "findme"),
    ("search", "findme", "--json"),
    ("follow", "--once"),
    ("follow", "--once", "--json"),
    ("diff", SESSION, OTHER_SESSION),
    ("diff", SESSION, OTHER_SESSION, "--json"),
    ("replay", SESSION, "--speed", "100000"),
    ("resume", THREAD),
    ("context", THREAD),
    ("assets", THREAD),
    ("threads", "list"),
    ("threads", "tree"),
    ("projects", "list"),
    ("inbox",),
    ("stats", "--by", "session"),
    ("stats", "--by", "project"),
    ("stats", "--by", "model", "--csv"),
    ("status",),
    ("agents",),
    ("doctor",),
    ("disk",),
    ("secrets", "scan"),
    ("sql", "SELECT * FROM transcript_entries"),
    ("sql", "--csv", "SELECT content, tool_name FROM transcript_entries"),
    ("export", SESSION, "-f", "markdown"),
    ("export", SESSION, "-f", "html"),
    ("export", SESSION, "-f", "json"),
    ("export", SESSION, "-f", "jsonl"),
    ("export", SESSION, "-f", "atif"),
    ("prune", "--older-than", "0d"),
    ("sync", "--stop-all"),
)
ERRORS = (
    ("show", HOSTILE.replace("\0", "")),
    ("resume", HOSTILE.replace("\0", "")),
    ("search", '"' + HOSTILE.replace("\0", "")),
    ("sql", HOSTILE.replace("\0", "")),
    (HOSTILE.replace("\0", ""),),
    ("list", "--agent", HOSTILE.replace("\0", "")),
    ("list", "--since", HOSTILE.replace("\0", "")),
    ("export", SESSION, "-f", HOSTILE.replace("\0", "")),
    ("inbox", HOSTILE.replace("\0", "")),
    ("--config", HOSTILE.replace("\0", "").replace("/", ""), "list"),
)


@pytest.fixture(scope="module")
def leslied(tmp_path_factory: pytest.TempPathFactory) -> LesliedRunner:
    """Sync two sessions with hostile text in every field."""
    home = tmp_path_factory.mktemp("home")
    project = home / HOSTILE.translate({0: None, ord("/"): None})[:200]
    project.mkdir()
    subprocess.run(["git", "init", "-q", str(project)], check=True)
    command = LesliedRunner(home)
    command("sync")
    for session_id in (SESSION, OTHER_SESSION):
        _write_session(home, session_id, str(project))
    thread = project / ".leslie/threads" / THREAD
    thread.mkdir(parents=True)
    (thread / "plan.md").write_text(f"# {HOSTILE}\n")
    (thread / "progress.md").write_text(f"# Progress\n- [ ] {HOSTILE}\n")
    command("sync", "--stop-all")
    command("inject", THREAD, HOSTILE.replace("\0", ""))
    return command


def _write_session(home: Path, session_id: str, cwd: str) -> None:
    builder = ClaudeLogBuilder(
        session_id,
        cwd=cwd,
        started_at=AFTER_STORE_CREATION,
        first_number=1 if session_id == SESSION else 1000,
    )
    folder = home / ".claude/projects/-p"
    folder.mkdir(parents=True, exist_ok=True)
    task = {"description": HOSTILE, "prompt": HOSTILE, "subagent_type": HOSTILE}
    edit = {"file_path": HOSTILE, "old_string": HOSTILE, "new_string": f"x{HOSTILE}"}
    todos = [{"content": HOSTILE, "status": "pending", "activeForm": HOSTILE}]
    error = builder.result("t2", HOSTILE)
    error["message"]["content"][0]["is_error"] = True
    lines = [
        builder.line("ai-title", aiTitle=HOSTILE),
        builder.prompt(f"findme {HOSTILE} {session_id}"),
        builder.think(HOSTILE, model=HOSTILE),
        builder.answer(f"# {HOSTILE}\n\n`{HOSTILE}`\n\n```{HOSTILE}\n{HOSTILE}\n```"),
        builder.call(HOSTILE, {HOSTILE: HOSTILE, "command": HOSTILE}, "t1"),
        builder.result("t1", HOSTILE),
        builder.call("Edit", edit, "t2"),
        error,
        builder.call("Task", task, "t3"),
        builder.result("t3", HOSTILE, toolUseResult={"agentId": HOSTILE}),
        builder.call("TodoWrite", {"todos": todos}, "t4"),
        builder.result("t4", "done"),
        builder.line("summary", summary=HOSTILE),
        builder.answer(HOSTILE, model=HOSTILE),
    ]
    text = "".join(json.dumps(line) + "\n" for line in lines)
    (folder / f"{session_id}.jsonl").write_text(text)


def find_acting_characters(output: str) -> list[str]:
    """Return the characters in the output that a terminal obeys or hides."""
    text = OWN_SEQUENCES.sub("", output)
    # A control character is replaced by its name, so the text changes.
    return [c for c in text if replace_control_characters(c) != c]


@pytest.mark.parametrize("pager", ["", "cat -u"], ids=["no pager", "pager"])
@pytest.mark.parametrize("args", COMMANDS, ids=" ".join)
def test_a_command_prints_no_character_that_acts(
    leslied: LesliedRunner, args: tuple[str, ...], pager: str
):
    output = run_at_terminal(leslied, *args, columns=900, LESLIED_PAGER=pager)

    assert "Traceback" not in output
    assert find_acting_characters(output) == []


@pytest.mark.parametrize("args", ERRORS, ids=range(len(ERRORS)))
def test_an_error_message_prints_no_character_that_acts(
    leslied: LesliedRunner, args: tuple[str, ...]
):
    output = run_at_terminal(leslied, *args)

    assert "Traceback" not in output
    assert find_acting_characters(output) == []


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
@pytest.mark.parametrize("words", ["leslied show ", "leslied list --project "])
def test_a_completion_prints_no_character_that_acts(
    leslied: LesliedRunner, shell: str, words: str
):
    environ = {
        "_LESLIED_COMPLETE": f"{shell}_complete",
        "COMP_WORDS": words,
        "COMP_CWORD": "" if shell == "fish" else str(words.count(" ")),
    }

    output = run_at_terminal(leslied, **environ)

    assert find_acting_characters(output) == []


def test_no_file_that_leslied_writes_has_a_character_that_acts(
    leslied: LesliedRunner, tmp_path: Path
):
    for name in FORMATS:
        leslied("export", SESSION, "-f", name, "-o", f"{tmp_path}/{name}/")
    (project,) = [path for path in leslied.home.iterdir() if (path / ".git").exists()]
    leslied("projects", "link", str(project / "old"), str(project))

    files = [
        path
        for folder in (tmp_path, project / ".leslie", leslied.home / ".local")
        for path in folder.rglob("*")
        if path.suffix in (".txt", ".json", ".jsonl", ".md", ".html")
        and path.parent.name != THREAD  # its assets are the agent's own
    ]

    texts = {path: path.read_bytes().decode() for path in files}
    names = {path.name for path in files}
    assert {"INDEX.md", "index.json", "assets.json", "progress.md"} <= names
    assert len(files) > 12
    assert {p: c for p, t in texts.items() if (c := find_acting_characters(t))} == {}


def test_the_status_line_prints_no_character_that_acts(leslied: LesliedRunner):
    payload = {"session_id": SESSION, "model": {"display_name": HOSTILE}}
    process = leslied.start("statusline", stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    output, _ = process.communicate(json.dumps(payload).encode())

    assert output.count(b"\n") == 1
    assert find_acting_characters(output.decode()) == []
