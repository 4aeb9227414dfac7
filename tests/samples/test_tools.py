"""The neutral tools and what their calls look like."""

from __future__ import annotations

from leftoff.samples import tools


def test_every_constructor_names_its_tool():
    """Eight tools, eight constructors, and the names are those that adapters map."""
    calls = (
        tools.shell("ls", ""),
        tools.read("/a", "x"),
        tools.write("/a", "x", "ok"),
        tools.edit("/a", "x", "y", "ok"),
        tools.search("x", ""),
        tools.list_folder("/a", ""),
        tools.todo([("x", "pending")], "ok"),
        tools.fetch("https://x.example", ""),
    )
    assert tuple(call.tool for call in calls) == tools.TOOLS


def test_a_whole_read_has_no_range():
    """Offset and limit are left out, not null, when a file is read whole."""
    assert tools.read("/a", "x").input == {"path": "/a"}
    assert tools.read("/a", "x", offset=3, limit=10).input == {"path": "/a", "offset": 3, "limit": 10}


def test_a_search_everywhere_has_no_path():
    """The path of a search is optional in the same way."""
    assert tools.search("x", "").input == {"pattern": "x"}
    assert tools.search("x", "", path="/a").input == {"pattern": "x", "path": "/a"}


def test_todo_items_are_texts_with_a_status():
    """A list of things to do keeps its order."""
    call = tools.todo([("one", "completed"), ("two", "in_progress")], "ok")
    assert call.input == {
        "items": [{"text": "one", "status": "completed"}, {"text": "two", "status": "in_progress"}]
    }
