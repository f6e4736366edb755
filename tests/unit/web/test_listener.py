"""The socket on the loopback interface."""

from __future__ import annotations

import socket

import pytest

from leslied.errors import UserError
from leslied.web.listener import PortInUse, adopt_socket, make_link, open_socket


@pytest.mark.threat("W4")
def test_the_socket_listens_on_the_loopback_interface_only():
    with open_socket(0) as listener:
        assert listener.getsockname()[0] == "127.0.0.1"
        assert listener.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN)


def test_small_answers_are_sent_without_delay():
    with open_socket(0) as listener:
        # The loop of asyncio asks for this before it turns off Nagle's algorithm.
        assert listener.proto == socket.IPPROTO_TCP


def test_a_port_in_use_is_an_error_with_a_next_step():
    with open_socket(0) as listener, pytest.raises(PortInUse) as caught:
        open_socket(listener.getsockname()[1])

    assert "--port" in caught.value.hint


def test_without_a_network_the_error_names_the_service(monkeypatch):
    def refuse(**_: int) -> socket.socket:
        raise OSError(97, "Address family not supported by protocol")

    monkeypatch.setattr(socket, "socket", refuse)

    with pytest.raises(UserError, match="Address family not supported") as caught:
        open_socket(0)
    assert "leslied service install" in caught.value.hint


def test_the_daemons_socket_is_adopted():
    with open_socket(0) as listener, adopt_socket(listener.fileno()) as adopted:
        assert adopted.getsockname() == listener.getsockname()
        adopted.detach()


@pytest.mark.threat("W4")
def test_a_socket_for_other_machines_is_not_adopted():
    with socket.socket() as listener:
        listener.bind(("0.0.0.0", 0))
        listener.listen()

        with pytest.raises(UserError, match="not a socket that listens"):
            adopt_socket(listener.detach())


def test_a_descriptor_that_is_no_socket_is_not_adopted(tmp_path):
    with (
        (tmp_path / "file").open("w") as file,
        pytest.raises(UserError, match="not a socket that listens"),
    ):
        adopt_socket(file.fileno())


def test_a_link_names_address_port_and_code():
    assert make_link(7373, "x") == "http://127.0.0.1:7373/login?code=x"
