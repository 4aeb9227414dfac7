"""Measures leftoff side by side with other tools, from PyPI and pinned, in a scratch environment, and prints a table.

``--prepare`` installs them (once); ``--write`` puts the table into README.md. Everything is run in turns on the same generated
session, without network where the system allows that, and the smallest CPU time of all rounds counts. What a tool keeps is
counted in the copy that it wrote.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import venv
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from leftoff.agents import claude
from leftoff.agents.registry import agent_of
from leftoff.core.records import ToolResult

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))
from bench.generate import generate  # noqa: E402 - needs the path
from tests.support.transcripts import write_transcript  # noqa: E402

PINNED = ("claude-code-tools==1.30.2", "claude-mpm==5.9.10")
CACHE = Path(os.environ.get("XDG_CACHE_HOME") or "/var/tmp") / f"leftoff-compare-{os.getuid()}"
SIZE_BYTES = 20_000_000
THRESHOLD = 1000
ROUNDS = 5
_PART = re.compile(r"(<!-- measured: compare -->\n).*?(<!-- /measured -->)", re.DOTALL)


class Cost(NamedTuple):
    """What a run cost."""

    cpu_seconds: float
    peak_megabytes: float


def main() -> int:
    """Prepare or measure, as the command line asks."""
    if "--prepare" in sys.argv[1:]:
        prepare()
        return 0
    with tempfile.TemporaryDirectory() as scratch:
        table = measure(Path(scratch))
    print(table)
    if "--write" in sys.argv[1:]:
        readme = ROOT / "README.md"
        text = readme.read_text(encoding="utf-8")
        readme.write_text(_PART.sub(lambda part: f"{part[1]}{table}\n{part[2]}", text), encoding="utf-8")
    return 0


def prepare() -> None:
    """Install the other tools into an environment of their own."""
    done = CACHE / "installed.txt"
    if done.exists() and done.read_text(encoding="utf-8") == "\n".join(PINNED):
        return
    shutil.rmtree(CACHE, ignore_errors=True)
    venv.create(CACHE / "venv", with_pip=True)
    pip = [str(CACHE / "venv/bin/python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, *PINNED], check=True)
    done.write_text("\n".join(PINNED), encoding="utf-8")


def measure(scratch: Path) -> str:
    """Run everything and return the table."""
    home = scratch / "home"
    session = write_session(home)
    ours, theirs = [sys.executable, "-m", "leftoff"], str(CACHE / "venv/bin/aichat")
    trims = {
        "leftoff": [*ours, "trim", str(session), "--threshold", str(THRESHOLD)],
        "claude-code-tools": [theirs, "trim", str(session), "--simple-ui", "-l", str(THRESHOLD)],
    }
    run(home, [*ours, "install", "claude", "--yes"])
    settings = json.loads((home / ".claude/settings.json").read_text(encoding="utf-8"))
    hook = settings["hooks"]["PostToolUse" if "PostToolUse" in settings["hooks"] else "PostToolBatch"][0][
        "hooks"
    ][0]["command"]
    hooks = {"leftoff": ["sh", "-c", hook], "claude-mpm": [str(CACHE / "venv/bin/claude-hook")]}
    event = {
        "session_id": session.stem,
        "transcript_path": str(session),
        "cwd": str(home),
        "hook_event_name": "PostToolUse",
        "tool_name": "Read",
        "tool_input": {"file_path": "a.py"},
        "tool_response": {"content": "x"},
    }
    trim_costs, copies = measure_trims(home, trims, session)
    hook_costs = in_turns(home, hooks, json.dumps(event))
    restored = run_for_json(home, [*ours, "untrim", str(copies["leftoff"]), "--json"])
    before = result_characters(session)
    back = result_characters(Path(restored["output_file"])) / before
    kept = {name: result_characters(copy) / before for name, copy in copies.items()}
    seen = {name: both_ends(session, copy) for name, copy in copies.items()}
    return "\n".join(
        [
            f"| {SIZE_BYTES // 1_000_000} MB session, threshold {THRESHOLD:,} | leftoff | claude-code-tools 1.30.2 | claude-mpm 5.9.10 |",
            "|---|---|---|---|",
            f"| trim: CPU, memory | {cost(trim_costs['leftoff'])} | {cost(trim_costs['claude-code-tools'])} | - |",
            f"| tool results in the context, after | {kept['leftoff']:.0%} | {kept['claude-code-tools']:.0%} | - |",
            f"| cut results that show how they ended | {seen['leftoff']:.0%} | {seen['claude-code-tools']:.0%} | - |",
            f"| tool results in the context, after undo | {back:.0%} | no undo | - |",
            f"| hook at each tool call: CPU | {hook_costs['leftoff'].cpu_seconds * 1000:.0f} ms | - | {hook_costs['claude-mpm'].cpu_seconds * 1000:.0f} ms |",
        ]
    )


def cost(found: Cost) -> str:
    """Return a cost for the table."""
    return f"{found.cpu_seconds:.2f} s, {found.peak_megabytes:.0f} MB"


def write_session(home: Path) -> Path:
    """Write a generated session of that size as the agent would have."""
    script = generate(seed=7, size_bytes=SIZE_BYTES)
    path = home / ".claude" / "projects" / "-work" / "0b54f7aa-6d0c-4c7b-9d57-3f6c9d9a3b11.jsonl"
    path.parent.mkdir(parents=True)
    write_transcript(claude.here(), script, path)
    return path


def measure_trims(
    home: Path, trims: dict[str, list[str]], session: Path
) -> tuple[dict[str, Cost], dict[str, Path]]:
    """Return what each trim costs, and the last copy that each tool wrote."""
    costs: dict[str, list[Cost]] = {name: [] for name in trims}
    copies: dict[str, Path] = {}
    for _ in range(ROUNDS):
        for name, command in trims.items():
            for old in session.parent.glob("*.jsonl"):
                if old != session:
                    old.unlink()
            costs[name].append(run(home, command))
            (copy,) = [each for each in session.parent.glob("*.jsonl") if each != session]
            copies[name] = copy.rename(copy.with_name(f"{copy.stem}.{name}"))
    for name, copy in copies.items():
        copies[name] = copy.rename(copy.with_name(f"{copy.name.partition('.')[0]}.jsonl"))
    return {name: min(found) for name, found in costs.items()}, copies


def in_turns(home: Path, commands: dict[str, list[str]], given: str) -> dict[str, Cost]:
    """Return the smallest cost of each command."""
    costs: dict[str, list[Cost]] = {name: [] for name in commands}
    for _ in range(ROUNDS * 2):
        for name, command in commands.items():
            costs[name].append(run(home, command, given))
    return {name: min(found) for name, found in costs.items()}


def run(home: Path, command: Sequence[str], given: str = "") -> Cost:
    """Run a command and return its cost, children included."""
    sealed = ["unshare", "-n", *command] if can_cut_network() else [*command]
    child = subprocess.Popen(
        sealed,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        cwd=home,
        env=environment(home),
    )
    assert child.stdin is not None
    assert child.stdout is not None
    child.stdin.write(given.encode())
    child.stdin.close()
    said = child.stdout.read()
    _, status, used = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if (
        child.returncode != 0 and b"Output file" not in said
    ):  # one of them asks a question at the end, and is not answered
        raise SystemExit(f"{' '.join(command)}: {said.decode()}")
    return Cost(
        used.ru_utime + used.ru_stime, used.ru_maxrss / (1 << 10 if sys.platform != "darwin" else 1 << 20)
    )


def run_for_json(home: Path, command: Sequence[str]) -> dict[str, str]:
    """Run a command of leftoff and return what it prints."""
    ended = subprocess.run(command, capture_output=True, check=True, cwd=home, env=environment(home))
    found: dict[str, str] = json.loads(ended.stdout)
    return found


def environment(home: Path) -> dict[str, str]:
    """Return the environment of every run."""
    return {"HOME": str(home), "PATH": "/usr/bin:/bin", "LANG": "C.UTF-8", "PYTHONPATH": str(ROOT / "src")}


def can_cut_network() -> bool:
    """Return whether a process can be run without any network."""
    return (
        shutil.which("unshare") is not None
        and subprocess.run(["unshare", "-n", "true"], capture_output=True).returncode == 0
    )


def results(transcript: Path) -> dict[str, str]:
    """Return the text of every tool result that the model is sent next, by the id of its call."""
    agent = agent_of(transcript)
    session = agent.open(transcript)
    blocks = (
        block for message in agent.live_chain(session).messages(session.records) for block in message.blocks
    )
    return {block.call_id: block.text for block in blocks if isinstance(block, ToolResult)}


def result_characters(transcript: Path) -> int:
    """Return the characters of these results."""
    return sum(len(text) for text in results(transcript).values())


def both_ends(session: Path, copy: Path) -> float:
    """Return the share of the cut results whose last words are still in the copy: where errors and totals are."""
    before, after = results(session), results(copy)
    cut = [call for call, text in before.items() if after.get(call, "") != text]
    return sum(before[call].rstrip()[-20:] in after.get(call, "") for call in cut) / max(1, len(cut))


if __name__ == "__main__":
    sys.exit(main())
