"""Chains of ancestors, whatever is gone or goes in circles, and the block that a model is told of them with."""

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from leftoff.lineage.block import lineage_block
from leftoff.lineage.chain import Sources, ancestry, newest_first, oldest_first
from leftoff.lineage.metadata import Origin
from leftoff.model.lineage_text import with_block, without_own_words
from leftoff.model.session_node import SessionNode


def sources(tmp_path, parents, there=None):
    """A family told by names: child → parent."""
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

    return Sources(origin=origin, find=find, session_id=lambda path: path.name)


def test_a_chain_is_told_from_either_end(tmp_path):
    """The original has no derivation."""
    node = ancestry(tmp_path / "c", sources(tmp_path, {"c": "b", "b": "a"}))
    assert [each.session_id for each in newest_first(node)] == ["c", "b", "a"]
    assert [each.derivation_type for each in oldest_first(node)] == [None, "trimmed", "trimmed"]


def test_a_parent_that_is_gone_is_shown_as_missing(tmp_path):
    """By the name and id that the child knew it under (L37)."""
    node = ancestry(tmp_path / "c", sources(tmp_path, {"c": "b", "b": "a"}, there={"c"}))
    assert [(each.session_id, each.missing) for each in newest_first(node)] == [("c", False), ("b", True)]
    alone = ancestry(tmp_path / "gone", sources(tmp_path, {}))
    assert alone.missing
    unnamed = Sources(
        origin=lambda _: Origin(derivation="forked", parent_session_id="p"),
        find=lambda _: None,
        session_id=str,
    )
    assert ancestry(tmp_path / "c", unnamed).parent.session_file == Path("p.jsonl")


def test_a_circle_ends(tmp_path):
    """Each is told once."""
    node = ancestry(tmp_path / "a", sources(tmp_path, {"a": "b", "b": "a"}))
    assert [each.session_id for each in newest_first(node)] == ["a", "b"]


def nodes(*names, missing=()):
    return [
        SessionNode(Path(f"/x/{name}"), None if number == 0 else "continued", missing=name in missing)
        for number, name in enumerate(names)
    ]


def test_the_block_is_that_of_002():
    """Each with what became of it; what is missing is said."""
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


def test_a_long_line_of_ancestors_is_told_by_its_ends():
    """Twenty rollovers do not fill the window."""
    block = lineage_block(nodes(*(f"{number}.jsonl" for number in range(20))), "continued")
    assert "1. 0.jsonl" in block
    assert "… 8 more" in block
    assert "20. 19.jsonl (continued)\n21. this session" in block
    assert block.count("\n") < 20


@given(st.text(max_size=200))
def test_no_name_of_a_file_ends_the_block(name):
    """Names come from anywhere."""
    block = lineage_block([SessionNode(Path("/x") / name.replace("/", "").replace("\0", ""), None)], "forked")
    assert block.count("[") == 2
    assert without_own_words(with_block("hello", block)) == "hello"


@given(st.text())
def test_the_block_stands_once(message):
    """A newer one takes the place of an older; the words are not touched."""
    first, second = lineage_block(nodes("a"), "trimmed"), lineage_block(nodes("a", "b"), "trimmed")
    once = with_block(message, first)
    assert with_block(once, second) == with_block(message, second) or message.startswith("\n")
    assert once.endswith(message)
