"""Count how many of leftoff's modules and functions run in five journeys, each on a real transcript in a fresh scratch HOME.

Only functions count: a module that is imported and has none of its functions called is not part of a journey. ``source`` may be the
``src`` folder of another checkout, to compare two versions.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from leftoff.errors import NotFoundError
from leftoff.platform import paths

_SOURCE = Path(__file__).parents[1] / "src"
_LARGEST_BYTES = 4_000_000
JOURNEYS = {
    "status": ["status"],
    "log save": ["log", "save"],
    "PreCompact hook": ["hook", "claude"],
    "trim": ["trim"],
    "search": ["search", "error"],
}
# Runs the command line under a profiler. Class bodies and modules are not functions: their code lacks CO_OPTIMIZED (1).
_PROFILED = """
import os, sys
functions = set()
def profile(frame, event, argument):
    code = frame.f_code
    if event == "call" and code.co_flags & 1 and "/leftoff/" in code.co_filename:
        functions.add((code.co_filename, code.co_firstlineno, code.co_name))
def report(*_):
    sys.setprofile(None)
    loaded = sum(name.partition(".")[0] == "leftoff" for name in sys.modules)
    with open(os.environ["REPORT"], "w") as file:
        file.write(f"{len({name for name, _, _ in functions})} {len(functions)} {loaded}")
    end(0)
end, os._exit = os._exit, report
from leftoff.__main__ import main
sys.setprofile(profile)
try:
    main()
finally:
    report()
"""


class Journey(NamedTuple):
    """What ran: modules with at least one function that was called, those functions, and all modules that were loaded."""

    name: str
    modules: int
    functions: int
    loaded: int


def journeys(source: Path = _SOURCE, transcript: Path | None = None) -> Iterator[Journey]:
    """Run all journeys with the package in ``source`` on ``transcript`` (default: a large one of LEFTOFF_TRANSCRIPTS)."""
    transcript = transcript or _large_transcript()
    for name, arguments in JOURNEYS.items():
        with tempfile.TemporaryDirectory(prefix="leftoff-journey-") as folder:
            yield _run(name, arguments, source, transcript, Path(folder))


def _large_transcript() -> Path:
    folder = Path(paths.environment().get("LEFTOFF_TRANSCRIPTS", ""))
    sizes = {path: path.stat().st_size for path in sorted(folder.glob("claude-*.jsonl"))}
    small_enough = [path for path, size in sizes.items() if size <= _LARGEST_BYTES]
    if not small_enough:
        raise NotFoundError(
            "No transcripts. Name their folder: LEFTOFF_TRANSCRIPTS=… python -m bench journeys"
        )
    return max(small_enough, key=sizes.__getitem__)


def _run(name: str, arguments: list[str], source: Path, transcript: Path, folder: Path) -> Journey:
    project = folder / "project"
    project.mkdir()
    session_id = _session_id(transcript)
    copy = folder / ".claude" / "projects" / str(project).replace("/", "-") / f"{session_id}.jsonl"
    copy.parent.mkdir(parents=True)
    shutil.copyfile(transcript, copy)
    event = {
        "hook_event_name": "PreCompact",
        "session_id": session_id,
        "transcript_path": str(copy),
        "cwd": str(project),
        "trigger": "auto",
    }
    selector = [] if arguments[0] in {"hook", "search"} else [str(copy)]
    report = folder / "report"
    subprocess.run(
        [sys.executable, "-P", "-c", _PROFILED, *arguments, *selector],
        cwd=project,
        env={
            "HOME": str(folder),
            "PATH": paths.environment()["PATH"],
            "PYTHONPATH": str(source),
            "REPORT": str(report),
        },
        input=json.dumps(event).encode(),
        stdout=subprocess.DEVNULL,
        check=False,
        timeout=120,
    )
    return Journey(name, *map(int, report.read_text(encoding="ascii").split()))


def _session_id(transcript: Path) -> str:
    with transcript.open("rb") as lines:
        return next(str(each["sessionId"]) for each in map(json.loads, lines) if each.get("sessionId"))
