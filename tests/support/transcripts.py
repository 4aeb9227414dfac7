"""Write invented sessions in the format of a given agent."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from leftoff.core.protocols import Agent
from leftoff.testing import plain_agent
from leftoff.testing.script import Script
from tests.support import claude_writer, codex_writer

_WRITERS: Mapping[str, Callable[[Script, Path], None]] = {
    "claude": claude_writer.write_transcript,
    "codex": codex_writer.write_transcript,
    "plain": plain_agent.write_transcript,
}


def write_transcript(agent: Agent, script: Script, path: Path) -> None:
    """Write the script to ``path``, where there must be no file yet, as ``agent`` would."""
    _WRITERS[agent.id](script, path)


def occupancies(agent: Agent, transcript: Path) -> list[int]:
    """Return the tokens in the window for each record of the main conversation with a usage."""
    records = (record for record in agent.read(transcript) if record.actor is None)
    return [record.usage.occupancy_tokens for record in records if record.usage is not None]
