"""Real certificates, made by ``openssl`` for one test run; and a PostgreSQL server that speaks TLS, by a proxy in front of one."""

import shutil
import socket
import ssl
import struct
import subprocess
import threading
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import pytest

NAME = "logs.example.test"  # clients that verify this name get its address from the test
_SSL_REQUEST = struct.pack("!ii", 8, 80877103)


@dataclass(frozen=True, slots=True, kw_only=True)
class Certificate:
    """A certificate and its key."""

    file: Path
    key: Path


def make(folder, name, *, signed_by=None, hosts=f"DNS:{NAME},IP:127.0.0.1"):
    """Make a certificate that is signed by the given authority, or self-signed."""
    if shutil.which("openssl") is None:
        pytest.skip("there is no openssl here to make certificates with")
    made = Certificate(file=folder / f"{name}.pem", key=folder / f"{name}.key")
    by = () if signed_by is None else ("-CA", str(signed_by.file), "-CAkey", str(signed_by.key))
    kind = "CA:TRUE" if signed_by is None else "CA:FALSE"
    subprocess.run(
        [
            *("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"),
            *("-days", "2", "-subj", f"/CN={name}", "-keyout", str(made.key), "-out", str(made.file), *by),
            *("-addext", f"subjectAltName={hosts}", "-addext", f"basicConstraints=critical,{kind}"),
        ],
        check=True,
        capture_output=True,
        timeout=60,
    )
    return made


class TlsProxy:
    """Takes PostgreSQL's connections encrypted and hands them on to a server on this machine that knows no TLS.

    ``seen`` counts those that got as far as being encrypted, ``plain`` those that were not asked to be.
    """

    def __init__(self, port, certificate):
        self._server_port = port
        self._context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self._context.load_cert_chain(certificate.file, certificate.key)
        self._context.set_alpn_protocols(["postgresql"])
        self.seen = 0
        self.plain = 0
        self._threads = []
        self._sockets = []

    def __enter__(self):
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port = self._listening.getsockname()[1]
        self._start(self._take)
        return self

    def __exit__(self, *_):
        for each in (self._listening, *self._sockets):
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join()
        for each in (self._listening, *self._sockets):
            each.close()

    def _start(self, work, *arguments):
        thread = threading.Thread(target=work, args=arguments)
        self._threads.append(thread)
        thread.start()

    def _take(self):
        while True:
            try:
                client = self._listening.accept()[0]
            except OSError:
                return
            self._sockets.append(client)
            self._start(self._serve, client)

    def _serve(self, client):
        with suppress(OSError):  # ssl.SSLError is one: the client did not like our certificate
            if client.recv(8, socket.MSG_WAITALL) != _SSL_REQUEST:
                self.plain += 1
                client.shutdown(socket.SHUT_RDWR)
                return
            client.sendall(b"S")
            secure = self._context.wrap_socket(client, server_side=True)
            self._sockets.append(secure)
            self.seen += 1
            server = socket.create_connection(("127.0.0.1", self._server_port))
            self._sockets.append(server)
            self._start(self._pump, server, secure)
            self._pump(secure, server)

    def _pump(self, source, sink):
        with suppress(OSError):
            while data := source.recv(65536):
                sink.sendall(data)
        for each in (source, sink):
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
