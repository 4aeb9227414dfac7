"""A sandbox for one agent: scratch HOME, project folder, local API, and no network but its own loopback.

The client gets only the environment variables named here and runs in fresh network, process and mount namespaces together
with the local API. Leaving the sandbox ends every process started in it and removes its files. The client sees its files
at the same path on every machine, so transcripts can be kept unchanged. Where the machine cannot create such namespaces,
this is an error; nothing ever runs outside them.
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
from clients import SEARCH_PATH
from local_api import PORT, READY
from received import Message
from terminal import COLUMNS, Terminal

BASE_URL = f"http://127.0.0.1:{PORT}"
RUN_SECONDS = 60
MOUNT_POINT = Path("/srv")
"""Where the client sees the sandbox's disk: a folder that exists on every Linux and is usually empty."""


_MAKE_FULL_DISK = """
set -e
saved=$(mktemp -d)
mkdir -p "$0"
cp -a "$0/." "$saved"
mount -t tmpfs -o "size=$(($(du -sk "$saved" | cut -f1) + 64))k" full "$0"
cp -a "$saved/." "$0"
cat /dev/zero >"$0/.filling" 2>/dev/null || true
if echo more >"$0/.more" 2>/dev/null; then echo "the disk is not full" >&2; exit 1; fi
"""


class SandboxError(Exception):
    """The sandbox cannot be set up, or something in it did not end."""


class SandboxedAgent(Protocol):
    """What a sandbox needs to know about the agent that runs in it."""

    name: str
    api_program: str

    def executable(self, version: str | None = None) -> Path: ...
    def environment(self, home_inside: Path) -> dict[str, str]: ...
    def configure(self, home: Path, project_inside: Path) -> None: ...
    def normalise(self, body: dict[str, Any]) -> list[Message]: ...
    def is_subagent(self, body: dict[str, Any]) -> bool: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    code: int
    """The exit code; negative when a signal ended the process."""
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
    """A sandbox for any number of runs of one agent, used with `with`."""

    def __init__(self, agent: SandboxedAgent, *, keep_folder: Path | None = None) -> None:
        self.agent = agent
        self.root = Path(tempfile.mkdtemp(prefix="leftoff-live-"))
        self.records_folder = self.root / "requests"
        self.summary_file = (
            self.root / "summary.txt"
        )  # what the local API answers when a summary is asked for
        self.disk = self.root / "disk"
        self.home = self.disk / "home" / "dev"
        self.project = self.home / "project"
        self.keep_folder = keep_folder
        self.extra_environment: dict[str, str] = {}  # overrides the client's environment
        self.version: str | None = None  # of the client; None for the pinned one
        self._namespaces: subprocess.Popen[str] | None = None

    def __enter__(self) -> Self:
        try:
            self.project.mkdir(parents=True)
            self.records_folder.mkdir()
            (self.disk / "tmp").mkdir()
            self.agent.configure(self.home, self.path_inside(self.project))
            self.use_version(None)
            self._namespaces = start_namespaces(self.agent.api_program, self.records_folder, self.disk)
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        if self._namespaces is not None:
            # The first process of the namespaces dies with `unshare`, and the kernel then ends all others.
            self._namespaces.kill()
            self._namespaces.communicate()
            self._namespaces = None
        shutil.rmtree(self.root, ignore_errors=True)

    def path_inside(self, path: Path) -> Path:
        """Return the path under which the client sees a file of the sandbox's disk."""
        return MOUNT_POINT / path.relative_to(self.disk)

    def run(self, arguments: Sequence[str]) -> Result:
        """Run the client until it exits."""
        return self.start(arguments).wait()

    def start(self, arguments: Sequence[str]) -> "Running":
        """Start the client in the project folder."""
        return self.start_program([str(self.agent.executable(self.version)), *arguments])

    def start_dialogue(self, arguments: Sequence[str]) -> subprocess.Popen[str]:
        """Start the client with its standard streams open to the caller."""
        program = [str(self.agent.executable(self.version)), *arguments]
        command, environment = self._command_and_environment(program)
        return subprocess.Popen(
            command,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )

    def open_screen(self, arguments: Sequence[str] = (), *, columns: int = COLUMNS) -> Terminal:
        """Start the client on a terminal."""
        program = [str(self.agent.executable(self.version)), *arguments]
        return Terminal(*self._command_and_environment(program), columns=columns)

    def run_leftoff(self, *arguments: str) -> Result:
        """Run leftoff until it exits, in the same environment as the client."""
        return self.start_program([sys.executable, "-P", "-m", "leftoff", *arguments]).wait()

    def run_program(self, *command: str) -> Result:
        """Run any program until it exits, in the same environment as the client."""
        return self.start_program(command).wait()

    def run_python(self, lines: str, *arguments: str) -> Result:
        """Run Python code that uses the leftoff library, in the same environment as the client."""
        return self.start_program([sys.executable, "-P", "-c", lines, *arguments]).wait()

    def put_client_on_path(self, *options: str) -> None:
        """Put a wrapper on the PATH in place of the client: it starts the client with these options first."""
        command = shlex.join([str(self.agent.executable(self.version)), *options])
        self.put_program_on_path(self.agent.name, f'exec {command} "$@"')

    def put_program_on_path(self, name: str, line: str) -> None:
        """Put a shell script of one line beside the client, in place of any other of that name."""
        script = self.disk / "bin" / name
        script.unlink(missing_ok=True)  # it may be a link to the client itself
        script.write_text(f"#!/bin/sh\n{line}\n", encoding="utf-8")
        script.chmod(0o755)

    def use_version(self, version: str | None) -> None:
        """Install this version of the client, None for the pinned one, in place of the present one, on the PATH."""
        self.version = version
        link = self.disk / "bin" / self.agent.name
        link.parent.mkdir(exist_ok=True)
        link.unlink(missing_ok=True)
        link.symlink_to(self.agent.executable(version))
        self.extra_environment["PATH"] = f"{self.path_inside(link.parent)}:{SEARCH_PATH}"

    def open_leftoff_screen(self, *arguments: str) -> Terminal:
        """Start leftoff on a terminal."""
        return Terminal(*self._command_and_environment([sys.executable, "-P", "-m", "leftoff", *arguments]))

    @contextmanager
    def full_disk(self, folder: Path) -> Iterator[None]:
        """Within the block, the folder is on a disk of its own without a free byte; it keeps its files."""
        mount_point = str(self.path_inside(folder))
        completed = self.start_program(["sh", "-c", _MAKE_FULL_DISK, mount_point]).wait()
        if completed.code != 0:
            raise SandboxError(f"the full disk could not be set up: {completed.stderr}")
        try:
            yield
        finally:
            self.start_program(["umount", "-l", mount_point]).wait()

    def start_program(self, program: Sequence[str]) -> "Running":
        """Start any program in the project folder, with the environment of the client."""
        return Running(*self._command_and_environment(program))

    def _command_and_environment(self, program: Sequence[str]) -> tuple[list[str], dict[str, str]]:
        """Return the command that runs a program in the sandbox's project folder, and its environment."""
        if self._namespaces is None:
            raise SandboxError("the sandbox is not open")
        command = [
            *enter_command(self._namespaces.pid),
            "sh",
            "-c",
            'cd "$0" && exec "$@"',
            str(self.path_inside(self.project)),
        ]
        command += program
        home = self.path_inside(self.home)
        environment = {
            "PATH": SEARCH_PATH,
            "HOME": str(home),
            "TMPDIR": str(MOUNT_POINT / "tmp"),
            "LANG": "C.UTF-8",
            "TERM": "dumb",
        }
        return command, {**environment, **self.agent.environment(home), **self.extra_environment}

    def requests(self, since: int = 0) -> list[Request]:
        """Return what the local API received so far, in order."""
        return [self._request(file) for file in sorted(self.records_folder.glob("*.json"))[since:]]

    def conversation(self, since: int = 0) -> list[Request]:
        """Return the requests without those beside the conversation, such as for titles, which may come at any time."""
        return [request for request in self.requests(since) if request.kind != "side"]

    def _request(self, file: Path) -> Request:
        record = json.loads(file.read_text(encoding="utf-8"))
        return Request(
            kind=record["kind"],
            body=record["body"],
            messages=self.agent.normalise(record["body"]),
            is_subagent=self.agent.is_subagent(record["body"]),
        )

    def wait_until(self, condition: Callable[[], bool], what: str, seconds: float = 30) -> None:
        """Wait until the condition is true; otherwise the error says what was waited for."""
        deadline = time.monotonic() + seconds
        while not condition():
            if time.monotonic() > deadline:
                raise SandboxError(f"waited {seconds:.0f} s without result: {what}")
            time.sleep(0.02)

    def check_and_keep(self, name: str, transcript: Path, messages: list[Message]) -> None:
        """Check our live chain of a transcript against the last request, and keep both if there is a folder for them.

        Our live chain must be these messages, which the API last received, followed by the last reply.
        """
        chain_messages = chain.live_chain_messages(
            self.agent.name, transcript, self.home / f".{self.agent.name}"
        )
        chain.check_continued_session(chain_messages, messages, f"live chain of {name}")
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
    """A program that is running in the sandbox."""

    def __init__(self, command: Sequence[str], environment: dict[str, str]) -> None:
        self._process = subprocess.Popen(
            command,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def wait(self, seconds: float = RUN_SECONDS) -> Result:
        """Wait until the program exits; kill it and raise an error when it takes too long."""
        try:
            stdout, stderr = self._process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            self.send_signal(signal.SIGKILL)
            stdout, stderr = self._process.communicate()
            raise SandboxError(
                f"the client was still running after {seconds:.0f} s\n{stdout[-2000:]}\n{stderr[-2000:]}"
            ) from None
        return Result(code=self._process.returncode, stdout=stdout, stderr=stderr)

    def send_signal(self, number: signal.Signals) -> None:
        """Send a signal to the program itself: `nsenter` runs above it and would not forward it."""
        pid = self._process.pid
        for child in Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii").split():
            os.kill(int(child), number)


def start_namespaces(api_program: str, records: Path, disk: Path) -> subprocess.Popen[str]:
    """Start the local API as the first process of fresh namespaces and wait until it listens."""
    program = Path(__file__).with_name(api_program)
    mount = ["sh", "-c", 'mount --bind "$0" "$1" && shift && exec "$@"', str(disk), str(MOUNT_POINT)]
    command = [*unshare_command(), *mount, sys.executable, str(program), str(records)]
    environment = {"PATH": SEARCH_PATH, "LANG": "C.UTF-8", "PYTHONDONTWRITEBYTECODE": "1"}
    try:
        process = subprocess.Popen(
            command,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
    except FileNotFoundError:
        raise SandboxError(
            "`unshare` (util-linux) is not here. The real agents run only inside their own network namespace."
        ) from None
    assert process.stdout is not None
    if process.stdout.readline().strip() != READY:
        process.kill()
        _, error = process.communicate()
        raise SandboxError(
            f"no network namespace, or no local API in it; the real agents run only inside one:\n{error.strip()}"
        )
    return process


def unshare_command() -> list[str]:
    """Return the command that creates namespaces; no privilege is needed where the kernel allows user namespaces."""
    as_user = [] if os.geteuid() == 0 else ["--user", "--map-root-user"]
    return ["unshare", *as_user, "--net", "--pid", "--mount-proc", "--fork", "--kill-child"]


def enter_command(pid: int) -> list[str]:
    """Return the command that joins namespaces; pid_for_children because their first process is a child of `unshare`."""
    ns = f"/proc/{pid}/ns"
    as_user = [] if os.geteuid() == 0 else [f"--user={ns}/user", "--preserve-credentials"]
    return ["nsenter", *as_user, f"--net={ns}/net", f"--mount={ns}/mnt", f"--pid={ns}/pid_for_children", "--"]
