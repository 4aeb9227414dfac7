"""What is remembered of a live session from one event to the next: levels said, marks to come, words still to be said.

The fast path reads the wire form and compares whole numbers only: ``next_mark_tokens`` and ``rearm_below_tokens`` say from
where on, and below what, there is work for the full program; ``is_due`` that there is some in any case.
"""

from __future__ import annotations

from dataclasses import asdict, field, fields, replace
from typing import Any

from leftoff.errors import DocumentError
from leftoff.model.context_metrics import Level
from leftoff.model.values import dataclass
from leftoff.model.wire import SCHEMAS, JsonObject, JsonValue, upgraded


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchState:
    """One session of one agent. None means not known, or not there; times are RFC 3339."""

    agent: str
    session_id: str
    tail: str | None = None  # the reader of the fast path that understands the transcript's end
    transcript: str | None = None
    folder: str | None = None
    project: str | None = None  # the root of its project
    home: str | None = None  # the folder that holds the project's documents: of a worktree, the main checkout
    started_at: str | None = None
    ended: str | None = None  # why it ended
    ended_at: str | None = None  # when it last did: it may have been resumed since
    off: bool = False  # the settings make hooks silent
    is_headless: bool = False
    client_pid: int | None = None
    client_begun: str | None = None
    said: Level = Level.OK
    agent_told: bool = False
    used_tokens: int | None = None
    usable_tokens: int | None = None
    about: str | None = None  # what the transcript's end says of model or window
    next_mark_tokens: int | None = 0  # None: no number is news, because the window is not known
    rearm_below_tokens: int = 0
    looked_bytes: int = 0  # of the transcript, when its tail was last estimated
    folded_bytes: int = 0  # of the transcript, when it was last folded into the extraction
    pause_id: str | None = None
    pause_declined: bool = False  # the user threw it away: none is begun before the window has emptied
    triggers_prefix: str = ">"
    offer_open: bool = False  # the first prompt has not come yet, and may want what was left off
    catching_up: bool = False  # a detached process may be writing the log that the first prompt wants
    pickup: str | None = None  # the log that the next prompt takes along
    project_state: str | None = None  # the resume state of the project that it works on
    project_said: str | None = None  # the mark of project_state that was said: warn, auto_save
    files: dict[str, int | None] = field(
        default_factory=dict
    )  # to look at after a turn, and when each last changed
    to_user: tuple[str, ...] = ()  # words for the next event that reaches them
    to_agent: tuple[str, ...] = ()

    @property
    def used_fraction(self) -> float | None:
        """Share of the usable window."""
        if self.used_tokens is None or self.usable_tokens is None:
            return None
        return self.used_tokens / self.usable_tokens

    @property
    def is_due(self) -> bool:
        """Whether the next event is for the full program, whatever it brings."""
        return self.offer_open or bool(self.pickup or self.to_user or self.to_agent)

    def to_dict(self) -> JsonObject:
        """The wire form."""
        told: dict[str, Any] = asdict(self)
        told |= {"to_user": [*self.to_user], "to_agent": [*self.to_agent], "said": self.said.value}
        derived = {"is_due": self.is_due, "used_fraction": self.used_fraction}
        return {"schema": SCHEMAS["watch_state"], **told, **derived}

    @classmethod
    def from_dict(cls, data: JsonValue, *, where: str) -> WatchState:
        """The value behind a wire form; DocumentError where it is none, or of a newer leftoff."""
        known = upgraded("watch_state", data, where=where)
        names = {each.name for each in fields(cls)}
        told: dict[str, Any] = {name: value for name, value in known.items() if name in names}
        try:
            told |= {name: tuple(map(str, told.get(name) or ())) for name in ("to_user", "to_agent")}
            told["said"] = Level(told.get("said", "ok"))
            return cls(**told)
        except (TypeError, ValueError) as error:
            raise DocumentError(f"{where}: not the state of a session: {error}.", path=where) from error

    def told_later(self, *, to_user: str | None = None, to_agent: str | None = None) -> WatchState:
        """With words for the next event that reaches whom they are for; the same words stand once."""
        users = (*self.to_user, to_user) if to_user and to_user not in self.to_user else self.to_user
        agents = (*self.to_agent, to_agent) if to_agent and to_agent not in self.to_agent else self.to_agent
        return replace(self, to_user=users, to_agent=agents)
