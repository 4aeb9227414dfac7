"""Where things are: this user's folders, this project's folder, and paths that must not leave theirs.

The project's ``.leftoff`` stands at the git root (in a worktree: of the main checkout), outside git in the working
folder or the nearest folder above that has one. HOME, ``/`` and temporary folders are never a project: what is written
there would be everybody's.
"""

from __future__ import annotations

import os
from functools import cache
from itertools import takewhile
from pathlib import Path

from leftoff.errors import OutsideFolderError, StorageError
from leftoff.model.values import dataclass
from leftoff.system import files, ids, user_folders

PROJECT_FOLDER = ".leftoff"
GITIGNORE = b"# leftoff's own documents; what is meant to be shared is named here.\n*\n!configuration.yaml\n!project/\n!project/**\n"


def environment() -> dict[str, str]:
    """A copy of the environment, for those who are allowed to look at it."""
    return user_folders.environment()


def working_folder() -> Path:
    """The folder we are in; StorageError when it has been deleted meanwhile."""
    try:
        return Path.cwd()
    except FileNotFoundError as error:
        raise StorageError("The folder you are in is gone. Go to one that exists and try again.") from error


def home() -> Path:
    """This user's home folder."""
    return Path.home()


def agent_home(variable: str, *, below_home: str) -> Path:
    """An agent's own folder: what ``variable`` names, else its usual place below HOME."""
    named = os.environ.get(variable)
    return Path(named).expanduser() if named else home() / below_home


def state_folder() -> Path:
    """What may be lost: levels said, extraction so far, running pauses."""
    return Path(user_folders.user_folder("state"))


def data_folder() -> Path:
    """What must not be lost: library, archive, register, the installed fast path."""
    return Path(user_folders.user_folder("data"))


def config_folder() -> Path:
    """Where the user's configuration.yaml is."""
    return Path(user_folders.user_folder("config"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Project:
    """A project and where its documents are. ``worktree`` is the folder's name when it is not the main checkout."""

    root: Path  # the folder the work is in: the worktree's own root
    folder: Path  # where its documents are
    in_git: bool
    worktree: str | None = None


def project_of(working_folder: Path) -> Project:
    """The project that a working folder belongs to. Nothing is created."""
    root = root_of(working_folder)
    if _is_everybodys(root) or not root.is_dir():  # a folder that is gone must not be made again
        import hashlib  # noqa: PLC0415 - takes longer to load than all this takes

        digest = hashlib.sha256(os.fsencode(root)).hexdigest()[:12]
        return Project(root=root, folder=data_folder() / "no-project" / digest, in_git=False)
    if not (root / ".git").exists():
        return Project(root=root, folder=root / PROJECT_FOLDER, in_git=False)
    main = _main_checkout(root)
    worktree = root.name if main != root else None
    return Project(root=root, folder=main / PROJECT_FOLDER, in_git=True, worktree=worktree)


def root_of(working_folder: Path) -> Path:
    """Where that project begins: the git root, the nearest folder above that has documents, else the folder itself."""
    start = Path(os.path.realpath(working_folder))
    root = _git_root(start)
    if root is not None and not _is_everybodys(root):
        return root
    above = takewhile(lambda each: not _is_everybodys(each), (start, *start.parents))
    return next((folder for folder in above if (folder / PROJECT_FOLDER).is_dir()), start)


def is_shared(project: Project) -> bool:
    """Whether other checkouts of the repository, git's worktrees, have their documents in the same folder."""
    if project.worktree is not None or not project.in_git:
        return project.in_git
    worktrees = project.root / ".git" / "worktrees"
    try:
        return any(_may_stand(each / "gitdir") for each in worktrees.iterdir())
    except OSError:
        return not _is_gone(worktrees)


def make_project_folder(project: Project) -> None:
    """Its folder, private and ignored by git. A symbolic link in its place is refused: it may lead anywhere."""
    if project.folder.is_symlink():
        raise OutsideFolderError(
            f"{project.folder}: this is a symbolic link; leftoff writes only into a real folder. Remove the link.",
            path=project.folder,
        )
    is_in_project = project.folder.name == PROJECT_FOLDER
    if is_in_project and not project.folder.parent.is_dir():
        raise StorageError(f"{project.folder.parent}: the project's folder is gone.", path=project.folder)
    files.make_folder(project.folder)
    if is_in_project:
        files.create_file(project.folder / ".gitignore", GITIGNORE)


def inside(folder: Path, *names: str) -> Path:
    """The path of ``names`` below ``folder``, each checked as an id; refused where a symbolic link leads out (L14)."""
    path = folder
    for name in names:
        path = path / ids.checked(name, what="name")
    return contained(folder, path)


def contained(folder: Path, path: Path) -> Path:
    """``path`` itself, when with all links followed it is still below ``folder``."""
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
    """The checkout that owns the repository of a linked worktree; ``root`` itself for anything else.

    A worktree's ``.git`` is a file that names its git folder, which names the common one. Submodules have such a file too,
    but no common folder: they are projects of their own. The repository must name the worktree in turn: a file that came
    in an archive could name anybody's repository.
    """
    pointer = root / ".git"
    if not pointer.is_file():
        return root
    git_folder = _named_in(pointer, prefix="gitdir:")
    common = _named_in(git_folder / "commondir") if git_folder else None
    if git_folder is None or common is None or common.name != ".git" or _is_everybodys(common.parent):
        return root
    owned = git_folder.parent == common / "worktrees" and _named_in(git_folder / "gitdir") == pointer
    return common.parent if owned else root


def _may_stand(pointer: Path) -> bool:
    """Whether a worktree stands, or may come back: git locks one that is on a disk which is not always there."""
    if _is_gone(pointer):
        return False
    named = _named_in(pointer)
    return named is None or not _is_gone(named) or not _is_gone(pointer.with_name("locked"))


def _is_gone(path: Path) -> bool:
    """For certain: what cannot be looked at may well be there."""
    try:
        path.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return True
    except OSError:
        return False
    return False


def _named_in(file: Path, *, prefix: str = "") -> Path | None:
    """The path that a one-line file of git holds, relative to where the file is."""
    try:
        line = file.read_text(encoding="utf-8", errors="surrogateescape").strip()
        if line.startswith(prefix):
            return Path(os.path.realpath(file.parent / line.removeprefix(prefix).strip()))
    except (OSError, ValueError):  # ValueError: a path with a NUL in it
        return None
    return None


def _is_everybodys(folder: Path) -> bool:
    """Temporary folders are taken from the environment: ``tempfile`` would write into them to find out."""
    named = (os.environ.get(variable, "") for variable in ("TMPDIR", "TEMP", "TMP"))
    shared = ("/", "/tmp", "/var/tmp", "/usr/tmp", str(home()), *filter(None, named))
    return folder == folder.parent or os.path.realpath(folder) in _real(shared)


@cache
def _real(folders: tuple[str, ...]) -> frozenset[str]:
    return frozenset(map(os.path.realpath, folders))
