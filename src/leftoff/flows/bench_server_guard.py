"""Starts a server and ends it when whoever started us is gone, however that came about: no server outlives a measure or a test.

A program of its own, without the rest of leftoff: ``FOLDER USER COMMAND…``, where USER is a number or ``-``. Standard input is a pipe
that nobody writes to; at its end the server is asked to stop, and its folder is taken away. SIGUSR1 kills the server as a crash
would, and leaves the folder.
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

_LOOK_SECONDS = 0.2
_PATIENCE_SECONDS = 60.0


def main() -> int:
    """The exit code of the server where it ended by itself."""
    folder, user, *command = sys.argv[1:]
    other: dict[str, Any] = {} if user == "-" else {"user": int(user), "group": int(user), "extra_groups": []}
    server = subprocess.Popen(command, stdin=subprocess.DEVNULL, **other)
    signal.signal(signal.SIGUSR1, lambda *_: _kill(server))
    while server.poll() is None:
        ready, _, _ = select.select([sys.stdin.fileno()], [], [], _LOOK_SECONDS)
        if ready and not os.read(sys.stdin.fileno(), 1):
            _stop(server)
            shutil.rmtree(folder, ignore_errors=True)
            return 0
    return server.returncode & 0xFF


def _kill(server: subprocess.Popen[bytes]) -> None:
    server.kill()
    server.wait()  # else its number would still be taken when it is started again
    os._exit(0)


def _stop(server: subprocess.Popen[bytes]) -> None:
    server.send_signal(signal.SIGQUIT)  # at once, but so that it takes its shared memory along
    with suppress(subprocess.TimeoutExpired):
        server.wait(timeout=_PATIENCE_SECONDS)
    server.kill()
    server.wait()


if __name__ == "__main__":
    sys.exit(main())
