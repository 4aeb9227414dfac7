"""What users do not wait for: a session is saved after its client has exited, and the next one gets it all the same."""

from drive import Agent
from installation import check_nothing_logged, install, run_leftoff_json, saved_logs, state_folder
from sandbox import Sandbox
from scenario import require_success, scenario, shell_call
from scenarios.next_session import MISSION, restored_log, session_id
from screens import TURN_ENDED, open_client, request_with, submit

# Kills the tasks that save sessions; only the sandbox's own processes are seen in it.
KILL_TASKS = """\
import os, pathlib, signal, sys
for path in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
    try:
        if f"hook\\0{sys.argv[1]}\\0end\\0".encode() in path.read_bytes():
            os.kill(int(path.parent.name), signal.SIGKILL)
    except OSError:
        pass  # it has ended meanwhile
"""


@scenario(clients=("claude", "codex"))
def continue_right_after_exit(agent: Agent, sandbox: Sandbox) -> None:
    """A session that is started as soon as the last one has exited receives its work when it asks to continue."""
    install(agent, sandbox)
    write = shell_call(agent, "mkdir -p src && echo 'cents = 0' > src/ledger.py")
    first = require_success(agent.prompt(sandbox, f"{MISSION}\n{write}\n#say Half of it. Next: the totals."))
    with open_client(agent, sandbox) as screen:
        submit(agent, screen, "continue", "going on")
        screen.wait_for(TURN_ENDED[agent.name])
    log = restored_log(request_with(sandbox, "continue\n"))
    assert session_id(first.transcript) in log
    assert "src/ledger.py" in log
    check_nothing_logged(sandbox)


@scenario(clients=("claude", "codex"))
def killed_while_saving(agent: Agent, sandbox: Sandbox) -> None:
    """If everything is killed as the client exits, the next session saves what was due, with the reason of the end."""
    install(agent, sandbox)
    first = require_success(agent.prompt(sandbox, f"{MISSION}\n#say Half of it. Next: the totals."))
    sandbox.run_python(KILL_TASKS, agent.name)
    left = [*(state_folder(sandbox) / "watch").glob("*.end")]
    with open_client(agent, sandbox) as screen:
        submit(agent, screen, "continue", "going on")
    sandbox.wait_until(
        lambda: not any(note.exists() for note in left), "the end of the first session is saved"
    )
    assert f"session-{session_id(first.transcript)}" in [path.stem for path in saved_logs(sandbox)]
    log = run_leftoff_json(sandbox, "log", "show", session_id(first.transcript))
    assert not left or log["metadata"]["ended"], log["metadata"]
