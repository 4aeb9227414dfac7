"""``leftoff hook``, which agents call: the event on standard input, the answer on standard output, always exit code 0.

2 would block the agent, and anything else but 0 would be shown as our failure; so whatever goes wrong is one line in
leftoff's own log. Nothing of the command line is loaded here.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence


def run(arguments: Sequence[str]) -> int:
    """``AGENT`` answers an event; ``AGENT TASK SESSION`` does detached work."""
    try:
        _run(arguments)
    except (Exception, KeyboardInterrupt) as trouble:  # the agent must not feel it, whatever it is
        _note(f"hook {' '.join(arguments)[:80]}: {type(trouble).__name__}: {trouble}")
    return 0


def _run(arguments: Sequence[str]) -> None:
    from leftoff.system import paths

    if paths.environment().get("LEFTOFF_DISABLE", "") not in {"", "0"}:
        return
    if len(arguments) == 3:
        from leftoff.flows import watch_tasks

        watch_tasks.run(*arguments)
        return
    from leftoff.flows.watch import watch

    said = watch(arguments[0], sys.stdin.buffer.read())
    if said:
        sys.stdout.buffer.write(said)
        sys.stdout.buffer.flush()


def _note(words: str) -> None:
    try:
        from leftoff.system import own_log

        own_log.note(words)
    except Exception:  # noqa: S110 - a half upgraded package: then nobody can be told
        pass
