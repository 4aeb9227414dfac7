"""What leftoff does with prompts: offers that are taken up late, typed triggers, and warnings before the next prompt."""

from drive import Agent
from installation import check_nothing_logged, install, saved_logs
from sandbox import Sandbox
from scenario import scenario, shell_call
from scenarios.full_window import WARNINGS
from scenarios.next_session import MISSION, finished_session, restored_log, session_id
from screens import (
    CLEAR_LINE,
    TURN_ENDED,
    open_client,
    request_with,
    requests_with,
    screen_options,
    submit,
)
from terminal import Terminal

LONGER_LINE = ">trim the trailing blanks in every file"


@scenario(clients=("claude", "codex"))
def continue_as_second_prompt(agent: Agent, sandbox: Sandbox) -> None:
    """The offer is on the screen with the first prompt at the latest, and the second prompt can still take it up."""
    install(agent, sandbox)
    first = finished_session(agent, sandbox)
    with open_client(agent, sandbox) as screen:
        assert "left off" in submit(agent, screen, "hi there", "hello"), "the user was offered nothing"
        submit(agent, screen, "continue", "going on")
        screen.wait_for("continues session")
    assert session_id(first) in restored_log(request_with(sandbox, "continue\n"))
    check_nothing_logged(sandbox)


@scenario(clients=("codex",))
def continue_after_quit_with_daemon(agent: Agent, sandbox: Sandbox) -> None:
    """With the client's daemon, work that was left a moment ago is offered at once and continued by the second prompt."""
    install(agent, sandbox)
    options = [each for each in screen_options(agent, sandbox) if each != "--no-daemon"]
    with sandbox.open_screen(options) as screen:
        screen.wait_for("permissions:", seconds=90)  # the daemon is installed and started first
        submit(agent, screen, f"{MISSION}\n{shell_call(agent, 'echo half > ledger.txt')}", "half of it")
        screen.wait_for(TURN_ENDED[agent.name])
        screen.type("/quit")
        screen.wait_for("To reconnect")
    left = session_id(agent.latest_transcript(sandbox))
    assert saved_logs(sandbox) == [], "the session has ended already"
    with sandbox.open_screen(options) as screen:
        screen.wait_for("permissions:")
        submit(agent, screen, "hi there", "hello")
        screen.wait_for('Say "continue"')
        submit(agent, screen, "continue", "going on")
        shown = screen.wait_for("continues session")
        assert "another session is running" not in shown
    assert left in restored_log(request_with(sandbox, "continue\n"))
    check_nothing_logged(sandbox)


@scenario(clients=("claude", "codex"))
def short_triggers(agent: Agent, sandbox: Sandbox) -> None:
    """A short line is run or answered with its usage, in any case of letters; a longer one goes to the model untouched."""
    install(agent, sandbox)
    with open_client(agent, sandbox) as screen:
        for number in range(6):
            long = shell_call(agent, f"seq {number} 2000")
            submit(agent, screen, f"Step {number}.\n{long}", f"counted {number}")
        screen.wait_for(TURN_ENDED[agent.name])
        before, sessions = len(sandbox.requests()), len(agent.transcripts(sandbox))
        for trigger, answer in (
            (">TRIM 800", "trim yes   writes the copy"),
            (">Resume please", "resume   saves the log"),
            (">PINS", "nothing is pinned here"),
            (">trim yes", "Continue in the trimmed copy"),
            (">Trim YES", "The same copy exists already"),
        ):
            type_trigger(screen, trigger)
            shown = screen.wait_for(answer)
            assert "Original prompt" not in shown
        assert len(agent.transcripts(sandbox)) == sessions + 1, "a second copy was written"
        assert len(sandbox.requests()) == before, "a trigger was sent to the API"
        type_trigger(screen, LONGER_LINE)
        sandbox.wait_until(
            lambda: bool(requests_with(sandbox.requests(), LONGER_LINE)), "the longer line is sent"
        )
    check_nothing_logged(sandbox)


@scenario(clients=("claude", "codex"))
def warnings_before_next_prompt(agent: Agent, sandbox: Sandbox) -> None:
    """Each threshold is announced at the end of the turn that crosses it, before the next prompt."""
    install(agent, sandbox)
    with open_client(agent, sandbox) as screen:
        submit(agent, screen, "Begin.", "begun")
        for share, warning in WARNINGS.items():
            submit(
                agent, screen, f"At {share}.\n#usage {int(agent.usable_tokens * share)}", f"now at {share}"
            )
            screen.wait_for(warning, seconds=10)
    check_nothing_logged(sandbox)


def type_trigger(screen: Terminal, text: str) -> None:
    screen.press(CLEAR_LINE)  # Claude Code puts a blocked prompt back into its input line
    screen.type(text)
