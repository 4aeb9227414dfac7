"""A commit of exactly the given files, whatever else is staged."""

import subprocess
from pathlib import Path

import pytest

from leftoff.errors import ProcessError
from leftoff.platform import git


def run(*arguments):
    return subprocess.run(["git", *arguments], capture_output=True, text=True, check=True).stdout.strip()


@pytest.fixture
def repository():
    run("init", "-q")
    return Path.cwd()


def test_the_first_commit_can_be_one(repository):
    """Before there is any head; other new files stay untracked, also those with odd names."""
    for name in ("a*.md", "ab.md", "-x.md"):
        Path(name).write_text("x", encoding="utf-8")
    head = git.commit(repository, [repository / "a*.md"], "pause")
    assert head == run("rev-parse", "HEAD")
    assert run("ls-files") == "a*.md"


def test_a_refused_commit_takes_nothing_off_that_was_there_before(repository):
    """A file that was committed earlier stays as it was committed."""
    Path("LATEST").write_text("1", encoding="utf-8")
    git.commit(repository, [repository / "LATEST"], "first")
    Path("LATEST").write_text("2", encoding="utf-8")
    (repository / ".git" / "HEAD.lock").touch()
    with pytest.raises(ProcessError, match=r"git commit refused: .*Nothing was committed"):
        git.commit(repository, [repository / "LATEST"], "second")
    (repository / ".git" / "HEAD.lock").unlink()
    assert run("status", "--porcelain") == "M LATEST"
    assert run("show", ":LATEST") == "1"


def test_a_file_that_is_not_there_is_refused(repository):
    """The error quotes git."""
    with pytest.raises(ProcessError, match="git add refused"):
        git.commit(repository, [repository / "none"], "x")


def test_outside_a_repository_there_is_nothing_to_commit_to(tmp_path):
    with pytest.raises(ProcessError, match="not a git repository"):
        git.commit(tmp_path, [tmp_path / "x"], "x")


def test_a_commit_without_git_is_an_error(repository, monkeypatch):
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(ProcessError, match="nothing was committed"):
        git.commit(repository, [repository / "x"], "x")


def test_a_repository_s_own_programs_are_not_run(repository, tmp_path):
    """A cloned repository may configure any signing program, hook or housekeeping."""
    spy = tmp_path / "spy"
    spy.write_text(f"#!/bin/sh\ntouch {tmp_path}/was-run\nexit 0\n", encoding="utf-8")
    spy.chmod(0o755)
    for name in ("pre-commit", "commit-msg", "post-commit", "prepare-commit-msg", "pre-auto-gc"):
        (repository / ".git" / "hooks" / name).write_bytes(spy.read_bytes())
        (repository / ".git" / "hooks" / name).chmod(0o755)
    for key in ("gpg.program", "gpg.openpgp.program", "gpg.x509.program", "gpg.ssh.program"):
        run("config", key, str(spy))
    for key in ("gpg.ssh.defaultKeyCommand", "core.editor", "core.fsmonitor", "core.pager"):
        run("config", key, str(spy))
    for key, value in (("commit.gpgSign", "true"), ("log.showSignature", "true"), ("gc.auto", "1")):
        run("config", key, value)
    for kind in ("openpgp", "x509", "ssh"):
        run("config", "gpg.format", kind)
        Path("a").write_text(kind, encoding="utf-8")
        assert git.commit(repository, [repository / "a"], kind) == run("rev-parse", "HEAD")
    assert not (tmp_path / "was-run").exists()
