"""Compactions that leftoff answers inside the running session, through its mod: no request, same session, what the plan says is sent."""

import hashlib
import json
import re
import shutil
from base64 import b64decode
from collections.abc import Iterator
from pathlib import Path

from drive import Agent, Run
from installation import agent_settings, fast_path, install, restored_texts, run_leftoff, saved_logs
from received import Block, Message, iterate_blocks
from sandbox import Sandbox
from scenario import blocks_of_type, has_text, require_success, results_by_call, scenario, shell_call
from scenarios.continuing import MISSION, REPLY, RULES, session_on_screen
from scenarios.hooks import INTEGRATIONS
from scenarios.mod_compaction import add_mod
from screens import READY_FOR_PROMPT, as_json, request_with, screen_options, submit
from terminal import Terminal
from turn_times import conversation

MOD_TESTS = Path(__file__).parents[1] / "mod.test.ts"
RULE = "Never push to main."
MISSION_STEP = "update CHANGELOG.md"
PIN = "The staging database is db-7."
WINDOW_TOKENS = 100_000
FULL_TOKENS = 68_000  # the client compacts such a window at 67,000
PLACEHOLDER = "leftoff expand"
PICTURE = b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAABAAAAAQCAIAAACQkWg2AAAAF0lEQVR4nGP4z8BAEiJN9aiGUQ1DSgMAkPn/Afnh+ngAAAAASUVORK5CYII="
)
# Keeps every answer of leftoff to the mod.
KEEPING_SCRIPT = """\
#!/bin/sh
[ "$1" = in-place ] || exec sh "$(dirname "$0")/program.sh" "$@"
sh "$(dirname "$0")/program.sh" "$@" | tee "$HOME/plan.json"
"""
OTHER_MOD = """
export const register = (on) => on('session.compact', async ($, event, next) => {
  $.ui.log(%s);
  return next(event);
});
"""


@scenario(clients=("claude",))
def in_place_by_hand(agent: Agent, sandbox: Sandbox) -> None:
    """/compact is answered without a request and in the same session; a new process sends what the plan says, calls in pairs."""
    options = add_plugin(agent, sandbox)
    run = work(agent, sandbox, options)
    compacted = require_success(agent.resume(sandbox, run.transcript, "/compact keep 4711", *options))
    assert compacted.requests == [], "the client compacted by itself"
    assert compacted.transcript == run.transcript
    assert len(saved_logs(sandbox)) == 1
    later = require_success(agent.resume(sandbox, run.transcript, "What now?\n#say the end", *options))
    check_plan(sandbox, later.last_messages)
    assert len(placeholders(later.last_messages)) > 1
    assert has_text(later.last_messages, "user", RULE)
    assert has_text(later.last_messages, "user", "The user asked of this compaction: keep 4711")
    assert len(restored_texts(later.last_messages)) == 1, "something was said twice"
    sandbox.check_and_keep("in_place", later.transcript, later.last_messages)
    log = run_leftoff(sandbox, "log", "save", later.transcript.stem, "--stdout")
    assert " runs, " not in log, log


@scenario(clients=("claude",))
def in_place_in_turn(agent: Agent, sandbox: Sandbox) -> None:
    """An automatic compaction in the middle of a turn is answered without a request, and the turn goes on with what the plan says."""
    options = add_plugin(agent, sandbox)
    run = fill_in_turn(agent, sandbox, work(agent, sandbox, options), options, 0)
    assert has_text(run.last_messages, "assistant", "Step 5"), "the last turns are missing"
    check_plan(sandbox, run.last_messages)
    later = require_success(agent.resume(sandbox, run.transcript, "What now?\n#say the end", *options))
    check_plan(sandbox, later.last_messages)


@scenario(clients=("claude",))
def in_place_with_thinking(agent: Agent, sandbox: Sandbox) -> None:
    """In mid-turn, a model that thinks by budget is left to the client, as the API wants the turn's thinking back; others are not."""
    options = add_plugin(agent, sandbox)
    for model, budget, has_budget in (
        ("claude-sonnet-4-5", {}, True),
        ("claude-haiku-4-5", {"MAX_THINKING_TOKENS": "4000"}, True),
        ("claude-opus-4-6", {"CLAUDE_CODE_DISABLE_ADAPTIVE_THINKING": "1"}, True),
        ("claude-opus-4-6", {"MAX_THINKING_TOKENS": "4000"}, False),
        ("claude-opus-5-5", {}, False),
    ):
        debug_file(sandbox).unlink(missing_ok=True)
        environment = {**sandbox.extra_environment}
        sandbox.extra_environment.update(budget)
        run = require_success(
            agent.prompt(
                sandbox, f"With {model}, {budget}.\n{thinking_turn(agent)}", *options, "--model", model
            )
        )
        sandbox.extra_environment = environment
        assert run.main_requests[0].body["thinking"]["type"] == ("enabled" if has_budget else "adaptive")
        assert len(run.summary_requests) == has_budget, (model, budget)
        assert all(request.kind != "refused" for request in run.requests), (model, budget)
        declined = "may need the thinking of the turn" in debug_file(sandbox).read_text("utf-8")
        assert declined == has_budget, (model, budget)
        assert blocks_of_type(run.last_messages, "thinking"), "the turn did not go on"


@scenario(clients=("claude",))
def in_place_after_turn_with_thinking(agent: Agent, sandbox: Sandbox) -> None:
    """Between turns, a session with a thinking budget is compacted in place: the API accepts finished turns without thinking."""
    options = (*add_plugin(agent, sandbox), "--model", "claude-sonnet-4-5")
    prompt = f"Count the numbers. {RULE}\n{thinking_calls(agent)}\n#usage 50000\n#think over\n#say counted"
    run = require_success(agent.prompt(sandbox, prompt, *options))
    compacted = require_success(agent.resume(sandbox, run.transcript, "/compact", *options))
    assert compacted.requests == [], "the client compacted by itself"
    later = require_success(
        agent.resume(sandbox, run.transcript, "What now?\n#think of it\n#say the end", *options)
    )
    check_plan(sandbox, later.last_messages)
    assert [request.kind for request in later.requests] == ["reply"]


@scenario(clients=("claude",))
def in_place_with_image(agent: Agent, sandbox: Sandbox) -> None:
    """A prompt of the last turns keeps its image, by hand and in mid-turn, live and in a new process, and nothing is sent twice."""
    options = add_plugin(agent, sandbox)
    with conversation(agent, sandbox, *options) as session:
        session.turn(f"Count the numbers. {RULE}\n{calls(agent)}\n#say counted")
        session.turn("What is in this picture?\n#say a square", png=PICTURE)
        session.turn("/compact")
        assert sandbox.conversation()[-1].kind != "summary", "the client compacted by itself"
        session.turn("By hand.\n#say by hand")
        check_image(sandbox, sandbox.conversation()[-1].messages)
        session.turn(f"And in this one?\n{calls(agent, 50)}\n{overflow(agent)}\n#say on", png=PICTURE)
    assert not [each for each in sandbox.conversation() if each.kind == "summary"]
    check_image(sandbox, sandbox.conversation()[-1].messages, prompt="And in this one?\n")
    later = require_success(
        agent.resume(sandbox, agent.latest_transcript(sandbox), "What now?\n#say the end", *options)
    )
    check_image(sandbox, later.last_messages, prompt="And in this one?\n")


@scenario(clients=("claude",))
def in_place_twenty_times(agent: Agent, sandbox: Sandbox) -> None:
    """Through twenty compactions in place the rule and the pin stay byte for byte, and calls and results in pairs."""
    options = add_plugin(agent, sandbox)
    run_leftoff(sandbox, "pin", PIN)
    run = work(agent, sandbox, options)
    for number in range(20):
        run = fill_in_turn(agent, sandbox, run, options, number)
        check_plan(sandbox, run.last_messages)
        assert has_text(run.last_messages, "user", f"Count the numbers. {RULE}\n"), number
        assert has_text(run.last_messages, "user", f"- {PIN}\n"), number


@scenario(clients=("claude",))
def in_place_on_screen(agent: Agent, sandbox: Sandbox) -> None:
    """/leftoff:trim trims the running session at once, /leftoff:untrim gives back every byte, and one line says what changed."""
    options = add_plugin(agent, sandbox)
    with sandbox.open_screen([*screen_options(agent, sandbox), *options]) as screen:
        screen.wait_for(READY_FOR_PROMPT[agent.name])
        submit(agent, screen, f"Count the numbers. {RULE}\n{calls(agent)}", "counted")
        submit(agent, screen, "Before.", "before it")
        before = request_with(sandbox, "Before.\n")
        type_command(screen, "/leftoff:trim", "tokens freed")
        submit(agent, screen, "Trimmed.", "trimmed it")
        assert re.search(r"┊+░* \d+% · \d+ placeholder", screen.wait_for("% · ")), "the band is missing"
        trimmed = request_with(sandbox, "Trimmed.\n")
        check_plan(sandbox, trimmed)
        assert placeholders(trimmed), "nothing was trimmed"
        type_command(screen, "/leftoff:untrim", "tokens back")
        type_command(screen, "/leftoff:untrim", "undone already")
        submit(agent, screen, "Restored.", "restored it")
        restored = request_with(sandbox, "Restored.\n")
    assert sandbox.conversation() == [each for each in sandbox.conversation() if each.kind != "summary"]
    assert digests(restored) == digests(before)
    assert has_text(restored, "user", "Trimmed.\n"), "what came after the trim is missing"
    transcript = agent.latest_transcript(sandbox)
    later = require_success(agent.resume(sandbox, transcript, "What now?\n#say the end", *options))
    assert digests(later.last_messages) == digests(before)


@scenario(clients=("claude",))
def in_place_after_continue(agent: Agent, sandbox: Sandbox) -> None:
    """What a session was given on `continue` outlives trim, untrim and compactions in place: rules and open step of the earlier session."""
    options = add_plugin(agent, sandbox)
    session_on_screen(agent, sandbox, MISSION, REPLY)
    with sandbox.open_screen([*screen_options(agent, sandbox), *options]) as screen:
        screen.wait_for(READY_FOR_PROMPT[agent.name])
        submit(agent, screen, f"continue\n{calls(agent)}", "counted")
        submit(agent, screen, "Before.", "before it")
        for command, answer in (
            ("/leftoff:trim", "tokens freed"),
            ("/leftoff:untrim", "tokens back"),
            ("/compact", "tokens freed"),
        ):
            type_command(screen, command, answer)
            submit(agent, screen, f"After {command}.", f"after {command[1:]}")
            sent = as_json(request_with(sandbox, f"After {command}.\n"))
            assert MISSION_STEP in sent, (command, sent)
            for rule in RULES:
                assert rule in sent, (command, rule, sent)
        (sandbox.home / "plan.json").unlink()
        submit(agent, screen, f"Round.\n{calls(agent, 100)}\n{overflow(agent)}", "gone on")
        assert (sandbox.home / "plan.json").exists(), "leftoff was not asked"
        sent = as_json(sandbox.conversation()[-1].messages)
        assert MISSION_STEP in sent, sent
        assert all(rule in sent for rule in RULES), sent
    assert not [each for each in sandbox.requests() if each.kind == "summary"], (
        "the client compacted by itself"
    )


@scenario(clients=("claude",))
def in_place_fails(agent: Agent, sandbox: Sandbox) -> None:
    """Where leftoff is off, broken, slow or gone, or the mod throws, the client compacts as ever, and one line says why."""
    options = add_plugin(agent, sandbox)
    run = work(agent, sandbox, options)
    plugin = sandbox.home / "plugin" / "hooks"
    for line, why in (
        ("exit 1", "did not answer"),
        ("echo '{'", "JSON"),
        ("sleep 30", "leftoff took too long"),
        ('echo \'{"declined": "of the test"}\'', "of the test"),
    ):
        (plugin / "leftoff.sh").write_text(f'[ "$1" = in-place ] || exit 0\n{line}\n', encoding="utf-8")
        check_own_compaction(agent, sandbox, run, options, why)
    (plugin / "leftoff.sh").unlink()
    check_own_compaction(agent, sandbox, run, options, "did not answer")
    mod = (plugin / "mod.js").read_text(encoding="utf-8")
    (plugin / "mod.js").write_text(
        mod.replace("const asked =", "throw new Error('of the test');\nconst asked =")
    )
    check_own_compaction(agent, sandbox, run, options, "of the test")


@scenario(clients=("claude",))
def in_place_left_on_screen(agent: Agent, sandbox: Sandbox) -> None:
    """On a screen, too, the user sees why a /compact was left to the client; nothing of it is left after /clear."""
    options = add_plugin(agent, sandbox)
    script = sandbox.home / "plugin" / "hooks" / "leftoff.sh"
    script.write_text(
        '[ "$1" = in-place ] || exit 0\necho \'{"declined": "of the test"}\'\n', encoding="utf-8"
    )
    with sandbox.open_screen([*screen_options(agent, sandbox), *options]) as screen:
        screen.wait_for(READY_FOR_PROMPT[agent.name])
        submit(agent, screen, f"Count the numbers.\n{calls(agent)}", "counted")
        type_command(screen, "/compact", "leftoff left this compaction to Claude Code: of the test")
        screen.type("/clear")
        assert "of the test" not in submit(agent, screen, "Anew.", "begun")


@scenario(clients=("claude",))
def mod_tests(agent: Agent, sandbox: Sandbox) -> None:
    """The mod's own tests pass in the client: `claude plugin test`."""
    plugin = sandbox.home / "plugin"
    shutil.copytree(INTEGRATIONS / "claude" / "leftoff", plugin)
    shutil.copy(MOD_TESTS, plugin)
    result = sandbox.run(["plugin", "test", str(sandbox.path_inside(plugin))])
    assert result.code == 0, (result.stdout[-2000:], result.stderr[-2000:])
    assert " 0 fail" in result.stdout, result.stdout


@scenario(clients=("claude",))
def in_place_beside_other_mod(agent: Agent, sandbox: Sandbox) -> None:
    """Beside another mod that passes compactions on, leftoff's answer stands."""
    options = (*add_plugin(agent, sandbox), *add_mod(sandbox, OTHER_MOD))
    run = work(agent, sandbox, options)
    compacted = require_success(agent.resume(sandbox, run.transcript, "/compact", *options))
    assert compacted.requests == []
    later = require_success(agent.resume(sandbox, run.transcript, "What now?\n#say the end", *options))
    check_plan(sandbox, later.last_messages)


@scenario(clients=("claude",))
def in_place_by_install(agent: Agent, sandbox: Sandbox) -> None:
    """`leftoff install` brings the mod: it answers /compact; older clients read the same settings, and uninstall removes all of it."""
    output = install(agent, sandbox)
    assert "mod" in output, output
    sandbox.extra_environment["CLAUDE_CODE_AUTO_COMPACT_WINDOW"] = str(WINDOW_TOKENS)
    debug = ("--debug-file", str(debug_file(sandbox, inside=True)))
    run = work(agent, sandbox, debug)
    compacted = require_success(agent.resume(sandbox, run.transcript, "/compact", *debug))
    assert compacted.requests == [], "the client compacted by itself"
    for version in ("2.0.76", "2.1.90", "2.1.197"):
        sandbox.use_version(version)
        debug_file(sandbox).unlink(missing_ok=True)
        options = debug if version != "2.0.76" else ()
        require_success(agent.prompt(sandbox, "Hello.\n#say hello", *options))
        if options:
            assert "hook-load-failed" not in debug_file(sandbox).read_text(encoding="utf-8"), version
    sandbox.use_version(None)
    run_leftoff(sandbox, "uninstall")
    assert not agent_settings(agent, sandbox).exists()
    assert not (fast_path(sandbox).parent / "plugins").exists()
    run = require_success(agent.prompt(sandbox, "Hello again.\n#say hello"))
    assert "leftoff" not in run.result.stderr


def add_plugin(agent: Agent, sandbox: Sandbox) -> tuple[str, ...]:
    """Install leftoff, and return the options that load its plugin for one session; each answer to the mod is kept."""
    install(agent, sandbox)
    folder = sandbox.home / "plugin"
    shutil.copytree(INTEGRATIONS / "claude" / "leftoff", folder)
    script = folder / "hooks" / "leftoff.sh"
    script.rename(script.with_name("program.sh"))
    script.write_text(KEEPING_SCRIPT, encoding="utf-8")
    sandbox.extra_environment["CLAUDE_CODE_AUTO_COMPACT_WINDOW"] = str(WINDOW_TOKENS)
    return (
        "--plugin-dir",
        str(sandbox.path_inside(folder)),
        "--debug-file",
        str(debug_file(sandbox, inside=True)),
    )


def debug_file(sandbox: Sandbox, *, inside: bool = False) -> Path:
    file = sandbox.home / "debug.txt"
    return sandbox.path_inside(file) if inside else file


def calls(agent: Agent, first: int = 0) -> str:
    """Return six replies that print 24,000 characters each."""
    return "\n".join(
        f"#say Step {number}\n{shell_call(agent, f'seq {first + number} {first + number + 4700}')}"
        for number in range(6)
    )


def thinking_calls(agent: Agent) -> str:
    return re.sub("^#say", "#think before it\n#say", calls(agent), flags=re.MULTILINE)


def thinking_turn(agent: Agent) -> str:
    """Return a turn whose replies all think, and which fills the window before it is over."""
    return "\n".join(
        (
            thinking_calls(agent),
            f"#think late\n#usage {FULL_TOKENS}\n{shell_call(agent, 'echo late')}",
            f"#think later\n{shell_call(agent, 'echo later')}",
            "#say on",
        )
    )


def work(agent: Agent, sandbox: Sandbox, options: tuple[str, ...]) -> Run:
    prompt = f"Count the numbers. {RULE}\n{calls(agent)}\n#usage 50000\n#say counted"
    return require_success(agent.prompt(sandbox, prompt, *options))


def fill_in_turn(agent: Agent, sandbox: Sandbox, run: Run, options: tuple[str, ...], number: int) -> Run:
    """Fill the window in the middle of a turn, which then makes one more call."""
    fill = f"{calls(agent, number)}\n{overflow(agent)}"
    run = require_success(
        agent.resume(sandbox, run.transcript, f"Round {number}.\n{fill}\n#say on", *options)
    )
    reasons = [
        line for line in debug_file(sandbox).read_text("utf-8").splitlines() if "left this compaction" in line
    ]
    assert not run.summary_requests, ("the client compacted by itself", reasons)
    assert (sandbox.home / "plan.json").exists(), "leftoff was not asked"
    return run


def overflow(agent: Agent) -> str:
    """Return what fills the window, and two more calls."""
    return f"#usage {FULL_TOKENS}\n{shell_call(agent, 'echo late')}\n{shell_call(agent, 'echo later')}"


def check_image(
    sandbox: Sandbox, messages: list[Message], prompt: str = "What is in this picture?\n"
) -> None:
    """Check that a request begins with the last plan, and that the prompt is there once, after its image."""
    check_plan(sandbox, [*without_images(messages)])
    blocks = [block for _, block in iterate_blocks(messages)]
    (at,) = [number for number, block in enumerate(blocks) if block.get("text", "").startswith(prompt)]
    assert blocks[at - 1]["type"] == "image", blocks[at - 1]


def without_images(messages: list[Message]) -> Iterator[Message]:
    """Yield the messages without images, and without the line by which the client says where it keeps a copy of one."""
    for message in messages:
        blocks = [
            block
            for block in message["blocks"]
            if block["type"] != "image" and not block.get("text", "").startswith("[Image: source: ")
        ]
        yield {**message, "blocks": blocks}


def check_plan(sandbox: Sandbox, messages: list[Message]) -> None:
    """Check that a request begins with the last plan, and that its calls and results are pairs."""
    results_by_call(messages)
    answer = json.loads((sandbox.home / "plan.json").read_text(encoding="utf-8"))
    assert "messages" in answer, answer
    planned = [block for message in answer["messages"] for block in plan_blocks(message)]
    sent = [
        (role, comparable(block))
        for role, block in iterate_blocks(messages)
        if role != "system" and not block.get("text", "").startswith("<system-reminder>")
    ]
    for number, (wanted, got) in enumerate(zip(planned, sent, strict=False)):
        assert got == wanted, (number, wanted, got)
    assert len(sent) >= len(planned)


def plan_blocks(message: dict) -> list[tuple[str, object]]:
    role = message["role"]
    results = [
        ("tool_result", each["tool_use_id"], each["text"].strip(), each["isError"])
        for each in message["toolResults"]
    ]
    text = [("text", message["text"].strip())] if message["text"] else []
    uses = [("tool_use", each["tool_use_id"], each["tool"], each["input"]) for each in message["toolUses"]]
    return [(role, each) for each in (*results, *text, *uses)]


def comparable(block: Block) -> object:
    match block["type"]:
        case "tool_result":
            return ("tool_result", block["id"], block["text"].strip(), block["is_error"])
        case "tool_use":
            return ("tool_use", block["id"], block["tool"], block["input"])
        case _:
            return (block["type"], block.get("text", "").strip())


def placeholders(messages: list[Message]) -> list[Block]:
    return [block for block in blocks_of_type(messages, "tool_result") if PLACEHOLDER in block["text"]]


def digests(messages: list[Message]) -> list[str]:
    """Return the sha256 of each result that the shell gave."""
    texts = [block["text"] for block in blocks_of_type(messages, "tool_result")]
    return [hashlib.sha256(text.encode()).hexdigest() for text in texts]


def type_command(screen: Terminal, command: str, answer: str) -> None:
    screen.type(command)
    screen.wait_for(answer)


def check_own_compaction(
    agent: Agent, sandbox: Sandbox, run: Run, options: tuple[str, ...], why: str
) -> None:
    """Work once more, since a client does not compact a summary again, and check that the client answers /compact by itself."""
    debug_file(sandbox).unlink(missing_ok=True)
    require_success(agent.resume(sandbox, run.transcript, f"More.\n{calls(agent)}\n#say done", *options))
    compacted = require_success(agent.resume(sandbox, run.transcript, "/compact", *options))
    assert len(compacted.summary_requests) == 1, (why, compacted.result.stdout[-500:])
    assert why in debug_file(sandbox).read_text(encoding="utf-8"), why
