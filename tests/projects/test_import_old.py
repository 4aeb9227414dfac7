"""Resume states of older forms."""

from leftoff.projects import import_old
from leftoff.projects.document import Document


def test_old_keys_with_invalid_values_are_left_out():
    document = Document(
        text='---\nphase: Discovery\ncurrent_task: "three"\nlast_skill: x\nprogress: 3\n---\n', where="x"
    )
    assert import_old.read_old_front(document) == {"current_phase": "research", "current_skill": "x"}
