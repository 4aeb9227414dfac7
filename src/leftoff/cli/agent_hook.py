"""``leftoff hook`` and ``leftoff in-place`` as agents run them, without loading the command line.

The exit code is always 0: to an agent, 2 means *block the prompt*, and any other is shown as a failure. Errors become one line in
leftoff's own log.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Sequence
from contextlib import suppress

from leftoff.platform import paths, process

_MOST_BACKGROUND_SECONDS = 300
MOST_IN_PLACE_SECONDS = 7  # the mod gives up after eight: from then on the hooks look after the compaction


def run_hook(arguments: Sequence[str]) -> int:
    """Answer an event (``AGENT``) or run a background task (``AGENT TASK SESSION``)."""
    try:
        _run_hook(arguments)
    except (Exception, KeyboardInterrupt) as error:  # the agent must not notice any failure
        log_error(f"hook {' '.join(arguments)[:80]}: {type(error).__name__}: {error}")
    return 0


def _run_hook(arguments: Sequence[str]) -> None:
    if paths.environment().get("LEFTOFF_DISABLE", "") not in {"", "0"}:
        return
    if len(arguments) == 3:
        process.run_in_background(most_seconds=_MOST_BACKGROUND_SECONDS)  # before anything large is loaded
        gc.enable()  # a task may read long transcripts
        from leftoff.live import saving

        saving.run_task(*arguments)
        return
    from leftoff.live.events import handle_event

    answer = handle_event(arguments[0], sys.stdin.buffer.read())
    if answer:
        sys.stdout.buffer.write(answer)
        sys.stdout.buffer.flush()


def run_in_place(agent_id: str) -> int:
    """Answer the plugin inside an agent; no output means that the agent compacts by itself."""
    process.end_after(MOST_IN_PLACE_SECONDS)
    try:
        answer = b'{"declined": "LEFTOFF_DISABLE is set", "silent": true}'
        if paths.environment().get("LEFTOFF_DISABLE", "") in {"", "0"}:
            from leftoff.live.in_place import answer_request

            answer = answer_request(agent_id, sys.stdin.buffer.read())
        sys.stdout.buffer.write(answer)
        sys.stdout.buffer.flush()
    except (Exception, KeyboardInterrupt) as error:  # the agent must not notice any failure
        log_error(f"in-place {agent_id[:80]}: {type(error).__name__}: {error}")
    return 0


def log_error(message: str) -> None:
    """Write a line to leftoff's own log, if that is possible."""
    with suppress(Exception):  # while the package is being upgraded, even this may fail
        from leftoff.platform import log

        log.write_line(message)
