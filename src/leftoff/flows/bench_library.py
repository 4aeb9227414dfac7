"""The measures of the library, run as a process of its own with a scratch HOME: nobody's own library is touched.

``python -m leftoff.flows.bench_library FOLDER ROUNDS BYTES SESSIONS`` prints one JSON object. A search is measured as people
meet it, from the start of the process to its last line.
"""

from __future__ import annotations

import json
import shutil
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TypedDict

from leftoff.errors import ProcessError
from leftoff.flows.agents import agents_here
from leftoff.flows.library_folder import library_folder
from leftoff.flows.library_update import update_library
from leftoff.flows.sessions import Found, entries
from leftoff.model.protocols import Agent
from leftoff.samples.generate import generate
from leftoff.system import memory, process

_SESSION_BYTES = 2_000_000
_MOST_LINKS = 30_000  # to one file; some systems allow 65,000
_BARE = (sys.executable, "-I", "-S", "-c", "pass")
_SEARCH = (sys.executable, "-m", "leftoff", "search")


class Measured(TypedDict):
    """Seconds, and pairs of seconds of each round: ours and theirs. ``ripgrep`` is empty where there is none."""

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


def measured(folder: Path, rounds: int, size_bytes: int, sessions: int) -> Measured:
    """Generate sessions, build the library, and ask it."""
    agent = agents_here()[0]
    places = _sessions(agent, folder, size_bytes)
    total = sum(place.stat().st_size for place in places)
    update_library(find=list)  # what is loaded once is loaded now
    read = _timed(lambda: sum(1 for place in places for _ in agent.read(place)))
    build = _timed(lambda: update_library(find=lambda: _found(agent, places)))
    peak = memory.peak_bytes() / 1e6
    kept = sum(path.stat().st_size for path in Path(library_folder()).iterdir())
    word = _telling_word(places[0])
    own, ripgrep = (*_SEARCH, word), shutil.which("rg")
    theirs = (str(ripgrep), "--ignore-case", "--count", word, *map(str, places))
    first, again = _listed(agent, folder, sessions, rounds)
    return {
        "megabytes": total / 1e6,
        "build": build,
        "read": read,
        "size": kept / total,
        "peak": peak,
        "search": [(_run(own), _run(_BARE)) for _ in range(rounds)],
        "ripgrep": [(_run(own), _run(theirs)) for _ in range(rounds)] if ripgrep else [],
        "line": [_after_one_line(agent, places) for _ in range(rounds)],
        "list_first": first,
        "list_again": again,
    }


def _sessions(agent: Agent, folder: Path, size_bytes: int) -> list[Path]:
    count = max(2, size_bytes // _SESSION_BYTES)
    places = [folder / f"{number:08x}.jsonl" for number in range(count)]
    for number, place in enumerate(places):
        agent.transcribe(generate(seed=number, size_bytes=size_bytes // count), place)
    return places


def _found(agent: Agent, places: Iterable[Path]) -> list[Found]:
    stats = [(place, place.stat()) for place in places]
    return [
        Found(agent=agent, transcript=place, modified_ns=stat.st_mtime_ns, size_bytes=stat.st_size)
        for place, stat in stats
    ]


def _telling_word(transcript: Path) -> str:
    """The longest word of the first prompt: something that a person would look for."""
    entry = agents_here()[0].entry(transcript)
    return max((entry.first_prompt or "limiter").split(), key=lambda word: word.isalpha() * len(word))


def _after_one_line(agent: Agent, places: Sequence[Path]) -> float:
    """One more line at the end of the largest session, as a live one gets them."""
    last = places[0].read_bytes().splitlines(keepends=True)[-1]
    with places[0].open("ab") as file:
        file.write(last)
    return _timed(lambda: update_library(find=lambda: _found(agent, places)))


def _listed(agent: Agent, folder: Path, sessions: int, rounds: int) -> tuple[float, list[float]]:
    """Listing many sessions: the first time, and again when no file has changed."""
    many = folder / "many"
    many.mkdir()
    places = [many / f"{number:06}.jsonl" for number in range(sessions)]
    pattern = places[0]
    for number, place in enumerate(places):
        if number % _MOST_LINKS == 0:
            pattern = place
            agent.transcribe(generate(seed=2, size_bytes=20_000), pattern)
        else:
            place.hardlink_to(pattern)
    found = _found(agent, places)
    first = _timed(lambda: sum(1 for _ in entries(found)))
    return first, [_timed(lambda: sum(1 for _ in entries(found))) for _ in range(rounds)]


def _run(command: Sequence[str]) -> float:
    begun = time.perf_counter()
    ended = process.run(command, timeout_seconds=600)
    seconds = time.perf_counter() - begun
    if ended.exit_code != 0:
        raise ProcessError(f"{' '.join(command[:4])}: {ended.complaint}")
    return seconds


def _timed(work: Callable[[], object]) -> float:
    begun = time.perf_counter()
    work()
    return time.perf_counter() - begun


if __name__ == "__main__":
    sys.stdout.write(json.dumps(measured(Path(sys.argv[1]), *map(int, sys.argv[2:]))))
