"""What subagents wrote goes along with a copy: before the copy has its name, and never half."""

import os
import signal
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest

from leftoff.agents.claude import Claude, subagents
from leftoff.model.copying import CopyOrder
from leftoff.model.records import Place
from leftoff.testing.builders import Story, call

# Copies a session, and is stopped as soon as it begins to do what MOMENT says; with 0, the file that it opens then is gone.
_COPY = """
import os, signal, sys
from datetime import UTC, datetime
from pathlib import Path
from leftoff.agents.claude import Claude
from leftoff.model.copying import CopyOrder

home, transcript, moment, number = sys.argv[1:]
projects = str(Path(transcript).parent)
named = []

def is_now(event, arguments):
    if event == "open":
        path = str(arguments[0])
        if moment == "reading the last of them":
            return path.endswith(".meta.json") and path.startswith(transcript.removesuffix(".jsonl"))
        return moment == "named" and named and path == projects
    if event != "os.rename":
        return False
    target = str(arguments[1])
    if target.endswith(".jsonl"):
        named.append(target)
        return moment == "giving the transcript its name"
    return moment == "giving their folder its name"

def stop(event, arguments):
    if not is_now(event, arguments):
        return
    if number == "0":
        os.unlink(arguments[0])
    else:
        os.kill(os.getpid(), int(number))

sys.addaudithook(stop)
agent = Claude(home=Path(home))
agent.write_copy(agent.open(Path(transcript)), (), CopyOrder(at=datetime.now(UTC), metadata={}))
"""
AT = datetime(2026, 1, 6, 12, tzinfo=UTC)
MOMENTS = ["reading the last of them", "giving their folder its name", "giving the transcript its name"]


@pytest.fixture
def transcript(claude: Claude) -> Path:
    """A session that sent somebody, where its client would keep it."""
    story = Story().asked("Go").delegated("Look around", "Nothing", call("shell", {"command": "ls"}, "a.py"))
    path = claude.home / "projects" / "-p" / f"{story.session_id}.jsonl"
    path.parent.mkdir(parents=True)
    claude.transcribe(story.script(), path)
    assert len(wrote(path)) == 2
    return path


def wrote(transcript: Path) -> dict[str, bytes]:
    """What stands in the folder of its subagents."""
    return {path.name: path.read_bytes() for path in (transcript.with_suffix("") / "subagents").glob("*")}


def there(claude: Claude) -> set[Path]:
    return {*claude.home.rglob("*")}


def stopped(claude: Claude, transcript: Path, moment: str, number: int) -> int:
    return subprocess.run(
        [sys.executable, "-c", _COPY, claude.home, transcript, moment, str(int(number))],
        capture_output=True,
        timeout=300,
        check=False,
    ).returncode


def copied(claude: Claude, transcript: Path) -> Path:
    order = CopyOrder(at=AT, metadata={})
    return claude.write_copy(claude.open(transcript), (), order).transcript


@pytest.mark.parametrize("moment", MOMENTS)
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM], ids=["killed", "ended"])
def test_a_killed_writer_leaves_no_session_that_is_listed(claude, transcript, moment, number):
    """The transcript has its name last: before that there is nothing to go on from without its subagents."""
    assert stopped(claude, transcript, moment, number) == -number
    assert [*claude.transcripts()] == [transcript]


def test_what_a_killed_writer_left_is_removed_by_the_next(claude, transcript):
    """It stands under a name that nobody looks at."""
    before = there(claude)
    stopped(claude, transcript, MOMENTS[0], signal.SIGKILL)
    debris = {path for path in there(claude) - before if path.parent == transcript.parent}
    assert {path.suffix for path in debris} == {".tmp"}
    for path in debris:
        os.utime(path, (0, 0))
    copied(claude, transcript)
    assert not any(path.exists() for path in debris)


@pytest.mark.parametrize("moment", [*MOMENTS, "named"])
def test_a_person_who_stops_the_copying_finds_nothing_of_it(claude, transcript, moment):
    """Ctrl-C at any moment, also right after the transcript has its name: all of it, or nothing."""
    before = there(claude)
    assert stopped(claude, transcript, moment, signal.SIGINT) in {-signal.SIGINT, 130}
    assert there(claude) == before


def test_links_are_not_followed(claude, transcript, tmp_path):
    """Neither that of one file, though a line names it, nor that of their folder or the session's."""
    name = next(name for name in wrote(transcript) if name.endswith(".jsonl"))
    own = transcript.with_suffix("") / "subagents" / name
    moved = own.rename(tmp_path / name)
    own.symlink_to(moved)
    assert {*wrote(copied(claude, transcript))} == {*wrote(transcript)} - {name}
    for folder in (own.parent, own.parent.parent):
        aside = folder.rename(tmp_path / f"moved-{folder.name}")
        folder.symlink_to(aside)
        assert wrote(transcript)
        assert wrote(copied(claude, transcript)) == {}
        folder.unlink()
        aside.rename(folder)


def test_one_that_cannot_be_read_is_left_out(claude, transcript):
    """As one that is gone by the time it is opened: the session is copied with the others."""
    assert stopped(claude, transcript, MOMENTS[0], 0) == 0
    (copy,) = {*claude.transcripts()} - {transcript}
    assert [Path(name).suffix for name in wrote(copy)] == [".jsonl"]


def test_one_is_known_by_its_name_wherever_it_stands(tmp_path):
    """Also where a block that is read at a time ends in the middle of it; not where it stands before what is live."""
    source = tmp_path / "s.jsonl"
    folder = tmp_path / "s" / "subagents"
    folder.mkdir(parents=True)
    for name in ("agent-early.jsonl", "agent-across.jsonl", "agent-unnamed.jsonl"):
        (folder / name).write_bytes(b"{}\n")
    start = b"agentId: early\n"
    mark = b'"agentId":"across"'
    source.write_bytes(start + b"x" * (1024 * 1024 - 8) + mark + b"y" * 1000)
    live_from = Place(str(source), 1, len(start), len(start) + 1)
    with subagents.carried(source, tmp_path / "all.jsonl", None):
        pass
    with subagents.carried(source, tmp_path / "live.jsonl", live_from):
        pass
    assert {*wrote(tmp_path / "all.jsonl")} == {"agent-early.jsonl", "agent-across.jsonl"}
    assert {*wrote(tmp_path / "live.jsonl")} == {"agent-across.jsonl"}
