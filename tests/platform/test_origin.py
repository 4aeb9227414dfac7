"""Edits and commits that were made here keep a document usable; whatever git or an archive brings waits, with the true reason."""

from __future__ import annotations

import os
import shutil
import subprocess
import tarfile
import time
import zipfile
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import NamedTuple

import pytest

from leftoff.platform import clock
from leftoff.platform.register import Register

OURS = "# State\n\nRule: never push to main\n\n1\n2\n3\n4\n5\n\nNext: task 3\n"
THEIRS = OURS.replace("never push to main", "push to main at once")
EDITED = OURS.replace("task 3", "task 4")


def git(folder: Path, *arguments: str, code: int = 0) -> str:
    done = subprocess.run(
        ["git", *arguments], cwd=folder, capture_output=True, text=True, check=False, timeout=60
    )
    assert done.returncode == code, done
    return done.stdout.strip()


class Here(NamedTuple):
    """A checkout whose document this machine wrote, committed and pushed; ``there`` is somebody else's clone with the same author."""

    register: Register
    document: Path
    there: Path

    @property
    def repo(self) -> Path:
        return self.document.parent.parent

    @property
    def file(self) -> str:
        return "plan/_resume.md"

    def write(self, text: str) -> None:
        self.document.write_text(text, encoding="utf-8")

    def edit(self, old: str = "task 3", new: str = "task 4") -> None:
        self.write(self.document.read_text(encoding="utf-8").replace(old, new))

    def note(self) -> None:
        self.register.note_written(self.document, "plan", clock.now())

    def they_push(self, text: str = THEIRS, branch: str = "main", **others: str) -> str:
        """Push another version from the other clone; the returned commit is here after the next fetch."""
        git(self.there, "checkout", "-q", "-B", branch)
        for name, content in {self.file: text, **others}.items():
            (self.there / name).write_text(content, encoding="utf-8")
        git(self.there, "add", "-A")
        git(self.there, "commit", "-q", "-m", "theirs")
        git(self.there, "push", "-q", "origin", branch)
        return git(self.there, "rev-parse", "HEAD")

    def standing(self) -> str:
        return self.register.standing(self.document)

    def why(self) -> str:
        judgement = self.register.judge(self.document)
        assert judgement.standing == "foreign"
        return judgement.why


@pytest.fixture
def here(tmp_path: Path) -> Here:
    git(tmp_path, "init", "-q", "--bare", "-b", "main", "origin.git")
    git(tmp_path, "clone", "-q", "origin.git", "repo")
    made = Here(Register(folder=tmp_path / "data"), tmp_path / "repo/plan/_resume.md", tmp_path / "there")
    git(made.repo, "checkout", "-q", "-B", "main")
    made.document.parent.mkdir()
    made.write(OURS)
    made.note()
    git(made.repo, "add", "-A")
    git(made.repo, "commit", "-q", "-m", "ours")
    git(made.repo, "push", "-q", "origin", "main")
    git(tmp_path, "clone", "-q", "origin.git", "there")
    return made


# Made here


def _edit(here: Here) -> None:
    here.edit()


def _stage(here: Here) -> None:
    here.edit()
    git(here.repo, "add", "-A")


def _commit(here: Here) -> None:
    here.edit()
    git(here.repo, "commit", "-q", "-a", "-m", "mine")


def _amend(here: Here) -> None:
    here.edit()
    git(here.repo, "commit", "-q", "-a", "--amend", "-m", "mine")


def _edit_after_commit(here: Here) -> None:
    _commit(here)
    here.edit("task 4", "task 5")


def _pull_of_other_files(here: Here) -> None:
    _commit(here)
    here.they_push(OURS, **{"other.txt": "x"})
    git(here.repo, "pull", "-q", "--no-rebase", "--no-edit")
    here.edit("task 4", "task 5")


def _switch_and_back(here: Here) -> None:
    """Between two versions that leftoff wrote; then an edit."""
    git(here.repo, "checkout", "-q", "-b", "topic")
    here.edit()
    here.note()
    git(here.repo, "commit", "-q", "-a", "-m", "topic")
    git(here.repo, "checkout", "-q", "main")
    git(here.repo, "checkout", "-q", "topic")
    here.edit("task 4", "task 5")


def _edit_in_a_folder_that_git_made_again(here: Here) -> None:
    """The other branch has no such folder; leftoff looks at the document before it is edited."""
    git(here.repo, "checkout", "-q", "-b", "without")
    git(here.repo, "rm", "-q", "-r", "plan")
    git(here.repo, "commit", "-q", "-m", "without")
    git(here.repo, "checkout", "-q", "main")
    assert here.standing() == "written"
    here.edit()


def _edit_in_such_a_folder_before_leftoff_looks(here: Here) -> None:
    git(here.repo, "checkout", "-q", "-b", "without")
    git(here.repo, "rm", "-q", "-r", "plan")
    git(here.repo, "commit", "-q", "-m", "without")
    (here.repo / "takes the number of the folder").mkdir()
    git(here.repo, "checkout", "-q", "main")
    here.edit()


def _edit_seen_before_a_rebase(here: Here) -> None:
    """Once leftoff has seen the edit, it knows it again however git writes it."""
    _commit(here)
    assert here.standing() == "edited"
    here.they_push(OURS, **{"other.txt": "x"})
    git(here.repo, "pull", "-q", "--rebase")


def _save_by_renaming(here: Here) -> None:
    draft = here.document.with_suffix(".swp")
    draft.write_text(EDITED, encoding="utf-8")
    draft.replace(here.document)


def _edit_with_sed(here: Here) -> None:
    subprocess.run(["sed", "-i", "s/task 3/task 4/", here.document], check=True, timeout=60)


def _outside_git(here: Here) -> None:
    shutil.rmtree(here.repo / ".git")
    here.edit()


def _untracked(here: Here) -> None:
    git(here.repo, "rm", "-q", "--cached", here.file)
    git(here.repo, "commit", "-q", "-m", "untracked")
    here.edit()


def _before_the_first_commit(here: Here) -> None:
    shutil.rmtree(here.repo / ".git")
    git(here.repo, "init", "-q")
    here.edit()
    git(here.repo, "add", "-A")


def _with_line_ends(here: Here) -> None:
    (here.repo / ".gitattributes").write_text("*.md text eol=crlf\n", encoding="utf-8")
    here.document.write_bytes(EDITED.replace("\n", "\r\n").encode())
    git(here.repo, "add", "-A")
    git(here.repo, "commit", "-q", "-m", "line ends")


MADE_HERE = [
    _edit,
    _stage,
    _commit,
    _amend,
    _edit_after_commit,
    _pull_of_other_files,
    _switch_and_back,
    _edit_in_a_folder_that_git_made_again,
    _edit_in_such_a_folder_before_leftoff_looks,
    _edit_seen_before_a_rebase,
    _save_by_renaming,
    _edit_with_sed,
    _outside_git,
    _untracked,
    _before_the_first_commit,
    _with_line_ends,
]


@pytest.mark.parametrize("change", MADE_HERE, ids=lambda each: each.__name__.strip("_"))
def test_what_was_changed_here_is_used(here: Here, change: Callable[[Here], None]) -> None:
    """It is judged once, and then known."""
    change(here)
    assert here.register.judge(here.document) == ("edited", "")
    entries = (here.register.folder / "register.jsonl").read_bytes()
    assert here.standing() == "edited"
    assert (here.register.folder / "register.jsonl").read_bytes() == entries


@pytest.mark.parametrize(
    "arguments", [["add", "-A"], ["commit", "-q", "--allow-empty", "-m", "x"], ["gc", "-q"]]
)
def test_what_leftoff_wrote_is_used_whatever_git_does_with_it(here: Here, arguments: list[str]) -> None:
    git(here.repo, *arguments)
    assert here.standing() == "written"


def _worktree(here: Here, tmp_path: Path) -> Path:
    git(here.repo, "worktree", "add", "-q", "-b", "topic", str(tmp_path / "tree"))
    return tmp_path / "tree"


def _submodule(here: Here, tmp_path: Path) -> Path:
    git(tmp_path, "init", "-q", "above")
    allowed = ["-c", "protocol.file.allow=always"]
    git(tmp_path / "above", *allowed, "submodule", "add", "-q", str(tmp_path / "origin.git"), "sub")
    return tmp_path / "above" / "sub"


@pytest.mark.parametrize("make", [_worktree, _submodule], ids=["worktree", "submodule"])
def test_a_checkout_whose_git_folder_is_elsewhere_has_its_own_reflog(
    here: Here, tmp_path: Path, make: Callable[[Here, Path], Path]
) -> None:
    """A worktree and a submodule have a file in place of the folder .git."""
    checkout = make(here, tmp_path)
    there = here._replace(document=checkout / here.file)
    assert there.standing() == "written"  # the content is known, wherever it is
    there.note()
    _commit(there)
    assert there.standing() == "edited"
    here.they_push()
    git(checkout, "fetch", "-q", "origin")
    git(checkout, "reset", "-q", "--hard", "origin/main")
    assert there.why().startswith("git reset brought another version")


# Come from elsewhere


def _pull(here: Here) -> str:
    here.they_push()
    git(here.repo, "pull", "-q", "--ff-only")
    return "git pull brought another version"


def _pull_into_own_changes(here: Here) -> str:
    _commit(here)
    here.they_push()
    git(here.repo, "pull", "-q", "--no-rebase", "--no-edit")
    assert "push to main at once" in here.document.read_text(encoding="utf-8")
    assert "task 4" in here.document.read_text(encoding="utf-8")
    return "git pull brought another version"


def _pull_with_rebase(here: Here) -> str:
    _commit(here)
    here.they_push()
    git(here.repo, "pull", "-q", "--rebase")
    return "git pull brought another version"


def _merge(here: Here) -> str:
    here.they_push(branch="topic")
    git(here.repo, "fetch", "-q")
    git(here.repo, "merge", "-q", "--no-edit", "origin/topic")
    return "git merge brought another version"


def _merge_squashed(here: Here) -> str:
    here.they_push(branch="topic")
    git(here.repo, "fetch", "-q")
    git(here.repo, "merge", "-q", "--squash", "origin/topic")
    return "git already held this version"


def _merge_squashed_into_own_changes(here: Here) -> str:
    """Git makes a version of both that is in no commit."""
    _commit(here)
    return _merge_squashed(here)


def _merge_squashed_and_committed(here: Here) -> str:
    _merge_squashed(here)
    git(here.repo, "commit", "-q", "-m", "looks like mine")
    return "git already held this version"


def _merge_not_committed(here: Here) -> str:
    here.they_push(branch="topic")
    git(here.repo, "fetch", "-q")
    git(here.repo, "merge", "-q", "--no-commit", "--no-ff", "origin/topic")
    return "git already held this version"


def _merge_with_conflict(here: Here) -> str:
    here.edit("never push to main", "ask before a push")
    git(here.repo, "commit", "-q", "-a", "-m", "mine")
    here.they_push(branch="topic")
    git(here.repo, "fetch", "-q")
    git(here.repo, "merge", "-q", "origin/topic", code=1)
    return "a merge of it is not finished"


def _merge_resolved(here: Here) -> str:
    _merge_with_conflict(here)
    here.write(THEIRS)
    git(here.repo, "commit", "-q", "-a", "-m", "resolved")
    return "git merge brought another version"


def _checkout(here: Here) -> str:
    here.they_push(branch="topic")
    git(here.repo, "fetch", "-q")
    git(here.repo, "checkout", "-q", "topic")
    return "git checkout brought another version"


def _checkout_of_the_file(here: Here) -> str:
    here.they_push(branch="topic")
    here.they_push(THEIRS + "more", branch="topic")
    git(here.repo, "fetch", "-q")
    git(here.repo, "checkout", "-q", "origin/topic~1", "--", here.file)
    return "git already held this version"


def _checkout_of_the_file_and_commit(here: Here) -> str:
    _checkout_of_the_file(here)
    git(here.repo, "commit", "-q", "-a", "-m", "looks like mine")
    return "git already held this version"


def _restore_from_their_branch(here: Here) -> str:
    here.they_push(branch="topic")
    git(here.repo, "fetch", "-q")
    git(here.repo, "restore", "--source=origin/topic", here.file)
    return "git already held this version"


def _reset(here: Here) -> str:
    here.they_push(branch="topic")
    git(here.repo, "fetch", "-q")
    git(here.repo, "reset", "-q", "--hard", "origin/topic")
    return "git reset brought another version"


def _rebase(here: Here) -> str:
    _commit(here)
    here.they_push(branch="topic")
    git(here.repo, "fetch", "-q")
    git(here.repo, "rebase", "-q", "origin/topic")
    return "git rebase brought another version"


def _cherry_pick(here: Here) -> str:
    commit = here.they_push(branch="topic")
    git(here.repo, "fetch", "-q")
    git(here.repo, "cherry-pick", commit)
    return "git cherry-pick brought another version"


def _cherry_pick_not_committed(here: Here) -> str:
    commit = here.they_push(branch="topic")
    git(here.repo, "fetch", "-q")
    git(here.repo, "cherry-pick", "-n", commit)
    return "git already held this version"


def _mailed_patch(here: Here) -> str:
    here.they_push()
    patch = git(here.there, "format-patch", "-1", "--stdout")
    subprocess.run(["git", "am", "-q"], cwd=here.repo, input=patch + "\n", text=True, check=True, timeout=60)
    return "git am brought another version"


def _stash_pop(here: Here) -> str:
    here.they_push(branch="topic")
    git(here.repo, "fetch", "-q")
    git(here.repo, "restore", "--source=origin/topic", here.file)
    git(here.repo, "stash", "-q")
    git(here.repo, "stash", "pop", "-q")
    return "git already held this version"


def _pull_between_stash_and_pop(here: Here) -> str:
    here.edit()
    git(here.repo, "stash", "-q")
    here.they_push()
    git(here.repo, "pull", "-q", "--ff-only")
    git(here.repo, "stash", "pop", "-q")
    git(here.repo, "commit", "-q", "-a", "-m", "looks like mine")
    return "git pull brought another version"


def _clone_in_its_place(here: Here) -> str:
    here.they_push()
    shutil.rmtree(here.repo)
    git(here.there.parent, "clone", "-q", "origin.git", "repo")
    return "git clone brought another version"


def _shallow_clone_in_its_place(here: Here) -> str:
    here.they_push()
    shutil.rmtree(here.repo)
    git(here.there.parent, "clone", "-q", "--depth=1", f"file://{here.there.parent}/origin.git", "repo")
    return "git clone brought another version"


def _edit_after_a_pull(here: Here) -> str:
    _pull(here)
    here.edit()
    return "git pull brought another version"


def _commit_after_a_pull(here: Here) -> str:
    _pull(here)
    _commit(here)
    return "git pull brought another version"


def _save_and_stage_after_a_pull(here: Here) -> str:
    """The same content, saved by an editor and staged: git's copy gets a new time."""
    _pull(here)
    time.sleep(0.05)
    here.write(THEIRS)
    git(here.repo, "add", "-A")
    return "git pull brought another version"


def _packed_after_a_pull(here: Here) -> str:
    _pull(here)
    git(here.repo, "gc", "-q")
    return "git pull brought another version"


def _packed_after_taking_the_file(here: Here) -> str:
    _checkout_of_the_file(here)
    git(here.repo, "gc", "-q")
    return "git has this version, but no longer knows since when"


def _line_ends_by_attributes(here: Here) -> str:
    """The file differs from git's copy of it in every line."""
    here.they_push(branch="topic", **{".gitattributes": "*.md text eol=crlf\n"})
    git(here.repo, "fetch", "-q")
    git(here.repo, "checkout", "-q", "origin/topic", "--", ".gitattributes", here.file)
    assert b"\r\n" in here.document.read_bytes()
    return "git already held this version"


def _reflog_expired(here: Here) -> str:
    _pull(here)
    git(here.repo, "reflog", "expire", "--expire=now", "--all")
    here.edit()
    return "git's reflog does not reach back to where its content came from"


def _archive(here: Here, pack: Callable[[Path, Path], None]) -> str:
    theirs = here.there.parent / "unpacked" / here.file
    theirs.parent.mkdir(parents=True)
    theirs.write_text(THEIRS, encoding="utf-8")
    yesterday = clock.now().timestamp() - 86_400.5
    os.utime(theirs, (yesterday, yesterday))
    pack(theirs.parent.parent, here.repo)
    assert here.document.read_text(encoding="utf-8") == THEIRS
    return "it was unpacked or copied to its place: its own time is "


def _tar_archive(here: Here) -> str:
    def unpack(theirs: Path, repo: Path) -> None:
        archive = theirs.with_suffix(".tar.gz")
        with tarfile.open(archive, "w:gz") as file:
            file.add(theirs, ".")
        subprocess.run(["tar", "-xzf", archive], cwd=repo, check=True, timeout=60)

    return _archive(here, unpack)


def _zip_archive(here: Here) -> str:
    def unpack(theirs: Path, repo: Path) -> None:
        archive = theirs.with_suffix(".zip")
        with zipfile.ZipFile(archive, "w") as file:
            file.write(theirs / here.file, here.file)
        subprocess.run(["unzip", "-q", "-o", archive], cwd=repo, check=True, timeout=60)

    if shutil.which("unzip") is None:
        pytest.skip("there is no unzip")
    return _archive(here, unpack)


def _copy_with_times(here: Here) -> str:
    return _archive(
        here, lambda theirs, repo: subprocess.run(["cp", "-a", f"{theirs}/.", repo], check=True, timeout=60)
    )


def _folder_moved_here(here: Here) -> str:
    """The times of the files in it are those of their own edits."""
    theirs = here.repo.parent / "theirs" / "plan"
    theirs.mkdir(parents=True)
    (theirs / here.document.name).write_text(THEIRS, encoding="utf-8")
    shutil.rmtree(here.document.parent)
    theirs.rename(here.document.parent)
    return "its folder was replaced"


def _folder_moved_here_after_a_switch(here: Here) -> str:
    """What git did before explains no folder that was made since."""
    git(here.repo, "checkout", "-q", "-b", "without")
    git(here.repo, "rm", "-q", "-r", "plan")
    git(here.repo, "commit", "-q", "-m", "without")
    (here.repo / "takes the number of the folder").mkdir()
    git(here.repo, "checkout", "-q", "main")
    time.sleep(2.1)
    return _folder_moved_here(here)


def _archive_and_commit(here: Here) -> str:
    why = _tar_archive(here)
    git(here.repo, "commit", "-q", "-a", "-m", "looks like mine")
    return why


def _archive_from_this_second(here: Here) -> str:
    """Archives hold whole seconds, so even one that was made just now is told from an edit."""
    here.write(THEIRS)
    second = int(clock.now().timestamp())
    os.utime(here.document, (second, second))
    return "it was unpacked or copied to its place"


FROM_ELSEWHERE: list[Callable[[Here], str]] = [
    _pull,
    _pull_into_own_changes,
    _pull_with_rebase,
    _merge,
    _merge_squashed,
    _merge_squashed_into_own_changes,
    _merge_squashed_and_committed,
    _merge_not_committed,
    _merge_with_conflict,
    _merge_resolved,
    _checkout,
    _checkout_of_the_file,
    _checkout_of_the_file_and_commit,
    _restore_from_their_branch,
    _reset,
    _rebase,
    _cherry_pick,
    _cherry_pick_not_committed,
    _mailed_patch,
    _stash_pop,
    _pull_between_stash_and_pop,
    _clone_in_its_place,
    _shallow_clone_in_its_place,
    _edit_after_a_pull,
    _commit_after_a_pull,
    _save_and_stage_after_a_pull,
    _packed_after_a_pull,
    _packed_after_taking_the_file,
    _line_ends_by_attributes,
    _reflog_expired,
    _tar_archive,
    _zip_archive,
    _copy_with_times,
    _folder_moved_here,
    _folder_moved_here_after_a_switch,
    _archive_and_commit,
    _archive_from_this_second,
]


@pytest.mark.parametrize("arrive", FROM_ELSEWHERE, ids=lambda each: each.__name__.strip("_"))
def test_what_came_from_elsewhere_waits_with_the_true_reason(
    here: Here, arrive: Callable[[Here], str]
) -> None:
    """A later edit, commit or own save does not hide it once it was seen, and trust ends the wait."""
    reason = arrive(here)
    assert reason in here.why()
    here.edit("Next:", "After that:")
    assert here.standing() == "foreign"
    git(here.repo, "commit", "-q", "-a", "-m", "mine")
    assert here.standing() == "foreign"
    # A reflog holds whole seconds: in the second of the trust it would be in doubt which was first.
    here.register.trust(here.document, clock.now() + timedelta(seconds=1))
    assert here.standing() == "trusted"
    here.edit("After that:", "Then:")
    assert here.standing() == "edited"


# What it costs, and where git gives no answer


@pytest.fixture
def git_calls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], int]:
    """Count how often git is started: a script of that name is found first, and starts the real one."""
    real, log = shutil.which("git"), tmp_path / "calls"
    script = tmp_path / "bin" / "git"
    script.parent.mkdir()
    script.write_text(f'#!/bin/sh\necho "$1" >> {log}\nexec {real} "$@"\n', encoding="utf-8")
    script.chmod(0o755)

    def count() -> int:
        calls = log.read_text(encoding="utf-8").splitlines() if log.exists() else []
        log.unlink(missing_ok=True)
        return len(calls)

    monkeypatch.setenv("PATH", f"{script.parent}:{Path(real or 'git').parent}:/usr/bin:/bin")
    return count


def test_git_is_asked_twice_about_a_changed_document_and_never_about_others(
    here: Here, git_calls: Callable[[], int]
) -> None:
    """Several changed documents of a folder are asked about together; the answer is remembered."""
    others = [here.document.with_name(f"{number}.md") for number in range(5)]
    for other in others:
        other.write_text(f"{OURS}{other.name}", encoding="utf-8")
        here.register.note_written(other, "x", clock.now())
    unregistered = here.document.with_name("theirs.md")
    unregistered.write_text(THEIRS, encoding="utf-8")
    every = [here.document, *others, unregistered]
    git_calls()
    assert [each.standing for each in here.register.judge_all(every).values()] == ["written"] * 6 + [
        "foreign"
    ]
    assert git_calls() == 0
    for other in others:
        other.write_text(EDITED, encoding="utf-8")
    _pull(here)
    git_calls()
    for _ in range(2):
        standings = [each.standing for each in here.register.judge_all(every).values()]
        assert standings == ["foreign", *["edited"] * 5, "foreign"]
    assert git_calls() == 2


@pytest.mark.parametrize("broken", ["no git", "a git that fails", "a git folder that is gone"])
def test_without_an_answer_from_git_a_changed_document_waits_until_there_is_one(
    here: Here, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, broken: str
) -> None:
    """The doubt is not remembered: it says nothing about the document."""
    here.edit()
    with monkeypatch.context() as patched:
        if broken == "a git folder that is gone":
            (here.repo / ".git").rename(tmp_path / "kept")
            (here.repo / ".git").write_text("gitdir: /nowhere\n", encoding="utf-8")
        else:
            (tmp_path / "empty").mkdir()
            if broken == "a git that fails":
                (tmp_path / "empty" / "git").write_text("#!/bin/sh\nexit 128\n", encoding="utf-8")
                (tmp_path / "empty" / "git").chmod(0o755)
            patched.setenv("PATH", str(tmp_path / "empty"))
        assert "git did not answer where its content came from" in here.why()
    if broken == "a git folder that is gone":
        (here.repo / ".git").unlink()
        (tmp_path / "kept").rename(here.repo / ".git")
    assert here.standing() == "edited"


def test_an_unmerged_document_is_judged_when_the_merge_is_given_up(here: Here) -> None:
    _merge_with_conflict(here)
    assert here.why() == "a merge of it is not finished"
    git(here.repo, "merge", "--abort")
    here.edit("ask before a push", "ask twice before a push")
    assert here.standing() == "edited"


def test_the_author_of_a_commit_decides_nothing(here: Here) -> None:
    """Every commit in these tests has the same author; one of somebody else, made here, is as good."""
    here.edit()
    git(here.repo, "commit", "-q", "-a", "-m", "x", "--author=Somebody Else <else@example.org>")
    assert here.standing() == "edited"
    here.they_push(THEIRS, branch="topic")
    git(here.repo, "fetch", "-q")
    authors = git(here.repo, "log", "-1", "--format=%an %ae", "origin/topic")
    assert authors == git(here.repo, "log", "-1", "--format=%cn %ce", "HEAD")
    git(here.repo, "checkout", "-q", "origin/topic")
    assert here.why().startswith("git checkout brought another version")


def test_own_content_that_comes_back_is_known_and_may_be_edited_again(here: Here) -> None:
    """After a visit to their branch, which leftoff saw."""
    _checkout(here)
    assert here.standing() == "foreign"
    git(here.repo, "checkout", "-q", "main")
    time.sleep(1.1)  # a reflog holds whole seconds
    assert here.standing() == "written"
    here.edit()
    assert here.standing() == "edited"
