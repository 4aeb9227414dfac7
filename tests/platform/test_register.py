"""The register: what this machine wrote is trusted, and anything else waits for the user's consent."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from leftoff.errors import NotTrustedError, StorageError
from leftoff.platform.register import Judgement, Register

Run = Callable[..., subprocess.CompletedProcess[str]]
AT = datetime(2026, 1, 6, 12, tzinfo=UTC)


def git(folder: Path, *arguments: str) -> str:
    done = subprocess.run(
        ["git", *arguments], cwd=folder, capture_output=True, check=True, timeout=60, text=True
    )
    return done.stdout.strip()


@pytest.fixture
def register(tmp_path: Path) -> Register:
    return Register(folder=tmp_path / "data")


@pytest.fixture
def document(tmp_path: Path) -> Path:
    """A document in a repository that does not track it."""
    repo = tmp_path / "repo"
    repo.mkdir()
    git(repo, "init", "-q")
    (repo / "log.md").write_text("what was done", encoding="utf-8")
    return repo / "log.md"


def test_an_unregistered_document_is_foreign(register: Register, document: Path) -> None:
    """The error says what to do, with the path to do it on."""
    assert register.standing(document) == "foreign"
    with pytest.raises(
        NotTrustedError, match=rf"log\.md: this machine did not write it\. .*leftoff trust {document}"
    ):
        register.require(document)
    assert not register.folder.exists()


def test_what_was_written_here_is_used(register: Register, document: Path) -> None:
    """A document is trusted as long as it is what was written, and the register is private."""
    register.note_written(document, "session-1", AT)
    assert register.standing(document) == "written"
    register.require(document)
    assert (register.folder / "register.jsonl").stat().st_mode & 0o777 == 0o600


def test_what_was_edited_since_is_used(register: Register, document: Path) -> None:
    """Also after it was staged and committed; the register remembers what it was judged to be."""
    register.note_written(document, "session-1", AT)
    document.write_text("what was done!", encoding="utf-8")
    assert register.judge(document) == Judgement("edited")
    git(document.parent, "add", "log.md")
    git(document.parent, "commit", "-q", "-m", "x")
    register.require(document)
    entries = [json.loads(line) for line in (register.folder / "register.jsonl").read_bytes().splitlines()]
    assert [(entry["standing"], entry["id"]) for entry in entries] == [
        ("written", "session-1"),
        ("edited", "session-1"),
    ]


def test_the_judgement_of_a_document_is_shown_to_people_and_scripts(
    register: Register, document: Path
) -> None:
    """One line marks what is not trusted, and says what to type."""
    judgement = register.judge(document)
    assert judgement.to_dict() == {"trusted": False, "waits_because": "this machine did not write it"}
    assert judgement.mark(document) == (
        "NOT TRUSTED: this machine did not write it. Agents do not get it. "
        f"Read it, then: leftoff trust {document}"
    )
    register.note_written(document, "session-1", AT)
    judgement = register.judge(document)
    assert (judgement.to_dict(), judgement.mark(document)) == ({"trusted": True, "waits_because": None}, "")


def test_a_part_that_was_written_here_is_used_while_the_rest_grows(
    register: Register, document: Path
) -> None:
    """That very part, or one that was edited here; or the whole document, when the user trusts it."""
    register.note_part(document, b"the part", "session-1", AT)
    document.write_text("what was done, and more", encoding="utf-8")
    register.require_part(document, b"the part")
    git(document.parent, "add", "log.md")
    register.require_part(document, b"the part")
    assert register.judge_part(document, b"the part, edited") == Judgement("edited")
    os.utime(document, (0, 0))  # as an archive does
    with pytest.raises(NotTrustedError, match="it was unpacked or copied to its place"):
        register.require_part(document, b"another part")
    register.trust(document, AT)
    register.require_part(document, b"another part")


def test_a_copy_of_what_was_written_here_is_used_until_it_is_changed(
    register: Register, document: Path, tmp_path: Path
) -> None:
    """The register knows the content wherever it is, but not who edits a file that leftoff did not write."""
    register.note_written(document, "session-1", AT)
    copy = tmp_path / "copy.md"
    copy.write_bytes(document.read_bytes())
    assert register.standing(copy) == "written"
    copy.write_text("edited", encoding="utf-8")
    assert register.judge(copy) == Judgement("foreign", "this machine did not write it")


def test_a_trusted_document_may_be_edited_here_too(register: Register, document: Path) -> None:
    register.trust(document, AT)
    assert register.standing(document) == "trusted"
    document.write_text("what was done, and more", encoding="utf-8")
    assert register.standing(document) == "edited"


def test_a_judgement_that_cannot_be_recorded_counts(unprivileged_folder: Path, run_python: Run) -> None:
    """A data folder that cannot be written does not keep a session from its log."""
    code = (
        "import os, sys; from pathlib import Path; from datetime import datetime, UTC\n"
        "from leftoff.platform.register import Judgement, Register; drop()\n"
        "folder = Path(sys.argv[1]); document = folder / 'd'; document.write_text('x')\n"
        "register = Register(folder=folder / 'data'); register.note_written(document, 'd', datetime.now(UTC))\n"
        "os.chmod(folder / 'data' / 'register.jsonl', 0o400); os.chmod(folder / 'data', 0o500)\n"
        "document.write_text('y'); print(register.standing(document), register.standing(document))\n"
    )
    assert run_python(code, unprivileged_folder).stdout == "edited edited\n"


def test_broken_lines_hide_nothing(register: Register, document: Path) -> None:
    """Torn, binary, foreign and lying lines are passed over; what is written after a torn one counts."""
    register.note_written(document, "session-1", AT)
    file = register.folder / "register.jsonl"
    digest = json.loads(file.read_bytes())["sha256"]
    other = document.with_name("other.md")
    other.write_text("x", encoding="utf-8")
    junk = [
        b"",
        b"\xff\0",
        b"[]",
        b"7",
        b'{"sha256": 5}',
        b'{"sha256": "%s", "standing": "root"}' % digest.encode(),
    ]
    torn = b'{"schema": 1, "standing": "trusted", "sha256": "%s"' % digest.encode()
    file.write_bytes(file.read_bytes() + b"\n".join(junk) + b"\n" + torn)
    assert register.standing(document) == "written"
    register.note_written(other, "session-2", AT)
    assert register.standing(other) == "written"
    assert register.standing(document) == "written"


def test_a_digest_elsewhere_in_an_entry_vouches_for_nothing(register: Register, document: Path) -> None:
    """A document may be called as another one's digest, in its name or its id."""
    digest = hashlib.sha256(document.read_bytes()).hexdigest()
    other = document.with_name(f"{digest}.md")
    other.write_text("x", encoding="utf-8")
    register.note_written(other, digest, AT)
    assert register.standing(document) == "foreign"


def test_an_entry_says_what_when_and_where(register: Register, document: Path) -> None:
    """An entry has the schema, standing, id, sha256, git's name of the content, path, time and the number of the folder."""
    register.note_written(document, "session-1", AT)
    entry = json.loads((register.folder / "register.jsonl").read_bytes())
    assert {key: entry[key] for key in entry if key not in ("sha256", "blob")} == {
        "schema": 1,
        "standing": "written",
        "id": "session-1",
        "path": str(document),
        "at": "2026-01-06T12:00:00Z",
        "folder": document.parent.stat().st_ino,
    }
    assert len(entry["sha256"]) == 64
    assert entry["blob"] == git(document.parent, "hash-object", document.name)


def test_an_unreadable_document_is_an_error(register: Register, tmp_path: Path) -> None:
    """A document that is gone and a folder in its place are errors."""
    for path in (tmp_path / "gone", tmp_path):
        with pytest.raises(StorageError, match="cannot be read"):
            register.standing(path)


def test_several_are_asked_about_at_once(register: Register, document: Path, tmp_path: Path) -> None:
    """What cannot be read is left out; paths are known from when they were noted."""
    other, gone = tmp_path / "other.json", tmp_path / "gone.json"
    other.write_text("foreign", encoding="utf-8")
    register.note_written(document, "a", AT)
    judged = register.judge_all([document, other, gone])
    assert judged == {
        document: Judgement("written"),
        other: Judgement("foreign", "this machine did not write it"),
    }
    assert register.noted_paths() == {str(document)}


def test_the_documents_of_a_folder_are_asked_for(register: Register, document: Path, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere" / "é.json"
    elsewhere.parent.mkdir()
    elsewhere.write_text("{}", encoding="utf-8")
    register.note_set([document, elsewhere], "a", AT)
    assert register.noted_paths(elsewhere.parent) == {str(elsewhere)}
    assert register.noted_paths() == {str(document), str(elsewhere)}
    assert register.standing(elsewhere) == "written"


def test_an_unreadable_register_is_an_error(unprivileged_folder: Path, run_python: Run) -> None:
    """No document is taken for foreign, or for leftoff's own, by mistake."""
    code = (
        "import os, sys; from pathlib import Path; from datetime import datetime, UTC\n"
        "from leftoff.errors import StorageError; from leftoff.platform import git\n"
        "from leftoff.platform.register import Judgement, Register; drop()\n"
        "folder = Path(sys.argv[1]); document = folder / 'd'; document.write_text('x')\n"
        "register = Register(folder=folder / 'data'); register.note_written(document, 'd', datetime.now(UTC))\n"
        "os.chmod(folder / 'data' / 'register.jsonl', 0)\n"
        "try: print(register.standing(document))\n"
        "except StorageError as error: print(error)\n"
    )
    assert "register.jsonl: cannot be read: no permission" in run_python(code, unprivileged_folder).stdout


_ADD = """
import sys
from datetime import UTC, datetime
from pathlib import Path
from leftoff.platform.register import Judgement, Register
who = sys.argv[2]
for n in range(25):
    document = Path(f"{who}-{n}")
    document.write_text(f"{who} {n}", encoding="utf-8")
    Register(folder=Path(sys.argv[1])).note_written(document, f"{who}-{n}", datetime.now(UTC))
"""


def test_eight_processes_add_at_once_and_nothing_is_lost(register: Register) -> None:
    """Every entry is there afterwards, whole."""
    adding = [subprocess.Popen([sys.executable, "-c", _ADD, register.folder, str(who)]) for who in range(8)]
    assert [process.wait(timeout=60) for process in adding] == [0] * 8
    entries = [json.loads(line) for line in (register.folder / "register.jsonl").read_bytes().splitlines()]
    assert {entry["id"] for entry in entries} == {f"{who}-{n}" for who in range(8) for n in range(25)}
    assert len(entries) == 200
    assert register.standing(Path("3-7")) == "written"
