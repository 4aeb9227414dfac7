"""The file of a chat is a complete page whatever happens, and a turn costs the same however long it is."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from leftoff.chat import chat_file, page, saved_chats
from leftoff.chat.page import Totals
from leftoff.errors import InvalidIdError, LeftoffError, StorageError
from leftoff.platform import large_files, paths
from tests.chat.sample_chats import SUMMARY, header, restoration, turn


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "chats"


def expected(file, entries, summary=None):
    totals, texts = Totals(), []
    for each in entries:
        totals = totals.plus(each)
        texts.append(page.render_entry("Simple Sally", each, totals.queries))
    return (
        page.render_header(file.header, totals.queries) + "".join(texts) + page.render_tail(totals, summary)
    )


def test_the_file_is_the_whole_page_after_every_turn(folder):
    """The page stays correct when the number of queries gains a digit."""
    entries = [restoration(), turn("first")]
    file = chat_file.create(folder, header(), entries, None)
    for number in range(2, 102):
        entries.append(turn(f"number {number}", "é" * number))
        file.append(entries[-1:])
        assert file.path.read_text(encoding="utf-8") == expected(file, entries)
    assert file.path.stat().st_mode & 0o777 == 0o600
    assert {each.name for each in folder.iterdir()} == {file.path.name, ".lock"}


def test_a_later_save_never_erases_a_summary(folder):
    """Only a newer summary replaces the old one, even if it is shorter."""
    entries = [turn()]
    file = chat_file.create(folder, header(), entries, None)
    file.finish([], SUMMARY)
    entries.append(turn("more"))
    file.append(entries[-1:])
    assert file.text() == expected(file, entries, SUMMARY)
    file.finish([], "short")
    assert file.text() == expected(file, entries, "short")


def test_chats_of_the_same_second_get_different_files(folder):
    chats = [chat_file.create(folder, header(), [turn(str(number))], None) for number in range(3)]
    first = chats[0].session_id
    assert [each.session_id for each in chats] == [first, f"{first}_2", f"{first}_3"]
    assert [f"**You:** {number}\n" in each.text() for number, each in enumerate(chats)] == [True] * 3


def test_turns_are_added_to_a_file_that_was_edited(folder):
    """The edited text stays, and the page stays complete."""
    file = chat_file.create(folder, header(), [turn()], None)
    file.path.write_text(file.text().replace("This.", "This, as I see it now."), encoding="utf-8")
    file.append([turn("more")])
    text = file.text()
    assert "This, as I see it now." in text
    assert chat_file.parse(text, "x", where="").totals.queries == 2
    assert text.count("Total Queries: ") == 1


def test_a_deleted_file_is_created_again(folder):
    """It has the header and what is said from then on."""
    file = chat_file.create(folder, header(), [turn("gone")], None)
    file.path.unlink()
    file.append([turn("kept")])
    assert "kept" in file.text()
    assert chat_file.parse(file.text(), "x", where="").header.agent == "Simple Sally"


# Dies at the nth call that changes a file. After it, the page is that before the turn or that after it.
_KILLED = """
import os, sys
from pathlib import Path
sys.path.insert(0, sys.argv[4])
from leftoff.chat import chat_file
from tests.chat.sample_chats import header, turn, SUMMARY
file = chat_file.create(Path(sys.argv[1]), header(), [turn()], SUMMARY)
left = int(sys.argv[2])
def dying(name):
    real = getattr(os, name)
    def call(*arguments, **named):
        global left
        left -= 1
        if left < 0:
            if name == "pwrite":
                real(arguments[0], bytes(arguments[1])[:7], arguments[2])
            os._exit(9)
        return real(*arguments, **named)
    setattr(os, name, call)
for name in ("pwrite", "replace", "fsync", "ftruncate", "unlink"):
    dying(name)
file.append([turn("second")])
print("done")
"""


def test_a_kill_at_any_step_leaves_the_page_before_or_after_the_turn(folder):
    """Every step of a save is the last one once; the summary is there in each case."""
    root = Path(__file__).parents[2]
    for step in range(20):
        place = folder / str(step)
        done = subprocess.run(
            [sys.executable, "-c", _KILLED, place, str(step), "", root],
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert done.returncode in {0, 9}, done.stderr
        (found,) = saved_chats.list_chats(place).chats
        saved = chat_file.parse(chat_file.read_text(found.path), "x", where="")
        assert (saved.totals.queries, saved.summary.text) in {(1, SUMMARY), (2, SUMMARY)}
        text = found.path.read_text(encoding="utf-8")
        assert f"**Total Queries:** {saved.totals.queries}\n" in text
        assert text.count("(user queries only)") == 1
        if done.returncode == 0:
            break
    assert (step > 5, saved.totals.queries) == (True, 2)


def test_two_writers_in_one_folder_do_not_disturb_each_other(folder):
    """Interleaved saves of two chats leave both pages complete."""
    first = chat_file.create(folder, header(), [turn("a")], None)
    second = chat_file.create(folder, header(), [turn("b")], None)
    for number in range(12):
        first.append([turn(f"a{number}")])
        second.append([turn(f"b{number}")])
    for file, letter in ((first, "a"), (second, "b")):
        assert [each.query[0] for each in chat_file.parse_exchanges(file.text(), "Simple Sally")] == [
            letter
        ] * 13


def test_ids_that_lead_out_of_the_folder_are_refused(folder):
    """A link that leads out of the folder is not listed either."""
    with pytest.raises(InvalidIdError):
        paths.safe_join(folder, "../evil.md")
    outside = folder.parent / "outside.md"
    outside.write_text("mine", encoding="utf-8")
    folder.mkdir()
    (folder / "link_20260101_000000.md").symlink_to(outside)
    assert saved_chats.list_chats(folder).chats == ()


def test_a_save_costs_the_same_after_two_hundred_turns(folder, monkeypatch):
    """Bytes written for a turn, counted where they are handed to the kernel."""
    written = []
    real_pwrite = os.pwrite
    monkeypatch.setattr(
        os, "pwrite", lambda fd, data, at: written.append(len(data)) or real_pwrite(fd, data, at)
    )
    file = chat_file.create(folder, header(), [turn("start")], None)
    sums = []
    for number in range(200):
        written.clear()
        file.append([turn(f"question {number:03}", "words " * 200)])
        sums.append(sum(written))
    # Where the count gets another digit, the whole file is rewritten: twice in 200.
    usual = [each for each in sums if each]
    assert len(usual) == 198
    assert max(usual) - min(usual) < 20
    assert file.path.stat().st_size > 240_000


def test_an_invalid_file_does_not_hide_other_chats(folder):
    """A broken file is reported, the rest is listed."""
    chat_file.create(folder, header(), [turn()], None)
    (folder / "notes.md").write_text("# Notes", encoding="utf-8")
    (folder / "bytes.md").write_bytes(b"\xff\xfe\x00")
    saved = saved_chats.list_chats(folder)
    assert len(saved.chats) == 1
    assert len(saved.errors) == 2


def test_the_index_is_only_a_cache(folder):
    """If the index is missing, broken, wrong or written by a newer leftoff, the files decide."""
    file = chat_file.create(folder, header(), [turn()], SUMMARY)
    expected_list = saved_chats.list_chats(folder)
    kept = (folder / saved_chats.INDEX_FILE).read_bytes()
    assert (folder / saved_chats.INDEX_FILE).stat().st_mode & 0o777 == 0o600
    for broken in (
        b"{",
        b"[]",
        b'{"schema": 99}',
        b'{"schema":1,"chats":[]}',
        kept.replace(b'"queries":1', b'"queries":"x"'),
    ):
        (folder / saved_chats.INDEX_FILE).write_bytes(broken)
        assert saved_chats.list_chats(folder) == expected_list
    (folder / saved_chats.INDEX_FILE).unlink()
    assert saved_chats.list_chats(folder) == expected_list
    assert (folder / saved_chats.INDEX_FILE).read_bytes() == kept
    file.append([turn("more")])
    assert saved_chats.list_chats(folder).chats[0].queries == 2
    chat_file.delete(file.path)
    assert saved_chats.list_chats(folder).chats == ()


def test_unchanged_chats_are_listed_from_the_index(folder):
    """A chat that can no longer be read is still listed until its file changes."""
    file = chat_file.create(folder, header(), [turn()], None)
    saved_chats.list_chats(folder)
    stamp = file.path.stat()
    file.path.write_bytes(b"x" * stamp.st_size)
    os.utime(file.path, ns=(stamp.st_atime_ns, stamp.st_mtime_ns))
    assert len(saved_chats.list_chats(folder).chats) == 1
    os.utime(file.path)
    assert len(saved_chats.list_chats(folder).errors) == 1


def test_a_patch_file_from_a_repository_does_no_harm(folder):
    """Only bytes of that file are written, never a hole; an invalid patch is dropped."""
    file = chat_file.create(folder, header(), [turn()], None)
    before = file.text()
    beside = folder / f".{file.path.name}.patch"
    for expected_list in (
        b"nonsense",
        b'{"changes": []}\n',
        b'{"changes": [[-4, 1, 1]]}\nxx',
    ):
        beside.write_bytes(expected_list)
        assert chat_file.read_text(file.path) == before
        assert not beside.exists()
    beside.write_bytes(b'{"changes": [[99999999999, 0, 4]]}\nevil')
    with pytest.raises(StorageError, match="it was changed while it was being saved"):
        chat_file.read_text(file.path)
    assert chat_file.read_text(file.path) == before


def test_a_missing_file_is_an_error(folder):
    """A missing file can be neither read nor deleted."""
    folder.mkdir()
    with pytest.raises(StorageError, match="cannot be read"):
        chat_file.read_text(folder / "x.md")
    with pytest.raises(StorageError, match="not deleted"):
        chat_file.delete(folder / "x.md")
    assert not large_files.apply_patches(folder / "x.md", 3, [large_files.Patch(at=0, data=b"x")])


def test_a_full_disk_leaves_the_page_as_it_was(folder, run_python):
    """The turn is written once there is space again."""
    code = f"""
import resource, sys
sys.path.insert(0, {str(Path(__file__).parents[2])!r})
from pathlib import Path
from leftoff.chat import chat_file
from leftoff.errors import StorageError
from tests.chat.sample_chats import header, turn
import signal; signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
file = chat_file.create(Path(sys.argv[1]), header(), [turn()], None)
before = file.path.read_bytes()
resource.setrlimit(resource.RLIMIT_FSIZE, (600, resource.RLIM_INFINITY))
try:
    file.append([turn("lost?", "x" * 5000)])
except StorageError as error:
    print(error)
print(file.path.read_bytes() == before)
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
file.append([turn("kept", "x" * 5000)])
print("kept" in file.text(), [each.name for each in Path(sys.argv[1]).iterdir() if "tmp" in each.name or "patch" in each.name])
"""
    out = run_python(code, folder).stdout.splitlines()
    assert "not written: the file would grow beyond what this system allows" in out[0]
    assert out[1:] == ["True", "True []"]


def test_an_interrupted_save_is_not_done_twice(folder, run_python):
    """The patch was complete when the disk became full, so the next save finishes it."""
    code = f"""
import resource, signal, sys
sys.path.insert(0, {str(Path(__file__).parents[2])!r})
from pathlib import Path
from leftoff.chat import chat_file
from tests.chat.sample_chats import header, turn
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
file = chat_file.create(Path(sys.argv[1]), header(), [turn("old " * 50)] * 30, None)
resource.setrlimit(resource.RLIMIT_FSIZE, (file.path.stat().st_size + 10, resource.RLIM_INFINITY))
file.append([turn("in between")])
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
file.append([turn("afterwards")])
print([each.query for each in chat_file.parse_exchanges(file.text(), "Simple Sally")][30:])
print(chat_file.parse(file.text(), "x", where="").totals.queries, file.totals.queries)
"""
    out = run_python(code, folder).stdout.splitlines()
    assert out == ["['in between', 'afterwards']", "32 32"]


@pytest.mark.parametrize("known", [0, 1, 2])
def test_entries_already_in_the_file_are_not_written_again(folder, known):
    """Entries are not repeated even if the writer does not know that they were written."""
    file = chat_file.create(folder, header(), [turn("first")], None)
    before = (file.totals, file.size, file.tail_offset)
    waiting = [turn("second"), turn("third")]
    file.append(waiting[:known]) if known else None
    file.totals, file.size, file.tail_offset = before
    file.append(waiting)
    assert file.text() == expected(file, [turn("first"), *waiting])


def test_a_removed_folder_is_created_again(folder):
    """The page begins again with what is said from then on."""
    file = chat_file.create(folder, header(), [turn("gone")], None)
    shutil.rmtree(folder)
    file.append([turn("kept")])
    assert "**You:** kept" in file.text()
    assert folder.stat().st_mode & 0o777 == 0o700


def test_files_of_killed_saves_are_removed(folder):
    """Old temporary files with the next chat, a chat's patch when the chat is deleted."""
    file = chat_file.create(folder, header(), [turn()], None)
    stale, own = folder / ".x.md.0123456789ab.tmp", folder / f".{file.path.name}.0123456789ab.tmp"
    for each in (stale, own):
        each.write_bytes(b"words")
    os.utime(stale, (1, 1))
    other = chat_file.create(folder, header(), [turn()], None)
    assert (stale.exists(), own.exists()) == (False, True)
    chat_file.delete(file.path)
    assert {each.name for each in folder.iterdir()} == {other.path.name, ".lock"}


@pytest.mark.parametrize("beside", ["index.json", ".{name}.patch"])
@pytest.mark.parametrize("kind", ["device", "folder"])
def test_links_and_folders_in_place_of_helper_files_do_no_harm(folder, beside, kind):
    """Reading a link to a device would never end. The chat is listed, read, saved and deleted."""
    file = chat_file.create(folder, header(), [turn("first")], None)
    trap = folder / beside.format(name=file.path.name)
    trap.symlink_to("/dev/zero") if kind == "device" else (trap / "inside").mkdir(parents=True)
    assert [each.session_id for each in saved_chats.list_chats(folder).chats] == [file.session_id]
    file.append([turn("second")])
    assert saved_chats.list_chats(folder).chats[0].queries == 2
    chat_file.delete(file.path)
    assert saved_chats.list_chats(folder).chats == ()


def test_an_interrupted_change_of_an_edited_chat_concerns_that_chat_only(folder):
    """It is reported once, the unsaved text is kept, and then the chat is listed as it is."""
    file = chat_file.create(folder, header(), [turn("mine")], None)
    other = chat_file.create(folder, header(), [turn("other")], None)
    expected_list = b'{"changes": [[%d, 3, 5]]}\nabcwords' % (file.size - 3)
    (folder / f".{file.path.name}.patch").write_bytes(expected_list)
    saved = saved_chats.list_chats(folder)
    assert [each.session_id for each in saved.chats] == [other.session_id]
    assert "it was changed while it was being saved" in str(saved.errors[0])
    assert (folder / f"{file.path.name}.unsaved").read_bytes() == b"words"
    saved = saved_chats.list_chats(folder)
    assert (len(saved.chats), saved.errors) == (2, ())


def test_a_chat_that_vanishes_during_listing_is_skipped(folder, monkeypatch):
    """Another process deletes it between the listing of the folder and the reading of the file."""
    kept = chat_file.create(folder, header(), [turn()], None)
    gone = [chat_file.create(folder, header(), [turn()], None) for _ in range(2)]
    real = large_files.has_unfinished_patch

    checked = []

    def deleting(path):
        checked.append(path)
        if path == gone[0].path or checked.count(gone[1].path) == 2:  # before its stamp is taken, and after
            path.unlink(missing_ok=True)
        return real(path)

    monkeypatch.setattr(large_files, "has_unfinished_patch", deleting)
    saved = saved_chats.list_chats(folder)
    assert [each.session_id for each in saved.chats] == [kept.session_id]
    assert saved.errors == ()


def test_storage_failures_are_leftoff_errors(folder):
    folder.write_text("in the way", encoding="utf-8")
    with pytest.raises(LeftoffError):
        chat_file.create(folder, header(), [turn()], None)
    with pytest.raises(LeftoffError):
        saved_chats.list_chats(folder)
