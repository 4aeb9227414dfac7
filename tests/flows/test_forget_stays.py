"""What was forgotten stays away, wherever it could come back from, and what is asked for is really a session."""

import json
import shutil
import sqlite3
from pathlib import Path

import pytest
from ruamel.yaml import YAML

from leftoff.errors import AmbiguousSessionError, DocumentError, NotFoundError
from leftoff.flows import forget as flow
from leftoff.flows.archive_sessions import keep_finished
from leftoff.flows.library_folder import library_folder
from leftoff.flows.library_tend import tend
from leftoff.flows.library_update import _Update, rebuild_library, update_library
from leftoff.flows.save_log import save_log
from leftoff.flows.search import Asked, search
from leftoff.flows.sessions import found_sessions
from leftoff.library import shelf as shelves
from leftoff.library.blocks import unpacked
from leftoff.library.pieces import Piece, Source
from leftoff.library.writing import Writer
from leftoff.system import paths
from leftoff.system.register import Register
from leftoff.testing.builders import Story, call
from tests.flows.test_forget import NOW, OTHER, SECRET, SESSION, all_kept, archived_ids, kept  # noqa: F401
from tests.library.shelves import everything


def stored():
    """Every text that is compressed in the library."""
    shelf = shelves.opened_to_read(library_folder())
    assert shelf is not None
    texts = [text for (data,) in shelf.execute("SELECT data FROM blocks") for text in unpacked(data)]
    shelf.close()
    return "\n".join(texts)


def finds(query):
    """Whether a search answers."""
    return bool(search(Asked(query=query), NOW).sessions)


def one(home, *prompts):
    """A session of this project."""
    story = Story(session_id=SESSION, project=str(Path.cwd()))
    for prompt in prompts:
        story = story.asked(prompt).replied("ok")
    return home.claude(story)


def test_the_pause_of_a_forgotten_session_leaves_the_library_too(kept):  # noqa: F811
    """A pause is called by its own id; neither it nor one that is written later is found."""
    pause = Path(".leftoff/sessions/session-20260106-120000.md")
    pause.write_text(f"# Pause\n\n- **Session**: claude {SESSION}\n\nplatypus words\n", encoding="utf-8")
    other = pause.with_name("session-20260106-120000-2.md")
    other.write_text("# Another\nwombat words\n", encoding="utf-8")
    update_library()
    assert "platypus" in stored()
    assert flow.forget(flow.plan_session(SESSION, Path.cwd())).left == ()
    assert "platypus" not in stored()
    assert SESSION not in stored()
    assert other.exists()
    pause.with_name("session-20260109-120000.md").write_text(f"# {SESSION}\nechidna\n", encoding="utf-8")
    save_log(str(kept[0]), Path.cwd())
    assert not finds("echidna")
    assert not finds("koala")


def test_the_proof_looks_into_what_is_compressed(kept):  # noqa: F811
    """A text and an id that somebody put into a block afterwards are found there."""
    plans = flow.plan_session(SESSION, Path.cwd()), flow.plan_text(SECRET)
    for plan in plans:
        flow.forget(plan)
        assert [*flow.still_holding(plan)] == []
    writer = Writer(library_folder())
    late = Source("log", "/x/late.md", None, "late", None, None, 1, 1)
    text = f"{'filler ' * 40} {SESSION} and THE «Nachtigall»  plan"
    assert writer.replace(late, [Piece("log", text, 1, 0)])
    writer.close()
    for plan in plans:
        assert Path(library_folder(), shelves.NAME) in [*flow.still_holding(plan)]


def test_a_session_that_holds_a_forgotten_text_is_not_archived_again(kept):  # noqa: F811
    """The copy would be exact, so there is none; other sessions are archived."""
    flow.forget(flow.plan_text(SECRET))
    assert archived_ids() == {OTHER}
    keep_finished(NOW)
    assert archived_ids() == {OTHER}


def test_a_project_is_forgotten_with_the_sessions_that_its_agent_deleted(kept):  # noqa: F811
    """Archive and library still had them."""
    tend(NOW)
    kept[0].unlink()
    flow.forget(flow.plan_project(Path.cwd()))
    assert archived_ids() == set()
    assert "koala" not in stored()


def test_a_text_goes_from_projects_of_which_no_transcript_is_left(kept, tmp_path, monkeypatch):  # noqa: F811
    """The register knows where documents were written."""
    project = Path.cwd()
    for transcript in kept:
        transcript.unlink()
    shutil.rmtree(library_folder())
    shutil.rmtree(paths.data_folder() / "archive")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    assert flow.forget(flow.plan_text(SECRET)).left == ()
    assert b"Nachtigall" not in everything(project / ".leftoff")


@pytest.mark.parametrize("damage", ["garbage", "older"])
def test_a_library_that_is_made_anew_still_knows_what_was_forgotten(kept, damage):  # noqa: F811
    """It is remembered in a file of its own."""
    flow.forget(flow.plan_session(SESSION, Path.cwd()))
    flow.forget(flow.plan_text("Write the docs"))
    library = Path(library_folder(), shelves.NAME)
    if damage == "garbage":
        library.write_bytes(b"garbage" * 1000)
    else:
        with sqlite3.connect(library) as shelf:
            shelf.execute("UPDATE facts SET value = 1 WHERE name = 'schema'")
        shelf.close()
    assert not finds("koala")
    assert "Write the docs" not in stored()


def test_a_newer_library_is_left_alone(kept):  # noqa: F811
    """By a search, an update, a rebuild and by forgetting; each says so."""
    library = Path(library_folder(), shelves.NAME)
    with sqlite3.connect(library) as shelf:
        shelf.execute("UPDATE facts SET value = 99 WHERE name = 'schema'")
    shelf.close()
    before = library.read_bytes()
    for attempt in (lambda: search(Asked(query="docs"), NOW), update_library, rebuild_library):
        with pytest.raises(DocumentError, match="newer leftoff"):
            attempt()
    with pytest.raises(DocumentError, match="cannot be read"):
        flow.plan_text(SECRET)
    assert library.read_bytes() == before


@pytest.mark.parametrize(
    ("said", "text"),
    [
        ("今天执行夜莺计划然后休息", "夜莺计划"),
        ("use customer_acmecorp2026prod now", "acmecorp"),
        ("the\n  Night-PLAN stands", "night plan"),
    ],
)
def test_a_forgotten_text_is_masked_inside_a_run_or_a_word_when_it_comes_again(home, said, text):
    """Rebuilding reads the transcript, which still has it."""
    one(home, said)
    update_library()
    flow.forget(flow.plan_text(text))
    masked = stored()
    assert "[forgotten]" in masked
    rebuild_library()
    assert stored() == masked


def test_a_forgotten_text_in_a_file_name_does_not_come_back(home):
    """Neither in the call nor in what it touched."""
    story = Story(session_id=SESSION, project=str(Path.cwd())).asked("do")
    home.claude(story.replied("ok", call("Read", {"file_path": "/srv/zanzibarquux/a.py"}, "x")))
    update_library()
    flow.forget(flow.plan_text("zanzibarquux"))
    rebuild_library()
    assert b"zanzibarquux" not in everything(paths.data_folder())
    assert "zanzibarquux" not in stored()


def test_an_update_under_way_adds_nothing_of_what_was_forgotten_meanwhile(home):
    """It had looked for forgotten things before."""
    save_log(str(one(home, "koala one")), Path.cwd())
    Path(library_folder()).mkdir(parents=True)
    update = _Update(library_folder(), None, None)
    found = found_sessions()
    flow.forget(flow.plan_session(SESSION, Path.cwd()))
    assert not update.run(lambda: found).finished
    update.writer.close()
    update_library()
    assert "koala" not in stored()


def test_a_word_that_is_no_session_is_refused(kept):  # noqa: F811
    """Although it stands in every path of the register."""
    register = (paths.data_folder() / "register.jsonl").read_bytes()
    for words in ("resume-logs", "session", "written"):
        with pytest.raises(NotFoundError):
            flow.plan_session(words, Path.cwd())
    assert (paths.data_folder() / "register.jsonl").read_bytes() == register


def test_a_deleted_session_is_named_by_an_unambiguous_beginning(kept):  # noqa: F811
    """As one that is still there."""
    tend(NOW)
    for transcript in kept:
        transcript.unlink()
    twin = Path(f".leftoff/resume-logs/session-{SESSION[:8]}-twin.md")
    twin.write_text("# x", encoding="utf-8")
    with pytest.raises(AmbiguousSessionError, match="names 2"):
        flow.plan_session(SESSION[:8], Path.cwd())
    twin.unlink()
    assert flow.forget(flow.plan_session(SESSION[:8], Path.cwd())).left == ()
    assert SESSION.encode() not in all_kept()


def test_what_a_killed_process_left_in_the_archive_goes_too(kept):  # noqa: F811
    """A copy without its facts, and half a copy; for a session and for a text."""
    archive = paths.data_folder() / "archive"
    copy = archive / f"claude-{SESSION}.tar.zst"
    half = archive / f".{copy.name}.123.tmp"
    half.write_bytes(copy.read_bytes())
    flow.forget(flow.plan_text(SECRET))
    assert not half.exists()
    copy.write_bytes(b"orphan")
    assert flow.forget(flow.plan_session(SESSION, Path.cwd())).left == ()
    assert not copy.exists()


def test_a_library_that_cannot_be_read_is_no_proof(kept):  # noqa: F811
    """It is said, and nothing is called forgotten."""
    Path(library_folder(), shelves.NAME).write_bytes(b"garbage" * 1000)
    for attempt in (lambda: flow.plan_text("stands nowhere"), lambda: flow.plan_session(SESSION, Path.cwd())):
        with pytest.raises(DocumentError, match="leftoff search --rebuild"):
            attempt()


def test_documents_are_masked_in_any_case_and_spacing_and_stay_valid(kept):  # noqa: F811
    """Markdown, JSON with the words apart or escaped, YAML."""
    folder = Path(".leftoff/sessions")
    (folder / "a.md").write_text('THE "NACHTIGALL" PLAN, the\n"Nachtigall" plan', encoding="utf-8")
    (folder / "b.json").write_text(json.dumps({"the nachtigall": "plan", "x": SECRET}), encoding="utf-8")
    (folder / "c.yaml").write_text("message: the Nachtigall plan\n", encoding="utf-8")
    (folder / "d.jsonl").write_text(json.dumps({"x": "the\nNachtigall\nplan"}) + "\n", encoding="utf-8")
    assert flow.forget(flow.plan_text(SECRET)).left == ()
    assert (folder / "a.md").read_text(encoding="utf-8").count("[forgotten]") == 2
    said = json.loads((folder / "b.json").read_text(encoding="utf-8"))
    assert said == {"the nachtigall": "plan", "x": "[forgotten]"}
    assert YAML(typ="safe").load((folder / "c.yaml").read_text(encoding="utf-8")) == {
        "message": "[forgotten]"
    }
    assert json.loads((folder / "d.jsonl").read_text(encoding="utf-8")) == {"x": "[forgotten]"}


def test_chats_that_are_kept_elsewhere_are_read_and_cleaned(kept, own_world):  # noqa: F811
    """As the setting says where."""
    settings = own_world / ".config" / "leftoff" / "configuration.yaml"
    settings.write_text("context_management:\n  chat:\n    folder: talks\n", encoding="utf-8")
    chat = Path("talks/a.md")
    chat.parent.mkdir()
    chat.write_text("# chat\n\n**Session ID:** a\nplatypus words\n", encoding="utf-8")
    update_library()
    assert finds("platypus")
    assert flow.forget(flow.plan_text("platypus words")).left == ()
    assert "platypus" not in chat.read_text(encoding="utf-8")
    assert Register(folder=paths.data_folder()).standing(chat) == "foreign"
