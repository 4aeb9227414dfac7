"""The project of a working folder, the user's folders, and paths that must not leave theirs."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest

from leftoff.errors import InvalidIdError, OutsideFolderError, StorageError
from leftoff.platform import paths

SHARED = """
import sys
from pathlib import Path
from leftoff.platform import files, paths
drop()
root = Path(sys.argv[1])
print(paths.shares_folder(paths.Project(root=root, folder=root / ".leftoff", in_git=True)))
"""


def git(folder: Path, *arguments: str) -> str:
    done = subprocess.run(
        ["git", *arguments], cwd=folder, capture_output=True, text=True, check=True, timeout=60
    )
    return done.stdout


def repository(folder: Path) -> Path:
    """A repository with one commit."""
    folder.mkdir(parents=True, exist_ok=True)
    git(folder, "init", "-q")
    (folder / "main.py").write_text("", encoding="utf-8")
    git(folder, "add", "main.py")
    git(folder, "commit", "-q", "-m", "first")
    return folder


# Which project


def test_in_git_it_is_the_root_of_the_checkout(tmp_path: Path) -> None:
    """The root is found from any folder below it."""
    root = repository(tmp_path / "repo")
    (root / "a" / "b").mkdir(parents=True)
    expected = paths.Project(root=root, folder=root / ".leftoff", in_git=True)
    assert [paths.find_project(each) for each in (root, root / "a" / "b", root / ".git")] == [expected] * 3


def test_a_leftoff_folder_below_or_above_the_root_is_not_taken(tmp_path: Path) -> None:
    """The search stops at the git root."""
    root = repository(tmp_path / "outer" / "repo")
    for folder in (root.parent / ".leftoff", root / "a" / ".leftoff"):
        folder.mkdir(parents=True)
    assert paths.find_project(root / "a").folder == root / ".leftoff"


def test_a_worktree_keeps_its_documents_in_the_main_checkout(tmp_path: Path) -> None:
    """The project has the worktree's name, and the worktree's folder is its root."""
    main = repository(tmp_path / "repo")
    tree = tmp_path / "elsewhere" / "feature"
    git(main, "worktree", "add", "-q", str(tree))
    (tree / "sub").mkdir()
    expected = paths.Project(root=tree, folder=main / ".leftoff", in_git=True, worktree="feature")
    assert paths.find_project(tree / "sub") == expected


def test_a_worktree_with_relative_links_is_one_too(tmp_path: Path) -> None:
    """Newer versions of git write relative links."""
    main = repository(tmp_path / "repo")
    tree = tmp_path / "feature"
    git(main, "worktree", "add", "-q", str(tree))
    inner = main / ".git" / "worktrees" / "feature"
    (tree / ".git").write_text("gitdir: ../repo/.git/worktrees/feature\n", encoding="utf-8")
    (inner / "gitdir").write_text("../../../../feature/.git\n", encoding="utf-8")
    assert git(tree, "rev-parse", "--is-inside-work-tree") == "true\n"
    assert paths.find_project(tree).folder == main / ".leftoff"


def test_a_submodule_is_a_project_of_its_own(tmp_path: Path) -> None:
    """The .git of a submodule is a file too, but it belongs to no other checkout."""
    library, main = repository(tmp_path / "library"), repository(tmp_path / "repo")
    git(main, "-c", "protocol.file.allow=always", "submodule", "add", "-q", str(library), "lib")
    expected = paths.Project(root=main / "lib", folder=main / "lib" / ".leftoff", in_git=True)
    assert paths.find_project(main / "lib") == expected


def test_a_worktree_of_a_bare_repository_is_a_project_of_its_own(tmp_path: Path) -> None:
    """There is no main checkout, and documents do not belong in the bare folder."""
    main = repository(tmp_path / "repo")
    git(tmp_path, "clone", "-q", "--bare", str(main), "bare.git")
    git(tmp_path / "bare.git", "worktree", "add", "-q", str(tmp_path / "tree"), "main")
    assert paths.find_project(tmp_path / "tree").folder == tmp_path / "tree" / ".leftoff"
    assert paths.find_project(tmp_path / "bare.git").in_git is False


@pytest.mark.parametrize("claim", ["a folder of its own", "a worktree of ours"])
def test_a_git_file_from_an_archive_cannot_claim_another_repository(tmp_path: Path, claim: str) -> None:
    """Documents go to a main checkout only when that repository knows the worktree."""
    victim = repository(tmp_path / "victim")
    git(victim, "worktree", "add", "-q", str(tmp_path / "real"))
    evil = tmp_path / "unpacked"
    (evil / "fake").mkdir(parents=True)
    (evil / "fake" / "commondir").write_text(str(victim / ".git"), encoding="utf-8")
    (evil / "fake" / "gitdir").write_text(str(evil / ".git"), encoding="utf-8")
    named = evil / "fake" if claim == "a folder of its own" else victim / ".git" / "worktrees" / "real"
    (evil / ".git").write_text(f"gitdir: {named}\n", encoding="utf-8")
    assert paths.find_project(evil) == paths.Project(root=evil, folder=evil / ".leftoff", in_git=True)


@pytest.mark.parametrize(
    "content", [b"", b"gitdir:", b"gitdir: \0", b"\xff\xfe", b"gitdir: nowhere", b"x" * 100_000]
)
def test_a_broken_git_file_makes_a_project_of_its_folder(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "p").mkdir()
    (tmp_path / "p" / ".git").write_bytes(content)
    assert paths.find_project(tmp_path / "p").folder == tmp_path / "p" / ".leftoff"


def test_outside_git_it_is_the_working_folder(tmp_path: Path) -> None:
    """Looking for the project creates nothing."""
    (tmp_path / "p").mkdir()
    assert paths.find_project(tmp_path / "p") == paths.Project(
        root=tmp_path / "p", folder=tmp_path / "p" / ".leftoff", in_git=False
    )
    assert [*(tmp_path / "p").iterdir()] == []


def test_outside_git_the_nearest_leftoff_above_is_taken(tmp_path: Path) -> None:
    """Of two ``.leftoff`` folders, the inner one is taken."""
    for folder in ("p/.leftoff", "p/q/.leftoff", "p/q/r"):
        (tmp_path / folder).mkdir(parents=True, exist_ok=True)
    assert paths.find_project(tmp_path / "p" / "q" / "r").root == tmp_path / "p" / "q"


def test_a_linked_working_folder_is_the_project_behind_it(tmp_path: Path) -> None:
    """A project is the same by whatever path it is entered."""
    root = repository(tmp_path / "repo")
    (tmp_path / "link").symlink_to(root)
    assert paths.find_project(tmp_path / "link") == paths.find_project(root)


@pytest.mark.parametrize("where", ["/", "home", "temporary", "/tmp", "/var/tmp"])
def test_a_shared_folder_is_not_a_project(isolated_home: Path, where: str) -> None:
    """HOME, the root and temporary folders get a folder of their own in the user's data."""
    folder = Path({"home": isolated_home, "temporary": tempfile.gettempdir()}.get(where, where))
    project = paths.find_project(folder)
    assert project.in_git is False
    assert project.folder.parent == paths.data_folder() / "no-project"


@pytest.mark.parametrize("variable", ["TMPDIR", "TEMP", "TMP"])
def test_a_temporary_folder_from_the_environment_is_not_a_project(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, variable: str
) -> None:
    """Nothing is written to find out, and a folder inside it may be a project."""
    (tmp_path / "scratch" / "p").mkdir(parents=True)
    monkeypatch.setenv(variable, str(tmp_path / "scratch"))
    before = (tmp_path / "scratch").stat().st_mtime_ns
    assert paths.find_project(tmp_path / "scratch").folder.is_relative_to(paths.data_folder())
    assert paths.find_project(tmp_path / "scratch" / "p").root == tmp_path / "scratch" / "p"
    assert (tmp_path / "scratch").stat().st_mtime_ns == before


def test_home_with_dotfiles_in_git_is_not_a_project(isolated_home: Path) -> None:
    """Neither HOME itself nor a folder below it that has no repository of its own."""
    repository(isolated_home)
    (isolated_home / ".leftoff").mkdir()
    (isolated_home / "notes").mkdir()
    assert paths.find_project(isolated_home).folder.is_relative_to(paths.data_folder())
    assert paths.find_project(isolated_home / "notes") == paths.Project(
        root=isolated_home / "notes", folder=isolated_home / "notes" / ".leftoff", in_git=False
    )


def test_the_search_does_not_go_past_home(isolated_home: Path, tmp_path: Path) -> None:
    """Folders above HOME do not belong to this user."""
    (tmp_path / ".leftoff").mkdir()
    (isolated_home / "notes").mkdir()
    assert paths.find_project(isolated_home / "notes").root == isolated_home / "notes"


def test_a_worktree_whose_main_checkout_is_home_stays_with_itself(
    isolated_home: Path, tmp_path: Path
) -> None:
    """A worktree of the dotfiles repository does not make HOME a project."""
    repository(isolated_home)
    git(isolated_home, "worktree", "add", "-q", str(tmp_path / "tree"))
    assert paths.find_project(tmp_path / "tree").folder == tmp_path / "tree" / ".leftoff"


def test_a_folder_that_does_not_exist_has_a_project_too(tmp_path: Path) -> None:
    """An agent may have worked in a folder that is gone."""
    root = repository(tmp_path / "repo")
    assert paths.find_project(root / "gone" / "deeper").root == root


# Which worktrees share its folder


@pytest.fixture
def main_and_pointer(tmp_path: Path) -> tuple[paths.Project, Path]:
    """A repository whose only worktree is gone, and the file that names that."""
    main = repository(tmp_path / "repo")
    git(main, "worktree", "add", "-q", str(tmp_path / "tree"))
    (tmp_path / "tree").rename(tmp_path / "moved")
    return paths.find_project(main), main / ".git" / "worktrees" / "tree" / "gitdir"


def test_a_locked_or_unreadable_worktree_shares_the_folder(
    main_and_pointer: tuple[paths.Project, Path],
) -> None:
    """git locks a worktree that comes back; an invalid or unreadable name proves nothing."""
    project, pointer = main_and_pointer
    assert not paths.shares_folder(project)
    pointer.with_name("locked").touch()
    assert paths.shares_folder(project)
    pointer.with_name("locked").unlink()
    for unreadable in (b"\0", b"/" + b"x" * 300 + b"/.git"):
        pointer.write_bytes(unreadable)
        assert paths.shares_folder(project)
    pointer.unlink()
    assert not paths.shares_folder(project)
    pointer.mkdir()
    assert paths.shares_folder(project)


def test_a_project_without_worktrees_does_not_share_its_folder(tmp_path: Path) -> None:
    """A folder of them that cannot be listed may hold some."""
    project = paths.find_project(repository(tmp_path / "repo"))
    assert not paths.shares_folder(project)
    (project.root / ".git" / "worktrees").symlink_to("worktrees")
    assert paths.shares_folder(project)


@pytest.mark.parametrize("closed", ["away", "repo/.git", "repo/.git/worktrees", "repo/.git/worktrees/tree"])
def test_a_worktree_that_may_not_be_looked_at_shares_the_folder(
    unprivileged_folder: Path, run_python: Callable[..., subprocess.CompletedProcess[str]], closed: str
) -> None:
    """Nothing raises if any part of the path to the worktree is closed."""
    pointer = unprivileged_folder / "repo" / ".git" / "worktrees" / "tree" / "gitdir"
    pointer.parent.mkdir(parents=True)
    tree = unprivileged_folder / "away" / "tree"
    tree.mkdir(parents=True)
    (tree / ".git").touch()
    pointer.write_text(f"{tree}/.git\n", encoding="utf-8")
    (unprivileged_folder / closed).chmod(0)
    try:
        done = run_python(SHARED, unprivileged_folder / "repo")
    finally:
        (unprivileged_folder / closed).chmod(0o700)
    assert done.stdout == "True\n"


# The project's folder


def test_the_projects_folder_is_private_and_ignored_by_git(tmp_path: Path) -> None:
    """Mode 0700; git sees configuration.yaml and project/ and nothing else, not even the .gitignore."""
    root = repository(tmp_path / "repo")
    project = paths.find_project(root)
    paths.make_project_folder(project)
    assert project.folder.stat().st_mode & 0o777 == 0o700
    assert (project.folder / ".gitignore").stat().st_mode & 0o777 == 0o600
    assert git(root, "status", "--porcelain") == ""
    for name in (
        "configuration.yaml",
        "project/_resume.md",
        "resume-logs/session-1.md",
        "chats/x.md",
        ".lock",
    ):
        (project.folder / name).parent.mkdir(exist_ok=True)
        (project.folder / name).touch()
    seen = git(root, "status", "--porcelain", "--untracked-files=all").split()
    assert [name for name in seen if name != "??"] == [
        ".leftoff/configuration.yaml",
        ".leftoff/project/_resume.md",
    ]


def test_making_it_again_changes_nothing(tmp_path: Path) -> None:
    """What a user wrote into the .gitignore is kept."""
    project = paths.find_project(repository(tmp_path / "repo"))
    paths.make_project_folder(project)
    (project.folder / ".gitignore").write_text("mine\n", encoding="utf-8")
    paths.make_project_folder(project)
    assert (project.folder / ".gitignore").read_text(encoding="utf-8") == "mine\n"


@pytest.mark.parametrize("target", ["elsewhere", "nowhere"])
def test_a_link_in_its_place_is_refused(tmp_path: Path, target: str) -> None:
    """The link is refused whether its target exists or not, and the message says what to do."""
    root = repository(tmp_path / "repo")
    (tmp_path / "elsewhere").mkdir()
    (root / ".leftoff").symlink_to(tmp_path / target)
    with pytest.raises(OutsideFolderError, match=r"this is a symbolic link.*Remove the link\."):
        paths.make_project_folder(paths.find_project(root))
    assert [*(tmp_path / "elsewhere").iterdir()] == []
    assert not (tmp_path / "nowhere").exists()


def test_a_file_in_place_of_the_folder_is_an_error(tmp_path: Path) -> None:
    root = repository(tmp_path / "repo")
    (root / ".leftoff").write_text("x", encoding="utf-8")
    with pytest.raises(StorageError, match="a file is where a folder should be"):
        paths.make_project_folder(paths.find_project(root))


def test_a_folder_for_no_project_has_no_gitignore(isolated_home: Path) -> None:
    """The folder is in the user's data, which is not in git."""
    project = paths.find_project(isolated_home)
    paths.make_project_folder(project)
    assert [*project.folder.iterdir()] == []
    assert project.folder.parent.parent.stat().st_mode & 0o777 == 0o700


# Paths that must stay


def test_inside_gives_the_path_below(tmp_path: Path) -> None:
    """The path need not exist."""
    assert paths.safe_join(tmp_path, "a", "b.json") == tmp_path / "a" / "b.json"
    assert paths.safe_join(tmp_path) == tmp_path


@pytest.mark.parametrize("names", [("..",), ("a", ".."), ("a/b",), ("/etc",), ("",), (".journal",), ("a\0",)])
def test_inside_takes_names_only(tmp_path: Path, names: tuple[str, ...]) -> None:
    """Each name is checked like an id."""
    with pytest.raises(InvalidIdError):
        paths.safe_join(tmp_path, *names)


def test_a_link_that_leads_out_is_refused_at_any_depth(tmp_path: Path) -> None:
    """The last part, one on the way, one that dangles, one through another link; a link that stays in is fine."""
    folder = tmp_path / "project"
    (folder / "real").mkdir(parents=True)
    (folder / "out").symlink_to(tmp_path)
    (folder / "dangling").symlink_to(tmp_path / "nowhere" / "x")
    (folder / "twice").symlink_to(folder / "out")
    (folder / "in").symlink_to(folder / "real")
    for names in (("out",), ("out", "x"), ("dangling",), ("twice", "x")):
        with pytest.raises(OutsideFolderError, match=r"leads out of .*Nothing was read or written\."):
            paths.safe_join(folder, *names)
    assert paths.safe_join(folder, "in", "x") == folder / "in" / "x"


def test_contained_knows_a_neighbour_from_a_child(tmp_path: Path) -> None:
    """A folder whose name only begins the same is outside; the folder itself and the root of everything are not."""
    for name in ("project", "project-2"):
        (tmp_path / name).mkdir()
    with pytest.raises(OutsideFolderError):
        paths.require_inside(tmp_path / "project", tmp_path / "project-2" / "x")
    with pytest.raises(OutsideFolderError):
        paths.require_inside(tmp_path / "project", tmp_path / "project" / ".." / "x")
    assert paths.require_inside(tmp_path / "project", tmp_path / "project") == tmp_path / "project"
    assert paths.require_inside(Path("/"), tmp_path) == tmp_path


def test_a_loop_of_links_is_refused(tmp_path: Path) -> None:
    """A loop of links does not hang."""
    (tmp_path / "project").mkdir()
    (tmp_path / "project" / "a").symlink_to(tmp_path / "project" / "b")
    (tmp_path / "project" / "b").symlink_to(tmp_path / "project" / "a")
    assert paths.safe_join(tmp_path / "project", "a", "x") == tmp_path / "project" / "a" / "x"


# The user's folders


def test_an_agents_home_is_what_its_variable_names(
    isolated_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without the variable it is the usual place below HOME, and a tilde is expanded."""
    assert paths.agent_home("SOME_AGENT_HOME", below_home=".agent") == isolated_home / ".agent"
    monkeypatch.setenv("SOME_AGENT_HOME", "~/elsewhere")
    assert paths.agent_home("SOME_AGENT_HOME", below_home=".agent") == isolated_home / "elsewhere"


def test_the_environment_is_given_as_a_copy() -> None:
    paths.environment()["LEFTOFF_TEST"] = "1"
    assert os.getenv("LEFTOFF_TEST") is None


def test_a_deleted_project_folder_is_not_created_again(tmp_path: Path) -> None:
    """The documents go to the user's own folder, or to a project above it that still exists."""
    gone = tmp_path / "project" / "sub"
    project = paths.find_project(gone)
    assert project.folder.parent == paths.data_folder() / "no-project"
    paths.make_project_folder(project)
    assert project.folder.is_dir()
    assert not gone.parent.exists()
    (tmp_path / "project" / ".leftoff").mkdir(parents=True)
    assert paths.find_project(gone).root == tmp_path / "project"
    late = paths.Project(root=gone, folder=gone / ".leftoff", in_git=False)
    with pytest.raises(StorageError, match="is gone"):
        paths.make_project_folder(late)
    assert not gone.exists()
