"""What git says about a folder, and what no repository can make it do."""

from __future__ import annotations

import hashlib
import os
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from leftoff.platform import git

Run = Callable[..., subprocess.CompletedProcess[str]]


def call(folder: Path, *arguments: str) -> str:
    done = subprocess.run(
        ["git", *arguments], cwd=folder, capture_output=True, text=True, check=True, timeout=60
    )
    return done.stdout


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    """A repository with main.py committed."""
    folder = tmp_path / "repo"
    folder.mkdir()
    call(folder, "init", "-q")
    (folder / "main.py").write_text("1\n", encoding="utf-8")
    call(folder, "add", "main.py")
    call(folder, "commit", "-q", "-m", "first")
    return folder


# What it says


def test_head_and_branch_are_those_checked_out(repo: Path) -> None:
    """The full hash, the short name; a branch may have slashes."""
    assert git.head(repo) == call(repo, "rev-parse", "HEAD").strip()
    assert git.branch(repo) == "main"
    call(repo, "checkout", "-q", "-b", "feature/ä")
    assert git.branch(repo) == "feature/ä"


def test_a_detached_head_has_no_branch(repo: Path) -> None:
    """The branch is ``None``, not the word HEAD."""
    call(repo, "checkout", "-q", "--detach")
    assert git.branch(repo) is None
    assert git.head(repo) is not None


def test_before_the_first_commit_there_is_a_branch_and_no_head(tmp_path: Path) -> None:
    """Without a commit, every file is dirty."""
    call(tmp_path, "init", "-q", "new")
    (tmp_path / "new" / "a").touch()
    assert (git.head(tmp_path / "new"), git.branch(tmp_path / "new")) == (None, "main")
    assert git.dirty(tmp_path / "new") == ("a",)


def test_the_first_letter_of_a_name_is_kept(repo: Path) -> None:
    """A change that is not staged begins with a blank: ``main.py`` is not ``ain.py``."""
    (repo / "main.py").write_text("2\n", encoding="utf-8")
    assert git.dirty(repo) == ("main.py",)


@pytest.mark.parametrize(
    "name",
    [
        "a b",
        " lead",
        "trail ",
        'quo"te',
        "new\nline",
        "tab\t",
        "ümlaut",
        "日本語",
        "->",
        "a -> b",
        "-n",
        "\\",
        ":(x)",
        "*",
    ],
)
@pytest.mark.parametrize("staged", [True, False])
def test_names_come_as_they_are(repo: Path, name: str, staged: bool) -> None:
    """Blanks, quotes, line ends, other scripts, and what looks like an option or an arrow."""
    (repo / name).write_text("x", encoding="utf-8")
    if staged:
        call(repo, "add", "-A")
    assert git.dirty(repo) == (name,)


def test_a_name_that_is_not_utf8_is_kept_too(repo: Path) -> None:
    """The name is kept as Python keeps it, so that the file can be opened."""
    raw = os.fsencode(repo) + b"/\xff\xfe"
    os.close(os.open(raw, os.O_CREAT | os.O_WRONLY))
    (name,) = git.dirty(repo) or ()
    assert os.fsencode(name) == b"\xff\xfe"


def test_of_a_rename_the_new_name_is_dirty(repo: Path) -> None:
    """git gives two names for it; the old one is not taken for an entry of its own."""
    call(repo, "mv", "main.py", "R  other.py")
    (repo / "z").touch()
    assert git.dirty(repo) == ("R  other.py", "z")


def test_deleted_changed_and_new_files_are_dirty_and_ignored_ones_are_not(repo: Path) -> None:
    (repo / "main.py").unlink()
    (repo / ".gitignore").write_text("*.log\n", encoding="utf-8")
    (repo / "x.log").touch()
    (repo / "new").mkdir()
    (repo / "new" / "a").touch()
    assert git.dirty(repo) == ("main.py", ".gitignore", "new/")
    call(repo, "checkout", "-q", "main.py")
    (repo / ".gitignore").unlink()
    (repo / "x.log").unlink()
    (repo / "new" / "a").unlink()
    assert git.dirty(repo) == ()


def test_a_folder_below_the_root_sees_its_own_files_by_their_own_names(repo: Path) -> None:
    """A project's root may lie below the checkout's."""
    folder = repo / "päckages" / "a b"
    folder.mkdir(parents=True)
    (folder / "inner.py").touch()
    call(repo, "add", "-A")
    (repo / "outer.py").touch()
    assert git.dirty(folder) == ("inner.py",)


def test_outside_git_nothing_is_known(tmp_path: Path) -> None:
    """The answers are ``None``, which is not the same as clean."""
    assert [ask(tmp_path) for ask in (git.head, git.branch, git.dirty)] == [None] * 3
    assert git.head(tmp_path / "nowhere") is None
    assert git.index_entries(tmp_path, ["x"]) is None
    assert git.object_names(tmp_path, ["HEAD"]) is None


def test_the_ground_remembers_what_touched_files_held(repo: Path, tmp_path: Path) -> None:
    """sha256 of content; what is gone, a folder, too large or outside is left out."""
    (tmp_path / "secret").write_text("s", encoding="utf-8")
    (repo / "link").symlink_to(tmp_path / "secret")
    (repo / "huge").touch()
    os.truncate(repo / "huge", 1 << 32)
    ground = git.read_ground(
        repo, ["main.py", "gone", "link", "../secret", "/etc/passwd", ".git", "huge", "a\0b"]
    )
    assert ground.hashes == {"main.py": hashlib.sha256(b"1\n").hexdigest()}
    assert (ground.head, ground.branch) == (git.head(repo), "main")


def test_the_index_has_the_copy_and_the_time_of_each_file(repo: Path, tmp_path: Path) -> None:
    """Only the exact name counts, neither a pattern nor a neighbour, and a worktree has its own index."""
    (repo / "m*").touch()
    (repo / "new").touch()
    entries = git.index_entries(repo, ["main.py", "m*", "new", ":(top)main.py"]) or {}
    assert [*entries] == ["main.py"]
    (entry,) = entries["main.py"]
    assert (entry.blob, entry.stage) == (call(repo, "rev-parse", "HEAD:main.py").strip(), 0)
    assert entry.is_at((repo / "main.py").stat().st_mtime_ns)
    (repo / "main.py").write_text("3\n", encoding="utf-8")
    assert not entry.is_at((repo / "main.py").stat().st_mtime_ns)
    call(repo, "worktree", "add", "-q", str(tmp_path / "tree"))
    assert [*(git.index_entries(tmp_path / "tree", ["main.py"]) or {})] == ["main.py"]


def test_objects_are_named_in_the_order_of_the_questions(repo: Path) -> None:
    """A name that means nothing, or an object that is not there, is None."""
    blob = call(repo, "rev-parse", "HEAD:main.py").strip()
    assert git.object_names(repo, ["HEAD:./main.py", "nowhere", blob, "HEAD:./gone", "0" * 64]) == [
        blob,
        None,
        blob,
        None,
        None,
    ]
    assert git.object_names(repo, []) == []


def test_variables_of_git_do_not_lead_elsewhere(
    repo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A hook of git runs with GIT_DIR and GIT_INDEX_FILE set; the folder that was asked about counts."""
    call(tmp_path, "init", "-q", "other")
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "other" / ".git"))
    monkeypatch.setenv("GIT_INDEX_FILE", str(tmp_path / "nowhere"))
    assert git.head(repo) is not None
    assert git.dirty(repo) == ()


# What it does not do


def test_asking_changes_nothing(repo: Path) -> None:
    """Not even the index is written, although git likes to refresh it."""
    os.utime(repo / "main.py", (0, 0))
    before = {path: (path.stat().st_mtime_ns, path.stat().st_ino) for path in repo.rglob("*")}
    git.read_ground(repo, ["main.py"])
    git.index_entries(repo, ["main.py"])
    git.object_names(repo, ["HEAD:./main.py"])
    assert {path: (path.stat().st_mtime_ns, path.stat().st_ino) for path in repo.rglob("*")} == before


_ARMS: dict[str, Callable[[Path, str], None]] = {}


def arm(name: str) -> Callable[[Callable[[Path, str], None]], Callable[[Path, str], None]]:
    def keep(function: Callable[[Path, str], None]) -> Callable[[Path, str], None]:
        _ARMS[name] = function
        return function

    return keep


@arm("fsmonitor")
def _fsmonitor(repo: Path, command: str) -> None:
    call(repo, "config", "core.fsmonitor", command)


@arm("hooks")
def _hooks(repo: Path, command: str) -> None:
    for name in ("post-index-change", "post-checkout", "reference-transaction", "fsmonitor-watchman"):
        hook = repo / ".git" / "hooks" / name
        hook.parent.mkdir(exist_ok=True)
        hook.write_text(f"#!/bin/sh\n{command}\n", encoding="utf-8")
        hook.chmod(0o755)


@arm("hooks elsewhere")
def _hooks_elsewhere(repo: Path, command: str) -> None:
    _hooks(repo, command)
    call(repo, "config", "core.hooksPath", str(repo / ".git" / "hooks"))


@arm("clean filter")
def _clean(repo: Path, command: str) -> None:
    (repo / ".git" / "info").mkdir(exist_ok=True)
    (repo / ".git" / "info" / "attributes").write_text(
        "* filter=evil filter=a.b\n* filter=e=v\n", encoding="utf-8"
    )
    for name in ("evil", "a.b", "e=v"):
        call(repo, "config", "--add", f"filter.{name}.clean", f"{command}; cat")
        call(repo, "config", "--add", f"filter.{name}.required", "true")


@arm("process filter")
def _process(repo: Path, command: str) -> None:
    (repo / ".gitattributes").write_text("* filter=evil\n", encoding="utf-8")
    call(repo, "config", "filter.evil.process", command)


@arm("filter by include")
def _include(repo: Path, command: str) -> None:
    (repo / ".gitattributes").write_text("* filter=evil\n", encoding="utf-8")
    (repo / "included").write_text(f'[filter "evil"]\n\tclean = "{command}; cat"\n', encoding="utf-8")
    call(repo, "config", "include.path", "../included")


@arm("filter of a worktree")
def _worktree_config(repo: Path, command: str) -> None:
    (repo / ".gitattributes").write_text("* filter=evil\n", encoding="utf-8")
    call(repo, "config", "core.repositoryformatversion", "1")
    call(repo, "config", "extensions.worktreeConfig", "true")
    call(repo, "config", "--worktree", "filter.evil.clean", f"{command}; cat")


@arm("partial clone")
def _lazy_fetch(repo: Path, command: str) -> None:
    tree = call(repo, "rev-parse", "HEAD^{tree}").strip()
    (repo / ".git" / "objects" / tree[:2] / tree[2:]).unlink()
    for key, value in {
        "core.repositoryformatversion": "1",
        "extensions.partialClone": "origin",
        "remote.origin.promisor": "true",
        "remote.origin.url": str(repo),
        "remote.origin.uploadpack": f"{command}; git-upload-pack",
        "protocol.allow": "always",
    }.items():
        call(repo, "config", key, value)


@arm("pager and editor")
def _pager(repo: Path, command: str) -> None:
    for key in (
        "core.pager",
        "pager.status",
        "core.editor",
        "core.askPass",
        "core.sshCommand",
        "alias.status",
    ):
        call(repo, "config", key, command)


@pytest.mark.parametrize("armed", [*_ARMS.values()], ids=[*_ARMS])
def test_what_a_repository_configures_is_not_run(
    repo: Path, tmp_path: Path, armed: Callable[[Path, str], None]
) -> None:
    """A repository that came in an archive has a configuration of its own; asking about it starts none of its commands."""
    mark = tmp_path / "ran"
    armed(repo, f"touch {mark}")
    (repo / "main.py").write_text("2\n", encoding="utf-8")  # the same size: git must look at the content
    os.utime(repo / "main.py", (0, 0))
    git.read_ground(repo, ["main.py"])
    git.index_entries(repo, ["main.py"])
    git.object_names(repo, ["HEAD:./main.py"])
    assert not mark.exists()
    subprocess.run(["git", "status"], cwd=repo, capture_output=True, check=False, timeout=60)
    if armed in (_clean, _include, _worktree_config, _lazy_fetch):
        assert mark.exists(), "the trap is none: git itself did not fall into it"


def test_filters_of_the_user_stay_in_force(repo: Path, isolated_home: Path) -> None:
    """Without the filters of git-lfs every large file would count as changed."""
    with (isolated_home / ".gitconfig").open("a", encoding="utf-8") as config:
        config.write('[filter "rot"]\n\tclean = tr a-z b-za\n\tsmudge = cat\n')
    (repo / ".gitattributes").write_text("*.rot filter=rot\n", encoding="utf-8")
    (repo / "x.rot").write_text("abc\n", encoding="utf-8")
    call(repo, "add", "-A")
    call(repo, "commit", "-q", "-m", "rot")
    assert call(repo, "show", "HEAD:x.rot") == "bcd\n"
    os.utime(repo / "x.rot", (0, 0))
    assert git.dirty(repo) == ()


# Without git, and with one that hangs


def test_without_git_only_the_branch_is_known(repo: Path, run_python: Run) -> None:
    """Nothing raises if git is not installed; the branch is read from HEAD."""
    code = (
        "import os, sys; from pathlib import Path; from leftoff.platform import git\n"
        "os.environ['PATH'] = '/nowhere'; repo = Path(sys.argv[1])\n"
        "print(git.head(repo), git.branch(repo), git.dirty(repo), git.index_entries(repo, ['main.py']), git.read_ground(repo).head)\n"
    )
    assert run_python(code, repo).stdout == "None main None None None\n"


@pytest.mark.slow
def test_a_git_that_hangs_is_given_up(
    repo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, process_has_ended: Callable[[int], bool]
) -> None:
    """A git that hangs is stopped after five seconds, with every process it started."""
    slow = tmp_path / "bin" / "git"
    slow.parent.mkdir()
    slow.write_text(f"#!/bin/sh\nsleep 600 & echo $! > {tmp_path}/pid\nwait\n", encoding="utf-8")
    slow.chmod(0o755)
    monkeypatch.setenv("PATH", str(slow.parent), prepend=os.pathsep)
    began = time.monotonic()
    assert git.head(repo) is None
    assert git.TIMEOUT_SECONDS <= time.monotonic() - began < git.TIMEOUT_SECONDS + 60
    assert process_has_ended(int((tmp_path / "pid").read_text(encoding="utf-8")))
