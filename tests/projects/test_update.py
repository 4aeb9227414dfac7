"""Updates of a resume state."""

import dataclasses

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from leftoff.projects import body, update
from leftoff.projects.history import SessionWork
from leftoff.projects.progress import Facts, UserInput
from leftoff.projects.project_state import Planning, State
from leftoff.projects.steps import Steps
from leftoff.projects.update import ProjectUpdate
from tests.projects.builders import AT, NO_TOKENS

# A person and leftoff edit one file, a thousand times
# Explaining a failure traces every line of the parser, which takes minutes.
_PHASES = (Phase.explicit, Phase.generate)
_words = st.text(
    st.characters(codec="utf-8", exclude_characters="\r\n\x00", exclude_categories=("Cc", "Cs")), max_size=30
)


_user_inputs = st.fixed_dictionaries(
    {
        "decisions": st.lists(_words, max_size=2).map(tuple),
        "blockers": st.lists(_words, max_size=2).map(tuple),
        "notes": st.lists(_words, max_size=2).map(tuple),
        "next_action": st.none() | _words.filter(bool),
    }
).map(lambda values: UserInput(**values))


_work = st.none() | st.builds(
    SessionWork,
    agent=st.sampled_from(["a", "b"]),
    session_id=st.sampled_from(["s-1", "s-2"]),
    compactions=st.integers(0, 3),
    decisions=st.lists(_words, max_size=2).map(tuple),
    modified=st.lists(_words.filter(bool), max_size=2).map(tuple),
)


@given(st.lists(st.tuples(_user_inputs, _work), min_size=1, max_size=4), st.booleans())
@settings(max_examples=15, phases=_PHASES, suppress_health_check=[HealthCheck.too_slow])
@pytest.mark.slow
def test_the_same_update_twice_changes_no_byte(updates, is_windows):
    """This holds for any input and either kind of line end; a note outside of blocks always stays."""
    empty = Facts(steps=Steps(), purpose=None, planning=Planning(), reads=("_resume.md",))
    found = update.create_document(
        "1-x", "X", ProjectUpdate(facts=empty, at=AT, short_id="1", gauge=NO_TOKENS)
    )
    found = found.with_text(
        lambda text: text.replace("## Session History\n", "## Session History\n\nMY NOTE\n")
    )
    if is_windows:
        found = found.with_text(lambda text: text.replace("\n", "\r\n"))
    for number, (user_input, work) in enumerate(updates):
        at = AT.replace(day=4 + number)
        news = ProjectUpdate(facts=empty, at=at, short_id="1", gauge=NO_TOKENS, given=user_input, work=work)
        found = update.update_document(found, news)
        again = update.update_document(found, dataclasses.replace(news, at=at.replace(hour=23)))
        assert again.text == found.text
        assert "MY NOTE" in found.text
        assert all(block.is_unedited for block in body.find_blocks(found.text).values())
        assert found.text.count("\r\n") in ({found.text.count("\n")} if is_windows else {0})
    assert isinstance(found.state, State)
