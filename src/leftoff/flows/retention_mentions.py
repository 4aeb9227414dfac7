"""What a tool call or a summary mentions, and whether a text holds it. The ruler of ``bench retention``: it shares no code
with extraction, so that a log cannot be fitted to it.

*File*: a path under a tool's path key, in the head of a patch, or in a shell command where its last part has an ending. *Command*: a
shell command whole, white space made one, a leading ``cd … &&`` taken off. *Name*: an identifier of at least five characters
with an inner capital or underscore, in any other text that the tool was given, paths left out.

Of the next calls' mentions those count that occur before the cut: a file when an earlier call was given it (a path in a
listing is no file the session worked with), a command or a name when it stands anywhere in the conversation.

A text *holds* a file when it has its path, its path from the project's folder, or a tail of it that no other file mentioned
before the cut ends in; a command or a name when it stands there as it is, white space aside, and not as a part of a longer word.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Literal

from leftoff.flows.retention_cut import Cut, strings
from leftoff.model.records import Record, Text, Thinking, ToolResult, ToolUse
from leftoff.model.values import dataclass

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
_SHORTEST_NAME = 5
_INNER = re.compile(r"[^\W_]_+[^\W_]|[a-z0-9][A-Z]|[A-Z][A-Z][a-z]")
_BACK_TICKED = re.compile(r"`([^`\n]+)`")
_TICKED_NAME = re.compile(r"[^\W\d]\w*(?:(?:\.|::|->)[^\W\d]\w*)*(?:\(\))?")


@dataclass(frozen=True, slots=True, kw_only=True)
class Mention:
    """Something exact that a call or a summary speaks of. A file's ``text`` is its path from the project's folder."""

    kind: Kind
    text: str


class Held:
    """A text, prepared for being asked what it holds."""

    def __init__(self, text: str) -> None:
        self._flat = " ".join(text.split())
        self._words = frozenset(_IDENTIFIER.findall(text))

    def holds(self, mention: Mention, known: Files) -> bool:
        """Whether the mention stands in the text; ``known`` tells which short form of a path names one file alone."""
        match mention.kind:
            case "names":
                return all(part in self._words for part in _IDENTIFIER.findall(mention.text))
            case "commands":
                return self._stands(mention.text, r"(?<!\w)", r"(?!\w)")
            case "files":
                return any(
                    self._stands(tail, r"(?<![\w-])", r"(?!\w|/\w)") for tail in known.tails(mention.text)
                )

    def _stands(self, words: str, before: str, behind: str) -> bool:
        return words in self._flat and re.search(before + re.escape(words) + behind, self._flat) is not None


class Files:
    """The files that were spoken of before the cut, to tell which tail of a path names one of them alone."""

    def __init__(self, paths: Iterable[str]) -> None:
        self._by_name: dict[str, set[str]] = {}
        for path in paths:
            self._by_name.setdefault(path.rsplit("/", 1)[-1], set()).add(path)

    def tails(self, path: str) -> Iterator[str]:
        """The path and each shorter tail of it that no other file ends in."""
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


def files_before(cut: Cut) -> Files:
    """Every file that was spoken of before the cut, by anybody."""
    spoken = (relative(path, cut.project) for path in _PATH.findall(cut.context))
    return Files([*spoken, *_given_before(cut)])


def expected(cut: Cut, known: Files) -> list[Mention]:
    """What the next calls mention of what occurs before the cut, each once."""
    before, earlier = Held(cut.context), frozenset(_given_before(cut))
    found = dict.fromkeys(each for call in cut.next_calls for each in mentions(call, cut.project))
    return [
        each
        for each in found
        if (each.text in earlier if each.kind == "files" else before.holds(each, known))
    ]


def _given_before(cut: Cut) -> Iterator[str]:
    """The files that calls before the cut were given."""
    for record in cut.records:
        for block in record.blocks:
            if isinstance(block, ToolUse):
                yield from (each.text for each in mentions(block, cut.project) if each.kind == "files")


def spoken_of(record: Record, project: str | None) -> Iterator[Mention]:
    """The files, commands and names of a whole record: of the calls in it, and of its words and answers."""
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
    """The files, commands and names of one call."""
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
    """The shell command that the call runs, on one line; None when it runs none, or a patch."""
    given = call.input if isinstance(call.input, dict) else {}
    found = next((given[key] for key in _COMMAND_KEYS if given.get(key)), None)
    if isinstance(found, list):
        words = [str(word) for word in found]
        found = words[-1] if len(words) == _SHELL_WORDS and words[1].startswith("-") else " ".join(words)
    if not isinstance(found, str) or _PATCH in found:
        return None
    return " ".join(_CHANGED_FOLDER.sub("", found, count=1).split()) or None


def named_in(summary: str, cut: Cut) -> list[Mention]:
    """The paths and back-ticked names of a summary. ``a.b`` is a file where files of the session end so, else a name."""
    endings = {path.rsplit(".", 1)[-1] for path in _given_before(cut) if _ENDING.search(path)}
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
    """Whether an identifier is one that somebody made up for a thing in code, and no plain word."""
    return len(word) >= _SHORTEST_NAME and _INNER.search(word.strip("_")) is not None


def _in_text(text: str, project: str | None) -> Iterator[Mention]:
    for path in _PATH.findall(text):
        yield Mention(kind="files", text=relative(path, project))
    yield from _names(text)


def _names(text: str) -> Iterator[Mention]:
    for word in _IDENTIFIER.findall(_PATH.sub(" ", text)):
        if is_name(word):
            yield Mention(kind="names", text=word)


def _paths_given(call: ToolUse) -> Iterator[str]:
    given = call.input if isinstance(call.input, dict) else {}
    for key in _PATH_KEYS:
        path = given.get(key)
        if isinstance(path, str) and (
            _ENDING.search(path) or key != "path"
        ):  # a search's path may be a folder
            yield path


def _texts(call: ToolUse) -> Iterator[str]:
    """What the tool was given, but for the paths under their keys."""
    if isinstance(call.input, str):
        yield call.input
        return
    for key, value in call.input.items():
        if key not in _PATH_KEYS:
            yield from strings(value)


def relative(path: str, project: str | None) -> str:
    """The path from the project's folder, where it lies in it."""
    return path.removeprefix(f"{project.rstrip('/')}/" if project else "").removeprefix("./")
