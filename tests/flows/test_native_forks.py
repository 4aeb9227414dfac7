"""Forks by the clients themselves: those that name their parent, and those that say nothing."""

import json
import os
from pathlib import Path

import pytest

from leftoff.flows import lineage, watch_states
from leftoff.flows.ancestry import family_here
from leftoff.flows.shrink_session import Wanted, carried_out, planned
from tests.flows.shrinking import FIRST, put

FORK = "2c54f7aa-6d0c-4c7b-9d57-3f6c9d9a3b33"


@pytest.fixture
def source(home):
    return put(home, "claude", turns=8)


def forked(source: Path, *, name: str = FORK, more: int = 1, minute: int = 30) -> Path:
    """As the client forks: the lines with the same ids under a new session id, then its own."""
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


def told(path: Path):
    return [
        (node["session_id"], node["derivation"])
        for node in lineage.lineage(str(path), Path.cwd()).to_dict()["chain"]
    ]


def test_a_fork_that_says_nothing_is_known_by_its_records(source):
    """Also when the first session went on later; it is drawn as its child."""
    copy = forked(source)
    assert told(copy) == [(FIRST, None), (FORK, "forked")]
    grow(source, "later", 45)
    assert told(copy) == [(FIRST, None), (FORK, "forked")]
    assert told(source) == [(FIRST, None)]
    (child,) = lineage.lineage(str(source), Path.cwd()).root.children
    assert (child.session_id, child.derivation) == (FORK, "forked")


def test_a_fork_of_a_fork_hangs_on_the_fork(source):
    """With which it shares more."""
    copy = forked(source)
    again = forked(copy, name="3c54f7aa-6d0c-4c7b-9d57-3f6c9d9a3b44", minute=40)
    assert [each for each, _ in told(again)] == [FIRST, FORK, again.stem]


def test_an_exact_double_is_nobody_s_fork(source):
    """Nobody can tell which was first."""
    copy = forked(source, more=0)
    assert told(copy) == [(FORK, None)]


def test_a_fork_of_a_trimmed_copy_is_told_from_the_copy(source):
    """It carries the same note; the registry knows for whom that was written."""
    made = carried_out(planned(str(source), Path.cwd(), Wanted()))
    copy = forked(made.output_file)
    assert told(copy) == [(FIRST, None), (made.session_id, "trimmed"), (FORK, "forked")]
    assert family_here().node(copy).parent.session_id == made.session_id


def test_a_circle_in_the_family_is_drawn_once(source):
    """Two notes that name each other, by whatever accident."""
    made = carried_out(planned(str(source), Path.cwd(), Wanted()))
    lines = source.read_text(encoding="utf-8").splitlines()
    at = next(number for number, line in enumerate(lines) if '"type":"user"' in line)
    note = {"trim_metadata": {"parent_file": str(made.output_file), "parent_session_id": made.session_id}}
    lines[at] = json.dumps(json.loads(lines[at]) | note)
    source.write_text("\n".join(lines) + "\n", encoding="utf-8")
    os.utime(source)
    tree = lineage.lineage(str(source), Path.cwd())
    assert json.dumps(tree.to_dict()).count('"current": true') <= 2


def test_a_cleared_session_says_so(source):
    """As the hooks noted its end."""
    watch_states.change(
        "claude", FIRST, lambda state: (type(state)(agent="claude", session_id=FIRST, ended="clear"), None)
    )
    assert lineage.lineage(str(source), Path.cwd()).root.was_cleared
