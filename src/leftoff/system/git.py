"""What git says about a folder: head, branch, what is dirty, whether it tracks a file (L21).

Only asks, but for ``commit``, which takes exactly the files it is told (L16). Hooks, monitors, pagers, filters, signing
programs and remotes that a repository's own configuration names are switched off, because a repository can come from
anywhere. Outside git, without git or when it takes too long the answers are None.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import MappingProxyType

from leftoff.errors import OutsideFolderError, ProcessError
from leftoff.model.sources import Ground
from leftoff.system import paths, process

TIMEOUT_SECONDS = 5.0
_LARGEST_HASHED_BYTES = 16 * 1024 * 1024
_HASH = re.compile(r"[0-9a-f]{4,64}")
# What a repository's own configuration could make git run, switched off.
_HARMLESS = {
    "core.fsmonitor": "false",
    "core.hooksPath": "/dev/null",
    "core.pager": "cat",
    "commit.gpgSign": "false",
    "log.showSignature": "false",
    "gpg.program": "false",
    "gpg.openpgp.program": "false",
    "gpg.x509.program": "false",
    "gpg.ssh.program": "false",
    "gc.auto": "0",
    "maintenance.auto": "false",
}
_ENVIRONMENT = {
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_LITERAL_PATHSPECS": "1",
    "GIT_NO_LAZY_FETCH": "1",  # asking must not fetch: the other end of a partial clone is a command, too
    "GIT_ALLOW_PROTOCOL": "",  # the same for a git that does not know the line above
    "LC_ALL": "C",
}


def ground(root: Path, touched: Iterable[str] = ()) -> Ground:
    """The state of the folder now; ``touched`` are the files, relative to ``root``, whose content is remembered."""
    return Ground(
        head=head(root),
        branch=branch(root),
        worktree=paths.project_of(root).worktree,
        dirty=dirty(root),
        hashes={name: digest for name in touched if (digest := _digest(root, name))},
    )


def head(root: Path) -> str | None:
    """The commit checked out; None outside git and before the first commit."""
    return _line(root, "rev-parse", "--verify", "--quiet", "HEAD")


def branch(root: Path) -> str | None:
    """The branch checked out; None outside git and on a detached HEAD."""
    return _line(root, "symbolic-ref", "--quiet", "--short", "HEAD")


def remote_address(root: Path) -> str | None:
    """The address of ``origin``, else of the first remote there is; None where there is none. May hold a credential."""
    names = (_line(root, "remote") or "").split("\n")
    name = "origin" if "origin" in names else names[0]
    return _line(root, "config", "--get", f"remote.{name}.url") if name else None


def first_commit(root: Path) -> str | None:
    """The commit that all others go back to; None outside git and in a shallow clone, which does not have it."""
    if _line(root, "rev-parse", "--is-shallow-repository") != "false":
        return None
    found = _line(root, "rev-list", "--max-parents=0", "HEAD")
    return None if found is None else min(found.split("\n"))  # histories that were joined have several


def dirty(root: Path) -> tuple[str, ...] | None:
    """Files that differ from the last commit or are new, relative to ``root``; None outside git."""
    unarmed = _filters(root)
    if unarmed is None:
        return None
    output = _output(
        root,
        "status",
        "--porcelain=v1",
        "-z",
        "--untracked-files=normal",
        "--ignore-submodules=all",
        "--",
        ".",
        settings=unarmed,
    )
    if output is None:
        return None
    found: list[str] = []
    entries = iter(output.split(b"\0"))
    for entry in entries:
        if len(entry) < 4:  # two letters, a blank, a path
            continue
        if entry[:1] in b"RC" or entry[1:2] in b"RC":
            next(entries, None)  # a rename is followed by the old name
        found.append(entry[3:].decode("utf-8", "surrogateescape"))
    return _below(root, found)


def commits_between(root: Path, old: str, new: str) -> int | None:
    """How many commits ``new`` has that ``old`` has not; None where git does not know one of them."""
    if not (
        _HASH.fullmatch(old) and _HASH.fullmatch(new)
    ):  # they come from documents, and must not become options
        return None
    count = _line(root, "rev-list", "--count", f"{old}..{new}")
    return int(count) if count is not None and count.isdecimal() else None


def tracks(file: Path) -> bool:
    """Whether git has the file under control: then it may have come with a clone."""
    return _output(file.parent, "ls-files", "--error-unmatch", "-z", "--", file.name) is not None


def commit(root: Path, files: Iterable[Path], message: str) -> str:
    """Commit exactly these files, ignored or not, and give the new head; ProcessError with git's own words when it does not.

    What else is staged stays staged and is not committed; when git refuses, the files are taken off the stage again.
    """
    names = [str(file) for file in files]
    unarmed = _filters(root)
    if unarmed is None:
        raise ProcessError(f"{root}: git cannot be asked here; nothing was committed.", path=root)
    try:
        _done(root, "add", "--force", "--", *names, settings=unarmed)
        _done(
            root,
            "commit",
            "--quiet",
            "--no-verify",
            "--no-gpg-sign",
            "--message",
            message,
            "--only",
            "--",
            *names,
            settings=unarmed,
        )
    except ProcessError:
        _asked(root, "reset", "--quiet", "--", *names)
        raise
    return head(root) or ""


def _done(root: Path, *arguments: str, settings: Mapping[str, str]) -> None:
    ended = _asked(root, *arguments, settings=settings)
    if ended is None:
        raise ProcessError(f"{root}: git {arguments[0]} gave no answer; nothing was committed.", path=root)
    if ended.exit_code != 0:
        raise ProcessError(
            f"{root}: git {arguments[0]} refused: {ended.complaint}. Nothing was committed.", path=root
        )


def _filters(root: Path) -> dict[str, str] | None:
    """Settings that take the filters away which the repository itself configures: status would run them.

    Those of the user's own configuration stay; without them every file of git-lfs would count as changed.
    """
    listed = _asked(root, "config", "--null", "--name-only", "--show-scope", "--get-regexp", r"^filter\.")
    if listed is None or listed.exit_code not in (0, 1):  # 1: there are none
        return None
    words = listed.stdout.decode("utf-8", "surrogateescape").split("\0")
    drivers = {
        key.rpartition(".")[0]
        for scope, key in zip(words[::2], words[1::2], strict=False)
        if scope in {"local", "worktree"}
    }
    return {
        f"{driver}.{name}": value
        for driver in drivers
        for name, value in (("clean", ""), ("smudge", ""), ("process", ""), ("required", "false"))
    }


def _below(root: Path, names: list[str]) -> tuple[str, ...]:
    """git names files from the top of its tree; we name them from the project's root, which may lie below."""
    prefix = _line(root, "rev-parse", "--show-prefix") or ""
    return tuple(name.removeprefix(prefix) for name in names)


def _digest(root: Path, name: str) -> str | None:
    """sha256 of a file's content; None where it is gone, too large, or not below ``root``."""
    try:
        path = paths.contained(root, root / name)
        if not path.is_file() or path.stat().st_size > _LARGEST_HASHED_BYTES:
            return None
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except (OSError, ValueError, OutsideFolderError):  # ValueError: a name no file can have
        return None


def _line(root: Path, *arguments: str) -> str | None:
    output = _output(root, *arguments)
    text = "" if output is None else output.decode("utf-8", "surrogateescape").strip("\n")
    return text or None


def _output(root: Path, *arguments: str, settings: Mapping[str, str] = MappingProxyType({})) -> bytes | None:
    ended = _asked(root, *arguments, settings=settings)
    return ended.stdout if ended is not None and ended.exit_code == 0 else None


def _asked(
    root: Path, *arguments: str, settings: Mapping[str, str] = MappingProxyType({})
) -> process.Finished | None:
    environment = {name: value for name, value in paths.environment().items() if not name.startswith("GIT_")}
    environment |= _ENVIRONMENT
    environment["GIT_CONFIG_COUNT"] = str(len(_HARMLESS) + len(settings))
    for number, (key, value) in enumerate({**_HARMLESS, **settings}.items()):
        environment |= {f"GIT_CONFIG_KEY_{number}": key, f"GIT_CONFIG_VALUE_{number}": value}
    try:
        return process.run(
            ["git", *arguments], folder=root, timeout_seconds=TIMEOUT_SECONDS, environment=environment
        )
    except ProcessError:
        return None
