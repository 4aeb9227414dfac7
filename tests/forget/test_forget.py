"""A session, a project or a text is erased from every place, and stays away."""

import gzip
import json
import shutil
from pathlib import Path

import pytest

from leftoff.archive.archive import archive_finished
from leftoff.catalogue import database
from leftoff.catalogue.database import library_folder
from leftoff.errors import AmbiguousSessionError, NotFoundError, NothingToDoError, UsageError
from leftoff.forget import forget
from leftoff.platform import paths
from leftoff.platform.register import Register
from leftoff.resume_logs import pins
from leftoff.resume_logs.save import save_log
from leftoff.search.index_writer import IndexWriter
from leftoff.search.pieces import Piece, Source
from leftoff.search.search import SearchRequest, search
from leftoff.search.update_index import update_library, update_library_and_archive
from leftoff.sessions.ancestry import DerivedEntry, Registry
from leftoff.storage.outbox import Entry, Outbox
from leftoff.testing.builders import Story
from leftoff.workspace import Workspace
from tests.cli.test_install import leftoff
from tests.forget.support import (
    CHAT,
    CHAT_PAGE,
    NOW,
    OTHER,
    SECRET,
    SESSION,
    WORD,
    all_kept,
    archived_ids,
    finds,
    forget_project,
    forget_session,
    forget_text,
    indexed_text,
    put,
)
from tests.search.sample_library import everything


def test_a_session_is_erased_everywhere_and_other_sessions_stay(saved_sessions):
    """No file of ours holds its id or its content; the agent's own transcript is unchanged."""
    assert all_kept().count(SESSION.encode()) > 8
    plan = forget.plan_session(SESSION[:8], Workspace.open())
    before = saved_sessions[0].read_bytes()
    done = forget.forget(plan)
    assert done.left == ()
    assert SESSION.encode() not in all_kept()
    assert not [path for path in paths.state_folder().rglob("*") if SESSION in path.name]
    assert b"koala" not in all_kept()
    assert archived_ids() == {OTHER}
    assert saved_sessions[0].read_bytes() == before
    assert saved_sessions[0] in plan.agents_own
    assert not Path(".leftoff/sessions/session-20260106-120000.md").exists()
    assert Path(".leftoff/sessions/session-20260107-120000.md").exists()
    assert Path(f".leftoff/resume-logs/session-{OTHER}.md").exists()
    assert search(Workspace.open(), SearchRequest(query="docs"), NOW).sessions


def test_a_forgotten_session_does_not_come_back(saved_sessions):
    """The agent still has it, but no search, list or archive takes it from there."""
    forget_session(SESSION)
    saved_sessions[0].touch()
    assert not search(Workspace.open(), SearchRequest(query="koala"), NOW).sessions
    archive_finished(Workspace.open(), NOW)
    assert archived_ids() == {OTHER}
    assert SESSION.encode() not in all_kept()


def test_a_text_is_masked_in_documents_and_erased_from_library_and_archive(saved_sessions):
    """A log that this machine wrote stays trusted, and the text is masked when it is indexed again."""
    log = Path(f".leftoff/resume-logs/session-{SESSION}.md")
    packed = log.with_name("session-old.md.gz")
    packed.write_bytes(gzip.compress(SECRET.encode()))
    assert b"Nachtigall" in all_kept()
    plan = forget.plan_text(SECRET, Workspace.open())
    assert plan.in_library
    done = forget.forget(plan)
    assert done.left == ()
    assert b"Nachtigall" not in all_kept()
    assert b"Nachtigall" not in gzip.decompress(packed.read_bytes())
    assert archived_ids() == {OTHER}
    assert plan.agents_own == (saved_sessions[0],)
    assert Register(folder=paths.data_folder()).standing(log) == "written"
    saved_sessions[0].touch()
    (found,) = search(Workspace.open(), SearchRequest(query="koala kind:prompt"), NOW).sessions
    assert "[forgotten]" in found.hits[0].hit.text
    assert b"Nachtigall" not in all_kept()


def test_a_project_is_erased_with_its_sessions_and_documents(saved_sessions, home):
    """Sessions and documents of other projects are kept."""
    elsewhere = "22222222-2222-4222-8222-222222222222"
    home.claude(Story(session_id=elsewhere, project="/somewhere/else").asked("A quokka").replied("yes"))
    assert search(Workspace.open(), SearchRequest(query="another pause"), NOW).sessions
    done = forget_project()
    assert not search(Workspace.open(), SearchRequest(query='"another pause"'), NOW).sessions
    assert done.left == ()
    assert SESSION.encode() not in all_kept()
    assert OTHER.encode() not in all_kept()
    assert not [path for path in Path(".leftoff").rglob("*.md") if path.is_file()]
    assert search(Workspace.open(), SearchRequest(query="quokka"), NOW).sessions


def test_a_project_is_erased_with_sessions_that_its_agent_has_deleted(saved_sessions):
    """The archive and the library still had them."""
    update_library_and_archive(Workspace.open(), NOW)
    saved_sessions[0].unlink()
    forget_project()
    assert archived_ids() == set()
    assert "koala" not in indexed_text()


def test_a_session_that_its_agent_has_deleted_is_erased_by_its_id(saved_sessions):
    """The archive still had it."""
    saved_sessions[0].unlink()
    done = forget_session(SESSION)
    assert done.left == ()
    assert SESSION.encode() not in all_kept()


def test_a_deleted_session_is_found_by_a_unique_beginning_of_its_id(saved_sessions):
    """An ambiguous beginning is refused."""
    update_library_and_archive(Workspace.open(), NOW)
    for transcript in saved_sessions:
        transcript.unlink()
    twin = Path(f".leftoff/resume-logs/session-{SESSION[:8]}-twin.md")
    twin.write_text("# x", encoding="utf-8")
    with pytest.raises(AmbiguousSessionError, match="names 2"):
        forget.plan_session(SESSION[:8], Workspace.open())
    twin.unlink()
    assert forget_session(SESSION[:8]).left == ()
    assert SESSION.encode() not in all_kept()


def test_a_file_that_still_holds_it_is_named(saved_sessions):
    """The scan afterwards can fail."""
    plan = forget.plan_session(SESSION, Workspace.open())
    forget.forget(plan)
    late = paths.data_folder() / "late.txt"
    late.write_text(SESSION, encoding="utf-8")
    assert forget.find_left(plan)[0] == [late]


def test_the_scan_reads_compressed_blocks_of_the_library(saved_sessions):
    """A text and an id that were added later are found there."""
    plans = forget.plan_session(SESSION, Workspace.open()), forget.plan_text(SECRET, Workspace.open())
    for plan in plans:
        forget.forget(plan)
        assert forget.find_left(plan)[0] == []
    writer = IndexWriter(library_folder())
    late = Source("log", "/x/late.md", None, "late", None, None, 1, 1)
    text = f"{'filler ' * 40} {SESSION} and THE «Nachtigall»  plan"
    assert writer.replace(late, [Piece("log", text, 1, 0)])
    writer.close()
    for plan in plans:
        assert Path(library_folder(), database.FILE_NAME) in forget.find_left(plan)[0]


def test_an_unknown_session_and_an_absent_text_are_reported(saved_sessions):
    """Unknown sessions and absent texts change nothing."""
    with pytest.raises(NotFoundError):
        forget.plan_session("99999999-9999-4999-8999-999999999999", Workspace.open())
    plan = forget.plan_text("stands nowhere at all", Workspace.open())
    assert plan.is_empty
    with pytest.raises(NothingToDoError):
        forget.forget(plan)
    with pytest.raises(UsageError, match="at least 4"):
        forget.plan_text("abc", Workspace.open())


def test_a_text_is_erased_from_projects_without_transcripts(saved_sessions, tmp_path, monkeypatch):
    """The register knows where documents were written."""
    project = Path.cwd()
    for transcript in saved_sessions:
        transcript.unlink()
    shutil.rmtree(library_folder())
    shutil.rmtree(paths.data_folder() / "archive")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    assert forget_text(SECRET).left == ()
    assert b"Nachtigall" not in everything(project / ".leftoff")


def test_a_text_that_only_an_agent_has_is_remembered(session, home):
    """The text is reported, and no later search shows it."""
    update_library(Workspace.open())
    story = Story(session_id=OTHER, project=str(Path.cwd())).asked("go").replied("yes")
    other = home.claude(story.asked("the zanzibar plan").replied("ok"))
    plan = forget.plan_text("zanzibar plan", Workspace.open())
    assert (plan.is_local, plan.is_empty, plan.agents_own) == (False, False, (other,))
    output = leftoff("forget", "--text", "zanzibar plan", "--yes")
    assert "has stored nothing of it so far, and will not" in output
    assert str(other) in output
    assert not finds('"zanzibar plan"')
    assert finds("forgotten")


def test_a_session_that_only_its_agent_has_is_remembered(session):
    """The session is not indexed later."""
    assert "none holds it" in leftoff("forget", SESSION, "--yes")
    update_library(Workspace.open())
    assert not finds("koala")
    assert SESSION.encode() not in all_kept()


@pytest.mark.parametrize("word", ["configuration", "register", "helper", "written"])
def test_a_session_whose_id_is_a_word_takes_no_other_files_along(settings, session, home, word):
    """Lines and sentences with the word stay; its own documents are deleted."""
    settings("  {}\n")
    save_log(str(session), Workspace.open())
    here = paths.find_project(Path.cwd())
    pins.add(pins.file_of(here), f"see the {word} first", NOW)
    put(".leftoff/configuration.yaml", text="context_management: {}\n")
    put(".leftoff/chats/notes.md", text=f"The {word}\n")
    put(f".leftoff/chats/{CHAT}.md", text=CHAT_PAGE)
    own = home.claude(
        Story(session_id=word, project=str(Path.cwd())).asked("A wombat").replied("yes", used=100)
    )
    save_log(str(own), Workspace.open())
    Registry(folder=paths.data_folder()).add(
        DerivedEntry(session_id=SESSION, transcript=str(session), agent="claude", parent_id=word,
                parent_transcript=str(own), parent_fingerprint=None, derivation="trimmed", at="2026-01-06T12:00:00Z")
    )  # fmt: skip
    put(paths.state_folder() / "usage" / f"{word}.json", text="{}")
    put(paths.state_folder() / "usage" / "another.json", text="{}")
    update_library(Workspace.open())
    register = paths.data_folder() / "register.jsonl"
    noted = [
        line for line in register.read_text(encoding="utf-8").splitlines() if f"session-{word}." not in line
    ]
    done = forget_session(word)
    assert done.left == ()
    assert register.read_text(encoding="utf-8").splitlines() == noted != []
    assert {path.name for path in done.deleted} >= {
        f"session-{word}.md",
        f"session-{word}.json",
        f"{word}.json",
    }
    assert Path(".leftoff/configuration.yaml").read_text(encoding="utf-8") == "context_management: {}\n"
    assert Path(".leftoff/chats/notes.md").read_text(encoding="utf-8") == f"The {word}\n"
    assert Path(f".leftoff/chats/{CHAT}.md").exists()
    assert [pin.text for pin in pins.read(pins.file_of(here))] == [f"see the {word} first"]
    assert Registry(folder=paths.data_folder()).entries() == []
    assert (paths.state_folder() / "usage" / "another.json").exists()
    assert Path(f".leftoff/resume-logs/session-{SESSION}.md").exists()


def test_a_word_that_is_not_a_session_is_refused(saved_sessions):
    """The word is part of every path in the register."""
    register = (paths.data_folder() / "register.jsonl").read_bytes()
    for words in ("resume-logs", "session", "written"):
        with pytest.raises(NotFoundError):
            forget.plan_session(words, Workspace.open())
    assert (paths.data_folder() / "register.jsonl").read_bytes() == register


def test_latest_is_refused():
    """``latest`` may mean another session every day."""
    with pytest.raises(UsageError, match="another session every day"):
        forget.plan_session("Latest", Workspace.open())


def test_a_script_learns_why_nothing_was_erased(session):
    """The JSON says why: ``--yes`` is missing, it is a dry run, or there is nothing to erase."""
    update_library(Workspace.open())
    assert "--yes" in json.loads(leftoff("forget", SESSION, "--json", code=1))["error"]
    assert "dry-run" in json.loads(leftoff("forget", SESSION, "--json", "--dry-run"))["why"]
    assert (
        "keeps nothing" in json.loads(leftoff("forget", "--text", "stands nowhere", "--json", code=3))["why"]
    )


@pytest.fixture
def called(home):
    """A session and a chat that are called by the word: files of every kind, and a log of another session."""
    Path(".git").mkdir()
    for session_id in (f"{WORD}-1", OTHER):
        story = (
            Story(session_id=session_id, project=str(Path.cwd())).asked("A koala").replied("yes", used=100)
        )
        log = save_log(str(home.claude(story)), Workspace.open()).log
        Outbox(paths.state_folder() / "outbox").put(Entry(log=log, root=str(Path.cwd()), saved_ns=1))
    for folder in ("watch", "windows", "pauses", "extractions"):
        (paths.state_folder() / folder).mkdir(parents=True, exist_ok=True)
        for session_id in (f"{WORD}-1", OTHER):
            (paths.state_folder() / folder / f"claude-{session_id}.json").write_text("{}", encoding="utf-8")
    (paths.state_folder() / "watch" / f".claude-{WORD}-1.json.lock").touch()
    chats = Path(".leftoff/chats")
    chats.mkdir(parents=True, exist_ok=True)
    for name in (WORD, "helper_session_20260106_120000"):
        (chats / f"{name}.md").write_text(
            f"# Chat\n\n**Session ID:** {name}\n\nhello koala\n", encoding="utf-8"
        )
    (chats / f"{WORD}.md.unsaved").write_text("hello koala\n", encoding="utf-8")
    (chats / "README.md").write_text(f"about {WORD}\n", encoding="utf-8")
    update_library(Workspace.open())


def our_names():
    """Every file and folder of ours, below the folders that are ours."""
    folders = paths.data_folder(), paths.state_folder(), Path(".leftoff")
    return [str(path.relative_to(folder)) for folder in folders for path in folder.rglob("*")]


def test_a_file_of_ours_with_the_text_in_its_name_is_deleted(called):
    """Logs, chats, states, extractions and the outbox; the files of other sessions stay."""
    assert len([name for name in our_names() if WORD in name]) >= 10
    before = [name for name in our_names() if OTHER in name or "helper" in name]
    output = leftoff("forget", "--text", WORD, "--yes")
    assert "none holds it" in output
    assert not [name for name in our_names() if WORD in name]
    assert WORD.encode() not in all_kept()
    assert WORD not in leftoff("log", "list")
    assert [name for name in our_names() if OTHER in name or "helper" in name] == before
    assert Path(".leftoff/chats/README.md").read_text(encoding="utf-8") == "about [forgotten]\n"


def test_states_are_deleted_by_the_whole_id(called):
    """A file whose id only ends alike stays."""
    twin = paths.state_folder() / "watch" / f"claude-my-{WORD}-1.json"
    twin.write_text("{}", encoding="utf-8")
    plan = forget.plan_session(f"{WORD}-1", Workspace.open())
    assert forget.forget(plan).left == ()
    assert not [name for name in our_names() if f"{WORD}-1" in name and twin.name not in name]
    assert twin.exists()
    late = paths.state_folder() / "windows" / f"claude-{WORD}-1.json"
    late.write_text("{}", encoding="utf-8")
    assert forget.find_left(plan)[0] == [late]


def test_part_of_a_generated_id_deletes_no_file(called):
    """The file is named as holding it; the whole id deletes it."""
    log = Path.cwd() / f".leftoff/resume-logs/session-{OTHER}.md"
    plan = forget.plan_text(OTHER[:13], Workspace.open())
    assert plan.documents == ()
    assert log in forget.forget(plan).left
    assert log.exists()
    plan = forget.plan_text(OTHER, Workspace.open())
    assert log in plan.documents
    assert not [path for path in forget.forget(plan).left if OTHER in path.name]


def test_a_dry_run_writes_nothing(saved_sessions):
    """Not one byte of leftoff's files changes."""
    before = all_kept()
    for arguments in ([SESSION], ["--project"], ["--text", SECRET]):
        assert "Nothing was erased" in leftoff("forget", *arguments, "--dry-run")
    assert all_kept() == before


def test_forgetting_again_completes_what_was_interrupted(saved_sessions, monkeypatch):
    """A process that dies after deleting files leaves the rest to the next one."""

    def die(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(forget.index, "erase_from_index", die)
        with pytest.raises(KeyboardInterrupt):
            forget_text(SECRET)
    assert b"Nachtigall" in all_kept()
    assert forget_text(SECRET).left == ()
    assert b"Nachtigall" not in all_kept()
