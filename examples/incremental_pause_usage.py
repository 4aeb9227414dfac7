"""The incremental pause, from the crossing of 90 % to the snapshot; run it with ``discard`` or ``resume`` for the other ends.

    python3 examples/incremental_pause_usage.py            # record a wind-down and keep it
    python3 examples/incremental_pause_usage.py discard    # record one and throw it away
    python3 examples/incremental_pause_usage.py resume     # find one that was left behind, and go on with it

It works in a scratch folder, which is gone afterwards; only leftoff's register remembers what was written there.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path

import leftoff


def main(arguments: list[str]) -> int:
    """Play one of the three stories; 2 for any other word."""
    stories = {"basic": basic, "discard": discard, "resume": resume}
    name = arguments[0] if arguments else "basic"
    if name not in stories or len(arguments) > 1:
        print("Usage: python3 examples/incremental_pause_usage.py [discard|resume]", file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory(prefix="leftoff-example-") as folder:
        stories[name](Path(folder) / "project")
    return 0


def basic(project: Path) -> None:
    """Usage grows, the pause begins at 90 %, the wind-down is recorded, and all of it becomes a snapshot."""
    manager = wind_down(project)
    summary = manager.get_pause_summary()
    assert summary is not None
    low, high = summary["context_range"]
    print(f"Session: {summary['session_id']}")
    print(f"Actions: {summary['action_count']}")
    print(f"Context: {low:.1%} -> {high:.1%}")
    print(f"Duration: {summary['duration_seconds']}s")
    path = manager.finalize_pause(create_full_snapshot=True)
    assert path is not None
    pause = json.loads(path.read_text(encoding="utf-8"))["incremental_pause"]
    print(f"Kept {pause['action_count']} actions in {len([*path.parent.glob('session-*')])} files.")
    print(path.with_suffix(".md").read_text(encoding="utf-8"))


def discard(project: Path) -> None:
    """The user continues to work: what was recorded is thrown away."""
    manager = wind_down(project)
    print(f"Discarded: {manager.discard_pause()}")
    print(f"Once more: {manager.discard_pause()}")


def resume(project: Path) -> None:
    """Another process left a pause behind; it is continued, and then kept."""
    wind_down(project)
    manager = leftoff.IncrementalPauseManager(project)
    print(f"Found a pause: {manager.is_pause_active()}")
    leftoff.recover_orphaned_pause(project, choice="continue")
    manager.append_action("user_message", {"message": "Where were we?"}, 0.94)
    print(f"Now {len(manager.get_recorded_actions())} actions.")
    print(f"Kept as {'JSON' if manager.finalize_pause() else 'nothing'}.")


def wind_down(project: Path) -> leftoff.IncrementalPauseManager:
    """From the crossing on: a tool call, a reply, the user's words, an event."""
    project.mkdir(parents=True)
    tracker = leftoff.ContextUsageTracker(project)
    state = tracker.update_usage(input_tokens=150_000, output_tokens=31_000)
    manager = leftoff.IncrementalPauseManager(project)
    if tracker.should_auto_pause() and not manager.is_pause_active():
        print(f"Auto-pause threshold reached: {state.percentage_used:.1f}%")
        manager.start_incremental_pause(
            context_percentage=state.percentage_used / 100, initial_state=state.__dict__
        )
    manager.append_action("tool_call", {"tool": "Read", "path": "/src/main.py", "lines": 150}, 0.91)
    manager.append_action(
        "assistant_response", {"summary": "Analyzed code structure and found two bugs"}, 0.92
    )
    manager.append_action("user_message", {"message": "Can you summarize what we've done?"}, 0.93)
    manager.append_action("system_event", {"event": "memory_warning", "available_mb": 500}, 0.93)
    return manager


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
