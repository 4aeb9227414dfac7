"""How to drive Codex: configuration, command line, and where its transcripts are."""

import json
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from drive import Agent
from received import Message, from_responses_api
from sandbox import BASE_URL, Sandbox

WINDOW_TOKENS = 100_000
LARGEST_WINDOW_TOKENS = 872_000
HEADLESS = ["exec", "--json", "--skip-git-repo-check"]
PROVIDER = (
    f'{{name="local", base_url="{BASE_URL}/v1", env_key="LOCAL_KEY", wire_api="responses", '
    "request_max_retries=1, stream_max_retries=1}"
)
CONFIG = f"""\
model = "gpt-5.5"  # must be in the bundled catalogue, else there is no apply_patch
model_provider = "local"
model_context_window = {WINDOW_TOKENS}
approval_policy = "never"
sandbox_mode = "danger-full-access"  # our own sandbox is around it
check_for_update_on_startup = false
openai_base_url = "{BASE_URL}/v1"  # for sessions that started with OpenAI as their provider
[model_providers]
local = {PROVIDER}
[features]
enable_request_compression = false  # plain JSON bodies
plugins = false  # they are looked up on the network at every start, which costs 5 seconds where there is none
[analytics]
enabled = false
"""


class Codex(Agent):
    name = "codex"
    api_program = "responses_api.py"
    usable_tokens = 90_000  # 90 % of WINDOW_TOKENS
    full_tokens = 95_000

    def environment(self, home_inside: Path) -> dict[str, str]:
        return {"CODEX_HOME": str(home_inside / ".codex"), "LOCAL_KEY": "sk-fake", "CODEX_API_KEY": "sk-fake"}

    def configure(self, home: Path, project_inside: Path) -> None:
        (home / ".codex").mkdir()
        (home / ".codex" / "config.toml").write_text(CONFIG, encoding="utf-8")

    def normalise(self, body: dict[str, Any]) -> list[Message]:
        return from_responses_api(body)

    def is_subagent(self, body: dict[str, Any]) -> bool:
        return False

    def shell_tool_input(self, command: str) -> tuple[str, dict[str, Any]]:
        return "exec_command", {"cmd": command}

    def transcripts(self, sandbox: Sandbox) -> list[Path]:
        return list(sessions(sandbox).rglob("rollout-*.jsonl"))

    def install_transcript(self, sandbox: Sandbox, transcript: Path) -> Path:
        if transcript.is_relative_to(sessions(sandbox)):
            return transcript
        fields = header(transcript)
        started = fields["timestamp"][:19].replace(":", "-")
        name = f"rollout-{started}-{fields['id']}.jsonl"
        target = sessions(sandbox).joinpath(*started[:10].split("-"), name)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(transcript, target)
        # A fork's file holds only what came after the fork.
        parent_id = (fields.get("history_base") or {}).get("thread_id")
        for parent in transcript.parent.glob("*.jsonl") if parent_id else ():
            if header(parent).get("id") == parent_id:
                self.install_transcript(sandbox, parent)
        return target

    def options_without_compaction(self, transcript: Path) -> list[str]:
        window = [
            "-c",
            f"model={largest_window_model(transcript)}",
            "-c",
            f"model_context_window={LARGEST_WINDOW_TOKENS}",
        ]
        # A session can only continue with the provider it started with. OpenAI's is built in; old files name none.
        provider = header(transcript).get("model_provider", "local")
        named = [] if provider == "openai" else ["-c", f"model_providers.{provider}={PROVIDER}"]
        return [*window, *named, "-c", f"model_provider={provider}"]

    def prompt_arguments(self, text: str, options: Sequence[str]) -> list[str]:
        return [*HEADLESS, *options, text]

    def resume_arguments(self, placed: Path, text: str, options: Sequence[str]) -> list[str]:
        return [*HEADLESS, *options, "resume", header(placed)["id"], text]

    def fork_arguments(self, placed: Path, text: str, options: Sequence[str]) -> list[str]:
        return [*HEADLESS, *options, "fork", header(placed)["id"], text]


def sessions(sandbox: Sandbox) -> Path:
    return sandbox.home / ".codex" / "sessions"


def header(transcript: Path) -> dict[str, Any]:
    """Return the fields of the first line: id, timestamp and more. Old versions had no `session_meta` around them."""
    with transcript.open(encoding="utf-8") as file:
        first: dict[str, Any] = json.loads(file.readline())
    fields: dict[str, Any] = first.get("payload", first)
    return fields


def largest_window_model(transcript: Path) -> str:
    """Return the model with the largest window that can continue this session without compacting it.

    The catalogue caps every window: 272,000 for gpt-5.5, 872,000 for gpt-6-sol. A session that names a `comp_hash` is
    compacted at once by a model with another one, so it keeps its own model; older sessions may change it.
    """
    model = "gpt-6-sol"
    for line in transcript.read_text(encoding="utf-8").splitlines():
        if '"comp_hash":"' in line and '"turn_context"' in line:
            model = json.loads(line)["payload"]["model"]
    return model
