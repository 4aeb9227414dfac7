"""A way to a server on which connections are cut in the middle of what they carry."""

import select
import socket
import threading
from contextlib import suppress


class CuttingProxy:
    """Listens on a port of its own; ``cut`` ends every connection that is open at that moment."""

    def __init__(self, port: int):
        self._target = port
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._open: set[socket.socket] = set()
        self._lock = threading.Lock()
        self.cuts = 0
        self._thread = threading.Thread(target=self._accept)

    @property
    def port(self) -> int:
        return int(self._listener.getsockname()[1])

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self.cut()
        self._thread.join()

    def cut(self) -> None:
        """Break off all open connections."""
        with self._lock:
            for each in [*self._open]:
                with suppress(OSError):
                    each.shutdown(socket.SHUT_RDWR)
                self.cuts += 1

    def _accept(self) -> None:
        carriers = []
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                break
            carrier = threading.Thread(target=self._carry, args=(client,))
            carrier.start()
            carriers = [each for each in carriers if each.is_alive()] + [carrier]
        for each in carriers:
            each.join()

    def _carry(self, client: socket.socket) -> None:
        with client:
            try:
                server = socket.create_connection(("127.0.0.1", self._target), timeout=60)
            except OSError:
                return
            with server:
                with self._lock:
                    self._open.add(client)
                with suppress(OSError):
                    self._shovel(client, server)
                with self._lock:
                    self._open.discard(client)

    @staticmethod
    def _shovel(one: socket.socket, other: socket.socket) -> None:
        across = {one: other, other: one}
        while True:
            for ready in select.select([one, other], [], [])[0]:
                data = ready.recv(65536)
                if not data:
                    return
                across[ready].sendall(data)
