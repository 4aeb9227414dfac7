"""Replay real sessions into the real client and compact them there, by leftoff and by the client itself: `make replays`.

Each session of the quiz (`LEFTOFF_QUIZ`, or `--questions`) is cut at one of its compactions and resumed in Claude Code against the
local API. /compact is answered three times, each from the same transcript: by the client, to which the local API gives the summary that
the model wrote in the real session; by leftoff at its default target; and by leftoff at the size of that summary. All figures are of the
request that the client sends next, in a new process; `bench/in_place.py` says what they mean. Files that the client would read again
after its own compaction do not exist here.
"""

import argparse
import sys
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import clients
from drive import Agent
from installation import install, run_leftoff
from received import Message, iterate_blocks
from sandbox import Sandbox
from scenario import AGENTS, require_success

from bench.in_place import DEFAULT, HEADINGS, OWN, SMALL, Case, Compacted, sessions, table_row, totals
from bench.mentions import strings
from leftoff.agents.base import USUAL_IMAGE_CHARS
from leftoff.cli import output

WINDOW_TOKENS = 200_000  # of the models that wrote these sessions
MODEL = ("--model", "claude-opus-5-5")  # whose window holds all of a session that has to be compacted
LEAST_TARGET, MOST_TARGET = 0.05, 0.9
NEXT_PROMPT = "What now?\n#say the end"


def main() -> int:
    options = arguments()
    agent = AGENTS["claude"]
    clients.ensure_installed(agent.name)
    with ThreadPoolExecutor(2) as pool:
        found = [*sessions(options.questions, options.numbers)]
        replayed = [each for some in pool.map(lambda one: [*replay(agent, *one)], found) for each in some]
    output.table([*HEADINGS], [table_row(each) for each in (*replayed, *totals(replayed))])
    return 0


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("numbers", nargs="*", type=int, help="only these sessions")
    parser.add_argument("--questions", type=Path, help="the folder of questions (default: LEFTOFF_QUIZ)")
    return parser.parse_args()


def replay(agent: Agent, folder: Path, source: dict[str, str]) -> Iterator[Compacted]:
    """Yield the three ways to compact one session."""
    with tempfile.TemporaryDirectory(prefix="leftoff-replay-") as scratch:
        case = Case.read(folder, source, Path(scratch))
        with Sandbox(agent) as sandbox:
            sandbox.summary_file.write_text(case.summary, encoding="utf-8")
            before = sent_next(agent, sandbox, case, *agent.options_without_compaction(case.ref.transcript))
            chars_before = sum(map(len, before)) + images(sandbox) * USUAL_IMAGE_CHARS
            reason = compact(agent, sandbox, case)
            after = sent_next(agent, sandbox, None)
        assert reason, "the client did not ask for a summary"
        yield case.compacted(OWN, before, after, chars_before=chars_before)
        own_tokens = case.tokens_after(chars_before, sum(map(len, after)))
        for how, target in ((DEFAULT, None), (SMALL, own_tokens / case.usable_tokens)):
            with Sandbox(agent) as sandbox:
                sandbox.summary_file.write_text(case.summary, encoding="utf-8")
                install(agent, sandbox)
                if target is not None:
                    share = min(max(target, LEAST_TARGET), MOST_TARGET)
                    run_leftoff(sandbox, "config", "trim.in_place_target", f"{share:.4f}")
                reason = compact(agent, sandbox, case)
                after = sent_next(agent, sandbox, None)
            yield case.compacted(how, before, after, chars_before=chars_before, declined=reason)


def compact(agent: Agent, sandbox: Sandbox, case: Case) -> str:
    """Let the client answer /compact, and return why leftoff left it to the client, "" where it did not."""
    sandbox.extra_environment["CLAUDE_CODE_AUTO_COMPACT_WINDOW"] = str(WINDOW_TOKENS)
    debug = sandbox.home / "debug.txt"
    debug_option = ("--debug-file", str(sandbox.path_inside(debug)))
    run = require_success(agent.resume(sandbox, case.ref.transcript, "/compact", *MODEL, *debug_option))
    if not run.summary_requests:
        return ""
    marked = (line for line in debug.read_text("utf-8").splitlines() if "left this compaction" in line)
    return next(marked, "leftoff was not asked").rpartition("Claude Code: ")[2]


def sent_next(agent: Agent, sandbox: Sandbox, case: Case | None, *options: str) -> list[str]:
    """Resume the session, of a case from its start, with one more prompt, and return the texts that the model is sent, but for thinking."""
    transcript = case.ref.transcript if case else agent.latest_transcript(sandbox)
    run = require_success(agent.resume(sandbox, Path(transcript), NEXT_PROMPT, *MODEL, *options))
    return [*texts(run.last_messages)]


def texts(messages: Sequence[Message]) -> Iterator[str]:
    for _, block in iterate_blocks(messages):
        if block["type"] in ("text", "tool_result"):
            yield block["text"]
        elif block["type"] == "tool_use":
            yield "\0".join(strings(block["input"]))


def images(sandbox: Sandbox) -> int:
    """Count the images in the last request."""
    sent = max((each.messages for each in sandbox.requests()), key=len)
    return sum(block.get("images", int(block["type"] == "image")) for _, block in iterate_blocks(sent))


if __name__ == "__main__":
    sys.exit(main())
