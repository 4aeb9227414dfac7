"""Sixty questions with known answers: how often the right session comes first, and among the first five.

The questions were written before there was a ranking. The marks below may rise, never fall.
"""

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from bench import recall
from leftoff.agents.registry import agent_of
from leftoff.catalogue.database import library_folder
from leftoff.search.search import SearchRequest, search
from leftoff.search.update_index import update_library
from leftoff.workspace import Workspace

AT_FIRST = 60
AMONG_FIVE = 60
QUERIES = json.loads(Path(__file__).with_name("relevance.json").read_text(encoding="utf-8"))["queries"]
NOW = datetime(2026, 3, 1, tzinfo=UTC)


@pytest.fixture
def real_home(real_transcripts, isolated_home):
    """Every real transcript of the agents we know, where its agent would have it: file → the name in the questions."""
    placed = {}
    for number, path in enumerate(sorted(real_transcripts.rglob("*.jsonl"))):
        name = str(path.relative_to(real_transcripts).with_suffix(""))
        if name.startswith("copilot"):
            continue
        agent = agent_of(path)
        if agent.id == "codex":
            unique = f"{number:08x}-0000-7000-8000-000000000000"
            target = (
                isolated_home / ".codex/sessions/2026/01/06" / f"rollout-2026-01-06T12-00-00-{unique}.jsonl"
            )
        else:
            target = isolated_home / ".claude/projects/-real" / path.name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.symlink_to(path)
        placed[str(target)] = name
    return placed


def rank(question, names):
    results = search(Workspace.open(), SearchRequest(query=question["query"], limit=5), NOW)
    found = [names.get(session.source.path) for session in results.sessions]
    return next((place for place, name in enumerate(found, 1) if name in question["answers"]), None)


@pytest.mark.slow
def test_the_right_session_is_found_as_often_as_before(real_home):
    """Prose, names, paths, commands, errors and other scripts are searched, and the index stays small."""
    update_library(Workspace.open())
    ranks = {question["query"]: rank(question, real_home) for question in QUERIES}
    missed = [query for query, place in ranks.items() if place != 1]
    assert sum(place == 1 for place in ranks.values()) >= AT_FIRST, missed
    assert sum(place is not None for place in ranks.values()) >= AMONG_FIVE, missed
    size = sum(path.stat().st_size for path in Path(library_folder()).iterdir())
    assert size <= 0.25 * sum(Path(path).stat().st_size for path in real_home)


@pytest.mark.slow
def test_questions_in_other_languages_find_their_session(isolated_home):
    """Japanese and Chinese have no spaces between words, and the stems of German are not known."""
    (collection,) = recall.read_collections(Path(__file__).with_name("languages.json"), None)
    names = recall.place_sessions(collection, isolated_home)
    update_library(Workspace.open())
    for question, answers in collection.questions:
        results = search(Workspace.open(), SearchRequest(query=question, limit=1, hits=1), NOW)
        assert [names[each.source.path] for each in results.sessions] == [*answers], question


def test_there_are_sixty_questions_of_all_kinds():
    """Scripts without spaces are among the kinds."""
    assert len(QUERIES) == len({question["query"] for question in QUERIES}) == 60
    assert {question["kind"] for question in QUERIES} == {
        "prose",
        "identifier",
        "path",
        "command",
        "error",
        "cjk",
    }
