"""Restoring in a real project: what this machine wrote is offered, anything else waits, and the text tells of drift."""

import subprocess
from pathlib import Path

import pytest

from leftoff.errors import NotTrustedError
from leftoff.flows.restore import logs_to_offer, restored
from leftoff.stores.files import FileStore
from leftoff.system import git, paths
from leftoff.system.register import Register
from tests.restore.logs import log

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
    own = {"metadata": {"project": str(root)}, "ground": git.ground(root, ["a.py"])} | fields
    FileStore(root / LOGS, register=register).save(log(session_id=name, **own))


def ids(candidates):
    return [each.session_id for each in candidates]


def test_logs_are_offered_by_trust_and_ending(repository):
    """A broken one and half of a pair hide no other."""
    save(repository, "ours")
    save(repository, "cleared", metadata={"ended": "cleared"})
    save(repository, "foreign", ours=False)
    (repository / LOGS / "session-broken.json").write_text("{", encoding="utf-8")
    (repository / LOGS / "session-half.md").write_text("x", encoding="utf-8")
    chosen = logs_to_offer(repository)
    assert (ids(chosen.offered), ids(chosen.waiting), ids(chosen.over)) == (
        ["ours"],
        ["foreign"],
        ["cleared"],
    )


def test_the_text_tells_what_has_changed_since(repository):
    """Read anew, from the file whose path it names."""
    save(repository, "ours", next_steps=["Mend a.py"])
    (repository / "a.py").write_text("2\n", encoding="utf-8")
    (found,) = logs_to_offer(repository, "continue").offered
    text = restored(found, repository, profile="fresh")
    assert "Since then: a.py changed." in text
    assert "- Mend a.py" in text
    assert str(repository / LOGS / "session-ours.json") in text


def test_what_nobody_has_trusted_is_not_restored(repository):
    """Nor what was changed since it was chosen."""
    save(repository, "foreign", ours=False)
    (waiting,) = logs_to_offer(repository).waiting
    with pytest.raises(NotTrustedError, match="leftoff trust"):
        restored(waiting, repository, profile="fresh")


def test_outside_git_a_log_without_ground_is_restored_all_the_same():
    """Nobody looked, so nothing is said."""
    save(Path.cwd(), "plain", ground=None)
    (found,) = logs_to_offer(Path.cwd()).offered
    assert "Since then" not in restored(found, Path.cwd(), profile="after_compaction")
