"""Files of others are replaced as a careful editor would."""

import os
import stat

import pytest

from leftoff.errors import StorageError
from leftoff.platform import files


def test_mode_and_link_stay(tmp_path):
    """The link still leads to the same file, which everybody may still read."""
    real, link = tmp_path / "dotfiles" / "settings.json", tmp_path / "settings.json"
    real.parent.mkdir()
    real.write_bytes(b"old")
    real.chmod(0o664)
    link.symlink_to(real)
    files.replace_if_unchanged(link, b"old", b"new")
    assert link.is_symlink()
    assert real.read_bytes() == b"new"
    assert stat.S_IMODE(real.stat().st_mode) == 0o664


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can own files of another user")
def test_the_owner_stays(tmp_path):
    """A file that root replaces still belongs to its user."""
    file = tmp_path / "settings.json"
    file.write_bytes(b"old")
    os.chown(file, 65534, 65534)
    files.replace_if_unchanged(file, b"old", b"new")
    assert (file.stat().st_uid, file.read_bytes()) == (65534, b"new")


def test_a_file_that_changed_meanwhile_is_left_alone(tmp_path):
    """The file was saved between reading and writing."""
    file = tmp_path / "settings.json"
    file.write_bytes(b"theirs")
    for before in (b"old", None):
        with pytest.raises(StorageError, match="has just changed it"):
            files.replace_if_unchanged(file, before, b"new")
    assert file.read_bytes() == b"theirs"


def test_a_file_can_be_created_and_removed(tmp_path):
    """``None`` means that there is no file, and a new file is private."""
    file = tmp_path / "folder" / "settings.json"
    files.replace_if_unchanged(file, None, b"new")
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    files.replace_if_unchanged(file, b"new", None)
    assert files.read_if_exists(file) is None
    files.remove_if_empty(file.parent)
    files.remove_if_empty(tmp_path)
    assert not file.parent.exists()


def test_what_cannot_be_read_is_named(tmp_path):
    """A folder in place of a file is reported."""
    with pytest.raises(StorageError, match="it is a folder, not a file"):
        files.read_if_exists(tmp_path)


def test_what_cannot_be_removed_is_named(run_python, unprivileged_folder):
    """The folder is read-only."""
    (unprivileged_folder / "inner").mkdir(mode=0o755)
    (unprivileged_folder / "inner" / "f").write_bytes(b"x")
    (unprivileged_folder / "inner" / "f").chmod(0o644)
    (unprivileged_folder / "inner").chmod(0o555)
    ended = run_python(
        "import sys\nfrom pathlib import Path\nfrom leftoff.platform import files\nfrom leftoff.errors import StorageError\n"
        "drop()\n"
        "try:\n    files.replace_if_unchanged(Path(sys.argv[1]), b'x', None)\n"
        "except StorageError as error:\n    print(error)\n",
        unprivileged_folder / "inner" / "f",
    )
    (unprivileged_folder / "inner").chmod(0o755)
    assert "not removed: no permission" in ended.stdout
