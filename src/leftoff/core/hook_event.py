"""Hook events and the replies to them, independent of any one agent."""

from __future__ import annotations

from typing import Literal, NamedTuple

from leftoff.core.wire import JsonObject

EventKind = Literal["start", "prompt", "tools", "stop", "before_compaction", "end", "other"]
StartSource = Literal["startup", "resume", "compact", "clear"]


class CalledTool(NamedTuple):
    """A tool that the agent has just called; ``call_id``, ``input`` and the text of its result are None if the event lacks them.

    ``failed`` is False also where the event does not say.
    """

    tool: str
    call_id: str | None
    input: JsonObject | None = None
    result: str | None = None
    failed: bool = False


class HookEvent(NamedTuple):
    """The event that an agent passes to its hook. None means that the event does not say, or that it does not apply.

    ``actor`` is the subagent in which the event happened. ``hears_user`` and ``hears_agent`` say whom a reply to this
    event reaches.
    """

    kind: EventKind
    name: str  # the agent's own name for the event
    session_id: str
    transcript: str | None
    folder: str | None
    actor: str | None = None
    source: StartSource | None = None
    prompt: str | None = None
    tools: tuple[CalledTool, ...] = ()
    reason: str | None = None  # why the session ended
    is_automatic: bool = False  # a compaction that the user did not ask for
    is_headless: bool = False
    client_pid: int | None = None
    hears_user: bool = False
    hears_agent: bool = False
    # Of a resumed session: its size, whether the prompt cache is likely cold, and what writing all of it again costs.
    context_tokens: int | None = None
    is_cache_cold: bool = False
    cache_write_usd: float | None = None


class HookResponse(NamedTuple):
    """The texts for the user, for the agent (as data) and for the summariser of a compaction. None means no text.

    ``blocks`` stops a prompt that was a command for leftoff: the agent does not send it, so it costs no tokens.
    """

    to_user: str | None = None
    to_agent: str | None = None
    to_summariser: str | None = None
    blocks: bool = False

    def __bool__(self) -> bool:
        return self.blocks or any((self.to_user, self.to_agent, self.to_summariser))


NO_RESPONSE = HookResponse()
