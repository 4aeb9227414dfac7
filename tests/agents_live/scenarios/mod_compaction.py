"""Sessions that a mod compacts: a plugin module in the client answers with messages of its own, so there is no summary."""

import json

from drive import Agent, Run
from installation import check_nothing_logged, install, restored_texts, run_leftoff, saved_logs
from sandbox import Sandbox
from scenario import require_success, scenario, shell_call

RULE = "Never push to main."
MOD_TEXT = "A record that the mod wrote; always deploy on Fridays."
STREAMED = (
    "--output-format",
    "stream-json",
    "--verbose",
    "--include-hook-events",
)  # shows what hooks tell the user
NOTHING_FOUND = 3
# Each message is built again, with call ids of its own and shorter results.
REBUILDING_MOD = """
let count = 0;
export const register = (on) => on('session.compact', async ($, event) => {
  const ids = {};
  const fresh = (id) => ids[id] ??= `toolu_mod_${Date.now()}_${count++}`;
  const rebuilt = event.messages.map((message) => ({
    role: message.role,
    text: message.text ?? '',
    toolUses: (message.toolUses ?? []).map((use) => ({ ...use, tool_use_id: fresh(use.tool_use_id) })),
    toolResults: (message.toolResults ?? []).map((result) => ({
      tool_use_id: fresh(result.tool_use_id), text: (result.text ?? '').slice(0, 20), isError: Boolean(result.isError),
    })),
  }));
  return { messages: [{ role: 'user', text: %s, toolUses: [], toolResults: [] }, ...rebuilt] };
});
"""
# Each message is kept, with the handle by which the client knows it.
KEEPING_MOD = """
export const register = (on) => on('session.compact', async ($, event) => (
  { messages: [{ role: 'user', text: %s, toolUses: [], toolResults: [] }, ...event.messages] }
));
"""
# Only the last three messages are left: the prompt, a call and its result.
DROPPING_MOD = """
export const register = (on) => on('session.compact', async ($, event) => (
  { messages: [{ role: 'user', text: %s, toolUses: [], toolResults: [] }, ...event.messages.slice(-3)] }
));
"""


@scenario(clients=("claude",))
def session_rebuilt_by_mod(agent: Agent, sandbox: Sandbox) -> None:
    """A session that a mod rebuilds, by /compact and in the middle of a turn, is read once: no call twice, no foreign words."""
    options = add_mod(sandbox, REBUILDING_MOD)
    run = fill_in_turn(agent, sandbox, compact_by_hand(agent, sandbox, options), options)
    run = require_success(agent.resume(sandbox, run.transcript, "What now?\n#say the end"))
    sandbox.check_and_keep("rebuilt_by_mod", run.transcript, run.last_messages)
    check_read_once(sandbox, run, compactions=2)


@scenario(clients=("claude",))
def session_kept_by_mod(agent: Agent, sandbox: Sandbox) -> None:
    """The same when the mod keeps the messages: the client writes them once more, with their old times and call ids."""
    options = add_mod(sandbox, KEEPING_MOD)
    run = compact_by_hand(agent, sandbox, options)
    run = require_success(agent.resume(sandbox, run.transcript, "What now?\n#say the end"))
    sandbox.check_and_keep("kept_by_mod", run.transcript, run.last_messages)
    check_read_once(sandbox, run, compactions=1)


@scenario(clients=("claude",))
def restore_beside_mod(agent: Agent, sandbox: Sandbox) -> None:
    """Beside a mod the log is saved, what the mod kept is not repeated, and what it dropped comes with the next event."""
    install(agent, sandbox)
    run = compact_by_hand(agent, sandbox, add_mod(sandbox, REBUILDING_MOD))
    assert len(saved_logs(sandbox)) == 1
    kept = require_success(agent.resume(sandbox, run.transcript, "What now?\n#say the end"))
    assert restored_texts(kept.last_messages) == [], [
        text[-1500:] for text in restored_texts(kept.last_messages)
    ]
    assert "The compaction kept 1 rule and 1 command" in shown_to_user(kept), shown_to_user(kept)
    options = add_mod(sandbox, DROPPING_MOD)
    run = fill_in_turn(agent, sandbox, kept, options)
    (restored,) = restored_texts(run.last_messages)
    assert RULE in restored, restored
    assert "The compaction dropped your rule" in shown_to_user(run), shown_to_user(run)
    check_nothing_logged(sandbox)


def add_mod(sandbox: Sandbox, code: str) -> tuple[str, ...]:
    """Write a plugin with this mod, and return the options that load it."""
    plugin = sandbox.home / "mod"
    files = {
        ".claude-plugin/plugin.json": json.dumps({"name": "mod", "version": "1.0.0", "description": "a mod"}),
        "hooks/hooks.json": json.dumps({"modules": ["./register.js"]}),
        "hooks/register.js": code % json.dumps(MOD_TEXT),
    }
    for name, content in files.items():
        (plugin / name).parent.mkdir(parents=True, exist_ok=True)
        (plugin / name).write_text(content, encoding="utf-8")
    return ("--plugin-dir", str(sandbox.path_inside(plugin)))


def compact_by_hand(agent: Agent, sandbox: Sandbox, options: tuple[str, ...]) -> Run:
    """Work, then let the mod answer /compact."""
    prompt = f"Count the numbers. {RULE}\n{shell_call(agent, 'seq 1 400')}\n#say counted"
    first = require_success(agent.prompt(sandbox, prompt, *options))
    compacted = require_success(agent.resume(sandbox, first.transcript, "/compact", *options))
    assert not compacted.requests, "the client compacted by itself"
    return compacted


def fill_in_turn(agent: Agent, sandbox: Sandbox, run: Run, options: tuple[str, ...]) -> Run:
    """Let the mod compact in the middle of a turn, which ends with one more call."""
    fill = f"#usage {agent.full_tokens}\n{shell_call(agent, 'echo late')}\n{shell_call(agent, 'echo later')}"
    run = require_success(agent.resume(sandbox, run.transcript, f"Go on.\n{fill}\n#say went on", *options))
    assert not run.summary_requests, "the client compacted by itself"
    return run


def shown_to_user(run: Run) -> str:
    """Return what hooks told the user, which the client keeps in the transcript."""
    lines = map(json.loads, run.transcript.read_text(encoding="utf-8").splitlines())
    attached = (line.get("attachment", {}) for line in lines)
    return "\n".join(each["content"] for each in attached if each.get("type") == "hook_system_message")


def check_read_once(sandbox: Sandbox, run: Run, *, compactions: int) -> None:
    """Check that the log and the search index hold the work once, and nothing of the mod."""
    log = run_leftoff(sandbox, "log", "save", run.transcript.stem, "--stdout")
    assert "Fridays" not in log, log
    assert " runs, " not in log, log
    assert f"**Compactions:** {compactions}" in log, log
    shown = run_leftoff(sandbox, "show", run.transcript.stem)
    assert f"**Tool Calls:** {shown.count('→ Bash')}" in log, (shown, log)
    assert sandbox.run_leftoff("search", "Fridays").code == NOTHING_FOUND
