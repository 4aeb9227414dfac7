"""What a tool call or a summary mentions, and whether a text contains it: the ruler of ``python -m bench retention``.

It shares no code with extraction, so that a log cannot be fitted to it.
File: a path under a tool's path key, in the head of a patch, or in a shell command if it has an extension. Command: a complete
shell command with normalised white space, without a leading ``cd … &&``. Name: an identifier of at least five characters with an
inner capital or underscore in any other input of the tool, except paths.
Mentions of the next calls count if they occur before the cut: a file if an earlier call was given it, a command or name if it
is anywhere in the conversation. A text contains a file if it has its path, its path from the project's folder, or an end of it
that no other file mentioned before has; a command or name if it occurs literally, not as part of a longer word.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

from bench.session_cuts import MeasuredCut, strings
from leftoff.core.records import Record, Text, Thinking, ToolResult, ToolUse

Kind = Literal["files", "commands", "names"]
KINDS: tuple[Kind, ...] = ("files", "commands", "names")

_PATH_KEYS = frozenset({"file_path", "path", "notebook_path"})
_COMMAND_KEYS = ("command", "cmd")
_SHELL_WORDS = 3  # ["bash", "-lc", "what is run"]
_PATCH = "*** Begin Patch"
_PATCHED = re.compile(r"^\*\*\* (?:(?:Add|Update|Delete) File|Move to): (.+?)\s*$", re.MULTILINE)
# A file in a folder; not a part of an address or of a longer word.
_PATH = re.compile(r"(?<![\w/.@~$:-])(?:~|\.{1,2})?/?(?:[\w.@+-]+/)+[\w.@+-]*\.[A-Za-z]\w{0,9}(?![\w/])")
# Without a folder it may be an expression as well: what it is depends on its ending, or on its being a word of a command.
_BARE = re.compile(r"(?<![\w/.@~$:-])[\w+-][\w.+-]*\.([A-Za-z]\w{0,9})(?![\w/(])")
_BARE_IN_COMMAND = re.compile(r"(?:^|(?<=[\s\"'=]))[\w.+-]*\.[A-Za-z]\w{0,9}(?=[\s\"';|&>]|$)")
_ANY_PATH = re.compile(f"{_PATH.pattern}|{_BARE.pattern}")
_ENDING = re.compile(r"[\w@+-]\.[A-Za-z]\w{0,9}$")
_CHANGED_FOLDER = re.compile(r"\s*cd\s+(?:\"[^\"]*\"|'[^']*'|\S+)\s*(?:&&|;)\s*")
_IDENTIFIER = re.compile(r"[^\W\d]\w*")
_MIN_NAME_CHARS = 5
_INNER = re.compile(r"[^\W_]_+[^\W_]|[a-z0-9][A-Z]|[A-Z][A-Z][a-z]")
_BACK_TICKED = re.compile(r"`([^`\n]+)`")
_TICKED_NAME = re.compile(r"[^\W\d]\w*(?:(?:\.|::|->)[^\W\d]\w*)*(?:\(\))?")


@dataclass(frozen=True, slots=True, kw_only=True)
class Mention:
    """Something exact that a call or a summary mentions. A file's ``text`` is its path from the project's folder."""

    kind: Kind
    text: str


class SearchableText:
    """A text prepared for checking what it contains."""

    def __init__(self, text: str) -> None:
        self._flat = " ".join(text.split())
        self._words = frozenset(_IDENTIFIER.findall(text))

    def contains(self, mention: Mention, known: Files) -> bool:
        """Return whether the text contains the mention; ``known`` tells which short form of a path is unique."""
        match mention.kind:
            case "names":
                return all(part in self._words for part in _IDENTIFIER.findall(mention.text))
            case "commands":
                return self._occurs(mention.text, r"(?<!\w)", r"(?!\w)")
            case "files":
                return any(
                    self._occurs(tail, r"(?<![\w-])", r"(?!\w|/\w)") for tail in known.tails(mention.text)
                )

    def _occurs(self, words: str, before: str, behind: str) -> bool:
        return words in self._flat and re.search(before + re.escape(words) + behind, self._flat) is not None


class Files:
    """The files mentioned before the cut, to find out which end of a path is unique."""

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


def files_before(cut: MeasuredCut) -> Files:
    """Return every file mentioned before the cut."""
    spoken = (relative(path, cut.project) for path in _PATH.findall(cut.context))
    return Files([*spoken, *_files_given_before(cut)])


def expected_mentions(cut: MeasuredCut, known: Files) -> list[Mention]:
    """Return what the next calls mention of what occurs before the cut, each once."""
    before, earlier = SearchableText(cut.context), frozenset(_files_given_before(cut))
    found = dict.fromkeys(each for call in cut.next_calls for each in mentions(call, cut.project))
    return [
        each
        for each in found
        if (each.text in earlier if each.kind == "files" else before.contains(each, known))
    ]


def _files_given_before(cut: MeasuredCut) -> Iterator[str]:
    """Yield the files that calls before the cut were given."""
    for record in cut.records:
        for block in record.blocks:
            if isinstance(block, ToolUse):
                yield from (each.text for each in mentions(block, cut.project) if each.kind == "files")


def mentions_in_record(record: Record, project: str | None) -> Iterator[Mention]:
    """Yield the files, commands and names in a record: in its calls, texts and results."""
    for block in record.blocks:
        match block:
            case ToolUse():
                yield from mentions(block, project)
            case Text(text=text) | Thinking(text=text):
                yield from _in_text(text, project)
            case ToolResult():
                yield from _in_text(block.text, project)
            case _:
                pass


def mentions(call: ToolUse, project: str | None) -> Iterator[Mention]:
    """Yield the files, commands and names of one call."""
    command = command_of(call)
    texts = [*_texts(call)]
    patched = [path for text in texts if _PATCH in text for path in _PATCHED.findall(text)]
    in_command = [*_PATH.findall(command or ""), *_BARE_IN_COMMAND.findall(command or "")]
    for path in (*_paths_given(call), *patched, *filter(_ENDING.search, in_command)):
        yield Mention(kind="files", text=relative(path, project))
    if command:
        yield Mention(kind="commands", text=command)
    for text in texts:
        yield from _names(text)


def command_of(call: ToolUse) -> str | None:
    """Return the shell command of a call on one line; None if it runs none, or a patch."""
    tool_input = call.input if isinstance(call.input, dict) else {}
    found = next((tool_input[key] for key in _COMMAND_KEYS if tool_input.get(key)), None)
    if isinstance(found, list):
        words = [str(word) for word in found]
        found = words[-1] if len(words) == _SHELL_WORDS and words[1].startswith("-") else " ".join(words)
    if not isinstance(found, str) or _PATCH in found:
        return None
    return " ".join(_CHANGED_FOLDER.sub("", found, count=1).split()) or None


def mentions_in_summary(summary: str, cut: MeasuredCut) -> list[Mention]:
    """Return the paths and back-ticked names of a summary. ``a.b`` is a file if files of the session have that extension."""
    endings = {path.rsplit(".", 1)[-1] for path in _files_given_before(cut) if _ENDING.search(path)}
    bare = {found[0] for found in _BARE.finditer(summary) if found[1] in endings}
    ticked = (words.strip() for words in _BACK_TICKED.findall(summary))
    names = [
        words.removesuffix("()") for words in ticked if _TICKED_NAME.fullmatch(words) and words not in bare
    ]
    paths = [found[0] for found in _ANY_PATH.finditer(summary) if "/" in found[0] or found[0] in bare]
    return [
        *dict.fromkeys(
            [
                *(Mention(kind="files", text=relative(path, cut.project)) for path in paths),
                *(Mention(kind="names", text=name) for name in names),
            ]
        )
    ]


def is_name(word: str) -> bool:
    """Return whether an identifier looks like a name in code and not like a plain word."""
    return len(word) >= _MIN_NAME_CHARS and _INNER.search(word.strip("_")) is not None


def _in_text(text: str, project: str | None) -> Iterator[Mention]:
    for path in _PATH.findall(text):
        yield Mention(kind="files", text=relative(path, project))
    yield from _names(text)


def _names(text: str) -> Iterator[Mention]:
    for word in _IDENTIFIER.findall(_PATH.sub(" ", text)):
        if is_name(word):
            yield Mention(kind="names", text=word)


def _paths_given(call: ToolUse) -> Iterator[str]:
    tool_input = call.input if isinstance(call.input, dict) else {}
    for key in _PATH_KEYS:
        path = tool_input.get(key)
        if isinstance(path, str) and (_ENDING.search(path) or key != "path"):
            # A search's path may be a folder.
            yield path


def _texts(call: ToolUse) -> Iterator[str]:
    """Yield the input of a tool, except for the paths under their keys."""
    if isinstance(call.input, str):
        yield call.input
        return
    for key, value in call.input.items():
        if key not in _PATH_KEYS:
            yield from strings(value)


def relative(path: str, project: str | None) -> str:
    """Return the path from the project's folder if it is inside."""
    return path.removeprefix(f"{project.rstrip('/')}/" if project else "").removeprefix("./")
