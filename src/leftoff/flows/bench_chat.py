"""The measure of the chat: what it takes to save a turn of a long chat, against a turn of one that has just begun."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from statistics import median

from leftoff.conversations import chat_file
from leftoff.conversations.chat_file import ChatFile
from leftoff.conversations.values import Header, Tokens, Turn
from leftoff.flows.bench_row import Row
from leftoff.flows.chat_agent import Heard, Reply, Reset
from leftoff.flows.chat_session import Chat, ChatPlace, begin, place_of
from leftoff.flows.chat_turn import take_turn
from leftoff.system.register import Register

TURNS = 200
MANY_TURNS = 4000  # about ten megabytes
_SAVES = 20  # timed together: one alone is as quick as the disk happens to be
_AT = datetime(2026, 1, 6, 12, 0, tzinfo=UTC)
_QUERY = "How do we limit requests per user? " * 3
_ANSWER = "With a token bucket in Redis, refilled at a steady rate. " * 40
_TOKENS = Tokens(input_tokens=123, output_tokens=222)


def measures(folder: Path, rounds: int) -> Iterator[Row]:
    """Saving a turn costs the same however long the chat has become, and with a summary in it too."""
    yield _row(
        f"chat: 20 saves after {TURNS} turns", "20 saves after 10 turns", measured(folder / "plain", rounds)
    )
    yield _row(
        f"chat with a summary: 20 turns after {MANY_TURNS:,}",
        "20 turns after 10",
        measured_with_summary(folder / "summarised", rounds),
    )


def _row(what: str, against: str, pairs: list[tuple[float, float]]) -> Row:
    return Row(
        what=what,
        against=against,
        ratio=median(late / early for late, early in pairs),
        limit=1.5,
        note=f"{median(late for late, _ in pairs) * 1000:.0f} ms",
    )


def measured(folder: Path, rounds: int) -> list[tuple[float, float]]:
    """Seconds of each round: saves after so many turns, and saves of a chat with ten."""
    long, short = _chat(folder, TURNS), _chat(folder, 10)
    return [
        (_timed(lambda: long.append([_turn()])), _timed(lambda: short.append([_turn()])))
        for _ in range(rounds)
    ]


def measured_with_summary(folder: Path, rounds: int) -> list[tuple[float, float]]:
    """The same for whole turns of chats in which a summary stands already, the long one with very many turns."""
    place = replace(place_of(folder, folder=folder), register=Register(folder=folder / "register"))
    long, short = _summarised(place, MANY_TURNS), _summarised(place, 10)
    return [(_timed(lambda: _talk(long)), _timed(lambda: _talk(short))) for _ in range(rounds)]


class _Sally:
    """An agent that answers at once."""

    name, path = "Simple Sally", "/home/dev/agents/sally/agent.py"

    def ask(self, prompt: str, *, heard: Heard, timeout_seconds: float | None) -> Reply:  # noqa: ARG002 - the protocol's
        return Reply(text=_ANSWER, tokens=_TOKENS)

    def reset(self) -> Reset:
        return "dropped"


def _chat(folder: Path, turns: int) -> ChatFile:
    head = Header(session_id="", date=_AT, agent=_Sally.name, agent_path=_Sally.path)
    return chat_file.create(folder, head, [_turn()] * turns, None)


def _summarised(place: ChatPlace, turns: int) -> Chat:
    chat = begin(_Sally(), place)
    chat.file = chat_file.create(
        place.folder, chat.header, [_turn()] * turns, "**Topics Discussed:**\n- limits"
    )
    chat.totals = chat.file.totals
    return chat


def _talk(chat: Chat) -> None:
    take_turn(chat, _QUERY, lambda _: None)


def _timed(save: Callable[[], object]) -> float:
    begun = time.perf_counter()
    for _ in range(_SAVES):
        save()
    return time.perf_counter() - begun


def _turn() -> Turn:
    return Turn(at=_AT, query=_QUERY, answer=_ANSWER, seconds=3.2, tokens=_TOKENS)
