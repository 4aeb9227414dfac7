"""An edit as a value and in its wire form."""

import json

import pytest
from hypothesis import given

from leftoff.core.resume_log import Edit
from leftoff.errors import DocumentError
from tests.support import strategies


@given(strategies.texts, strategies.texts)
def test_json_loses_nothing_of_an_edit(before, wrote):
    """``to_dict`` and ``from_dict`` are exact opposites, and what is written can be UTF-8."""
    edit = Edit(section="next_steps", before=before, wrote=wrote, after="x")
    assert Edit.from_dict(json.loads(json.dumps(edit.to_dict()))) == edit
    json.dumps(edit.to_dict(), ensure_ascii=False).encode()


@pytest.mark.parametrize("data", [None, [], {}, {"section": 1, "before": "", "wrote": "", "after": ""}])
def test_another_form_is_refused(data):
    with pytest.raises(DocumentError, match="An edit of the resume log is not in the known form"):
        Edit.from_dict(data)
