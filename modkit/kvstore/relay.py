"""A relay to JAX's coordinator, which keeps the client's connection where the coordinator ends.

JAX's client aborts the process when it loses the coordinator, before the watch can name worker 0.
"""

from __future__ import annotations

import contextlib
import selectors
import socket
import threading
import time

_PAUSE_S = 0.05


class Relay:
    """Connections of this process to an address, by way of a port of this machine.

    Attributes:
        address: where the client connects, ``host:port``.
    """

    def __init__(self, host: str, port: int):
        self._holds, self._held = True, list[socket.socket]()
        self._to = host, port
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self._listener.getsockname()[1]}"
        self._ready = selectors.DefaultSelector()
        self._ready.register(self._listener, selectors.EVENT_READ)
        threading.Thread(target=self._run, name="modkit-relay", daemon=True).start()

    def release(self) -> None:
        """Close connections that were kept, and keep none from now on: the coordinator may end."""
        self._holds = False
        for client in self._held:
            _shut(client)

    def _run(self) -> None:
        while True:
            for key, _ in self._ready.select():
                if key.fileobj is self._listener:
                    self._accept()
                else:
                    self._pass(key.fileobj, *key.data)  # type: ignore[arg-type]

    def _accept(self) -> None:
        """Connect a new client to the coordinator; if that fails it is closed, and tries again."""
        with contextlib.ExitStack() as opened, contextlib.suppress(OSError):
            try:
                client = opened.enter_context(self._listener.accept()[0])
            except OSError:  # no descriptor is left, perhaps: the client stays in the queue
                time.sleep(_PAUSE_S)
                return
            server = opened.enter_context(socket.create_connection(self._to, 5.0))
            server.settimeout(None)
            for own, other in ((client, server), (server, client)):
                own.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                self._ready.register(own, selectors.EVENT_READ, (other, own is server))
                opened.callback(self._ready.unregister, own)
            opened.pop_all()

    def _pass(self, own: socket.socket, other: socket.socket, of_server: bool) -> None:
        content = b""
        with contextlib.suppress(OSError):
            content = own.recv(1 << 16)
            other.sendall(content)
        if content:
            return
        self._ready.unregister(own)
        own.close()
        if of_server:
            # Append before reading `_holds`: `release` writes it before iterating.
            self._held.append(other)
        if not (of_server and self._holds):
            _shut(other)


def _shut(link: socket.socket) -> None:
    with contextlib.suppress(OSError):
        link.shutdown(socket.SHUT_RDWR)
