"""The family of a session."""

import json
from pathlib import Path

from leftoff.platform import paths
from leftoff.sessions import show
from leftoff.sessions.ancestry import REGISTRY_NAME, load_family
from leftoff.sessions.lineage import newest_first
from leftoff.shrink import family as shrink_family
from leftoff.shrink import rollover
from leftoff.workspace import Workspace
from tests.support.long_sessions import FIRST, long_story, trimmed

SECOND = "7d1c0a52-93c4-4d0e-8a53-0c2f3f1f5a10"


def set_parent(path: Path, parent: Path) -> None:
    """Say on the first line that ``path`` was made from ``parent``."""
    lines = path.read_text(encoding="utf-8").splitlines()
    first = json.loads(lines[0])
    first["trim_metadata"] = {"parent_file": str(parent), "parent_session_id": parent.stem}
    path.write_text("\n".join([json.dumps(first), *lines[1:]]) + "\n", encoding="utf-8")


def test_a_copy_and_the_registry_name_the_parent(source):
    """The copy's metadata wins."""
    derived = trimmed(source)
    family = load_family()
    assert [node.session_file for node in newest_first(family.node(derived.output_file))] == [
        derived.output_file,
        source,
    ]
    (paths.data_folder() / REGISTRY_NAME).unlink()
    assert load_family().node(derived.output_file).parent.session_file == source


def test_the_registry_names_the_parent_of_a_copy_without_metadata(source):
    derived = trimmed(source)
    text = derived.output_file.read_text(encoding="utf-8")
    derived.output_file.write_text(
        text.replace('"trim_metadata"', '"lost_metadata"').replace("forked_from_id", "x"), encoding="utf-8"
    )
    assert load_family().node(derived.output_file).parent.session_file == source


def test_a_moved_parent_is_found_by_id_and_a_deleted_one_is_missing(source):
    derived = trimmed(source)
    moved = source.with_name(f"{source.stem}.jsonl")
    folder = source.parent.parent / "elsewhere" if "claude" in str(source) else source.parent.parent / "07"
    folder.mkdir()
    moved = source.rename(folder / source.name)
    source.write_text('{"another": "file"}\n', encoding="utf-8")
    assert load_family().node(derived.output_file).parent.session_file == moved
    moved.unlink()
    parent = load_family().node(derived.output_file).parent
    assert parent.missing
    assert parent.session_file == source


def test_the_family_includes_deleted_sessions(source):
    first, second = trimmed(source), trimmed(source, threshold=500)
    second.output_file.unlink()
    fresh = rollover.roll_over(str(first.output_file), Workspace.open(), rollover.RolloverOptions())
    tree = shrink_family.family_tree(str(first.output_file), Workspace.open())
    assert tree.root.session_file == source
    assert tree.root.derivation is None
    assert {(child.session_id, child.missing) for child in tree.root.children} == {
        (first.session_id, False),
        (second.session_id, True),
    }
    kept = next(child for child in tree.root.children if not child.missing)
    assert kept.is_selected
    assert [(child.session_id, child.derivation) for child in kept.children] == [
        (fresh.session_id, "continued")
    ]
    assert json.dumps(tree.to_dict())
    assert [node["session_file"] for node in tree.to_dict()["chain"]] == [str(source), str(first.output_file)]


def test_a_cycle_shows_each_session_once(home):
    one, other = (home.claude(long_story(session_id, turns=1)) for session_id in (FIRST, SECOND))
    set_parent(one, other)
    set_parent(other, one)
    family = shrink_family.family_tree(str(one), Workspace.open())
    drawn = []

    def walk(member):
        drawn.append(member.session_id)
        for child in member.children:
            walk(child)

    walk(family.root)
    assert sorted(drawn) == sorted([FIRST, SECOND])


def test_a_parent_that_is_not_a_transcript_is_shown(home, tmp_path):
    """The rest of the chain can still be exported."""
    source = home.claude(long_story(FIRST, turns=1))
    parent = tmp_path / "notes.txt"
    parent.write_text("my own notes\n", encoding="utf-8")
    set_parent(source, parent)
    family = shrink_family.family_tree(str(source), Workspace.open())
    assert [(node.session_file, node.missing) for node in family.chain] == [(parent, True), (source, False)]
    text = "".join(show.export(str(source), Workspace.open(), chain=True))
    assert "my own notes" not in text
    assert "Another file is in its place" in text
    assert f"# Session {FIRST}" in text
