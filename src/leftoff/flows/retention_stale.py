"""What a document says as if it still held, although the transcript before the cut shows that it does not.

Three things are decided from the transcript alone. A *deleted file*: taken away by ``rm``, ``git rm`` or a patch, not written
again, and named by an item that does not say so. A *mended error*: words of a failed command's answer, the same command
passed later, and the item does not say that it was cured. *Finished work*: a todo that is done or cancelled, offered under Next
Steps. Whether a value has been superseded cannot be told by rules, so nothing is counted for it.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Iterator
from pathlib import PurePosixPath

from leftoff.flows.retention_cut import Cut, strings
from leftoff.flows.retention_mentions import Files, Held, Mention, command_of, relative
from leftoff.model.records import ToolUse
from leftoff.model.session import ToolCall, join_tool_calls
from leftoff.model.values import dataclass
from leftoff.model.wire import JsonValue

NEXT_STEPS = "Next Steps"

_HEADING = re.compile(r"## (.+?)\s*$")
_BULLET = re.compile(r"(?:[-*+]|\d{1,3}[.)])\s+(.*)")
_SAYS_GONE = re.compile(
    r"\b(?:delet|remov|gone|rm\b|no longer|dropped|replaced|renamed|moved)", re.IGNORECASE
)
_SAYS_CURED = re.compile(
    r"\b(?:cured|fix(?:ed|es)|mended|solved|resolved|pass(?:es|ed)\b|succeed|no longer|went away|then ok)",
    re.IGNORECASE,
)
_SEPARATORS = re.compile(r"&&|\|\||;|\|")
_DELETED_BY_PATCH = re.compile(r"^\*\*\* Delete File: (.+?)\s*$", re.MULTILINE)
_WRITTEN_BY_PATCH = re.compile(r"^\*\*\* (?:Add File|Update File|Move to): (.+?)\s*$", re.MULTILINE)
_WRITTEN_BY_SHELL = re.compile(
    r"(?:>>?|\btouch|\btee(?: -a)?|\bcheckout [^;&|]*?--|\brestore)\s+([\w./~@+-]+)"
)
_SHAPED = re.compile(r"\s*(?:\d?>&\d|\d?>\s*/dev/null|\|\s*(?:head|tail)\b[^|&;]*)")
_SHORTEST_ERROR_LINE = 24
_QUOTED_CHARS = 60
_FEWEST_SPACES = 2
_PLACE = re.compile(r"^\s*\S*?[\w)]:\d+(?::\d+)?:?\s*")
_TROUBLE = re.compile(r"error|fail|panic|exception|undefined|cannot|not found|denied", re.IGNORECASE)
_USERS_WORDS = re.compile(r"“[^”]*”")  # quoted as they were said; they claim nothing about now
_LONGEST_LABEL = 20  # "In progress: "
_CREATED_ID = re.compile(r"#(\d+)")
_OVER = frozenset({"completed", "cancelled", "canceled", "deleted", "done"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """One bullet of a document, with the heading above it; further lines of the bullet belong to it."""

    section: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Stale:
    """An item that no longer holds, and why."""

    why: str
    item: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Past:
    """What was over before the cut."""

    deleted_files: frozenset[str]
    mended_errors: frozenset[str]
    finished_work: frozenset[str]


def items(document: str) -> list[Item]:
    """The bullets of a document."""
    found: list[Item] = []
    section, held = "", False
    for line in document.splitlines():
        if heading := _HEADING.match(line):
            section, held = heading[1], False
        elif bullet := _BULLET.match(line):
            found.append(Item(section=section, text=bullet[1]))
            held = True
        elif held and line.startswith(" "):
            found[-1] = Item(section=section, text=f"{found[-1].text} {line.strip()}")
        else:
            held = False
    return found


def past(cut: Cut) -> Past:
    """What the transcript shows to be over, from the calls of the main conversation in their order."""
    calls = sorted(join_tool_calls(cut.records), key=lambda call: call.asked.start)
    return Past(
        deleted_files=frozenset(_deleted(calls, cut.project)),
        mended_errors=frozenset(_mended(calls)),
        finished_work=frozenset(_finished(calls)),
    )


def stale(document: Iterable[Item], over: Past, known: Files) -> list[Stale]:
    """The items that show as current what is over, each once."""
    return [Stale(why=why, item=item.text) for item in document if (why := _why(item, over, known))]


def _why(item: Item, over: Past, known: Files) -> str | None:
    if item.section == NEXT_STEPS and _names_work(item.text, over.finished_work):
        return "finished work as next step"
    if not _SAYS_CURED.search(item.text) and any(words in item.text for words in over.mended_errors):
        return "mended error"
    if not _SAYS_GONE.search(item.text) and over.deleted_files:
        held = Held(_USERS_WORDS.sub("", item.text))
        if any(held.holds(Mention(kind="files", text=path), known) for path in over.deleted_files):
            return "deleted file"
    return None


def _deleted(calls: Iterable[ToolCall], project: str | None) -> set[str]:
    gone: set[str] = set()
    for call in calls:
        if call.failed:
            continue
        written = {relative(path, project) for path in _written(call)}
        gone = {path for path in gone if path not in written}
        gone |= {relative(path, project) for path in _removed(call)}
    return gone


def _removed(call: ToolCall) -> Iterator[str]:
    for text in _given(call):
        yield from _DELETED_BY_PATCH.findall(text)
    for part in _SEPARATORS.split(_command(call) or ""):
        yield from _removed_by(part)


def _removed_by(part: str) -> Iterator[str]:
    try:
        words = shlex.split(part)
    except ValueError:  # a quote that ends in another part
        return
    words = words[1:] if words[:1] == ["git"] else words
    if words[:1] != ["rm"] or "--cached" in words:
        return
    for word in words[1:]:
        if not word.startswith("-") and PurePosixPath(word).suffix and not set(word) & set("*?$`{"):
            yield word


def _written(call: ToolCall) -> Iterator[str]:
    for text in _given(call):
        yield from _WRITTEN_BY_PATCH.findall(text)
    yield from _WRITTEN_BY_SHELL.findall(_command(call) or "")
    if isinstance(call.input, dict) and isinstance(path := call.input.get("file_path"), str):
        yield path  # reading it shows as well that it is there


def _mended(calls: Iterable[ToolCall]) -> Iterator[str]:
    """Telling lines of answers whose command failed and passed later, and that no failure since repeats."""
    failing: dict[str, set[str]] = {}
    mended: set[str] = set()
    for call in calls:
        command = _SHAPED.sub("", _command(call) or "")
        if not command or call.result is None:
            continue
        if call.failed:
            failing[command] = {*_telling(call.result.text)}
            mended -= failing[command]
        else:
            mended |= failing.pop(command, set())
    return iter(mended - {line for lines in failing.values() for line in lines})


def _telling(answer: str) -> Iterator[str]:
    """What the lines of a failure say, without the place at their head, which others speak of as well."""
    for line in answer.splitlines():
        words = " ".join(_PLACE.sub("", line).split())[:_QUOTED_CHARS]
        if (
            len(words) >= _SHORTEST_ERROR_LINE
            and words.count(" ") >= _FEWEST_SPACES
            and _TROUBLE.search(words)
        ):
            yield words


def _finished(calls: Iterable[ToolCall]) -> Iterator[str]:
    """The words of todos that are over, none of which is open under another entry."""
    lists: dict[str, str] = {}  # words → status
    subjects: dict[str, str] = {}  # id → words
    for call in calls:
        given = call.input if isinstance(call.input, dict) else {}
        for entry in _entries(given.get("todos")) | _entries(given.get("plan")):
            lists[entry[0]] = entry[1]
        if isinstance(subject := given.get("subject"), str) and "taskId" not in given:
            created = _CREATED_ID.search(call.result.text) if call.result else None
            subjects[created[1] if created else ""] = subject
            lists[_plain(subject)] = "pending"
        if isinstance(status := given.get("status"), str) and str(given.get("taskId")) in subjects:
            lists[_plain(subjects[str(given["taskId"])])] = status
    return (words for words, status in lists.items() if status in _OVER and words)


def _entries(value: JsonValue) -> set[tuple[str, str]]:
    rows = value if isinstance(value, list) else []
    found = set()
    for row in rows:
        match row:
            case {"content": str(words), "status": str(status)} | {"step": str(words), "status": str(status)}:
                found.add((_plain(words), status))
            case _:
                pass
    return found


def _names_work(text: str, finished: frozenset[str]) -> bool:
    """Whether a step is that work: the same words, with at most a short label before them."""
    words = _plain(text)
    return any(words.endswith(work) and len(words) - len(work) <= _LONGEST_LABEL for work in finished)


def _plain(words: str) -> str:
    return " ".join(words.split()).rstrip(".").lower()


def _command(call: ToolCall) -> str | None:
    return command_of(ToolUse(call_id=call.call_id, tool=call.tool, input=call.input))


def _given(call: ToolCall) -> Iterator[str]:
    return strings(call.input)
