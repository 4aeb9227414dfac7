"""How often a search finds the session with the answer to a question: first, and among the first five.

A file is LoCoMo's (conversations in sessions, and questions with the sessions that answer them; each conversation is a library of
its own), or a list of ``question`` and ``sessions``, the names of transcripts below a folder without the ending, or ours, with
``queries`` of ``query`` and ``answers``, the names of sessions. Those are ``sessions`` in the file, each a list of messages, or the
transcripts below a folder, by their paths without the ending. Sessions in the file are also searched by
plain FTS5, for comparison: by the best message, and by three messages together plus the session as a whole.

Each library is built in its own process with a scratch HOME: ``python -m bench.recall FILE NUMBER TRANSCRIPTS``.
"""

from __future__ import annotations

import json
import re
import sqlite3
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from bench.measuring import run_child, scratch_environment
from leftoff.agents.registry import agent_of, load_agents
from leftoff.core.records import Usage
from leftoff.errors import NotFoundError, UsageError
from leftoff.platform import clock, paths
from leftoff.search.search import SearchRequest, search
from leftoff.search.update_index import update_library
from leftoff.search.words import COMMON_WORDS
from leftoff.testing.script import Asked, Replied, Script
from leftoff.workspace import Workspace
from tests.support.transcripts import write_transcript

_BEGINNING = datetime(2026, 1, 6, 12, tzinfo=UTC)
_USAGE = Usage(input_tokens=1000, cache_creation_tokens=0, cache_read_tokens=0, output_tokens=10)
_SHOWN = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Collection:
    """Sessions, or transcripts of sessions, by name, and questions with the names of the sessions that answer them."""

    name: str
    questions: Sequence[tuple[str, frozenset[str]]]
    sessions: Mapping[str, Sequence[str]] = field(default_factory=dict)
    transcripts: Mapping[str, Path] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What one way of searching found: the place of the first right session for each question, None if it is not among five."""

    how: str
    places: tuple[int | None, ...]
    nothing: int  # questions without any result

    def share(self, among: int) -> float:
        """Return how often a right session was among the first so many."""
        return sum(place is not None and place <= among for place in self.places) / max(1, len(self.places))


def measure(file: Path, transcripts: Path | None, numbers: Sequence[int]) -> Iterator[Found]:
    """Measure the collections of these numbers, counted from 1, or all of them."""
    collections = read_collections(file, transcripts)
    chosen = [each for each in range(len(collections)) if not numbers or each + 1 in numbers]
    found = [_measure_in_child(file, number, transcripts) for number in chosen]
    yield _join("leftoff search", found)
    if all(collections[number].sessions for number in chosen):
        for how, around, of_session in (
            ("FTS5, best message", 0, False),
            ("FTS5, ±1 message and session", 1, True),
        ):
            yield _join(
                how,
                [_search_plainly(collections[number], around, of_session=of_session) for number in chosen],
            )


def read_collections(file: Path, transcripts: Path | None) -> list[Collection]:
    """Read a file of questions."""
    if not file.is_file():
        raise NotFoundError(
            f"{file}: there is no such file. LoCoMo's is data/locomo10.json of its repository."
        )
    content = json.loads(file.read_text("utf-8"))
    if isinstance(content, list) and "question" in content[0]:
        content = {
            "queries": [{"query": each["question"], "answers": each["sessions"]} for each in content],
        }
    if isinstance(content, list):
        return [_locomo(number, each) for number, each in enumerate(content, 1)]
    if transcripts is None and "sessions" not in content:
        raise UsageError(
            f"{file}: has no sessions of its own. Name the folder of transcripts: --transcripts FOLDER"
        )
    below = (
        {}
        if transcripts is None
        else {
            str(path.relative_to(transcripts).with_suffix("")): path
            for path in sorted(transcripts.rglob("*.jsonl"))
        }
    )
    by_file_name = {name.rpartition("/")[2]: name for name in below}
    questions = [
        (each["query"], frozenset(by_file_name.get(name, name) for name in each["answers"]))
        for each in content["queries"]
    ]
    return [
        Collection(
            name=file.stem, questions=questions, sessions=content.get("sessions", {}), transcripts=below
        )
    ]


def _locomo(number: int, content: Mapping[str, Any]) -> Collection:
    """Return one conversation of LoCoMo."""
    sessions = {
        name: [_message(each) for each in messages]
        for name, messages in content["conversation"].items()
        if re.fullmatch(r"session_\d+", name)
    }
    questions = []
    for each in content["qa"]:
        answers = frozenset(
            f"session_{n}" for said in each.get("evidence", ()) for n in re.findall(r"D(\d+):\d+", said)
        )
        if answers:
            questions.append((each["question"], answers))
    return Collection(name=f"conversation {number}", questions=questions, sessions=sessions)


def _message(message: Mapping[str, str]) -> str:
    picture = f" [{message['blip_caption']}]" if "blip_caption" in message else ""
    return f"{message['speaker']}: {message['text']}{picture}"


def _measure_in_child(file: Path, number: int, transcripts: Path | None) -> Found:
    with TemporaryDirectory(prefix="leftoff-recall-") as home:
        environment = scratch_environment(Path(home), "XDG_", "LEFTOFF_")
        arguments = (file.resolve(), number, transcripts.resolve() if transcripts else "")
        done = run_child("bench.recall", *arguments, environment=environment, folder=Path(home))
    return Found(how="leftoff search", places=tuple(done["places"]), nothing=done["nothing"])


def _join(how: str, found: Sequence[Found]) -> Found:
    places = tuple(place for each in found for place in each.places)
    return Found(how=how, places=places, nothing=sum(each.nothing for each in found))


def _search_all(collection: Collection, home: Path) -> Found:
    """Write the sessions where their agents would have them, and ask every question."""
    names = place_sessions(collection, home)
    update_library(Workspace.open())
    places, nothing = [], 0
    for question, answers in collection.questions:
        results = search(Workspace.open(), SearchRequest(query=question, limit=_SHOWN, hits=1), clock.now())
        nothing += not results.sessions
        places.append(_place([names.get(each.source.path, "") for each in results.sessions], answers))
    return Found(how="leftoff search", places=tuple(places), nothing=nothing)


def place_sessions(collection: Collection, home: Path) -> dict[str, str]:
    """Return the name of the session in each transcript."""
    names = {}
    for number, (name, path) in enumerate(collection.transcripts.items()):
        folder = home / ".claude/projects/-bench"
        if agent_of(path).id == "codex":
            unique = f"{number:08x}-0000-7000-8000-000000000000"
            folder, name_there = (
                home / ".codex/sessions/2026/01/06",
                f"rollout-2026-01-06T12-00-00-{unique}.jsonl",
            )
        else:
            name_there = f"{number:04}-{path.name}"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / name_there).symlink_to(path)
        names[str(folder / name_there)] = name
    for number, (name, messages) in enumerate(collection.sessions.items()):
        place = home / f".claude/projects/-bench/{number:08x}-0000-4000-8000-000000000000.jsonl"
        place.parent.mkdir(parents=True, exist_ok=True)
        write_transcript(load_agents()[0], _script(place.stem, messages), place)
        names[str(place)] = name
    return names


def _script(session_id: str, messages: Sequence[str]) -> Script:
    """Return a session in which two people talk in turn."""
    at = [_BEGINNING + timedelta(minutes=number) for number in range(len(messages))]
    events = [
        Replied(text=text, at=when, usage=_USAGE) if number % 2 else Asked(text=text, at=when)
        for number, (text, when) in enumerate(zip(messages, at, strict=True))
    ]
    return Script(
        session_id=session_id,
        project="/home/dev/bench",
        branch="main",
        model="claude-sonnet-4-5",
        window_tokens=200_000,
        events=events,
    )


def _search_plainly(collection: Collection, around: int, *, of_session: bool) -> Found:
    """Ask every question of FTS5: any of its words, the best piece of each session, perhaps the session as well."""
    with sqlite3.connect(":memory:") as connection:
        for table in ("pieces", "whole"):
            connection.execute(
                f"CREATE VIRTUAL TABLE {table} USING fts5(text, name UNINDEXED, tokenize='porter unicode61')"
            )
        for name, messages in collection.sessions.items():
            near = (messages[max(0, at - around) : at + around + 1] for at in range(len(messages)))
            connection.executemany(
                "INSERT INTO pieces VALUES (?, ?)", ((" ".join(some), name) for some in near)
            )
            connection.execute("INSERT INTO whole VALUES (?, ?)", (" ".join(messages), name))
        ranked = [
            _rank_plainly(connection, question, of_session=of_session) for question, _ in collection.questions
        ]
    answers = [answers for _, answers in collection.questions]
    places = tuple(_place(names, right) for names, right in zip(ranked, answers, strict=True))
    return Found(how="", places=places, nothing=ranked.count([]))


def _rank_plainly(connection: sqlite3.Connection, question: str, *, of_session: bool) -> list[str]:
    words = [word for word in re.findall(r"\w+", question.lower()) if word not in COMMON_WORDS]
    expression = " OR ".join(f'"{word}"' for word in words)
    scores: dict[str, float] = {}
    best_piece = "SELECT name, -bm25(pieces) FROM pieces WHERE pieces MATCH ?"
    for name, score in connection.execute(best_piece, (expression,)):
        scores[name] = max(score, scores.get(name, 0))
    if of_session:
        for name, score in connection.execute(
            "SELECT name, -bm25(whole) FROM whole WHERE whole MATCH ?", (expression,)
        ):
            scores[name] = scores.get(name, 0) + score
    return sorted(scores, key=lambda name: -scores[name])[:_SHOWN]


def _place(names: Sequence[str], answers: frozenset[str]) -> int | None:
    return next((place for place, name in enumerate(names, 1) if name in answers), None)


def main(file: str, number: str, transcripts: str) -> None:
    """Run the child process."""
    folder = Path(transcripts) if transcripts else None
    found = _search_all(read_collections(Path(file), folder)[int(number)], Path(paths.environment()["HOME"]))
    sys.stdout.write(json.dumps({"places": found.places, "nothing": found.nothing}))


if __name__ == "__main__":
    main(*sys.argv[1:])
