"""Draws the screens of leftoff as SVG pictures into docs/pictures, or names those that are out of date (``--check``).

Each picture is a real run on a terminal of that width, in a scratch home with the bundled session and a few invented ones. Ages are
relative, so equal code gives equal pictures. The pictures load nothing: no font, no style sheet.
"""

from __future__ import annotations

import fcntl
import io
import json
import os
import pty
import re
import struct
import subprocess
import sys
import tempfile
import termios
import time
from datetime import UTC, datetime
from pathlib import Path

from rich.console import Console
from rich.terminal_theme import TerminalTheme
from rich.text import Text

from leftoff.agents import claude, codex
from leftoff.demo import bundled_transcript
from leftoff.testing.builders import Story, call

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))
from tests.support.transcripts import write_transcript  # noqa: E402 - needs the path

FOLDER = ROOT / "docs" / "pictures"
WIDTHS = (80, 120)
BUNDLED = "5b0e6f0a"
# Every screen: the name of its picture, and what is typed. In this order, because some change what later ones show.
SCREENS = {
    "help": ["--help"],
    "overview": [],
    "sessions": ["sessions"],
    "status": ["status", BUNDLED],
    "search": ["search", "retry-after", "--limit", "2"],
    "pins": ["pins"],
    "resume": ["resume", BUNDLED],
    "log-list": ["log", "list"],
    "report": ["report", "--days", "3650"],
    "advise": ["advise", BUNDLED],
    "trim": ["trim", BUNDLED, "--threshold", "6000", "--dry-run"],
    "lineage": ["lineage", BUNDLED],
    "config": ["config", "thresholds.caution"],
    "install": ["install", "claude"],
}
# Readable on light and dark pages: the picture brings its own background.
THEME = TerminalTheme(
    (24, 26, 31),
    (216, 220, 228),
    [
        (40, 44, 52),
        (224, 108, 117),
        (126, 200, 120),
        (229, 192, 96),
        (97, 175, 239),
        (198, 120, 221),
        (86, 182, 194),
        (216, 220, 228),
    ],
    [
        (120, 126, 138),
        (240, 128, 137),
        (146, 220, 140),
        (245, 212, 120),
        (130, 195, 255),
        (218, 150, 240),
        (110, 205, 215),
        (255, 255, 255),
    ],
)
SVG = """<svg class="rich-terminal" viewBox="0 0 {width} {height}" xmlns="http://www.w3.org/2000/svg">
<style>
.{unique_id}-matrix {{ font-family: ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace; font-size: {char_height}px; line-height: {line_height}px; }}
.{unique_id}-title {{ font-size: 18px; font-weight: bold; font-family: sans-serif; }}
{styles}
</style>
<defs><clipPath id="{unique_id}-clip-terminal"><rect x="0" y="0" width="{terminal_width}" height="{terminal_height}" /></clipPath>
{lines}</defs>
{chrome}
<g transform="translate({terminal_x}, {terminal_y})" clip-path="url(#{unique_id}-clip-terminal)">
{backgrounds}
<g class="{unique_id}-matrix" xml:space="preserve">
{matrix}
</g></g></svg>
"""


def main() -> int:
    """Draw all pictures, or check them."""
    check = "--check" in sys.argv[1:]
    stale = []
    FOLDER.mkdir(exist_ok=True)
    for columns in WIDTHS:
        with tempfile.TemporaryDirectory() as scratch:
            for name, picture in pictures(Path(scratch).resolve(), columns):
                file = FOLDER / f"{name}-{columns}.svg"
                if file.exists() and file.read_text(encoding="utf-8") == picture:
                    continue
                stale.append(file.name)
                if not check:
                    file.write_text(picture, encoding="utf-8")
    if check and stale:
        print(f"Pictures out of date: {', '.join(stale)}. Run: make docs")
        return 1
    print("\n".join(f"wrote docs/pictures/{name}" for name in stale) or "pictures: in order")
    return 0


def pictures(scratch: Path, columns: int) -> list[tuple[str, str]]:
    """Return the name and the SVG of every screen at a width."""
    home = make_home(scratch)
    run(home, ["search", "--rebuild"], columns)  # otherwise the first search would show its progress
    run(home, ["pin", "Never touch migrations/"], columns)
    found = [
        (name, draw(name, ["leftoff", *typed], run(home, typed, columns), columns))
        for name, typed in SCREENS.items()
    ]
    return [
        *found,
        ("status-line", draw("status-line", ["the status line in the agent"], status_line(home), columns)),
    ]


def make_home(scratch: Path) -> Path:
    """Make a home with the bundled session and a few invented ones."""
    home = scratch / "home"
    project = home / "code" / "orders-api"
    project.mkdir(parents=True)
    subprocess.run(["git", "init", "-q", "-b", "main", str(project)], check=True, env=environment(home, 80))
    # The model of the bundled session is invented, too: without this, its window would be taken for one of a million tokens.
    settings = home / ".config" / "leftoff" / "configuration.yaml"
    settings.parent.mkdir(parents=True)
    settings.write_text("context_management:\n  windows:\n    sample-1: 200000\n", encoding="utf-8")
    sessions = home / ".claude" / "projects" / "-orders-api"
    sessions.mkdir(parents=True)
    bundled = bundled_transcript(sessions)
    recorded = bundled.read_text(encoding="utf-8")
    (cwd,) = {json.loads(line)["cwd"] for line in recorded.splitlines() if '"cwd"' in line}
    moved = recorded.replace(json.dumps(cwd), json.dumps(str(project)))
    bundled.write_text(end_at(moved, age(bundled, hours=2)), encoding="utf-8")
    age(bundled, hours=2)
    for number, (agent, where, prompt, used, hours) in enumerate(INVENTED):
        session = f"{number + 1}c0ffee{number}-0000-4000-8000-00000000000{number}"
        story = Story(session_id=session, project=str(home / "code" / where), model=agent_model(agent))
        story.asked(prompt).replied("I look around.", call("Bash", {"command": "ls"}, "README.md\nsrc\n"))
        story.replied("Done.", used=used)
        path = sessions / f"{session}.jsonl"
        if agent == "codex":
            path = (
                home
                / ".codex"
                / "sessions"
                / "2026"
                / "01"
                / "06"
                / f"rollout-2026-01-06T12-00-00-{session}.jsonl"
            )
            path.parent.mkdir(parents=True, exist_ok=True)
        adapter = (claude if agent == "claude" else codex).here()
        write_transcript(adapter, story.script(), path)
        age(path, hours=hours)
    return home


INVENTED = [
    ("codex", "billing", "Move the invoices to the new ledger, and keep every audit row", 171_000, 5),
    ("claude", "web-shop", "The checkout button jumps when the fonts arrive late", 118_000, 27),
    ("claude", "web-shop", "Why is the nightly build red since Tuesday?", 31_000, 50),
    ("codex", "infra", "Write a runbook for restoring the database from a snapshot", 12_000, 80),
]


def agent_model(agent: str) -> str:
    """Return a model whose window leftoff knows."""
    return "claude-sonnet-4-5" if agent == "claude" else "gpt-5-codex"


def age(path: Path, *, hours: int) -> datetime:
    """Let a file look that old, and half an hour more, so that its age does not change while this runs. Return its time."""
    at = time.time() - hours * 3600 - 1800
    os.utime(path, (at, at))
    return datetime.fromtimestamp(at, UTC)


def end_at(recorded: str, end: datetime) -> str:
    """Return a transcript with its times moved, so that the last is ``end`` and no age in a picture grows from day to day."""
    times = re.compile(r'(?<="timestamp":")[^"]+')
    later = end - max(map(datetime.fromisoformat, times.findall(recorded)))
    return times.sub(
        lambda found: (datetime.fromisoformat(found[0]) + later).isoformat(timespec="milliseconds"), recorded
    )


def environment(home: Path, columns: int) -> dict[str, str]:
    """Return the environment of a run: nothing of the developer's own."""
    return {
        "HOME": str(home),
        "PATH": "/usr/bin:/bin",
        "LANG": "C.UTF-8",
        "TERM": "xterm-256color",
        "COLUMNS": str(columns),
        "GIT_CONFIG_NOSYSTEM": "1",
        "PYTHONPATH": str(ROOT / "src"),
    }


def run(home: Path, typed: list[str], columns: int) -> str:
    """Run a command on a terminal and return what it shows, with its escape sequences."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
    child = subprocess.Popen(
        [sys.executable, "-m", "leftoff", *typed],
        stdin=subprocess.DEVNULL,
        stdout=theirs,
        stderr=subprocess.DEVNULL,
        cwd=home / "code" / "orders-api",
        env=environment(home, columns),
    )
    os.close(theirs)
    shown = b""
    try:
        while piece := os.read(ours, 65536):
            shown += piece
    except OSError:  # how the end of a terminal is reported on Linux
        pass
    child.wait(timeout=60)
    os.close(ours)
    return shown.decode().replace("\r\n", "\n")


def status_line(home: Path) -> str:
    """Return the line that an agent shows below its prompt."""
    transcript = next(home.glob(f".claude/projects/*/{BUNDLED}*.jsonl"))
    payload = {
        "session_id": transcript.stem,
        "transcript_path": str(transcript),
        "workspace": {"current_dir": str(home / "code" / "orders-api")},
        "context_window": {"context_window_size": 200_000},
    }
    ended = subprocess.run(
        [sys.executable, "-m", "leftoff", "statusline"],
        input=json.dumps(payload),
        capture_output=True,
        text=True,
        check=True,
        cwd=home,
        env=environment(home, 80),
    )
    return ended.stdout


def draw(name: str, typed: list[str], shown: str, columns: int) -> str:
    """Return a screen as SVG."""
    console = Console(
        record=True,
        width=columns,
        file=io.StringIO(),
        force_terminal=True,
        color_system="truecolor",
        legacy_windows=False,
    )
    text = Text.from_ansi(shown.rstrip("\n"))
    for line in text.split():
        if line.cell_len > columns:
            sys.exit(
                f"pictures: {name} has a line of {line.cell_len} columns on a terminal of {columns}: {line.plain}"
            )
    console.print(text, soft_wrap=True)
    svg = console.export_svg(title=" ".join(typed), theme=THEME, code_format=SVG, unique_id=f"leftoff-{name}")
    return "\n".join(line.rstrip() for line in svg.splitlines()) + "\n"


if __name__ == "__main__":
    sys.exit(main())
