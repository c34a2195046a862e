"""The relay between JAX's client and its coordinator."""

import socket
import threading
import time

import pytest

from modkit.kvstore.relay import Relay


def connected():
    """A relay, and the two ends of a connection through it."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        relay = Relay(*listener.getsockname())
        host, port = relay.address.split(":")
        client = socket.create_connection((host, int(port)), 5)
        server, _ = listener.accept()
    server.settimeout(5)
    return relay, client, server


def test_bytes_pass_both_ways():
    _, client, server = connected()
    with client, server:
        client.sendall(b"x" * 300_000)
        assert server.makefile("rb").read(300_000) == b"x" * 300_000
        server.sendall(b"answer")
        assert client.makefile("rb").read(6) == b"answer"


def test_the_end_of_the_client_reaches_the_server():
    _, client, server = connected()
    with server:
        client.close()
        assert server.recv(1) == b""


def test_the_end_of_the_server_reaches_the_client_after_release():
    relay, client, server = connected()
    with client:
        server.close()
        client.settimeout(0.2)
        with pytest.raises(TimeoutError):
            client.recv(1)
        relay.release()
        client.settimeout(5)
        assert client.recv(1) == b""


def test_a_server_that_is_gone_ends_new_connections():
    relay, client, server = connected()
    with client, server, socket.create_connection(("127.0.0.1", int(relay.address[10:])), 5) as new:
        assert new.recv(1) == b""


@pytest.mark.parametrize("method", ["accept", "setsockopt"])
def test_a_connection_that_cannot_be_made_ends_no_others(method, monkeypatch):
    failures = [OSError("none left")]
    usual = getattr(socket.socket, method)

    def failing(*arguments):
        if failures and threading.current_thread().name == "modkit-relay":
            raise failures.pop()
        return usual(*arguments)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(5)
        address = "127.0.0.1", int(Relay(*listener.getsockname()).address[10:])
        monkeypatch.setattr(socket.socket, method, failing)
        if method == "setsockopt":  # a failing accept leaves the client waiting
            with socket.create_connection(address, 5) as client:
                assert client.recv(1) == b""
            listener.accept()[0].close()
        with socket.create_connection(address, 5) as client:
            server, _ = listener.accept()
            with server:
                client.sendall(b"x")
                assert server.recv(1) == b"x"
    assert not failures


def test_a_failing_accept_is_repeated_with_pauses(monkeypatch):
    """The client stays in the queue, so that the listener is ready again at once."""
    calls, usual = [], socket.socket.accept

    def failing(listener):
        if threading.current_thread().name == "modkit-relay" and time.monotonic() < end_s:
            calls.append(1)
            raise OSError("too many open files")
        return usual(listener)

    with socket.create_server(("127.0.0.1", 0)) as server:
        relay = Relay(*server.getsockname())
        end_s = time.monotonic() + 0.5
        monkeypatch.setattr(socket.socket, "accept", failing)
        with socket.create_connection(("127.0.0.1", int(relay.address[10:])), 5):
            server.settimeout(5)
            server.accept()[0].close()
    assert 1 <= len(calls) <= 20
