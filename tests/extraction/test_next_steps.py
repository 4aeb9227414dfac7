"""What is left to do: the request, what was said and done since, calls without an answer, failing checks; never "nothing" in doubt."""

import pytest

from leftoff.core.actions import Answer, Changed, Planned, Ran, Todo
from leftoff.core.records import RecordKind
from leftoff.extraction import State, is_finished, render, step
from leftoff.extraction.next_steps import is_settled
from leftoff.testing.builders import Story, call
from tests.extraction.builders import PLAIN, add_call, folded, record, session_state_of, use

MAKE = call("shell", {"command": "make"}, "ok")
LOOK = call("read", {"path": "/p/parser.py"}, "x")


def steps_of(story: Story) -> list[str]:
    found: list[str] = session_state_of(story)["next_steps"]
    return found


def test_an_unfinished_request_is_told_word_for_word_with_what_was_said_and_done_since() -> None:
    request = "Write the importer:\n- rows one by one\n- no pandas"
    story = Story(project="/p").asked("Look around").replied("I did.").asked(request)
    story.replied("Looking at the parser.", LOOK)
    story.replied("The parser is fine.", call("edit", {"path": "/p/rows.py", "old": "x", "new": "y"}), MAKE)
    assert steps_of(story) == [
        f"Unfinished request: “{request}”",
        "Since that request the agent said: Looking at the parser.\n\nThe parser is fine.",
        "Since that request the agent changed `rows.py`; read `parser.py`; ran `make`",
    ]


def test_a_short_request_comes_with_what_the_agent_said_before_it() -> None:
    """ "No, revert those changes" says nothing without the reply that it answers."""
    before = "Settings files no longer count as the user's work; rows of other tools are left out of the sum."
    story = Story().asked("The numbers are off").replied(before).replied("Let me check the totals:", LOOK)
    story.asked("No, revert those changes").replied("You are right.", LOOK)
    assert f"Before the last prompt the agent said: {before}" in steps_of(story)
    clear = Story().asked("The numbers are off").replied(before).asked("Write the importer. " * 30)
    assert not any(before in step for step in steps_of(clear.replied("Looking.", LOOK)))


def test_what_only_announces_the_next_call_is_left_out_of_what_was_said_since() -> None:
    story = Story().asked("Fix the totals").replied("Let me look at the rows first.", LOOK)
    story.replied("Cents are lost when rows are merged. Let me check the store.", LOOK).replied(
        "Now the store:", LOOK
    )
    assert (
        "Since that request the agent said: Cents are lost when rows are merged.\n\nNow the store:"
        in steps_of(story)
    )


def test_a_request_that_is_too_long_keeps_its_beginning_and_its_end() -> None:
    parts = [f"Part {n}: column c{n} of the old table becomes field f{n}." for n in range(60)]
    parts.append("Everything else about rounding, cents and currencies is specified in money.md. " * 8)
    first, *_ = steps_of(Story().asked("\n\n".join(["Write the importer first of all.", *parts])))
    assert first.startswith("Unfinished request: “Write the importer first of all.")
    assert parts[-1].strip() in first
    assert "[…]" in first
    assert len(first) < 1_600


@pytest.mark.parametrize(
    ("tool", "given", "told"),
    [
        (
            "exec_command",
            {"cmd": "tmux kill-window -t agentv:4"},
            "exec_command `tmux kill-window -t agentv:4`",
        ),
        ("shell", {"command": ["git", "push"]}, "shell `git push`"),
        ("Edit", {"file_path": "/p/a.py", "old_string": "x"}, "Edit `/p/a.py`"),
        ("Task", {"description": "Count the files", "prompt": "…"}, "Task `Count the files`"),
        ("apply_patch", "*** Begin Patch", "apply_patch `*** Begin Patch`"),
        ("odd", {"n": 1}, "odd"),
    ],
)
def test_a_call_without_an_answer_says_what_it_was_to_do(tool: str, given, told: str) -> None:
    """Two of the same kind are told apart."""
    records = [
        record(RecordKind.PROMPT, "Go on then", line=0),
        record(RecordKind.REPLY, use("c", tool, given), line=1),
    ]
    log = render(step(State(), records, PLAIN))
    assert f"Call without an answer: {told}" in log["next_steps"]
    assert all(source["excerpt"] for source in log["sources"])


@pytest.mark.parametrize("sentence", ["Every row has a sum. ", "すべての行に合計があります。"])
def test_a_prompt_that_is_too_long_to_keep_says_that_it_was_cut(sentence: str) -> None:
    """Also where there is no blank to cut at."""
    (prompt,) = folded(Story().asked(sentence * 1_000)).prompts
    assert prompt.text.startswith(sentence * 100)
    assert prompt.text.endswith(" […]")


def test_headings_of_the_last_reply_become_bold() -> None:
    story = Story().asked("Write it").replied("I wrote it.\n\n## Next\n\n- Next step: rounding")
    assert steps_of(story) == ["The agent's last reply: I wrote it.\n\n**Next**\n- Next step: rounding"]


def test_a_call_under_way_is_not_called_no_call() -> None:
    records = [
        record(RecordKind.PROMPT, "Why is it slow?", line=0),
        record(RecordKind.REPLY, use("c", "Task", {"description": "Look around"}), line=1),
    ]
    told = render(step(State(), records, PLAIN))["next_steps"]
    assert told == ["Unfinished request: “Why is it slow?”", "Call without an answer: Task `Look around`"]


def test_an_approval_is_not_the_request() -> None:
    """The unfinished request is the one before it; with approvals only, there is none."""
    story = Story().asked("Write the importer").replied("Shall I?").asked("yes").replied("", MAKE)
    assert steps_of(story)[0] == "Unfinished request: “Write the importer”"
    assert steps_of(Story().asked("yes")) == []


@pytest.mark.parametrize(
    "reply",
    [
        "It reads CSV. Next step: the docs.",
        "It reads CSV.\n\nRemaining:\n- the docs",
        "The importer is done. Want me to write the docs?",
        "All done. The docs still need to be written.",
        "All tests pass. I'll now write the docs.",
        "It is 80% complete.",
    ],
)
def test_what_the_last_reply_says_is_next_is_open(reply: str) -> None:
    """The whole reply is quoted, and the work is never called finished."""
    told = steps_of(Story().asked("Write it").replied("", MAKE).replied(reply))
    assert told == [f"The agent's last reply: {reply}"]
    assert not is_finished(folded(Story().asked("Write it").replied("", MAKE).replied(reply)))


def test_where_nothing_is_open_a_step_says_so_with_the_answer() -> None:
    """Only where somebody said that the work is done."""
    assert steps_of(Story().asked("Write it").replied("It reads CSV.")) == [
        "No next step was named: “Write it” was answered with: It reads CSV."
    ]
    assert steps_of(Story().asked("Write it").replied("It is done.")) == [
        "Nothing is left open: “Write it” was answered with: It is done."
    ]


@pytest.mark.parametrize(
    "extra",
    [
        lambda story: story.replied("", call("todo", {"items": [{"text": "Docs", "status": "pending"}]})),
        lambda story: story.replied(
            "", call("shell", {"command": "make test"}, "Exit code 2\nno", failed=True)
        ),
        lambda story: story.replied("", call("shell", {"command": "make test | tail"}, "1 failed")),
    ],
)
def test_nothing_is_called_finished_while_something_is_open(extra) -> None:
    """The agent's last reply is told beside what is open."""
    story = extra(Story().asked("Write it")).replied("It is done.")
    first, *others = steps_of(story)
    assert first == "The agent's last reply: It is done."
    assert others
    assert not is_finished(folded(story))


def test_a_reply_says_which_offer_a_mere_yes_accepted() -> None:
    """Not so if it answers the latest request itself."""
    story = Story().asked("Write it").replied("Written. Shall I write the docs?")
    assert steps_of(story)[0].startswith("The agent's last reply: Written.")
    told = steps_of(story.asked("yes").replied("They are written. Next: the release."))[0]
    assert told == (
        "The agent's last reply (to “yes”, after “Shall I write the docs?”): They are written. Next: the release."
    )


def test_requests_that_nobody_replied_to_are_one_request() -> None:
    story = (
        Story().asked("Write it").replied("Written.").asked("Test that aggregator: works").asked("with bun")
    )
    assert steps_of(story)[0] == "Unfinished request: “Test that aggregator: works” and then “with bun”"


def test_an_entry_that_the_agent_forgot_to_tick_off_is_over_once_the_work_is_done() -> None:
    items = [{"text": "Run the tests", "status": "in_progress"}, {"text": "Docs", "status": "pending"}]
    story = Story().asked("Write it").replied("", call("todo", {"items": items}))
    assert "In progress: Run the tests" in steps_of(story)
    after = steps_of(story.replied("All of it is done."))
    assert "In progress: Run the tests" not in after
    assert "To do: Docs" in after


def test_a_thank_you_keeps_open_what_the_reply_before_it_named() -> None:
    """But a question in it was answered by the thanks."""
    story = Story().asked("Write it").replied("It reads CSV. Next step: the docs.")
    assert "Next step: the docs." in steps_of(story.asked("thanks").replied("Sure."))[0]
    asked = Story().asked("Write it").replied("It is done. Want me to write the docs?")
    assert not any("Want me" in step for step in steps_of(asked.asked("thanks").replied("All done.")))


def test_a_long_last_reply_keeps_what_it_says_is_left() -> None:
    filler = [f"Section {n} explains how table{n} relates to view{n} and job{n}. " * 4 for n in range(20)]
    left = "Remaining: the docs."
    told = steps_of(Story().asked("Write it").replied("\n\n".join([*filler, left])))
    assert left in told[0]
    assert len(told[0]) <= 2_100


def state_after(*prompts: tuple[str, str]) -> State:
    story = Story()
    for prompt, reply in prompts:
        story.asked(prompt).replied("", LOOK).replied(reply)
    return folded(story)


@pytest.mark.parametrize(
    ("taken_over", "settled"),
    [
        ("Call without an answer: shell `make`", True),
        ("Running in the background when last seen: `npm run dev`", True),
        ("Since that request the agent read `a.py`", True),
        ("Unfinished request: “Write the importer”", True),
        ("To do: Write the docs", False),
        ("The agent's last reply: It reads CSV.", True),
        ("The agent's last reply: Next step: add rows to `store.py`.", False),
        ("Failing check: `pytest -q` → “1 failed”", False),
    ],
)
def test_going_ahead_settles_what_cannot_be_looked_up(taken_over: str, settled: bool) -> None:
    """A to-do, a file that was to be changed and a failing check are open until they are seen to be done."""
    assert is_settled(taken_over, state_after(("continue", "The importer reads CSV."))) is settled
    assert is_settled("Unfinished request: “Write it”", state_after(("Fix the login", "Done."))) is False


def test_what_was_seen_to_be_done_is_settled() -> None:
    passed = add_call(State(), Ran("make test"), answer=Answer("3 passed", 0, failed=False))
    assert is_settled("Failing check: `pytest -q tests/a.py` → “1 failed”", passed)
    changed = add_call(State(), Changed("/p/store.py", "a", "b"), answer=Answer("ok", failed=False))
    assert is_settled("The agent's last reply: Next step: add rows to `store.py`.", changed)
    ticked = add_call(State(), Planned((Todo("Write the docs", "completed"),)), answer=Answer("ok"))
    assert is_settled("To do: Write the docs", ticked)
    assert is_settled("To do: Write the docs", state_after(("skip the docs, no need to write them", "Ok.")))


def test_open_work_without_a_prompt_is_open() -> None:
    """A transcript may begin in the middle, or have only prompts that a program wrote."""
    state = add_call(State(), Planned((Todo("Write the docs"),)), answer=Answer("ok"))
    add_call(state, Ran("make test"), answer=Answer("1 failed", 1, failed=True))
    assert render(state)["next_steps"] == [
        "To do: Write the docs",
        "Failing check: `make test` → “1 failed”",
    ]
