"""Measures of whole sessions: building and searching the library, and trimming.

Each runs in its own process with a scratch HOME, so that the user's library is not touched and its memory can be measured:
``python -m bench.sessions library FOLDER ROUNDS BYTES SESSIONS`` and ``python -m bench.sessions shrink TRANSCRIPT AGENT ROUNDS``
print one JSON object. A search is timed from the start of the process to its end. A whole trim is the plan, the copy and its
validation; the write pass is the copy alone.
"""

from __future__ import annotations

import json
import shutil
import sys
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TypedDict

from bench.generate import generate
from bench.measuring import peak_bytes, time_call
from leftoff.agents.registry import load_agents
from leftoff.catalogue.database import library_folder
from leftoff.core.protocols import Agent, CanCopy
from leftoff.core.session import Session, SessionNode
from leftoff.core.trim_plan import CopyOrder, TrimPlan
from leftoff.errors import ProcessError
from leftoff.platform import clock, process
from leftoff.search.update_index import update_library
from leftoff.sessions.lineage import lineage_block
from leftoff.sessions.listing import TranscriptFile, entries
from leftoff.shrink.cuts import TrimParameters
from leftoff.shrink.derive import CopyingAgent
from leftoff.shrink.invariants import COMMON_INVARIANTS
from leftoff.shrink.planners import plan_trim
from leftoff.workspace import Workspace
from tests.support.transcripts import write_transcript

_SESSION_BYTES = 2_000_000
_MAX_LINKS = 30_000  # to one file; some systems allow 65,000
_BARE = (sys.executable, "-I", "-S", "-c", "pass")
_SEARCH = (sys.executable, "-m", "leftoff", "search")


class LibraryFigures(TypedDict):
    """Seconds, and pairs of seconds per round: ours and theirs. ``ripgrep`` is empty if it is not installed."""

    megabytes: float
    build: float
    read: float
    size: float
    peak: float  # megabytes of the process that built it
    line: list[float]
    search: list[tuple[float, float]]
    ripgrep: list[tuple[float, float]]
    list_first: float
    list_again: list[float]


def measure_library(folder: Path, rounds: int, size_bytes: int, sessions: int) -> LibraryFigures:
    """Generate sessions, build the library, and search it."""
    agent = load_agents()[0]
    places = _write_sessions(agent, folder, size_bytes)
    total = sum(place.stat().st_size for place in places)
    update_library(Workspace.open(), find=list)  # what is loaded once is loaded now
    read = time_call(lambda: sum(1 for place in places for _ in agent.read(place)))
    build = time_call(lambda: update_library(Workspace.open(), find=lambda: _transcript_files(agent, places)))
    peak = peak_bytes() / 1e6
    kept = sum(path.stat().st_size for path in Path(library_folder()).iterdir())
    word = _search_word(places[0])
    own, ripgrep = (*_SEARCH, word), shutil.which("rg")
    theirs = (str(ripgrep), "--ignore-case", "--count", word, *map(str, places))
    first, again = _time_listing(agent, folder, sessions, rounds)
    return {
        "megabytes": total / 1e6,
        "build": build,
        "read": read,
        "size": kept / total,
        "peak": peak,
        "search": [(_time_command(own), _time_command(_BARE)) for _ in range(rounds)],
        "ripgrep": [(_time_command(own), _time_command(theirs)) for _ in range(rounds)] if ripgrep else [],
        "line": [_update_after_one_line(agent, places) for _ in range(rounds)],
        "list_first": first,
        "list_again": again,
    }


def _write_sessions(agent: Agent, folder: Path, size_bytes: int) -> list[Path]:
    count = max(2, size_bytes // _SESSION_BYTES)
    places = [folder / f"{number:08x}.jsonl" for number in range(count)]
    for number, place in enumerate(places):
        write_transcript(agent, generate(seed=number, size_bytes=size_bytes // count), place)
    return places


def _transcript_files(agent: Agent, places: Iterable[Path]) -> list[TranscriptFile]:
    stats = [(place, place.stat()) for place in places]
    return [
        TranscriptFile(agent=agent, transcript=place, modified_ns=stat.st_mtime_ns, size_bytes=stat.st_size)
        for place, stat in stats
    ]


def _search_word(transcript: Path) -> str:
    """Return the longest word of the first prompt, as a person might search for it."""
    entry = load_agents()[0].entry(transcript)
    return max((entry.first_prompt or "limiter").split(), key=lambda word: word.isalpha() * len(word))


def _update_after_one_line(agent: Agent, places: Sequence[Path]) -> float:
    """Time an update after one more line in the first session."""
    last = places[0].read_bytes().splitlines(keepends=True)[-1]
    with places[0].open("ab") as file:
        file.write(last)
    return time_call(lambda: update_library(Workspace.open(), find=lambda: _transcript_files(agent, places)))


def _time_listing(agent: Agent, folder: Path, sessions: int, rounds: int) -> tuple[float, list[float]]:
    """Time listing many sessions: first, and again when no file has changed."""
    many = folder / "many"
    many.mkdir()
    places = [many / f"{number:06}.jsonl" for number in range(sessions)]
    pattern = places[0]
    for number, place in enumerate(places):
        if number % _MAX_LINKS == 0:
            pattern = place
            write_transcript(agent, generate(seed=2, size_bytes=20_000), pattern)
        else:
            place.hardlink_to(pattern)
    found = _transcript_files(agent, places)
    first = time_call(lambda: sum(1 for _ in entries(found)))
    return first, [time_call(lambda: sum(1 for _ in entries(found))) for _ in range(rounds)]


def _time_command(command: Sequence[str]) -> float:
    started = time.perf_counter()
    ended = process.run(command, timeout_seconds=600)
    seconds = time.perf_counter() - started
    if ended.exit_code != 0:
        raise ProcessError(f"{' '.join(command[:4])}: {ended.complaint}")
    return seconds


class ShrinkFigures(TypedDict):
    """Seconds per round, ours and those of ``cp``, and the peak memory."""

    write: list[tuple[float, float]]
    trim: list[tuple[float, float]]
    megabytes: float
    rss_megabytes: float


def measure_shrinking(agent: CopyingAgent, transcript: Path, rounds: int) -> ShrinkFigures:
    """Measure all rounds; each takes both sides in turn, so that a busy machine slows both."""
    session = agent.open(transcript)
    plan = plan_trim(agent, session, TrimParameters())
    order = CopyOrder(
        at=clock.now(),
        metadata={"trim_metadata": {"parent_file": str(transcript)}},
        block=lineage_block([SessionNode(transcript, None)], "trimmed"),
        first_prompt=plan.first_prompt,
        live_from=plan.live_from,
        used_tokens=max(1, plan.live_tokens - plan.saved_tokens),
        invariants=COMMON_INVARIANTS,
    )

    def cp() -> None:
        process.run(["cp", str(transcript), str(transcript.with_name("copied"))], timeout_seconds=600)

    write = [
        (time_call(lambda: _write(agent, session, plan, order._replace(invariants=()))), time_call(cp))
        for _ in range(rounds)
    ]
    trim = [(time_call(lambda: _trim(agent, transcript, order)), time_call(cp)) for _ in range(rounds)]
    return {
        "write": write,
        "trim": trim,
        "megabytes": transcript.stat().st_size / 1e6,
        "rss_megabytes": peak_bytes() / 1e6,
    }


def _trim(agent: CopyingAgent, transcript: Path, order: CopyOrder) -> None:
    session = agent.open(transcript)
    plan = plan_trim(agent, session, TrimParameters())
    _write(agent, session, plan, order._replace(first_prompt=plan.first_prompt, live_from=plan.live_from))


def _write(agent: CopyingAgent, session: Session, plan: TrimPlan, order: CopyOrder) -> None:
    agent.write_copy(session, plan.cuts, order).transcript.unlink()


def _measure_shrinking_of(transcript: Path, agent_id: str, rounds: int) -> ShrinkFigures:
    """Measure an existing transcript, so that generating it does not count as memory of the trim."""
    agent = next(each for each in load_agents() if each.id == agent_id)
    if not isinstance(agent, CanCopy):
        raise ProcessError(f"{agent.name} has no copies to measure.")
    return measure_shrinking(agent, transcript, rounds)


def main(what: str, place: str, *rest: str) -> None:
    """Run the child process."""
    found: LibraryFigures | ShrinkFigures
    if what == "library":
        rounds, size_bytes, sessions = map(int, rest)
        found = measure_library(Path(place), rounds, size_bytes, sessions)
    else:
        agent_id, rounds_wanted = rest
        found = _measure_shrinking_of(Path(place), agent_id, int(rounds_wanted))
    sys.stdout.write(json.dumps(found))


if __name__ == "__main__":
    main(*sys.argv[1:])
