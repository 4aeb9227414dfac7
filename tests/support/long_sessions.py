"""Long sessions of either agent with much to trim, written where the agent would."""

import shutil
from pathlib import Path
from typing import Any

from leftoff.agents.registry import agent_of
from leftoff.sessions.find import open_session
from leftoff.shrink.derive import DerivedSession
from leftoff.shrink.trim import TrimOptions, prepare_trim, write_trim
from leftoff.testing.builders import Story, call
from leftoff.workspace import Workspace

FIRST = "0b54f7aa-6d0c-4c7b-9d57-3f6c9d9a3b11"
CODEX_FIRST = "01a1e0be-dee8-7b23-ae31-94e0123734a3"
RULE = "Never push to main."
LONG = "".join(f"line {number}: the ledger keeps its amounts in cents\n" for number in range(300))


def long_story(session_id: str = FIRST, turns: int = 6, words: str = "") -> Story:
    """Build a session in which every turn reads and writes different long files. ``words`` make the replies longer."""
    story = Story(session_id=session_id, project=str(Path.cwd()), model="claude-sonnet-4-5")
    for turn in range(turns):
        prompt = f"Step {turn} of src/ledger.py. {RULE}" if turn == 0 else f"Step {turn} of src/ledger.py"
        story.asked(prompt).replied(
            f"Looking, step {turn}. {words}".strip(),
            call("write", {"path": f"src/{turn}.py", "content": f"# {turn}\n{LONG}"}, "written"),
            call("shell", {"command": f"cat notes-{turn}.txt"}, f"turn {turn}\n{LONG}"),
            used=60_000 + turn * 10_000,
        ).replied(f"Seen, step {turn}.", used=62_000 + turn * 10_000)
    return story


def write_long_session(home, agent_id: str, turns: int = 6, words: str = "") -> Path:
    """Write a long session and return its file."""
    if agent_id == "claude":
        return home.claude(long_story(FIRST, turns, words))
    return home.codex(long_story(CODEX_FIRST, turns, words))


def copy_into_agent_home(home, path: Path) -> Path:
    """Copy the transcript to where its agent would keep it."""
    agent = agent_of(path)
    name = f"{agent.open(path).session_id}.jsonl"
    if agent.id == "claude":
        target = home.home / ".claude" / "projects" / path.stem / name
    else:
        target = (
            home.home / ".codex" / "sessions" / "2026" / "01" / "06" / f"rollout-2026-01-06T12-00-00-{name}"
        )
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(path, target)
    return target


def write_session_with_short_id(home) -> Path:
    """Write a session whose id is shorter than a copy's, on so many lines that no cut can make a copy smaller."""
    story = Story(session_id="s1", project=str(Path.cwd()), model="claude-sonnet-4-5")
    for turn in range(14):
        answer = f"turn {turn}\n{LONG[:3000]}"
        story.asked(f"Step {turn}").replied("On it.", call("shell", {"command": f"make {turn}"}, answer))
    path = home.claude(story)
    lines = path.read_bytes().splitlines(keepends=True)
    lines[3:3] = [b'{"type":"mode","mode":"normal","sessionId":"s1"}\n'] * 5_000
    path.write_bytes(b"".join(lines))
    return path


def trimmed(source: Path, **options: Any) -> DerivedSession:
    """Write a trimmed copy of a session."""
    return write_trim(prepare_trim(str(source), Workspace.open(), TrimOptions(**options)))


def results(transcript: Path) -> list[str]:
    """Return the results of all tool calls."""
    return [call.result.text for call in open_session(str(transcript)).tool_calls() if call.result]


def inputs(transcript: Path) -> list[object]:
    """Return the inputs of all tool calls."""
    return [call.input for call in open_session(str(transcript)).tool_calls()]
