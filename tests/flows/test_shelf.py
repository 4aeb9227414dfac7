"""Where a project's resume logs are kept, and what a save tells."""

import subprocess
from pathlib import Path

import pytest

from leftoff.errors import OutsideFolderError
from leftoff.flows.keep_log import keep_log, made_log
from leftoff.flows.settings import settings_here
from leftoff.flows.shelf import log_folder, shelf_here
from leftoff.system import paths

USUAL = ".leftoff/resume-logs"


def folder_of(working_folder, storage_dir=USUAL):
    return log_folder(paths.project_of(Path(working_folder)), storage_dir)


def git(*arguments):
    subprocess.run(["git", *arguments], check=True, capture_output=True)


def test_logs_stand_in_the_project_s_own_folder():
    """Also when we are deeper in it, and in a worktree in that of the main checkout."""
    git("init", "-q")
    git("commit", "-q", "--allow-empty", "-m", "first")
    git("worktree", "add", "-q", "../tree")
    Path("src/deep").mkdir(parents=True)
    here = Path.cwd() / USUAL
    assert folder_of(".") == folder_of("src/deep") == folder_of("../tree") == here


def test_where_nothing_may_be_written_logs_stand_in_the_data_folder(own_world):
    """HOME is everybody's."""
    folder = folder_of(own_world)
    assert folder.is_relative_to(paths.data_folder())
    assert folder.name == "resume-logs"


def test_the_setting_may_name_another_folder(tmp_path):
    """Below the project's root, or an absolute one; a relative one that leads out is refused."""
    assert folder_of(".", "notes/logs") == Path.cwd() / "notes" / "logs"
    assert folder_of(".", str(tmp_path / "all")) == tmp_path / "all"
    for out in ("../logs", ".leftoff/../../logs"):
        with pytest.raises(OutsideFolderError, match="leads out of"):
            folder_of(".", out)
    Path("link").symlink_to(tmp_path)
    with pytest.raises(OutsideFolderError):
        folder_of(".", "link/logs")


def test_a_save_tells_what_scripts_rely_on(tmp_path):
    """Id, both files, tokens; and the project's folder is not made for logs that stand elsewhere."""
    shelf = shelf_here(Path.cwd(), settings_here().settings, folder=tmp_path / "elsewhere")
    kept = keep_log(made_log("s", {"mission_summary": "Ship it"}, shelf), shelf)
    told = kept.to_dict()
    assert told.keys() == {"session_id", "markdown_file", "json_file", "estimated_tokens"}
    assert Path(told["markdown_file"]) == tmp_path / "elsewhere" / "session-s.md"
    assert Path(told["json_file"]).is_file()
    assert told["estimated_tokens"] == kept.log.estimate_tokens(kept.log.to_markdown())
    assert kept.removed == ()
    assert kept.troubles == ()
    assert not Path(".leftoff").exists()


def test_a_link_in_place_of_the_project_s_folder_is_refused(tmp_path):
    """Nothing is written where it leads."""
    (tmp_path / "trap").mkdir()
    Path(".leftoff").symlink_to(tmp_path / "trap")
    shelf = shelf_here(Path.cwd(), settings_here().settings)
    with pytest.raises(OutsideFolderError, match="symbolic link"):
        keep_log(made_log("s", {}, shelf), shelf)
    assert [*(tmp_path / "trap").iterdir()] == []
