"""Resume states as files."""

import os
from pathlib import Path

import pytest

from leftoff.errors import StorageError
from leftoff.platform import paths
from leftoff.platform.register import Register
from leftoff.projects import find_project
from tests.projects.builders import AT, OVERVIEW, STEPS, first, project


@pytest.fixture
def home():
    return project(Path.cwd(), overview=OVERVIEW, steps=STEPS)


def test_a_state_that_is_a_pipe_is_refused(home):
    os.mkfifo(home.state)
    with pytest.raises(StorageError, match="not a regular file"):
        find_project.load_state(home)


def test_a_state_changed_by_an_editor_meanwhile_is_not_overwritten(home):
    """Editors do not take our lock."""
    register = Register(folder=paths.data_folder())
    find_project.create_state(home, first(home))

    def step(document):
        home.state.write_text("---\nmine: 1\n---\n", encoding="utf-8")
        return document.with_values({"session_count": 9})

    with find_project.project_lock(home), pytest.raises(StorageError, match="has just changed it"):
        find_project.change_state(home, step, register, AT)
    assert home.state.read_text(encoding="utf-8") == "---\nmine: 1\n---\n"
    assert not find_project.create_state(home, first(home))
