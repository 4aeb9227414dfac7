"""Measure how long a user waits in the real clients, with leftoff and without: `make turns`.

Each round runs one session of the client without leftoff and one with it, in turn, against the local API, which answers at
once. A session is a first turn, plain turns, a turn with five tool calls, and the exit. What leftoff costs is the difference of
the medians. The numbers mean something on a machine that does nothing else: the load is printed with them.

A session is driven as the client's own programs drive it: Claude Code by `stream-json` on its standard streams, Codex by its
app server. The first turn includes the start of the client. An earlier session with open work lies in the project. leftoff offers
it to Codex' app server, but to Claude Code only on a screen, so that a first turn is measured there too: from the start of the
client, with a prompt on its command line, until the reply is on the screen.
"""

import argparse
import base64
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import clients
from agent_claude import HEADLESS
from drive import Agent
from installation import install, saved_logs
from sandbox import Sandbox, SandboxError
from scenario import AGENTS, parallel_shell_calls, require_success, shell_call
from screens import ANSWER_MARK, screen_options

PLAIN_TURNS = 5
ON_SCREEN = "first turn on a screen"
ROWS = (ON_SCREEN, "first turn", "plain turn", "turn with 5 tools", "exit")
LIMITS_MS = {ON_SCREEN: 250, "first turn": 250, "exit": 250}
TURN_SECONDS = 120
IDLE_FRACTION, IDLE_SECONDS, MOST_WAIT_SECONDS = 0.9, 1.0, 120
EXIT = {"claude": "/exit", "codex": "/quit"}
Times = Mapping[str, list[float]]


class Conversation:
    """A session of a client that is driven by lines of JSON on its standard streams."""

    def __init__(self, agent: Agent, process: subprocess.Popen[str]) -> None:
        self._agent = agent
        self._process = process
        self._thread_id: str | None = None

    def turn(self, prompt: str, *, png: bytes | None = None) -> None:
        """Send a prompt, to Claude Code with an image if there is one, and wait until the turn is over."""
        if self._agent.name == "claude":
            content: list[dict[str, Any]] = [{"type": "text", "text": prompt}]
            if png is not None:
                source = {
                    "type": "base64",
                    "media_type": "image/png",
                    "data": base64.b64encode(png).decode("ascii"),
                }
                content.insert(0, {"type": "image", "source": source})
            self._send({"type": "user", "message": {"role": "user", "content": content}})
            self._read_until(lambda line: line.get("type") == "result")
            return
        if self._thread_id is None:
            self._request("initialize", {"clientInfo": {"name": "turn-times", "version": "1"}})
            self._send({"method": "initialized"})
            self._thread_id = self._request("thread/start", {})["thread"]["id"]
        text = {"type": "text", "text": prompt, "text_elements": []}
        self._send(_call("turn/start", {"threadId": self._thread_id, "input": [text]}))
        self._read_until(lambda line: line.get("method") == "turn/completed")

    def exit(self) -> None:
        """Close the client's input and wait until it has exited."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(TURN_SECONDS)

    def _request(self, method: str, parameters: dict[str, Any]) -> dict[str, Any]:
        self._send(_call(method, parameters))
        answer: dict[str, Any] = self._read_until(lambda line: line.get("id") == method)["result"]
        return answer

    def _send(self, message: dict[str, Any]) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(message) + "\n")
        self._process.stdin.flush()

    def _read_until(self, is_last: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            message: dict[str, Any] = json.loads(line) if line.startswith("{") else {}
            if "error" in message:
                raise SandboxError(f"{self._agent.name}: {line}")
            if is_last(message):
                return message
        raise SandboxError(f"{self._agent.name} ended in the middle of a turn")


def main() -> int:
    options = arguments()
    for name in [options.client] if options.client else sorted(AGENTS):
        clients.ensure_installed(name)
        load = os.getloadavg()[0]
        without, with_leftoff = measure(AGENTS[name], options.rounds)
        print_line(
            f"\n{name}: {options.rounds} rounds, load {load:.1f} before and {os.getloadavg()[0]:.1f} after\n"
        )
        print_line(format_table(without, with_leftoff))
    return 0


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument(
        "--rounds", type=int, default=10, help="sessions with leftoff and without, each (default 10)"
    )
    parser.add_argument("--client", choices=sorted(AGENTS), help="only this client")
    return parser.parse_args()


def measure(agent: Agent, rounds: int) -> tuple[Times, Times]:
    """Return the seconds of every turn without leftoff and with it, from sessions in turn."""
    without: dict[str, list[float]] = {row: [] for row in ROWS}
    with_leftoff: dict[str, list[float]] = {row: [] for row in ROWS}
    with Sandbox(agent) as plain, Sandbox(agent) as installed:
        install(agent, installed)
        for sandbox in (plain, installed):
            work = shell_call(agent, "echo half > ledger.txt")
            require_success(
                agent.prompt(sandbox, f"Write ledger.txt.\n{work}\n#say Half done. Next: the totals.")
            )
        installed.wait_until(lambda: bool(saved_logs(installed)), "the log of the finished session")
        for number in range(rounds):
            for sandbox, times in ((plain, without), (installed, with_leftoff)):
                wait_until_idle()
                times[ON_SCREEN].append(first_turn_on_screen(agent, sandbox, number))
                wait_until_idle()
                for row, seconds in run_session(agent, sandbox, number):
                    times[row].append(seconds)
    return without, with_leftoff


def wait_until_idle() -> None:
    """Wait until the machine does nothing else: the work in the background after one session must not slow down the next."""
    deadline = time.monotonic() + MOST_WAIT_SECONDS
    while time.monotonic() < deadline:
        idle, total = processor_times()
        time.sleep(IDLE_SECONDS)
        idle_now, total_now = processor_times()
        if idle_now - idle >= IDLE_FRACTION * (total_now - total):
            return


def processor_times() -> tuple[int, int]:
    """Return how long all processors were idle so far, and how long they have run, in the same unit."""
    numbers = [
        int(each) for each in Path("/proc/stat").read_text(encoding="ascii").split("\n")[0].split()[1:]
    ]
    return numbers[3], sum(numbers)


def first_turn_on_screen(agent: Agent, sandbox: Sandbox, number: int) -> float:
    """Return how long it takes from the start of the client until the reply to its first prompt is on the screen."""
    answer = f"cloudy{number}"
    prompt = f"What is the weather like, {number}?\n#say {answer}"
    options = screen_options(agent, sandbox)
    with sandbox.open_screen([*options, prompt]) as screen:
        seconds = timed(lambda: screen.wait_for(f"{ANSWER_MARK[agent.name]} {answer}"))
        screen.type(EXIT[agent.name])
        time.sleep(1)
    return seconds


def run_session(agent: Agent, sandbox: Sandbox, number: int) -> Iterator[tuple[str, float]]:
    """Run one session and yield how long each part took."""
    with conversation(agent, sandbox) as session:
        started = time.perf_counter()  # the client is starting, as when a user waits for it
        session.turn(f"What is the weather like, {number}?\n#say cloudy")
        yield "first turn", time.perf_counter() - started
        for turn in range(PLAIN_TURNS):
            yield (
                "plain turn",
                timed(lambda turn=turn: session.turn(f"And the sea, {number} {turn}?\n#say calm")),
            )
        calls = parallel_shell_calls(agent, *(f"echo {each}" for each in range(5)))
        yield "turn with 5 tools", timed(lambda: session.turn(f"Look around, {number}.\n{calls}\n#say seen"))
        yield "exit", timed(session.exit)


@contextmanager
def conversation(agent: Agent, sandbox: Sandbox, *options: str) -> Iterator[Conversation]:
    """Start the client; it is ended in any case. ``options`` are Claude Code's."""
    if agent.name == "claude":
        stream = ["--input-format", "stream-json", "--output-format", "stream-json", "--verbose"]
        permissions = HEADLESS[HEADLESS.index("--permission-mode") :]
        process = sandbox.start_dialogue(["-p", *stream, *permissions, *options])
    else:
        process = sandbox.start_dialogue(["app-server"])
    try:
        yield Conversation(agent, process)
    finally:
        process.kill()
        process.wait()
        if process.stdout is not None:
            process.stdout.close()


def timed(work: Callable[[], object]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def format_table(without: Times, with_leftoff: Times) -> str:
    """Return the medians in milliseconds as the table that docs/waiting.md shows."""
    rows = ["| | without | with leftoff | difference | at most |", "|---|---|---|---|---|"]
    for row in ROWS:
        plain, ours = (statistics.median(times[row]) * 1000 for times in (without, with_leftoff))
        limit = f"{LIMITS_MS[row]} ms" if row in LIMITS_MS else ""
        rows.append(f"| {row} | {plain:.0f} ms | {ours:.0f} ms | {ours - plain:+.0f} ms | {limit} |")
    return "\n".join(rows)


def _call(method: str, parameters: dict[str, Any]) -> dict[str, Any]:
    return {"id": method, "method": method, "params": parameters}


def print_line(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
