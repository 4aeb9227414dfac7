"""Extraction continues from where the last one ended; a state that cannot be used costs a full read and nothing else."""

import json
import stat
from pathlib import Path

import orjson
import pytest

from bench.generate import generate
from leftoff.agents import claude
from leftoff.extraction import State, step
from leftoff.platform import paths
from leftoff.sessions import facts
from leftoff.sessions.facts import extract_facts, extract_facts_once
from leftoff.testing.builders import Story, call
from leftoff.workspace import SessionRef, Workspace
from tests.support.transcripts import write_transcript

KEPT = "extractions"


def story(turns: int = 4) -> Story:
    facts_story = Story(project=str(Path.cwd()))
    for turn in range(turns):
        facts_story.asked(f"Never do part {turn} twice.").replied(
            "Done.", call("shell", {"command": f"make {turn}"}, "ok")
        )
    return facts_story


def chosen_at(path: Path) -> SessionRef:
    return SessionRef(agent=claude.here(), transcript=path)


def look(path: Path) -> State:
    chosen = chosen_at(path)
    return extract_facts(chosen, Workspace.open())


def from_nothing(path: Path) -> State:
    return step(State(), chosen_at(path).session.records, claude.here())


def kept_file() -> Path:
    (file,) = (paths.state_folder() / KEPT).iterdir()
    return file


@pytest.fixture
def transcript(home) -> Path:
    return home.claude(story())


def cut_in_two(path: Path) -> bytes:
    """Takes the second half of the lines off the file; gives them."""
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[: len(lines) // 2]))
    return b"".join(lines[len(lines) // 2 :])


def test_continuing_gives_the_same_as_a_full_read(transcript: Path) -> None:
    """The saved state and the new records together give the whole."""
    whole = from_nothing(transcript)
    rest = cut_in_two(transcript)
    first = look(transcript)
    assert first != whole
    with transcript.open("ab") as file:
        file.write(rest)
    assert look(transcript) == whole


@pytest.mark.skipif(
    not Path("/proc/self/io").exists(), reason="this system does not count the bytes a process reads"
)
def test_a_second_extraction_reads_only_new_bytes(home) -> None:
    """After ten megabytes and a hundred kilobytes more, only the state and the addition are read."""
    path = home.home / ".claude" / "projects" / "-x" / "0b54f7aa-6d0c-4c7b-9d57-3f6c9d9a3b11.jsonl"
    path.parent.mkdir(parents=True)
    write_transcript(claude.here(), generate(seed=4, size_bytes=10_000_000), path)
    data = path.read_bytes()
    cut = data.rindex(b"\n", 0, len(data) - 100_000) + 1
    path.write_bytes(data[:cut])
    before = bytes_read()
    look(path)
    first = bytes_read() - before
    with path.open("ab") as file:
        file.write(data[cut:])
    before = bytes_read()
    state = look(path)
    second = bytes_read() - before
    assert first > cut
    assert second < len(data) - cut + 2 * kept_file().stat().st_size + 1_500_000 < cut / 2
    assert state == from_nothing(path)


def test_a_half_written_line_is_read_once_it_is_complete(transcript: Path) -> None:
    """A hook may read while the agent writes: nothing is lost, wherever the file ended at that moment."""
    data, whole = transcript.read_bytes(), from_nothing(transcript)
    last_line = data.rindex(b"\n", 0, len(data) - 1) + 1
    for cut in (last_line // 2, last_line + 5, len(data) - 1, last_line):
        transcript.write_bytes(data[:cut])
        look(transcript)
        transcript.write_bytes(data)
        found = look(transcript)
        assert found.with_changes({"after": whole.after, "after_sha256": whole.after_sha256}) == whole
        assert found.after is not None
        assert found.after.end == len(data)
        kept_file().unlink()


def test_an_unchanged_transcript_writes_nothing(transcript: Path) -> None:
    """The saved state is the same file as before."""
    look(transcript)
    before = kept_file().stat().st_mtime_ns, kept_file().stat().st_ino
    look(transcript)
    assert (kept_file().stat().st_mtime_ns, kept_file().stat().st_ino) == before


def test_a_transcript_that_shrank_is_read_from_the_beginning(transcript: Path) -> None:
    """What was cut off no longer appears in any section."""
    look(transcript)
    cut_in_two(transcript)
    assert look(transcript) == from_nothing(transcript)


def test_a_transcript_that_was_replaced_is_read_from_the_beginning(transcript: Path, home) -> None:
    """The new file has the same name and at least the same length, but other bytes."""
    look(transcript)
    data = transcript.read_bytes().replace(b"part 3 twice", b"part 3 never") * 2
    transcript.write_bytes(data)
    assert look(transcript) == from_nothing(transcript)


def test_a_copy_elsewhere_is_read_from_the_beginning(transcript: Path, tmp_path: Path) -> None:
    """Sources name the file, so a copy needs its own."""
    look(transcript)
    copy = tmp_path / transcript.name
    copy.write_bytes(transcript.read_bytes())
    assert look(copy).transcript == str(copy)


@pytest.mark.parametrize(
    "broken",
    [b"", b"{", b"null", b"[]", b'{"schema": 99}', b'{"schema": 1}', b"\xff\xfe", b"[" * 100_000],
    ids=["empty", "torn", "null", "list", "newer", "bare", "bytes", "deep"],
)
def test_a_broken_state_costs_a_full_read(transcript: Path, broken: bytes) -> None:
    """The broken state is then replaced by a sound one."""
    whole = look(transcript)
    kept_file().write_bytes(broken)
    assert look(transcript) == whole
    assert State.from_dict(orjson.loads(kept_file().read_bytes())) == whole


def test_a_state_with_wrong_values_costs_a_full_read(transcript: Path) -> None:
    """A number that is a string, or a fact without its place, counts as broken."""
    whole = look(transcript)
    data = json.loads(kept_file().read_bytes())
    for wrong in ({"calls": "x"}, {"prompts": [[1]]}, {"after": None}, {"after": [1]}):
        kept_file().write_bytes(json.dumps(data | wrong).encode())
        assert look(transcript) == whole


def test_only_the_user_can_read_the_state(transcript: Path) -> None:
    """The state quotes the transcript, so the file has mode 0600 in a folder of mode 0700."""
    look(transcript)
    assert stat.S_IMODE(kept_file().stat().st_mode) == 0o600
    assert stat.S_IMODE(kept_file().parent.stat().st_mode) == 0o700


@pytest.mark.parametrize("name", ["../../evil", "a/b", "x" * 300, "", "..", "a\0b", "\ud800"])
def test_no_id_leads_out_of_the_folder(transcript: Path, name: str) -> None:
    """Ids come from transcripts; one that cannot be a file name is replaced by its hash."""
    chosen = chosen_at(transcript)
    session = chosen.session
    odd = type(session)(
        agent="claude", session_id=name, transcript=session.transcript, records=session.records
    )
    vars(chosen)["session"] = odd  # as if the agent had opened it so
    extract_facts(chosen, Workspace.open())
    assert facts._state_file(odd).parent == paths.state_folder() / KEPT
    assert kept_file() == facts._state_file(odd)


def test_extracting_once_saves_nothing(transcript: Path) -> None:
    chosen = chosen_at(transcript)
    assert extract_facts_once(chosen, Workspace.open()) == from_nothing(transcript)
    assert not paths.state_folder().exists()


def bytes_read() -> int:
    return int(Path("/proc/self/io").read_text(encoding="ascii").split()[1])
