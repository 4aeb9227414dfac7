"""``leftoff`` on its own."""

from __future__ import annotations

from leftoff.cli import display
from leftoff.cli.ages import age
from leftoff.cli.status import draw
from leftoff.flows import glance as flow
from leftoff.system import clock, paths


def glance(*, as_json: bool) -> int:
    """Show this project: its latest session, the gauge, and what to type next."""
    found = flow.glance(paths.working_folder())
    if as_json:
        display.as_json(
            {
                "project": str(found.root),
                "branch": found.branch,
                "sessions": found.sessions,
                "latest": found.status.to_dict() if found.status else None,
            }
        )
        return 0
    branch = f" ({display.visible(found.branch)})" if found.branch else ""
    display.say(f"{display.visible(str(found.root))}{branch}")
    if found.latest is None or found.status is None:
        display.say(
            "No session of any agent here yet. leftoff sessions lists those of other projects; leftoff demo plays one."
        )
        return 0
    when = age(clock.now(), found.latest.modified_at)
    prompt = display.one_line(found.latest.first_prompt or "?", 70)
    display.say(f"{found.sessions} sessions; the latest, {when} old, began with: {prompt}")
    draw(found.status)
    display.say("leftoff show reads it, leftoff status --watch keeps looking.")
    return 0
