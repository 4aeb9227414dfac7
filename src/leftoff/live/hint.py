"""A word to the agent at the right moment, where the user wants it (``recall.hint``): one line with the record to expand.

Said when a command fails that failed before and was fixed, and when a file is opened that an earlier session changed for a reason;
once for each command and file of a session. Without a search index of this version nothing is said: building one takes too long
for a hook.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import closing, suppress

from leftoff.catalogue.database import library_folder, open_for_search
from leftoff.core import markdown
from leftoff.core.actions import Changed, Looked, Ran
from leftoff.core.hook_event import CalledTool
from leftoff.core.quantities import ago
from leftoff.core.records import Text, ToolResult, ToolUse
from leftoff.core.session_ids import short_id
from leftoff.errors import LeftoffError
from leftoff.extraction.checks import read_outcome
from leftoff.live.events import EventContext
from leftoff.mcp.history import CHANGES, Happening, Target, gives_reason, what_happened
from leftoff.search.changes import is_built

MAX_CHARS = 200
_SESSIONS = 4  # that are read, the newest: a hook must be quick
_MOST_BYTES = 20_000_000  # that they may have together
_MAX_HINTED = 200


def hint(context: EventContext) -> str | None:
    """Return the line for the calls of an event; None where there is nothing to say."""
    if context.event.actor is not None or not _has_index():
        return None
    for target in (target for call in context.event.tools for target in _targets(context, call)):
        mark = hashlib.sha256(f"{target.kind} {target.words}".encode("utf-8", "replace")).hexdigest()[:12]
        if mark in context.state.hinted:
            continue
        _remember(context, mark)  # also where nothing is known: earlier sessions are read once
        with suppress(LeftoffError):
            if line := _line(context, target):
                return line
    return None


def _has_index() -> bool:
    """Return whether there is a complete search index of this version."""
    connection = open_for_search(library_folder())
    if connection is None:
        return False
    with closing(connection):
        return is_built(connection)


def _remember(context: EventContext, mark: str) -> None:
    context.update(lambda state: state._replace(hinted=(*state.hinted, mark)[-_MAX_HINTED:]))


def _targets(context: EventContext, call: CalledTool) -> Iterator[Target]:
    """Yield the command of a call if it failed, and the file that it opened."""
    if call.input is None:
        return
    use = ToolUse(call.call_id or "", call.tool, call.input)
    given = call.input.get("command")  # what an agent calls the tool in events may differ from its transcript
    actions = [*context.agent.actions(use), *([Ran(given)] if isinstance(given, str) else [])]
    result = ToolResult(use.call_id, (Text(call.result or ""),), is_error=call.failed or None)
    answer = context.agent.answer(use, result)
    for action in actions:
        match action:
            case Ran(command) if call.failed or read_outcome(command, answer)[0] == "failed":
                yield Target(kind="command", words=command)
                return
            case Looked(path) | Changed(path) if not call.failed:
                yield Target(kind="file", words=path)
            case _:
                pass


def _line(context: EventContext, target: Target) -> str | None:
    happened = what_happened(
        context.workspace, target, context.at, sessions=_SESSIONS, most_bytes=_MOST_BYTES
    )
    earlier = [each for each in happened if each.session_id != context.event.session_id]
    found = _fix(earlier) if target.kind == "command" else _reason(earlier)
    if found is None:
        return None
    known, what = found
    when = "" if known.at is None else f", {ago(context.at, known.at)}"
    end = f" In full: expand {short_id(known.session_id)}:{known.line}"
    start = f"leftoff{when}: {what}"
    room = MAX_CHARS - len(end)
    line = start if len(start) <= room else f"{start[: room - 1]}…"
    return markdown.neutralise_markers(line + end)


def _fix(earlier: list[Happening]) -> tuple[Happening, str] | None:
    """Return what made a command pass that had failed: the last change before, else the run that passed."""
    for at, passed in enumerate(earlier):
        if passed.what != "passed":
            continue
        before = [each for each in earlier[at + 1 :] if each.session_id == passed.session_id]
        failed = next(
            (n for n, each in enumerate(before) if (each.what, each.about) == ("failed", passed.about)), None
        )
        if failed is not None:
            changed = next((each for each in before[:failed] if each.what in CHANGES), None)
            if changed is None:
                return passed, "this command failed before and passed later."
            name = changed.about.rpartition("/")[2]
            why = f": “{changed.reason}”" if changed.reason else ""
            return changed, f"this command failed before and passed after {name} was {changed.what}{why}."
    return None


def _reason(earlier: list[Happening]) -> tuple[Happening, str] | None:
    """Return the newest change of a file whose reason is known."""
    change = next((each for each in earlier if each.what in CHANGES and gives_reason(each)), None)
    if change is None:
        return None
    name = change.about.rpartition("/")[2]
    return change, f"an earlier session {change.what} {name}: “{change.reason}”."
