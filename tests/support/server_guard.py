"""Run a server and end it when the process that started this one is gone, so that no server outlives a test.

A separate program without the rest of leftoff: ``FOLDER USER COMMAND…``, where USER is a number or ``-``. Standard input is a
pipe; when it closes, the server is stopped and its folder removed. SIGUSR1 kills the server like a crash and leaves the folder.
"""

from __future__ import annotations

import os
import select
import shutil
import signal
import subprocess
import sys
from contextlib import suppress
from typing import Any

_POLL_SECONDS = 0.2
_STOP_SECONDS = 60.0


def main() -> int:
    """Return the exit code of the server if it ended without us."""
    folder, user, *command = sys.argv[1:]
    other: dict[str, Any] = {} if user == "-" else {"user": int(user), "group": int(user), "extra_groups": []}
    server = subprocess.Popen(command, stdin=subprocess.DEVNULL, **other)
    signal.signal(signal.SIGUSR1, lambda *_: _kill(server))
    while server.poll() is None:
        ready, _, _ = select.select([sys.stdin.fileno()], [], [], _POLL_SECONDS)
        if ready and not os.read(sys.stdin.fileno(), 1):
            _stop(server)
            shutil.rmtree(folder, ignore_errors=True)
            return 0
    return server.returncode & 0xFF


def _kill(server: subprocess.Popen[bytes]) -> None:
    server.kill()
    server.wait()  # else its port would still be in use when it is started again
    os._exit(0)


def _stop(server: subprocess.Popen[bytes]) -> None:
    server.send_signal(signal.SIGQUIT)  # an immediate shutdown that still frees its shared memory
    with suppress(subprocess.TimeoutExpired):
        server.wait(timeout=_STOP_SECONDS)
    server.kill()
    server.wait()


if __name__ == "__main__":
    sys.exit(main())
