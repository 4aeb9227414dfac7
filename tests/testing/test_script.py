"""The neutral tools and what their calls look like."""

from __future__ import annotations

from leftoff.testing import script


def test_every_constructor_names_its_tool():
    """Each of the eight tools has a constructor, with the names that adapters map."""
    calls = (
        script.shell("ls", ""),
        script.read("/a", "x"),
        script.write("/a", "x", "ok"),
        script.edit("/a", "x", "y", "ok"),
        script.search("x", ""),
        script.list_folder("/a", ""),
        script.todo([("x", "pending")], "ok"),
        script.fetch("https://x.example", ""),
    )
    assert tuple(call.tool for call in calls) == script.TOOLS


def test_a_whole_read_has_no_range():
    """Offset and limit are left out, not null, when a file is read whole."""
    assert script.read("/a", "x").input == {"path": "/a"}
    assert script.read("/a", "x", offset=3, limit=10).input == {"path": "/a", "offset": 3, "limit": 10}


def test_a_search_everywhere_has_no_path():
    """The path of a search is optional in the same way."""
    assert script.search("x", "").input == {"pattern": "x"}
    assert script.search("x", "", path="/a").input == {"pattern": "x", "path": "/a"}


def test_todo_items_are_texts_with_a_status():
    """A list of things to do keeps its order."""
    call = script.todo([("one", "completed"), ("two", "in_progress")], "ok")
    assert call.input == {
        "items": [{"text": "one", "status": "completed"}, {"text": "two", "status": "in_progress"}]
    }
