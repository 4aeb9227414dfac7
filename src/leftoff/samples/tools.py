"""The tools of invented sessions, named for what they do: an adapter maps them to the tools of its agent.

| tool     | input                                   | what the answer is when it worked                     |
|----------|-----------------------------------------|-------------------------------------------------------|
| `shell`  | `command`                               | what the command printed; with "Exit code N" if failed |
| `read`   | `path`, `offset`?, `limit`?             | the lines as they stand in the file, not numbered      |
| `write`  | `path`, `content`                       | a short note                                          |
| `edit`   | `path`, `old`, `new`                    | a short note, sometimes with the lines around         |
| `search` | `pattern`, `path`?                      | `file:line:text`, one hit a line                      |
| `list`   | `path`                                  | names, one a line, folders with a slash               |
| `todo`   | `items`: list of `{text, status}`       | a short note                                          |
| `fetch`  | `url`                                   | the page as text                                      |

Paths are absolute, `offset` is the first line (1-based) and `limit` a number of lines; both are left out when the whole
file is read. A status is one of `TODO_STATUSES`. ``answer=None`` everywhere means that the call was interrupted.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, Literal

from leftoff.model.script import Call
from leftoff.model.wire import JsonObject

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
    """A command was run."""
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
    """A file was read: all of it, or ``limit`` lines from line ``offset`` on."""
    given: JsonObject = {"path": path}
    if offset is not None:
        given["offset"] = offset
    if limit is not None:
        given["limit"] = limit
    return Call(tool=READ, input=given, answer=answer, failed=failed, image=image)


def write(path: str, content: str, answer: str | None, *, failed: bool = False) -> Call:
    """A file was written whole."""
    return Call(tool=WRITE, input={"path": path, "content": content}, answer=answer, failed=failed)


def edit(path: str, old: str, new: str, answer: str | None, *, failed: bool = False) -> Call:
    """One place of a file was replaced."""
    return Call(tool=EDIT, input={"path": path, "old": old, "new": new}, answer=answer, failed=failed)


def search(pattern: str, answer: str | None, *, path: str | None = None, failed: bool = False) -> Call:
    """Files were searched for a pattern, below ``path`` or everywhere."""
    given: JsonObject = {"pattern": pattern}
    if path is not None:
        given["path"] = path
    return Call(tool=SEARCH, input=given, answer=answer, failed=failed)


def list_folder(path: str, answer: str | None, *, failed: bool = False) -> Call:
    """A folder was listed."""
    return Call(tool=LIST, input={"path": path}, answer=answer, failed=failed)


def todo(items: Iterable[tuple[str, TodoStatus]], answer: str | None) -> Call:
    """The list of things to do was replaced by this one."""
    return Call(
        tool=TODO,
        input={"items": [{"text": text, "status": status} for text, status in items]},
        answer=answer,
    )


def fetch(url: str, answer: str | None, *, failed: bool = False) -> Call:
    """A page of the web was fetched."""
    return Call(tool=FETCH, input={"url": url}, answer=answer, failed=failed)
