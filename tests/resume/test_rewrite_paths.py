"""Rewriting the paths of a log for a checkout in another place."""

import dataclasses

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leftoff.core.provenance import Ground, Source
from leftoff.core.records import Place
from leftoff.core.resume_log import CustomSection
from leftoff.resume.remote_resume import rewrite_paths
from leftoff.testing.store_promises import a_log

OLD, NEW = "/home/ada/shop", "/work/grace/code/shop-2"


def mission_after(text, old=OLD, new=NEW):
    return rewrite_paths(a_log("s", text), old, new).log.mission_summary


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (f"{OLD}/src/a.py", f"{NEW}/src/a.py"),
        (OLD, NEW),
        (f"cd {OLD} && make; rm '{OLD}/x' \"{OLD}\"", f"cd {NEW} && make; rm '{NEW}/x' \"{NEW}\""),
        (f"It stands in {OLD}.", f"It stands in {NEW}."),
        (f"file://{OLD}/a.py:3", f"file://{NEW}/a.py:3"),
        (f"--root={OLD},{OLD}:/mnt", f"--root={NEW},{NEW}:/mnt"),
        (f"日本語{OLD}", f"日本語{NEW}"),
    ],
)
def test_paths_below_the_old_root_are_rewritten(before, after):
    """Paths are rewritten wherever in a text they are."""
    assert mission_after(before) == after


@pytest.mark.parametrize(
    "text",
    [
        f"{OLD}-old/a.py",
        f"{OLD}s",
        f"{OLD}.bak",
        f"{OLD}_2/x",
        f"/mnt{OLD}/a.py",
        f"x/y{OLD}",
        "/home/ada",
        "/home/ada/other",
        f"~{OLD}",
    ],
)
def test_similar_paths_stay(text):
    assert mission_after(text) == text


def test_every_field_with_text_is_rewritten():
    """The names of entries are rewritten too, and the number of changes is returned."""
    log = dataclasses.replace(
        a_log("s"),
        accomplishments=[f"wrote {OLD}/a"],
        decisions=[{"decision": f"keep {OLD}/b", "rationale": "r"}],
        critical_context={"files": {f"{OLD}/c": [f"{OLD}/d", 1, None]}},
        metadata={"project": OLD},
        custom_sections=[CustomSection(name="n", budget_tokens=5, content=f"{OLD}/e")],
        sources=[
            Source(item="x/0", place=Place(f"{OLD}/t.jsonl", 0, 0, 1), sha256="0" * 64, excerpt=f"{OLD}/f")
        ],
        ground=Ground(head="a" * 40, hashes={"a": "0"}),
    )
    result = rewrite_paths(log, OLD + "/", NEW)
    assert result.paths == 6
    here = result.log
    assert here.accomplishments == [f"wrote {NEW}/a"]
    assert here.decisions[0]["decision"] == f"keep {NEW}/b"
    assert here.critical_context == {"files": {f"{NEW}/c": [f"{NEW}/d", 1, None]}}
    assert here.metadata == {"project": NEW}
    assert here.custom_sections[0].content == f"{NEW}/e"
    assert (here.sources, here.ground) == (log.sources, log.ground), "those are of the other machine"


def test_the_same_root_changes_nothing():
    """An unknown or empty old root changes nothing either."""
    log = a_log("s", OLD)
    assert rewrite_paths(log, OLD, OLD) == rewrite_paths(log, "", NEW) == rewrite_paths(log, "/", NEW)
    assert rewrite_paths(log, OLD, OLD).log is log


@given(st.text(alphabet="/homeads p.-_\n", max_size=60))
def test_rewriting_there_and_back_gives_the_same(text):
    """This holds if the new root did not occur in the text before."""
    if NEW in text:
        return
    assert mission_after(mission_after(text), NEW, OLD) == a_log("s", text).mission_summary
