"""Restoring in a real project: only trusted logs are offered, and the text reports drift."""

import subprocess
from pathlib import Path

import pytest

from leftoff.errors import NotTrustedError
from leftoff.platform import git, paths
from leftoff.platform.register import Register
from leftoff.resume_logs.restore import logs_to_offer, restore_log
from leftoff.storage.file_store import FileStore
from leftoff.workspace import Workspace
from tests.resume_logs.sample_logs import log

LOGS = Path(".leftoff") / "resume-logs"


@pytest.fixture
def repository():
    root = Path.cwd()
    (root / "a.py").write_text("1\n", encoding="utf-8")
    for arguments in (["init", "-q"], ["add", "a.py"], ["commit", "-q", "-m", "x"]):
        subprocess.run(["git", *arguments], check=True)
    return root


def save(root, name, *, ours=True, **fields):
    register = Register(folder=paths.data_folder()) if ours else None
    own = {
        "mission_summary": "Fix a.py",
        "metadata": {"project": str(root)},
        "ground": git.read_ground(root, ["a.py"]),
    } | fields
    FileStore(root / LOGS, register=register).save(log(session_id=name, **own))


def ids(candidates):
    return [each.session_id for each in candidates]


def test_logs_are_offered_by_trust_and_ending(repository):
    """A broken log, half of a pair or one that says nothing hides no other."""
    save(repository, "ours")
    save(repository, "cleared", metadata={"ended": "cleared"})
    save(repository, "foreign", ours=False)
    save(repository, "empty", mission_summary="")
    (repository / LOGS / "session-broken.json").write_text("{", encoding="utf-8")
    (repository / LOGS / "session-half.md").write_text("x", encoding="utf-8")
    chosen = logs_to_offer(Workspace.open(repository))
    assert (ids(chosen.offered), ids(chosen.waiting), ids(chosen.over)) == (
        ["ours"],
        ["broken", "foreign"],  # what this machine did not write is not parsed
        ["cleared"],
    )


def test_killed_prompts_without_a_reply_do_not_push_work_out(repository):
    """However many there are, the work that has begun is offered, and first."""
    save(repository, "work")
    for number in range(31):
        save(repository, f"killed-{number}", metadata={"project": str(repository), "begun": False})
    assert ids(logs_to_offer(Workspace.open(repository)).offered)[0] == "work"


def test_the_text_says_what_has_changed_since(repository):
    """The log is read again from the file that the text names."""
    save(repository, "ours", next_steps=["Mend a.py"])
    (repository / "a.py").write_text("2\n", encoding="utf-8")
    (found,) = logs_to_offer(Workspace.open(repository), "continue").offered
    text = restore_log(found, Workspace.open(repository), profile="fresh")
    assert "Since then: a.py changed." in text
    assert "- Mend a.py" in text
    assert str(repository / LOGS / "session-ours.json") in text


def test_an_untrusted_log_is_not_restored(repository):
    """A log that was changed after it was chosen is not restored either."""
    save(repository, "foreign", ours=False)
    (waiting,) = logs_to_offer(Workspace.open(repository)).waiting
    with pytest.raises(NotTrustedError, match="leftoff trust"):
        restore_log(waiting, Workspace.open(repository), profile="fresh")


def test_outside_git_a_log_without_ground_is_restored():
    """Without a comparison nothing is said about drift."""
    save(Path.cwd(), "plain", ground=None)
    (found,) = logs_to_offer(Workspace.open()).offered
    assert "Since then" not in restore_log(found, Workspace.open(), profile="after_compaction")
