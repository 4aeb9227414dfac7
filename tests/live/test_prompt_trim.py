"""``>trim`` and ``>handoff`` as they are typed into a running session."""

import re

import pytest

from leftoff.core.session_ids import short_id
from leftoff.resume import next_session
from leftoff.sessions.find import open_session
from leftoff.testing.builders import call
from tests.support.live_session import SESSION, LiveSession
from tests.support.long_sessions import LONG


@pytest.fixture(params=["claude", "codex"])
def live(request, isolated_home):
    session = LiveSession(
        isolated_home,
        request.param,
        SESSION if request.param == "claude" else SESSION[:14] + "7" + SESSION[15:],
    )
    for turn in range(6):
        session.story.asked(f"Step {turn}").replied(
            "Reading.",
            call("shell", {"command": f"cat {turn}"}, f"{turn}\n{LONG}"),
            used=50_000 + turn * 5_000,
        )
    session.write()
    return session


def block_reason(live, prompt):
    answer = live.hook("UserPromptSubmit", prompt=prompt)
    assert answer["decision"] == "block"
    return answer["reason"]


def sessions(live):
    return {*live.agent.transcripts()}


def test_trim_shows_what_it_would_do(live):
    """Nothing is written before the user confirms."""
    before = sessions(live)
    reason = block_reason(live, ">trim")
    assert re.match(
        r"leftoff: trimming \d+ pieces? frees about [\d,]+ tokens, \d+ % → \d+ % of the window\. ", reason
    )
    assert "Write the copy: >trim yes" in reason
    assert sessions(live) == before


def test_trim_yes_writes_the_copy_and_says_what_to_type(live):
    """A hook cannot replace the session that is running."""
    before = sessions(live)
    reason = block_reason(live, ">trim yes")
    (new,) = sessions(live) - before
    command = " ".join(live.agent.resume_command(open_session(str(new)).session_id))
    assert f"Continue in the trimmed copy: exit, then type:\n  {command}" in reason


def test_trim_yes_says_what_could_not_be_copied(isolated_home, tmp_path):
    """The message says what is missing, why, and that nothing is lost."""
    live = LiveSession(isolated_home, "claude", SESSION)
    live.story.asked("Go").delegated("Look around", "Nothing")
    for turn in range(6):
        live.story.asked(f"Step {turn}").replied("Reading.", call("shell", {"command": f"cat {turn}"}, LONG))
    live.write()
    (wrote,) = live.transcript.with_suffix("").glob("subagents/*.jsonl")
    wrote.symlink_to(wrote.rename(tmp_path / wrote.name))
    reason = block_reason(live, ">trim yes")
    assert f"\nNot taken along: what a subagent wrote ({wrote}): a symbolic link" in reason
    assert "\nContinue in the trimmed copy: exit" in reason


def test_under_leftoff_run_it_continues_automatically(live, monkeypatch):
    """The hook passes the new session to ``leftoff run``."""
    place = next_session.new_file()
    monkeypatch.setenv(next_session.VARIABLE, str(place))
    reason = block_reason(live, ">trim yes")
    passed = next_session.read_and_delete(place)
    assert passed.agent == live.agent.id
    assert f"exit now, and leftoff run starts it by itself ({short_id(passed.session_id)})" in reason


def test_a_handoff_writes_a_fresh_session(live):
    """The new session begins with the contents of the log."""
    before = sessions(live)
    reason = block_reason(live, ">handoff")
    (new,) = sessions(live) - before
    assert reason.startswith("leftoff: Continue in a fresh session: exit, then type:\n  ")
    assert open_session(str(new)).parent.derivation == "continued"


def test_a_session_with_nothing_to_trim_says_so(isolated_home):
    """The message names the reason."""
    live = LiveSession(isolated_home)
    live.turn(50_000)
    assert block_reason(live, ">trim").startswith("leftoff: nothing to trim: ")
