"""An invented session, independent of any agent's format: what happened, and the tools that were called.

A writer turns a script into a transcript in the agent's format; reading it must give the same facts, which ``AgentPromises``
checks. Scripts name tools by what they do, and a writer maps them to the tools of its agent:

| tool     | input                                   | the answer when it worked                              |
|----------|-----------------------------------------|--------------------------------------------------------|
| `shell`  | `command`                               | what the command printed; with "Exit code N" if failed |
| `read`   | `path`, `offset`?, `limit`?             | the lines as they are in the file, not numbered        |
| `write`  | `path`, `content`                       | a short note                                           |
| `edit`   | `path`, `old`, `new`                    | a short note, sometimes with the lines around          |
| `search` | `pattern`, `path`?                      | `file:line:text`, one hit per line                     |
| `list`   | `path`                                  | names, one per line, folders with a slash              |
| `todo`   | `items`: list of `{text, status}`       | a short note                                           |
| `fetch`  | `url`                                   | the page as text                                       |

Paths are absolute. ``offset`` is the first line (1-based) and ``limit`` a number of lines; both are left out when the whole
file is read. A status is one of ``TODO_STATUSES``. ``answer=None`` means that the call was interrupted.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Final, Literal, TypeAlias

from leftoff.core.records import Usage
from leftoff.core.wire import JsonObject


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """The user wrote a prompt."""

    text: str
    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """A tool call with its result; ``answer``: None if the call was interrupted."""

    tool: str
    input: JsonObject
    answer: str | None
    failed: bool = False
    image: bytes | None = None  # a PNG in the result


@dataclass(frozen=True, slots=True, kw_only=True)
class Replied:
    """One reply of the model: thinking, text and parallel calls."""

    at: datetime
    text: str = ""
    thinking: str = ""
    calls: tuple[Call, ...] = ()
    usage: Usage


@dataclass(frozen=True, slots=True, kw_only=True)
class DelegatedTask:
    """A task for a subagent: its conversation and its report."""

    task: str
    steps: tuple[Replied, ...]
    answer: str
    at: datetime
    usage: Usage  # of the main reply that delegated


@dataclass(frozen=True, slots=True, kw_only=True)
class Compacted:
    """The agent replaced the conversation so far by a summary."""

    summary: str
    before_tokens: int
    after_tokens: int
    automatic: bool
    at: datetime


Event: TypeAlias = Asked | Replied | DelegatedTask | Compacted


@dataclass(frozen=True, slots=True, kw_only=True)
class Script:
    """An invented session. ``events`` can be very long, so it is read once, in order."""

    session_id: str
    project: str
    branch: str
    model: str
    window_tokens: int
    events: Iterable[Event]


SHELL: Final = "shell"
READ: Final = "read"
WRITE: Final = "write"
EDIT: Final = "edit"
SEARCH: Final = "search"
LIST: Final = "list"
TODO: Final = "todo"
FETCH: Final = "fetch"

TOOLS: Final = (SHELL, READ, WRITE, EDIT, SEARCH, LIST, TODO, FETCH)

TodoStatus = Literal["pending", "in_progress", "completed"]
TODO_STATUSES: Final[tuple[TodoStatus, ...]] = ("pending", "in_progress", "completed")


def shell(command: str, answer: str | None, *, failed: bool = False) -> Call:
    """Return the call that runs a command."""
    return Call(tool=SHELL, input={"command": command}, answer=answer, failed=failed)


def read(
    path: str,
    answer: str | None,
    *,
    offset: int | None = None,
    limit: int | None = None,
    failed: bool = False,
    image: bytes | None = None,
) -> Call:
    """Return the call that reads a file, or ``limit`` lines from line ``offset`` on."""
    given: JsonObject = {"path": path}
    if offset is not None:
        given["offset"] = offset
    if limit is not None:
        given["limit"] = limit
    return Call(tool=READ, input=given, answer=answer, failed=failed, image=image)


def write(path: str, content: str, answer: str | None, *, failed: bool = False) -> Call:
    """Return the call that writes a whole file."""
    return Call(tool=WRITE, input={"path": path, "content": content}, answer=answer, failed=failed)


def edit(path: str, old: str, new: str, answer: str | None, *, failed: bool = False) -> Call:
    """Return the call that replaces one place of a file."""
    return Call(tool=EDIT, input={"path": path, "old": old, "new": new}, answer=answer, failed=failed)


def search(pattern: str, answer: str | None, *, path: str | None = None, failed: bool = False) -> Call:
    """Return the call that searches files for a pattern, below ``path`` or everywhere."""
    given: JsonObject = {"pattern": pattern}
    if path is not None:
        given["path"] = path
    return Call(tool=SEARCH, input=given, answer=answer, failed=failed)


def list_folder(path: str, answer: str | None, *, failed: bool = False) -> Call:
    """Return the call that lists a folder."""
    return Call(tool=LIST, input={"path": path}, answer=answer, failed=failed)


def todo(items: Iterable[tuple[str, TodoStatus]], answer: str | None) -> Call:
    """Return the call that replaces the to-do list."""
    return Call(
        tool=TODO,
        input={"items": [{"text": text, "status": status} for text, status in items]},
        answer=answer,
    )


def fetch(url: str, answer: str | None, *, failed: bool = False) -> Call:
    """Return the call that fetches a web page."""
    return Call(tool=FETCH, input={"url": url}, answer=answer, failed=failed)
