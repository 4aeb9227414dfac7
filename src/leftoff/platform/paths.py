"""Where things are: this user's folders, the folder of a project, and paths that must not leave a folder.

The project's ``.leftoff`` folder is at the git root (for a worktree: of the main checkout); outside git it is in the working
folder or the nearest folder above that has one. HOME, ``/`` and temporary folders are never a project, because several users
or projects share them."""

from __future__ import annotations

import os
from functools import cache
from itertools import takewhile
from pathlib import Path
from typing import NamedTuple

import platformdirs

from leftoff.errors import OutsideFolderError, StorageError
from leftoff.platform import clock

PROJECT_FOLDER = ".leftoff"
_LONGEST_PATH_BYTES = 64 * 1024
GITIGNORE = b"# leftoff's own documents; what is meant to be shared is named here.\n*\n!configuration.yaml\n!project/\n!project/**\n"


def working_folder() -> Path:
    """Return the working folder; one that has been deleted as the shell names it, because most commands do not need it."""
    try:
        return Path.cwd()
    except FileNotFoundError as error:
        named = Path(os.environ.get("PWD", ""))
        if named.is_absolute() and not named.exists():
            return named
        raise StorageError("The folder you are in is gone. Go to one that exists and try again.") from error


def home() -> Path:
    """Return this user's home folder."""
    return Path.home()


def agent_home(variable: str, *, below_home: str) -> Path:
    """Return an agent's folder: the one that the environment variable names, else its usual place below HOME."""
    named = os.environ.get(variable)
    return Path(named).expanduser() if named else home() / below_home


def state_folder() -> Path:
    """Return the folder for what may be lost: announced levels, extraction states, running pauses."""
    return platformdirs.user_state_path("leftoff", appauthor=False)


def data_folder() -> Path:
    """Return the folder for what must not be lost: index, archive, register, the installed fast path."""
    return platformdirs.user_data_path("leftoff", appauthor=False)


def config_folder() -> Path:
    """Return the folder of the user's configuration.yaml."""
    return platformdirs.user_config_path("leftoff", appauthor=False)


class Project(NamedTuple):
    """A project. ``worktree`` is the name of the root folder if it is not the main checkout, else None."""

    root: Path  # of the worktree itself
    folder: Path  # for leftoff's documents
    in_git: bool
    worktree: str | None = None


def find_project(working_folder: Path) -> Project:
    """Return the project that a working folder belongs to. Nothing is created."""
    root = find_project_root(working_folder)
    if _is_shared_folder(root) or not root.is_dir():  # a deleted folder must not be created again
        from hashlib import sha256  # noqa: PLC0415 - the status line does without

        digest = sha256(os.fsencode(root)).hexdigest()[:12]
        return Project(root=root, folder=data_folder() / "no-project" / digest, in_git=False)
    if not (root / ".git").exists():
        return Project(root=root, folder=root / PROJECT_FOLDER, in_git=False)
    main = _main_checkout(root)
    worktree = root.name if main != root else None
    return Project(root=root, folder=main / PROJECT_FOLDER, in_git=True, worktree=worktree)


def find_project_root(working_folder: Path) -> Path:
    """Return the git root, else the nearest folder above with a ``.leftoff`` folder, else the working folder."""
    start = Path(os.path.realpath(working_folder))
    root = _git_root(start)
    if root is not None and not _is_shared_folder(root):
        return root
    candidates = takewhile(lambda each: not _is_shared_folder(each), (start, *start.parents))
    return next((folder for folder in candidates if (folder / PROJECT_FOLDER).is_dir()), start)


class GitFolders(NamedTuple):
    """The folders of a repository: that of one checkout (HEAD, its reflog), and the one that all worktrees share (objects)."""

    own: Path
    common: Path


def git_folders(folder: Path) -> GitFolders | None:
    """Return the folders of the repository that a folder is in; None outside git."""
    root = _git_root(Path(os.path.realpath(folder)))
    if root is None:
        return None
    pointer = root / ".git"
    own = (_read_git_path(pointer, prefix="gitdir:") if pointer.is_file() else None) or pointer
    return GitFolders(own, _read_git_path(own / "commondir") or own)


def shares_folder(project: Project) -> bool:
    """Return whether other worktrees of the repository use the same folder for their documents."""
    if project.worktree is not None or not project.in_git:
        return project.in_git
    worktrees = project.root / ".git" / "worktrees"
    try:
        return any(_worktree_may_exist(each / "gitdir") for each in worktrees.iterdir())
    except OSError:
        return not _is_gone(worktrees)


def make_project_folder(project: Project) -> None:
    """Create the project's folder, private and ignored by git. A symbolic link in its place is refused."""
    from leftoff.platform import files  # noqa: PLC0415 - the status line looks up folders and creates none

    if project.folder.is_symlink():
        raise OutsideFolderError(
            f"{project.folder}: this is a symbolic link; leftoff writes only into a real folder. Remove the link.",
            path=project.folder,
        )
    is_in_project = project.folder.name == PROJECT_FOLDER
    if is_in_project and not project.folder.parent.is_dir():
        raise StorageError(f"{project.folder.parent}: the project's folder is gone.", path=project.folder)
    files.make_folder(project.folder)
    ignore = project.folder / ".gitignore"
    if is_in_project and not os.path.lexists(
        ignore
    ):  # on a full disk nothing can be created, not even to look
        files.create_file(ignore, GITIGNORE)


def safe_join(folder: Path, *names: str) -> Path:
    """Join ``names``, each checked as an id, to ``folder``; refuse a path that a symbolic link leads out of it."""
    path = folder
    for name in names:
        path = path / clock.check_id(name, what="name")
    return require_inside(folder, path)


def require_inside(folder: Path, path: Path) -> Path:
    """Return ``path`` if it is below ``folder`` with all links followed; else raise OutsideFolderError."""
    root = os.path.realpath(folder)
    real = os.path.realpath(path)
    if real != root and not real.startswith(root.rstrip(os.sep) + os.sep):
        raise OutsideFolderError(f"{path}: leads out of {folder}. Nothing was read or written.", path=path)
    return path


def _git_root(start: Path) -> Path | None:
    for folder in (start, *start.parents):
        if (folder / ".git").exists():
            return folder
    return None


def _main_checkout(root: Path) -> Path:
    """Return the checkout that owns the repository of a linked worktree; ``root`` itself for anything else.

    A worktree's ``.git`` is a file that names its git folder, which names the common one. A submodule has such a file too,
    but no common folder: it is a project of its own. The repository must name the worktree in turn, because a ``.git`` file
    from an archive could name any repository.
    """
    pointer = root / ".git"
    if not pointer.is_file():
        return root
    git_folder = _read_git_path(pointer, prefix="gitdir:")
    common = _read_git_path(git_folder / "commondir") if git_folder else None
    if git_folder is None or common is None or common.name != ".git" or _is_shared_folder(common.parent):
        return root
    owned = git_folder.parent == common / "worktrees" and _read_git_path(git_folder / "gitdir") == pointer
    return common.parent if owned else root


def _worktree_may_exist(pointer: Path) -> bool:
    """Return whether a worktree exists or may come back: git locks one that is on a removable disk."""
    if _is_gone(pointer):
        return False
    worktree = _read_git_path(pointer)
    return worktree is None or not _is_gone(worktree) or not _is_gone(pointer.with_name("locked"))


def _is_gone(path: Path) -> bool:
    """Return whether the path certainly does not exist; one that cannot be inspected may exist."""
    try:
        path.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return True
    except OSError:
        return False
    return False


def read_git_head(root: Path) -> str | None:
    """Return what the checkout's HEAD contains; None if it cannot be read."""
    pointer = root / ".git"
    git_folder = _read_git_path(pointer, prefix="gitdir:") if pointer.is_file() else pointer
    return None if git_folder is None else _read_git_line(git_folder / "HEAD")


def _read_git_path(file: Path, *, prefix: str = "") -> Path | None:
    """Return the path in a one-line file of git, resolved from the file's folder; None if it cannot be read."""
    line = _read_git_line(file)
    if line is None or not line.startswith(prefix):
        return None
    try:
        return Path(os.path.realpath(file.parent / line.removeprefix(prefix).strip()))
    except (OSError, ValueError):  # ValueError: a path with a NUL in it
        return None


def _read_git_line(file: Path) -> str | None:
    from leftoff.platform import files  # noqa: PLC0415 - the status line seldom meets a worktree

    try:
        return os.fsdecode(files.read_regular_file(file, _LONGEST_PATH_BYTES)).strip()
    except (OSError, ValueError):
        return None


def _is_shared_folder(folder: Path) -> bool:
    """Return whether a folder is HOME, ``/`` or for temporary files, which ``tempfile`` could tell only by writing there."""
    named = (os.environ.get(variable, "") for variable in ("TMPDIR", "TEMP", "TMP"))
    shared = ("/", "/tmp", "/var/tmp", "/usr/tmp", str(home()), *filter(None, named))
    return folder == folder.parent or os.path.realpath(folder) in _real(shared)


@cache
def _real(folders: tuple[str, ...]) -> frozenset[str]:
    return frozenset(map(os.path.realpath, folders))


def environment() -> dict[str, str]:
    """Return a copy of the environment variables."""
    return dict(os.environ)
