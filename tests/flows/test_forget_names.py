"""Forgetting what stands in names: of a transcript, of a project, of a tool, and in the files beside a chat."""

import json
from pathlib import Path

import pytest

from leftoff.flows import forget as flow
from leftoff.flows.archive_sessions import archive_here, keep_finished
from leftoff.flows.library_update import rebuild_library, update_library
from leftoff.flows.list_sessions import list_sessions
from leftoff.flows.save_log import save_log
from leftoff.flows.search import Asked, search
from leftoff.system import paths
from leftoff.system.register import Register
from leftoff.testing.builders import Story, call
from tests.cli.test_install import leftoff
from tests.flows.test_forget import NOW, OTHER, SESSION, all_kept
from tests.library.shelves import everything

WORD = "zanzibarquux"
CHAT = "helper_session_20260106_120000"


def finds(query):
    """Whether a search answers."""
    return bool(search(Asked(query=query), NOW).sessions)


@pytest.fixture
def named(home, own_world):
    """A session below a folder that is called by the word, and one that is not; both archived."""
    settings = own_world / ".config" / "leftoff" / "configuration.yaml"
    settings.parent.mkdir(parents=True)
    settings.write_text("context_management:\n  archive:\n    enabled: true\n", encoding="utf-8")
    story = Story(session_id=SESSION, project=f"/srv/{WORD}").asked("The koala sleeps").replied("yes")
    other = Story(session_id=OTHER, project="/srv/plain").asked("The quokka sleeps").replied("yes")
    transcripts = home.claude(story, f"-srv-{WORD}"), home.claude(other)
    keep_finished(NOW)
    update_library()
    assert [*list_sessions(None, None)]
    return transcripts


def test_a_text_in_a_transcript_s_path_leaves_nothing_of_it(named):
    """The session leaves library, catalogue and archive whole; the agent's own file is named; the other session stays."""
    assert WORD.encode() in everything(paths.data_folder())
    plan = flow.plan_text(WORD)
    assert (plan.called, plan.agents_own) == (1, (named[0],))
    assert flow.forget(plan).left == ()
    assert WORD.encode() not in all_kept()
    assert finds("quokka")
    assert named[0].exists()


def test_what_is_called_by_a_forgotten_text_does_not_come_again(named):
    """Not by a search, a list, a rebuild, nor by the archive."""
    flow.forget(flow.plan_text(WORD))
    named[0].touch()
    assert not finds("koala")
    assert {each.entry.session_id for each in list_sessions(None, None)} == {SESSION, OTHER}
    rebuild_library()
    keep_finished(NOW)
    assert not finds("koala")
    assert {each.session_id for each in archive_here().sessions()} == {OTHER}
    assert WORD.encode() not in everything(paths.data_folder())


def test_the_command_says_that_sessions_leave_the_library_and_ends_well(named):
    """Only the agent's own files hold it then, so all is done."""
    said = leftoff("forget", "--text", WORD, "--yes", code=0)
    assert "in the path or project of 1 sessions" in said
    assert "none holds it" in said


def test_documents_of_a_project_that_is_called_by_the_text_are_cleaned_and_not_registered_again(
    home, own_world, monkeypatch
):
    """Masking a log must not write its path down anew."""
    project = own_world / WORD
    project.mkdir()
    monkeypatch.chdir(project)
    transcript = home.claude(
        Story(session_id=SESSION, project=str(project)).asked(f"Go to {WORD}").replied("ok")
    )
    save_log(str(transcript), project)
    update_library()
    assert flow.forget(flow.plan_text(WORD)).left == ()
    assert WORD.encode() not in all_kept()


def test_a_tool_that_is_called_by_the_text_loses_its_name(home):
    """In what is there and in what comes again; the call itself is still found."""
    story = Story(session_id=SESSION, project=str(Path.cwd())).asked("do")
    home.claude(story.replied("ok", call(f"mcp__{WORD}__query", {"of": "platypus"}, "x")))
    update_library()
    assert finds(f"tool:mcp__{WORD}__query platypus")
    assert flow.forget(flow.plan_text(WORD)).left == ()
    assert WORD.encode() not in everything(paths.data_folder())
    rebuild_library()
    assert WORD.encode() not in everything(paths.data_folder())
    assert finds("platypus")


@pytest.fixture
def talks(own_world):
    """A folder for chats that the user chose, with a chat in it."""
    Path(".git").mkdir()
    settings = own_world / ".config" / "leftoff" / "configuration.yaml"
    settings.parent.mkdir(parents=True, exist_ok=True)
    settings.write_text("context_management:\n  chat:\n    folder: talks\n", encoding="utf-8")
    folder = Path.cwd() / "talks"
    folder.mkdir()
    (folder / f"{CHAT}.md").write_text(f"# Chat\n\n**Session ID:** {CHAT}\nhello\n", encoding="utf-8")
    return folder


def begun(chat, words):
    """A change of a chat that somebody did not live to finish: words behind its end."""
    content = chat.read_bytes()
    places = json.dumps({"changes": [[len(content), 0, len(words)]]}).encode()
    chat.with_name(f".{chat.name}.patch").write_bytes(places + b"\n" + words)


def test_a_text_in_a_begun_change_of_a_chat_is_finished_and_masked(talks):
    """The turn that was being saved is not lost, its forgotten words are."""
    chat = talks / f"{CHAT}.md"
    begun(chat, f"You: the {WORD} plan, and lunch\n".encode())
    assert flow.forget(flow.plan_text(f"{WORD} plan")).left == ()
    assert WORD.encode() not in everything(talks)
    assert chat.read_text(encoding="utf-8").endswith("hello\nYou: the [forgotten], and lunch\n")
    assert not chat.with_name(f".{chat.name}.patch").exists()


def test_a_text_in_what_could_not_be_put_into_a_chat_is_masked(talks):
    """What was kept aside, and what a killed writer left; another's file of that folder is not touched."""
    left = [f"{CHAT}.md.unsaved", f"{CHAT}.md.unsaved-2", f".{CHAT}.md.0123456789ab.tmp"]
    for name in left:
        (talks / name).write_text(f"the {WORD} plan", encoding="utf-8")
    (talks / "mine.txt").write_text(WORD, encoding="utf-8")
    assert flow.forget(flow.plan_text(WORD)).left == ()
    assert [(talks / name).read_text(encoding="utf-8") for name in left] == ["the [forgotten] plan"] * 3
    assert (talks / "mine.txt").read_text(encoding="utf-8") == WORD


def test_what_the_user_put_aside_is_looked_at_and_masked(talks):
    """As ``leftoff resume --remote`` tells one to call one's own log; JSON stays valid, however it is written."""
    aside = talks / f"session-{SESSION}.json.mine"
    aside.write_text('{"mission": "the \\u007aanzibarquux plan"}', encoding="utf-8")
    assert flow.forget(flow.plan_text(WORD)).left == ()
    assert json.loads(aside.read_text(encoding="utf-8")) == {"mission": "the [forgotten] plan"}


def test_what_the_user_put_aside_goes_with_its_session(talks):
    """By its name, though nothing in it says whose it is."""
    aside = talks / f"session-{CHAT}.md.mine"
    aside.write_text("mine", encoding="utf-8")
    (talks / f"session-{CHAT}-2.md.mine").write_text("of another", encoding="utf-8")
    update_library()
    assert flow.forget(flow.plan_session(CHAT, Path.cwd())).left == ()
    assert not aside.exists()
    assert (talks / f"session-{CHAT}-2.md.mine").exists()


def test_a_begun_change_that_fits_no_more_is_kept_aside_and_masked(talks):
    """Somebody else changed the chat meanwhile."""
    chat = talks / f"{CHAT}.md"
    begun(chat, f"the {WORD} plan\n".encode())
    Register(folder=paths.data_folder()).note_written(chat, CHAT, NOW)
    chat.write_text("short", encoding="utf-8")
    assert flow.forget(flow.plan_text(WORD)).left == ()
    assert (talks / f"{CHAT}.md.unsaved").read_text(encoding="utf-8") == "the [forgotten] plan\n"


@pytest.mark.parametrize("is_whole", [True, False], ids=["with its chat", "without"])
def test_a_chat_is_forgotten_by_its_id_with_all_that_stands_beside_it(talks, is_whole):
    """A chat whose id only begins alike stays."""
    chat = talks / f"{CHAT}.md"
    begun(chat, b"more\n")
    (talks / f"{CHAT}.md.unsaved").write_text("aside", encoding="utf-8")
    (talks / f"{CHAT}.md.unsaved-2").write_text("aside", encoding="utf-8")
    (talks / f"{CHAT}_2.md").write_text("another", encoding="utf-8")
    (talks / "README.md").write_text("no chat", encoding="utf-8")
    if not is_whole:
        chat.unlink()
    update_library()
    assert flow.forget(flow.plan_session(CHAT, Path.cwd())).left == ()
    assert sorted(path.name for path in talks.iterdir() if path.name != ".lock") == [
        "README.md",
        f"{CHAT}_2.md",
    ]
