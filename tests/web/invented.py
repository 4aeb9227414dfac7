"""An invented machine for the pictures: a week of work on four projects."""

from __future__ import annotations

import os
import random
from datetime import datetime, timedelta
from pathlib import Path

from leftoff.agents import claude, codex
from leftoff.platform import clock
from leftoff.resume_logs.save import save_log
from leftoff.testing.builders import Story, call
from leftoff.workspace import Workspace
from tests.support.transcripts import write_transcript

LONG = "5e3a91c4-7d20-4b1f-9c66-2f8be0d41a77"
_OTHERS = (
    ("harbor-api", "claude", "Add rate limits to the public endpoints", 0.62, 0.4),
    ("harbor-web", "codex", "The date picker jumps a day in Auckland; find out why", 0.88, 3),
    ("ledger", "claude", "Split the import into stages that can be resumed", 0.96, 20),
    ("harbor-api", "claude", "Why does the nightly job take four hours since March?", 0.34, 26),
    ("notes", "claude", "Write the release notes for 2.4 from the merged pull requests", 0.21, 30),
    ("ledger", "codex", "Replace the hand-written CSV reader", 0.74, 47),
    ("harbor-web", "claude", "Move the settings page to the new form components", 0.55, 51),
    ("harbor-api", "codex", "Make the tests of the mailer independent of the clock", 0.12, 74),
    ("notes", "claude", "Draft a plan for the move to PostgreSQL 17", 0.43, 98),
)


def write_machine(home: Path, root: Path) -> Path:
    """Write the sessions, the newest first in the list, and return the transcript of the long one."""
    now = clock.now()
    for number, (project, agent, prompt, share, hours) in enumerate(_OTHERS, start=1):
        story = Story(
            session_id=f"7c{number:06d}-1d20-4b1f-8c66-2f8be0d41a77",
            project=_folder(root, project),
            model="claude-sonnet-4-5",
        )
        story.asked(prompt).replied("I look at it.", used=int(share * 167_000))
        _write(home, agent, story, now - timedelta(hours=hours))
    story = _long_story(_folder(root, "harbor-api"))
    path = _write(home, "claude", story, now - timedelta(seconds=40))
    text = path.read_text(encoding="utf-8").replace("2026-01-06T", f"{now - timedelta(days=1):%Y-%m-%d}T")
    path.write_text(text, encoding="utf-8")
    os.utime(path, (now.timestamp() - 40,) * 2)
    save_log(str(path), Workspace.open(Path(story.project)))
    return path


def _folder(root: Path, project: str) -> str:
    folder = root / project
    (folder / ".git").mkdir(parents=True, exist_ok=True)
    return str(folder)


def _write(home: Path, agent: str, story: Story, at: datetime) -> Path:
    name = f"{story.session_id}.jsonl"
    path = home / ".claude" / "projects" / "-work" / name
    if agent == "codex":
        path = home / ".codex" / "sessions" / "2026" / "01" / "06" / f"rollout-2026-01-06T12-00-00-{name}"
    path.parent.mkdir(parents=True, exist_ok=True)
    write_transcript(claude.here() if agent == "claude" else codex.here(), story.script(), path)
    os.utime(path, (at.timestamp(), at.timestamp()))
    return path


def _long_story(project: str) -> Story:
    chance = random.Random(7)
    story = Story(session_id=LONG, project=project, model="claude-sonnet-4-5")
    story.asked("Retry uploads that time out, and never store a file twice. Never touch the public API.")
    used, asked = (
        24_000,
        [
            "Also cover resumable uploads.",
            "Keep the old behaviour for small files.",
            "Log the key of each retry.",
        ],
    )
    for turn in range(3):
        while used < (158_000, 152_000, 121_000)[turn]:
            kind = chance.choices(("read", "shell", "edit", "say"), (4, 3, 3, 2))[0]
            grown = chance.randrange(400, 6_500)
            text = "I look at how uploads are stored. " * chance.randrange(2, 14)
            calls = {
                "read": [
                    call(
                        "read",
                        {"path": f"{project}/harbor/uploads_{used % 9}.py"},
                        "line of code\n" * (grown // 5),
                    )
                ],
                "shell": [
                    call("shell", {"command": "pytest tests/uploads"}, "FAILED test_retry\n" * (grown // 8))
                ],
                "edit": [
                    call(
                        "edit",
                        {
                            "path": f"{project}/harbor/store.py",
                            "old": "",
                            "new": "def store(upload):\n    ...\n" + "    # see uploads\n" * (grown // 24),
                        },
                        "edited",
                    )
                ],
                "say": [],
            }[kind]
            used += grown
            story.replied(text, *calls, used=used)
            if kind == "say":
                story.asked(asked.pop() if asked else "Yes, go on.")
        if turn < 2:
            used = (31_000, 35_000)[turn]
            story.compacted(
                "Uploads are retried with the same key; the tests of resumable uploads still fail.",
                after=9_000,
            )
    story.replied(
        "test_retry passes. Next: make `store.py` reject a second file with the same checksum, then run `pytest tests/uploads`.",
        used=used + 900,
    )
    return story
