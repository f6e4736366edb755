"""The hook program is fast and silent, and never disturbs the agent."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
from pathlib import Path
from types import FrameType

import pytest

from leslied.hooks import respond
from leslied.hooks.settings import PROGRAM, make_command
from leslied.layout import thread_folder
from leslied.model.machine_prompts import MACHINE_PROMPT_PREFIXES
from leslied.threads.operations import add_reference, upsert_threads
from leslied.threads.relations import encode_relations, make_empty_relations
from tests.support.claude import ClaudeLogBuilder
from tests.support.hooks import THREAD, HookedSession, run_program
from tests.support.waiting import MAX_WAIT_SECONDS
from tests.unit.threads.test_relations import NOW, make_thread

SLOW_MODULES = {
    *("typing", "dataclasses", "pathlib", "inspect", "hashlib", "subprocess"),
    *("re", "json", "enum", "collections", "functools", "contextlib", "datetime"),
    *("msgspec", "click", "sqlite3", "logging", "signal", "leslied.paths"),
}
"""Modules that a hook must not load: each takes milliseconds at every prompt."""


@pytest.fixture
def session(tmp_path: Path) -> HookedSession:
    return HookedSession(tmp_path)


def test_the_answer_is_written_to_standard_output(session: HookedSession):
    payload = json.dumps(session.event("SessionStart", source="startup")).encode()

    result = run_program(payload, str(session.data))

    output = json.loads(result.stdout)["hookSpecificOutput"]
    assert output["hookEventName"] == "SessionStart"
    assert "<thread_context" in output["additionalContext"]
    assert (result.returncode, result.stderr) == (0, b"")


@pytest.mark.threat("X2")
@pytest.mark.parametrize(
    "payload",
    [
        b"",
        b"\xff\xfe",
        b"{",
        b"[]",
        b"null",
        b"{}",
        b"[" * 100_000,
        b'{"hook_event_name": 1}',
        b'{"hook_event_name": "SessionStart"}',
        b'{"hook_event_name": "Stop", "session_id": {}, "cwd": []}',
        b'{"hook_event_name": "UserPromptSubmit", "session_id": "\\u0000/../x"}',
        b'{"hook_event_name": "Novel", "session_id": "x", "cwd": "/"}',
        b'{"hook_event_name": "SessionStart", "session_id": "x", "cwd": "\\ud800"}',
    ],
    ids=range(13),
)
def test_an_invalid_event_gets_no_answer(session: HookedSession, payload: bytes):
    result = run_program(payload, str(session.data))

    assert (result.returncode, result.stdout, result.stderr) == (0, b"", b"")


@pytest.mark.threat("X2")
def test_without_a_usable_data_folder_the_program_exits_silently(
    session: HookedSession,
):
    payload = json.dumps(session.event("Stop")).encode()
    session.data.write_text("no folder")

    for arguments in ((), (str(session.data),), ("/proc/nowhere",), ("relative",)):
        result = run_program(payload, *arguments, cwd=session.project)
        assert (result.returncode, result.stdout, result.stderr) == (0, b"", b"")
    assert [path.name for path in session.project.iterdir()] == [".git"]


@pytest.mark.threat("X2")
@pytest.mark.parametrize("name", ["SessionStart", "UserPromptSubmit", "Stop"])
def test_the_program_succeeds_on_a_full_disk(session: HookedSession, name: str):
    """RLIMIT_FSIZE: every write fails, as on a full disk."""
    payload = json.dumps(session.event(name, prompt="go", source="startup")).encode()

    def forbid_writing() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))

    result = run_program(payload, str(session.data), preexec_fn=forbid_writing)

    assert (result.returncode, result.stderr) == (0, b"")
    assert (b"<thread_context" in result.stdout) == (name != "Stop")
    assert not [p for p in session.data.rglob("*") if p.is_file()]


@pytest.mark.threat("X2")
def test_the_program_exits_if_its_input_never_ends(session: HookedSession):
    """An alarm ends the program while it waits for the agent's pipe."""
    read_fd, write_fd = os.pipe()
    try:
        result = subprocess.run(
            [sys.executable, "-I", "-S", str(PROGRAM), str(session.data)],
            stdin=read_fd,
            capture_output=True,
            check=False,
            timeout=MAX_WAIT_SECONDS,
        )
    finally:
        os.close(read_fd)
        os.close(write_fd)

    assert (result.returncode, result.stdout, result.stderr) == (0, b"", b"")


@pytest.mark.threat("X2")
@pytest.mark.usefixtures("session")
def test_the_program_succeeds_with_closed_streams():
    result = subprocess.run(
        ["/bin/sh", "-c", make_command(sys.executable, "/x", "file") + " <&- >&-"],
        capture_output=True,
        check=False,
        timeout=MAX_WAIT_SECONDS,
    )

    assert (result.returncode, result.stderr) == (0, b"")


@pytest.mark.threat("X2")
@pytest.mark.parametrize(
    ("old", "new"), [(sys.executable, "/gone/python"), ("program.py", "gone.py")]
)
def test_the_command_is_harmless_after_leslied_was_removed(old: str, new: str):
    command = make_command(sys.executable, "/x", "file").replace(old, new)

    result = subprocess.run(
        ["/bin/sh", "-c", command], capture_output=True, check=False
    )

    assert (result.returncode, result.stdout, result.stderr) == (0, b"", b"")


RUN_AND_LIST_MODULES = """
import os, sys
exit = os._exit
def list_modules(code):
    os.write(1, ("\\n" + " ".join(sys.modules)).encode())
    exit(code)
os._exit = list_modules
program = sys.argv.pop(1)
globals().update(__name__="__main__", __file__=program)
exec(compile(open(program).read(), program, "exec"))
"""
"""Runs the program unchanged, and writes the loaded modules when it exits."""


def run_and_list_modules(session: HookedSession, name: str) -> tuple[str, set[str]]:
    """Run the program for an event; return its answer and the modules it loaded."""
    event = session.event(name, prompt="go on", source="startup", trigger="auto")
    options = ["-I", "-S", "-c", RUN_AND_LIST_MODULES]
    result = subprocess.run(
        [sys.executable, *options, str(PROGRAM), str(session.data)],
        input=json.dumps(event).encode(),
        capture_output=True,
        check=True,
    )
    answer, _, modules = result.stdout.decode().rpartition("\n")
    return answer, set(modules.split())


def add_thread_with_history(session: HookedSession) -> None:
    """Give the session a log, a thread with an asset and a reference, and a message."""
    base = session.project
    data = make_empty_relations()
    threads = [make_thread(THREAD), make_thread("thread-b")]
    upsert_threads(data, threads, NOW)
    add_reference(data, THREAD, "thread-b", "live", NOW)
    for name in (THREAD, "thread-b"):
        (base / thread_folder(name)).mkdir(parents=True)
        (base / thread_folder(name) / "plan.md").write_text("# Plan")
    (base / ".leslie" / "thread_relations.json").write_bytes(encode_relations(data))
    session.write(ClaudeLogBuilder().answer("done"))
    session.queue_message("look at this")


@pytest.mark.threat("X2")
@pytest.mark.parametrize(
    ("name", "answer_part"),
    [
        ("SessionStart", "plan.md"),
        ("UserPromptSubmit", "look at this"),
        ("PreCompact", ""),
        ("Stop", ""),
        ("SessionEnd", ""),
        ("Notification", ""),
    ],
)
def test_no_slow_module_is_loaded(session: HookedSession, name: str, answer_part: str):
    add_thread_with_history(session)

    answer, modules = run_and_list_modules(session, name)

    assert answer_part in answer
    assert bool(answer) == bool(answer_part)
    assert "leslied.threads.context" in modules
    assert not SLOW_MODULES & modules


def test_the_context_is_rendered_once_per_prompt(session: HookedSession):
    event = json.dumps(session.event("UserPromptSubmit", prompt="go")).encode()
    calls: list[str] = []

    def record_call(frame: FrameType, kind: str, _: object) -> None:
        if kind == "call":
            calls.append(frame.f_code.co_name)

    sys.setprofile(record_call)
    try:
        answer = respond.respond(str(session.data), event, 1)
    finally:
        sys.setprofile(None)

    assert b"<thread_context" in answer
    assert calls.count("render_context") == 1


@pytest.mark.parametrize("prefix", MACHINE_PROMPT_PREFIXES)
def test_a_machine_prompt_gets_no_context(session: HookedSession, prefix: str):
    event = session.event("UserPromptSubmit", prompt=f"{prefix} something")

    answer = respond.respond(str(session.data), json.dumps(event).encode(), 1)

    assert answer == b""


@pytest.mark.threat("S7")
def test_all_files_are_private(session: HookedSession):
    old_umask = os.umask(0)
    try:
        session.call_hook("SessionStart", source="startup")
        session.call_hook("Stop")
        session.queue_message("x")
    finally:
        os.umask(old_umask)

    modes = {oct(p.stat().st_mode & 0o777) for p in session.data.rglob("*")}
    assert modes == {"0o700", "0o600"}
