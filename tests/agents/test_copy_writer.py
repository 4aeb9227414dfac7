"""Copies that come to nothing: the writer is killed, the disk is full, or what was written is damaged. Nothing is listed then."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from leftoff.agents.claude import Claude
from leftoff.agents.claude.copy_checks import OUTLINER as CLAUDE_OUTLINER
from leftoff.agents.codex import Codex
from leftoff.agents.codex.copy_checks import OUTLINER as CODEX_OUTLINER
from leftoff.agents.copy_usage import ReservedUsage
from leftoff.agents.copy_writer import CopyLines, Outliner, write_session
from leftoff.errors import StorageError
from leftoff.shrink.invariants import COMMON_INVARIANTS
from leftoff.testing.builders import Story, call
from tests.support.transcripts import write_transcript

CLIENTS = {"claude": (Claude, CLAUDE_OUTLINER), "codex": (Codex, CODEX_OUTLINER)}
WORDS = "".join(f"{number}: a line of output\n" for number in range(1500))

# Copies a session once; what is put for MOMENT and LIMIT decides what becomes of it.
_COPY = """
import os, resource, signal, sys
from datetime import UTC, datetime
from pathlib import Path
from leftoff.agents.claude import Claude
from leftoff.agents.codex import Codex
from leftoff.core.trim_plan import CopyOrder
from leftoff.shrink.invariants import COMMON_INVARIANTS

class AtTheEnd:
    name = "at the end"
    def forbids(self, cut):
        return None
    def watch(self):
        return self
    def see(self, lines):
        pass
    def broken(self):
        if moment == "all written":
            os.kill(os.getpid(), signal.SIGKILL)
        return ()

def progress(done, whole):
    if moment == "half written" and done > whole // 2:
        os.kill(os.getpid(), signal.SIGKILL)

agent_id, home, transcript, moment = sys.argv[1:]
if moment == "full disk":
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (2_000_000, 2_000_000))
agent = (Claude if agent_id == "claude" else Codex)(home=Path(home))
order = CopyOrder(
    at=datetime.now(UTC), metadata={}, used_tokens=9, invariants=(*COMMON_INVARIANTS, AtTheEnd()), progress=progress
)
agent.write_copy(agent.open(Path(transcript)), (), order)
"""


@pytest.fixture(params=CLIENTS)
def agent(request, tmp_path):
    return CLIENTS[request.param][0](home=tmp_path)


@pytest.fixture
def transcript(agent, tmp_path):
    """A session of more than 4 MB, where its agent would keep it."""
    story = Story()
    for turn in range(80):
        story.asked(f"Step {turn}").replied("Looking.", call("shell", {"command": f"cat {turn}"}, WORDS))
    folder = tmp_path / ("projects/-p" if agent.id == "claude" else "sessions/2026/01/06")
    folder.mkdir(parents=True)
    stem = story.session_id if agent.id == "claude" else f"rollout-2026-01-06T12-00-00-{story.session_id}"
    path = folder / f"{stem}.jsonl"
    write_transcript(agent, story.script(), path)
    assert path.stat().st_size > 3_000_000
    return path


def copied(agent, transcript, moment):
    return subprocess.run(
        [sys.executable, "-c", _COPY, agent.id, agent.home, transcript, moment],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


def files(folder: Path):
    return {path for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("moment", ["half written", "all written"])
def test_a_killed_writer_leaves_nothing_that_is_listed(agent, transcript, moment):
    """A killed writer leaves at most a hidden temporary file, which the next writer removes."""
    before = files(agent.home)
    assert copied(agent, transcript, moment).returncode == -signal.SIGKILL
    (debris,) = files(agent.home) - before
    assert debris.name.startswith(".")
    assert debris.suffix == ".tmp"
    assert {*agent.transcripts()} == {transcript}
    os.utime(debris, (0, 0))
    done = copied(agent, transcript, "no trouble")
    assert (done.returncode, done.stderr) == (0, "")
    assert not debris.exists()
    assert len({*agent.transcripts()}) == 2


def test_a_full_disk_leaves_nothing(agent, transcript):
    """A file that may not grow is the same to a writer."""
    before = files(agent.home)
    done = copied(agent, transcript, "full disk")
    assert "StorageError" in done.stderr
    assert "not written" in done.stderr
    assert files(agent.home) == before


def without_answer(line: bytes) -> bytes:
    """The line, with something else where it answered a call."""
    value = json.loads(line)
    if "message" in value:
        value["message"]["content"] = [{"type": "text", "text": "oops"}]
    else:
        value["payload"] = {
            "type": "message",
            "role": "user",
            "content": [{"type": "input_text", "text": "oops"}],
        }
    return json.dumps(value, separators=(",", ":")).encode() + b"\n"


def damaged(lines: list[bytes], outliner: Outliner, damage: str) -> list[CopyLines]:
    """What a writer would hand on that makes this mistake."""
    calls = [(number, *each) for number, line in enumerate(lines) for each in outliner.changed(line).calls]
    number, call_id = next((number, name) for number, name, is_answer in calls if is_answer)
    request = next(number for number, name, is_answer in calls if name == call_id and not is_answer)
    same = [CopyLines(line) for line in lines]
    match damage:
        case "an answer lost":
            same[number] = CopyLines(without_answer(lines[number]), lines[number])
        case "a line lost":
            del same[number]
        case "a line twice":
            same.insert(number, same[number])
        case "a request behind its answer":
            same.append(same.pop(request))
        case "half a line":
            same[number] = CopyLines(lines[number][: len(lines[number]) // 2] + b"\n", lines[number])
    return same


@pytest.mark.parametrize(
    "damage",
    ["none", "an answer lost", "a line lost", "a line twice", "a request behind its answer", "half a line"],
)
def test_damage_is_seen_before_the_file_has_its_name(agent, transcript, damage):
    """A damaged copy is refused, and its folder is left as it was."""
    before = files(agent.home)
    outliner = CLIENTS[agent.id][1]
    lines = transcript.read_bytes().splitlines(keepends=True)
    target = transcript.with_name("copy.jsonl")

    def write() -> None:
        write_session(
            target,
            damaged(lines, outliner, damage),
            outliner,
            source=lambda read: map(read, lines),
            invariants=COMMON_INVARIANTS,
            reserved=ReservedUsage(None),
        )

    if damage == "none":
        write()
        assert target.read_bytes() == b"".join(lines)
        return
    with pytest.raises(StorageError, match="not written, because the agent could not continue from it"):
        write()
    assert files(agent.home) == before
