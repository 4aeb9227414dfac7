"""Sources and ground: what a statement rests on."""

import pytest
from hypothesis import given

from leftoff.core.provenance import EXCERPT_CHARS, Ground, Source
from leftoff.core.records import Place
from leftoff.errors import DocumentError
from tests.support import strategies

SOURCE = Source(
    item="next_steps/0", place=Place("/t.jsonl", 41, 900, 1000), sha256="ab" * 32, excerpt="the user said"
)


@given(strategies.sources, strategies.grounds)
def test_wire_forms_give_the_same_value_back(source, ground):
    """Sources and grounds survive their dictionary form, whatever their texts and paths hold."""
    assert Source.from_dict(source.to_dict()) == source
    assert Ground.from_dict(ground.to_dict()) == ground


def test_an_excerpt_holds_at_most_200_characters_that_can_be_written():
    """The rest can be read at the source."""
    excerpt = Source(item="i", place=SOURCE.place, sha256="", excerpt="\ud800" + "x" * 999).excerpt
    assert excerpt == "\ufffd" + "x" * (EXCERPT_CHARS - 1)


@pytest.mark.parametrize("key", ["item", "transcript", "line_idx", "start", "end", "sha256", "excerpt"])
def test_a_source_that_lacks_or_spoils_a_field_is_refused(key):
    whole = SOURCE.to_dict()
    for broken in ({k: v for k, v in whole.items() if k != key}, whole | {key: None}, [], None):
        with pytest.raises(DocumentError, match="A source of the resume log is not in the known form"):
            Source.from_dict(broken)


def test_a_ground_outside_git_knows_its_files_only():
    """Head, branch and dirty files are unknown, which is not the same as clean."""
    assert Ground(hashes={"a.py": "00"}).to_dict() == {
        "head": None,
        "branch": None,
        "worktree": None,
        "dirty": None,
        "hashes": {"a.py": "00"},
    }


@pytest.mark.parametrize("broken", [{}, None, {"head": 1, "branch": None, "dirty": [], "hashes": {}}])
def test_a_broken_ground_is_refused(broken):
    """``None`` is refused too, because a log without a ground has no such field."""
    with pytest.raises(DocumentError, match="The ground of the resume log is not in the known form"):
        Ground.from_dict(broken)
