"""The hook program: quick, silent, and never in the way."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from leslied.hooks import respond
from leslied.hooks.settings import PROGRAM, make_command
from leslied.mini_json import dumps, loads
from leslied.model.machine_prompts import MACHINE_PROMPT_PREFIXES
from leslied.threads.relations import encode_relations, make_empty_relations
from tests.support.hooks import HookedSession, run_program
from tests.support.waiting import PATIENCE_SECONDS

ROOT = Path(__file__).resolve().parents[3]
HEAVY = {
    *("typing", "dataclasses", "pathlib", "inspect", "hashlib", "subprocess"),
    *("re", "json", "enum", "collections", "functools", "contextlib"),
}
"""What no hook may load: each costs milliseconds at every prompt."""


@pytest.fixture
def session(tmp_path: Path) -> HookedSession:
    return HookedSession(tmp_path)


def test_it_answers_on_standard_output(session: HookedSession):
    told = json.dumps(session.event("SessionStart", source="startup")).encode()

    done = run_program(told, str(session.data))

    out = json.loads(done.stdout)["hookSpecificOutput"]
    assert out["hookEventName"] == "SessionStart"
    assert "<thread_context" in out["additionalContext"]
    assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.parametrize(
    "told",
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
def test_nonsense_is_answered_with_nothing(session: HookedSession, told: bytes):
    done = run_program(told, str(session.data))

    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def test_without_words_or_folder_it_leaves_quietly(session: HookedSession):
    told = json.dumps(session.event("Stop")).encode()
    session.data.write_text("no folder")

    for words in ((), (str(session.data),), ("/proc/nowhere",), ("relative",)):
        done = run_program(told, *words, cwd=session.project)
        assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    assert [path.name for path in session.project.iterdir()] == [".git"]


@pytest.mark.parametrize("name", ["SessionStart", "UserPromptSubmit", "Stop"])
def test_a_full_disk_is_no_reason_to_fail(session: HookedSession, name: str):
    """RLIMIT_FSIZE: every write fails, as on a full disk."""
    told = json.dumps(session.event(name, prompt="go", source="startup")).encode()

    def fill() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))

    done = run_program(told, str(session.data), preexec_fn=fill)

    assert (done.returncode, done.stderr) == (0, b"")
    assert (b"<thread_context" in done.stdout) == (name != "Stop")
    assert not [p for p in session.data.rglob("*") if p.is_file()]


def test_who_never_stops_talking_is_left(session: HookedSession):
    """A watchdog ends the program; nobody waits for an agent's pipe."""
    read, write = os.pipe()
    try:
        done = subprocess.run(
            [sys.executable, "-I", "-S", str(PROGRAM), str(session.data)],
            stdin=read,
            capture_output=True,
            check=False,
            timeout=PATIENCE_SECONDS,
        )
    finally:
        os.close(read)
        os.close(write)

    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def test_closed_streams_are_no_reason_to_fail(session: HookedSession):
    done = subprocess.run(
        ["/bin/sh", "-c", make_command(sys.executable, "/x", "file") + " <&- >&-"],
        capture_output=True,
        check=False,
        timeout=PATIENCE_SECONDS,
    )

    assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.parametrize(
    ("old", "new"), [(sys.executable, "/gone/python"), ("program.py", "gone.py")]
)
def test_the_command_is_harmless_when_leslied_is_gone(old: str, new: str):
    command = make_command(sys.executable, "/x", "file").replace(old, new)

    done = subprocess.run(["/bin/sh", "-c", command], capture_output=True, check=False)

    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def find_loaded(session: HookedSession) -> set[str]:
    """The modules that answering a prompt needs."""
    code = (
        "import sys; sys.path.append(sys.argv[1])\n"
        "import leslied.hooks.respond as a, os\n"
        "a.respond(sys.argv[2], os.read(0, 65536), 1)\n"
        "print(*sys.modules)"
    )
    told = json.dumps(session.event("UserPromptSubmit", prompt="go")).encode()
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", code, str(ROOT), str(session.data)],
        input=told,
        capture_output=True,
        check=True,
    )
    return set(done.stdout.decode().split())


def test_nothing_heavy_is_loaded(session: HookedSession):
    relations = session.project / ".leslie" / "thread_relations.json"
    relations.parent.mkdir()
    relations.write_bytes(encode_relations(make_empty_relations()))

    loaded = find_loaded(session)

    assert "leslied.threads.relations" in loaded
    assert not HEAVY & loaded


def test_the_context_is_rendered_once_per_prompt(
    session: HookedSession, monkeypatch: pytest.MonkeyPatch
):
    calls: list[str] = []

    def render(project: str, thread: str) -> str:
        calls.append(thread)
        return f"<thread_context thread={thread!r}/>"

    monkeypatch.setattr(respond, "render_context", render)
    event = session.event("UserPromptSubmit", prompt="go")

    respond.respond(str(session.data), json.dumps(event).encode(), 1)

    assert len(calls) == 1


@pytest.mark.parametrize("prefix", MACHINE_PROMPT_PREFIXES)
def test_a_prompt_that_no_person_wrote_gets_no_context(
    session: HookedSession, prefix: str
):
    event = session.event("UserPromptSubmit", prompt=f"{prefix} something")

    out = respond.respond(str(session.data), json.dumps(event).encode(), 1)

    assert out == b""


def test_what_is_written_is_private(session: HookedSession):
    before = os.umask(0)
    try:
        session.call_hook("SessionStart", source="startup")
        session.call_hook("Stop")
        session.queue_message("x")
    finally:
        os.umask(before)

    modes = {oct(p.stat().st_mode & 0o777) for p in session.data.rglob("*")}
    assert modes == {"0o700", "0o600"}


@pytest.mark.parametrize(
    "text", ['{"a": [1, 2.5, null, true, "é\\u00e9\\ud83d\\ude00"]}', " {} ", "NaN"]
)
def test_json_is_read_as_json_reads_it(text: str):
    assert repr(loads(text.encode())) == repr(json.loads(text))


@pytest.mark.parametrize("text", ["", "{", "{} x", '{"a":}', "nope", '{"a": "\n"}'])
def test_what_is_no_json_is_a_value_error(text: str):
    with pytest.raises(ValueError):  # noqa: PT011 - whatever kind of it
        loads(text.encode())


def test_json_is_written_as_json_reads_it():
    value = {"a": 'x"\n\\é\0', "b": True, "c": {"d": ""}}

    assert json.loads(dumps(value)) == value
