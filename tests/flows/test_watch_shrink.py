"""``>trim`` and ``>handoff`` as they are typed into a running session."""

import pytest

from leftoff.flows import baton
from leftoff.flows.choose import open_session
from leftoff.testing.builders import call
from tests.flows.live_session import SESSION, Live
from tests.flows.shrinking import LONG


@pytest.fixture(params=["claude", "codex"])
def live(request, own_world):
    session = Live(
        own_world, request.param, SESSION if request.param == "claude" else SESSION[:14] + "7" + SESSION[15:]
    )
    for turn in range(6):
        session.story.asked(f"Step {turn}").replied(
            "Reading.",
            call("shell", {"command": f"cat {turn}"}, f"{turn}\n{LONG}"),
            used=50_000 + turn * 5_000,
        )
    session.write()
    return session


def said(live, prompt):
    answer = live.hook("UserPromptSubmit", prompt=prompt)
    assert answer["decision"] == "block"
    return answer["reason"]


def sessions(live):
    return {*live.agent.transcripts()}


def test_trim_shows_what_it_would_do(live):
    """Nothing is written before the user says yes."""
    before = sessions(live)
    told = said(live, ">trim")
    assert told.startswith("leftoff: trimming frees ")
    assert "Write the copy: >trim yes" in told
    assert sessions(live) == before


def test_trim_yes_writes_the_copy_and_says_what_to_type(live):
    """A hook cannot replace the session that is running."""
    before = sessions(live)
    told = said(live, ">trim yes")
    (new,) = sessions(live) - before
    command = " ".join(live.agent.resume_command(open_session(str(new)).session_id))
    assert f"Go on in the trimmed copy: exit, then type: {command}" in told


def test_trim_yes_says_what_could_not_be_taken_along(own_world, tmp_path):
    """What, why, and that nothing is lost."""
    live = Live(own_world, "claude", SESSION)
    live.story.asked("Go").delegated("Look around", "Nothing")
    for turn in range(6):
        live.story.asked(f"Step {turn}").replied("Reading.", call("shell", {"command": f"cat {turn}"}, LONG))
    live.write()
    (wrote,) = live.transcript.with_suffix("").glob("subagents/*.jsonl")
    wrote.symlink_to(wrote.rename(tmp_path / wrote.name))
    told = said(live, ">trim yes")
    assert f"\nNot taken along: what a subagent wrote ({wrote}): a symbolic link" in told
    assert "\nGo on in the trimmed copy: exit" in told


def test_under_leftoff_run_it_goes_on_by_itself(live, monkeypatch):
    """The hook passes the baton."""
    place = baton.new_baton()
    monkeypatch.setenv(baton.VARIABLE, str(place))
    told = said(live, ">trim yes")
    passed = baton.taken(place)
    assert passed.agent == live.agent.id
    assert f"exit now, and leftoff run starts it by itself ({passed.session_id[:8]})" in told


def test_a_handoff_writes_a_fresh_session(live):
    """With what the log holds."""
    before = sessions(live)
    told = said(live, ">handoff")
    (new,) = sessions(live) - before
    assert told.startswith("leftoff: Go on in a fresh session: exit, then type: ")
    assert open_session(str(new)).parent.derivation == "continued"


def test_a_session_with_nothing_to_trim_says_so(own_world):
    """With the reason."""
    live = Live(own_world)
    live.turn(50_000)
    assert said(live, ">trim").startswith("leftoff: nothing to trim: ")
