"""What subagents wrote goes along with a copy: before the copy has its name, and never half."""

import os
import signal
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest

from leftoff.agents.claude import Claude, subagents
from leftoff.core.records import Place
from leftoff.core.trim_plan import Copy, CopyOrder
from leftoff.testing.builders import Story, call
from tests.support.transcripts import write_transcript

# Copies a session, and is stopped as soon as it begins to do what MOMENT says; with 0, the file that it opens then is gone.
_COPY = """
import os, signal, sys
from datetime import UTC, datetime
from pathlib import Path
from leftoff.agents.claude import Claude
from leftoff.core.trim_plan import CopyOrder

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
# Copies a session twice as an ordinary user: without permission for a file of a subagent, then for their folder.
_COPY_WITHOUT_PERMISSION = """
import sys
from datetime import UTC, datetime
from pathlib import Path
from leftoff.agents.claude import Claude, copy_checks, copying, launch, listing, subagents, versions
from leftoff.core.trim_plan import CopyOrder
from leftoff.testing.builders import Story
from tests.support.transcripts import write_transcript

versions.known()
drop()
agent, story = Claude(home=Path(sys.argv[1])), Story().asked("Go").delegated("Look around", "Nothing")
transcript = agent.home / "projects" / "-p" / f"{story.session_id}.jsonl"
transcript.parent.mkdir(parents=True)
write_transcript(agent, story.script(), transcript)
folder = transcript.with_suffix("") / "subagents"
(file,) = folder.glob("*.meta.json")
for path in (file, folder):
    path.chmod(0)
    copy = agent.write_copy(agent.open(transcript), (), CopyOrder(at=datetime.now(UTC), metadata={}))
    print(*(f"{each.path}: {each.why}" for each in copy.left_behind), sep="; ")
folder.chmod(0o700)
print(len([*agent.transcripts()]))
"""
AT = datetime(2026, 1, 6, 12, tzinfo=UTC)
MOMENTS = ["reading the last of them", "giving their folder its name", "giving the transcript its name"]


@pytest.fixture
def transcript(claude: Claude) -> Path:
    """A session with a subagent, where its client would keep it."""
    story = Story().asked("Go").delegated("Look around", "Nothing", call("shell", {"command": "ls"}, "a.py"))
    path = claude.home / "projects" / "-p" / f"{story.session_id}.jsonl"
    path.parent.mkdir(parents=True)
    write_transcript(claude, story.script(), path)
    assert len(wrote(path)) == 2
    return path


def wrote(transcript: Path) -> dict[str, bytes]:
    """What is in the folder of its subagents."""
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


def copy_of(claude: Claude, transcript: Path) -> Copy:
    return claude.write_copy(claude.open(transcript), (), CopyOrder(at=AT, metadata={}))


def copied(claude: Claude, transcript: Path) -> Path:
    return copy_of(claude, transcript).transcript


@pytest.mark.parametrize("moment", MOMENTS)
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM], ids=["killed", "ended"])
def test_a_killed_writer_leaves_no_session_that_is_listed(claude, transcript, moment, number):
    """The transcript gets its name last, so no session without its subagents can be continued."""
    assert stopped(claude, transcript, moment, number) == -number
    assert [*claude.transcripts()] == [transcript]


def test_what_a_killed_writer_left_is_removed_by_the_next(claude, transcript):
    """A killed writer leaves only ``.tmp`` files, which no client reads, and the next copy removes them."""
    before = there(claude)
    stopped(claude, transcript, MOMENTS[0], signal.SIGKILL)
    debris = {path for path in there(claude) - before if path.parent == transcript.parent}
    assert {path.suffix for path in debris} == {".tmp"}
    for path in debris:
        os.utime(path, (0, 0))
    copied(claude, transcript)
    assert not any(path.exists() for path in debris)


@pytest.fixture
def debris(claude: Claude, transcript: Path) -> Path:
    """The folder that a writer left, long ago, who was killed when it had its name and the transcript had none."""
    before = there(claude)
    stopped(claude, transcript, MOMENTS[2], signal.SIGKILL)
    left = {path for path in there(claude) - before if path.parent == transcript.parent}
    (folder,) = (path for path in left if path.is_dir())
    (draft,) = left - {folder}
    assert wrote(folder.with_suffix(".jsonl")) == wrote(transcript)
    os.utime(draft, (0, 0))
    return folder


def test_a_folder_without_its_transcript_is_removed_by_the_next_copy(claude, transcript, debris):
    """Leftovers are removed even if the subagents have continued since, so only the two sessions remain."""
    for path in (transcript.with_suffix("") / "subagents").glob("*.jsonl"):
        with path.open("ab") as file:
            file.write(b"{}\n")
    copy = copied(claude, transcript)
    assert not debris.exists()
    assert {*transcript.parent.iterdir()} == {
        path for each in (transcript, copy) for path in (each, each.with_suffix(""))
    }


def test_a_folder_that_may_be_in_use_stays(claude, transcript, debris):
    """A folder is kept if it holds anything that no session has, a link, or if its transcript exists."""
    own = next((debris / "subagents").glob("*.jsonl"))
    content, draft = own.read_bytes(), next(transcript.parent.glob(f".{debris.name}.jsonl.*"))

    def stays() -> bool:
        subagents.remove_abandoned(transcript.parent)
        return debris.is_dir()

    own.write_bytes(content + b"{}\n")
    assert stays()
    own.unlink()
    own.symlink_to(transcript.with_suffix("") / "subagents" / own.name)
    assert stays()
    own.unlink()
    own.write_bytes(content)
    (debris / "notes").touch()
    assert stays()
    (debris / "notes").unlink()
    debris.with_suffix(".jsonl").touch()
    assert stays()
    debris.with_suffix(".jsonl").unlink()
    os.utime(draft)  # another process may still be writing
    assert stays()
    os.utime(draft, (0, 0))
    kept = transcript.rename(transcript.with_suffix(".kept"))  # the folder may have all that is left
    assert stays()
    kept.rename(transcript)
    assert not stays()


def test_a_link_in_place_of_the_folder_is_not_followed(claude, transcript, debris):
    """The link and its target are kept, and a temporary file without a folder does no harm."""
    moved = debris.rename(debris.with_name("moved"))
    subagents.remove_abandoned(transcript.parent)
    debris.symlink_to(moved)
    subagents.remove_abandoned(transcript.parent)
    assert debris.is_symlink()
    assert wrote(moved.with_suffix(".jsonl")) == wrote(transcript)


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
    """A file that cannot be read, or is gone when it is opened, does not stop the copy."""
    assert stopped(claude, transcript, MOMENTS[0], 0) == 0
    (copy,) = {*claude.transcripts()} - {transcript}
    assert [Path(name).suffix for name in wrote(copy)] == [".jsonl"]


def test_what_is_left_out_is_named_with_the_reason(claude, transcript, tmp_path):
    """The copy says which file and why, and that it is not lost; of one that took all along there is nothing to say."""
    assert copy_of(claude, transcript).left_behind == ()
    name = next(name for name in wrote(transcript) if name.endswith(".jsonl"))
    own = transcript.with_suffix("") / "subagents" / name
    own.symlink_to(own.rename(tmp_path / name))
    (left,) = copy_of(claude, transcript).left_behind
    assert (left.what, left.path) == ("what a subagent wrote", own)
    assert left.why == "a symbolic link is where a file should be; leftoff does not follow it"
    assert str(own) in str(left)
    assert "Nothing is lost: it is still with the session" in str(left)


def test_a_folder_that_leads_elsewhere_is_named_whole(claude, transcript, tmp_path):
    """A linked subagent folder is reported as one path, and nothing behind the link is read."""
    folder = transcript.with_suffix("") / "subagents"
    folder.symlink_to(folder.rename(tmp_path / "moved"))
    (left,) = copy_of(claude, transcript).left_behind
    assert (left.path, left.why) == (folder, "a symbolic link leads to it; leftoff does not follow it")


def test_unreadable_files_are_reported(unprivileged_folder, run_python):
    """The session is copied without it: a file without permission, or all of their folder."""
    code = _COPY_WITHOUT_PERMISSION
    file, folder, *copies = run_python(code, unprivileged_folder).stdout.splitlines()
    assert file.endswith(".meta.json: no permission")
    assert folder.endswith("subagents: no permission")
    assert copies == ["3"]


def test_a_session_that_names_no_subagent_copies_none(tmp_path):
    """The folder beside a session that names no subagent is not looked at, wherever it leads."""
    source, left = tmp_path / "s.jsonl", []
    source.write_bytes(b"{}\n")
    source.with_suffix("").symlink_to(tmp_path / "nowhere")
    with subagents.copy_files(source, tmp_path / "copy.jsonl", None, left):
        pass
    assert left == []


def test_a_subagent_is_found_by_its_id_anywhere_in_the_live_part(tmp_path):
    """An id is found across the border of two blocks, but not before the live part."""
    source = tmp_path / "s.jsonl"
    folder = tmp_path / "s" / "subagents"
    folder.mkdir(parents=True)
    for name in ("agent-early.jsonl", "agent-across.jsonl", "agent-unnamed.jsonl"):
        (folder / name).write_bytes(b"{}\n")
    start = b"agentId: early\n"
    mark = b'"agentId":"across"'
    source.write_bytes(start + b"x" * (1024 * 1024 - 8) + mark + b"y" * 1000)
    live_from = Place(str(source), 1, len(start), len(start) + 1)
    with subagents.copy_files(source, tmp_path / "all.jsonl", None, []):
        pass
    with subagents.copy_files(source, tmp_path / "live.jsonl", live_from, []):
        pass
    assert {*wrote(tmp_path / "all.jsonl")} == {"agent-early.jsonl", "agent-across.jsonl"}
    assert {*wrote(tmp_path / "live.jsonl")} == {"agent-across.jsonl"}
