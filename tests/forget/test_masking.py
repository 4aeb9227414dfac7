"""Documents lose the text and stay valid: keys, headings and labels of our formats stay."""

import gzip
import json
import os
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from ruamel.yaml import YAML

from leftoff.chat.page import SCHEMA_LINE
from leftoff.errors import StorageError
from leftoff.forget import masking
from leftoff.forget.masking import mask_content
from leftoff.forget.matcher import Matcher
from leftoff.platform import paths
from leftoff.platform.register import Register
from leftoff.projects.progress import TO_DO
from leftoff.resume_logs.save import save_log
from leftoff.search.update_index import update_library
from leftoff.testing.builders import Story
from leftoff.workspace import Workspace
from tests.cli.test_install import leftoff
from tests.forget.support import CHAT, CHAT_PAGE, NOW, SECRET, SESSION, WORD, forget_text, put
from tests.support.machines import Machine

KOALA = Matcher(["koala sleeps"])


@pytest.fixture
def chat(home):
    """Return a function that writes a chat of this project, forgets a text, and returns what the chat contains then."""
    Path(".git").mkdir()
    home.claude(Story(session_id=SESSION, project=str(Path.cwd())).asked("go on").replied("yes", used=100))
    update_library(Workspace.open())
    page = Path(".leftoff/chats/c1.md")
    page.parent.mkdir(parents=True)

    def forgotten(text, body):
        page.write_text(body, encoding="utf-8")
        assert forget_text(text).left == ()
        return page.read_text(encoding="utf-8")

    return forgotten


def test_only_our_own_comments_stay(chat):
    """A comment that merely looks like one is masked."""
    body = f"# Helper Conversation\n{SCHEMA_LINE}\n{TO_DO}\n<!-- leftoff: hush zebraword -->\n"
    assert chat("hush zebraword", body) == body.replace("hush zebraword", "[forgotten]")
    assert chat("chat, schema", f"{body}the chat schema\n") == f"{body}the [forgotten]\n"
    assert chat("to be written", f"{body}To be  written\n") == f"{body}[forgotten]\n"


@pytest.mark.parametrize(
    ("text", "body", "clean"),
    [
        ("pending", "**Pending:** is pending\n", "**Pending:** is [forgotten]\n"),
        ("session id", "**Session ID:** my session id\n", "**Session ID:** my [forgotten]\n"),
        ("notes", "## Notes\nmy notes\n", "## Notes\nmy [forgotten]\n"),
        ("the okapi", "# The Okapi\nx\n", "# [forgotten]\nx\n"),
        ("okapi sleeps", "an okapi\n> Sleeps!\n", "an [forgotten]!\n"),
    ],
)
def test_labels_and_headings_of_ours_stay_in_markdown(chat, text, body, clean):
    """The same words are masked elsewhere, also in other headings and across lines."""
    assert chat(text, body) == clean


@pytest.mark.parametrize(
    ("front", "clean"),
    [
        ("status: >-\n  an okapi\n  sleeps\nstep: 1\n", {"status": "an [forgotten]", "step": 1}),
        ("tags: [okapi sleeps, b]\n", {"tags": ["[forgotten]", "b"]}),
        ("tags:\n  - {who: okapi sleeps, at: 1}\n", {"tags": [{"who": "[forgotten]", "at": 1}]}),
        ("An okapi\nsleeps\n", "An [forgotten]"),
    ],
    ids=["folded", "list", "mapping", "prose"],
)
def test_front_matter_keeps_the_types_of_its_values(chat, front, clean):
    """Values over several lines are masked too; the body stays."""
    begin, after, below = chat("okapi sleeps", f"---\n{front}---\nok\n").split("---\n")
    assert (begin, below) == ("", "ok\n")
    assert YAML(typ="safe").load(after) == clean
    assert "..." not in after


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("# the koala sleeps\nname: shop # keep\n", "# the [forgotten]\nname: shop # keep\n"),
        ("z: koala sleeps # keep\na:\n- koala sleeps\n", "z: '[forgotten]' # keep\na:\n- '[forgotten]'\n"),
        ("koala sleeps: 1\nb: 2 # keep\n", "'[forgotten]': 1\nb: 2 # keep\n"),
        (
            "standing: koala sleeps # ours\n",
            "standing: koala sleeps # ours\n",
        ),
        ('z: "\\u006boala sleeps"\na: 1\n', 'z: "[forgotten]"\na: 1\n'),
        ("koala: [sleeps\n", "[forgotten]\n"),
    ],
)
def test_yaml_keeps_its_order_and_its_comments(before, after):
    """Comments are masked too; what is not valid YAML is masked as text; a second time nothing changes."""
    clean = mask_content(before.encode(), ".yaml", KOALA)
    assert clean.decode() == after
    assert mask_content(clean, ".yaml", KOALA) == clean


def test_numbers_are_masked_only_below_free_keys():
    """Arguments of a tool may hold a telephone number; our own numbers stay."""
    number = 4915112345678
    data = {"used": number, "args": {"phone": number, "all": [number + 0.5, True, 12]}}
    clean = {"used": number, "args": {"phone": "[forgotten]", "all": ["[forgotten].5", True, 12]}}
    assert json.loads(mask_content(json.dumps(data).encode(), ".json", Matcher([str(number)]))) == clean


@pytest.mark.parametrize("suffix", [".json", ".yaml"])
def test_keys_that_become_the_same_mask_keep_their_values(suffix):
    """The second gets a number."""
    data = {"args": {"koala sleeps": "a", "Koala Sleeps": "b", "other": "c"}}
    clean = mask_content(json.dumps(data).encode(), suffix, KOALA)
    assert YAML(typ="safe").load(clean) == {
        "args": {"[forgotten]": "a", "[forgotten] (2)": "b", "other": "c"}
    }


def test_keys_that_are_not_of_our_formats_are_masked():
    """Keys are masked in paths and in everything that an agent fills in."""
    log = {
        "session_id": "x",
        "critical_context": {"koala": {"koala_port": 1}},
        "files": {"src/koala.py": None},
    }
    put(".leftoff/resume-logs/session-x.json", text=json.dumps(log))
    assert forget_text("koala").left == ()
    document = json.loads(Path(".leftoff/resume-logs/session-x.json").read_text(encoding="utf-8"))
    assert document == {
        "session_id": "x",
        "critical_context": {"[forgotten]": {"[forgotten]_port": 1}},
        "files": {"src/[forgotten].py": None},
    }


def test_json_with_a_duplicate_key_is_masked_as_text():
    """Parsing it would hide one of the values."""
    assert (
        mask_content(b'{"a": "the koala sleeps", "a": "x"}', ".json", KOALA)
        == b'{"a": "the [forgotten]", "a": "x"}'
    )


def test_documents_are_masked_in_any_case_and_spacing(saved_sessions):
    """Markdown, JSON and YAML; a text over a key and a value does not count."""
    folder = Path(".leftoff/sessions")
    (folder / "a.md").write_text('THE "NACHTIGALL" PLAN, the\n"Nachtigall" plan', encoding="utf-8")
    (folder / "b.json").write_text(json.dumps({"the nachtigall": "plan", "x": SECRET}), encoding="utf-8")
    (folder / "c.yaml").write_text("message: the Nachtigall plan\n", encoding="utf-8")
    (folder / "d.jsonl").write_text(json.dumps({"x": "the\nNachtigall\nplan"}) + "\n", encoding="utf-8")
    assert forget_text(SECRET).left == ()
    assert (folder / "a.md").read_text(encoding="utf-8").count("[forgotten]") == 2
    document = json.loads((folder / "b.json").read_text(encoding="utf-8"))
    assert document == {"the nachtigall": "plan", "x": "[forgotten]"}
    assert YAML(typ="safe").load((folder / "c.yaml").read_text(encoding="utf-8")) == {
        "message": "[forgotten]"
    }
    assert json.loads((folder / "d.jsonl").read_text(encoding="utf-8")) == {"x": "[forgotten]"}


@pytest.mark.slow
@pytest.mark.parametrize("word", ["session", "metadata", "written", "session_id"])
def test_a_word_of_our_formats_destroys_no_document(settings, session, word):
    """Logs, chats and the register can be read afterwards."""
    settings("  {}\n")
    save_log(str(session), Workspace.open())
    put(f".leftoff/chats/{CHAT}.md", text=CHAT_PAGE.replace("koala", f"koala {word}"))
    put("talks/x.json")
    update_library(Workspace.open())
    register = Register(folder=paths.data_folder())
    log = Path(f".leftoff/resume-logs/session-{SESSION}.json")
    keys = json.loads(log.read_text(encoding="utf-8")).keys()
    done = forget_text(word)
    assert done.left == ()
    assert json.loads(log.read_text(encoding="utf-8")).keys() == keys
    assert SESSION in leftoff("log", "list", "--json")
    leftoff("log", "show", SESSION)
    assert [register.standing(each) for each in (log, log.with_suffix(".md"))] == ["written", "written"]
    assert str(log.absolute()) in register.written_paths()
    chat = Path(f".leftoff/chats/{CHAT}.md").read_text(encoding="utf-8")
    assert f"**Session ID:** {CHAT}" in chat
    assert f"koala {word}" not in chat


def test_a_trusted_document_stays_trusted(settings, session):
    """A masked document is the same document with less text."""
    put(".leftoff/resume-logs/session-x.md")
    log = Path(".leftoff/resume-logs/session-x.md")
    register = Register(folder=paths.data_folder())
    register.trust(log, NOW)
    assert forget_text("koala sleeps").left == ()
    assert log.read_text(encoding="utf-8") == "[forgotten]\n"
    assert register.standing(log) == "trusted"


@pytest.fixture
def store(tmp_path):
    """A machine whose store is a database in our own folder, with a name of the user's choice; two logs are in it."""
    machine = Machine(tmp_path / "m", "shop")
    database = machine.home / ".local" / "share" / "leftoff" / "team.db"
    machine.configure(storage="sqlite", storage_options={"path": str(database)})
    machine.create_repository()
    for session_id in ("one", "two"):
        machine.save(session_id, mission_summary=f"{session_id}: the {WORD} plan")
    machine.send()
    assert WORD.encode() in database.read_bytes()
    return machine, database


def test_a_database_is_masked_by_its_store_and_never_as_text(store):
    """The database is intact afterwards and no longer holds the text."""
    machine, database = store
    planned = json.loads(machine.leftoff("forget", "--text", WORD, "--dry-run", "--json").stdout)
    assert str(database) not in planned["kept_in"]
    machine.leftoff("forget", "--text", WORD, "--yes")
    with closing(sqlite3.connect(database)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        assert connection.execute("SELECT count(*) FROM leftoff_logs").fetchone() == (2,)
    assert WORD.encode() not in database.read_bytes()


def test_databases_and_their_logs_are_not_texts(tmp_path):
    """Databases are recognised by their first bytes, their logs by the database they belong to."""
    with closing(sqlite3.connect(tmp_path / "team.db", isolation_level=None)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("CREATE TABLE words(word)")
        (tmp_path / "moved.bin").write_bytes((tmp_path / "team.db-wal").read_bytes())
        names = ("team.db", "team.db-wal", "team.db-shm", "moved.bin", "logs.sqlite-journal")
        assert not [name for name in names if masking.is_text(tmp_path / name)]
    (tmp_path / "a-journal").write_text("what I did today", encoding="utf-8")
    assert masking.is_text(tmp_path / "a-journal")


def test_rows_of_a_database_are_scanned(tmp_path):
    """Names of tables and columns, and keys of JSON, do not count; of a broken database every byte does."""
    path = tmp_path / "team.db"
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("CREATE TABLE logs(mission TEXT, body TEXT)")
        connection.execute("INSERT INTO logs VALUES ('koala', '{\"next_steps\": 1}')")
    for text, is_held in (("mission", False), ("next_steps", False), ("koala", True)):
        assert masking.holds(path, Matcher([text])) is is_held
    broken = tmp_path / "broken.db"
    broken.write_bytes(path.read_bytes()[:100] + b"mission")
    assert masking.holds(broken, Matcher(["mission"]))


def test_a_file_that_cannot_be_read_is_an_error(tmp_path, monkeypatch):
    """A file that is gone holds nothing, but one that is too large, packed or not, is an error."""
    assert not masking.holds(tmp_path / "gone", KOALA)
    large = tmp_path / "large.md"
    large.touch()
    os.truncate(large, 1 << 40)
    with pytest.raises(StorageError, match="cannot be read"):
        masking.holds(large, KOALA)
    packed = tmp_path / "packed.md.gz"
    packed.write_bytes(gzip.compress(bytes(2_000_000)))
    monkeypatch.setattr(masking, "_MAX_BYTES", 1_000_000)
    with pytest.raises(StorageError, match="larger"):
        masking.holds(packed, KOALA)
