"""Forks by the clients themselves: those that name their parent, and those that do not."""

import json
import os
from pathlib import Path

import pytest

from leftoff.sessions import live_state
from leftoff.sessions.ancestry import load_family
from leftoff.shrink import family
from leftoff.shrink.trim import TrimOptions, prepare_trim, write_trim
from leftoff.workspace import Workspace
from tests.support.long_sessions import FIRST, write_long_session

FORK = "2c54f7aa-6d0c-4c7b-9d57-3f6c9d9a3b33"


@pytest.fixture
def source(home):
    return write_long_session(home, "claude", turns=8)


def forked(source: Path, *, name: str = FORK, more: int = 1, minute: int = 30) -> Path:
    """Fork a session as the client does: the same lines under a new session id, then new ones."""
    copy = source.with_name(f"{name}.jsonl")
    text = source.read_text(encoding="utf-8").replace(source.stem, name)
    copy.write_text(text, encoding="utf-8")
    for number in range(more):
        grow(copy, f"own-{minute}-{number}", minute)
    return copy


def grow(path: Path, uuid: str, minute: int) -> None:
    last = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if '"uuid"' in line][
        -1
    ]
    line = last | {
        "uuid": uuid,
        "parentUuid": last["uuid"],
        "type": "user",
        "message": {"role": "user", "content": "Go on"},
        "timestamp": f"2026-01-07T12:{minute}:00.000Z",
    }
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps(line) + "\n")


def chain_of(path: Path):
    return [
        (node["session_id"], node["derivation"])
        for node in family.family_tree(str(path), Workspace.open()).to_dict()["chain"]
    ]


def test_a_fork_without_metadata_is_recognised_by_its_records(source):
    """The first session may have grown since."""
    copy = forked(source)
    assert chain_of(copy) == [(FIRST, None), (FORK, "forked")]
    grow(source, "later", 45)
    assert chain_of(copy) == [(FIRST, None), (FORK, "forked")]
    assert chain_of(source) == [(FIRST, None)]
    (child,) = family.family_tree(str(source), Workspace.open()).root.children
    assert (child.session_id, child.derivation) == (FORK, "forked")


def test_the_parent_of_a_fork_is_the_session_it_shares_most_with(source):
    copy = forked(source)
    again = forked(copy, name="3c54f7aa-6d0c-4c7b-9d57-3f6c9d9a3b44", minute=40)
    assert [each for each, _ in chain_of(again)] == [FIRST, FORK, again.stem]


def test_an_exact_copy_is_not_a_fork(source):
    """Nothing shows which of the two was first."""
    copy = forked(source, more=0)
    assert chain_of(copy) == [(FORK, None)]


def test_a_fork_of_a_trimmed_copy_is_distinguished_from_the_copy(source):
    """The fork has the copy's metadata, but the registry knows which session it was written for."""
    trimmed = write_trim(prepare_trim(str(source), Workspace.open(), TrimOptions()))
    copy = forked(trimmed.output_file)
    assert chain_of(copy) == [(FIRST, None), (trimmed.session_id, "trimmed"), (FORK, "forked")]
    assert load_family().node(copy).parent.session_id == trimmed.session_id


def test_a_cycle_in_the_family_is_shown_once(source):
    """Two sessions may name each other by accident."""
    trimmed = write_trim(prepare_trim(str(source), Workspace.open(), TrimOptions()))
    lines = source.read_text(encoding="utf-8").splitlines()
    at = next(number for number, line in enumerate(lines) if '"type":"user"' in line)
    note = {
        "trim_metadata": {"parent_file": str(trimmed.output_file), "parent_session_id": trimmed.session_id}
    }
    lines[at] = json.dumps(json.loads(lines[at]) | note)
    source.write_text("\n".join(lines) + "\n", encoding="utf-8")
    os.utime(source)
    tree = family.family_tree(str(source), Workspace.open())
    assert json.dumps(tree.to_dict()).count('"current": true') <= 2


def test_a_cleared_session_is_marked(source):
    """The hooks recorded how it ended."""
    live_state.change(
        "claude", FIRST, lambda state: (type(state)(agent="claude", session_id=FIRST, ended="clear"), None)
    )
    assert family.family_tree(str(source), Workspace.open()).root.was_cleared
