"""What both local APIs share: a small HTTP server that records every request and sends the answer of a function.

Requests are recorded completely and in order, one file each, before they are answered. An API is a function from path and
body to an `Answer`, called by one thread at a time. The server is started inside a fresh network namespace: it brings
loopback up there, and the port is always free.
"""

import fcntl
import json
import socket
import struct
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

PORT = 8791
LONG_SECONDS = 600  # longer than any client waits; the sandbox ends it with everything else
READY = "ready"
Body = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    kind: str
    """What was answered: reply, summary, proposal, refused, side, count or unknown. Recorded with the request."""
    status: int = 200
    payload: Body = field(default_factory=dict)
    events: list[Body] = field(default_factory=list)
    """Server-sent events; they are sent instead of the payload when there are any."""
    delay_seconds: float = 0


Api = Callable[[str, Body], Answer]


def serve(api: Api, records: Path) -> None:
    """Serve until standard input closes, so that the server ends with the process that started it."""
    bring_loopback_up()
    server = ThreadingHTTPServer(("127.0.0.1", PORT), handler(api, records))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    sys.stdout.write(READY + "\n")
    sys.stdout.flush()
    sys.stdin.read()


def handler(api: Api, records: Path) -> type[BaseHTTPRequestHandler]:
    turn = threading.Lock()
    numbers = iter(range(10**6))

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers.get("Content-Length", 0))) or b"{}")
            path = self.path.partition("?")[0]
            with turn:
                answer = api(path, body)
                record = {"path": path, "kind": answer.kind, "body": body}
                file = records / f"{next(numbers):04}.json"
                file.with_suffix(".part").write_text(json.dumps(record), encoding="utf-8")
                file.with_suffix(".part").rename(file)  # readers see whole records only
            time.sleep(answer.delay_seconds)
            self.send(answer)

        def do_GET(self) -> None:
            # With OpenAI as the provider, Codex asks for a WebSocket; this answer makes it use HTTP at once.
            self.send(Answer(kind="unknown", status=426 if "Upgrade" in self.headers else 404))

        def send(self, answer: Answer) -> None:
            stream = "".join(
                f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in answer.events
            )
            content = (stream or json.dumps(answer.payload)).encode()
            self.send_response(answer.status)
            self.send_header("Content-Type", "text/event-stream" if stream else "application/json")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name is http.server's
            """Log nothing: every request is recorded."""

    return Handler


def bring_loopback_up() -> None:
    """Bring loopback up, which is down in a fresh network namespace; by ioctl, so that `ip` need not be installed."""
    get_flags, set_flags, is_up = 0x8913, 0x8914, 0x1
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        request = struct.pack("16sh14x", b"lo", 0)
        (flags,) = struct.unpack_from("h", fcntl.ioctl(any_socket, get_flags, request), 16)
        fcntl.ioctl(any_socket, set_flags, struct.pack("16sh14x", b"lo", flags | is_up))
