"""Damages transcripts at random and runs every command on them: ``python -m tests.fuzz.run --runs 10000``.

What happens to a transcript is decided by its number alone, so a failure is repeated by ``--only NUMBER --keep``. Every command runs in a forked child
with a limit on memory and time, in a scratch home. What must hold, whatever the transcript:

- no traceback, no message that calls itself a bug, no exception in leftoff's own log
- it ends within 30 seconds of CPU time and 500 MB
- exit code 0 to 3; 0 for hooks and the status line
- ``--json`` prints JSON, and nothing printed has control characters that a terminal would obey
- the transcript is not changed
"""

from __future__ import annotations

import argparse
import hashlib
import importlib
import io
import json
import os
import pkgutil
import random
import re
import resource
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import NamedTuple

import leftoff
from leftoff import __main__ as program
from leftoff import errors
from leftoff.agents import codex
from leftoff.live import fast
from leftoff.testing.builders import Story, call
from tests.fuzz.commands import JOURNEYS, Step, step
from tests.fuzz.mutations import mutate
from tests.support.transcripts import write_transcript

CPU_SECONDS = 30
WALL_SECONDS = 300  # only what waits for something that never comes takes so long
MEMORY_BYTES = 500 * 1024 * 1024
_SCRATCH = (
    "/dev/shm" if Path("/dev/shm").is_dir() else None
)  # in memory, because every save waits for the disk
_MOST_LINES = 80  # of a transcript, for most runs: damage is about the shape of lines, not their number
_SESSION = {"claude": "0b54f7aa-6d0c-4c7b-9d57-3f6c9d9a3b11", "codex": "01a1e0be-dee8-7b23-ae31-94e0123734a3"}
_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
_OURS = "|".join(name for name in vars(errors) if name.endswith("Error"))  # raised on purpose
_EXCEPTION = re.compile(rf"\b(?!OSError|{_OURS})[A-Z]\w*(?:Error|Exception|Iteration): ")
_KEY = re.compile(rb"leftoff expand ([\w:#./-]+)")


class Failure(NamedTuple):
    """Which command of which run broke which promise."""

    run: int
    command: str
    mutations: str
    reason: str


def main() -> int:
    """Run as many commands as asked for and print each failure with the command that repeats it."""
    parser = argparse.ArgumentParser(description="Run every command on damaged transcripts.")
    parser.add_argument("--runs", type=int, default=1000, help="how many commands at least")
    parser.add_argument("--first", type=int, default=0, help="the number of the first transcript")
    parser.add_argument("--only", type=int, help="repeat the runs on this transcript alone")
    parser.add_argument("--keep", action="store_true", help="leave the folder of a failed run")
    options = parser.parse_args()
    first = options.first if options.only is None else options.only
    _import_everything()
    sources, begun = [*_sources()], time.monotonic()
    counted: Counter[str] = Counter()
    for number in count(first):
        for failure in run(number, sources, counted, keep=options.keep):
            counted["failures"] += 1
            print(f"run {failure.run}: leftoff {failure.command}\n  {failure.mutations}\n  {failure.reason}")
            print(f"  repeat: make fuzz ARGS='--only {failure.run} --keep'", flush=True)
        if counted["commands"] >= options.runs or options.only is not None:
            break
        if number % 100 == 0:
            print(f"{counted['commands']:,} runs", file=sys.stderr, flush=True)
    took = time.monotonic() - begun
    codes = ", ".join(f"{n:,} exit {code}" for code, n in sorted(counted.items()) if code.isdigit())
    print(
        f"{counted['commands']:,} runs on {number - first + 1:,} damaged transcripts in {took:,.0f} s "
        f"({codes}): {counted['failures']} failures"
    )
    return 1 if counted["failures"] else 0


def _import_everything() -> None:
    """Import the package here, so that no child has to."""
    for module in pkgutil.walk_packages(leftoff.__path__, "leftoff."):
        if not module.name.startswith(("leftoff.testing", "leftoff.__main__")):
            importlib.import_module(module.name)


def _sources() -> Iterator[tuple[str, bytes]]:
    """Return transcripts of both agents: those of the repository, and real ones where LEFTOFF_TRANSCRIPTS names some."""
    folders = [
        Path(__file__).parents[1] / "golden" / "transcripts",
        Path(leftoff.__file__).parent / "demo_data",
    ]
    if named := os.environ.get("LEFTOFF_TRANSCRIPTS"):
        folders.append(Path(named))
    found = {path.name: path for folder in folders for path in folder.rglob("*.jsonl")}
    for name in sorted(found):
        head = found[name].open("rb").read(4096)
        if not name.startswith(("copilot", "gemini", "opencode")):
            yield (
                "codex" if b'"session_meta"' in head or b'"instructions"' in head else "claude",
                found[name].read_bytes(),
            )
    story = Story(session_id=_SESSION["codex"])
    for number in range(30):
        story.asked(f"Fix the login {number}").replied(
            "Done.", call("shell", {"command": "pytest"}, "failed\n" * 80)
        )
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "story.jsonl"
        write_transcript(codex.here(), story.script(), path)
        yield "codex", path.read_bytes()


def run(
    number: int, sources: list[tuple[str, bytes]], counted: Counter[str], *, keep: bool = False
) -> list[Failure]:
    """Damage one transcript, run one journey on it, and return what went wrong."""
    source = random.Random(number)
    journey = JOURNEYS[number % len(JOURNEYS)]
    agent, data = source.choice(sources)
    folder = Path(tempfile.mkdtemp(prefix=f"leftoff-fuzz-{number}-", dir=_SCRATCH))
    failures: list[Failure] = []
    try:
        file = _place(folder, agent, data, source)
        damaged, names = mutate(file.read_bytes(), source)
        file.write_bytes(damaged)
        values = {
            "file": str(file),
            "id": _SESSION[agent],
            "project": str(folder / "work"),
            "agent": agent,
            "other": "codex" if agent == "claude" else "claude",
            "key": "0123456789abcdef",
        }
        digest, log = hashlib.sha256(damaged).digest(), folder / "home/.local/state/leftoff/leftoff.log"
        for text in journey:
            each = step(text, values, source)
            ended = _execute(each, folder)
            counted["commands"] += 1
            counted[str(ended.code)] += 1
            reason = _broken_promise(each, ended, log)
            if reason is None and file.exists() and hashlib.sha256(file.read_bytes()).digest() != digest:
                reason = "the transcript was changed"
            if reason is not None:
                failures.append(Failure(number, " ".join(each.arguments), " + ".join(names), reason))
            log.unlink(missing_ok=True)
            values["key"] = _a_key(folder) or values["key"]
    finally:
        if keep and failures:
            print(f"kept: {folder}")
        else:
            shutil.rmtree(folder, ignore_errors=True)  # a background process may still be writing there
    return failures


def _a_key(folder: Path) -> str | None:
    """Return the key in a placeholder of a copy that a step has written."""
    for copy in (folder / "home").rglob("*.jsonl"):
        if key := _KEY.search(copy.read_bytes()):
            return key[1].decode()
    return None


def _place(folder: Path, agent: str, data: bytes, source: random.Random) -> Path:
    """Write some lines of a transcript where its agent would, as a session of the working folder."""
    lines = data.splitlines(keepends=True)
    if source.random() > 0.05 and len(lines) > _MOST_LINES:
        first = source.randrange(len(lines) - _MOST_LINES // 2)
        lines = [*lines[:2], *lines[first : first + _MOST_LINES]]
    data = b"".join(lines)
    (folder / "work").mkdir()
    if cwd := re.search(rb'"cwd":\s*("[^"]*")', data):
        data = data.replace(cwd[1], json.dumps(str(folder / "work")).encode())
    if named := re.search(rb'"(?:sessionId|id)":\s*"([0-9a-f-]{36})"', data):
        data = data.replace(named[1], _SESSION[agent].encode())
    if agent == "claude":
        file = folder / "home" / ".claude" / "projects" / "-work" / f"{_SESSION[agent]}.jsonl"
    else:
        name = f"rollout-2026-01-06T12-00-00-{_SESSION[agent]}.jsonl"
        file = folder / "home" / ".codex" / "sessions" / "2026" / "01" / "06" / name
    file.parent.mkdir(parents=True)
    file.write_bytes(data)
    return file


class Ended(NamedTuple):
    """How a child ended: its exit code, negative for a signal, and what it wrote."""

    code: int
    out: bytes
    err: bytes


def _execute(each: Step, folder: Path) -> Ended:
    (folder / "in").write_bytes(each.stdin)
    child = os.fork()
    if not child:
        _become(each, folder)
    status, deadline = 0, time.monotonic() + WALL_SECONDS
    pause = 0.001
    while not (ended := os.waitpid(child, os.WNOHANG))[0]:
        if time.monotonic() > deadline:
            os.kill(child, signal.SIGKILL)
            _, status = os.waitpid(child, 0)
            break
        time.sleep(pause)
        pause = min(0.02, pause * 2)
    else:
        status = ended[1]
    return Ended(
        os.waitstatus_to_exitcode(status), (folder / "out").read_bytes(), (folder / "err").read_bytes()
    )


def _become(each: Step, folder: Path) -> None:
    """Run the command in this child and end it."""
    code = 99
    try:
        resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS))
        resource.setrlimit(resource.RLIMIT_DATA, (MEMORY_BYTES, MEMORY_BYTES))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        _connect(folder)
        os.environ.clear()
        os.environ.update(
            {
                "HOME": str(folder / "home"),
                "PATH": os.defpath,
                "LANG": "C.UTF-8",
                "EDITOR": "true",
                "PYTHONPATH": os.pathsep.join(
                    map(str, (Path(leftoff.__file__).parents[1], Path(__file__).parents[2]))
                ),
            }
        )
        os.chdir(folder / "work")
        if each.is_fast:
            code = fast.main(["fast.py", *each.arguments], dict(os.environb))
        else:
            sys.argv = ["leftoff", *each.arguments]
            program.main()
    except SystemExit as ending:
        code = ending.code if isinstance(ending.code, int) else 98
    except BaseException:  # noqa: BLE001 - a traceback is what we look for
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def _connect(folder: Path) -> None:
    for number, name, flags in ((0, "in", os.O_RDONLY), (1, "out", os.O_WRONLY), (2, "err", os.O_WRONLY)):
        opened = os.open(folder / name, flags | os.O_CREAT | os.O_TRUNC * bool(number), 0o600)
        os.dup2(opened, number)
        os.close(opened)
    sys.stdin = io.TextIOWrapper(io.BufferedReader(io.FileIO(0, closefd=False)), encoding="utf-8")
    sys.stdout = io.TextIOWrapper(io.BufferedWriter(io.FileIO(1, "w", closefd=False)), encoding="utf-8")
    sys.stderr = io.TextIOWrapper(
        io.BufferedWriter(io.FileIO(2, "w", closefd=False)), encoding="utf-8", errors="backslashreplace"
    )


def _broken_promise(each: Step, ended: Ended, log: Path) -> str | None:
    out, err = ended.out.decode("utf-8", "surrogateescape"), ended.err.decode("utf-8", "replace")
    if ended.code < 0:
        return f"ended by {signal.Signals(-ended.code).name} after {CPU_SECONDS} s of CPU time or {WALL_SECONDS} s"
    if "Traceback" in err or "This is a bug" in err or '"error": "This is a bug' in out:
        return (err or out)[-1500:].strip()
    if ended.code not in ((0,) if each.is_hook else (0, 1, 2, 3)):
        return f"exit code {ended.code}: {err[-300:]}"
    logged = log.read_text(encoding="utf-8", errors="replace") if log.exists() else ""
    if found := _EXCEPTION.search(logged):
        return f"in leftoff.log: {logged[max(0, found.start() - 80) : found.start() + 300]}"
    if not each.prints_originals and not each.is_hook and (raw := _CONTROL.search(out)):
        return f"a raw control character in the output: {out[max(0, raw.start() - 60) : raw.end() + 20]!r}"
    return _invalid_json(out) if "--json" in each.arguments else None


def _invalid_json(out: str) -> str | None:
    def refuse(constant: str) -> None:
        raise ValueError(constant)

    try:
        json.loads(out, parse_constant=refuse)
    except ValueError as error:
        return f"--json did not print JSON: {error}: {out[:200]!r}"
    return None


if __name__ == "__main__":
    sys.exit(main())
