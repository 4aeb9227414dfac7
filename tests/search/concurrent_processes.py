"""Two writers and four readers on one library, each in its own process; writers are killed and restarted."""

import random
import signal
import subprocess
import sys
import time
from pathlib import Path

from leftoff.catalogue import database
from leftoff.platform import paths
from leftoff.search.pieces import add_functions
from tests.search.sample_library import ask

ROOT = Path(__file__).parents[2]

_WRITER = """
import sys
from tests.search.sample_library import piece, reached, source
from leftoff.search.index_writer import IndexWriter
from leftoff.errors import LockTimeoutError
folder, seed, lines = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
writer = IndexWriter(folder, patience_seconds=60)
for turn in range(lines):
    for name in ("a", "b", "c"):
        place, _ = writer.read_position(f"/home/dev/{name}.jsonl")
        line = 1 if place is None else place.line_idx + 2
        if line <= lines:
            writer.add(source(name), [piece(f"unique{name}{line} common words", line)], before=place, after=reached(line))
writer.close()
"""
_READER = """
import sys, time
from leftoff.search.pieces import add_functions
from tests.search.sample_library import ask
folder, deadline = sys.argv[1], time.monotonic() + float(sys.argv[2])
count = 0
while time.monotonic() < deadline:
    for session in ask(folder, "common").sessions:
        assert session.places >= len(session.hits) > 0
        for hit in session.hits:
            assert hit.text == f"unique{session.session_id}{hit.line} common words", hit
        count += 1
print(count)
"""


def start(code, *arguments):
    """Start a process that runs the code."""
    command = [sys.executable, "-c", code, *map(str, arguments)]
    return subprocess.Popen(
        command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=_environment()
    )


def _environment():
    found = paths.environment()
    return found | {
        "PYTHONPATH": f"{ROOT}{':' if found.get('PYTHONPATH') else ''}{found.get('PYTHONPATH', '')}"
    }


def play(folder, *, seconds, kills, lines):
    """Run them; afterwards nothing is broken, and after one more update nothing is missing."""
    fill_first(folder, lines)
    readers = [start(_READER, folder, seconds) for _ in range(4)]
    writers = [start(_WRITER, folder, seed, lines) for seed in range(2)]
    chance = random.Random(7)
    try:
        for _ in range(kills):
            time.sleep(seconds * chance.uniform(0.5, 1) / (kills + 1))
            victim = chance.randrange(2)
            writers[victim].send_signal(signal.SIGKILL)
            writers[victim].communicate(timeout=60)
            writers[victim] = start(_WRITER, folder, victim, lines)
        for reader in readers:
            out, complaint = reader.communicate(timeout=seconds + 120)
            assert reader.returncode == 0, complaint
            assert int(out) > 0
        for writer in writers:
            _, complaint = writer.communicate(timeout=300)
            assert writer.returncode == 0, complaint
    finally:
        for each in (*readers, *writers):
            each.kill()
            each.wait()
            each.stdout.close()
            each.stderr.close()
    check(folder, lines)


def fill_first(folder, lines):
    """Add one line, so that readers have something to read from the start."""
    done = start(_WRITER, folder, 0, 1)
    _, complaint = done.communicate(timeout=120)
    assert done.returncode == 0, complaint
    assert lines > 1


def check(folder, lines):
    """Check that the file is sound and that each line occurs exactly once."""
    connection = database.open_for_writing(str(folder))
    add_functions(connection)
    assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    connection.execute("INSERT INTO words(words) VALUES ('integrity-check')")
    assert connection.execute(
        "SELECT id >> 24, count(*), count(DISTINCT line) FROM pieces GROUP BY 1"
    ).fetchall() == [(number, lines, lines) for number in (1, 2, 3)]
    connection.close()
    for name in ("a", "b", "c"):
        for line in (1, lines // 2, lines):
            (found,) = ask(folder, f"unique{name}{line}").sessions
            assert [hit.line for hit in found.hits] == [line]
