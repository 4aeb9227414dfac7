"""The counts of a document, computed by hand."""

import hashlib

import pytest

from bench.retention import LIST_CHARS, bare_list, check_sources, everything, last_characters, own_summary
from bench.scoring import Part, Score, find_expectations, outside_characters, score
from bench.session_cuts import cut_at_compactions
from leftoff.agents import claude
from leftoff.core.metrics import ContextMetrics
from leftoff.core.provenance import Source
from leftoff.core.records import Place
from leftoff.core.resume_log import ResumeLog
from leftoff.testing.builders import Story, call
from tests.support.transcripts import write_transcript


def ran(command: str, answer: str = "ok"):
    return call("shell", {"command": command}, answer)


@pytest.fixture
def cut(tmp_path):
    """Before: two files, two commands, two names. After: the same, and one of each that is new."""
    story = (
        Story(project="/home/dev/project")
        .asked("Fix login_user and RateLimiter")
        .replied(
            "",
            call("read", {"path": "/home/dev/project/src/login.py"}),
            call("read", {"path": "/home/dev/project/src/limits.py"}),
        )
        .replied("", ran("make lint"), ran("make test"))
        .compacted("Changed `login_user` in src/login.py; `RateLimiter` and docs/gone.md are next.")
        .replied(
            "",
            call("read", {"path": "/home/dev/project/src/login.py"}),
            call("read", {"path": "/home/dev/project/src/limits.py"}),
        )
        .replied("", call("read", {"path": "/home/dev/project/src/new.py"}))
        .replied("", ran("make lint"), ran("make test"), ran("make docs"))
        .replied("", call("search", {"pattern": "login_user|RateLimiter|brand_new"}))
    )
    path = tmp_path / "session.jsonl"
    write_transcript(claude.here(), story.script(), path)
    (found,) = cut_at_compactions(path, tmp_path / "scratch")
    return found


def test_coverage_counts_what_is_needed_and_occurred_before(cut):
    """One of two files, one of two commands, both names: four of six. New ones count for nothing."""
    found = score(
        "login.py, `make lint`, login_user, RateLimiter, src/new.py, make docs, brand_new",
        find_expectations(cut),
    )
    assert found.files == Part(held=1, of=2)
    assert found.commands == Part(held=1, of=2)
    assert found.names == Part(held=2, of=2)
    assert found.coverage == Part(held=4, of=6)
    assert [(each.kind, each.text) for each in found.missed] == [
        ("files", "src/limits.py"),
        ("commands", "make test"),
    ]


def test_agreement_counts_the_paths_and_back_ticked_names_of_the_summary(cut):
    """A path counts even if it occurs only in the summary."""
    found = score("login_user and RateLimiter", find_expectations(cut))
    assert found.agreement == Part(held=2, of=4)
    assert [each.text for each in found.not_agreed] == ["src/login.py", "docs/gone.md"]


def test_the_agents_own_summary_agrees_with_itself(cut):
    """The agent's own summary agrees fully with itself, although it may lack files and commands."""
    found = score(own_summary(cut), find_expectations(cut))
    assert found.agreement.share == 1
    assert found.files == Part(held=1, of=2)
    assert found.commands == Part(held=0, of=2)


def test_the_whole_conversation_contains_all_that_was_needed(cut):
    """The ceiling of coverage is 100 %, that of agreement is not."""
    found = score(everything(cut), find_expectations(cut))
    assert found.coverage.share == 1
    assert found.agreement == Part(held=3, of=4)


def test_the_last_characters_are_the_end_of_the_conversation(cut):
    """The document is the end of the conversation and never longer than 40,000 characters."""
    assert cut.context.endswith(last_characters(cut))
    assert len(last_characters(cut)) <= 40_000


def test_the_bare_list_has_each_mention_once_newest_first(cut):
    """Files, then commands, then names."""
    lines = bare_list(cut).splitlines()
    assert lines == ["src/limits.py", "src/login.py", "make test", "make lint", "RateLimiter", "login_user"]


def test_the_bare_list_never_exceeds_its_limit(tmp_path):
    """What does not fit is left out whole."""
    story = Story().asked(" ".join(f"name_number_{number}" for number in range(2_000)))
    story.replied("", *(ran(f"command number {number}") for number in range(500))).compacted("Gone.")
    path = tmp_path / "session.jsonl"
    write_transcript(claude.here(), story.script(), path)
    (found,) = cut_at_compactions(path, tmp_path / "scratch")
    text = bare_list(found)
    assert LIST_CHARS - 100 < len(text) <= LIST_CHARS
    assert "command number 499" in text
    assert "command number 0\n" not in text


def test_characters_under_critical_context_and_metadata_are_lists(cut):
    """Everything else is prose."""
    prose, lists = "# Log\n\n## Mission\n\nWords.\n", "## Critical Context\n\n- a\n"
    assert outside_characters(prose + lists) == len(prose)
    assert outside_characters(lists + prose.removeprefix("# Log\n\n")) == len(prose.removeprefix("# Log\n\n"))
    assert outside_characters("## Session Metadata\n- x") == 0
    assert outside_characters("no heading at all") == 17
    assert score(prose + lists, find_expectations(cut)).outside == Part(
        held=len(prose), of=len(prose + lists)
    )


def test_scores_add_up_by_counts_and_not_by_shares():
    """A cut with ten files weighs ten times as much as a cut with one."""
    one = Score(cuts=1, characters=10, files=Part(held=1, of=1))
    ten = Score(cuts=1, characters=30, files=Part(held=0, of=9))
    both = one + ten
    assert both.files.share == 0.1
    assert (both.cuts, both.characters) == (2, 40)
    assert both.to_dict()["files_fraction"] == 0.1
    assert both.to_dict()["characters"] == 20
    assert both.to_dict()["commands_fraction"] is None


def source(item: str, path, start: int, end: int, sha256: str | None = None) -> Source:
    content = path.read_bytes()[start:end] if path.exists() else b""
    digest = sha256 or hashlib.sha256(content).hexdigest()
    return Source(item=item, place=Place(str(path), 0, start, end), sha256=digest, excerpt="")


def test_an_item_has_a_valid_source_when_the_bytes_are_what_the_log_says(tmp_path):
    """A missing source, other bytes and a missing file are invalid; one bad source invalidates its item."""
    path = tmp_path / "t.jsonl"
    path.write_bytes(b"first line\nsecond line\n")
    log = ResumeLog(
        session_id="s",
        context_metrics=ContextMetrics(total_budget=1, used_tokens=0),
        mission_summary="m",
        accomplishments=["a", "b"],
        next_steps=["n"],
        critical_context={"files": {"x/y.py": "read"}, "commands": ["make"], "branch": "main"},
        sources=[
            source("mission_summary", path, 0, 10),
            source("accomplishments/0", path, 0, 10),
            source("accomplishments/0", path, 11, 22, "0" * 64),
            source("next_steps/0", tmp_path / "gone.jsonl", 0, 5),
            source("critical_context/files/x/y.py", path, 11, 22),
            source("critical_context/commands/0", path, 11, 22),
        ],
    )
    found = check_sources(log)
    assert found.items == 7
    assert found.without == (
        "accomplishments/0",
        "accomplishments/1",
        "next_steps/0",
        "critical_context/branch",
    )
