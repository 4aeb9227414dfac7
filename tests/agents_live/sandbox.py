"""A sealed place for one agent: scratch HOME, project folder, local API, and no network but its own loopback.

Promises: the client sees only the named environment; it runs in fresh network, process and mount namespaces together with the
local API; leaving the sandbox ends every process started in it, however deep, and removes its files. The client sees its disk
at the same path on every machine, so transcripts can be kept as they are. Where the machine cannot make such namespaces
this is an error, never a silent run without them.
"""

import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Protocol, Self

import chain
from local_api import PORT, READY
from received import Message
from terminal import Terminal

BASE_URL = f"http://127.0.0.1:{PORT}"
RUN_SECONDS = 60
INSIDE = Path("/srv")
"""Where the client sees the sandbox's disk: a folder that every Linux has and nearly none uses."""
SEARCH_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


_FULL = """
set -e
kept=$(mktemp -d)
mkdir -p "$0"
cp -a "$0/." "$kept"
mount -t tmpfs -o "size=$(($(du -sk "$kept" | cut -f1) + 64))k" full "$0"
cp -a "$kept/." "$0"
cat /dev/zero >"$0/.filling" 2>/dev/null || true
if echo more >"$0/.more" 2>/dev/null; then echo "it is not full" >&2; exit 1; fi
"""


class SandboxError(Exception):
    """The sandbox cannot be made, or something in it did not come to an end."""


class Settings(Protocol):
    """What a sandbox must know of the agent that will live in it."""

    name: str
    api_program: str

    def executable(self) -> Path: ...
    def environment(self, home_inside: Path) -> dict[str, str]: ...
    def configure(self, home: Path, project_inside: Path) -> None: ...
    def normalise(self, body: dict[str, Any]) -> list[Message]: ...
    def is_subagent(self, body: dict[str, Any]) -> bool: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    code: int
    """Negative: ended by that signal."""
    stdout: str
    stderr: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One recorded request."""

    kind: str
    """What the local API answered: see `local_api.Answer.kind`."""
    body: dict[str, Any]
    messages: list[Message]
    is_subagent: bool


class Sandbox:
    """Use it with `with`; one agent, any number of runs one after the other."""

    def __init__(self, agent: Settings, *, keep_folder: Path | None = None) -> None:
        self.agent = agent
        self.root = Path(tempfile.mkdtemp(prefix="leftoff-live-"))
        self.records = self.root / "requests"
        self.disk = self.root / "disk"
        self.home = self.disk / "home" / "dev"
        self.project = self.home / "project"
        self.keep_folder = keep_folder
        self.besides: dict[str, str] = {}  # what the environment holds besides
        self._cell: subprocess.Popen[str] | None = None

    def __enter__(self) -> Self:
        try:
            self.project.mkdir(parents=True)
            self.records.mkdir()
            (self.disk / "tmp").mkdir()
            self.agent.configure(self.home, self.inside(self.project))
            self._cell = start_cell(self.agent.api_program, self.records, self.disk)
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        if self._cell is not None:
            # The cell's first process dies with `unshare`, and the kernel ends all others with it.
            self._cell.kill()
            self._cell.communicate()
            self._cell = None
        shutil.rmtree(self.root, ignore_errors=True)

    def inside(self, path: Path) -> Path:
        """The path under which the client sees a file of the sandbox's disk."""
        return INSIDE / path.relative_to(self.disk)

    def run(self, arguments: Sequence[str]) -> Result:
        """Runs the client to its end."""
        return self.start(arguments).finish()

    def start(self, arguments: Sequence[str]) -> "Running":
        """Starts the client in the project folder, with the named environment and nothing else."""
        return self._start([str(self.agent.executable()), *arguments])

    def screen(self, arguments: Sequence[str] = ()) -> Terminal:
        """Starts the client on a terminal."""
        return Terminal(*self._call([str(self.agent.executable()), *arguments]))

    def leftoff(self, *arguments: str) -> Result:
        """Runs our own program to its end, just as the client would run."""
        return self._start([sys.executable, "-P", "-m", "leftoff", *arguments]).finish()

    def python(self, lines: str, *arguments: str) -> Result:
        """Runs a few lines that use our library, just as the client would run."""
        return self._start([sys.executable, "-P", "-c", lines, *arguments]).finish()

    def name_client(self, *options: str) -> None:
        """Lets our own program find the client by its name from now on, called with these options before all others."""
        named = self.disk / "bin" / self.agent.name
        named.parent.mkdir(exist_ok=True)
        words = shlex.join([str(self.agent.executable()), *options])
        named.write_text(f'#!/bin/sh\nexec {words} "$@"\n', encoding="utf-8")
        named.chmod(0o755)
        self.besides["PATH"] = f"{self.inside(named.parent)}:{SEARCH_PATH}"

    def leftoff_screen(self, *arguments: str) -> Terminal:
        """Starts our own program on a terminal, where it finds the client by its name."""
        named = self.disk / "bin" / self.agent.name
        named.parent.mkdir(exist_ok=True)
        named.unlink(missing_ok=True)
        named.symlink_to(self.agent.executable())
        command, environment = self._call([sys.executable, "-P", "-m", "leftoff", *arguments])
        path = f"{self.inside(named.parent)}:{environment['PATH']}"
        return Terminal(command, {**environment, "PATH": path})

    @contextmanager
    def full(self, folder: Path) -> Iterator[None]:
        """The folder stands on a disk of its own on which not one byte is free, with what it held before."""
        place = str(self.inside(folder))
        made = self._start(["sh", "-c", _FULL, place]).finish()
        if made.code != 0:
            raise SandboxError(f"no small disk could be made: {made.stderr}")
        try:
            yield
        finally:
            self._start(["umount", "-l", place]).finish()

    def _start(self, program: Sequence[str]) -> "Running":
        return Running(*self._call(program))

    def _call(self, program: Sequence[str]) -> tuple[list[str], dict[str, str]]:
        """The command that runs a program in the project folder of the cell, and its environment."""
        if self._cell is None:
            raise SandboxError("the sandbox is not open")
        command = [*enter(self._cell.pid), "sh", "-c", 'cd "$0" && exec "$@"', str(self.inside(self.project))]
        command += program
        home = self.inside(self.home)
        named = {
            "PATH": SEARCH_PATH,
            "HOME": str(home),
            "TMPDIR": str(INSIDE / "tmp"),
            "LANG": "C.UTF-8",
            "TERM": "dumb",
        }
        return command, {**named, **self.agent.environment(home), **self.besides}

    def requests(self, since: int = 0) -> list[Request]:
        """What the local API received so far, in order."""
        return [self._request(file) for file in sorted(self.records.glob("*.json"))[since:]]

    def conversation(self, since: int = 0) -> list[Request]:
        """The same without what a client asks beside it, titles and the like, which may come at any time."""
        return [request for request in self.requests(since) if request.kind != "side"]

    def _request(self, file: Path) -> Request:
        record = json.loads(file.read_text(encoding="utf-8"))
        return Request(
            kind=record["kind"],
            body=record["body"],
            messages=self.agent.normalise(record["body"]),
            is_subagent=self.agent.is_subagent(record["body"]),
        )

    def wait_for(self, condition: Callable[[], bool], what: str, seconds: float = 30) -> None:
        """Waits until something is so, and says what was waited for when it never was."""
        deadline = time.monotonic() + seconds
        while not condition():
            if time.monotonic() > deadline:
                raise SandboxError(f"waited {seconds:.0f} s in vain: {what}")
            time.sleep(0.02)

    def keep(self, name: str, transcript: Path, messages: list[Message]) -> None:
        """Keeps a transcript as it stands now, and the messages of the last request: all of it but the last reply.

        Whether kept or not, our own reader must make the same of it: its live chain is these messages and the last reply.
        """
        own = chain.ours(self.agent.name, transcript, self.home / f".{self.agent.name}")
        chain.check_went_on(own, messages, f"live chain of {name}")
        if self.keep_folder is None:
            return
        self.keep_folder.mkdir(parents=True, exist_ok=True)
        stem = f"{name}.{self.agent.name}"
        shutil.copyfile(transcript, self.keep_folder / f"{stem}.jsonl")
        received = json.dumps(messages, ensure_ascii=False, indent=1) + "\n"
        (self.keep_folder / f"{stem}.received.json").write_text(received, encoding="utf-8")
        if transcript.with_suffix("").is_dir():  # Claude Code's subagents and big results
            shutil.copytree(transcript.with_suffix(""), self.keep_folder / stem, dirs_exist_ok=True)


class Running:
    """A client under way."""

    def __init__(self, command: Sequence[str], environment: dict[str, str]) -> None:
        self._process = subprocess.Popen(
            command,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def finish(self, seconds: float = RUN_SECONDS) -> Result:
        """Waits for the end; a client that takes too long is ended, which is an error."""
        try:
            stdout, stderr = self._process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            self.send(signal.SIGKILL)
            stdout, stderr = self._process.communicate()
            raise SandboxError(
                f"the client was still running after {seconds:.0f} s\n{stdout[-2000:]}\n{stderr[-2000:]}"
            ) from None
        return Result(code=self._process.returncode, stdout=stdout, stderr=stderr)

    def send(self, number: signal.Signals) -> None:
        """Sends a signal to the client itself: `nsenter` waits above it and would not pass it on."""
        pid = self._process.pid
        for child in Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii").split():
            os.kill(int(child), number)


def start_cell(api_program: str, records: Path, disk: Path) -> subprocess.Popen[str]:
    """Starts the local API as the first process of fresh namespaces, and waits until it listens."""
    program = Path(__file__).with_name(api_program)
    mount = ["sh", "-c", 'mount --bind "$0" "$1" && shift && exec "$@"', str(disk), str(INSIDE)]
    command = [*unshare(), *mount, sys.executable, str(program), str(records)]
    named = {"PATH": SEARCH_PATH, "LANG": "C.UTF-8", "PYTHONDONTWRITEBYTECODE": "1"}
    try:
        cell = subprocess.Popen(
            command,
            env=named,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
    except FileNotFoundError:
        raise SandboxError(
            "`unshare` (util-linux) is not here. The real agents run only inside their own network namespace."
        ) from None
    assert cell.stdout is not None
    if cell.stdout.readline().strip() != READY:
        cell.kill()
        _, words = cell.communicate()
        raise SandboxError(
            f"no network namespace, or no local API in it; the real agents run only inside one:\n{words.strip()}"
        )
    return cell


def unshare() -> list[str]:
    """Needs no privilege where the kernel lets users make their own user namespace."""
    as_user = [] if os.geteuid() == 0 else ["--user", "--map-root-user"]
    return ["unshare", *as_user, "--net", "--pid", "--mount-proc", "--fork", "--kill-child"]


def enter(cell: int) -> list[str]:
    """Joins the namespaces of a cell. Its first process is a child of `unshare`, hence pid_for_children."""
    ns = f"/proc/{cell}/ns"
    as_user = [] if os.geteuid() == 0 else [f"--user={ns}/user", "--preserve-credentials"]
    return ["nsenter", *as_user, f"--net={ns}/net", f"--mount={ns}/mnt", f"--pid={ns}/pid_for_children", "--"]
