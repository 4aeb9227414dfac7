"""The lines of a paginated rollout (0.166): numbered, timed, each of its shape, with ids and running sums.

All ids come from the session's own, so that the same session gives the same bytes.
"""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Mapping
from datetime import UTC, datetime

import orjson

from leftoff.model.records import Usage
from leftoff.model.wire import JsonObject, JsonValue

NO_TOKENS: Mapping[str, int] = {
    "input_tokens": 0,
    "cached_input_tokens": 0,
    "cache_write_input_tokens": 0,
    "output_tokens": 0,
    "reasoning_output_tokens": 0,
    "total_tokens": 0,
}


class Paginated:
    """Makes one line after the other. ``at`` is the time they bear, ``turn_id`` the turn they belong to."""

    def __init__(self, session_id: str, window_tokens: int) -> None:
        self.at = datetime(1970, 1, 1, tzinfo=UTC)
        self.turn_id: str | None = None
        self.written = 0
        self._session_id = session_id
        self._window_tokens = window_tokens
        self._ids = 0
        self._last_tokens: Mapping[str, int] = NO_TOKENS
        self._turn_tokens = dict(NO_TOKENS)
        self._thread_tokens = dict(NO_TOKENS)

    def line(self, name: str, payload: JsonObject) -> bytes:
        """A line of that type."""
        line = {"timestamp": stamp(self.at), "ordinal": self.written, "type": name, "payload": payload}
        self.written += 1
        return orjson.dumps(line, option=orjson.OPT_APPEND_NEWLINE)

    def event(self, name: str, said: JsonObject) -> bytes:
        """Something for the screen."""
        return self.line("event_msg", {"type": name, **said})

    def completed(self, item: JsonObject) -> bytes:
        """A whole thing for the screen."""
        moment = int(self.at.timestamp() * 1000)
        return self.event(
            "item_completed",
            {
                "thread_id": self._session_id,
                "turn_id": self.turn_id,
                "item": item,
                "started_at_ms": moment,
                "completed_at_ms": moment,
            },
        )

    def item(self, item: JsonObject) -> bytes:
        """Something that the model is sent."""
        turn: JsonObject = {"turn_id": self.turn_id}
        return self.line("response_item", {"internal_chat_message_metadata_passthrough": turn, **item})

    def message(self, role: str, words: str, kind: str) -> JsonObject:
        """An item of words; ``kind`` says whose they are."""
        part = "output_text" if role == "assistant" else "input_text"
        content: JsonObject = {"type": part, "text": words}
        return {
            "type": "message",
            "id": self.identity("msg"),
            "role": role,
            "content": [content],
            "internal_chat_message_metadata_passthrough": {
                "turn_id": self.turn_id,
                "content_item_kinds": [kind],
            },
        }

    def begin_turn(self) -> None:
        """From here on, lines belong to a new turn."""
        self.turn_id = self.uuid()
        self._turn_tokens = dict(NO_TOKENS)

    def token_usage(self, said: Mapping[str, int]) -> bytes:
        """What a reply took; it is added to the sums."""
        self._last_tokens = said
        for sums in (self._turn_tokens, self._thread_tokens):
            for key, tokens in said.items():
                sums[key] += tokens
        return self.line("token_usage_record", self.usage_record())

    def usage_record(self) -> JsonObject:
        """The last reply's tokens, as they stand in several lines."""
        return {
            "thread_id": self._session_id,
            "turn_id": self.turn_id,
            "session_id": self._session_id,
            "root_turn_id": self.turn_id,
            "response_id": self.identity("resp"),
            "usage": _object(self._last_tokens),
            "turn_token_usage": _object(self._turn_tokens),
            "thread_token_usage": _object(self._thread_tokens),
        }

    def token_count(self) -> bytes:
        """The last reply's tokens once more, with the window."""
        return self._token_count(self._last_tokens, is_estimate=False)

    def estimate(self, tokens: int) -> bytes:
        """What Codex thinks is left after a compaction."""
        return self._token_count({**NO_TOKENS, "total_tokens": tokens}, is_estimate=True)

    def _token_count(self, said: Mapping[str, int], *, is_estimate: bool) -> bytes:
        info: JsonObject = {
            "total_token_usage": _object(self._thread_tokens),
            "last_token_usage": _object(said),
            "last_usage_includes_reasoning": is_estimate,
            "model_context_window": self._window_tokens,
        }
        return self.event("token_count", {"info": info, "rate_limits": None})

    def identity(self, prefix: str) -> str:
        """The next id of an item."""
        return f"{prefix}_{self.uuid()}"

    def call_id(self) -> str:
        """The next id of a call."""
        return f"call_{self.uuid().replace('-', '')[-24:]}"

    def uuid(self) -> str:
        """The next bare id: a UUIDv7 of the present time, the rest from the session's id and a number."""
        self._ids += 1
        digest = hashlib.sha256(f"{self._session_id}/{self._ids}".encode()).digest()
        value = (int(self.at.timestamp() * 1000) << 80) | int.from_bytes(digest[:10], "big")
        value = (value & ~(0xF << 76) & ~(0x3 << 62)) | (0x7 << 76) | (0x2 << 62)
        return str(uuid.UUID(int=value))


def tokens(usage: Usage) -> Mapping[str, int]:
    """A usage in Codex's words: its input holds what was cached."""
    taken = usage.input_tokens + usage.cache_read_tokens + usage.cache_creation_tokens
    return {
        "input_tokens": taken,
        "cached_input_tokens": usage.cache_read_tokens,
        "cache_write_input_tokens": usage.cache_creation_tokens,
        "output_tokens": usage.output_tokens,
        "reasoning_output_tokens": 0,
        "total_tokens": taken + usage.output_tokens,
    }


def stamp(at: datetime) -> str:
    """A time as rollouts have it."""
    return at.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _object(numbers: Mapping[str, int]) -> dict[str, JsonValue]:
    return {**numbers}
