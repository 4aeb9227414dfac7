"""Put the lineage block into a derived file that somebody else has written: before the first real user message that is sent."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import orjson

from leftoff.errors import UsageError
from leftoff.flows.agents import agent_called, agent_of
from leftoff.flows.ancestry import family_here
from leftoff.lineage.block import lineage_block
from leftoff.lineage.chain import oldest_first
from leftoff.model.lineage_text import with_block, with_name
from leftoff.model.protocols import Agent
from leftoff.model.records import Record, RecordKind, Text
from leftoff.model.session import Derivation
from leftoff.model.wire import JsonValue
from leftoff.system import files


def inject_lineage(output: Path, source: Path, *, agent_id: str | None, derivation: Derivation) -> bool:
    """Rewrite ``output``, which must not be ``source``: a transcript is never edited. False: nobody says anything in it."""
    if os.path.realpath(output) == os.path.realpath(source):
        raise UsageError(
            f"{output}: this is the session itself; the block goes into a copy of it.", path=output
        )
    agent = agent_called(agent_id) if agent_id is not None else agent_of(output)
    found = _first_message(agent, output)
    if found is None:
        return False
    record, words = found
    block = with_name(lineage_block(oldest_first(family_here().node(source)), derivation), output.name)
    line = orjson.loads(record.raw)
    if not _replaced(line, words, with_block(words, block)):
        return False
    data = output.read_bytes()
    end = b"\n" if record.raw.endswith(b"\n") else b""
    files.write_file(output, data[: record.place.start] + orjson.dumps(line) + end + data[record.place.end :])
    return True


def _first_message(agent: Agent, output: Path) -> tuple[Record, str] | None:
    """The first prompt of the live chain and its first words; no reminder, subagent or summary is one (L29)."""
    session = agent.open(output)
    live = {*agent.live_chain(session).places}
    for record in session.records:
        if record.place in live and record.kind is RecordKind.PROMPT and record.actor is None:
            words = next((block.text for block in record.blocks if isinstance(block, Text)), None)
            if words is not None:
                return record, words
    return None


def _replaced(value: JsonValue, old: str, new: str) -> bool:
    """Whether the first text that is exactly ``old``, wherever the agent keeps it, was replaced."""
    inner: Iterator[tuple[str | int, JsonValue]]
    if isinstance(value, dict):
        inner = iter(value.items())
    elif isinstance(value, list):
        inner = iter(enumerate(value))
    else:
        return False
    for key, each in inner:
        if each == old:
            value[key] = new  # type: ignore[index]
            return True
        if _replaced(each, old, new):
            return True
    return False
