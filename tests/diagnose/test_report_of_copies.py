"""A report counts what happened: copies of a session change nothing in it, and a pin counts only while it was in force."""

import json
import shutil
import uuid
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from leftoff.agents.registry import agent_of
from leftoff.cli.main import run
from leftoff.sessions.listing import list_transcripts
from leftoff.testing.builders import Story, call

CLAUDE_ID = "0b54f7aa-6d0c-4c7b-9d57-3f6c9d9a3b11"
CODEX_ID = "01a1e0be-dee8-7b23-ae31-94e0123734a3"
LONG = "".join(f"line {number}: the ledger keeps its amounts in cents\n" for number in range(60))
# Long enough that trimming shortens it.
SUMMARY = f"Ran make lint on src/login.py.\n{LONG}"


def story(session_id: str) -> Story:
    written = Story(session_id=session_id, project=str(Path.cwd()), model="claude-sonnet-4-5")
    for number in range(2):
        written.asked(f"Fix step {number} of the login. Never touch the file src/legacy.py.").replied(
            "On it.",
            call("shell", {"command": f"make step-{number}"}, LONG),
            call("read", {"path": f"src/login-{number}.py"}, LONG),
            used=100_000,
        ).compacted(SUMMARY)
    for number in range(12):  # each read is overtaken by the next
        written.asked(f"Step {number} of the rest").replied(
            "Looking.", call("read", {"path": "src/rest.py"}, f"{number}\n{LONG}"), used=100_000 + number
        )
    return written.replied("Done.", used=121_000)


def leftoff(capsys, *arguments: str) -> tuple[int, str]:
    capsys.readouterr()
    code = run([*arguments])
    return code, capsys.readouterr().out


def report(capsys) -> dict:
    code, out = leftoff(capsys, "report", "--days", "3650", "--json")
    assert code == 0
    return {key: value for key, value in json.loads(out).items() if key != "since"}


def by_command(*arguments: str) -> Callable[[Path], None]:
    return lambda path: run([*(each.format(path) for each in arguments)]) and None


def plain_copy(path: Path) -> None:
    """Copy the file under another name, as a person does."""
    shutil.copyfile(path, with_id(path, str(uuid.uuid4())))


def copy_with_the_same_id(path: Path) -> None:
    """Copy the file into the folder of another project."""
    folder = path.parent.with_name(f"{path.parent.name}-x")
    folder.mkdir(exist_ok=True)
    shutil.copyfile(path, folder / path.name)


def fork(path: Path) -> None:
    """Fork as the clients do: another id in all lines, the rest as it was."""
    old, new = agent_of(path).open(path).session_id, str(uuid.uuid4())
    with_id(path, new).write_text(path.read_text("utf-8").replace(old, new), "utf-8")


def with_id(path: Path, session_id: str) -> Path:
    """Return the name that the file would have with another id, which ends it."""
    return path.with_name(f"{path.stem[: -len(session_id)]}{session_id}.jsonl")


COPIES = {
    "trim": by_command("trim", "{}", "--force"),
    "trim more": by_command("trim", "{}", "--threshold", "100", "--trim-assistant", "1", "--force"),
    "smart-trim": by_command("smart-trim", "{}", "--force"),
    "untrim": by_command("untrim", "{}"),
    "rollover": by_command("rollover", "{}", "--force"),
    "move here": by_command("resume", "{}", "--here", "--how", "as-is"),
    "copy": plain_copy,
    "same id": copy_with_the_same_id,
    "fork": fork,
}
# Codex takes two files of one name for one thread.
WAYS = [
    (agent_id, name)
    for agent_id in ("claude", "codex")
    for name in COPIES
    if (agent_id, name) != ("codex", "same id")
]


def write_original(home, agent_id: str) -> Path:
    return home.claude(story(CLAUDE_ID)) if agent_id == "claude" else home.codex(story(CODEX_ID))


@pytest.mark.parametrize("agent_id", ["claude", "codex"])
@settings(max_examples=6, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_no_sequence_of_copies_changes_the_report(home, capsys, agent_id, data):
    """Each step copies one of the sessions that are there, original or copy."""
    for folder in (".claude", ".codex", ".local"):
        shutil.rmtree(home.home / folder, ignore_errors=True)
    write_original(home, agent_id)
    before = report(capsys)
    assert (before["sessions"], len(before["compactions"])) == (1, 2)
    names = [name for agent, name in WAYS if agent == agent_id]
    for name in data.draw(st.lists(st.sampled_from(names), min_size=1, max_size=4)):
        there = [each.transcript for each in list_transcripts()]
        COPIES[name](there[data.draw(st.integers(0, len(there) - 1))])
    assert report(capsys) == before


@pytest.mark.parametrize(("agent_id", "name"), WAYS)
def test_a_copy_changes_nothing_in_the_report(home, capsys, agent_id, name):
    """Each way to copy a session, by itself, writes a file."""
    original = write_original(home, agent_id)
    if name == "untrim":
        COPIES["trim"](original)
        original = next(each.transcript for each in list_transcripts() if each.transcript != original)
    before, count = report(capsys), len(list_transcripts())
    COPIES[name](original)
    assert len(list_transcripts()) == count + 1
    assert report(capsys) == before


def test_what_happens_in_a_copy_counts(home, capsys):
    """A fork that was compacted by itself has one compaction of its own."""
    path = home.claude(story(CLAUDE_ID))
    fork(path)
    forked = next(each.transcript for each in list_transcripts() if each.transcript != path)
    lines = forked.read_text("utf-8").splitlines()
    at = next(index for index, line in enumerate(lines) if '"compact_boundary"' in line)
    own = [line.replace(json.loads(line)["uuid"], str(uuid.uuid4())) for line in lines[at : at + 2]]
    forked.write_text("\n".join([*lines, *own]) + "\n", "utf-8")
    found = report(capsys)
    assert (found["sessions"], len(found["compactions"])) == (1, 3)


def pins_in(found: dict) -> list[int]:
    return [each["items"].get("pins", {"total": 0})["total"] for each in found["compactions"]]


def test_a_pin_counts_for_no_compaction_before_it_was_set(home, capsys):
    """The compactions of the story happened long before today."""
    home.claude(story(CLAUDE_ID))
    before = report(capsys)
    assert leftoff(capsys, "pin", "the codename is BLUEHERON")[0] == 0
    assert report(capsys) == before
    assert pins_in(before) == [0, 0]


def test_a_pin_counts_while_it_was_in_force_also_after_it_was_removed(home, capsys, isolated_home):
    """The pin was set and removed between the two compactions, another before both."""
    home.claude(story(CLAUDE_ID))
    last, first = (each["at"] for each in report(capsys)["compactions"])
    for text in ("the codename is BLUEHERON", "deploy on Fridays"):
        assert leftoff(capsys, "pin", text)[0] == 0
    (file,) = (isolated_home / ".local" / "share" / "leftoff" / "pins").glob("*.jsonl")
    one, two = map(json.loads, file.read_text("utf-8").splitlines())
    one |= {"at": "2026-01-01T00:00:00Z"}
    two |= {"at": "2026-01-01T00:00:00Z"}
    file.write_text(f"{json.dumps(one)}\n{json.dumps(two)}\n", "utf-8")
    assert pins_in(report(capsys)) == [2, 2]
    assert leftoff(capsys, "unpin", "2")[0] == 0
    assert pins_in(report(capsys)) == [2, 2]
    file.write_text(
        file.read_text("utf-8").replace(
            json.loads(file.read_text("utf-8").splitlines()[-1])["removed_at"], last
        ),
        "utf-8",
    )
    assert first < last
    assert pins_in(report(capsys)) == [1, 2]
    assert "Fridays" not in leftoff(capsys, "pins")[1]
