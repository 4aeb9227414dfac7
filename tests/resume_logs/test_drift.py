"""Drift in real repositories: every change of what the session touched is reported, and nothing else."""

import random
import subprocess
from pathlib import Path

import pytest

from leftoff.core.provenance import Ground
from leftoff.platform import git
from leftoff.resume_logs.drift import drift_since

FILES = [f"src/part_{n}.py" for n in range(6)] + ["README.md", "日本 語.txt"]


def run(folder, *arguments):
    done = subprocess.run(
        ["git", *arguments], cwd=folder, capture_output=True, text=True, check=True, timeout=60
    )
    return done.stdout.strip()


class Repository:
    """A repository with two branches, an untracked file and one that is dirty."""

    def __init__(self, root: Path):
        self.root = root
        root.mkdir()
        run(root, "init", "-q")
        for name in FILES:
            (root / name).parent.mkdir(exist_ok=True)
            (root / name).write_text(f"{name}\n" * 5, encoding="utf-8")
        self.commit("first")
        run(root, "branch", "other")
        (root / FILES[0]).write_text("dirty\n", encoding="utf-8")
        (root / "notes.txt").write_text("untracked\n", encoding="utf-8")
        self.touched = [*FILES, "notes.txt"]

    def commit(self, message):
        run(self.root, "add", "-A")
        run(self.root, "commit", "-q", "--allow-empty", "-m", message)

    def change(self, rng, number):
        """One change of any kind to what the session touched; what it was."""
        there = [name for name in self.touched if (self.root / name).is_file()]
        kinds = [self.edit, self.swap, self.delete, self.rename] if there else []
        change = rng.choice([*kinds, self.add, self.empty_commit, self.step_back, self.switch, self.detach])
        path = self.root / rng.choice(there or ["none"])
        change(path, number)
        return f"{change.__name__} {path.name}"

    def edit(self, path, number):
        path.write_text(path.read_text(encoding="utf-8") + f"{number}\n", encoding="utf-8")

    def swap(self, path, number):
        """Another letter, the same size."""
        text = path.read_text(encoding="utf-8")
        path.write_text(("y" if text[0] == "x" else "x") + text[1:], encoding="utf-8")

    def delete(self, path, number):
        path.unlink()

    def rename(self, path, number):
        path.rename(path.with_name(f"renamed_{number}"))

    def add(self, path, number):
        (self.root / f"new_{number}.py").write_text("new\n", encoding="utf-8")

    def empty_commit(self, path, number):
        run(self.root, "commit", "-q", "--allow-empty", "-m", f"commit {number}")

    def step_back(self, path, number):
        """The last commit and all that is dirty are thrown away; with a single commit everything is committed."""
        if run(self.root, "rev-list", "--count", "HEAD") == "1":
            self.commit(f"commit {number}")
        else:
            run(self.root, "reset", "-q", "--hard", "HEAD~1")

    def switch(self, path, number):
        """Switch to the other branch and discard uncommitted changes."""
        here = run(self.root, "branch", "--show-current")
        run(self.root, "checkout", "-q", "-f", "main" if here == "other" else "other")

    def detach(self, path, number):
        """Off the branch; when off already, onto a new one."""
        detached = not run(self.root, "branch", "--show-current")
        run(self.root, "checkout", "-q", *(["-b", f"branch_{number}"] if detached else ["--detach"]))


@pytest.mark.slow
@pytest.mark.parametrize("repositories", [4, pytest.param(20, marks=pytest.mark.stress)])
def test_all_changes_are_reported_and_nothing_on_unchanged_trees(tmp_path, repositories):
    """Ten changes in each repository, one after the other; before each change nothing is reported."""
    rng = random.Random(20_260_106)
    reported, kinds, silent, false = 0, set(), [], []
    for number in range(repositories):
        repository = Repository(tmp_path / f"repo{number}")
        for step in range(10):
            then = git.read_ground(repository.root, repository.touched)
            if drift_since(then, repository.root):
                false.append((number, step))
            what = repository.change(rng, number * 10 + step)
            kinds.add(what.split()[0])
            if drift_since(then, repository.root):
                reported += 1
            else:
                silent.append(what)
    assert (false, silent) == ([], [])
    assert reported == 10 * repositories
    assert len(kinds) == 9


@pytest.fixture
def repository(tmp_path):
    return Repository(tmp_path / "repo")


def test_commits_are_counted_and_files_named(repository):
    """The sentences are those of the restoration."""
    then = git.read_ground(repository.root, repository.touched)
    for number in range(3):
        repository.commit(f"c{number}")
    (repository.root / "src/part_1.py").write_text("x", encoding="utf-8")
    (repository.root / "src/part_2.py").unlink()
    run(repository.root, "checkout", "-q", "-b", "x")
    words = str(drift_since(then, repository.root))
    assert words.startswith(
        "HEAD moved by 3 commits; branch is now x, was main; src/part_1.py changed; src/part_2.py is gone"
    )


def test_a_file_that_can_no_longer_be_compared_has_changed(repository):
    """A folder or a huge file in its place counts as a change."""
    then = git.read_ground(repository.root, ["README.md", "src/part_1.py"])
    (repository.root / "README.md").unlink()
    (repository.root / "README.md").mkdir()
    with (repository.root / "src/part_1.py").open("r+b") as file:
        file.truncate(17 * 1024 * 1024)
    assert "README.md, src/part_1.py changed" in str(drift_since(then, repository.root))


def test_outside_git_content_alone_is_compared(tmp_path):
    """There is no head or branch; an impossible file name counts as gone."""
    (tmp_path / "a").write_text("1", encoding="utf-8")
    then = git.read_ground(tmp_path, ["a"])
    assert not drift_since(then, tmp_path)
    (tmp_path / "a").write_text("2", encoding="utf-8")
    assert str(drift_since(then, tmp_path)) == "a changed"
    assert str(drift_since(Ground(hashes={"a\0": "1"}), tmp_path)) == "a\0 is gone"


@pytest.mark.parametrize("head", ["--output=/tmp/x", "HEAD", "0" * 40, "zzzz"])
def test_an_unknown_head_counts_no_commits(repository, head):
    """The head comes from a document, so it must not become an option of git and need not exist."""
    now = run(repository.root, "rev-parse", "HEAD")
    assert git.commits_between(repository.root, head, now) is None
    then = Ground(head=head, branch="main", dirty=git.dirty(repository.root))
    assert str(drift_since(then, repository.root)) == f"HEAD moved from {head[:7]} to {now[:7]}"


def test_commits_between_counts_new_commits(repository):
    """Commits are counted forward, and there are none backward."""
    first = run(repository.root, "rev-parse", "HEAD")
    repository.commit("a")
    repository.commit("b")
    last = run(repository.root, "rev-parse", "HEAD")
    assert git.commits_between(repository.root, first, last) == 2
    assert git.commits_between(repository.root, last, first) == 0
