"""The manifest of a project."""

from pathlib import Path

import pytest

from leftoff.projects import loader, progress, update
from leftoff.projects.progress import UserInput
from tests.projects.builders import OVERVIEW, STEPS, first, news, project


@pytest.fixture
def home():
    return project(Path.cwd(), overview=OVERVIEW, steps=STEPS)


def test_the_manifest_lists_open_blockers_and_progress(home):
    """Resolved blockers are left out; a finished project says so."""
    document = update.update_document(
        first(home), news(home, given=UserInput(blockers=("CI", "Key"), assumptions=("one user",)))
    )
    document = update.update_document(document, news(home, given=UserInput(resolved=("key",))))
    home.state.write_bytes(document.to_bytes())
    loaded = loader.build_manifest(home, document, progress.gather_facts(home), home.root)
    text = loader.text_for_agent(loaded, document)
    assert "Open blockers:\n- CI" in text
    assert "Key" not in text
    assert "Progress: 3/5 tasks (60%)" in text
    home.part("steps").write_text("- [x] a\n", encoding="utf-8")
    done = update.update_document(document, news(home))
    assert (
        loader.build_manifest(home, done, progress.gather_facts(home), home.root)
        .instructions[0]
        .startswith("Every task is done")
    )
