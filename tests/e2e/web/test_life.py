"""The life of the server: alone, and inside of the daemon."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from leslied.web.listener import open_socket
from tests.support.claude import ClaudeHome
from tests.support.cli import LesliedRunner
from tests.support.pages import write_sample_session
from tests.support.waiting import MAX_WAIT_SECONDS, wait_until
from tests.support.web import WebServer, serve_page

pytestmark = pytest.mark.e2e
needs_proc = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")


@pytest.fixture
def synced_leslied(leslied: LesliedRunner, claude: ClaudeHome) -> LesliedRunner:
    write_sample_session(claude)
    assert leslied("sync", "--stop-all").code == 0
    return leslied


def find_free_port() -> int:
    with open_socket(0) as listener:
        port: int = listener.getsockname()[1]
        return port


def enable_page(home: Path) -> int:
    """Let the daemon serve the page; return its port."""
    port = find_free_port()
    config = home / ".config/leslied/config.toml"
    config.parent.mkdir(parents=True, exist_ok=True)
    config.write_text(f"[web]\nenabled = true\nport = {port}\n")
    return port


def can_connect(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port)).close()
    except OSError:
        return False
    return True


def find_link(text: str) -> str:
    return next(line.strip() for line in text.split("\n") if "/login?code=" in line)


def list_children(pid: int) -> list[int]:
    threads = Path(f"/proc/{pid}/task").iterdir()
    text = " ".join((thread / "children").read_text() for thread in threads)
    return [int(child) for child in text.split()]


@contextmanager
def run_daemon(leslied: LesliedRunner, port: int) -> Iterator[subprocess.Popen[str]]:
    """Run the daemon until the block ends, and wait until it listens."""
    daemon = leslied.start("run", "--log-json", stderr=subprocess.PIPE, text=True)
    try:
        address = f"0100007F:{port:04X}"
        wait_until(lambda: address in Path("/proc/net/tcp").read_text())
        yield daemon
    finally:
        daemon.terminate()
        daemon.communicate(timeout=MAX_WAIT_SECONDS)


def open_stream(server: WebServer) -> socket.socket:
    """Listen to the events as an open page does."""
    client = socket.create_connection(("127.0.0.1", server.port))
    client.settimeout(MAX_WAIT_SECONDS)
    request = (
        f"GET /api/events HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\n"
        f"Cookie: {server.cookie}\r\n\r\n"
    )
    client.sendall(request.encode())
    assert b" 200 " in client.recv(65536)
    return client


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_the_server_ends_at_once_also_with_an_open_page(
    synced_leslied: LesliedRunner, number: signal.Signals
):
    """The link is printed at once, although the output is a pipe."""
    process = synced_leslied.start(
        "web",
        "--port",
        "0",
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout
    link = find_link("".join(process.stdout.readline() for _ in range(3)))
    server = WebServer(link)
    server.log_in()
    with open_stream(server) as stream:
        process.send_signal(number)
        while stream.recv(65536):
            pass
        _, errors = process.communicate(timeout=MAX_WAIT_SECONDS)

    assert (process.returncode, errors) == (0, "")


def test_pages_that_vanish_do_not_stop_the_server(synced_leslied: LesliedRunner):
    with serve_page(synced_leslied) as server:
        for _ in range(20):
            open_stream(server).close()

        assert server.get("/status")


def test_logging_out_ends_the_login_of_a_running_server(synced_leslied: LesliedRunner):
    with serve_page(synced_leslied) as server:
        before = server.request("GET", "/api/status").status
        synced_leslied("web", "--logout")

        assert (before, server.request("GET", "/api/status").status) == (200, 401)


def test_a_second_command_prints_a_link_to_the_first_server(
    synced_leslied: LesliedRunner,
):
    with serve_page(synced_leslied) as server:
        result = synced_leslied("web")
        other = WebServer(find_link(result.out))
        other.log_in()

        assert (result.code, other.port) == (0, server.port)
        assert other.cookie


def test_a_foreign_program_on_the_port_is_an_error_with_a_next_step(
    synced_leslied: LesliedRunner,
):
    program = [sys.executable, "-m", "http.server", "--bind", "127.0.0.1"]
    port = find_free_port()
    process = subprocess.Popen(
        [*program, str(port)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        wait_until(lambda: can_connect(port))
        result = synced_leslied("web", "--port", str(port))
    finally:
        process.terminate()
        process.wait()

    assert result.code == 2
    assert "--port" in result.err
    assert "code=" not in result.out


@needs_proc
@pytest.mark.threat("W4")
def test_the_daemon_serves_the_page_from_a_process_that_ends_with_it(
    synced_leslied: LesliedRunner, home: Path
):
    port = enable_page(home)
    with run_daemon(synced_leslied, port) as daemon:
        before = list_children(daemon.pid)
        server = WebServer(find_link(synced_leslied("web").out))
        server.log_in()
        children = list_children(daemon.pid)
        running = server.get("/status")["daemon"]["running"]
        with open_stream(server):
            daemon.terminate()
            daemon.communicate(timeout=MAX_WAIT_SECONDS)

    assert (before, len(children), server.port, running) == ([], 1, port, True)
    assert daemon.returncode == 0
    assert not Path(f"/proc/{children[0]}").exists()
    assert not can_connect(port)


@needs_proc
def test_a_process_that_was_killed_is_started_again(
    synced_leslied: LesliedRunner, home: Path
):
    port = enable_page(home)
    with run_daemon(synced_leslied, port) as daemon:
        server = WebServer(find_link(synced_leslied("web").out))
        server.log_in()
        (first,) = list_children(daemon.pid)
        os.kill(first, signal.SIGKILL)
        wait_until(lambda: first not in list_children(daemon.pid))

        assert server.get("/status")
        assert list_children(daemon.pid) != [first]


@needs_proc
def test_the_process_ends_after_the_daemon_was_killed(
    synced_leslied: LesliedRunner, home: Path
):
    port = enable_page(home)
    with run_daemon(synced_leslied, port) as daemon:
        server = WebServer(find_link(synced_leslied("web").out))
        server.log_in()
        daemon.kill()
        daemon.wait()

        wait_until(lambda: not can_connect(port))


@needs_proc
@pytest.mark.threat("S9", "W4")
def test_the_daemon_stops_listening_when_the_setting_is_removed(
    synced_leslied: LesliedRunner, home: Path
):
    config = home / ".config/leslied/config.toml"
    port = enable_page(home)
    with run_daemon(synced_leslied, port) as daemon:
        config.write_text(f"[web]\nenabled = false\nport = {port}\n")
        daemon.send_signal(signal.SIGHUP)

        wait_until(lambda: not can_connect(port))
        assert daemon.poll() is None
