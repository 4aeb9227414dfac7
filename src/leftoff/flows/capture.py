"""What may be written down of what passes by: nothing of the tools the user excluded, and no credentials."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, cast

from leftoff.flows.settings import settings_here
from leftoff.model.pause_action import ACTION_TYPES, PauseAction
from leftoff.model.values import dataclass
from leftoff.model.wire import JsonObject, JsonValue
from leftoff.pauses.words import EXCLUDED
from leftoff.system import clock

if TYPE_CHECKING:
    from leftoff.config.settings import Settings
    from leftoff.system.redaction import Redactor


@dataclass(frozen=True, slots=True, kw_only=True)
class Capture:
    """The user's wishes, ready to be used many times. ``redactor`` is None where redaction is switched off."""

    redactor: Redactor | None
    exclude_tools: frozenset[str]

    def clean(self, value: JsonValue) -> JsonValue:
        """A copy without credentials."""
        return value if self.redactor is None else self.redactor.redact_value(value)

    def clean_data(self, action_type: str, data: JsonObject) -> JsonObject:
        """The data of an action as it may be kept."""
        if action_type == "tool_call" and data.get("tool") in self.exclude_tools:
            return {"tool": data["tool"], "args": EXCLUDED}
        return self.clean_object(data)

    def clean_object(self, data: JsonObject) -> JsonObject:
        """The same of an object, which stays one."""
        return cast("JsonObject", self.clean(data))

    def clean_action(self, action: PauseAction) -> PauseAction:
        """The action as it may be kept: itself, where there is nothing to take out."""
        data = self.clean_data(action.type, action.data)
        kind, stamp = action.type, action.timestamp
        if (
            kind not in ACTION_TYPES or clock.from_rfc3339(stamp) is None
        ):  # a foreign line can say anything there
            kind, stamp = str(self.clean(kind)), str(self.clean(stamp))
        if (kind, stamp, data) == (action.type, action.timestamp, action.data):
            return action
        return PauseAction(kind, stamp, action.session_id, data, action.context_percentage)


def capture_here(folder: Path) -> Capture:
    """As the settings in force in ``folder`` want it."""
    return capture_of(settings_here(folder).settings)


def capture_of(settings: Settings) -> Capture:
    """As these settings want it."""
    from leftoff.system.redaction import Redactor  # noqa: PLC0415 - loaded by those who write

    wanted = settings.redaction
    redactor = Redactor(allow=wanted.allow, deny=wanted.deny) if wanted.enabled else None
    return Capture(redactor=redactor, exclude_tools=frozenset(settings.capture.exclude_tools))
