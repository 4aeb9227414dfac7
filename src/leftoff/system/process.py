"""Running other programs: with a time limit, without a terminal, and nothing left behind."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from leftoff.errors import ProcessError
from leftoff.model.values import dataclass
from leftoff.system import interrupts

_GRACE_SECONDS = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Finished:
    """How a program ended."""

    exit_code: int
    stdout: bytes
    stderr: bytes

    @property
    def complaint(self) -> str:
        """The last line it wrote to standard error, or its exit code."""
        lines = self.stderr.decode("utf-8", "replace").strip().splitlines()
        return lines[-1] if lines else f"exit code {self.exit_code}"


def run(
    command: Sequence[str],
    *,
    timeout_seconds: float,
    folder: Path | None = None,
    stdin: bytes = b"",
    environment: Mapping[str, str] | None = None,
) -> Finished:
    """Run ``command`` to its end. It gets a process group of its own, so that a time-out ends its children too."""
    try:
        child = subprocess.Popen(
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
    try:
        stdout, stderr = child.communicate(stdin, timeout=timeout_seconds)
    except subprocess.TimeoutExpired:
        _end_group(child)
        raise ProcessError(f"{command[0]}: no answer within {timeout_seconds:g} s; it was ended.") from None
    except BaseException:  # Ctrl-C while we wait: the child must not outlive us
        _end_group(child)
        raise
    return Finished(exit_code=child.returncode, stdout=stdout, stderr=stderr)


def detach(command: Sequence[str], *, folder: Path | None = None) -> int:
    """Start a program that nobody waits for: in a session of its own, holding none of our files. Its number."""
    try:
        child = subprocess.Popen(
            [*command],
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
    except (OSError, ValueError) as error:
        raise ProcessError(f"{command[0]}: could not be started: {error}.") from error
    child.returncode = 0  # nobody asks how it ends, not even Python on its way out
    return child.pid


def attend(
    command: Sequence[str], *, folder: Path | None, environment: Mapping[str, str] | None = None
) -> int:
    """Run a program on our own terminal, in ``folder``, until it ends; its exit code, 128 and more for a signal, as in a shell.

    Keys typed meanwhile are its own. Whoever ends us ends it.
    """
    try:
        child = subprocess.Popen(
            [*command], cwd=folder, env=None if environment is None else dict(environment)
        )
    except FileNotFoundError as error:
        if folder is not None and not folder.is_dir():
            raise ProcessError(f"{folder}: there is no such folder to start {command[0]} in.") from error
        raise ProcessError(
            f"{command[0]}: could not be started: it is not installed, or not on your PATH."
        ) from error
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise ProcessError(f"{command[0]}: could not be started: {reason}.") from error
    with interrupts.ending():
        try:
            code = _waited_for(child)
        except SystemExit as told:
            _hand_on(child, told)
            raise
    return code if code >= 0 else 128 - code


def _waited_for(child: subprocess.Popen[bytes]) -> int:
    while True:
        try:
            return child.wait()
        except KeyboardInterrupt:  # the terminal tells us too; what it means is for the program to say
            continue


def _hand_on(child: subprocess.Popen[bytes], told: SystemExit) -> None:
    """Tell the program what we were told; one that does not hear is ended."""
    try:
        child.send_signal(int(str(told.code)) - 128)
        child.wait(timeout=_GRACE_SECONDS)
    except subprocess.TimeoutExpired:
        pass
    finally:
        if child.poll() is None:
            child.kill()
            child.wait()


def humble(*, most_seconds: int) -> None:
    """Make this process give way to all others, and end by itself when it takes too long."""
    if hasattr(os, "nice"):
        os.nice(10)
    if hasattr(signal, "alarm"):
        signal.alarm(most_seconds)


def _end_group(child: subprocess.Popen[bytes]) -> None:
    """End the child and whatever it started; only ever the group that we made."""
    if os.name == "posix":
        with suppress(ProcessLookupError, PermissionError):  # macOS answers EPERM for a group of zombies
            os.killpg(child.pid, signal.SIGKILL)
    else:  # pragma: no cover
        child.kill()
    for pipe in (
        child.stdin,
        child.stdout,
        child.stderr,
    ):  # not read to their end: a daemon may hold them open
        if pipe is not None:
            with suppress(OSError):
                pipe.close()
    child.wait()
