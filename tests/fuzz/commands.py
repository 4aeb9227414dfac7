"""What a run does with a damaged transcript: every command, the hooks and the status line, each in a typical order."""

from __future__ import annotations

import json
import random
from collections.abc import Mapping
from typing import Any, NamedTuple

# {file}: the transcript; {id}: its session; {project}: the working folder. Each is run with and without --json.
JOURNEYS: tuple[tuple[str, ...], ...] = (
    ("", "sessions", "sessions --all --project {project}"),
    ("status", "status {file}"),
    ("show {file}", "show {file} --full", "show {file} --at 3"),
    ("search the", "search --file x.py", "search --command git", "search --error error"),
    ("search --rebuild", "search kind:prompt the", "search --update"),
    ("archive list", "archive list --all", "archive restore {id}"),
    ("forget {id} --dry-run", "forget --text session --dry-run", "forget {id} --yes"),
    ("forget --project --yes",),
    (
        "pause start --context 0.91",
        "pause record system_event x",
        "pause status",
        "pause finalize",
        "pause list",
        "pause stats",
    ),
    ("pause start", "pause recover --all --finalize", "pause compress --older-than 0", "pause discard"),
    ("log save {file}", "log list", "log show", "log verify --all", "resume"),
    ("log save", "log stats", "log verify --markdown", "log edit --yes", "log cleanup --keep 0"),
    ("log save --stdout --transcript {file}", "log save {file} --stdout --max-chars 600"),
    ("resume", "resume {file}", "resume {file} --how rollover"),
    ("resume {file} --how trim", "resume {file} --how smart-trim"),
    ("advise", "advise {file}"),
    (
        "trim {file} --threshold 300 --force",
        "lineage",
        "untrim latest --force",
        "expand {key}",
        "show latest",
    ),
    ("trim {file} --threshold 50 --trim-assistant -2 --force", "untrim latest --dry-run --force"),
    ("trim {file} --dry-run", "smart-trim {file} --dry-run", "rollover {file} --dry-run"),
    ("smart-trim {file} --force", "expand {key}", "untrim latest --force", "lineage latest"),
    ("rollover {file} --force", "show latest", "export latest --chain"),
    ("rollover {file} --to {other} --force", "status latest"),
    ("lineage {file}", "export {file}", "export {file} --chain --out {project}/out.md"),
    ("pin the rule", "pins", "log save {file}", "unpin 1"),
    (
        "project init shop --plain",
        "project save --session {id} --decision x",
        "project load",
        "project resume",
    ),
    (
        "project init shop --plain",
        "project close --session {id}",
        "project list",
        "project complete 1",
        "project import",
    ),
    ("report", "report --days 3650 --verbose"),
    ("doctor", "doctor {file}", "doctor {file} --shape", "config --all"),
    ("trust --yes", "chat --list", "chat --show 1", "install claude --dry-run", "install codex --dry-run"),
    ("install {agent}", "@SessionStart startup", "uninstall", "uninstall --purge --yes"),
    ("@SessionStart startup", "@UserPromptSubmit", "@PostToolUse", "@Stop", "@SessionEnd"),
    ("@SessionStart resume", "@PreCompact", "@SessionStart compact", "@PostCompact", "@Stop"),
    (
        "@SessionStart startup",
        "@UserPromptSubmit >resume",
        "@UserPromptSubmit >trim",
        "@UserPromptSubmit >pause",
    ),
    ("@UserPromptSubmit save progress", "@UserPromptSubmit >handoff", "@UserPromptSubmit >trim yes", "@Stop"),
    ("!SessionStart startup", "!UserPromptSubmit", "!PostToolUse", "!Stop", "!SessionEnd"),
    ("@SessionStart startup", "%", "% tokens", "status"),
)


class Step(NamedTuple):
    """One process: its arguments, what it reads, and what it must keep to."""

    arguments: list[str]
    stdin: bytes = b""
    is_hook: bool = False
    is_fast: bool = False  # runs the fast path's file instead of the program
    prints_originals: bool = False


def step(text: str, values: Mapping[str, str], source: random.Random) -> Step:
    """Return one step of a journey; about half of the commands are run with ``--json``."""
    if text[:1] in {"@", "!"}:
        agent, event = values["agent"], _event(text[1:], values, source)
        return Step(
            [agent] if text[0] == "!" else ["hook", agent], event, is_hook=True, is_fast=text[0] == "!"
        )
    if text[:1] == "%":
        return Step(["statusline"], _status(values, has_tokens="tokens" in text), is_hook=True)
    arguments = [word.format(**values) for word in text.split()]
    if source.random() < 0.5:
        arguments.append("--json")
    return Step(arguments, prints_originals=arguments[:1] == ["expand"])


def _event(text: str, values: Mapping[str, str], source: random.Random) -> bytes:
    name, _, detail = text.partition(" ")
    event: dict[str, Any] = {
        "session_id": values["id"],
        "transcript_path": values["file"],
        "cwd": values["project"],
        "hook_event_name": name,
        "source": detail,
        "prompt": detail or "Go on.",
        "trigger": "auto",
        "tool_name": "Bash",
        "tool_use_id": "toolu_1",
        "tool_input": {"command": "ls"},
        "reason": "other",
    }
    if source.random() < 0.2:
        event[source.choice([*event])] = source.choice(
            (None, [], {}, 1, "\ud800", "\0", "x" * 200, -1.5, {"a": [1]})
        )
    return json.dumps(event).encode()


def _status(values: Mapping[str, str], *, has_tokens: bool) -> bytes:
    window = {"context_window_size": 200_000, "current_usage": {"input_tokens": 120_000}}
    return json.dumps(
        {
            "session_id": values["id"],
            "transcript_path": values["file"],
            "cwd": values["project"],
            "workspace": {"current_dir": values["project"]},
            "model": {"id": "claude-sonnet-4-5"},
            **({"context_window": window} if has_tokens else {}),
        }
    ).encode()
