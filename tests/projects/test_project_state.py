"""The front matter as typed values."""

import pytest

from leftoff.errors import DocumentError
from leftoff.projects import project_state
from leftoff.projects.project_state import Planning
from tests.projects.builders import document


def test_the_front_matter_is_read_as_typed_values():
    """``None`` means that the front matter does not say."""
    state = document().state
    assert state.metadata.resume_version == "1.0"
    assert state.metadata.last_updated.isoformat() == "2026-01-03T15:30:00+00:00"
    assert (state.project.project_status, state.location.current_phase) == ("IN_PROGRESS", "execution")
    assert (state.execution.next_task_number, state.execution.progress_percentage) == (15, None)
    assert state.planning == Planning(research=True, steps=False)
    assert state.planning.first_open == "overview"


def test_the_state_has_every_key_in_the_order_of_a_new_file():
    result = document().state.to_dict()
    assert [*result] == [*project_state.KEYS]
    assert result["planning_completed"] == {"research": True, "overview": None, "plan": None, "steps": False}


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("session_count: two", "line 6: session_count is 'two', and takes a whole number"),
        ("session_count: -1", "takes a whole number, 0 or more"),
        ("session_count: true", "takes a whole number"),
        ("current_phase: dreaming", "takes one of research, planning, execution, testing, deployment"),
        ("project_name: [a]", "project_name is .*, and takes text"),
        ("last_updated: yesterday", "takes a time such as"),
        ("files_to_load: x.md", "takes a list of paths"),
        ("planning_completed: [research]", "takes flags such as"),
        ("planning_completed:\n  - research: maybe", "takes true or false"),
        (f"project_status: {'x' * 99}", "…, and takes one of RESEARCH"),
    ],
)
def test_a_wrong_value_is_reported_with_its_line_and_what_the_key_takes(line, words):
    text = f"---\na: 1\nb: 2\nc: 3\nd: 4\n{line}\n---\n"
    with pytest.raises(DocumentError, match=words) as trouble:
        _ = document(text).state
    assert trouble.value.line == 6


def test_a_project_name_may_look_like_a_number():
    assert document("---\nproject_name: 2026\n---\n").state.project.project_name == "2026"
