"""Our live chain against the real clients, on transcripts that they did not write in this run."""

import os
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

import chain
from drive import Agent
from history import received_history
from sandbox import Sandbox
from scenario import scenario

from bench.generate import generate
from leftoff.agents import claude, codex
from tests.support.screenplay import bundled_script
from tests.support.transcripts import write_transcript

FOLDER = os.environ.get("LEFTOFF_TRANSCRIPTS", "")  # noqa: TID251 - the harness has no other configuration
GOLDEN = Path(__file__).resolve().parents[2] / "golden" / "transcripts"
# Small and large, branched, compacted once and three times, micro-compacted, interrupted, glued, with orphans and images.
REAL_TRANSCRIPTS = {
    "claude": (
        "claude-1.0.108-sidechain-cjk",
        "claude-1.0.51-permission-abort",
        "claude-1.0.71-task-sidechain",
        "claude-2.0.76-glued-line-todos",
        "claude-2.1.116-attachments-small",
        "claude-2.1.12-two-glued-lines",
        "claude-2.1.14-microcompact-compact",
        "claude-2.1.29-orphan-result",
        "claude-2.1.32-image-in-result",
        "claude-2.1.38-compact-progress",
        "claude-2.1.4-tiny-interrupted",
        "claude-2.1.62-session",
        "claude-2.1.7-three-compactions",
    ),
    "codex": (
        "codex-0.142-compacted",
        "codex-0.2alpha-fork-dec2025",
        "codex-0.34-no-turn-context",
        "codex-0.63-exec",
    ),
}
# Models that the clients know: a client drops the thinking of a model that it could not continue with.
MODELS = {"claude": "claude-sonnet-4-5", "codex": "gpt-5.5"}


@scenario(clients=("claude", "codex"))
def live_chain_of_real_transcripts(agent: Agent, sandbox: Sandbox) -> None:
    """When the client resumes a real transcript of any version, it sends exactly our live chain."""
    del sandbox  # every transcript gets its own
    paths = {name: find_transcript(name) for name in REAL_TRANSCRIPTS[agent.name]}
    missing = [name for name, path in paths.items() if path is None]
    assert not (missing and FOLDER), f"not in {FOLDER}: {', '.join(missing)}"
    if missing:
        sys.stdout.write(f"NOT COMPARED, because LEFTOFF_TRANSCRIPTS is not set: {', '.join(missing)}\n")
    for path in filter(None, paths.values()):
        check_live_chain(agent, path)


@scenario(clients=("claude", "codex"))
def generated_sessions_resume(agent: Agent, sandbox: Sandbox) -> None:
    """The client resumes invented sessions that we wrote in its format, and sends our live chain."""
    del sandbox  # every transcript gets its own
    adapter = claude.here() if agent.name == "claude" else codex.here()
    prefix = {"claude": "", "codex": "rollout-2026-03-12T00-02-11-"}[agent.name]
    with tempfile.TemporaryDirectory() as folder:
        for script in (bundled_script(), generate(seed=7, size_bytes=300_000)):
            path = Path(folder) / f"{prefix}{script.session_id}.jsonl"
            write_transcript(adapter, replace(script, model=MODELS[agent.name]), path)
            check_live_chain(agent, path)


def check_live_chain(agent: Agent, transcript: Path) -> None:
    received = received_history(agent, transcript)
    chain_messages = chain.live_chain_messages(agent.name, transcript, transcript.parent)
    chain.check_resumed_history(received, chain_messages, transcript.name)


def find_transcript(name: str) -> Path | None:
    """Return a transcript from the repository or from LEFTOFF_TRANSCRIPTS; None where that folder is not available."""
    for folder in (GOLDEN, Path(FOLDER or GOLDEN)):
        if (folder / f"{name}.jsonl").is_file():
            return folder / f"{name}.jsonl"
    return None
