"""Where projects are: in a numbered tree of folders, or one state in a plain repository; and which one a selector names.

A project can come with a cloned repository, so only regular files are read, links are refused, and sizes are limited. A
folder that cannot be read is a problem of its own project only.
"""

from __future__ import annotations

import os
import re
import stat
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Literal, NamedTuple

from leftoff.errors import NotFoundError, OutsideFolderError, StorageError, UsageError, describe_os_error
from leftoff.platform import paths

STATE_NAME = "_resume.md"
HISTORY_NAME = "_resume-history.md"
OLDER_NAME = "resume-context.md"
PLAIN_FOLDER = "project"
Part = Literal["overview", "plan", "steps", "research"]
_NAMES: Mapping[Part, tuple[str, ...]] = {
    "overview": ("overview.md", "01-overview.md"),
    "plan": ("plan.md", "03-plan.md"),
    "steps": ("steps.md", "04-steps.md"),
    "research": ("research.md",),
}
_NUMBERED = re.compile(r"(\d{1,6})-(.+)")
PARTS: tuple[Part, ...] = ("overview", "plan", "steps", "research")
MOST_BYTES = 512 * 1024  # of a document that is read completely
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_BEGINNING_BYTES = 64 * 1024
_MOST_PROJECTS = 2000
_LONGEST_NAME = 60
_LONGEST_NUMBER = 9


class Tree(NamedTuple):
    """The folders of a layout: the repository, the root of all projects, and the names of the three folders in each."""

    root: Path
    projects: Path
    plain: Path  # the folder of a state without a tree
    planning: str
    resources: str
    working: str


class Home(NamedTuple):
    """One project: its id, and where its files are. Its reading list is relative to ``folder``."""

    id: str
    root: Path
    folder: Path
    planning: Path
    resources: Path
    working: Path | None  # None in a plain repository, where work can be anywhere

    @property
    def state(self) -> Path:
        """The path of its ``_resume.md``, which may not exist."""
        return self.planning / STATE_NAME

    @property
    def history(self) -> Path:
        """The path of what was moved out of its ``_resume.md``, which may not exist."""
        return self.planning / HISTORY_NAME

    @property
    def older(self) -> Path:
        """The path of the older form of its resume state, which may not exist."""
        return self.planning / OLDER_NAME

    @property
    def is_begun(self) -> bool:
        """Whether it has a resume state or any document; an empty folder is no project yet."""
        return any(map(os.path.lexists, (self.state, self.older, *map(self.part, PARTS))))

    @property
    def number(self) -> int | None:
        """The number at the start of its id; None if it has none."""
        match = _NUMBERED.fullmatch(self.id)
        return int(match[1]) if match else None

    def part(self, name: Part) -> Path:
        """Return the path of a document: the existing file, else where it would be created."""
        folder = self.resources if name == "research" else self.planning
        existing = (folder / each for each in _NAMES[name] if os.path.lexists(folder / each))
        return next(existing, folder / _NAMES[name][0])

    def relative(self, path: Path) -> str:
        """Return the path as the reading list shows it."""
        return path.relative_to(self.folder).as_posix() if path.is_relative_to(self.folder) else str(path)


def list_homes(tree: Tree) -> list[Home]:
    """Return all projects by number and name; that of a plain repository comes first."""
    homes = [plain_home(tree)] if os.path.lexists(tree.plain / STATE_NAME) else []
    return [*homes, *(numbered_home(tree, name) for name in _numbered_folders(tree))]


def plain_home(tree: Tree) -> Home:
    """Return the project of a repository without a tree."""
    return Home(
        id=tree.root.name or "project",
        root=tree.root,
        folder=tree.root,
        planning=tree.plain,
        resources=tree.plain,
        working=None,
    )


def numbered_home(tree: Tree, name: str) -> Home:
    """Return the project in a folder of the tree."""
    folder = tree.projects / name
    return Home(
        id=name,
        root=tree.root,
        folder=folder,
        planning=folder / tree.planning,
        resources=folder / tree.resources,
        working=folder / tree.working,
    )


def new_id(tree: Tree, name: str) -> str:
    """Return ``NN-name`` with the next free number; raise UsageError if the name has no letters or digits."""
    # Letters, their marks and digits of any script are kept.
    kept = "".join(
        letter if unicodedata.category(letter)[0] in "LMN" else " "
        for letter in unicodedata.normalize("NFC", name)
    )
    slug = "-".join(kept.lower().split())[:_LONGEST_NAME].strip("-")
    if not slug:
        raise UsageError(f"{name[:40]!r} has no letters or digits that a folder could be called by.")
    used = [int(match[1]) for each in _numbered_folders(tree) if (match := _NUMBERED.fullmatch(each))]
    return f"{max(used, default=0) + 1:02d}-{slug}"


def find_home(homes: Sequence[Home], selector: str, names: Mapping[str, str]) -> Home:
    """Return the project that a number, a name or a part of one selects; ``names`` are project names by id."""
    wanted = selector.strip().lower()
    if not homes:
        raise NotFoundError('There is no project here yet. To start one: leftoff project init "NAME"')
    for matches in _matches(homes, wanted, names):
        if len(matches) == 1:
            return matches[0]
        if matches:
            raise UsageError(
                f"{selector[:40]!r} names {len(matches)} projects: {_join_ids(matches)}. Say more of the name."
            )
    raise NotFoundError(f"No project is called {selector[:40]!r}. There are: {_join_ids(homes)}.")


def require_real_files(home: Home) -> Home:
    """Return the project if none of its folders and documents is a link or outside the repository; raise otherwise."""
    folders = [home.planning, home.resources, *([home.working] if home.working is not None else [])]
    for path in (*folders, home.state, home.history, *map(home.part, PARTS)):
        paths.require_inside(home.root, path)
        if is_link(path):
            raise OutsideFolderError(
                f"{path}: this is a symbolic link; leftoff works only with real files.", path=path
            )
    return home


def is_link(path: Path) -> bool:
    """Return whether the path is a link; False if that cannot be determined, since reading fails then."""
    try:
        return stat.S_ISLNK(os.lstat(path).st_mode)
    except (OSError, ValueError):
        return False


def read_text(home: Home, path: Path) -> str | None:
    """Return the whole text of a document, even if it is not UTF-8; None if it does not exist."""
    data = read_bytes(home, path, MOST_BYTES)
    return None if data is None else data.decode("utf-8", "surrogateescape")


def read_beginning(home: Home, path: Path) -> str | None:
    """Return the beginning of a document of any length; None if it does not exist."""
    data = _read(home, path, _BEGINNING_BYTES)
    return None if data is None else data[0].decode("utf-8", "surrogateescape")


def read_bytes(home: Home, path: Path, most: int) -> bytes | None:
    """Return the bytes of a document; None if it does not exist. Raise StorageError if it is larger than ``most``."""
    data = _read(home, path, most)
    if data is None:
        return None
    if data[1] > most:
        raise StorageError(
            f"{path}: {data[1]:,} bytes, and leftoff reads at most {most:,}. Move what is done to another file.",
            path=path,
        )
    return data[0]


def _read(home: Home, path: Path, most: int) -> tuple[bytes, int] | None:
    """Return up to ``most`` bytes of a regular file, and its size; None if it does not exist. Refuse devices and links."""
    paths.require_inside(home.root, path)
    try:
        fd = os.open(path, _READ)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValueError) as error:
        raise _read_error(path, error) from error
    try:
        status = os.fstat(fd)
        if not stat.S_ISREG(status.st_mode):
            raise StorageError(f"{path}: cannot be read: it is not a regular file.", path=path)
        with open(fd, "rb", closefd=False) as file:
            return file.read(most), status.st_size
    except OSError as error:
        raise _read_error(path, error) from error
    finally:
        os.close(fd)


def _read_error(path: Path, error: OSError | ValueError) -> StorageError:
    why = describe_os_error(error) if isinstance(error, OSError) else "a file cannot have this name"
    return StorageError(f"{path}: cannot be read: {why}.", path=path)


def _matches(homes: Sequence[Home], wanted: str, names: Mapping[str, str]) -> Iterator[list[Home]]:
    """Yield the matches from the strictest reading of the selector to the loosest. A number never matches a part."""
    if not wanted:
        return
    is_number = wanted.isdecimal() and len(wanted) <= _LONGEST_NUMBER
    if is_number:
        yield [home for home in homes if home.number == int(wanted)]
    yield [home for home in homes if wanted in {home.id.lower(), names.get(home.id, "").lower()}]
    if is_number:
        return
    yield [home for home in homes if wanted in home.id.lower() or wanted in names.get(home.id, "").lower()]


def _join_ids(homes: Iterable[Home]) -> str:
    all_ids = [home.id for home in homes]
    more = f" and {len(all_ids) - 6} more" if len(all_ids) > 6 else ""
    return ", ".join(all_ids[:6]) + more


def _numbered_folders(tree: Tree) -> list[str]:
    """Return the names of the numbered folders, by number."""
    try:
        with os.scandir(tree.projects) as entries:
            names = [each.name for each in entries if _NUMBERED.fullmatch(each.name) and _is_folder(each)]
    except OSError:
        return []
    return sorted(names, key=lambda name: (int(name.partition("-")[0]), name))[:_MOST_PROJECTS]


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:
        return True  # listed, so that its project reports the problem
