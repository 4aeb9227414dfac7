"""Files of others are replaced as a careful editor would."""

import os
import stat

import pytest

from leftoff.errors import StorageError
from leftoff.system import foreign_files


def test_mode_and_link_stay(tmp_path):
    """The link still leads to the same file, which everybody may still read."""
    real, link = tmp_path / "dotfiles" / "settings.json", tmp_path / "settings.json"
    real.parent.mkdir()
    real.write_bytes(b"old")
    real.chmod(0o664)
    link.symlink_to(real)
    foreign_files.replace(link, b"old", b"new")
    assert link.is_symlink()
    assert real.read_bytes() == b"new"
    assert stat.S_IMODE(real.stat().st_mode) == 0o664


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can own files of another user")
def test_the_owner_stays(tmp_path):
    """A file that root mends for somebody is still that user's."""
    file = tmp_path / "settings.json"
    file.write_bytes(b"old")
    os.chown(file, 65534, 65534)
    foreign_files.replace(file, b"old", b"new")
    assert (file.stat().st_uid, file.read_bytes()) == (65534, b"new")


def test_a_file_that_changed_meanwhile_is_left_alone(tmp_path):
    """Somebody saved it between our reading and our writing."""
    file = tmp_path / "settings.json"
    file.write_bytes(b"theirs")
    for before in (b"old", None):
        with pytest.raises(StorageError, match="just now"):
            foreign_files.replace(file, before, b"new")
    assert file.read_bytes() == b"theirs"


def test_a_file_is_made_and_taken_away(tmp_path):
    """None stands for no file; one that was not there is private."""
    file = tmp_path / "folder" / "settings.json"
    foreign_files.replace(file, None, b"new")
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    foreign_files.replace(file, b"new", None)
    assert foreign_files.read(file) is None
    foreign_files.remove_if_empty(file.parent)
    foreign_files.remove_if_empty(tmp_path)
    assert not file.parent.exists()


def test_what_cannot_be_read_is_named(tmp_path):
    """A folder in the place of a file."""
    with pytest.raises(StorageError, match="a folder stands"):
        foreign_files.read(tmp_path)


def test_what_cannot_be_removed_is_named(run_python, ordinary_folder):
    """A folder that nobody may write."""
    (ordinary_folder / "inner").mkdir(mode=0o755)
    (ordinary_folder / "inner" / "f").write_bytes(b"x")
    (ordinary_folder / "inner" / "f").chmod(0o644)
    (ordinary_folder / "inner").chmod(0o555)
    ended = run_python(
        "import sys\nfrom pathlib import Path\nfrom leftoff.system import foreign_files\nfrom leftoff.errors import StorageError\n"
        "drop()\n"
        "try:\n    foreign_files.replace(Path(sys.argv[1]), b'x', None)\n"
        "except StorageError as error:\n    print(error)\n",
        ordinary_folder / "inner" / "f",
    )
    (ordinary_folder / "inner").chmod(0o755)
    assert "not removed: no permission" in ended.stdout
