"""One line of an incremental pause (004)."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Literal, get_args

from leftoff.errors import DocumentError
from leftoff.model.wire import JsonObject, JsonValue, as_json, upgraded

ActionType = Literal[
    "pause_started", "tool_call", "assistant_response", "user_message", "system_event", "pause_finalized"
]
ACTION_TYPES: tuple[str, ...] = get_args(ActionType)
_ENCODER = json.JSONEncoder(ensure_ascii=False, allow_nan=False)  # json.dumps would make one for every line


@dataclass(frozen=True, slots=True)
class PauseAction:
    """Something that happened during the wind-down. ``context_percentage`` is a fraction, 0-1, as in 004.

    ``data`` is kept as JSON can hold it, so that a line always can be written and reads back the same. The file's schema
    number stands in the data of its first line, ``pause_started``.
    """

    type: str
    timestamp: str
    session_id: str
    data: dict[str, Any]
    context_percentage: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "data", as_json(self.data))

    def to_json_line(self) -> str:
        """One line of JSON without its line end."""
        return _ENCODER.encode(
            {
                "type": self.type,
                "timestamp": self.timestamp,
                "session_id": self.session_id,
                "data": self.data,
                "context_percentage": self.context_percentage,
            }
        )

    @classmethod
    def from_json_line(cls, line: str) -> PauseAction:
        """The action on a line; a ValueError for any other, which readers count and pass over (L12).

        A torn line is a JSONDecodeError, as in 004, and a foreign one a DocumentError.
        """
        try:
            data = json.loads(line)
        except RecursionError as error:
            raise DocumentError(f"Not a line of a pause: {error}") from error
        return cls(*_fields(data))


def action_of(data: JsonValue) -> PauseAction:
    """The action that a strict parser has read."""
    return plain_action(*_fields(data))


def plain_action(
    type_: str, timestamp: str, session_id: str, data: JsonObject, fraction: float
) -> PauseAction:
    """An action whose data is JSON already and is taken as it is: copying it takes longer than writing it down."""
    action = object.__new__(PauseAction)
    for name, value in zip(
        PauseAction.__slots__, (type_, timestamp, session_id, data, fraction), strict=True
    ):
        object.__setattr__(action, name, value)
    return action


def _fields(data: JsonValue) -> tuple[str, str, str, JsonObject, float]:
    match data:
        case {
            "type": str(type_),
            "timestamp": str(timestamp),
            "session_id": str(session_id),
            "data": dict(inner),
            "context_percentage": float() | int() as fraction,
        }:
            if "schema" in inner and type_ == "pause_started":
                upgraded("pause_action", inner, where=session_id)
            return type_, timestamp, session_id, inner, float(fraction)
        case _:
            raise DocumentError(f"Not a line of a pause: {str(data)[:80]}")
