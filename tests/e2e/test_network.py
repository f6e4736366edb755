"""leslied uses no network: only the page, if the user asks for it, opens a socket."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from leslied.cli import SECTIONS
from tests.support.claude import ClaudeHome, ClaudeLogBuilder
from tests.support.cli import LesliedRunner
from tests.support.daemon import get_store_path, list_prompts
from tests.support.waiting import MAX_WAIT_SECONDS, wait_until
from tests.support.web import serve_page

pytestmark = pytest.mark.e2e

RECORDER = """\
import os, sys

def record(event, args):
    if event.startswith("socket."):
        details = [arg for arg in args if isinstance(arg, (str, bytes, int, tuple))]
        fd = os.open(os.environ["SOCKET_LOG"], os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        os.write(fd, f"{event} {details}\\n".encode())
        os.close(fd)

sys.addaudithook(record)
"""
"""A module that Python loads at its start; it writes every use of sockets to a file."""
COMMANDS = [
    ("sync", "--stop-all"),
    *(("list",), ("show", "last"), ("search", "one"), ("follow", "--once")),
    *(("diff", "last", "last"), ("replay", "last"), ("stats",), ("projects",)),
    *(("sql", "SELECT 1"), ("statusline",), ("export", "last", "-f", "html")),
    *(("export", "last", "-f", "atif", "-o", "last.json"), ("import", "last.json")),
    *(("bundle", "-o", "bundle.zip"), ("threads",), ("assets", "last")),
    *(("context", "last"), ("resume", "last"), ("inject", "last", "hi")),
    *(("inbox",), ("init", "--yes"), ("hooks", "install"), ("hooks", "status")),
    *(("service", "status"), ("pause",), ("unpause",), ("demo", "--fast")),
    *(("status",), ("agents",), ("doctor",), ("secrets", "scan"), ("disk",)),
    *(("secrets", "clean"), ("mark", "last", "--star"), ("forget", "last")),
    *(("prune", "--older-than", "1d"), ("rebuild",), ("config",)),
    *(("completion", "bash"), ("help",), ("web", "--logout"), ("files",)),
]
"""Every command but the daemon; of `leslied web`, what needs no server."""


class RecordedRunner(LesliedRunner):
    """Run `leslied` and record its use of sockets."""

    def __init__(self, home: Path, cwd: Path) -> None:
        super().__init__(home, cwd)
        recorder = home.parent / "recorder"
        recorder.mkdir()
        (recorder / "sitecustomize.py").write_text(RECORDER)
        self.log = home.parent / "sockets.log"
        self.environ["SOCKET_LOG"] = str(self.log)
        self.environ["PYTHONPATH"] += os.pathsep + str(recorder)

    def socket_calls(self) -> list[str]:
        return self.log.read_text().splitlines() if self.log.exists() else []


@pytest.fixture
def recorded_leslied(home: Path, project: Path, claude: ClaudeHome) -> RecordedRunner:
    builder = ClaudeLogBuilder(cwd=str(project))
    claude.write(builder.prompt("one"), builder.answer("two"))
    return RecordedRunner(home, project)


@pytest.fixture
def manager_socket(tmp_path: Path) -> Iterator[socket.socket]:
    """Listen as a service manager does."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as server:
        server.bind(str(tmp_path / "notify"))
        yield server


def list_sockets(pid: int) -> list[str]:
    """Return the sockets that a process has open, as Linux names them."""
    targets = []
    for fd in Path(f"/proc/{pid}/fd").iterdir():
        with suppress(FileNotFoundError):  # It was closed meanwhile.
            targets.append(str(fd.readlink()))
    return [target for target in targets if target.startswith("socket:")]


@pytest.mark.threat("S9")
def test_the_list_of_commands_is_complete():
    names = {name for section in SECTIONS.values() for name in section}

    assert {command[0] for command in COMMANDS} == names - {"run"}
    # Plain `leslied web` would start a server.
    assert ("web", "--logout") in COMMANDS


@pytest.mark.heavy
@pytest.mark.threat("S9", "W4")
def test_no_command_opens_a_socket(recorded_leslied: RecordedRunner):
    for command in COMMANDS:
        result = recorded_leslied(*command)

        # A machine may have no service manager, or something to warn about.
        assert result.code == 0 or command[0] in ("service", "doctor"), command
        assert "Traceback" not in result.err, command
        assert recorded_leslied.socket_calls() == [], command


@pytest.mark.threat("S9", "W4")
def test_the_page_only_listens_on_the_loopback_interface(
    recorded_leslied: RecordedRunner,
):
    recorded_leslied("sync", "--stop-all")
    with serve_page(recorded_leslied) as server:
        server.get("/sessions")

    calls = recorded_leslied.socket_calls()
    names = {call.split(" ", 1)[0] for call in calls}
    assert [call for call in calls if call.startswith("socket.bind")] == [
        "socket.bind [('127.0.0.1', 0)]"
    ]
    assert names == {"socket.__new__", "socket.bind"}


@pytest.mark.threat("S9")
def test_no_library_opens_an_internet_socket(
    recorded_leslied: RecordedRunner, tmp_path: Path
):
    """Compiled code opens sockets that Python does not see, but strace does."""
    if not shutil.which("strace"):
        pytest.skip("strace is not installed")
    trace = tmp_path / "trace"
    command = ["strace", "-f", "-e", "trace=socket", "-o", str(trace)]
    leslied = [sys.executable, "-m", "leslied", "sync", "--stop-all"]

    subprocess.run(
        [*command, *leslied],
        env=recorded_leslied.environ,
        check=True,
        capture_output=True,
    )

    assert "exited with 0" in trace.read_text()
    assert "AF_INET" not in trace.read_text()


def test_the_recorder_reports_the_use_of_a_socket(recorded_leslied: RecordedRunner):
    """Check that the other tests can fail."""
    recorded_leslied.environ["PYTHONPATH"] = recorded_leslied.environ[
        "PYTHONPATH"
    ].split(":")[-1]
    code = "import socket; socket.socket().bind(('127.0.0.1', 0))"
    os.spawnve(
        os.P_WAIT, sys.executable, ["python", "-c", code], recorded_leslied.environ
    )

    assert [call.split()[0] for call in recorded_leslied.socket_calls()] == [
        "socket.__new__",
        "socket.bind",
    ]


@pytest.mark.threat("S9", "W4")
def test_the_daemon_notifies_the_service_manager_and_nobody_else(
    recorded_leslied: RecordedRunner, manager_socket: socket.socket, claude: ClaudeHome
):
    address = manager_socket.getsockname()
    daemon = recorded_leslied.start("run", environ={"NOTIFY_SOCKET": address})
    try:
        wait_until(lambda: "one" in list_prompts(get_store_path(recorded_leslied.home)))
        claude.write(ClaudeLogBuilder().prompt("more"), name="-p/other.jsonl")
        wait_until(
            lambda: "more" in list_prompts(get_store_path(recorded_leslied.home))
        )
        open_sockets = list_sockets(daemon.pid) if sys.platform == "linux" else []
    finally:
        daemon.send_signal(signal.SIGTERM)
        daemon.wait(timeout=MAX_WAIT_SECONDS)

    calls = {call.split(" ", 1)[0] for call in recorded_leslied.socket_calls()}
    assert open_sockets == []
    assert calls == {"socket.__new__", "socket.connect"}
    assert {
        call
        for call in recorded_leslied.socket_calls()
        if call.startswith("socket.connect")
    } == {f"socket.connect [{os.fsencode(address)!r}]"}
