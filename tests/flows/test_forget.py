"""Erasing from every place, and proving it."""

import gzip
import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from leftoff.errors import NotFoundError, NothingToDoError, UsageError
from leftoff.flows import forget as flow
from leftoff.flows import numbers
from leftoff.flows.archive_sessions import archive_here, keep_finished
from leftoff.flows.save_log import save_log
from leftoff.flows.search import Asked, search
from leftoff.lineage.registry import Derived, Registry
from leftoff.system import own_log, paths
from leftoff.system.register import Register
from leftoff.testing.builders import Story, call
from tests.library.shelves import everything

NOW = datetime(2026, 3, 1, tzinfo=UTC)
SESSION = "0b54f7aa-6d0c-4c7b-9d57-3f6c9d9a3b11"
OTHER = "11111111-1111-4111-8111-111111111111"
SECRET = 'the "Nachtigall" plan'


@pytest.fixture
def kept(home, own_world):
    """Two sessions of this project of which everything is kept that can be."""
    mine = own_world / ".config" / "leftoff" / "configuration.yaml"
    mine.parent.mkdir(parents=True)
    mine.write_text("context_management:\n  archive:\n    enabled: true\n", encoding="utf-8")
    Path(".git").mkdir()
    first = Story(session_id=SESSION, project=str(Path.cwd())).asked(
        f"Work on {SECRET} today, never tell the koala"
    )
    first.replied("I will.", call("shell", {"command": "pytest"}, f"1 failed: {SECRET}"), used=1_000)
    second = (
        Story(session_id=OTHER, project=str(Path.cwd()))
        .asked("Write the docs")
        .replied("Written.", used=1_000)
    )
    transcripts = home.claude(first), home.claude(second)
    for transcript in transcripts:
        save_log(str(transcript), Path.cwd())
    keep_finished(NOW)
    search(Asked(query="docs"), NOW)
    numbers.remember([str(each) for each in transcripts])
    own_log.note(f"something about {SESSION}")
    Registry(folder=paths.data_folder()).add(
        Derived(
            session_id=SESSION,
            transcript=str(transcripts[0]),
            agent="claude",
            parent_id=OTHER,
            parent_transcript=str(transcripts[1]),
            parent_fingerprint=None,
            derivation="trimmed",
            at="2026-01-06T12:00:00Z",
        )
    )
    pauses = Path(".leftoff/sessions")
    pauses.mkdir(parents=True, exist_ok=True)
    of = json.dumps({"origin": {"agent": "claude", "session_id": SESSION}})
    for end in (".json", ".md", "-incremental.jsonl"):
        (pauses / f"session-20260106-120000{end}").write_text(of, encoding="utf-8")
    (pauses / "session-20260107-120000.md").write_text("another pause", encoding="utf-8")
    return transcripts


def all_kept():
    return b"\n".join(
        everything(folder) for folder in (paths.data_folder(), paths.state_folder(), Path(".leftoff"))
    )


def archived_ids():
    return {each.session_id for each in archive_here().sessions()}


def test_a_session_is_gone_from_every_place_and_the_other_stays(kept):
    """Logs, pauses, states, lists, library, archive, registers: no byte of ours holds its id, nor its words."""
    assert all_kept().count(SESSION.encode()) > 8
    plan = flow.plan_session(SESSION[:8], Path.cwd())
    before = kept[0].read_bytes()
    done = flow.forget(plan)
    assert done.left == ()
    assert SESSION.encode() not in all_kept()
    assert not [path for path in paths.state_folder().rglob("*") if SESSION in path.name]
    assert b"koala" not in all_kept()
    assert archived_ids() == {OTHER}
    assert kept[0].read_bytes() == before
    assert kept[0] in plan.agents_own
    assert not Path(".leftoff/sessions/session-20260106-120000.md").exists()
    assert Path(".leftoff/sessions/session-20260107-120000.md").exists()
    assert Path(f".leftoff/resume-logs/session-{OTHER}.md").exists()
    assert search(Asked(query="docs"), NOW).sessions


def test_what_was_forgotten_is_not_taken_in_again(kept):
    """Although the agent still has it: not by a search, not by a list, not by the archive."""
    flow.forget(flow.plan_session(SESSION, Path.cwd()))
    kept[0].touch()
    assert not search(Asked(query="koala"), NOW).sessions
    keep_finished(NOW)
    assert archived_ids() == {OTHER}
    assert SESSION.encode() not in all_kept()


def test_a_text_is_masked_in_documents_and_gone_from_library_and_archive(kept):
    """As it is and as JSON writes it; a log that this machine wrote stays one that it wrote."""
    log = Path(f".leftoff/resume-logs/session-{SESSION}.md")
    packed = log.with_name("session-old.md.gz")
    packed.write_bytes(gzip.compress(SECRET.encode()))
    assert b"Nachtigall" in all_kept()
    plan = flow.plan_text(SECRET)
    assert plan.in_library
    done = flow.forget(plan)
    assert done.left == ()
    assert b"Nachtigall" not in all_kept()
    assert b"Nachtigall" not in gzip.decompress(packed.read_bytes())
    assert archived_ids() == {OTHER}
    assert plan.agents_own == (kept[0],)
    assert Register(folder=paths.data_folder()).standing(log) == "written"
    kept[0].touch()
    (found,) = search(Asked(query="koala kind:prompt"), NOW).sessions
    assert "[forgotten]" in found.hits[0].hit.text
    assert b"Nachtigall" not in all_kept()


def test_a_project_is_gone_with_all_its_sessions_and_documents(kept, home):
    """Another project's stay."""
    elsewhere = "22222222-2222-4222-8222-222222222222"
    home.claude(Story(session_id=elsewhere, project="/somewhere/else").asked("A quokka").replied("yes"))
    assert search(Asked(query="another pause"), NOW).sessions
    done = flow.forget(flow.plan_project(Path.cwd()))
    assert not search(Asked(query='"another pause"'), NOW).sessions
    assert done.left == ()
    assert SESSION.encode() not in all_kept()
    assert OTHER.encode() not in all_kept()
    assert not [path for path in Path(".leftoff").rglob("*.md") if path.is_file()]
    assert search(Asked(query="quokka"), NOW).sessions


def test_a_session_that_its_agent_has_deleted_is_forgotten_by_its_id(kept):
    """The archive still has it."""
    kept[0].unlink()
    done = flow.forget(flow.plan_session(SESSION, Path.cwd()))
    assert done.left == ()
    assert SESSION.encode() not in all_kept()


def test_what_still_holds_it_is_named(kept):
    """The proof can fail: a file of ours that nobody cleaned."""
    plan = flow.plan_session(SESSION, Path.cwd())
    flow.forget(plan)
    late = paths.data_folder() / "late.txt"
    late.write_text(SESSION, encoding="utf-8")
    assert [*flow.still_holding(plan)] == [late]


def test_nothing_to_forget_is_said(kept):
    """A session nobody knows, a text that stands nowhere, one that is too short."""
    with pytest.raises(NotFoundError):
        flow.plan_session("99999999-9999-4999-8999-999999999999", Path.cwd())
    plan = flow.plan_text("stands nowhere at all")
    assert plan.is_empty
    with pytest.raises(NothingToDoError):
        flow.forget(plan)
    with pytest.raises(UsageError, match="at least 4"):
        flow.plan_text("abc")
