"""Finding the server that already serves a data folder."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from leslied.app import App
from leslied.web.access import Access
from leslied.web.running import find_running_port, is_running, recorded_port


@contextmanager
def serve_answer(make_answer) -> Iterator[int]:
    """Run a server that answers every request with a text; yield its port."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            challenge = self.path.partition("challenge=")[2]
            self.send_response(200)
            self.end_headers()
            port = self.server.server_address[1]
            self.wfile.write(make_answer(port, challenge).encode())

        def log_message(self, *_: object) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server.server_address[1]
        server.shutdown()
        thread.join()


def test_a_server_with_the_key_is_recognised(access: Access):
    with serve_answer(access.make_proof) as port:
        assert is_running(access, port)


@pytest.mark.threat("W3")
@pytest.mark.parametrize("answer", ["", "ok", "x" * 100_000, "\0"])
def test_a_foreign_program_is_not_recognised(access: Access, answer: str):
    with serve_answer(lambda *_: answer) as port:
        assert not is_running(access, port)


@pytest.mark.threat("W3")
def test_a_proof_of_a_server_on_another_port_is_not_accepted(access: Access):
    with serve_answer(lambda _, c: access.make_proof(1, c)) as port:
        assert not is_running(access, port)


def test_a_port_on_which_nothing_listens_is_not_running(access: Access):
    with serve_answer(access.make_proof) as port:
        pass

    assert not is_running(access, port)


def test_the_file_names_the_port_while_the_server_runs(app: App, access: Access):
    file = app.paths.web_port_file
    with serve_answer(access.make_proof) as port:
        with recorded_port(file, port):
            found = find_running_port(access, file)
        after = find_running_port(access, file)

    assert (found, after) == (port, None)
    assert not file.exists()


@pytest.mark.parametrize("text", ["", "x", "0", "-1", "70000", "\xff"])
def test_a_damaged_file_names_no_port(app: App, access: Access, text: str):
    app.paths.web_port_file.write_text(text, "latin-1")

    assert find_running_port(access, app.paths.web_port_file) is None


def test_the_file_of_another_server_stays(app: App):
    file = app.paths.web_port_file
    with recorded_port(file, 1):
        file.write_text("2")

    assert file.read_text() == "2"
