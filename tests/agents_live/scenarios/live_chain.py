"""Our live chain against the real client, on transcripts that it did not write in this run."""

import os
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

import chain
from drive import Agent
from history import resumes_as
from sandbox import Sandbox
from scenario import scenario

from leftoff.agents import claude, codex
from leftoff.samples.bundled import bundled_script
from leftoff.samples.generate import generate

FOLDER = os.environ.get("LEFTOFF_TRANSCRIPTS", "")  # noqa: TID251 - the harness has no other way to be told
GOLDEN = Path(__file__).resolve().parents[2] / "golden" / "transcripts"
# Small and large, branched, compacted once and three times, micro-compacted, interrupted, glued, with orphans and images.
REAL = {
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


# A model that the client knows: it drops the thoughts of one that it would not go on with.
MODELS = {"claude": "claude-sonnet-4-5", "codex": "gpt-5.5"}


@scenario(clients=("claude", "codex"))
def live_chain_of_real_transcripts(agent: Agent, sandbox: Sandbox) -> None:
    """Resuming a transcript of any version, the client sends exactly our live chain."""
    del sandbox  # every transcript gets one of its own
    found = {name: real(name) for name in REAL[agent.name]}
    missing = [name for name, path in found.items() if path is None]
    assert not (missing and FOLDER), f"not in {FOLDER}: {', '.join(missing)}"
    if missing:
        sys.stdout.write(f"NOT COMPARED, for LEFTOFF_TRANSCRIPTS is not set: {', '.join(missing)}\n")
    for path in filter(None, found.values()):
        check(agent, path)


@scenario(clients=("claude", "codex"))
def transcribed_sessions_resume(agent: Agent, sandbox: Sandbox) -> None:
    """The real client goes on from invented sessions that we wrote in its format, and sends our live chain."""
    writer = claude.here() if agent.name == "claude" else codex.here()
    with tempfile.TemporaryDirectory() as folder:
        for sample in (bundled_script(), generate(seed=7, size_bytes=300_000)):
            script = replace(sample, model=MODELS[agent.name])
            name = {
                "claude": f"{script.session_id}.jsonl",
                "codex": f"rollout-2026-03-12T00-02-11-{script.session_id}.jsonl",
            }[agent.name]
            path = Path(folder) / name
            writer.transcribe(script, path)
            check(agent, path)
    del sandbox


def check(agent: Agent, transcript: Path) -> None:
    received = resumes_as(agent, transcript)
    own = chain.ours(agent.name, transcript, transcript.parent)
    chain.check_resumed(received, own, transcript.name)


def real(name: str) -> Path | None:
    """A golden one from the repository, else one from the folder of real ones; None where that is not at hand."""
    for place in (GOLDEN, Path(FOLDER or GOLDEN)):
        if (place / f"{name}.jsonl").is_file():
            return place / f"{name}.jsonl"
    return None
