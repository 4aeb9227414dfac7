"""A forked session continues another's rollout."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from leftoff.agents.codex import Codex
from leftoff.core.session import Parent

PARENT = "01a1e0be-dee8-7b23-ae31-94e0123734a3"
CHILD = "01a1e0c3-2973-72d0-9289-32a36be70e5a"
GRANDCHILD = "01a1e0c4-2973-72d0-9289-32a36be70e5b"


def meta(
    thread: str, *, base: str | None = None, end: int = 3, end_bytes: int | None = None
) -> dict[str, Any]:
    payload: dict[str, Any] = {
        "id": thread,
        "cwd": "/w",
        "cli_version": "0.166.0",
        "history_mode": "paginated",
    }
    if base:
        position = {"thread_id": base, "end_ordinal_exclusive": end, "end_byte_offset": end_bytes}
        payload |= {"forked_from_id": base, "history_base": position}
    return {"type": "session_meta", "payload": payload}


def user_message(text: str, ordinal: int) -> dict[str, Any]:
    content = [{"type": "input_text", "text": text}]
    payload = {"type": "message", "role": "user", "content": content}
    return {"ordinal": ordinal, "type": "response_item", "payload": payload}


def usage(tokens: int, ordinal: int) -> dict[str, Any]:
    numbers = {"input_tokens": tokens - 10, "output_tokens": 10, "total_tokens": tokens}
    return {"ordinal": ordinal, "type": "token_usage_record", "payload": {"usage": numbers}}


@pytest.fixture
def texts(codex: Codex) -> Callable[[Path], list[str]]:
    """What the session says, in order."""
    return lambda path: [record.text for record in codex.open(path).records if record.text]


def test_a_fork_begins_with_what_it_inherits(
    codex: Codex, rollout: Callable[..., Path], texts: Callable[[Path], list[str]]
) -> None:
    """The parent's records up to the border, with their places in the parent's file, then its own."""
    parent = rollout(
        [meta(PARENT), user_message("one", 1), user_message("two", 2), user_message("not inherited", 3)],
        PARENT,
    )
    child = rollout([meta(CHILD, base=PARENT), user_message("three", 4)], CHILD, "sessions/2026/11/16")
    session = codex.open(child)
    assert texts(child) == ["one", "two", "three"]
    assert [record.place.transcript for record in session.records] == [str(parent)] * 3 + [str(child)] * 2
    assert session.parent == Parent(session_id=PARENT, transcript=str(parent), derivation="forked")
    chain = codex.live_chain(session)
    assert [message.text for message in chain.messages(session.records)] == ["one", "two", "three"]
    assert codex.entry(child).parent == session.parent


def test_the_border_may_be_given_in_bytes(
    rollout: Callable[..., Path], texts: Callable[[Path], list[str]]
) -> None:
    """Old lines have no number."""
    lines = [meta(PARENT), user_message("one", 1), user_message("two", 2)]
    parent = rollout(lines, PARENT)
    end = parent.read_bytes().index(b'{"ordinal": 2')
    child = rollout([meta(CHILD, base=PARENT, end=99, end_bytes=end), user_message("three", 3)], CHILD)
    assert texts(child) == ["one", "three"]


def test_reading_the_file_alone_gives_its_own_records(codex: Codex, rollout: Callable[..., Path]) -> None:
    """``read`` covers this one file, whatever it continues."""
    rollout([meta(PARENT), user_message("one", 1)], PARENT)
    child = rollout([meta(CHILD, base=PARENT), user_message("three", 4)], CHILD)
    assert b"".join(record.raw for record in codex.read(child)) == child.read_bytes()


def test_a_fork_of_a_fork_begins_with_both(
    rollout: Callable[..., Path], texts: Callable[[Path], list[str]]
) -> None:
    """The chain is followed to its beginning, into the archive too."""
    rollout([meta(PARENT), user_message("one", 1), user_message("gone", 2)], PARENT, "archived_sessions")
    rollout([meta(CHILD, base=PARENT, end=2), user_message("two", 3), user_message("gone", 4)], CHILD)
    last = rollout([meta(GRANDCHILD, base=CHILD, end=4), user_message("three", 5)], GRANDCHILD)
    assert texts(last) == ["one", "two", "three"]


def test_a_missing_parent_leaves_the_forks_own_records(
    codex: Codex, rollout: Callable[..., Path], texts: Callable[[Path], list[str]]
) -> None:
    """The session still says that it was forked, and from which one."""
    child = rollout([meta(CHILD, base=PARENT), user_message("three", 4)], CHILD)
    assert texts(child) == ["three"]
    assert codex.open(child).parent == Parent(session_id=PARENT, transcript=None, derivation="forked")


@pytest.mark.parametrize(
    "named", ["**", "../../x", "a\0b", "ffffffff-ffff-7fff-bfff-ffffffffffff", "*", "", "x" * 5_000]
)
def test_a_parent_with_an_impossible_name_is_missing(
    rollout: Callable[..., Path], texts: Callable[[Path], list[str]], named: str
) -> None:
    """The id comes out of a file and may be anything."""
    assert texts(rollout([meta(CHILD, base=named), user_message("three", 4)], CHILD)) == ["three"]


def test_a_parent_that_cannot_be_read_is_as_good_as_missing(
    codex: Codex, home: Path, rollout: Callable[..., Path], texts: Callable[[Path], list[str]]
) -> None:
    """A folder in its place takes nothing from the fork."""
    child = rollout([meta(CHILD, base=PARENT), user_message("three", 4)], CHILD)
    child.with_name(f"rollout-2026-11-15T19-46-07-{PARENT}.jsonl").mkdir()
    assert texts(child) == ["three"]
    assert codex.open(child).parent == Parent(session_id=PARENT, transcript=None, derivation="forked")


def test_a_circle_ends_where_it_closes(
    rollout: Callable[..., Path], texts: Callable[[Path], list[str]]
) -> None:
    """Two that name each other, and one that names itself, are read once."""
    rollout([meta(PARENT, base=CHILD, end=9), user_message("one", 1)], PARENT)
    child = rollout([meta(CHILD, base=PARENT, end=9), user_message("two", 2)], CHILD)
    own = rollout([meta(GRANDCHILD, base=GRANDCHILD, end=9), user_message("three", 3)], GRANDCHILD)
    assert texts(child) == ["one", "two"]
    assert texts(own) == ["three"]


def test_the_parent_may_be_beside_the_fork(
    codex: Codex, home: Path, tmp_path: Path, rollout: Callable[..., Path]
) -> None:
    """Copies outside Codex's home are read together."""
    paths = [
        rollout([meta(PARENT), user_message("one", 1)], PARENT),
        rollout([meta(CHILD, base=PARENT), user_message("two", 4)], CHILD),
    ]
    outside = tmp_path / "outside"
    outside.mkdir()
    moved = [path.rename(outside / path.name) for path in paths]
    home.joinpath("sessions").rename(tmp_path / "empty")
    assert [record.text for record in codex.open(moved[1]).records if record.text] == ["one", "two"]


def test_a_reverted_thread_continues_its_older_rollout(
    codex: Codex, rollout: Callable[..., Path], texts: Callable[[Path], list[str]]
) -> None:
    """The thread keeps its id, the new file has one of its own; only the new one is listed."""
    rollout([meta(PARENT), user_message("one", 1), user_message("taken back", 2)], PARENT)
    page = rollout([meta(PARENT, base=PARENT, end=2), user_message("two", 3)], f"{PARENT}_{CHILD}")
    assert texts(page) == ["one", "two"]
    assert codex.open(page).session_id == PARENT
    assert [*codex.transcripts()] == [page]


def test_a_fresh_fork_is_as_full_as_its_parent_was_at_the_border(
    codex: Codex, rollout: Callable[..., Path]
) -> None:
    """A fork has its parent's usage until it has a reading of its own."""
    rollout([meta(PARENT), usage(40_000, 1), user_message("after", 2), usage(90_000, 3)], PARENT)
    fresh = rollout([meta(CHILD, base=PARENT)], CHILD)
    used = rollout([meta(GRANDCHILD, base=PARENT), usage(41_000, 4)], GRANDCHILD)
    assert codex.occupancy(fresh).used_tokens == 40_000
    assert codex.occupancy(fresh).tail_chars == len("after")
    assert codex.occupancy(used).used_tokens == 41_000


def test_the_clients_own_fork_names_its_parent(codex: Codex) -> None:
    """A fork written by Codex 0.166 names its parent even if the parent's file is missing."""
    sample = Path(__file__).parents[2] / "golden/clients/codex-0.166.0-fork.jsonl"
    session = codex.open(sample)
    assert session.parent == Parent(
        session_id="01a1e0c2-8f70-7db2-a443-dfc5149c97d1", transcript=None, derivation="forked"
    )
    assert session.session_id == CHILD
