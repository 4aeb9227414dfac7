"""An event of a running session, and what may be said to it, in words that no agent owns."""

from __future__ import annotations

from typing import Literal

from leftoff.model.values import dataclass

EventKind = Literal[
    "start", "prompt", "tools", "stop", "before_compaction", "after_compaction", "end", "other"
]
StartSource = Literal["startup", "resume", "compact", "clear"]


@dataclass(frozen=True, slots=True, kw_only=True)
class CalledTool:
    """A tool that has just been called; ``call_id`` is None where the event does not name the call."""

    tool: str
    call_id: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class HookEvent:
    """What an agent calls a hook with. None means that the event does not say, or has no such thing.

    ``actor`` is the subagent in which it happened; ``hears_user`` and ``hears_agent`` say whom an answer to this event
    reaches. ``summary`` of a compaction is None where nobody can read it.
    """

    kind: EventKind
    name: str  # the agent's own
    session_id: str
    transcript: str | None
    folder: str | None
    actor: str | None = None
    source: StartSource | None = None
    prompt: str | None = None
    tools: tuple[CalledTool, ...] = ()
    summary: str | None = None
    reason: str | None = None  # why the session ended
    is_headless: bool = False
    client_pid: int | None = None
    hears_user: bool = False
    hears_agent: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Saying:
    """What to say: to the user, to the agent as data, to the summariser of a compaction. None: nothing.

    ``blocks``: the prompt was for us; it is not sent, and costs no tokens.
    """

    to_user: str | None = None
    to_agent: str | None = None
    to_summariser: str | None = None
    blocks: bool = False

    def __bool__(self) -> bool:
        return self.blocks or any((self.to_user, self.to_agent, self.to_summariser))


NOTHING = Saying()
