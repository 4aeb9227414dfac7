"""Which files and commands a tool call mentions, and whether a text contains them; it shares no code with extraction.

File: a path under a tool's path key, in the head of a patch, or in a shell command if it has an extension. Command: a complete
shell command with normalised white space, without a leading ``cd … &&`` and without what only limits its output (``2>&1 | tail``). A text contains a file if it has its path, its path from the
project's folder, or an end of it that no other file of the session has; a command if it occurs literally, not as part of a longer word.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Literal, NamedTuple

from leftoff.core.records import ToolUse

Kind = Literal["files", "commands"]
NEXT_CALLS = 30  # that show what was needed

_PATH_KEYS = frozenset({"file_path", "path", "notebook_path"})
_COMMAND_KEYS = ("command", "cmd")
_SHELL_WORDS = 3  # ["bash", "-lc", "what is run"]
_PATCH = "*** Begin Patch"
_PATCHED = re.compile(r"^\*\*\* (?:(?:Add|Update|Delete) File|Move to): (.+?)\s*$", re.MULTILINE)
# A file in a folder; not a part of an address or of a longer word.
PATH = re.compile(r"(?<![\w/.@~$:-])(?:~|\.{1,2})?/?(?:[\w.@+-]+/)+[\w.@+-]*\.[A-Za-z]\w{0,9}(?![\w/])")
# Without a folder it may be an expression as well, except as a word of a command.
_BARE_IN_COMMAND = re.compile(r"(?:^|(?<=[\s\"'=]))[\w.+-]*\.[A-Za-z]\w{0,9}(?=[\s\"';|&>]|$)")
_ENDING = re.compile(r"[\w@+-]\.[A-Za-z]\w{0,9}$")
_LIMITS_OUTPUT = re.compile(r"(?:\s*(?:2>&1|[12&]?>\s*/dev/null|\|\s*(?:head|tail)\b[^|&;]*))+\s*$")
_CHANGED_FOLDER = re.compile(r"\s*cd\s+(?:\"[^\"]*\"|'[^']*'|\S+)\s*(?:&&|;)\s*")


class Mention(NamedTuple):
    """A file or a command. A file's ``text`` is its path from the project's folder."""

    kind: Kind
    text: str


class Files:
    """The files of a session, to find out which end of a path is unique."""

    def __init__(self, paths: Iterable[str]) -> None:
        self._by_name: dict[str, set[str]] = {}
        for path in paths:
            self._by_name.setdefault(path.rsplit("/", 1)[-1], set()).add(path)

    def tails(self, path: str) -> Iterator[str]:
        """Yield the path and each shorter end of it that no other file has."""
        parts = path.split("/")
        rivals = [
            other
            for other in self._by_name.get(parts[-1], ())
            if not f"/{path}".endswith(f"/{other.lstrip('/')}")
            and not f"/{other}".endswith(f"/{path.lstrip('/')}")
        ]
        for start in range(len(parts)):
            tail = "/".join(parts[start:])
            if start and any(f"/{rival}".endswith(f"/{tail}") for rival in rivals):
                return
            yield tail


def contains(flat: str, mention: Mention, files: Files) -> bool:
    """Return whether a text, with normalised white space, contains the mention."""
    if mention.kind == "commands":
        return _occurs(flat, mention.text, r"(?<!\w)", r"(?!\w)")
    return any(_occurs(flat, tail, r"(?<![\w-])", r"(?!\w|/\w)") for tail in files.tails(mention.text))


def _occurs(flat: str, words: str, before: str, behind: str) -> bool:
    return words in flat and re.search(before + re.escape(words) + behind, flat) is not None


def mentions(call: ToolUse, project: str | None) -> Iterator[Mention]:
    """Yield the files and the command of one call."""
    command = command_of(call) or ""
    patched = [path for text in strings(call.input) if _PATCH in text for path in _PATCHED.findall(text)]
    in_command = [*PATH.findall(command), *_BARE_IN_COMMAND.findall(command)]
    for path in (*_paths_given(call), *patched, *filter(_ENDING.search, in_command)):
        yield Mention("files", relative(path, project))
    if command:
        yield Mention("commands", command)


def command_of(call: ToolUse) -> str | None:
    """Return the shell command of a call on one line; None if it runs none, or a patch."""
    tool_input = call.input if isinstance(call.input, dict) else {}
    found = next((tool_input[key] for key in _COMMAND_KEYS if tool_input.get(key)), None)
    if isinstance(found, list):
        words = [str(word) for word in found]
        found = words[-1] if len(words) == _SHELL_WORDS and words[1].startswith("-") else " ".join(words)
    if not isinstance(found, str) or _PATCH in found:
        return None
    return plain_command(found) or None


def plain_command(command: str) -> str:
    """Return a command on one line, without the change of folder before it and what only limits its output."""
    return _LIMITS_OUTPUT.sub("", " ".join(_CHANGED_FOLDER.sub("", command, count=1).split()))


def _paths_given(call: ToolUse) -> Iterator[str]:
    tool_input = call.input if isinstance(call.input, dict) else {}
    for key in _PATH_KEYS:
        path = tool_input.get(key)
        if isinstance(path, str) and (_ENDING.search(path) or key != "path"):
            # A search's path may be a folder.
            yield path


def relative(path: str, project: str | None) -> str:
    """Return the path from the project's folder if it is inside."""
    return path.removeprefix(f"{project.rstrip('/')}/" if project else "").removeprefix("./")


def strings(value: object) -> Iterator[str]:
    """Yield every text in a tool's input, at any depth."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from strings(inner)
