"""Transcripts that an agent wrote, for ``AgentPromises``, each with the facts that reading it must give.

Make the expected JSON once with ``json.dumps(facts(agent, transcript))`` and check it by eye."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from leftoff.core.protocols import Agent
from leftoff.core.records import RecordKind
from leftoff.core.wire import JsonObject


class GoldenFile(NamedTuple):
    """A transcript that the agent wrote, and a JSON file with what ``facts`` must return for it."""

    transcript: Path
    expected: Path


def facts(agent: Agent, transcript: Path) -> JsonObject:
    """Return the id, folder, model, prompts, replies, calls and usage of a transcript."""
    session = agent.open(transcript)
    records = [record for record in session.records if record.actor is None]
    return {
        "session_id": session.session_id,
        "project": session.project,
        "model": session.model,
        "prompts": [agent.typed(record) for record in records if record.kind is RecordKind.PROMPT],
        "replies": [record.text for record in records if record.kind is RecordKind.REPLY and record.text],
        "calls": [
            {"tool": each.tool, "is_answered": each.result is not None, "failed": bool(each.failed)}
            for each in session.tool_calls()
        ],
        "used_tokens": agent.occupancy(transcript).used_tokens,
        "messages_sent_next": len(agent.live_chain(session).messages(session.records)),
    }
