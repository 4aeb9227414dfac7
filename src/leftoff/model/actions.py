"""What a tool call does and what came of it, whatever agent's tool it was: the words that extraction and shrinking use.

An adapter's ``actions`` turns a request into these; its ``answer`` reads what came back. Paths stand as the agent gave them.
Named tuples, because thousands are made in one pass over a transcript.
"""

from __future__ import annotations

from typing import Literal, NamedTuple, TypeAlias

TodoStatus = Literal["pending", "in_progress", "completed", "cancelled"]


class Ran(NamedTuple):
    """A shell command; ``purpose`` is the model's own word for it, ``folder`` where it runs when that was said."""

    command: str
    folder: str | None = None
    purpose: str | None = None


class Looked(NamedTuple):
    """A file was read: whole, or the lines from ``first_line`` to ``last_line`` (1-based)."""

    path: str
    first_line: int | None = None
    last_line: int | None = None


class Searched(NamedTuple):
    """Files were searched for a pattern, or listed by one."""

    pattern: str
    path: str | None = None


class Changed(NamedTuple):
    """A stretch of a file was replaced by another."""

    path: str
    old: str
    new: str


class Wrote(NamedTuple):
    """A whole file was written."""

    path: str
    text: str


class Removed(NamedTuple):
    """A file was deleted."""

    path: str


class Moved(NamedTuple):
    """A file got another name."""

    path: str
    to: str


class Todo(NamedTuple):
    """One thing to do; ``id`` where the agent counts them."""

    text: str
    status: TodoStatus = "pending"
    id: str | None = None


class Planned(NamedTuple):
    """The whole list of things to do, as it is now."""

    todos: tuple[Todo, ...]


class TodoSet(NamedTuple):
    """One entry of the list was added or changed; None: that part stays as it was.

    A new entry has no id yet: the answer gives it.
    """

    id: str | None
    text: str | None = None
    status: TodoStatus | None = None


class Delegated(NamedTuple):
    """A subagent was given a task."""

    task: str
    prompt: str
    to: str | None = None


class Questioned(NamedTuple):
    """The user was asked."""

    questions: tuple[str, ...]


class Proposed(NamedTuple):
    """A plan was put before the user."""

    plan: str


class Fetched(NamedTuple):
    """A page or a search on the web."""

    what: str


class Other(NamedTuple):
    """Any other tool, with the words of its input."""

    tool: str
    words: str


Action: TypeAlias = (
    Ran
    | Looked
    | Searched
    | Changed
    | Wrote
    | Removed
    | Moved
    | Planned
    | TodoSet
    | Delegated
    | Questioned
    | Proposed
    | Fetched
    | Other
)


class Answer(NamedTuple):
    """What came back. None where the agent does not say.

    ``text`` is what the tool printed, without what the agent puts around it. A call that the user refused did not happen;
    ``said`` holds the user's own words where they stand inside an answer; ``chosen`` pairs each question with what the user
    answered; ``approved`` is of a plan.
    """

    text: str
    exit_code: int | None = None
    failed: bool | None = None
    refused: bool = False
    said: str = ""
    chosen: tuple[tuple[str, str], ...] = ()
    approved: bool | None = None
    todo_id: str | None = None
