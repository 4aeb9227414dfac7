"""Checks the style rules that no other tool checks, and names each broken one with its file and line.

No mocks; no file at the root that an agent would load by itself; no path of one machine; modules of at most 400 lines and
functions of at most 60, each with a docstring; no agent's name outside ``agents/``; every command with an example and ``--json``.
"""

from __future__ import annotations

import ast
import os
import pwd
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click

from leftoff.cli.main import cli

ROOT = Path(__file__).resolve().parent.parent
LOADED_BY_AGENTS = (
    "CLAUDE.md",
    "AGENTS.md",
    "GEMINI.md",
    ".claude",
    ".codex",
    ".gemini",
    ".agents",
    ".mcp.json",
    ".opencode",
)
AGENT_NAMES = re.compile(r"\b(claude|codex|gemini|opencode|copilot)\b", re.IGNORECASE)
MOCKS = re.compile(r"unittest[.]mock|(from|import) mock\b|\bMagic[M]ock\b|\bmocker\b")
PRIVATE_PATHS = tuple(
    f"{folder}/"
    for folder in (ROOT, *(each.pw_dir for each in pwd.getpwall() if each.pw_uid == os.getuid()))
    if str(folder) != "/"
)
LONGEST_MODULE, LONGEST_FUNCTION = 400, 60
# The fast path is copied out of the package and runs alone: it must be one file.
# All settings are declared in one place.
LONGER_MODULES = {"src/leftoff/live/fast.py": 660, "src/leftoff/config/settings.py": 420}
# Lines that may name an agent outside agents/: a documented default, the registry's dotted paths, another tool's name.
NAMES_ALLOWED = (
    'model: str = "claude-sonnet-4.5"',
    "leftoff.agents.",
    'epilog="Example: leftoff ',
    "claude-mpm",
    "claude-code-tools",
    "Claude resp",  # the placeholder for a trimmed reply, whichever agent wrote it
)


def main() -> int:
    """Print what is broken; return 1 when anything is."""
    broken = [*root_files(), *mocks(), *paths(), *shapes(), *names(), *commands()]
    for line in broken:
        print(line)
    print(f"style: {len(broken)} broken rules" if broken else "style: in order")
    return 1 if broken else 0


def root_files() -> Iterator[str]:
    """Find files at the root that an agent would load by itself."""
    for name in LOADED_BY_AGENTS:
        if (ROOT / name).exists():
            yield f"{name}: an agent would load this by itself; it belongs to integrations/."


def mocks() -> Iterator[str]:
    """Find mocks: tests use real parts, or a fake that keeps the protocol."""
    for path, number, line in _lines("src", "tests"):
        if MOCKS.search(line):
            yield f"{path}:{number}: a mock. Use a real part, or a fake that keeps the protocol."


def paths() -> Iterator[str]:
    """Find paths of one machine in tracked files."""
    for path, number, line in _lines(""):
        for private in PRIVATE_PATHS:
            # Golden files describe invented machines, and an invented path may happen to equal one of this machine's.
            if private in line and not {"golden", "data"} & {*path.parts}:
                yield f"{path}:{number}: a path of one machine: {private}"


def shapes() -> Iterator[str]:
    """Find long modules, long functions and missing docstrings."""
    for path in sorted((ROOT / "src").rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        shown = path.relative_to(ROOT)
        longest = LONGER_MODULES.get(str(shown), LONGEST_MODULE)
        if text.count("\n") > longest:
            yield f"{shown}: {text.count(chr(10))} lines; {longest} at most."
        tree = ast.parse(text)
        if ast.get_docstring(tree) is None:
            yield f"{shown}: no docstring."
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                length = (node.end_lineno or node.lineno) - node.lineno + 1
                if length > LONGEST_FUNCTION:
                    yield f"{shown}:{node.lineno}: {node.name} has {length} lines; {LONGEST_FUNCTION} at most."


def names() -> Iterator[str]:
    """Find agents' names outside agents/: elsewhere, differences between agents are capabilities."""
    for path, number, line in _lines("src"):
        if "agents" in path.parts[2:4] or not AGENT_NAMES.search(line):
            continue
        if not any(allowed in line for allowed in NAMES_ALLOWED):
            yield f"{path}:{number}: an agent's name outside agents/: {line.strip()[:80]}"


def commands() -> Iterator[str]:
    """Find commands without an example or without --json."""
    yield from _command("leftoff", cli)


def _command(name: str, command: click.Command) -> Iterator[str]:
    if "Example:" not in (command.epilog or ""):
        yield f"{name}: its help has no example."
    if not command.help:
        yield f"{name}: no help."
    if isinstance(command, click.Group):
        context = click.Context(command)
        for inner in command.list_commands(context):
            found = command.get_command(context, inner)
            if found is not None:
                yield from _command(f"{name} {inner}", found)
    elif not any("--json" in parameter.opts for parameter in command.params):
        yield f"{name}: no --json."


def _lines(*below: str) -> Iterator[tuple[Path, int, str]]:
    """Yield the lines of all files that git tracks or would track."""
    listed = subprocess.run(
        [
            "git",
            "ls-files",
            "--cached",
            "--others",
            "--exclude-standard",
            "-z",
            "--",
            *(name or "." for name in below),
        ],
        cwd=ROOT,
        capture_output=True,
        check=True,
    )
    for name in sorted(filter(None, listed.stdout.decode().split("\0"))):
        path = ROOT / name
        if path.suffix in {".jsonl", ".png"} or not path.is_file():
            continue
        for number, line in enumerate(
            path.read_text(encoding="utf-8", errors="replace").splitlines(), start=1
        ):
            yield Path(name), number, line


if __name__ == "__main__":
    sys.exit(main())
