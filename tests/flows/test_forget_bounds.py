"""Where forgetting ends: at links, at other worktrees, at pauses and files of others, and at whatever else stands in a file."""

import gzip
import json
import os
import re
import subprocess
from datetime import UTC, datetime
from pathlib import Path

import pytest
from ruamel.yaml import YAML

from leftoff.flows import forget as flow
from leftoff.flows.capture import capture_here
from leftoff.flows.library_update import update_library
from leftoff.flows.own_words import Masking
from leftoff.flows.pause_finalize import Ending, finalize
from leftoff.flows.pause_homes import hand_driven, of_session
from leftoff.flows.pause_record import record
from leftoff.flows.pause_start import start
from leftoff.flows.save_log import save_log
from leftoff.flows.search import Asked, search
from leftoff.flows.strings import rewritten
from leftoff.pauses.origin import Origin
from leftoff.system import paths
from leftoff.system.register import Register
from leftoff.testing.builders import Story
from tests.cli.test_install import leftoff
from tests.flows.test_forget import NOW, OTHER, SESSION, all_kept

THIRD = "33333333-3333-4333-8333-333333333333"
PARTS = (".md", ".yaml", ".json", "-incremental.jsonl")


@pytest.fixture
def session(home):
    """A session of this project, which is one of git."""
    Path(".git").mkdir()
    return home.claude(
        Story(session_id=SESSION, project=str(Path.cwd())).asked("The koala sleeps").replied("yes", used=100)
    )


def paused(home, *messages, hour, origin=None):
    """The id of a finished pause."""
    capture, at = capture_here(Path.cwd()), datetime(2026, 1, 6, hour, tzinfo=UTC)
    begun = start(home, 0.9, {}, capture=capture, origin=origin, at=at)
    for message in messages:
        record(home, "user_message", {"message": message}, 0.91, capture=capture)
    finalize(home, Ending())
    return begun


def paused_by_hooks(session_id, hour):
    origin = Origin(agent="claude", session_id=session_id)
    return paused(of_session("claude", session_id, Path.cwd()), "wombat", hour=hour, origin=origin)


def pause_files(pause):
    return {*Path(".leftoff/sessions").glob(f"{pause}*")}


# Links


@pytest.mark.parametrize("place", [".leftoff/notes", ".leftoff/resume-logs/deep", ".leftoff/sessions"])
def test_a_link_goes_and_what_it_leads_to_stays(session, own_world, place):
    """Whatever is asked for; only for a project the link itself is deleted."""
    thesis = own_world / "Documents" / f"session-{SESSION}.md"
    thesis.parent.mkdir()
    thesis.write_text(f"koala sleeps, {SESSION}", encoding="utf-8")
    Path(place).parent.mkdir(parents=True)
    Path(place).symlink_to(thesis.parent)
    Path(".leftoff/mine.md").symlink_to(thesis)
    update_library()
    flow.forget(flow.plan_text("koala sleeps"))
    flow.forget(flow.plan_session(SESSION, Path.cwd()))
    assert Path(place).is_symlink()
    done = flow.forget(flow.plan_project(Path.cwd()))
    assert {Path(place).absolute(), Path(".leftoff/mine.md").absolute()} <= {*done.deleted}
    assert not os.path.lexists(place)
    assert not os.path.lexists(".leftoff/mine.md")
    assert thesis.read_text(encoding="utf-8") == f"koala sleeps, {SESSION}"


# Worktrees


@pytest.fixture
def checkouts(home, own_world):
    """A repository and its worktree, a session with a log in each; and a pause by hand."""
    main, tree = own_world / "w" / "shop", own_world / "w" / "shop-tree"
    main.mkdir(parents=True)
    for words in (
        ["init", "-q"],
        ["commit", "-q", "--allow-empty", "-m", "x"],
        ["worktree", "add", "-q", str(tree)],
    ):
        subprocess.run(["git", "-c", "user.name=a", "-c", "user.email=a@b", *words], cwd=main, check=True)
    for folder, session_id in ((main, SESSION), (tree, OTHER)):
        story = Story(session_id=session_id, project=str(folder)).asked("The koala sleeps")
        save_log(str(home.claude(story.replied("yes", used=100))), folder)
    paused(hand_driven(main), hour=9)
    return main, tree


@pytest.mark.parametrize("at", [0, 1], ids=["the main checkout", "a worktree"])
def test_of_a_folder_that_worktrees_share_only_the_sessions_documents_go(checkouts, monkeypatch, at):
    """The other checkout's log stays, and so does what nobody knows whose it is; that is said first."""
    monkeypatch.chdir(checkouts[at])
    logs = checkouts[0] / ".leftoff" / "resume-logs"
    assert flow.plan_project(Path.cwd()).shared == checkouts[0] / ".leftoff"
    said = leftoff("forget", "--project", "--yes", code=0)
    assert "is shared with other worktrees" in said
    mine, others = (SESSION, OTHER) if at == 0 else (OTHER, SESSION)
    assert not [*logs.glob(f"session-{mine}*")]
    assert (logs / f"session-{others}.md").exists()
    assert [*logs.with_name("sessions").glob("*.json")]


def test_a_folder_whose_worktree_is_gone_is_shared_with_nobody(checkouts, monkeypatch):
    """Then all documents of the project go, as in any other."""
    main, tree = checkouts
    tree.rename(tree.with_name("elsewhere"))
    monkeypatch.chdir(main)
    assert flow.plan_project(main).shared is None
    flow.forget(flow.plan_project(main))
    assert not [each for each in (main / ".leftoff").rglob("session-*") if each.is_file()]


def test_a_locked_worktree_that_is_away_shares_the_folder_still(checkouts, monkeypatch):
    """Its disk comes back, and its documents are here; unlocked it is gone."""
    main, tree = checkouts
    monkeypatch.chdir(main)
    subprocess.run(["git", "worktree", "lock", str(tree)], check=True)
    tree.rename(tree.with_name("unplugged"))
    assert flow.plan_project(main).shared == main / ".leftoff"
    subprocess.run(["git", "worktree", "unlock", str(tree)], check=True)
    assert flow.plan_project(main).shared is None


# Pauses


def test_a_pause_that_mentions_the_session_stays_and_loses_the_id_alone(session):
    """Every line of it is still there; so is whatever else stands among the pauses."""
    save_log(str(session), Path.cwd())
    pause = paused(hand_driven(Path.cwd()), f"{SESSION} had the same fault; precious notes", hour=9)
    files = pause_files(pause)
    assert len(files) == len(PARTS)
    note = Path(".leftoff/sessions/note.txt")
    note.write_text(f"see {SESSION}", encoding="utf-8")
    update_library()
    assert flow.forget(flow.plan_session(SESSION, Path.cwd())).left == ()
    assert pause_files(pause) == files
    assert note.read_text(encoding="utf-8") == "see [forgotten]"
    for each in files:
        assert "[forgotten] had the same fault; precious notes" in each.read_text(encoding="utf-8")
    assert SESSION.encode() not in all_kept()
    assert Path(".leftoff/sessions/LATEST-SESSION.txt").read_text(encoding="utf-8") == f"{pause}\n"
    assert search(Asked(query='"precious notes"'), NOW).sessions


def test_a_running_pause_of_another_session_keeps_its_lines(session):
    """In the user's state folder, as hooks write it."""
    home = of_session("claude", OTHER, Path.cwd())
    capture = capture_here(Path.cwd())
    start(home, 0.9, {}, capture=capture, origin=Origin(agent="claude", session_id=OTHER))
    record(home, "user_message", {"message": f"as in {SESSION}"}, 0.91, capture=capture)
    flow.forget(flow.plan_session(SESSION, Path.cwd()))
    lines = home.file.path.read_text(encoding="utf-8").splitlines()
    assert ["as in [forgotten]" in line for line in lines] == [False, True]


@pytest.mark.parametrize("part", [*PARTS, "-incremental.jsonl.gz"])
def test_a_pause_of_the_session_goes_by_any_part_that_is_left_of_it(session, part):
    """Each says whose pause it is; one that is torn says nothing and goes with the others."""
    pause = paused_by_hooks(SESSION, 9)
    kept = Path(".leftoff/sessions", pause + part)
    lines = kept.with_name(f"{pause}-incremental.jsonl")
    if part.endswith(".gz"):
        kept.write_bytes(gzip.compress(lines.read_bytes()))
    for each in pause_files(pause) - {kept}:
        each.unlink()
    torn = kept.with_name(f"{pause}.json" if part != ".json" else f"{pause}.md")
    torn.write_text("{ torn", encoding="utf-8")
    assert flow.forget(flow.plan_session(SESSION, Path.cwd())).left == ()
    assert pause_files(pause) == set()


def test_the_pointer_names_the_newest_pause_that_is_left(session):
    """And goes with the last."""
    pointer = Path(".leftoff/sessions/LATEST-SESSION.txt")
    oldest, older = paused_by_hooks(OTHER, 8), paused_by_hooks(OTHER, 9)
    gone, newest = paused_by_hooks(THIRD, 10), paused_by_hooks(SESSION, 11)
    flow.forget(flow.plan_session(THIRD, Path.cwd()))
    assert not pause_files(gone)
    assert pointer.read_text(encoding="utf-8") == f"{newest}\n"
    flow.forget(flow.plan_session(SESSION, Path.cwd()))
    assert pointer.read_text(encoding="utf-8") == f"{older}\n"
    assert pause_files(oldest)
    flow.forget(flow.plan_session(OTHER, Path.cwd()))
    assert not pointer.exists()


# The user's files


@pytest.fixture
def docs(own_world):
    """The folder that the user chose for logs; the user's own files in it are called as logs are."""
    mine = own_world / ".config" / "leftoff" / "configuration.yaml"
    mine.parent.mkdir(parents=True)
    mine.write_text("context_management:\n  resume_logs:\n    storage_dir: docs\n", encoding="utf-8")
    Path("docs").mkdir()
    return Path("docs").absolute()


def test_the_users_files_that_are_called_as_what_stands_beside_a_log_stay(session, docs):
    """Where the document is the user's own, or there is none; for a text and for a project."""
    save_log(str(session), Path.cwd())
    names = (
        "session-notes.md",
        "session-notes.md.patch",
        "session-plan.md.mine",
        "session-plan.json.unsaved",
    )
    for name in names:
        (docs / name).write_text("koala sleeps", encoding="utf-8")
    assert flow.forget(flow.plan_text("koala sleeps")).left == ()
    assert flow.forget(flow.plan_project(Path.cwd())).left == ()
    assert {name: (docs / name).read_text(encoding="utf-8") for name in names} == dict.fromkeys(
        names, "koala sleeps"
    )
    assert not (docs / f"session-{SESSION}.md").exists()


def test_what_stands_beside_a_log_that_is_gone_is_ours_if_the_register_knew_it_or_a_writer_was_killed(
    session, docs
):
    """Whatever its id: it is masked, and goes with the project."""
    log = docs / "session-plan.md"
    log.write_text("x", encoding="utf-8")
    Register(folder=paths.data_folder()).note_written(log, "plan", NOW)
    log.unlink()
    ours = [docs / "session-plan.md.mine", docs / ".session-task.md.0123456789ab.tmp"]
    for each in ours:
        each.write_text("koala sleeps", encoding="utf-8")
    assert flow.forget(flow.plan_text("koala sleeps")).left == ()
    assert {each.read_text(encoding="utf-8") for each in ours} == {"[forgotten]"}
    assert flow.forget(flow.plan_project(Path.cwd())).left == ()
    assert not any(each.exists() for each in ours)


def test_what_tells_git_to_ignore_us_stays_as_it_is(session):
    """Our words in it are nobody's; what the user wrote there is named with the settings."""
    save_log(str(session), Path.cwd())
    ignored = Path(".leftoff/.gitignore").absolute()
    before = ignored.read_bytes()
    for text in ("project", "configuration.yaml"):
        plan = flow.plan_text(text)
        assert plan.settings == ()
        if not plan.is_empty:
            assert flow.forget(plan).left == ()
        assert ignored.read_bytes() == before
    ignored.write_bytes(before + b"!koala-sleeps.md\n")
    plan = flow.plan_text("koala sleeps")
    assert plan.settings == (ignored,)
    flow.forget(plan)
    assert ignored.read_bytes() == before + b"!koala-sleeps.md\n"


# JSON

NUMBER = 4915112345678


def test_a_number_that_somebody_gave_is_masked_and_one_of_ours_stays():
    """In JSON and in YAML, with a fraction too; what is true stays true."""
    change = Masking(
        find=lambda text: [found.span() for found in re.finditer(rf"{NUMBER}|True", text)], mask="[x]"
    )
    said = {"used": NUMBER, "args": {"phone": NUMBER, "all": [NUMBER + 0.5, True, 12]}}
    clean = {"used": NUMBER, "args": {"phone": "[x]", "all": ["[x].5", True, 12]}}
    assert json.loads(rewritten(json.dumps(said).encode(), ".json", change)) == clean
    written = f"used: {NUMBER}\nargs:\n  phone: {NUMBER}\n  all:\n  - {NUMBER}.5\n  - true\n  - 12\n"
    assert YAML(typ="safe").load(rewritten(written.encode(), ".yaml", change)) == clean


@pytest.mark.parametrize("suffix", [".json", ".yaml"])
def test_keys_that_come_to_the_same_mask_keep_their_values(suffix):
    """The second has a number; so has one that looks like a mask already."""
    change = Masking(find=lambda text: [found.span() for found in re.finditer(r"koala\d", text)], mask="[x]")
    said = {"args": {"koala1": "a", "koala2": "b", "[x]": "c", "other": "d"}}
    clean = rewritten(json.dumps(said).encode(), suffix, change)
    assert YAML(typ="safe").load(clean) == {
        "args": {"[x]": "a", "[x] (2)": "b", "[x] (3)": "c", "other": "d"}
    }
    assert rewritten(clean, suffix, change) == clean


def test_a_key_that_stands_twice_hides_nothing(session):
    """Such a document is masked as a text is."""
    kept = paths.state_folder() / "extractions" / f"claude-{OTHER}.json"
    kept.parent.mkdir(parents=True, exist_ok=True)
    kept.write_text('{"a": "the koala sleeps", "a": "x"}', encoding="utf-8")
    assert flow.forget(flow.plan_text("koala sleeps")).left == ()
    assert kept.read_text(encoding="utf-8") == '{"a": "the [forgotten]", "a": "x"}'


# YAML


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("# the koala sleeps\nname: shop # keep\n", "# the [x]\nname: shop # keep\n"),
        ("z: koala sleeps  # keep\na:\n  - koala sleeps\n", 'z: "[x]"  # keep\na:\n  - "[x]"\n'),
        ("# a koala\n\n# sleeps\nz: 1\r\na: 2\r\n", "# a [x]\nz: 1\r\na: 2\r\n"),
        ("z:\n  # koala sleeps\n\n  - b\n  - a\n", "z:\n  # [x]\n\n  - b\n  - a\n"),
        ("z: 2026-99-99\n# koala sleeps\n", "z: 2026-99-99\n# [x]\n"),
        ("z: |\n  koala sleeps\n  here\na: 1 # keep\n", "z: |\n  [x]\n  here\na: 1 # keep\n"),
        ("standing: koala sleeps # ours\n", "standing: koala sleeps # ours\n"),
        ("# koala sleeps", "# [x]"),
        # Where the lines alone do not do, the values stay in their order and comments go.
        ('z: "\\u006boala sleeps" # gone\na: 1\n', "z: '[x]'\na: 1\n"),
        ("z: 1 # koala\na: 2 # sleeps\n", "z: 1\na: 2\n"),
        ("z: koala sleeps\na: |\n  koala sleeps\n", "z: '[x]'\na: \"[x]\\n\"\n"),
        ("koala: [sleeps\n", "[x]\n"),
    ],
)
def test_yaml_loses_the_text_and_little_else(before, after):
    """Comments too are looked into; a second time nothing is found."""
    change = Masking(
        find=lambda text: [found.span() for found in re.finditer(r"koala\W+sleeps", text)], mask="[x]"
    )
    clean = rewritten(before.encode(), ".yaml", change)
    assert clean.decode() == after
    assert rewritten(clean, ".yaml", change) == clean


def test_a_text_in_a_comment_of_a_projects_file_is_masked(session):
    """And counted: what is left holds it no more."""
    team = Path(".leftoff/project/team.yaml")
    team.parent.mkdir(parents=True)
    team.write_text("# the koala sleeps\nname: shop # keep me\nhost: x\n", encoding="utf-8")
    assert flow.forget(flow.plan_text("koala sleeps")).left == ()
    assert team.read_text(encoding="utf-8") == "# the [forgotten]\nname: shop # keep me\nhost: x\n"
