"""How many questions about a session a document answers, by key phrases; and how much of the document is bare lists.

A folder of questions has a folder ``NN`` for each session, cut at one of its compactions: ``source.json`` names the transcript (from
the folder above the questions), the record of the summary and the agent, ``questions.json`` has questions with their kind, weight and
keys. Keys are groups of alternative phrases; a document answers a question when every group has a phrase in it. Keys are a proxy, easily
met by accident: the truth is a reader who has only the document.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.bare_lists import bare_list_chars
from leftoff.agents.registry import agent_of
from leftoff.config.settings import MAX_HOOK_CHARS
from leftoff.errors import NotFoundError
from leftoff.platform import paths
from leftoff.resume_logs.save import log_text
from leftoff.workspace import SessionRef, Workspace

SUMMARY, FRESH, AFTER, BOTH, WHOLE = "summary", "fresh", "after compaction", "summary + after", "whole log"
BARE_LISTS_GOAL = 0.08
_BOUNDARY_RECORDS = 6  # between the boundary of a compaction and its summary
TRANSCRIPT_NAMES = {
    "claude": "00000000-0000-4000-8000-{:012d}.jsonl",
    "codex": "rollout-2026-01-02T03-04-05-00000000-0000-7000-8000-{:012d}.jsonl",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Answers:
    """What one document of one session answers. ``by_kind`` has the answered and all questions of each kind."""

    session: str
    agent: str
    document: str
    text: str
    weight_answered: int  # questions count by their weight, but not by kind
    weight: int
    by_kind: Mapping[str, tuple[int, int]]
    bare_chars: int


def answered_share(some: Iterable[Answers]) -> float:
    """Return the share of the questions that documents answer, by weight."""
    some = [*some]
    return sum(each.weight_answered for each in some) / sum(each.weight for each in some)


def answered_share_of_kind(some: Iterable[Answers], kind: str) -> float:
    """Return the share of the questions of a kind that documents answer."""
    counts = [each.by_kind[kind] for each in some if kind in each.by_kind]
    return sum(answered for answered, _ in counts) / sum(questions for _, questions in counts)


def bare_share(some: Iterable[Answers]) -> float:
    """Return the share of the characters that are bare lists."""
    some = [*some]
    return sum(each.bare_chars for each in some) / sum(len(each.text) for each in some)


def measure(questions: Path | None, numbers: Iterable[int] = ()) -> Iterator[Answers]:
    """Yield every document of every session, or of those with these numbers."""
    root = questions_folder(questions)
    wanted = {f"{number:02d}" for number in numbers}
    sessions = sorted(path.parent for path in root.glob("*/questions.json") if path.parent.name.isdigit())
    for missing in sorted(wanted - {folder.name for folder in sessions}):
        raise NotFoundError(f"{root} has no session {missing}: there is no {missing}/questions.json.")
    for folder in sessions:
        if not wanted or folder.name in wanted:
            yield from _measure_session(folder)


def questions_folder(given: Path | None) -> Path:
    """Return the folder of questions, as given or as the environment names it."""
    named = str(given or paths.environment().get("LEFTOFF_QUIZ", ""))
    if not named:
        raise NotFoundError(
            "No questions: they are not part of the repository. Name their folder: python -m bench quiz --questions DIR, or LEFTOFF_QUIZ=DIR"
        )
    if not any(Path(named).glob("*/questions.json")):
        raise NotFoundError(
            f"{named} has no questions: expected a folder for each session, as 01/questions.json."
        )
    return Path(named)


def _measure_session(folder: Path) -> Iterator[Answers]:
    source = json.loads((folder / "source.json").read_text("utf-8"))
    questions = json.loads((folder / "questions.json").read_text("utf-8"))
    transcript = (folder.parent.parent / source["transcript"]).resolve()
    if not transcript.is_file():
        raise NotFoundError(f"{transcript} is missing: {folder / 'source.json'} names it.")
    agent = source.get("agent", "claude")
    summary, lines = cut_at_summary(transcript, source["record"], agent)
    for name, text in _documents(lines, summary, agent, int(folder.name)).items():
        flat = " ".join(text.split()).lower()
        told = [(each, is_answered(flat, each["keys"])) for each in questions]
        kinds = {
            each["kind"]: [hit for other, hit in told if other["kind"] == each["kind"]] for each in questions
        }
        yield Answers(
            session=folder.name,
            agent=agent,
            document=name,
            text=text,
            weight_answered=sum(each["weight"] for each, hit in told if hit),
            weight=sum(each["weight"] for each in questions),
            by_kind={kind: (sum(hits), len(hits)) for kind, hits in kinds.items()},
            bare_chars=bare_list_chars(text),
        )


def is_answered(flat: str, keys: Sequence[Sequence[str]]) -> bool:
    """Return whether a text, in lower case and with single blanks, has a phrase of every group."""
    return all(any(phrase.lower() in flat for phrase in group) for group in keys)


def cut_at_summary(transcript: Path, number: int, agent: str) -> tuple[str | None, list[str]]:
    """Return the summary, None where it cannot be read, and the lines of the transcript before the compaction."""
    if agent != "claude":
        return None, transcript.read_text("utf-8", errors="replace").split("\n")[:number]
    records = [*_records(transcript)]
    content = records[number].get("message", {}).get("content") or []
    blocks = [{"text": content}] if isinstance(content, str) else content
    start = next(
        (
            at
            for at in range(number, max(0, number - _BOUNDARY_RECORDS), -1)
            if records[at].get("subtype") == "compact_boundary"
        ),
        number,
    )
    lines = [json.dumps(record, ensure_ascii=False, separators=(",", ":")) for record in records[:start]]
    return "\n".join(block.get("text", "") for block in blocks), lines


def _records(transcript: Path) -> Iterator[dict[str, Any]]:
    """Yield the records of the main conversation, also where two are glued together on one line."""
    decode = json.JSONDecoder().raw_decode
    for line in transcript.read_bytes().split(b"\n"):
        text = line.decode("utf-8", "replace").strip("\x00 \r\t")
        while text:
            try:
                value, end = decode(text)
            except ValueError:
                break
            if isinstance(value, dict) and not value.get("isSidechain"):
                yield value
            text = text[end:].lstrip(" \t")


def _documents(lines: Sequence[str], summary: str | None, agent: str, number: int) -> Mapping[str, str]:
    with tempfile.TemporaryDirectory() as name:
        project = Path(name) / "project"
        project.mkdir()
        transcript = Path(name) / TRANSCRIPT_NAMES[agent].format(number)
        transcript.write_text("\n".join(lines) + "\n", "utf-8")
        ref, workspace = (
            SessionRef(agent=agent_of(transcript), transcript=transcript),
            Workspace.open(project),
        )
        fresh = log_text(ref, workspace, profile="fresh", max_chars=MAX_HOOK_CHARS)
        after = log_text(
            ref, workspace, profile="after_compaction", max_chars=MAX_HOOK_CHARS, summary=summary
        )
        whole = log_text(ref, workspace)
    if summary is None:
        return {FRESH: fresh, AFTER: after, WHOLE: whole}
    return {SUMMARY: summary, FRESH: fresh, BOTH: f"{summary}\n{after}", WHOLE: whole}
