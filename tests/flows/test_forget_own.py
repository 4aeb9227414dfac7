"""What forgetting touches is ours: not the user's files, not the user's settings, not the form of our own documents."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from leftoff.errors import StorageError, UsageError
from leftoff.flows import chat_sessions, forget_databases, forget_places, own_documents
from leftoff.flows import forget as flow
from leftoff.flows.chat_session import place_of
from leftoff.flows.library_update import update_library
from leftoff.flows.save_log import save_log
from leftoff.flows.search import Asked, search
from leftoff.lineage.registry import Derived, Registry
from leftoff.resume_logs import pins
from leftoff.system import paths
from leftoff.system.register import Register
from leftoff.testing.builders import Story
from tests.cli.test_install import leftoff
from tests.flows.test_forget import NOW, OTHER, SESSION, all_kept
from tests.flows.test_forget_proof import of_library

CHAT = "helper_20260106_120000"
PAGE = (
    f"# Helper Conversation\n\n**Session ID:** {CHAT}\n**Date:** 2026-01-06T12:00:00+00:00\n\nkoala sleeps\n"
)
QUOTED = f"# How chats look\n\n```\n{PAGE}```\n"


def finds(query):
    """Whether a search answers."""
    return bool(search(Asked(query=query), NOW).sessions)


@pytest.fixture
def settings(own_world):
    """Writes the user's settings."""
    mine = own_world / ".config" / "leftoff" / "configuration.yaml"
    mine.parent.mkdir(parents=True)
    Path(".git").mkdir()
    return lambda text: mine.write_text(f"context_management:\n{text}", encoding="utf-8")


@pytest.fixture
def session(home):
    """A session of this project."""
    return home.claude(
        Story(session_id=SESSION, project=str(Path.cwd())).asked("The koala sleeps").replied("yes", used=100)
    )


def put(*places, text="koala sleeps\n"):
    """Files with the text."""
    for each in map(Path, places):
        each.parent.mkdir(parents=True, exist_ok=True)
        each.write_text(text, encoding="utf-8")
    return {Path(each): text for each in places}


def documents_in(folder):
    return [path.name for path in Path(folder).iterdir() if path.suffix != ".lock" and path.name != ".lock"]


def as_they_are(files):
    return {path: path.read_text(encoding="utf-8") for path in files}


def test_files_of_the_user_in_a_folder_of_chats_and_logs_stay(settings, session):
    """Whatever they are called and hold, for a text, a session and a project; nor are they found by a search."""
    settings("  chat:\n    folder: docs\n  resume_logs:\n    storage_dir: docs\n")
    mine = put("docs/README.md", "docs/session-notes.md", "docs/a.md.mine", "docs/README.md.unsaved")
    mine |= put("docs/data.json", "docs/index.json", "docs/session-x.json", text='{"a":   "koala sleeps"}\n')
    mine |= put("docs/quoted.md", text=QUOTED)
    put(f"docs/{CHAT}.md", "docs/renamed.md", text=PAGE)
    save_log(str(session), Path.cwd())
    log = Path(f"docs/session-{SESSION}.md")
    update_library()
    found = {Path(each.found.path).name for each in search(Asked(query="koala"), NOW).sessions}
    assert found == {session.name, log.name, f"{CHAT}.md", "renamed.md"}
    assert flow.forget(flow.plan_text("koala sleeps")).left == ()
    assert as_they_are(mine) == mine
    for ours in (Path(f"docs/{CHAT}.md"), Path("docs/renamed.md"), log):
        assert "[forgotten]" in ours.read_text(encoding="utf-8")
    assert flow.forget(flow.plan_session(SESSION, Path.cwd())).left == ()
    assert not log.exists()
    assert flow.forget(flow.plan_project(Path.cwd())).left == ()
    assert as_they_are(mine) == mine
    assert {*documents_in("docs")} == {path.name for path in mine}


@pytest.mark.parametrize("look", [update_library, lambda: finds("wombat")], ids=["an update", "a search"])
def test_a_file_of_the_user_that_was_taken_for_a_chat_leaves_the_library(settings, session, look):
    """The next who looks sees that it is none of ours."""
    settings("  chat:\n    folder: docs\n")
    page = Path(f"docs/{CHAT}.md")
    put(page, text=PAGE.replace("koala", "wombat"))
    update_library()
    assert finds("wombat")
    page.write_text("my own page about the wombat\n", encoding="utf-8")
    look()
    assert str(page.absolute()) not in of_library("SELECT path FROM sources")


def test_what_stands_beside_a_document_of_ours_is_ours(settings, session):
    """What a killed writer left, what was put aside, the copies before a remote's; the torn half of a log."""
    settings("  resume_logs:\n    storage_dir: notes\n")
    save_log(str(session), Path.cwd())
    log = f"notes/session-{SESSION}"
    (Path.cwd() / f"{log}.json").write_text("koala sleeps {", encoding="utf-8")
    beside = [f"{log}.md.before-remote-1", f"{log}.md.mine", f"notes/.session-{SESSION}.md.0123456789ab.tmp"]
    beside += [f"{log}.json.before-remote-2"]
    put(*beside)
    assert flow.forget(flow.plan_text("koala sleeps")).left == ()
    for each in (*beside, f"{log}.md", f"{log}.json"):
        assert b"koala" not in Path(each).read_bytes()
    assert flow.forget(flow.plan_session(SESSION, Path.cwd())).left == ()
    assert documents_in("notes") == []


def test_documents_where_a_setting_once_put_them_are_found_by_the_register(settings, session):
    """The setting is gone, the log is not; nor is a resume state that this machine wrote, which people write in."""
    settings("  resume_logs:\n    storage_dir: notes\n")
    save_log(str(session), Path.cwd())
    settings("  {}\n")
    state = Path("02-projects/01-cart/_resume.md")
    put(
        state,
        text="---\ntitle: koala sleeps  # a koala sleeps\nkoala_sleeps: 1\n---\n## Notes\nkoala sleeps\n",
    )
    Register(folder=paths.data_folder()).note_written(state.absolute(), "cart", NOW)
    trusted = Path("02-projects/02-other/_resume.md")
    put(trusted)
    Register(folder=paths.data_folder()).trust(trusted.absolute(), NOW)
    log = Path(f"notes/session-{SESSION}.md")
    assert flow.forget(flow.plan_text("koala sleeps")).left == ()
    assert "koala" not in log.read_text(encoding="utf-8").lower()
    assert state.read_text(encoding="utf-8") == (
        '---\ntitle: "[forgotten]"  # a [forgotten]\nkoala_sleeps: 1\n---\n## Notes\n[forgotten]\n'
    )
    assert Register(folder=paths.data_folder()).standing(state) == "written"
    assert trusted.read_text(encoding="utf-8") == "koala sleeps\n"
    assert flow.forget(flow.plan_session(SESSION, Path.cwd())).left == ()
    assert not log.exists()
    assert flow.forget(flow.plan_project(Path.cwd())).left == ()
    assert state.exists()


def test_chats_in_a_folder_that_a_caller_named_are_found_by_what_was_listed(settings):
    """No setting names it, and no summary was saved; the list that was last shown does."""
    place = place_of(Path.cwd(), folder=Path.cwd() / "talks")
    put(f"talks/{CHAT}.md", text=PAGE)
    chat_sessions.remember_shown(place, [])
    assert flow.forget(flow.plan_text("koala sleeps")).left == ()
    assert "[forgotten]" in Path(f"talks/{CHAT}.md").read_text(encoding="utf-8")


def test_a_document_that_the_user_trusts_stays_trusted_when_it_is_masked(settings, session):
    """It is the same with fewer words."""
    put(".leftoff/resume-logs/session-x.md")
    log = Path(".leftoff/resume-logs/session-x.md")
    register = Register(folder=paths.data_folder())
    register.trust(log, NOW)
    assert flow.forget(flow.plan_text("koala sleeps")).left == ()
    assert log.read_text(encoding="utf-8") == "[forgotten]\n"
    assert register.standing(log) == "trusted"


def test_a_folder_of_documents_that_cannot_be_listed_is_said(tmp_path):
    """Not knowing is no proof."""
    with pytest.raises(StorageError, match="cannot be listed"):
        forget_places.documents_in(tmp_path / "gone", ())


def test_a_project_is_forgotten_with_its_chats_in_a_folder_of_the_user_s_choice(settings, session, own_world):
    """What the user put there stays, and so does what stands elsewhere: other projects' chats may be there."""
    settings("  chat:\n    folder: talks\n")
    chats = [f"talks/{CHAT}.md", f"talks/{CHAT}.md.unsaved"]
    mine = put("talks/own.md")
    put(*chats, text=PAGE)
    update_library()
    plan = flow.plan_project(Path.cwd())
    assert {*plan.documents} >= {Path(each).absolute() for each in chats}
    assert flow.forget(plan).left == ()
    assert [*Path("talks").iterdir()] == [*mine]
    assert not finds("koala")
    shared = own_world / "all-chats"
    settings(f"  chat:\n    folder: {shared}\n")
    put(shared / f"{CHAT}.md", text=PAGE)
    assert flow.forget(flow.plan_project(Path.cwd())).left == ()
    assert (shared / f"{CHAT}.md").exists()


def test_a_text_that_only_an_agent_has_yet_is_remembered(session, home):
    """A session that was not read in so far: it is said, and no search ever shows the text."""
    update_library()
    story = Story(session_id=OTHER, project=str(Path.cwd())).asked("go").replied("yes")
    other = home.claude(story.asked("the zanzibar plan").replied("ok"))
    plan = flow.plan_text("zanzibar plan")
    assert (plan.is_local, plan.is_empty, plan.agents_own) == (False, False, (other,))
    said = leftoff("forget", "--text", "zanzibar plan", "--yes")
    assert "has kept nothing of it so far, and will not" in said
    assert str(other) in said
    assert not finds('"zanzibar plan"')
    assert finds("forgotten")


def test_a_session_that_only_its_agent_has_yet_is_remembered(session):
    """Nothing of it is kept but what lists know, and nothing will be."""
    assert "none holds it" in leftoff("forget", SESSION, "--yes")
    update_library()
    assert not finds("koala")
    assert SESSION.encode() not in all_kept()


@pytest.mark.parametrize("word", ["configuration", "register", "helper", "written"])
def test_a_session_that_is_called_by_a_word_takes_none_of_our_files_along(settings, session, home, word):
    """Nor lines and sentences in which the word stands; its own documents go."""
    settings("  {}\n")
    save_log(str(session), Path.cwd())
    here = paths.project_of(Path.cwd())
    pins.add(pins.file_of(here), f"see the {word} first", NOW)
    put(".leftoff/configuration.yaml", text="context_management: {}\n")
    put(".leftoff/chats/notes.md", text=f"The {word}\n")
    put(f".leftoff/chats/{CHAT}.md", text=PAGE)
    own = home.claude(
        Story(session_id=word, project=str(Path.cwd())).asked("A wombat").replied("yes", used=100)
    )
    save_log(str(own), Path.cwd())
    Registry(folder=paths.data_folder()).add(
        Derived(session_id=SESSION, transcript=str(session), agent="claude", parent_id=word,
                parent_transcript=str(own), parent_fingerprint=None, derivation="trimmed", at="2026-01-06T12:00:00Z")
    )  # fmt: skip
    put(paths.state_folder() / "usage" / f"{word}.json", text="{}")
    put(paths.state_folder() / "usage" / "another.json", text="{}")
    update_library()
    register = paths.data_folder() / "register.jsonl"
    noted = [
        line for line in register.read_text(encoding="utf-8").splitlines() if f"session-{word}." not in line
    ]
    done = flow.forget(flow.plan_session(word, Path.cwd()))
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


@pytest.mark.parametrize("word", ["session", "metadata", "written", "session_id"])
def test_a_text_that_is_a_word_of_our_own_formats_destroys_none(settings, session, word):
    """Logs, chats and the register can be read afterwards, and nothing is said to hold what is only its form."""
    settings("  {}\n")
    save_log(str(session), Path.cwd())
    put(f".leftoff/chats/{CHAT}.md", text=PAGE.replace("koala", f"koala {word}"))
    put("talks/x.json")
    update_library()
    register = Register(folder=paths.data_folder())
    log = Path(f".leftoff/resume-logs/session-{SESSION}.json")
    keys = json.loads(log.read_text(encoding="utf-8")).keys()
    done = flow.forget(flow.plan_text(word))
    assert done.left == ()
    assert json.loads(log.read_text(encoding="utf-8")).keys() == keys
    assert SESSION in leftoff("log", "list", "--json")
    leftoff("log", "show", SESSION)
    assert [register.standing(each) for each in (log, log.with_suffix(".md"))] == ["written", "written"]
    assert str(log.absolute()) in register.written_paths()
    chat = Path(f".leftoff/chats/{CHAT}.md").read_text(encoding="utf-8")
    assert f"**Session ID:** {CHAT}" in chat
    assert f"koala {word}" not in chat


def test_keys_that_are_somebody_s_words_are_masked():
    """A path, a name with capitals, and whatever stands below what an agent fills."""
    log = {
        "session_id": "x",
        "critical_context": {"koala": {"koala_port": 1}},
        "files": {"src/koala.py": None},
    }
    put(".leftoff/resume-logs/session-x.json", text=json.dumps(log))
    assert flow.forget(flow.plan_text("koala")).left == ()
    said = json.loads(Path(".leftoff/resume-logs/session-x.json").read_text(encoding="utf-8"))
    assert said == {
        "session_id": "x",
        "critical_context": {"[forgotten]": {"[forgotten]_port": 1}},
        "files": {"src/[forgotten].py": None},
    }


def test_settings_are_named_and_stay_as_they_are(settings, session):
    """With their comments; the user's and the project's, for a text and for a session."""
    text = f"# my careful notes\ncontext_management:\n  # about koala sleeps and {SESSION}\n  {{}}\n"
    settings(text)
    mine = put(".leftoff/configuration.yaml", text=text)
    update_library()
    of_user = paths.config_folder() / "configuration.yaml"
    said = leftoff("forget", "--text", "koala sleeps", "--yes")
    assert "in your settings, which are yours to change" in said
    assert str(of_user) in said
    assert "but for your settings: none holds it" in said
    plan = json.loads(leftoff("forget", SESSION, "--yes", "--json"))
    assert plan["settings"] == [str(of_user), str(Path(".leftoff/configuration.yaml").absolute())]
    assert as_they_are(mine) == mine
    assert "but for your settings" in leftoff("forget", "--text", "my careful notes", "--yes", code=3)


@pytest.mark.parametrize("text", ["abc", "[a].", "a-b-c", "  .;:!  ", "犬", "forgotten", "[FORGOTTEN]"])
def test_a_text_that_stands_everywhere_is_refused(text):
    """It is measured by its letters; and what stands in the place of others cannot be forgotten."""
    with pytest.raises(UsageError, match=r"at least 4 letters|cannot be forgotten itself"):
        flow.plan_text(text)


@pytest.mark.parametrize("text", ["abcd", "a.b.c.d", "犬猫", "แมว", "한국"])
def test_a_text_of_enough_letters_is_taken(text):
    """Two are a word in scripts without spaces."""
    assert flow.plan_text(text).is_empty


def test_latest_is_no_name_for_what_is_erased(session):
    """It is another session every day."""
    said = leftoff("forget", "latest", "--yes", code=2)
    assert "Name the one to forget by its number or id" in said


def test_a_script_is_told_why_nothing_was_erased(session):
    """Nobody could be asked; a dry run; nothing to do."""
    update_library()
    assert "--yes" in json.loads(leftoff("forget", SESSION, "--json", code=1))["error"]
    assert "dry-run" in json.loads(leftoff("forget", SESSION, "--json", "--dry-run"))["why"]
    assert (
        "keeps nothing" in json.loads(leftoff("forget", "--text", "stands nowhere", "--json", code=3))["why"]
    )


def test_a_folder_that_the_user_calls_as_one_of_ours_holds_no_pauses(settings, session):
    """A chat in ``sessions`` that names a session is masked, not deleted as a pause of it."""
    settings("  chat:\n    folder: sessions\n")
    put(f"sessions/{CHAT}.md", text=f"{PAGE}after {SESSION}\n")
    update_library()
    assert flow.forget(flow.plan_session(SESSION, Path.cwd())).left == ()
    assert Path(f"sessions/{CHAT}.md").read_text(encoding="utf-8").endswith("after [forgotten]\n")


def test_a_link_in_a_chosen_folder_is_not_ours(tmp_path):
    """It may lead anywhere."""
    put(tmp_path / f"{CHAT}.md", text=PAGE)
    link = tmp_path / "below" / f"{CHAT}.md"
    link.parent.mkdir()
    Path(link).symlink_to(tmp_path / f"{CHAT}.md")
    assert own_documents.is_chat(tmp_path / f"{CHAT}.md")
    assert not own_documents.is_chat(link)


def test_a_file_that_cannot_be_read_is_said_and_one_that_is_gone_holds_nothing(tmp_path):
    """Not knowing is no proof."""
    assert not forget_places.holding(tmp_path / "gone", forget_places.needles_of("koala"))
    with pytest.raises(StorageError, match="cannot be read"):
        forget_places.content_of(tmp_path)


def test_the_tables_and_keys_of_a_database_are_no_content(tmp_path):
    """Its rows are; and of a database that is broken every byte counts."""
    database = tmp_path / "team.db"
    with closing(sqlite3.connect(database)) as opened, opened:
        opened.execute("CREATE TABLE logs(mission TEXT, body TEXT)")
        opened.execute("INSERT INTO logs VALUES ('koala', '{\"next_steps\": 1}')")
    for words, is_held in (("mission", False), ("next_steps", False), ("koala", True)):
        assert forget_databases.holding(database, forget_places.needles_of(words)) is is_held
    broken = tmp_path / "broken.db"
    broken.write_bytes(database.read_bytes()[:100] + b"mission")
    assert forget_databases.holding(broken, forget_places.needles_of("mission"))


def test_latest_is_refused_by_the_flow_too():
    """In any case."""
    with pytest.raises(UsageError, match="another session every day"):
        flow.plan_session("Latest", Path.cwd())
