"""Draws what every command shows as SVG pictures into docs/pictures, or names those that are out of date (``--check``).

Each picture is a real run on a terminal of that width, in a scratch home with the bundled session and a few invented ones. Ages are
relative, and what differs from run to run (the home folder, ids of new sessions, today's date) is replaced, so equal code gives
equal pictures. The pictures load nothing: no font, no style sheet.
"""

from __future__ import annotations

import fcntl
import html
import io
import json
import os
import pty
import re
import shutil
import struct
import subprocess
import sys
import sysconfig
import tempfile
import termios
import textwrap
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import NamedTuple

import click
from rich.color import blend_rgb
from rich.color_triplet import ColorTriplet
from rich.console import Console
from rich.style import Style
from rich.terminal_theme import TerminalTheme
from rich.text import Text

from leftoff.agents import claude, codex
from leftoff.cli.main import COMMANDS, cli
from leftoff.demo import bundled_transcript
from leftoff.testing.builders import Story, call

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))
from tests.support.transcripts import write_transcript  # noqa: E402 - needs the path

FOLDER = ROOT / "docs" / "pictures"
WIDTHS = (80, 120)
HEIGHT = 60  # lines of a picture at most
BUNDLED = "5b0e6f0a"
SHOWN_HOME = "/home/michael"  # as long as the scratch home, or lines would break elsewhere
STEPS = "# Steps\n\n## Section 1: Groundwork\n\n- [ ] 1. Measure the traffic\n- [ ] 2. Choose the limits\n"


class Screen(NamedTuple):
    """What is typed, and what a person answers; the picture has the name of the command unless another is given."""

    typed: Sequence[str]
    name: str = ""
    answers: str = ""
    is_drawn: bool = True  # else it only prepares what later ones show


def hidden(*typed: str) -> Screen:
    """Return a step that is run without a picture."""
    return Screen(typed, is_drawn=False)


# In this order, because some change what later ones show.
SCREENS = (
    hidden("search", "--rebuild"),  # otherwise the first search would show its progress
    Screen(["--help"], "help-short"),
    Screen(["help", "all"]),
    Screen([], "overview"),
    Screen(["sessions"]),
    Screen(["status", BUNDLED]),
    Screen(["search", "retry-after", "--limit", "2"]),
    Screen(["why", "app/ratelimit/limiter.py"]),
    Screen(["history", "app/ratelimit/limiter.py"]),
    Screen(["show", BUNDLED]),
    Screen(["export", BUNDLED, "--out", "session.md"]),
    Screen(["pin", "Never touch migrations/"]),
    Screen(["pins"]),
    Screen(["resume", BUNDLED]),
    Screen(["log", "save", BUNDLED]),
    Screen(["log", "list"]),
    Screen(["log", "show", BUNDLED]),
    Screen(["log", "edit", BUNDLED]),
    Screen(["log", "verify", BUNDLED]),
    Screen(["log", "stats"]),
    Screen(["log", "cleanup", "--dry-run"]),
    Screen(["report", "--days", "3650"]),
    Screen(["report", "--days", "3650", "--verbose"], "report-verbose"),
    Screen(["advise", BUNDLED]),
    Screen(["trim", BUNDLED, "--threshold", "6000", "--dry-run"], "trim-plan"),
    Screen(["trim", BUNDLED]),
    Screen(["smart-trim", BUNDLED, "--dry-run"], "smart-trim-plan"),
    Screen(["smart-trim", BUNDLED]),
    Screen(["rollover", BUNDLED, "--dry-run"], "rollover-plan"),
    Screen(["untrim", "{trim}"]),
    Screen(["expand", "{key}"]),
    Screen(["rollover", BUNDLED]),
    Screen(["lineage", BUNDLED]),
    Screen(["sessions"], "sessions-copies"),
    Screen(["pause", "start", "--context", "0.9"]),
    Screen(["pause", "record", "tool_call", "--tool", "Edit", "app/ratelimit/middleware.py"]),
    Screen(["pause", "status"]),
    Screen(["pause", "list"]),
    Screen(["pause", "finalize", "--message", "stopped before the load test"]),
    Screen(["pause", "stats"]),
    Screen(["pause", "compress", "--older-than", "0"]),
    hidden("pause", "start", "--context", "0.92"),
    Screen(["pause", "discard"]),
    Screen(["pause", "recover"]),
    Screen(["project", "init", "Rate limits"]),
    Screen(["project", "list"]),
    Screen(["project", "save", "--phase", "execution", "--decision", "Redis: four workers share it"]),
    Screen(["project", "load"]),
    Screen(["project", "complete", "1"]),
    Screen(["project", "close"]),
    Screen(["project", "resume"]),
    Screen(["project", "import"]),
    Screen(["chat", "agent.py"], answers="How many requests may a partner send?\nexit\n"),
    Screen(["archive", "list"]),
    Screen(["archive", "restore", "0b54f7aa"]),
    Screen(["forget", "--text", "northwind", "--dry-run"]),
    Screen(["unpin", "1"]),
    Screen(["trust"]),
    Screen(["config", "thresholds.caution", "0.6"], "config-change"),
    Screen(["config"]),
    Screen(["doctor"]),
    Screen(["install", "claude"]),
    Screen(["uninstall", "claude"]),
    Screen(["run", "--help"]),
    Screen(["web", "--help"]),
    Screen(["hook", "--help"]),
    Screen(["statusline", "--help"]),
    Screen(["in-place", "--help"]),
    Screen(["mcp", "--help"]),
    Screen(["completion", "--help"]),
    Screen(["demo"]),
)
OTHERS = ("status-line", "receipt")  # not what a command shows in the terminal, but what an agent shows
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
CELL, LINE, MARGIN, TITLE = (
    8,
    18,
    12,
    34,
)  # pixels: width of a character, height of a line, around the text, above it
SVG = """<svg xmlns="http://www.w3.org/2000/svg" xml:space="preserve" viewBox="0 0 {width} {height}">
<style>text{{font:13.3px ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace;fill:{foreground}}}{styles}</style>
<rect width="{width}" height="{height}" rx="8" fill="{background}"/>
<text x="{margin}" y="22" class="title">$ {title}</text>
{lines}
</svg>
"""


def main() -> int:
    """Draw all pictures, or check them."""
    check = "--check" in sys.argv[1:]
    missing = sorted(commands() - {name_of(screen) for screen in SCREENS})
    if missing:
        print(f"Commands without a picture: {', '.join(missing)}. Add them to SCREENS in tools/pictures.py.")
        return 1
    with ThreadPoolExecutor() as pool:
        drawn = {
            f"{name}-{columns}.svg": picture
            for columns, found in zip(WIDTHS, pool.map(pictures, WIDTHS), strict=True)
            for name, picture in found
        }
    FOLDER.mkdir(exist_ok=True)
    there = {file.name: file.read_text(encoding="utf-8") for file in FOLDER.glob("*.svg")}
    stale = sorted(name for name in {*drawn, *there} if drawn.get(name) != there.get(name))
    if check and stale:
        print(f"Pictures out of date: {', '.join(stale)}. Run: make docs")
        return 1
    for name in stale:
        if name in drawn:
            (FOLDER / name).write_text(drawn[name], encoding="utf-8")
        else:
            (FOLDER / name).unlink()
    print("\n".join(f"wrote docs/pictures/{name}" for name in stale) or "pictures: in order")
    return 0


def commands() -> set[str]:
    """Return the names of all commands, as their pictures are called."""
    context, names = click.Context(cli), set()
    for name in COMMANDS:
        command = cli.get_command(context, name)
        inner = command.commands if isinstance(command, click.Group) else {}
        names |= {f"{name}-{each}" for each in inner} or {name}
    return names


def name_of(screen: Screen) -> str:
    """Return the name of a picture: that of the command."""
    if screen.name or not screen.typed:
        return screen.name
    first, *more = screen.typed
    is_group = isinstance(cli.get_command(click.Context(cli), first), click.Group)
    return f"{first}-{more[0]}" if is_group else first


def pictures(columns: int) -> list[tuple[str, str]]:
    """Return the name and the SVG of every screen at a width."""
    home = scratch_home()
    try:
        found = [*draw_screens(home, columns)]
    finally:
        shutil.rmtree(home)
    return found


def scratch_home() -> Path:
    """Make a home folder whose path is as long as the one shown in its place, on every machine."""
    while True:
        home = Path(tempfile.mkdtemp(prefix="", dir="/tmp"))
        if home.name.isalnum():
            assert len(str(home)) == len(SHOWN_HOME)
            return home
        home.rmdir()


def draw_screens(home: Path, columns: int) -> Iterator[tuple[str, str]]:
    """Yield the name and the SVG of every screen, in the order in which they are run."""
    make_home(home)
    changing = Changing(home)
    yield "receipt", draw("what you see at a compaction", changing.replace(receipt(home, columns)), columns)
    yield "status-line", draw("the status line in the agent", changing.replace(status_line(home)), columns)
    for screen in SCREENS:
        changing.keep_young()
        typed = [changing.fill_in(word) for word in screen.typed]
        shown = run(home, typed, columns, screen.answers)
        changing.look(name_of(screen))
        if screen.typed[:2] == ["project", "init"]:
            write_steps(home)
        if screen.is_drawn:
            shown_command = " ".join(f'"{word}"' if " " in word else word for word in ["leftoff", *typed])
            text = changing.replace(shown)
            yield name_of(screen), draw(changing.replace(shown_command), text, columns)


def write_steps(home: Path) -> None:
    """Give the project of the pictures something to do."""
    for steps in (home / "code" / "orders-api").glob("02-projects/*/01-planning/steps.md"):
        steps.write_text(STEPS, encoding="utf-8")


# What differs from run to run besides paths, dates and sessions.
CHANGING = {
    r"Python 3\.[\d.]+ on \w+": "Python 3.13.1 on Linux",
    r"\b20\d{6}-\d{6}-": "20260312-174211-",
    r"\b\d{6}-[0-9a-f]{8}\b": "308215-c0ffee11",
    r"(?<=leftoff-record-)[0-9a-f]{8}": "c0ffee11",
    r"(?<=Today at )\d\d:\d\d": "17:42",
    r"\b\d+ min ago": "just now",
    r"\((\d+),(\d)\d\d tokens\)": r"(\1,\g<2>00 tokens)",
    r"(?<=saved: )\d+ bytes": "690 bytes",
    r"(?<=1 log, )[\d,]+ bytes": "151,900 bytes",
    r"(?<=Time: )[\d.]+s": "0.1s",
    r"(?<=orders_api_)\d{8}_\d{6}": "20260312_174211",
}


class Changing:
    """What differs from run to run, and what the pictures show in its place."""

    def __init__(self, home: Path) -> None:
        self._home = home
        self._shown = {str(home): SHOWN_HOME, str(home).replace("/", "-"): SHOWN_HOME.replace("/", "-")}
        self._made: dict[str, str] = {}  # by the command that wrote it: the id of a session
        self._known = set(self._sessions())

    def _sessions(self) -> Iterator[str]:
        return (file.stem for file in self._home.glob(".claude/projects/*/*.jsonl"))

    def look(self, command: str) -> None:
        """Find the session that a command has written, and give it an id of its own for the pictures."""
        for session in sorted({*self._sessions()} - self._known):
            self._known.add(session)
            self._made[command] = session
            start = f"{len(self._made)}e57ab1e"
            self._shown |= {session: f"{start}-7c5e-4d1b-9f64-a02b6c7d8e9f", session[:8]: start}

    def keep_young(self) -> None:
        """Let what was written look as if it were written just now, in the same order, however slow this machine is."""
        now = time.time()
        for number, session in enumerate(reversed(self._made.values())):
            for file in self._home.glob(f".claude/projects/*/{session}.jsonl"):
                os.utime(file, (now - number / 100, now - number / 100))

    def fill_in(self, word: str) -> str:
        """Return a word with the session or the placeholder that it stands for."""
        if word == "{key}":
            copy = next(self._home.glob(f".claude/projects/*/{self._made['trim']}.jsonl"))
            found = re.search(r"leftoff expand ([\w-]+)", copy.read_text(encoding="utf-8"))
            assert found is not None
            return found[1]
        return word.format_map(self._made)

    def replace(self, text: str) -> str:
        """Return text with everything replaced that would differ in the next run."""
        for old, new in self._shown.items():
            text = text.replace(old, new)
        for pattern, instead in CHANGING.items():
            text = re.sub(pattern, instead, text)
        now = datetime.now(UTC)
        for day in (now, now - timedelta(days=1)):
            text = re.sub(
                rf"{day:%Y-%m-%d}([T ])\d\d:\d\d(:\d\d)?(\.\d+)?",
                lambda at: f"2026-03-12{at[1]}17:42{':11' * bool(at[2])}",
                text,
            ).replace(f"{day:%Y-%m-%d}", "2026-03-12")
        return text


def make_home(home: Path) -> None:
    """Make a home with the bundled session, a few invented ones, and an agent to chat with."""
    project = home / "code" / "orders-api"
    project.mkdir(parents=True)
    subprocess.run(["git", "init", "-q", "-b", "main", str(project)], check=True, env=environment(home, 80))
    (project / "agent.py").write_text(
        "def agent(prompt):\n    return 'A hundred writes a minute, a thousand reads.'\n", encoding="utf-8"
    )
    python = home / ".local" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.symlink_to(sys.executable)
    # The model of the bundled session is invented, too: without this, its window would be taken for one of a million tokens.
    settings = home / ".config" / "leftoff" / "configuration.yaml"
    settings.parent.mkdir(parents=True)
    settings.write_text("context_management:\n  windows:\n    sample-1: 200000\n", encoding="utf-8")
    sessions = home / ".claude" / "projects" / str(project).replace("/", "-")
    sessions.mkdir(parents=True)
    bundled = bundled_transcript(sessions)
    recorded = bundled.read_text(encoding="utf-8")
    (cwd,) = {json.loads(line)["cwd"] for line in recorded.splitlines() if '"cwd"' in line}
    moved = recorded.replace(cwd, str(project))
    bundled.write_text(end_at(moved, age(bundled, hours=2)), encoding="utf-8")
    age(bundled, hours=2)
    for number, (agent, where, prompt, used, hours) in enumerate(INVENTED):
        session = f"{number + 1}c0ffee{number}-0000-4000-8000-00000000000{number}"
        story = Story(session_id=session, project=str(home / "code" / where), model=agent_model(agent))
        story.asked(prompt).replied("I look around.", call("Bash", {"command": "ls"}, "README.md\nsrc\n"))
        story.replied("Done.", used=used)
        path = sessions / f"{session}.jsonl"
        if agent == "codex":
            day = home / ".codex" / "sessions" / "2026" / "01" / "06"
            day.mkdir(parents=True, exist_ok=True)
            path = day / f"rollout-2026-01-06T12-00-00-{session}.jsonl"
        adapter = (claude if agent == "claude" else codex).here()
        write_transcript(adapter, story.script(), path)
        age(path, hours=hours)


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
        "TZ": "UTC",
        "PAGER": "cat",
        "EDITOR": "sed -i s/README/readme/",
        "GIT_CONFIG_NOSYSTEM": "1",
        "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), sysconfig.get_path("purelib")]),
    }


def run(home: Path, typed: Sequence[str], columns: int, answers: str = "") -> str:
    """Run a command on a terminal and return what it shows, with its escape sequences; then what went wrong."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
    child = subprocess.Popen(
        [str(home / ".local" / "bin" / "python"), "-m", "leftoff", *typed],
        stdin=subprocess.PIPE,
        stdout=theirs,
        stderr=theirs,
        cwd=home / "code" / "orders-api",
        env=environment(home, columns) | ({"LEFTOFF_CHAT_SUMMARISER": "rules"} if "chat" in typed else {}),
    )
    os.close(theirs)
    assert child.stdin is not None
    child.stdin.write(answers.encode())
    child.stdin.close()
    shown = b""
    try:
        while piece := os.read(ours, 65536):
            shown += piece
    except OSError:  # how the end of a terminal is reported on Linux
        pass
    child.wait(timeout=60)
    os.close(ours)
    if b"Traceback" in shown or b"This is a bug" in shown:
        sys.exit(f"pictures: leftoff {' '.join(typed)}: {shown.decode()}")
    return screen_after(shown.decode().replace("\r\n", "\n"))


def screen_after(shown: str) -> str:
    """Return what is left on a terminal: progress that was drawn over or cleared is gone. Colours stay in the text."""
    lines, row = [""], 0
    for piece in re.split(r"(\n|\r|\x1b\[\??[\d;]*[A-Za-ln-z])", shown):
        if piece == "\n":
            row += 1
            lines += [""] * (row == len(lines))
        elif piece in {"\r", "\x1b[2K", "\x1b[K"}:
            lines[row] = ""  # progress begins its line again
        elif piece.startswith("\x1b[") and piece.endswith("A"):
            row = max(0, row - int(piece[2:-1] or 1))
        elif not re.fullmatch(r"\x1b\[\??[\d;]*[A-Za-ln-z]", piece):
            lines[row] += piece
    return "\n".join(lines)


def call_leftoff(home: Path, arguments: Sequence[str], event: Mapping[str, object]) -> str:
    """Call leftoff as an agent does, with an event on standard input, and return its answer."""
    transcript = find_bundled(home)
    payload = {
        "session_id": transcript.stem,
        "transcript_path": str(transcript),
        "cwd": str(home / "code" / "orders-api"),
        **event,
    }
    ended = subprocess.run(
        [str(home / ".local" / "bin" / "python"), "-m", "leftoff", *arguments],
        input=json.dumps(payload),
        capture_output=True,
        text=True,
        check=True,
        cwd=home / "code" / "orders-api",
        env=environment(home, 80),
    )
    return ended.stdout


def find_bundled(home: Path) -> Path:
    """Return the transcript of the bundled session."""
    return next(home.glob(f".claude/projects/*/{BUNDLED}*.jsonl"))


def status_line(home: Path) -> str:
    """Return the line that an agent shows below its prompt."""
    event = {
        "workspace": {"current_dir": str(home / "code" / "orders-api")},
        "context_window": {"context_window_size": 200_000},
    }
    return call_leftoff(home, ["statusline"], event)


def receipt(home: Path, columns: int) -> str:
    """Return what an agent shows around a compaction, by playing that of the bundled session with the real hooks."""
    transcript = find_bundled(home)
    whole, times = transcript.read_text(encoding="utf-8"), transcript.stat()
    lines = whole.splitlines(keepends=True)
    summary = next(number for number, line in enumerate(lines) if '"isCompactSummary":true' in line)
    transcript.write_text("".join(lines[: summary - 1]), encoding="utf-8")
    before = status_line(home)
    call_leftoff(home, ["hook", "claude"], {"hook_event_name": "PreCompact", "trigger": "auto"})
    started = call_leftoff(home, ["hook", "claude"], {"hook_event_name": "SessionStart", "source": "compact"})
    transcript.write_text(
        "".join(lines[: summary + 1]), encoding="utf-8"
    )  # the client writes it after that event
    answered = call_leftoff(
        home,
        ["hook", "claude"],
        {"hook_event_name": "UserPromptSubmit", "prompt": "Next, limits per partner."},
    )
    after = status_line(home)
    given = json.loads(started)["hookSpecificOutput"]["additionalContext"]
    rules = [line for line in given.splitlines() if line.startswith("- “Never")][:3]
    transcript.write_text(whole, encoding="utf-8")
    os.utime(transcript, (times.st_atime, times.st_mtime))
    for folder in (
        home / ".local" / "state",
        home / ".local" / "share",
        home / "code" / "orders-api" / ".leftoff",
    ):
        shutil.rmtree(folder, ignore_errors=True)  # the next screens know nothing of this
    message = Text(json.loads(answered)["systemMessage"]).wrap(Console(width=columns), columns)
    return "\n".join(
        [
            f"\x1b[2mthe status line, before:\x1b[0m  {before.strip()}",
            f"\x1b[2mafter the compaction:\x1b[0m     {after.strip()}",
            "",
            *(f"\x1b[1m{line.plain.rstrip()}\x1b[0m" for line in message),
            "",
            "\x1b[2mWhat the agent got back begins with the rules, word for word:\x1b[0m",
            *(line for rule in rules for line in textwrap.wrap(rule, columns - 1, subsequent_indent="  ")),
        ]
    )


def draw(title: str, shown: str, columns: int) -> str:
    """Return a screen as SVG: one element for each run of equally styled characters, at the column where it begins."""
    console = Console(width=columns, file=io.StringIO(), force_terminal=True, color_system="truecolor")
    screen = [
        part
        for line in Text.from_ansi(shown.rstrip("\n")).split("\n", allow_blank=True)
        for part in (line.divide(range(columns, len(line), columns)) if line.cell_len > columns else [line])
    ]
    if len(screen) > HEIGHT:
        more = len(screen) - HEIGHT + 1
        screen = [*screen[: HEIGHT - 1], Text(f"… {more} more lines", style="dim")]
    classes: dict[str, str] = {".title{opacity:.6}": "title"}
    lines = []
    for number, line in enumerate(screen):
        column = 0
        for segment in line.render(console):
            text = segment.text.rstrip("\n")
            width = Text(text).cell_len
            if text.strip():
                lead = len(text) - len(text.lstrip(" "))
                css = css_of(segment.style)
                name = classes.setdefault(css, f"s{len(classes)}") if css else ""
                lines.append(
                    f'<text x="{MARGIN + (column + lead) * CELL}" y="{TITLE + number * LINE + 14}"'
                    f' textLength="{(width - lead - (len(text) - len(text.rstrip(" ")))) * CELL}"'
                    + (f' class="{name}"' if name else "")
                    + f">{html.escape(text.strip(' '), quote=False)}</text>"
                )
            column += width
    return SVG.format(
        width=columns * CELL + 2 * MARGIN,
        height=TITLE + len(screen) * LINE + MARGIN,
        margin=MARGIN,
        background=THEME.background_color.hex,
        foreground=THEME.foreground_color.hex,
        styles="".join(css if css.startswith(".") else f".{name}{{{css}}}" for css, name in classes.items()),
        title=html.escape(title, quote=False),
        lines="\n".join(lines),
    )


def css_of(style: Style | None) -> str:
    """Return the CSS of a style; empty for plain text."""
    if style is None:
        return ""
    colour = style.color.get_truecolor(THEME) if style.color and not style.color.is_default else None
    if style.dim:
        colour = blend_rgb(colour or THEME.foreground_color, ColorTriplet(*THEME.background_color), 0.4)
    parts = [
        f"fill:{colour.hex}" if colour else "",
        "font-weight:bold" if style.bold else "",
        "font-style:italic" if style.italic else "",
    ]
    return ";".join(filter(None, parts))


if __name__ == "__main__":
    sys.exit(main())
