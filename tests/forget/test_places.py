"""What forgetting changes is ours: not the user's files and settings, nor what a link points to."""

import json
import os
import subprocess
from pathlib import Path

import pytest

from leftoff.chat import saved_chats
from leftoff.chat.saved_chats import ChatStore
from leftoff.errors import StorageError
from leftoff.forget import forget, places
from leftoff.live.installed import is_program
from leftoff.platform import paths
from leftoff.platform.register import Register
from leftoff.resume_logs.save import save_log
from leftoff.search.search import SearchRequest, search
from leftoff.search.update_index import update_library
from leftoff.testing.builders import Story
from leftoff.workspace import Workspace
from tests.cli.test_install import leftoff
from tests.forget.support import (
    CHAT,
    CHAT_PAGE,
    NOW,
    OTHER,
    SESSION,
    WORD,
    finds,
    forget_project,
    forget_session,
    forget_text,
    put,
    query_library,
)
from tests.search.sample_library import everything

QUOTED = f"# How chats look\n\n```\n{CHAT_PAGE}```\n"


def documents_in(folder):
    return [path.name for path in Path(folder).iterdir() if path.suffix != ".lock" and path.name != ".lock"]


def as_they_are(files):
    return {path: path.read_text(encoding="utf-8") for path in files}


def test_the_user_s_files_in_a_folder_of_chats_and_logs_stay(settings, session):
    """The user's own files are neither changed nor found, whatever their names and content."""
    settings("  chat:\n    folder: docs\n  resume_logs:\n    storage_dir: docs\n")
    mine = put("docs/README.md", "docs/session-notes.md", "docs/a.md.mine", "docs/README.md.unsaved")
    mine |= put("docs/data.json", "docs/index.json", "docs/session-x.json", text='{"a":   "koala sleeps"}\n')
    mine |= put("docs/quoted.md", text=QUOTED)
    put(f"docs/{CHAT}.md", "docs/renamed.md", text=CHAT_PAGE)
    save_log(str(session), Workspace.open())
    log = Path(f"docs/session-{SESSION}.md")
    update_library(Workspace.open())
    found = {
        Path(each.source.path).name
        for each in search(Workspace.open(), SearchRequest(query="koala"), NOW).sessions
    }
    assert found == {session.name, log.name, f"{CHAT}.md", "renamed.md"}
    assert forget_text("koala sleeps").left == ()
    assert as_they_are(mine) == mine
    for ours in (Path(f"docs/{CHAT}.md"), Path("docs/renamed.md"), log):
        assert "[forgotten]" in ours.read_text(encoding="utf-8")
    assert forget_session(SESSION).left == ()
    assert not log.exists()
    assert forget_project().left == ()
    assert as_they_are(mine) == mine
    assert {*documents_in("docs")} == {path.name for path in mine}


@pytest.mark.parametrize(
    "look", [lambda: update_library(Workspace.open()), lambda: finds("wombat")], ids=["an update", "a search"]
)
def test_a_chat_that_became_a_file_of_the_user_leaves_the_library(settings, session, look):
    """The next update or search sees that the file is not a chat any more."""
    settings("  chat:\n    folder: docs\n")
    page = Path(f"docs/{CHAT}.md")
    put(page, text=CHAT_PAGE.replace("koala", "wombat"))
    update_library(Workspace.open())
    assert finds("wombat")
    page.write_text("my own page about the wombat\n", encoding="utf-8")
    look()
    assert str(page.absolute()) not in query_library("SELECT path FROM sources")


def test_files_left_beside_a_document_are_masked_and_deleted_with_it(settings, session):
    """Half-written files, versions put aside and torn logs are masked and deleted too."""
    settings("  resume_logs:\n    storage_dir: notes\n")
    save_log(str(session), Workspace.open())
    log = f"notes/session-{SESSION}"
    (Path.cwd() / f"{log}.json").write_text("koala sleeps {", encoding="utf-8")
    beside = [f"{log}.md.before-remote-1", f"{log}.md.mine", f"notes/.session-{SESSION}.md.0123456789ab.tmp"]
    beside += [f"{log}.json.before-remote-2"]
    put(*beside)
    assert forget_text("koala sleeps").left == ()
    for each in (*beside, f"{log}.md", f"{log}.json"):
        assert b"koala" not in Path(each).read_bytes()
    assert forget_session(SESSION).left == ()
    assert documents_in("notes") == []


@pytest.fixture
def docs(isolated_home):
    """The folder that the user chose for logs; the user's own files in it are called as logs are."""
    mine = isolated_home / ".config" / "leftoff" / "configuration.yaml"
    mine.parent.mkdir(parents=True)
    mine.write_text("context_management:\n  resume_logs:\n    storage_dir: docs\n", encoding="utf-8")
    Path("docs").mkdir()
    return Path("docs").absolute()


def test_the_user_s_files_that_are_named_like_ours_stay(session, docs):
    """Files are kept if the document they are named after is the user's own or does not exist."""
    save_log(str(session), Workspace.open())
    names = (
        "session-notes.md",
        "session-notes.md.patch",
        "session-plan.md.mine",
        "session-plan.json.unsaved",
    )
    for name in names:
        (docs / name).write_text("koala sleeps", encoding="utf-8")
    assert forget_text("koala sleeps").left == ()
    assert forget_project().left == ()
    assert {name: (docs / name).read_text(encoding="utf-8") for name in names} == dict.fromkeys(
        names, "koala sleeps"
    )
    assert not (docs / f"session-{SESSION}.md").exists()


def test_documents_in_folders_of_earlier_settings_are_found_by_the_register(settings, session):
    """A project's state that this machine wrote is masked but not deleted; one from elsewhere stays."""
    settings("  resume_logs:\n    storage_dir: notes\n")
    save_log(str(session), Workspace.open())
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
    assert forget_text("koala sleeps").left == ()
    assert "koala" not in log.read_text(encoding="utf-8").lower()
    assert state.read_text(encoding="utf-8") == (
        "---\ntitle: '[forgotten]' # a [forgotten]\nkoala_sleeps: 1\n---\n## Notes\n[forgotten]\n"
    )
    assert Register(folder=paths.data_folder()).standing(state) == "written"
    assert trusted.read_text(encoding="utf-8") == "koala sleeps\n"
    assert forget_session(SESSION).left == ()
    assert not log.exists()
    assert forget_project().left == ()
    assert state.exists()


def test_chats_in_a_folder_outside_the_settings_are_found_by_the_last_list(settings):
    """The folder is known only from the last list that was shown."""
    store = ChatStore.open(Workspace.open(Path.cwd()), Path.cwd() / "talks")
    put(f"talks/{CHAT}.md", text=CHAT_PAGE)
    saved_chats.remember_list(store.folder, [])
    assert forget_text("koala sleeps").left == ()
    assert "[forgotten]" in Path(f"talks/{CHAT}.md").read_text(encoding="utf-8")


def test_a_project_is_erased_with_its_chats_in_a_chosen_folder(settings, session, isolated_home):
    """The user's files there stay, and so does a folder outside the project."""
    settings("  chat:\n    folder: talks\n")
    chats = [f"talks/{CHAT}.md", f"talks/{CHAT}.md.unsaved"]
    mine = put("talks/own.md")
    put(*chats, text=CHAT_PAGE)
    update_library(Workspace.open())
    plan = forget.plan_project(Workspace.open())
    assert {*plan.documents} >= {Path(each).absolute() for each in chats}
    assert forget.forget(plan).left == ()
    assert [*Path("talks").iterdir()] == [*mine]
    assert not finds("koala")
    shared = isolated_home / "all-chats"
    settings(f"  chat:\n    folder: {shared}\n")
    put(shared / f"{CHAT}.md", text=CHAT_PAGE)
    assert forget_project().left == ()
    assert (shared / f"{CHAT}.md").exists()


def test_a_folder_that_cannot_be_listed_is_an_error(tmp_path):
    with pytest.raises(StorageError, match="cannot be listed"):
        places.documents_in(tmp_path / "gone", ())


def test_settings_are_named_and_never_changed(settings, session):
    """Settings of the user and of the project are reported and never changed."""
    text = f"# my careful notes\ncontext_management:\n  # about koala sleeps and {SESSION}\n  {{}}\n"
    settings(text)
    mine = put(".leftoff/configuration.yaml", text=text)
    update_library(Workspace.open())
    of_user = paths.config_folder() / "configuration.yaml"
    output = leftoff("forget", "--text", "koala sleeps", "--yes")
    assert "in your settings and installations, which are yours to change" in output
    assert str(of_user) in output
    assert "but for your settings: none holds it" in output
    plan = json.loads(leftoff("forget", SESSION, "--yes", "--json"))
    assert plan["settings"] == [str(of_user), str(Path(".leftoff/configuration.yaml").absolute())]
    assert as_they_are(mine) == mine
    assert "but for your settings" in leftoff("forget", "--text", "my careful notes", "--yes", code=3)


def test_what_is_installed_for_the_agents_is_never_changed(session):
    """A word that the program itself contains must not break the hooks."""
    leftoff("install", "claude", "--yes")
    installed = {
        file: file.read_bytes()
        for file in paths.data_folder().rglob("*")
        if file.is_file() and is_program(file)
    }
    assert len(installed) > 1
    assert any(b"leftoff" in content for content in installed.values())
    forget_text("leftoff")
    assert {file: file.read_bytes() for file in installed} == installed


def test_our_gitignore_is_never_changed(session):
    """What the user added to it is named with the settings."""
    save_log(str(session), Workspace.open())
    ignored = Path(".leftoff/.gitignore").absolute()
    before = ignored.read_bytes()
    for text in ("project", "configuration.yaml"):
        plan = forget.plan_text(text, Workspace.open())
        assert plan.settings == ()
        if not plan.is_empty:
            assert forget.forget(plan).left == ()
        assert ignored.read_bytes() == before
    ignored.write_bytes(before + b"!koala-sleeps.md\n")
    plan = forget.plan_text("koala sleeps", Workspace.open())
    assert plan.settings == (ignored,)
    forget.forget(plan)
    assert ignored.read_bytes() == before + b"!koala-sleeps.md\n"


@pytest.mark.parametrize("place", [".leftoff/notes", ".leftoff/resume-logs/deep", ".leftoff/sessions"])
def test_links_are_never_followed(session, isolated_home, place):
    """The target of a link is never changed; forgetting a project deletes the link itself."""
    thesis = isolated_home / "Documents" / f"session-{SESSION}.md"
    thesis.parent.mkdir()
    thesis.write_text(f"koala sleeps, {SESSION}", encoding="utf-8")
    Path(place).parent.mkdir(parents=True)
    Path(place).symlink_to(thesis.parent)
    Path(".leftoff/mine.md").symlink_to(thesis)
    update_library(Workspace.open())
    forget_text("koala sleeps")
    forget_session(SESSION)
    assert Path(place).is_symlink()
    done = forget_project()
    assert {Path(place).absolute(), Path(".leftoff/mine.md").absolute()} <= {*done.deleted}
    assert not os.path.lexists(place)
    assert not os.path.lexists(".leftoff/mine.md")
    assert thesis.read_text(encoding="utf-8") == f"koala sleeps, {SESSION}"


@pytest.fixture
def checkouts(home, isolated_home):
    """A repository and its worktree, a session with a log in each; and a pause by hand."""
    main, tree = isolated_home / "w" / "shop", isolated_home / "w" / "shop-tree"
    main.mkdir(parents=True)
    for words in (
        ["init", "-q"],
        ["commit", "-q", "--allow-empty", "-m", "x"],
        ["worktree", "add", "-q", str(tree)],
    ):
        subprocess.run(["git", "-c", "user.name=a", "-c", "user.email=a@b", *words], cwd=main, check=True)
    for folder, session_id in ((main, SESSION), (tree, OTHER)):
        story = Story(session_id=session_id, project=str(folder)).asked("The koala sleeps")
        save_log(str(home.claude(story.replied("yes", used=100))), Workspace.open(folder))
    put(main / ".leftoff" / "sessions" / "session-20260106-090000.json", text="{}")  # a pause made by hand
    return main, tree


@pytest.mark.parametrize("at", [0, 1], ids=["the main checkout", "a worktree"])
def test_in_a_folder_shared_by_worktrees_only_the_sessions_documents_are_deleted(checkouts, monkeypatch, at):
    """That is said before; the other checkout's log stays, and so do pauses made by hand."""
    monkeypatch.chdir(checkouts[at])
    logs = checkouts[0] / ".leftoff" / "resume-logs"
    assert forget.plan_project(Workspace.open()).shared == checkouts[0] / ".leftoff"
    output = leftoff("forget", "--project", "--yes", code=0)
    assert "is shared with other worktrees" in output
    mine, others = (SESSION, OTHER) if at == 0 else (OTHER, SESSION)
    assert not [*logs.glob(f"session-{mine}*")]
    assert (logs / f"session-{others}.md").exists()
    assert [*logs.with_name("sessions").glob("*.json")]


def test_a_locked_worktree_that_is_missing_still_shares_the_folder(checkouts, monkeypatch):
    """After it is unlocked, the missing worktree no longer counts."""
    main, tree = checkouts
    monkeypatch.chdir(main)
    subprocess.run(["git", "worktree", "lock", str(tree)], check=True)
    tree.rename(tree.with_name("unplugged"))
    assert forget.plan_project(Workspace.open(main)).shared == main / ".leftoff"
    subprocess.run(["git", "worktree", "unlock", str(tree)], check=True)
    assert forget.plan_project(Workspace.open(main)).shared is None


@pytest.fixture
def talks(isolated_home):
    """A folder for chats that the user chose, with a chat in it."""
    Path(".git").mkdir()
    settings = isolated_home / ".config" / "leftoff" / "configuration.yaml"
    settings.parent.mkdir(parents=True, exist_ok=True)
    settings.write_text("context_management:\n  chat:\n    folder: talks\n", encoding="utf-8")
    folder = Path.cwd() / "talks"
    folder.mkdir()
    (folder / f"{CHAT}.md").write_text(f"# Chat\n\n**Session ID:** {CHAT}\nhello\n", encoding="utf-8")
    return folder


def leave_unfinished_change(chat, words):
    """Leave a change of a chat that a killed process did not finish: words behind its end."""
    content = chat.read_bytes()
    places = json.dumps({"changes": [[len(content), 0, len(words)]]}).encode()
    chat.with_name(f".{chat.name}.patch").write_bytes(places + b"\n" + words)


def test_an_unfinished_change_of_a_chat_is_finished_and_masked(talks):
    """The turn that was being saved is not lost."""
    chat = talks / f"{CHAT}.md"
    leave_unfinished_change(chat, f"You: the {WORD} plan, and lunch\n".encode())
    assert forget_text(f"{WORD} plan").left == ()
    assert WORD.encode() not in everything(talks)
    assert chat.read_text(encoding="utf-8").endswith("hello\nYou: the [forgotten], and lunch\n")
    assert not chat.with_name(f".{chat.name}.patch").exists()


def test_an_unfinished_change_that_no_longer_fits_is_put_aside_and_masked(talks):
    """Another program changed the chat before the change was finished."""
    chat = talks / f"{CHAT}.md"
    leave_unfinished_change(chat, f"the {WORD} plan\n".encode())
    Register(folder=paths.data_folder()).note_written(chat, CHAT, NOW)
    chat.write_text("short", encoding="utf-8")
    assert forget_text(WORD).left == ()
    assert (talks / f"{CHAT}.md.unsaved").read_text(encoding="utf-8") == "the [forgotten] plan\n"


@pytest.mark.parametrize("is_whole", [True, False], ids=["with its chat", "without"])
def test_a_chat_is_deleted_with_all_files_beside_it(talks, is_whole):
    """A chat whose id only begins alike stays."""
    chat = talks / f"{CHAT}.md"
    leave_unfinished_change(chat, b"more\n")
    (talks / f"{CHAT}.md.unsaved").write_text("aside", encoding="utf-8")
    (talks / f"{CHAT}.md.unsaved-2").write_text("aside", encoding="utf-8")
    (talks / f"{CHAT}_2.md").write_text("another", encoding="utf-8")
    (talks / "README.md").write_text("no chat", encoding="utf-8")
    if not is_whole:
        chat.unlink()
    update_library(Workspace.open())
    assert forget_session(CHAT).left == ()
    assert sorted(path.name for path in talks.iterdir() if path.name != ".lock") == [
        "README.md",
        f"{CHAT}_2.md",
    ]
