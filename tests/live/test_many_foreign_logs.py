"""Any number of logs from elsewhere neither hides one's own log nor makes the start of a session slow."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from leftoff.platform import clock
from tests.support.live_session import LiveSession, wait_for

pytestmark = pytest.mark.usefixtures("interactive_user")
LOGS = Path(".leftoff/resume-logs")
FOREIGN = 20_000
START = "SessionStart"


def start_session() -> tuple[str, float, int]:
    """Return what the hook says at the start of a session, its CPU seconds and its peak memory in bytes."""
    event = {
        "session_id": clock.uuid4(),
        "cwd": str(Path.cwd()),
        "hook_event_name": START,
        "source": "startup",
    }
    code = (
        "import json, resource, sys\n"
        "from leftoff.live.events import handle_event\n"
        "said = handle_event('claude', sys.stdin.buffer.read()).decode()\n"
        "used = resource.getrusage(resource.RUSAGE_SELF)\n"
        "print(json.dumps([said, used.ru_utime + used.ru_stime, used.ru_maxrss]))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        input=json.dumps(event).encode(),
        capture_output=True,
        check=True,
        timeout=120,
    )
    said, seconds, kilobytes = json.loads(done.stdout)
    return said, seconds, kilobytes * (1 if sys.platform == "darwin" else 1024)


def add_foreign_logs() -> None:
    """Add tiny logs that are newer than any other."""
    for number in range(FOREIGN):
        (LOGS / f"session-foreign-{number}.json").write_bytes(b"{}")


@pytest.mark.slow
def test_twenty_thousand_foreign_logs_cost_little_memory_and_hide_nothing(isolated_home: Path) -> None:
    own = LiveSession(isolated_home)
    own.hook(START, source="startup")
    own.turn(50_000)
    own.hook("SessionEnd", reason="prompt_input_exit")
    wait_for((LOGS / f"session-{own.session_id}.json").exists)
    before, _, usual_bytes = start_session()
    assert own.session_id[:8] in before
    add_foreign_logs()
    after, _, peak_bytes = start_session()
    assert own.session_id[:8] in after
    assert peak_bytes - usual_bytes < 60 * 1024 * 1024


def test_the_newest_foreign_logs_still_wait_for_trust() -> None:
    LOGS.mkdir(parents=True)
    for number in range(300):
        path = LOGS / f"session-foreign-{number}.json"
        path.write_bytes(b"{}")
        os.utime(path, (number, number))
    assert "wait for your trust" in start_session()[0]
