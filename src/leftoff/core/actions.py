"""What a tool call does and what it returned, in terms that no agent owns. Extraction and shrinking use these.

An adapter's ``actions`` method turns a request into actions; its ``answer`` method reads the result. Paths are as the agent
gave them. These are named tuples, because one pass over a transcript creates thousands. Saved extraction states
contain their class names, so the names are part of a file format.
"""

from __future__ import annotations

from typing import Literal, NamedTuple, TypeAlias

TodoStatus = Literal["pending", "in_progress", "completed", "cancelled"]


class Ran(NamedTuple):
    """A shell command ran; ``purpose`` is the model's own description. None means that the agent does not say."""

    command: str
    folder: str | None = None
    purpose: str | None = None


class Looked(NamedTuple):
    """A file was read: all of it, or the lines from ``first_line`` to ``last_line`` (1-based)."""

    path: str
    first_line: int | None = None
    last_line: int | None = None


class Searched(NamedTuple):
    """Files were searched for a pattern, or listed by one."""

    pattern: str
    path: str | None = None


class Changed(NamedTuple):
    """A part of a file was replaced."""

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
    """A file was renamed or moved."""

    path: str
    to: str


class Todo(NamedTuple):
    """One entry of a to-do list; ``id``: None if the agent does not number them."""

    text: str
    status: TodoStatus = "pending"
    id: str | None = None


class Planned(NamedTuple):
    """The agent set its whole to-do list."""

    todos: tuple[Todo, ...]


class TodoSet(NamedTuple):
    """The agent added or changed one to-do entry; parts given as None stay as they were.

    A new entry has no id yet; the answer names it.
    """

    id: str | None
    text: str | None = None
    status: TodoStatus | None = None


class Delegated(NamedTuple):
    """The agent gave a subagent a task."""

    task: str
    prompt: str
    to: str | None = None


class Questioned(NamedTuple):
    """The agent asked the user."""

    questions: tuple[str, ...]


class Proposed(NamedTuple):
    """The agent proposed a plan to the user."""

    plan: str


class Fetched(NamedTuple):
    """The agent fetched a web page or searched the web."""

    what: str


class Other(NamedTuple):
    """Any other tool, with the text of its input."""

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
    """The result of a tool call. None means that the agent does not say.

    ``text`` is what the tool printed, without what the agent adds around it. A ``refused`` call did not run.
    ``user_text`` is what the user typed when answering; ``chosen`` pairs each question with the user's choice;
    ``approved`` refers to a plan. ``job_id`` names a job that the call left running in the background; ``ended_jobs``
    are those that the call saw ending or ended itself.
    """

    text: str
    exit_code: int | None = None
    failed: bool | None = None
    refused: bool = False
    user_text: str = ""
    chosen: tuple[tuple[str, str], ...] = ()
    approved: bool | None = None
    todo_id: str | None = None
    job_id: str | None = None
    ended_jobs: tuple[str, ...] = ()


class FinishedJob(NamedTuple):
    """A background job that has ended, and what it reported; empty where it reported nothing."""

    job_id: str
    report: str = ""
