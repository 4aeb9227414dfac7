"""Runs other programs, checks whether a process is alive, handles signals, and copies to the clipboard.

A program runs with a time limit and leaves no children behind. A process is identified by its number and its start time,
because systems reuse numbers. What runs programs is imported where one is run: most hooks run none."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any, NamedTuple

from leftoff.errors import ProcessError

if TYPE_CHECKING:
    import subprocess

_GRACE_SECONDS = 10.0
_ASK_SECONDS = 2.0
_PARENT_FIELD = 1
_START_FIELD = 19  # of /proc/PID/stat after the name in parentheses: clock ticks since boot
_Handler = Callable[[int, FrameType | None], Any]
_ENDING = [getattr(signal, name) for name in ("SIGHUP", "SIGTERM") if hasattr(signal, name)]
# The program, and the variable that is set where it works (None: macOS).
_PROGRAMS: tuple[tuple[tuple[str, ...], str | None], ...] = (
    (("pbcopy",), None),
    (("wl-copy",), "WAYLAND_DISPLAY"),
    (("xclip", "-selection", "clipboard"), "DISPLAY"),
    (("xsel", "--clipboard", "--input"), "DISPLAY"),
    (("clip.exe",), "WSL_DISTRO_NAME"),
)
_CLIPBOARD_SECONDS = 1.0


class FinishedProcess(NamedTuple):
    """The exit code and output of a program."""

    exit_code: int
    stdout: bytes
    stderr: bytes

    @property
    def complaint(self) -> str:
        """The last line of standard error, or the exit code."""
        lines = self.stderr.decode("utf-8", "replace").strip().splitlines()
        return lines[-1] if lines else f"exit code {self.exit_code}"


def run(
    command: Sequence[str],
    *,
    timeout_seconds: float,
    folder: Path | None = None,
    stdin: bytes = b"",
    environment: Mapping[str, str] | None = None,
) -> FinishedProcess:
    """Run ``command`` and wait for it. It gets its own process group, so that a time-out ends its children too."""
    import subprocess  # noqa: PLC0415 - see the module's docstring

    child: subprocess.Popen[bytes] | None = None
    try:
        with defer_signals():  # a Ctrl-C while the program starts must not leave it running
            child = _start_in_own_group(command, folder, environment)
        stdout, stderr = child.communicate(stdin, timeout=timeout_seconds)
    except BaseException as error:  # such as Ctrl-C: the child must not keep running
        if child is not None:
            _end_group(child)
        if isinstance(error, subprocess.TimeoutExpired):
            message = f"{command[0]}: no answer within {timeout_seconds:g} s; it was ended."
            raise ProcessError(message) from None
        raise
    return FinishedProcess(exit_code=child.returncode, stdout=stdout, stderr=stderr)


def _start_in_own_group(
    command: Sequence[str], folder: Path | None, environment: Mapping[str, str] | None
) -> subprocess.Popen[bytes]:
    import subprocess  # noqa: PLC0415 - see the module's docstring

    try:
        return subprocess.Popen(
            [*command],
            cwd=folder,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=None if environment is None else dict(environment),
            start_new_session=True,
        )
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise ProcessError(f"{command[0]}: could not be started: {reason}.") from error


def start_detached(command: Sequence[str]) -> int:
    """Start a program in the background, in its own session and without inherited streams; return its process id."""
    streams = [(os.POSIX_SPAWN_OPEN, fd, os.devnull, os.O_RDWR, 0) for fd in (0, 1, 2)]
    try:
        return os.posix_spawn(command[0], [*command], os.environ, file_actions=streams, setsid=True)
    except (OSError, ValueError) as error:
        raise ProcessError(f"{command[0]}: could not be started: {error}.") from error


def run_interactive(
    command: Sequence[str], *, folder: Path | None, environment: Mapping[str, str] | None = None
) -> int:
    """Run a program on this terminal until it ends; return its exit code, 128 plus the number for a signal.

    Ctrl-C is left to the program. A signal that ends leftoff is passed on to it.
    """
    received: list[int] = []
    with signals_as_exit():
        # A signal while the program starts would end leftoff without it: it is passed on as soon as the program runs.
        with _handle_signals(_ENDING, lambda number, _: received.append(number)):
            child = _start(command, folder, environment)
        try:
            if received:
                _raise_exit(received[0], None)
            code = _wait_ignoring_interrupts(child)
        except SystemExit as exit_request:
            _pass_on_signal(child, exit_request)
            raise
    return code if code >= 0 else 128 - code


def require_program(name: str) -> None:
    """Raise ProcessError if there is no such program to start."""
    import shutil  # noqa: PLC0415 - see the module's docstring

    if shutil.which(name) is None:
        raise _missing(name)


def _missing(name: str) -> ProcessError:
    return ProcessError(f"{name}: could not be started: it is not installed, or not on your PATH.")


def _start(
    command: Sequence[str], folder: Path | None, environment: Mapping[str, str] | None
) -> subprocess.Popen[bytes]:
    import subprocess  # noqa: PLC0415 - see the module's docstring

    try:
        return subprocess.Popen(
            [*command], cwd=folder, env=None if environment is None else dict(environment)
        )
    except FileNotFoundError as error:
        if folder is not None and not folder.is_dir():
            raise ProcessError(f"{folder}: there is no such folder to start {command[0]} in.") from error
        raise _missing(command[0]) from error
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise ProcessError(f"{command[0]}: could not be started: {reason}.") from error


def _wait_ignoring_interrupts(child: subprocess.Popen[bytes]) -> int:
    while True:
        try:
            return child.wait()
        except KeyboardInterrupt:  # the program gets it from the terminal too, and decides
            continue


def _pass_on_signal(child: subprocess.Popen[bytes], exit_request: SystemExit) -> None:
    """Send the program the signal that leftoff got; kill it if it does not end."""
    import subprocess  # noqa: PLC0415 - see the module's docstring

    try:
        child.send_signal(int(str(exit_request.code)) - 128)
        child.wait(timeout=_GRACE_SECONDS)
    except subprocess.TimeoutExpired:
        pass
    finally:
        if child.poll() is None:
            child.kill()
            child.wait()


def run_in_background(*, most_seconds: int) -> None:
    """Lower the priority of this process and limit its run time."""
    if hasattr(os, "nice"):
        os.nice(10)
    end_after(most_seconds)


def end_after(seconds: int) -> None:
    """End this process when so much time has passed."""
    if hasattr(signal, "alarm"):
        signal.alarm(seconds)


def _end_group(child: subprocess.Popen[bytes]) -> None:
    """Kill the child's own process group."""
    if os.name == "posix":
        with suppress(ProcessLookupError, PermissionError):  # macOS answers EPERM for a group of zombies
            os.killpg(child.pid, signal.SIGKILL)
    else:  # pragma: no cover
        child.kill()
    # Not read to the end: a daemon may keep the pipes open.
    for pipe in (child.stdin, child.stdout, child.stderr):
        if pipe is not None:
            with suppress(OSError):
                pipe.close()
    child.wait()


def own_process() -> tuple[int, str | None]:
    """Return the id and start time of this process."""
    return os.getpid(), process_start(os.getpid())


def process_start(pid: int) -> str | None:
    """Return when the process started, in the system's own notation; None if it does not run or is not known."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()
        return None if fields[0] == b"Z" else fields[_START_FIELD].decode("ascii")  # Z: a zombie
    except (OSError, IndexError):
        return (
            None if Path("/proc/self/stat").exists() else _ask_ps(pid, "lstart=") or None
        )  # without /proc: macOS


def grandparent_pid() -> int | None:
    """Return the parent of the parent process, the agent if a shell ran this process; None if not known."""
    try:
        fields = Path(f"/proc/{os.getppid()}/stat").read_bytes().rpartition(b")")[2].split()
        return int(fields[_PARENT_FIELD])
    except (OSError, IndexError, ValueError):
        return None


def command_of(pid: int) -> tuple[str, ...]:
    """Return a process's command line; empty if it does not run or is not known."""
    try:
        words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")[:-1]
        return tuple(word.decode("utf-8", "replace") for word in words)
    except OSError:
        return () if Path("/proc/self/stat").exists() else tuple(_ask_ps(pid, "args=").split())


def commands_on_terminals(folder: Path) -> Iterator[tuple[str, ...]]:
    """Iterate over the command lines of the user's processes that read from a terminal in this folder or below it.

    Nothing on a system without /proc.
    """
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # it has ended meanwhile, or is another user's
            is_on_terminal = str((process / "fd/0").readlink()).startswith(("/dev/pts/", "/dev/tty"))
            if is_on_terminal and (process / "cwd").readlink().is_relative_to(folder):
                yield command_of(int(process.name))


def is_alive(pid: int, start: str | None) -> bool:
    """Return whether the process still runs; without ``start`` whether any process has that id."""
    if pid <= 0 or not _exists(pid):
        return False
    return start is None or process_start(pid) == start


def _exists(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except PermissionError:
        return True  # another user's process
    except (ProcessLookupError, OverflowError):
        return False
    return True


def _ask_ps(pid: int, column: str) -> str:
    try:
        listing = run(["ps", "-o", column, "-p", str(pid)], timeout_seconds=_ASK_SECONDS)
    except ProcessError:  # pragma: no cover - a system without ps
        return ""
    return listing.stdout.decode("utf-8", "replace").strip()


@contextmanager
def defer_signals() -> Iterator[None]:
    """Delay Ctrl-C, SIGHUP and SIGTERM until the block has ended."""
    received: list[int] = []
    with _handle_signals([signal.SIGINT, *_ENDING], lambda number, _: received.append(number)):
        yield
    for number in received[:1]:
        signal.raise_signal(signal.Signals(number))


@contextmanager
def signals_as_exit() -> Iterator[None]:
    """Turn SIGHUP and SIGTERM into SystemExit while the block runs, so that work can be saved."""
    with _handle_signals(_ENDING, _raise_exit):
        yield


def _raise_exit(number: int, _: FrameType | None) -> None:
    raise SystemExit(128 + number)


@contextmanager
def _handle_signals(numbers: list[int], handler: _Handler) -> Iterator[None]:
    """Install a signal handler while the block runs, in the main thread only; ignored signals stay ignored."""
    import threading  # noqa: PLC0415 - see the module's docstring

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.getsignal(number) for number in numbers}
    replaced = [number for number, old in before.items() if old not in (signal.SIG_IGN, None)]
    for number in replaced:
        signal.signal(number, handler)
    try:
        yield
    finally:
        for number in replaced:
            signal.signal(number, before[number])


def copy_to_clipboard(text: str) -> bool:
    """Put the text onto the desktop's clipboard; return whether that worked. Never raises."""
    import shutil  # noqa: PLC0415 - see the module's docstring

    for command, variable in _PROGRAMS:
        usable = sys.platform == "darwin" if variable is None else variable in os.environ
        if usable and (program := shutil.which(command[0])) and _pipe_text_to((program, *command[1:]), text):
            return True
    return False


def _pipe_text_to(command: tuple[str, ...], text: str) -> bool:
    """Run a clipboard program. It stays in the background, so it must not inherit any stream."""
    import subprocess  # noqa: PLC0415 - see the module's docstring

    with suppress(OSError, subprocess.SubprocessError):
        done = subprocess.run(
            command,
            input=text.encode(),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=_CLIPBOARD_SECONDS,
            check=False,
            start_new_session=True,
        )
        return done.returncode == 0
    return False
