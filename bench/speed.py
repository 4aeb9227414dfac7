"""The measures of speed, as ratios: each round takes both sides in turn, so that a busy machine slows both."""

from __future__ import annotations

import json
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from bench import live, stores
from bench.generate import generate
from bench.measuring import Row, ratio, run_child, scratch_environment, time_call
from bench.sessions import LibraryFigures, ShrinkFigures
from leftoff.agents.registry import load_agents
from leftoff.core.metrics import ContextMetrics
from leftoff.core.protocols import Agent, CanCopy
from leftoff.core.resume_log import ResumeLog
from leftoff.errors import ProcessError
from leftoff.extraction import State, render, step
from leftoff.platform import files, process
from leftoff.platform.redaction import Redactor
from leftoff.resume_logs.save import log_text
from leftoff.sessions.status import status_of
from leftoff.workspace import SessionRef, Workspace
from tests.support.transcripts import write_transcript

_MEGABYTE = 1_000_000
# Copying less takes a few milliseconds, while a trim has a beginning and an end of its own.
_MIN_JUDGED_BYTES = 100 * _MEGABYTE


@dataclass(frozen=True, slots=True, kw_only=True)
class Size:
    """How much is measured."""

    rounds: int
    large_bytes: int
    small_bytes: int
    sessions: int
    library_bytes: int


FULL = Size(
    rounds=7,
    large_bytes=200 * _MEGABYTE,
    small_bytes=_MEGABYTE,
    sessions=100_000,
    library_bytes=400 * _MEGABYTE,
)
QUICK = Size(
    rounds=3,
    large_bytes=12 * _MEGABYTE,
    small_bytes=_MEGABYTE,
    sessions=300,
    library_bytes=4 * _MEGABYTE,
)


def measures(*, quick: bool) -> Iterator[Row]:
    """Yield all measures; ``quick`` takes small files and few rounds."""
    size = QUICK if quick else FULL
    with tempfile.TemporaryDirectory(prefix="leftoff-bench-") as name:
        folder = Path(name)
        for measure in (_append, _resume_log, _redaction):
            yield measure(folder, size)
        yield from _pause(folder, size)
        yield from live.chat_measures(folder / "chats", size.rounds)
        yield from (Row(**each._asdict()) for each in stores.measures(size.rounds))
        for agent in load_agents():
            yield from _transcripts(agent, folder, size)
            yield from _resume_logs(agent, folder, size)
            yield from _hooks(agent, folder, size)
            yield from _shrinking(agent, folder, size)
        yield _command(folder, size)
        yield from _library(folder, size)


def _append(folder: Path, size: Size) -> Row:
    line = b'{"type": "tool_call", "data": {"tool": "Read"}}' + b" " * 150 + b"\n"
    ours, theirs = folder / "ours.jsonl", folder / "theirs.jsonl"

    def bare() -> None:
        for _ in range(1000):
            fd = os.open(theirs, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
            os.write(fd, line)
            os.close(fd)

    def locked() -> None:
        for _ in range(1000):
            files.append_lines(ours, line)

    found, seconds = ratio(locked, bare, size.rounds)
    return Row(
        what="locked append",
        against="bare O_APPEND write",
        ratio=found,
        limit=4.0,
        note=f"{seconds * 1000:.0f} us",
    )


def _pause(folder: Path, size: Size) -> Iterator[Row]:
    """Measure recording an action and finalising a thousand of them, in a process with its own HOME."""
    scratch = folder / "pause"
    scratch.mkdir()
    environment = scratch_environment(scratch, "XDG_", "LEFTOFF_")
    pairs: dict[str, list[tuple[float, float]]] = run_child(
        "bench.live", scratch, size.rounds, environment=environment
    )
    plainly = "the same files made and synced plainly"
    for key, what, against, limit, beside in (
        ("hook", "pause: 1,000 locked appends of the fast path", "bare O_APPEND writes", 4.0, ""),
        ("append", "pause: record 1,000 actions, redacted", "json.dumps and bare O_APPEND writes", 10.0, ""),
        ("finalise", "pause: finalise 1,000 actions", plainly, 3.5, "predecessor 9 ms"),
        ("finalise_in_git", "pause: the same in a git repository", plainly, 5.0, "predecessor 26-40 ms"),
    ):
        seconds = median(ours for ours, _ in pairs[key])
        found = median(ours / theirs for ours, theirs in pairs[key])
        note = ", ".join(filter(None, [f"{seconds * 1000:.0f} ms", beside]))
        yield Row(what=what, against=against, ratio=found, limit=limit, note=note)


def _resume_log(folder: Path, size: Size) -> Row:  # noqa: ARG001 - every measure is called alike
    state = full_log().to_dict()

    def ours() -> None:
        for _ in range(20):
            log = ResumeLog.from_dict(state)
            log.to_markdown()
            json.dumps(log.to_dict())

    def theirs() -> None:
        for _ in range(20):
            json.dumps(state)

    found, seconds = ratio(ours, theirs, size.rounds)
    note = f"{seconds / 20 * 1000:.1f} ms"
    return Row(
        what="resume log: make, Markdown, JSON",
        against="json.dumps of the state",
        ratio=found,
        limit=5.0,
        note=note,
    )


def _redaction(folder: Path, size: Size) -> Row:  # noqa: ARG001
    text = "\n".join(full_log().accomplishments) * 40
    redactor = Redactor()
    redactor.redact(text)
    seconds = median(time_call(lambda: redactor.redact(text)) for _ in range(size.rounds))
    speed = len(text.encode()) / seconds / 1e6
    return Row(what="redaction", against="MB/s", ratio=speed, limit=40.0, at_most=False)


def _transcripts(agent: Agent, folder: Path, size: Size) -> Iterator[Row]:
    """Measure reading a large transcript against copying it, and the status of a large against a small one."""
    large, small = folder / f"{agent.id}-large.jsonl", folder / f"{agent.id}-small.jsonl"
    write_transcript(agent, generate(seed=1, size_bytes=size.large_bytes), large)
    _shorten(large, small, size.small_bytes)
    copy = folder / "copy"

    def cp() -> None:
        process.run(["cp", str(large), str(copy)], timeout_seconds=600)

    reading, seconds = ratio(lambda: _count(agent.read(large)), cp, min(3, size.rounds))
    note = f"{large.stat().st_size / _MEGABYTE:.0f} MB in {seconds:.2f} s"
    yield Row(what=f"{agent.name}: read every record", against="cp", ratio=reading, limit=15.0, note=note)
    workspace = Workspace.open()
    of_large, of_small = SessionRef(agent=agent, transcript=large), SessionRef(agent=agent, transcript=small)
    found, seconds = ratio(
        lambda: [status_of(of_large, workspace) for _ in range(20)],
        lambda: [status_of(of_small, workspace) for _ in range(20)],
        size.rounds,
    )
    what, note = f"{agent.name}: status of a large transcript", f"{seconds / 20 * 1000:.1f} ms"
    yield Row(what=what, against="of a small one", ratio=found, limit=1.2, note=note)
    for path in (large, small, copy):
        path.unlink()


def _resume_logs(agent: Agent, folder: Path, size: Size) -> Iterator[Row]:
    """Measure a resume log from nothing against copying the transcript, and again after a megabyte, long against short session."""
    large, small = folder / f"{agent.id}-long.jsonl", folder / f"{agent.id}-short.jsonl"
    write_transcript(agent, generate(seed=4, size_bytes=size.large_bytes // 4), large)
    _shorten(large, small, 2 * size.small_bytes)
    copy = folder / "copy"

    def cp() -> None:
        process.run(["cp", str(large), str(copy)], timeout_seconds=600)

    session = SessionRef(agent=agent, transcript=large)
    found, seconds = ratio(lambda: log_text(session, Workspace.open()), cp, min(3, size.rounds))
    note = f"{large.stat().st_size / _MEGABYTE:.0f} MB in {seconds:.2f} s"
    yield Row(what=f"{agent.name}: resume log from nothing", against="cp", ratio=found, limit=20.0, note=note)
    again, seconds = ratio(_save_again(agent, large, size), _save_again(agent, small, size), size.rounds)
    what, note = f"{agent.name}: resume log again after 1 MB", f"{seconds * 1000:.0f} ms"
    yield Row(what=what, against="of a short session", ratio=again, limit=1.2, note=note)
    for path in (large, small, copy):
        path.unlink()


def _save_again(agent: Agent, transcript: Path, size: Size) -> Callable[[], object]:
    """Return what an incremental save does: read the records of the last megabyte and render the log."""
    records = [*agent.read(transcript)]
    known = next(
        number
        for number, each in enumerate(records)
        if each.place.end > records[-1].place.end - size.small_bytes
    )
    state = step(State(), records[:known], agent)
    return lambda: render(step(state, agent.read(transcript, records[known - 1].place), agent))


def _shorten(large: Path, small: Path, size_bytes: int) -> None:
    """Write the same session without its middle, so that only the size differs."""
    with large.open("rb") as source, small.open("wb") as target:
        target.write(source.readline())
        source.seek(-size_bytes, os.SEEK_END)
        source.readline()
        target.write(source.read())


def _hooks(agent: Agent, folder: Path, size: Size) -> Iterator[Row]:
    """Measure an installed hook, and how little it depends on the transcript's size."""
    scratch = folder / f"{agent.id}-hooks"
    scratch.mkdir()
    pairs = live.measure_hooks(agent, scratch, size.rounds, size.large_bytes, size.small_bytes)
    for key, what, against, limit in (
        ("fast", "hook after a tool", "python -I -S -c pass", 1.3),
        ("large", "the same on a large transcript", "on a small one", 1.1),
        ("save", "hook before a compaction, large transcript", "small one, both saved before", 1.2),
    ):
        seconds = median(ours for ours, _ in pairs[key])
        found = median(ours / theirs for ours, theirs in pairs[key])
        note = f"{seconds * 1000:.0f} ms"
        yield Row(what=f"{agent.name}: {what}", against=against, ratio=found, limit=limit, note=note)
    shutil.rmtree(scratch)


def _shrinking(agent: Agent, folder: Path, size: Size) -> Iterator[Row]:
    """Measure the write pass of a trim and the whole trim against copying the file, and its memory."""
    if not isinstance(agent, CanCopy):
        return
    home = folder / f"{agent.id}-shrinking"
    home.mkdir()
    large = home / f"rollout-2026-01-06T12-00-00-{generate(seed=6, size_bytes=1).session_id}.jsonl"
    write_transcript(agent, generate(seed=6, size_bytes=size.large_bytes), large)
    environment = scratch_environment(home) | {"CLAUDE_CONFIG_DIR": str(home), "CODEX_HOME": str(home)}
    found: ShrinkFigures = run_child(
        "bench.sessions", "shrink", large, agent.id, size.rounds, environment=environment
    )
    for key, what, limit in (("write", "write pass of a trim", 4.5), ("trim", "plan, write, validate", 10.0)):
        pairs = found["write"] if key == "write" else found["trim"]
        note = f"{found['megabytes']:.0f} MB in {median(ours for ours, _ in pairs):.2f} s"
        ratios = median(ours / theirs for ours, theirs in pairs)
        yield Row(
            what=f"{agent.name}: {what}",
            against="cp",
            ratio=ratios,
            limit=limit,
            note=note,
            is_judged=size.large_bytes >= _MIN_JUDGED_BYTES,
        )
    yield Row(what=f"{agent.name}: memory of a trim", against="MB", ratio=found["rss_megabytes"], limit=60.0)
    shutil.rmtree(home)


def _command(folder: Path, size: Size) -> Row:
    """Measure the whole command: the interpreter, the imports, reading the transcript."""
    transcript = folder / "command.jsonl"
    write_transcript(load_agents()[0], generate(seed=3, size_bytes=size.small_bytes), transcript)
    command = [sys.executable, "-m", "leftoff", "status", str(transcript)]
    bare = [sys.executable, "-I", "-S", "-c", "pass"]

    def times(command: list[str]) -> Callable[[], None]:
        def run() -> None:
            for _ in range(5):
                ended = process.run(command, timeout_seconds=60)
                if ended.exit_code != 0:
                    raise ProcessError(f"{' '.join(command)}: {ended.complaint}")

        return run

    found, seconds = ratio(times(command), times(bare), size.rounds)
    return Row(
        what="leftoff status, as python -m leftoff",
        against="python -I -S -c pass",
        ratio=found,
        limit=8.0,
        note=f"{seconds / 5 * 1000:.0f} ms",
    )


def _library(folder: Path, size: Size) -> Iterator[Row]:
    """Measure building, searching and listing, in a process with its own HOME."""
    scratch = folder / "library"
    scratch.mkdir()
    environment = scratch_environment(scratch, "XDG_", "LEFTOFF_")
    arguments = (scratch, size.rounds, size.library_bytes, size.sessions)
    found = run_child("bench.sessions", "library", *arguments, environment=environment, folder=scratch)
    yield from _library_rows(found, size)
    shutil.rmtree(scratch)


def _library_rows(found: LibraryFigures, size: Size) -> Iterator[Row]:
    megabytes, build, line = found["megabytes"], found["build"], median(found["line"])
    note, spent = f"{megabytes:.0f} MB in {build:.1f} s", build / found["read"]
    yield Row(what="library: build", against="reading every record", ratio=spent, limit=15.0, note=note)
    yield Row(what="library: size", against="transcripts", ratio=found["size"], limit=0.25)
    what, note = "library: peak memory of the build", f"{found['peak']:.0f} MB"
    yield Row(what=what, against="128 MB", ratio=found["peak"] / 128, limit=1.0, note=note)
    what, note = "library: update after one line", f"{line * 1000:.0f} ms"
    yield Row(what=what, against="building it", ratio=line / build, limit=0.25, note=note)
    rows = [("python -I -S -c pass", found["search"], 8.0)]
    if size is FULL and found["ripgrep"]:  # a small folder is searched through before Python has started
        rows.append(("ripgrep", found["ripgrep"], 0.9))
    for against, pairs, limit in rows:
        what, note = (
            f"leftoff search in {megabytes:.0f} MB",
            f"{median(ours for ours, _ in pairs) * 1000:.0f} ms",
        )
        share = median(ours / theirs for ours, theirs in pairs)
        yield Row(what=what, against=against, ratio=share, limit=limit, note=note)
    first, again = found["list_first"], median(found["list_again"])
    what, note = f"list {size.sessions:,} sessions again", f"{again:.2f} s, first {first:.1f} s"
    yield Row(what=what, against="the first time", ratio=again / first, limit=0.5, note=note)


def _count(items: Iterable[object]) -> int:
    return sum(1 for _ in items)


def full_log() -> ResumeLog:
    """Return a resume log with full sections: about 40 KB of text."""
    words = (
        "The limiter in src/limits/bucket.py counts per user and window: RateLimiter.allow asks Redis once, "
        "and test_limits.py::test_burst shows that a burst of 100 passes while the next one waits"
    )
    return ResumeLog(
        session_id="bench",
        context_metrics=ContextMetrics(total_budget=167_000, used_tokens=150_000),
        mission_summary=". ".join([words] * 20),
        accomplishments=[f"{words} (part {number})" for number in range(36)],
        key_findings=[f"{words} (finding {number})" for number in range(44)],
        decisions=[{"decision": f"Use Redis, case {number}", "rationale": words} for number in range(24)],
        next_steps=[f"{words} (step {number})" for number in range(26)],
        critical_context={"files": [f"src/module_{number}.py: edited, lines 1-200" for number in range(60)]},
        metadata={"files_modified": [f"src/module_{number}.py" for number in range(30)]},
    )
