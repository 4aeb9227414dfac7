"""What could be cut of a session, from one lean pass: the same truth as the live chain, for every agent."""

from pathlib import Path

import pytest

from bench.generate import generate
from leftoff.agents.claude import Claude, user_text
from leftoff.agents.codex import items
from leftoff.agents.codex.adapter import Codex
from leftoff.core.protocols import Agent
from leftoff.core.records import Message, Text, Thinking, ToolResult, ToolUse
from leftoff.core.trim_plan import LivePieces
from tests.support.transcripts import write_transcript

_ASKS_THE_USER = ("AskUserQuestion", "ExitPlanMode")


def agents(home: Path) -> tuple[Claude, Codex]:
    return Claude(home=home / "claude"), Codex(home / "codex")


def pieces_of(agent: Claude | Codex, transcript: Path) -> LivePieces:
    return agent.live_pieces(agent.open(transcript), at_least_chars=1, head=50, tail=50)


def slow_chars(agent: Agent, messages: list[Message]) -> int:
    blocks = tuple(block for message in messages for block in message.blocks)
    if agent.id == "claude":
        return user_text.chars(blocks)
    return items.chars(Message(role="user", blocks=blocks))


def slow_pieces(agent: Agent, messages: list[Message]) -> set[tuple[str, str | None]]:
    """Return the same pieces, computed from the chain's messages."""
    found: set[tuple[str, str | None]] = set()
    tools = {
        block.call_id: block.tool
        for message in messages
        for block in message.blocks
        if isinstance(block, ToolUse)
    }
    for message in messages:
        for block in message.blocks:
            match block:
                case ToolUse() if str(block.input) and block.tool not in (
                    "web_search",
                    "image_generation",
                    "tool_search",
                ):
                    found.add(("input", block.call_id))
                case ToolResult() if block.text and tools.get(block.call_id) not in _ASKS_THE_USER:
                    found.add(("result", block.call_id))
                case Text() if message.role == "assistant" and block.text.strip():
                    found.add(("text", None))
                case Thinking() if block.text and agent.id == "claude":
                    found.add(("thinking", None))
                case _:
                    pass
    return found


@pytest.mark.slow
def test_pieces_and_characters_are_those_of_the_live_chain(real_transcripts: Path, tmp_path: Path) -> None:
    """Both ways of reading find the same pieces in real transcripts, apart from a few known exceptions."""
    seen = 0
    for transcript in sorted(real_transcripts.rglob("*.jsonl")):
        for agent in agents(tmp_path):
            if not agent.recognises(transcript.read_bytes()[:4096]):
                continue
            seen += 1
            session = agent.open(transcript)
            messages = agent.live_chain(session).messages(session.records)
            live = pieces_of(agent, transcript)
            assert live.live_chars == slow_chars(agent, messages), transcript.name
            found = {(piece.part, piece.call_id) for piece in live.pieces if piece.chars}
            slow = slow_pieces(agent, messages)
            refused = {key for key in slow - found if key[0] == "result"}
            assert found - slow == {key for key in found - slow if key[0] in ("result", "input")}, (
                transcript.name
            )
            assert slow - found == refused, transcript.name
            assert len(refused) <= 5, transcript.name  # the user's own words on a call
    assert seen >= 30


@pytest.mark.parametrize("number", [0, 1])
def test_a_long_session_is_read_from_its_last_compaction(number: int, tmp_path: Path) -> None:
    """The pieces are the same as those of the whole, in the same lines."""
    agent = agents(tmp_path)[number]
    transcript = tmp_path / "rollout-2026-01-01T00-00-00-0199aaaa-0000-7000-8000-000000000000.jsonl"
    write_transcript(agent, generate(seed=5, size_bytes=3_000_000), transcript)
    session = agent.open(transcript)
    chain = agent.live_chain(session)
    assert chain.places[0].line_idx > 100  # it has been compacted
    live = pieces_of(agent, transcript)
    assert live.live_chars == slow_chars(agent, chain.messages(session.records))
    assert {piece.place for piece in live.pieces} <= {*chain.places}
    assert live.live_tokens > 0


@pytest.mark.parametrize("number", [0, 1])
def test_digests_name_the_originals(number: int, tmp_path: Path) -> None:
    """Equal content has an equal digest; ends are as long as they were asked for."""
    agent = agents(tmp_path)[number]
    transcript = tmp_path / "rollout-2026-01-01T00-00-00-0199aaaa-0000-7000-8000-000000000000.jsonl"
    write_transcript(agent, generate(seed=6, size_bytes=200_000), transcript)
    session = agent.open(transcript)
    short = agent.live_pieces(session, at_least_chars=500, head=10, tail=0)
    assert short.pieces
    assert all(piece.chars >= 500 and len(piece.head) <= 10 and piece.tail == "" for piece in short.pieces)
    whole = agent.live_pieces(session, at_least_chars=1, head=10**9, tail=0)
    texts: dict[str, str] = {}
    for piece in whole.pieces:
        if piece.part == "result" and "picture" not in piece.head:
            assert texts.setdefault(piece.digest, piece.head) == piece.head
    assert len(texts) > 5
