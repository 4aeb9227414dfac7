"""The proof holds: for names of our files, while somebody reads, for half a text; and no database is taken for a text."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from leftoff.flows import forget as flow
from leftoff.flows import forget_library, forget_places
from leftoff.flows.library_folder import library_folder
from leftoff.flows.library_update import update_library
from leftoff.flows.remote_forget import forget_remote
from leftoff.flows.save_log import save_log
from leftoff.flows.search import Asked, search
from leftoff.flows.sessions import entries, found_sessions
from leftoff.library import shelf as shelves
from leftoff.model.session import LONGEST_PROMPT
from leftoff.stores.outbox import Entry, Outbox
from leftoff.system import paths
from leftoff.testing.builders import Story
from tests.cli.test_install import leftoff
from tests.flows.test_forget import NOW, OTHER, SESSION, all_kept
from tests.library.shelves import everything
from tests.machines import Machine

WORD = "zanzibarquux"


def library():
    return Path(library_folder(), shelves.NAME)


def of_library(query):
    with closing(sqlite3.connect(library())) as shelf:
        return [row[0] for row in shelf.execute(query)]


def our_names():
    """Every file and folder of ours, below the folders that are ours."""
    folders = paths.data_folder(), paths.state_folder(), Path(".leftoff")
    return [str(path.relative_to(folder)) for folder in folders for path in folder.rglob("*")]


@pytest.fixture
def store(tmp_path):
    """A machine whose store is a database in our own folder, with a name of the user's choice; two logs are in it."""
    machine = Machine(tmp_path / "m", "shop")
    database = machine.home / ".local" / "share" / "leftoff" / "team.db"
    machine.configure(storage="sqlite", storage_options={"path": str(database)})
    machine.begin()
    for session_id in ("one", "two"):
        machine.save(session_id, mission_summary=f"{session_id}: the {WORD} plan")
    machine.send()
    assert WORD.encode() in database.read_bytes()
    return machine, database


def test_a_store_that_is_called_otherwise_is_masked_by_the_store_and_not_as_a_text(store):
    """Its file is sound afterwards, holds its logs, and does not hold the text."""
    machine, database = store
    planned = json.loads(machine.leftoff("forget", "--text", WORD, "--dry-run", "--json").stdout)
    assert str(database) not in planned["kept_in"]
    machine.leftoff("forget", "--text", WORD, "--yes")
    with closing(sqlite3.connect(database)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        assert connection.execute("SELECT count(*) FROM leftoff_logs").fetchone() == (2,)
    assert WORD.encode() not in database.read_bytes()


def test_a_database_and_its_logs_are_no_texts(tmp_path):
    """By what they begin with, by the file that they stand beside, and by the name that ours has."""
    with closing(sqlite3.connect(tmp_path / "team.db", isolation_level=None)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("CREATE TABLE words(word)")
        made = {path.name for path in tmp_path.glob("team*")}
        assert made == {"team.db", "team.db-wal", "team.db-shm"}
        (tmp_path / "team.db-journal").write_bytes(b"\0" * 512)
        (tmp_path / "moved.bin").write_bytes((tmp_path / "team.db-wal").read_bytes())
        unfit = {
            *made,
            "team.db-journal",
            "moved.bin",
            "logs.sqlite",
            "logs.sqlite-wal",
            "logs.sqlite-journal",
        }
        assert not [name for name in unfit if forget_places.is_text(tmp_path / name)]
    (tmp_path / "a-journal").write_text("what I did today", encoding="utf-8")
    assert forget_places.is_text(tmp_path / "a-journal")


@pytest.fixture
def called(home):
    """A session and a chat that are called by the word: files of every kind, and a log of another session."""
    Path(".git").mkdir()
    for session_id in (f"{WORD}-1", OTHER):
        story = (
            Story(session_id=session_id, project=str(Path.cwd())).asked("A koala").replied("yes", used=100)
        )
        log = save_log(str(home.claude(story)), Path.cwd()).log
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
    update_library()


def test_a_file_of_ours_that_is_called_by_the_text_goes_whole(called):
    """Logs, chats and what stands beside them, states, extractions, what waits to be sent; the others stay."""
    assert len([name for name in our_names() if WORD in name]) >= 10
    before = [name for name in our_names() if OTHER in name or "helper" in name]
    said = leftoff("forget", "--text", WORD, "--yes")
    assert "none holds it" in said
    assert not [name for name in our_names() if WORD in name]
    assert WORD.encode() not in all_kept()
    assert WORD not in leftoff("log", "list")
    assert [name for name in our_names() if OTHER in name or "helper" in name] == before
    assert Path(".leftoff/chats/README.md").read_text(encoding="utf-8") == "about [forgotten]\n"


def test_a_session_s_state_is_deleted_by_its_id_and_not_masked_alone(called):
    """Also where a program numbered it; one whose id ends alike stays."""
    twin = paths.state_folder() / "watch" / f"claude-my-{WORD}-1.json"
    twin.write_text("{}", encoding="utf-8")
    plan = flow.plan_session(f"{WORD}-1", Path.cwd())
    assert flow.forget(plan).left == ()
    assert not [name for name in our_names() if f"{WORD}-1" in name and twin.name not in name]
    assert twin.exists()
    late = paths.state_folder() / "windows" / f"claude-{WORD}-1.json"
    late.write_text("{}", encoding="utf-8")
    assert [*flow.still_holding(plan)] == [late]


def test_words_that_we_put_into_names_ourselves_are_no_reason_to_delete(called):
    """A prefix, the agent, a moment, an ending, a name of a file that is always there."""
    Path(".leftoff/project").mkdir()
    Path(".leftoff/project/plan.md").write_text("# x\n", encoding="utf-8")
    for text in ("session", "claude", "20260106", "json", "plan", "README", "trouble"):
        plan = flow.plan_text(text)
        assert (text, plan.documents) == (text, ())


def test_a_part_of_an_id_that_a_program_drew_deletes_nothing_and_is_named(called):
    """Four letters of a UUID are an accident; the whole of it is meant."""
    log = Path.cwd() / f".leftoff/resume-logs/session-{OTHER}.md"
    plan = flow.plan_text(OTHER[:13])
    assert plan.documents == ()
    assert log in flow.forget(plan).left
    assert log.exists()
    plan = flow.plan_text(OTHER)
    assert log in plan.documents
    assert not [path for path in flow.forget(plan).left if OTHER in path.name]


def test_a_library_that_somebody_is_reading_is_named(home, monkeypatch):
    """The old bytes are in the file until he is done; then they are gone."""
    monkeypatch.setattr(forget_library, "_READER_SECONDS", 0.2)
    text = "夜莺计划机密档案馆"  # no byte of the words has it whole: only what is compressed
    body = "\n".join(f"line {number} of a long reply {number * 7919}" for number in range(300))
    story = Story(session_id=SESSION, project=str(Path.cwd())).asked("A koala")
    home.claude(story.replied(f"start {text} {body}"))
    update_library()
    old = max(of_library("SELECT data FROM blocks"), key=len)[50:150]
    assert old in everything(library().parent)
    with closing(sqlite3.connect(library(), isolation_level=None)) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM pieces").fetchone()
        assert flow.forget(flow.plan_text(text)).left == (library(),)
        assert old in everything(library().parent)
    assert old not in everything(library().parent)


def test_several_sessions_are_taken_out_of_a_log_of_the_remote_at_once(store):
    """A log that names two of them is cleaned once, and counted once; an id that is a mere word is not taken out of sentences."""
    machine, _ = store
    for session_id in ("run-1", "run-2"):
        machine.save(session_id, mission_summary="of its own")
    machine.save("three", mission_summary="after run-1 and run-2, one more")
    machine.send()
    with machine.world():
        forgot = forget_remote(["run-1", "run-2", "one"], None, "-", machine.root, machine.root)
    assert (forgot.erased, forgot.trouble) == (4, None)
    there = json.loads(machine.leftoff("log", "list", "--remote", "--json").stdout)
    missions = {each["session_id"]: each["mission"] for each in there}
    assert missions.keys() == {"two", "three"}
    assert missions["three"] == "after - and -, one more"


def test_half_a_text_at_the_end_of_a_title_or_of_a_listed_prompt_goes_too(home):
    """They are cut for their length; neither does it come back with the next list or update."""
    text = "Marmaduke47"
    for session_id, chars in ((SESSION, 290), (OTHER, LONGEST_PROMPT - 6)):
        story = Story(session_id=session_id, project=str(Path.cwd())).asked("p" * chars + f" {text} tail")
        home.claude(story.replied("ok"))
    update_library()
    [*entries(found_sessions())]
    assert b"Marmadu" in everything(library().parent)
    assert flow.forget(flow.plan_text(text)).left == ()
    assert b"Marma" not in everything(library().parent)
    assert of_library("SELECT title FROM sources WHERE title LIKE '%p '") == ["p" * 290 + " "]
    shown = [entry.first_prompt for entry in entries(found_sessions())]
    update_library()
    assert len(shown) == len(of_library("SELECT entry FROM entries")) == 2
    assert b"Marma" not in everything(library().parent)


def test_a_library_whose_words_are_older_can_be_forgotten_from(home):
    """It is looked into as it is, goes whole, and the next search makes it anew without what was forgotten."""
    home.claude(Story(session_id=SESSION, project=str(Path.cwd())).asked(f"{WORD} koala").replied("yes"))
    update_library()
    with closing(sqlite3.connect(library())) as shelf, shelf:
        shelf.execute("UPDATE facts SET value = 1 WHERE name = 'words'")
    assert flow.plan_text(WORD).in_library
    assert "none holds it" in leftoff("forget", "--text", WORD, "--yes")
    assert search(Asked(query="koala"), NOW).sessions
    assert not search(Asked(query=WORD), NOW).sessions
