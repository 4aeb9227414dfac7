"""Chains of ancestors, also with missing files and cycles, and the lineage block."""

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from leftoff.core.session import SessionNode, add_lineage_block, strip_leftoff_text
from leftoff.sessions.lineage import (
    LineageSources,
    Origin,
    lineage_block,
    newest_first,
    oldest_first,
    trace_ancestors,
)


def sources(tmp_path, parents, there=None):
    """A family of files given by their names: child → parent."""
    for name in there if there is not None else {*parents, *parents.values()}:
        (tmp_path / name).write_text("x", encoding="utf-8")

    def find(origin):
        path = Path(origin.parent_file)
        return path if path.exists() else None

    def origin(path):
        parent = parents.get(path.name)
        return parent and Origin(
            derivation="trimmed", parent_file=str(tmp_path / parent), parent_session_id=parent
        )

    return LineageSources(origin=origin, find=find, session_id=lambda path: path.name)


def test_a_chain_can_be_read_from_either_end(tmp_path):
    """The original has no derivation."""
    node = trace_ancestors(tmp_path / "c", sources(tmp_path, {"c": "b", "b": "a"}))
    assert [each.session_id for each in newest_first(node)] == ["c", "b", "a"]
    assert [each.derivation_type for each in oldest_first(node)] == [None, "trimmed", "trimmed"]


def test_a_parent_that_is_gone_is_shown_as_missing(tmp_path):
    """A missing parent has the name and id that the child recorded."""
    node = trace_ancestors(tmp_path / "c", sources(tmp_path, {"c": "b", "b": "a"}, there={"c"}))
    assert [(each.session_id, each.missing) for each in newest_first(node)] == [("c", False), ("b", True)]
    alone = trace_ancestors(tmp_path / "gone", sources(tmp_path, {}))
    assert alone.missing
    unnamed = LineageSources(
        origin=lambda _: Origin(derivation="forked", parent_session_id="p"),
        find=lambda _: None,
        session_id=str,
    )
    assert trace_ancestors(tmp_path / "c", unnamed).parent.session_file == Path("p.jsonl")


def test_a_cycle_of_parents_ends(tmp_path):
    """Each session appears once."""
    node = trace_ancestors(tmp_path / "a", sources(tmp_path, {"a": "b", "b": "a"}))
    assert [each.session_id for each in newest_first(node)] == ["a", "b"]


def nodes(*names, missing=()):
    return [
        SessionNode(Path(f"/x/{name}"), None if number == 0 else "continued", missing=name in missing)
        for number, name in enumerate(names)
    ]


def test_the_block_lists_each_ancestor_with_its_derivation():
    """Missing files are marked."""
    block = lineage_block(nodes("abc123.jsonl", "def456.jsonl", missing=("abc123.jsonl",)), "trimmed")
    assert block == (
        "[SESSION LINEAGE]\n"
        "This session continues from previous work:\n"
        "1. abc123.jsonl (continued, missing)\n"
        "2. def456.jsonl (trimmed)\n"
        "3. this session (current)\n"
        "\n"
        "Context from parent sessions may be relevant.\n"
        "[/SESSION LINEAGE]"
    )


def test_a_long_chain_is_shortened_in_the_middle():
    """Twenty rollovers must not fill the window."""
    block = lineage_block(nodes(*(f"{number}.jsonl" for number in range(20))), "continued")
    assert "1. 0.jsonl" in block
    assert "… 8 more" in block
    assert "20. 19.jsonl (continued)\n21. this session" in block
    assert block.count("\n") < 20


@given(st.text(max_size=200))
def test_a_file_name_cannot_end_the_block(name):
    block = lineage_block([SessionNode(Path("/x") / name.replace("/", "").replace("\0", ""), None)], "forked")
    assert block.count("[") == 2
    assert strip_leftoff_text(add_lineage_block("hello", block)) == "hello"


@given(st.text())
def test_a_new_block_replaces_an_older_one(message):
    """The user's own text is unchanged."""
    first, second = lineage_block(nodes("a"), "trimmed"), lineage_block(nodes("a", "b"), "trimmed")
    once = add_lineage_block(message, first)
    assert add_lineage_block(once, second) == add_lineage_block(message, second) or message.startswith("\n")
    assert once.endswith(message)
