"""How to drive Claude Code: configuration, command line, and where its transcripts are."""

import json
import re
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from drive import Agent
from received import Message, from_messages_api
from sandbox import BASE_URL, Sandbox

FAKE_KEY = "sk-fake"
HEADLESS = ["--output-format", "json", "--permission-mode", "bypassPermissions"]
QUIET = (
    "DISABLE_TELEMETRY",
    "DISABLE_AUTOUPDATER",
    "DISABLE_ERROR_REPORTING",
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC",
)


class Claude(Agent):
    name = "claude"
    api_program = "anthropic_api.py"
    usable_tokens = 967_000  # of the model's million
    full_tokens = 968_000

    def environment(self, home_inside: Path) -> dict[str, str]:
        return {
            "CLAUDE_CONFIG_DIR": str(home_inside / ".claude"),
            "ANTHROPIC_BASE_URL": BASE_URL,
            "ANTHROPIC_API_KEY": FAKE_KEY,
            "IS_SANDBOX": "1",  # lets root use bypassPermissions
            **dict.fromkeys(QUIET, "1"),
        }

    def configure(self, home: Path, project_inside: Path) -> None:
        answers = {
            "hasCompletedOnboarding": True,
            "theme": "dark",
            "customApiKeyResponses": {"approved": [FAKE_KEY]},
            "projects": {str(project_inside): {"hasTrustDialogAccepted": True, "allowedTools": []}},
        }
        (home / ".claude").mkdir()
        (home / ".claude" / ".claude.json").write_text(json.dumps(answers), encoding="utf-8")

    def normalise(self, body: dict[str, Any]) -> list[Message]:
        return from_messages_api(body)

    def is_subagent(self, body: dict[str, Any]) -> bool:
        return any("cc_is_subagent=true" in block["text"] for block in body.get("system", []))

    def shell_tool_input(self, command: str) -> tuple[str, dict[str, Any]]:
        return "Bash", {"command": command, "description": "a command of the scenario"}

    def transcripts(self, sandbox: Sandbox) -> list[Path]:
        return list(folder(sandbox).glob("*.jsonl"))

    def install_transcript(self, sandbox: Sandbox, transcript: Path) -> Path:
        target = folder(sandbox) / f"{session_id(transcript)}.jsonl"
        if target == transcript:
            return target
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(transcript, target)
        if transcript.with_suffix("").is_dir():  # its subagents and big results
            shutil.copytree(transcript.with_suffix(""), target.with_suffix(""))
        return target

    def options_without_compaction(self, transcript: Path) -> list[str]:
        return ["--settings", '{"autoCompactEnabled": false}']

    def prompt_arguments(self, text: str, options: Sequence[str]) -> list[str]:
        return ["-p", text, *HEADLESS, *options]

    def resume_arguments(self, placed: Path, text: str, options: Sequence[str]) -> list[str]:
        return ["-p", text, *HEADLESS, "--resume", placed.stem, *options]

    def fork_arguments(self, placed: Path, text: str, options: Sequence[str]) -> list[str]:
        return ["-p", text, *HEADLESS, "--resume", placed.stem, "--fork-session", *options]


def folder(sandbox: Sandbox) -> Path:
    """Return the folder in which the client keeps the transcripts of the sandbox's project."""
    slug = re.sub(r"[^a-zA-Z0-9]", "-", str(sandbox.path_inside(sandbox.project)))
    return sandbox.home / ".claude" / "projects" / slug


def session_id(transcript: Path) -> str:
    """Return the session id in the lines, or the file's name when there is none."""
    found = re.search(r'"sessionId":\s*"([0-9a-f-]{36})"', transcript.read_text(encoding="utf-8"))
    return found[1] if found else transcript.stem
