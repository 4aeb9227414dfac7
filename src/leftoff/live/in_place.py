"""Answer the plugin inside an agent that asks for the messages of a running session: compact, trim or undo.

The request is a JSON object with ``session_id``, ``cwd``, ``action``, ``messages`` and what the agent knows about its window. The answer
has ``messages``, a ``receipt``, one line for the user, and ``usable_tokens`` of the window; or ``declined`` with the reason: then the agent compacts by itself. The resume
log is saved first, because the hook before a compaction does not run when a plugin answers. What hooks gave the agent earlier, such as the
log of the session that this one continues, is in no message, so the agent drops it: the hook that runs afterwards gives it again. State
``in_place`` tells that hook that there is nothing else to restore.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Protocol, TypeGuard

import orjson

from leftoff.agents.registry import agent_by_id
from leftoff.core.live_messages import CompactsInPlace, LiveMessage, is_in_turn
from leftoff.core.metrics import ContextMetrics
from leftoff.core.open_work import continued_sessions
from leftoff.core.protocols import Agent, HasEvents, HasFastPath
from leftoff.core.resume_log import ResumeLog
from leftoff.core.trim_plan import Savings
from leftoff.core.wire import JsonObject, JsonValue, parse_client_json
from leftoff.errors import LeftoffError, NothingToDoError, UsageError
from leftoff.live.compaction import note_compaction, save_log, user_words
from leftoff.live.events import EventContext
from leftoff.platform import clock, files
from leftoff.resume_logs.pins import list_pins
from leftoff.resume_logs.restore_text import lost_text, restoration_body
from leftoff.sessions import live_state
from leftoff.sessions.find import find_session
from leftoff.sessions.status import status_of
from leftoff.shrink.cuts import TrimParameters
from leftoff.shrink.in_place import Rebuilt, rebuild, restore_before
from leftoff.shrink.in_place_draft import CompactionOrder
from leftoff.shrink.live_conversation import all_texts_of
from leftoff.workspace import SessionRef, Workspace

_ACTIONS = ("compact", "trim", "untrim")
_SHARE_WITH_ROOM = (
    0.5  # of what is used: a compaction that the window does not need frees at least as much as it keeps
)


class _PluggedAgent(Agent, CompactsInPlace, HasEvents, Protocol):
    """An agent that reports events, and lets a plugin replace its messages."""


def answer_request(agent_id: str, raw: bytes) -> bytes:
    """Answer one request; what goes wrong is the reason to decline."""
    try:
        agent, request = agent_by_id(agent_id), parse_client_json(raw)
        if not _is_plugged(agent):
            raise UsageError(f"{agent.name} cannot be compacted in place")
        if not isinstance(request, dict) or request.get("action") not in _ACTIONS:
            raise UsageError("not a request that this version of leftoff knows")
        return orjson.dumps(_answer(agent, request))
    except LeftoffError as error:
        return orjson.dumps({"declined": str(error).rstrip(".")})


def _is_plugged(agent: Agent) -> TypeGuard[_PluggedAgent]:
    return isinstance(agent, CompactsInPlace) and isinstance(agent, HasEvents)


def _answer(agent: _PluggedAgent, request: JsonObject) -> JsonObject:
    """Save everything, rebuild the messages and say what that changed."""
    context = _context(agent, request)
    settings, ref = context.settings, context.session_ref
    if not settings.enabled or not settings.trim.in_place:
        raise NothingToDoError("the settings leave compactions to the agent")
    if ref is None:
        raise LeftoffError("the session has no transcript yet")
    messages = agent.read_live_messages(request.get("messages"))
    if is_in_turn(messages) and agent.needs_thinking(ref.session):
        raise LeftoffError(
            "this model may need the thinking of the turn to continue it, and rebuilt messages cannot hold any"
        )
    gauge = _gauge(ref, context.workspace, request)
    log = save_log(context)
    if request["action"] == "untrim":
        rebuilt = restore_before(ref, messages)
        _check_room(gauge, -rebuilt.freed_tokens)
        done = "restored what the last compaction replaced"
    else:
        rebuilt = _rebuild(context, ref, request, messages, gauge, log)
        done = rebuilt.done
    _write_missing(context, log, rebuilt.messages)
    note_compaction(context, "in_place", log)  # only now: a declined request changes nothing
    answered: list[JsonValue] = agent.write_live_messages(rebuilt.messages)
    return {
        "messages": answered,
        "receipt": f"{done}; {_change(Savings.expect(gauge, rebuilt.freed_tokens))}",
        "usable_tokens": gauge.total_budget,
    }


def _check_room(gauge: ContextMetrics, tokens_back: int) -> None:
    """Refuse what would overfill the window: the agent would compact at once, or its request would be too long."""
    if gauge.remaining_tokens is not None and tokens_back > gauge.remaining_tokens:
        raise NothingToDoError(
            f"about {tokens_back:,} tokens would come back, and there is room for {gauge.remaining_tokens:,}; "
            "leftoff expand KEY prints a single original"
        )


def _context(agent: _PluggedAgent, request: JsonObject) -> EventContext:
    """Return what the hook before a compaction would have been called with."""
    session_id, folder = request.get("session_id"), request.get("cwd")
    if not isinstance(session_id, str) or not isinstance(folder, str):
        raise UsageError("the request does not name its session and its folder")
    state = live_state.load(agent.id, session_id)
    workspace = Workspace.open(Path(state.folder or folder))
    transcript = state.transcript
    if transcript is None or not Path(transcript).is_file():
        transcript = str(find_session(session_id, workspace).transcript)
    event = agent.event(
        {
            "hook_event_name": "PreCompact",
            "session_id": session_id,
            "transcript_path": transcript,
            "cwd": folder,
            "trigger": request.get("trigger", "manual"),
        }
    )
    if event is None:
        raise UsageError("the request does not name its session and its folder")
    return EventContext(
        agent=agent,
        event=event,
        workspace=workspace,
        at=clock.now(),
        fast_path=agent.fast_path if isinstance(agent, HasFastPath) else None,
    )


def _rebuild(
    context: EventContext,
    ref: SessionRef,
    request: JsonObject,
    messages: list[LiveMessage],
    gauge: ContextMetrics,
    log: ResumeLog | None,
) -> Rebuilt:
    settings, used = context.settings, gauge.used_tokens
    if used is None or gauge.total_budget is None:
        raise LeftoffError("how full the window is cannot be read")
    target = int(gauge.total_budget * settings.trim.in_place_target)
    # By hand, or of its own accord while there is room, as when the session is idle: the point is to have less.
    if request["action"] == "compact" and (request.get("trigger") == "manual" or used <= target):
        target = min(target, int(used * _SHARE_WITH_ROOM))
    instructions = request.get("instructions")
    trim = settings.trim
    return rebuild(
        ref,
        messages,
        CompactionOrder(
            used_tokens=used,
            target_tokens=target,
            instructions=instructions if isinstance(instructions, str) else "",
            keeps_messages=request["action"] == "trim" or log is None,
        ),
        TrimParameters(
            threshold=trim.threshold,
            tools=trim.tools,
            protect_turns=trim.protect_turns,
            head=trim.head,
            tail=trim.tail,
            level=trim.level,
        ),
        log_body=_log_body(log),
        pins=[pin.text for pin in list_pins(context.workspace)],
    )


def _write_missing(context: EventContext, log: ResumeLog | None, messages: Iterable[LiveMessage]) -> None:
    """Write what the agent had from hooks and no message says: pins, rules, and the work of the session that this one continues."""
    told = "\n".join(all_texts_of(messages))
    flat = " ".join(told.split())
    text: str | None = None
    if log is not None and (
        continued_sessions(log) or any(" ".join(each.split()) not in flat for each in user_words(log))
    ):
        text = lost_text(log, summary=None, kept=told, given="", max_chars=context.settings.restore.max_chars)
    path = live_state.restoration_file(context.agent.id, context.event.session_id)
    files.write_file(path, (text or "").encode("utf-8", "replace"), sync=False)


def _log_body(log: ResumeLog | None) -> Callable[[int, str], str]:
    def body(max_chars: int, kept: str) -> str:
        if log is None:
            return ""
        return restoration_body(log, max_chars, "after_compaction", kept=kept)

    return body


def _gauge(ref: SessionRef, workspace: Workspace, request: JsonObject) -> ContextMetrics:
    """Return how full the window is: as the agent says, where it does, of the usable window as everywhere else."""
    metrics = status_of(ref, workspace).metrics
    used = request.get("used_tokens")
    if isinstance(used, int) and used > 0:
        return Savings.expect(metrics, (metrics.used_tokens or used) - used).after
    return metrics


def _change(savings: Savings) -> str:
    tokens = f"{abs(savings.tokens):,} tokens {'freed' if savings.tokens >= 0 else 'back'}"
    return f"about {tokens}, {savings.gauge} of the window" if savings.gauge else f"about {tokens}"
