"""What the summary of a compaction lost and the next 30 calls need: how much of it do two calls of the recall tools find?

For each such file or command the agent is taken to know what it is about to do: what was said last before the call, and the words of
what it looks for. Of these it may use only words that occur in the user's prompts since, the last one before, or the summary; without any, it
searches with the last prompt. The second call searches with the same words among the commands, or among the calls where it looks for a file. The
real server answers, in a home of its own with the session as it was at the compaction, beside other sessions.
"""

from __future__ import annotations

import re
import shutil
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import anyio
from mcp import ClientSession, StdioServerParameters, stdio_client
from mcp.types import TextContent

from bench.measuring import scratch_environment
from bench.mentions import Files, Kind, Mention, contains, mentions
from bench.retention import flatten, needed_after, next_calls
from leftoff.agents.registry import agent_of
from leftoff.core.protocols import Agent
from leftoff.core.records import Record, RecordKind
from leftoff.diagnose.report import Cut, compaction_starts, cut_session
from leftoff.errors import NothingToDoError

GOAL = 0.80
_MAX_WORDS = 12
_PROJECT = "project"  # its folder in the home
_KINDS: Mapping[Kind, str] = {"files": "call", "commands": "command"}
_WORD = re.compile(r"[^\W_]{3,}")
_COMMON = frozenset(
    {
        "the",
        "and",
        "for",
        "with",
        "that",
        "this",
        "from",
        "have",
        "has",
        "was",
        "are",
        "not",
        "now",
        "let",
        "you",
        "your",
        "can",
        "will",
        "need",
        "into",
        "its",
        "all",
        "but",
        "see",
        "them",
        "then",
        "there",
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Lost:
    """A file or command that the summary lost, the query for it, and after how many calls it was found; None: not."""

    source: Path
    line: int  # 1-based, of the compaction
    mention: Mention
    query: str
    calls: int | None


def measure(transcripts: Sequence[Path], others: Sequence[Path]) -> Iterator[Lost]:
    """Yield the result for everything that the readable summaries lost; ``others`` are searched beside each session."""
    found = 0
    with tempfile.TemporaryDirectory(prefix="leftoff-bench-") as name:
        folder = Path(name)
        for number, transcript in enumerate(transcripts):
            for cut, before, after in cut_session(transcript, folder / str(number), compaction_starts):
                lost = [*_lost(cut, before, after)] if cut.summary else []
                if not lost:
                    continue
                found += 1
                home = _home(folder / f"home{number}", cut, [each for each in others if each != transcript])
                yield from anyio.run(_ask, home, cut, lost)
                shutil.rmtree(home)
    if not found:
        raise NothingToDoError("No compaction in these transcripts lost anything that was needed.")


def share(measured: Iterable[Lost]) -> tuple[int, int, int]:
    """Return how many were found with one call and with two, of how many."""
    calls = [each.calls for each in measured]
    return calls.count(1), sum(each is not None for each in calls), len(calls)


def _lost(
    cut: Cut, before: Sequence[Record], after: Sequence[Record]
) -> Iterator[tuple[Mention, str, Files]]:
    """Yield what the summary lost, with the query for it."""
    agent, calls = agent_of(cut.transcript), [*next_calls(after)]
    files, needed = needed_after(cut, before, [call for call, _ in calls])
    summary = flatten(cut.summary or "")
    first = _first_call(after)
    prompt = (
        _last_prompt(agent, after if first is None else after[:first]) or _last_prompt(agent, before) or ""
    )
    known = {*_words(f"{prompt} {summary}")}
    for mention in needed:
        if contains(summary, mention, files):
            continue
        said = next((said for call, said in calls if mention in mentions(call, cut.project)), "")
        usable = [word for word in _words(f"{mention.text} {said}") if word in known]
        yield mention, " ".join((usable or _words(prompt))[:_MAX_WORDS]), files


def _first_call(records: Sequence[Record]) -> int | None:
    replies = (at for at, each in enumerate(records) if each.kind is RecordKind.REPLY and each.actor is None)
    return next(replies, None)


def _last_prompt(agent: Agent, records: Sequence[Record]) -> str | None:
    prompts = (each for each in reversed(records) if each.kind is RecordKind.PROMPT and each.actor is None)
    return next((agent.typed(each) for each in prompts), None)


def _words(text: str) -> list[str]:
    words = (each.casefold() for each in _WORD.findall(re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", text)))
    return [*dict.fromkeys(each for each in words if each not in _COMMON)]


def _home(home: Path, cut: Cut, others: Sequence[Path]) -> Path:
    """Make a home with the session and others, where their agents keep them."""
    (home / _PROJECT).mkdir(parents=True)
    for number, transcript in enumerate([cut.transcript, *others]):
        agent = agent_of(transcript)
        below = ".codex/sessions/2026/01/01" if agent.id == "codex" else f".claude/projects/-{number}"
        (home / below).mkdir(parents=True, exist_ok=True)
        name = transcript.name
        if agent.id == "codex" and not name.startswith("rollout-"):
            name = f"rollout-2026-01-01T00-00-00-{agent.entry(transcript).session_id}.jsonl"
        content = transcript.read_bytes()
        if cut.project and transcript == cut.transcript:  # its project is on another machine
            content = content.replace(cut.project.encode(), str(home / _PROJECT).encode())
        (home / below / name).write_bytes(content)
    return home


async def _ask(home: Path, cut: Cut, lost: Sequence[tuple[Mention, str, Files]]) -> list[Lost]:
    """Let the server find each of them, with at most two calls."""
    environment = scratch_environment(home, "XDG_", "LEFTOFF_", "CLAUDE", "CODEX")
    server = StdioServerParameters(
        command=sys.executable, args=["-P", "-m", "leftoff", "mcp"], env=environment, cwd=str(home / _PROJECT)
    )
    results = []
    async with stdio_client(server) as (read, write), ClientSession(read, write) as session:
        await session.initialize()

        async def call(tool: str, **arguments: object) -> str:
            answer = await session.call_tool(tool, arguments)
            text = "\n".join(each.text for each in answer.content if isinstance(each, TextContent))
            return text.replace(str(home / _PROJECT), cut.project or "")

        for mention, query, files in lost:
            hits = await call("recall", query=query)
            calls: int | None = 1
            if not contains(flatten(hits), mention, files):
                more = await call("recall", query=f"{query} kind:{_KINDS[mention.kind]}")
                calls = 2 if contains(flatten(more), mention, files) else None
            results.append(Lost(source=cut.source, line=cut.line, mention=mention, query=query, calls=calls))
    return results
