"""The folder of a project's resume logs, and the result of saving one."""

import subprocess
from pathlib import Path

import pytest

from leftoff.errors import OutsideFolderError
from leftoff.platform import paths
from leftoff.resume_logs.save import build_with_sections, store_log
from leftoff.storage.repository import LogRepository
from leftoff.workspace import Workspace, log_folder

USUAL = ".leftoff/resume-logs"


def folder_of(working_folder, storage_dir=USUAL):
    return log_folder(paths.find_project(Path(working_folder)), storage_dir)


def git(*arguments):
    subprocess.run(["git", *arguments], check=True, capture_output=True)


def test_logs_are_kept_in_the_project_s_own_folder():
    """Subfolders and worktrees use the folder of the main checkout."""
    git("init", "-q")
    git("commit", "-q", "--allow-empty", "-m", "first")
    git("worktree", "add", "-q", "../tree")
    Path("src/deep").mkdir(parents=True)
    here = Path.cwd() / USUAL
    assert folder_of(".") == folder_of("src/deep") == folder_of("../tree") == here


def test_logs_of_a_read_only_project_are_kept_in_the_data_folder(isolated_home):
    """The home folder is not a project, so its logs are in the data folder."""
    folder = folder_of(isolated_home)
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


def test_a_saved_log_has_the_json_form_that_scripts_use(tmp_path):
    """The project's folder is not created for logs that are kept elsewhere."""
    repository = LogRepository.open(Workspace.open(), folder=tmp_path / "elsewhere")
    kept = store_log(build_with_sections("s", {"mission_summary": "Ship it"}, repository), repository)
    data = kept.to_dict()
    assert data.keys() == {"session_id", "markdown_file", "json_file", "estimated_tokens"}
    assert Path(data["markdown_file"]) == tmp_path / "elsewhere" / "session-s.md"
    assert Path(data["json_file"]).is_file()
    assert data["estimated_tokens"] == kept.log.estimate_tokens(kept.log.to_markdown())
    assert kept.removed == ()
    assert kept.troubles == ()
    assert not Path(".leftoff").exists()


def test_a_link_in_place_of_the_project_s_folder_is_refused(tmp_path):
    (tmp_path / "trap").mkdir()
    Path(".leftoff").symlink_to(tmp_path / "trap")
    repository = LogRepository.open(Workspace.open())
    with pytest.raises(OutsideFolderError, match="symbolic link"):
        store_log(build_with_sections("s", {}, repository), repository)
    assert [*(tmp_path / "trap").iterdir()] == []
