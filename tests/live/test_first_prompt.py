"""A first prompt that has nothing to do with the offered log does not wait for the full program."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from leftoff.live import fast
from leftoff.platform import clock
from leftoff.resume_logs.restore import Candidate, shared_words, words_to_look_for
from leftoff.sessions import live_state
from tests.support.live_session import OTHER, LiveSession, wait_for


def run_hook(live: LiveSession, name: str, **fields: object) -> str:
    event = {
        "session_id": live.session_id,
        "transcript_path": str(live.transcript),
        "cwd": str(Path.cwd()),
        "hook_event_name": name,
    }
    command = [sys.executable, "-I", "-S", fast.__file__, live.agent.id]
    done = subprocess.run(
        command, input=json.dumps(event | fields), capture_output=True, text=True, check=True, timeout=60
    )
    return done.stdout


@pytest.mark.usefixtures("interactive_user")
def test_the_offer_is_closed_in_the_background_after_the_first_turn(live: LiveSession) -> None:
    live.hook("SessionStart", source="startup")
    wait_for(lambda: not live.state.catching_up)
    run_hook(live, "UserPromptSubmit", prompt="What is the weather like?")
    assert live.state.offer_open, "the full program has handled the prompt"
    live.turn(20_000)
    run_hook(live, "Stop")
    wait_for(lambda: not live.state.offer_open)
    assert live.state.may_continue, "a later prompt can still take it up"


@pytest.mark.usefixtures("interactive_user")
@pytest.mark.parametrize("tokens", [20_000, 190_000])
def test_after_the_first_turn_the_gauge_is_known(live: LiveSession, tokens: int) -> None:
    """A nearly full window is announced by the turn itself."""
    live.hook("SessionStart", source="startup")
    wait_for(lambda: not live.state.catching_up)
    live.turn(tokens)
    said = run_hook(live, "Stop")
    assert ("Context" in said) is (tokens > 50_000)
    wait_for(lambda: live.state.used_tokens)
    assert tokens <= (live.state.used_tokens or 0) < tokens + 100
    assert live.state.client_pid == os.getpid()


@pytest.mark.usefixtures("interactive_user")
@pytest.mark.parametrize(
    ("prompt", "is_handed_over"),
    [
        ("Look at src/lock.py first, please.", True),
        ("Please continue.", True),
        ("Look at src/clock.c first, please.", False),
    ],
)
def test_only_a_first_prompt_that_wants_the_log_goes_to_the_full_program(
    isolated_home: Path, live: LiveSession, prompt: str, is_handed_over: bool
) -> None:
    earlier = LiveSession(isolated_home, session_id=OTHER)
    earlier.turn(50_000)
    earlier.hook("SessionStart", source="resume")
    run_hook(earlier, "SessionEnd", reason="other")
    wait_for(lambda: not live_state.with_end_note())  # its log is saved
    live.hook("SessionStart", source="startup")
    wait_for(lambda: not live.state.catching_up)
    assert (OTHER in run_hook(live, "UserPromptSubmit", prompt=prompt)) is is_handed_over
    assert live.state.offer_open is not is_handed_over


@pytest.mark.usefixtures("interactive_user")
def test_the_end_of_the_first_turn_does_not_wait_even_if_its_prompt_did(live: LiveSession) -> None:
    live.hook("SessionStart", source="startup")
    wait_for(lambda: not live.state.catching_up)
    live.transcript.write_text('{"type": "a client writes more than replies"}\n', encoding="utf-8")
    run_hook(live, "UserPromptSubmit", prompt="continue")
    assert not live.state.offer_open
    live.turn(20_000)
    run_hook(live, "Stop")
    assert live.state.used_tokens is None, "the full program has handled the end of the turn"
    wait_for(lambda: live.state.used_tokens)


@given(st.text(st.sampled_from("aZfile 09._-/@~`('\u2019\"ü,"), max_size=40) | st.text(max_size=40))
@example("look at Makefile")
@example("what's in `lock`?")
@example("call acquire() again")
@example("the over-all parse_line")
def test_no_prompt_that_shares_a_name_with_the_log_is_missed(prompt: str) -> None:
    words = {part for word in prompt.split() for part in _parts(word)}
    candidate = _candidate(frozenset(word for word in words if len(word) > 3))
    looked_for = words_to_look_for([candidate])
    assert not shared_words(candidate, prompt) or any(word in prompt for word in looked_for)


def _parts(word: str) -> set[str]:
    return {word[begin:end] for begin in range(len(word)) for end in range(begin + 1, len(word) + 1)}


def _candidate(words: frozenset[str]) -> Candidate:
    return Candidate(
        session_id="s",
        path="/x",
        standing="written",
        left_at=clock.now(),
        folder=None,
        branch=None,
        worktree=None,
        is_open=True,
        is_begun=True,
        words=words,
        mission="",
        transcript=None,
    )
