"""What extraction remembers of a session: facts with their sources, each list bounded, all of it JSON.

The state is keyed by the place of the last record folded in, so that a save reads only what is new.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, fields
from typing import Any, Literal, NamedTuple

from leftoff.errors import DocumentError
from leftoff.model.records import Place, Record
from leftoff.model.sources import EXCERPT_CHARS
from leftoff.model.wire import SCHEMAS, JsonObject, JsonValue, upgraded


def begun(text: str, most: int) -> str:
    """The beginning of a text, up to the end of a word: half a credential would no longer be known for one."""
    if len(text) <= most:
        return text
    head = text[:most]
    return head[: max(head.rfind(" "), head.rfind("\n"), head.rfind("\t"), 0)]


class Ref(NamedTuple):
    """Where a fact stands: the record's bytes, their hash, and the words that say it."""

    line_idx: int
    start: int
    end: int
    sha256: str
    excerpt: str
    transcript: str  # a session may go on from another file

    def saying(self, words: str) -> Ref:
        """The same place, quoted with these words."""
        # Not by ``_replace``, which takes three times as long.
        line_idx, start, end, sha256, _, transcript = self
        return Ref(line_idx, start, end, sha256, begun(words, EXCERPT_CHARS), transcript)


class Prompt(NamedTuple):
    """The user asked something."""

    ref: Ref
    text: str
    turn: int
    after: int  # the turn that it went on from; 0: none
    call: int  # tool calls made before it
    tail: tuple[str, ...] = ()  # ids of the last records of the turn, once it has ended


class Rule(NamedTuple):
    """A constraint, correction, refusal, answer or verdict of the user, word for word."""

    ref: Ref
    text: str
    kind: str  # constraint, correction, refusal, answer, plan_approved, plan_rejected
    about: str  # what it answers or refuses; empty when it stands for itself
    call: int
    superseded_by: str = ""


class Statement(NamedTuple):
    """The agent said something worth keeping: a finding, a decision with its reason, something given up, what comes next."""

    ref: Ref
    kind: str  # finding, decision, abandoned, next, summary
    text: str
    reason: str
    turn: int
    call: int


class File(NamedTuple):
    """What was done to a file, and the last thing done to it."""

    ref: Ref
    path: str
    reads: int = 0
    edits: int = 0
    last: Literal["read", "searched", "created", "changed", "deleted", "moved", "refused"] = "read"
    call: int = 0
    is_new: bool = False
    seen: tuple[int, int] | None = None  # the lines last read
    edited_at: int = -1
    moved_to: str = ""


class Command(NamedTuple):
    """A shell command and how it ended last; ``failure`` is the telling line of a failure that still stands."""

    ref: Ref
    text: str
    runs: int
    exit_code: int | None
    failed: bool | None
    call: int
    failure: str = ""
    purpose: str = ""
    result: str = ""  # the telling line of a good end: "12 passed"
    failed_before: str = ""  # what was wrong the last time, once it is cured
    cured_by: tuple[str, ...] = ()  # the files changed in between
    shown: Ref | None = None  # the answer that says so; None: it said nothing worth telling
    was_shown: Ref | None = None  # the answer that told of the failure, once it is cured

    @property
    def refs(self) -> list[Ref]:
        """The request, and the answers where they tell something."""
        return [ref for ref in (self.ref.saying(self.text), self.was_shown, self.shown) if ref is not None]


class TodoFact(NamedTuple):
    """One thing to do, as the agent's own list has it now."""

    ref: Ref
    id: str
    text: str
    status: str
    call: int


class Delegation(NamedTuple):
    """A subagent's task and the beginning of its answer."""

    ref: Ref
    task: str
    to: str
    answer: str
    call: int


class Commit(NamedTuple):
    """A commit that the session made."""

    ref: Ref
    sha: str
    subject: str
    call: int


class Glimpse(NamedTuple):
    """A recent call in full enough to find the names in it: what was asked, and the beginning of what came back."""

    ref: Ref
    call: int
    kind: str
    path: str
    asked: str
    answer: str


class Pending(NamedTuple):
    """A call that waits for its answer."""

    ref: Ref
    call_id: str
    tool: str
    input: JsonValue
    turn: int


@dataclass(slots=True, kw_only=True)
class State:
    """All that is remembered. Lists are oldest first; ``MOST`` says how long each may grow."""

    transcript: str = ""
    after: Place | None = None
    after_sha256: str = ""  # of the last record, to tell whether the file still is the same
    calls: int = 0
    turns: int = 0
    project: str = ""
    project_ref: Ref | None = None  # the record that says so
    branch: str = ""
    branch_ref: Ref | None = None
    model: str = ""
    started_at: str = ""
    last_at: str = ""
    compactions: int = 0
    last_compaction_call: int = -1
    errors: int = 0
    casual_prompts: int = 0  # that begin without a capital: then well-set sentences were pasted
    prompts: list[Prompt] = field(default_factory=list)
    rules: list[Rule] = field(default_factory=list)
    candidates: list[Rule] = field(default_factory=list)  # rules only if the agent's next words give in
    statements: list[Statement] = field(default_factory=list)
    files: dict[str, File] = field(default_factory=dict)
    commands: dict[str, Command] = field(default_factory=dict)
    todos: list[TodoFact] = field(default_factory=list)
    delegations: list[Delegation] = field(default_factory=list)
    commits: list[Commit] = field(default_factory=list)
    glimpses: list[Glimpse] = field(default_factory=list)
    pending: dict[str, Pending] = field(default_factory=dict)
    agents: list[str] = field(default_factory=list)
    rewinds: list[tuple[str, int, int]] = field(
        default_factory=list
    )  # transcript, lines [first, last) taken back
    tip: int = 0  # the turn that the conversation goes on from
    tail: list[str] = field(default_factory=list)  # ids of its last records
    last_words: Statement | None = None  # the agent's latest words, whatever they are

    def replaced(self, changes: dict[str, Any]) -> State:
        """The same with other values in some fields."""
        return State(**{each.name: changes.get(each.name, getattr(self, each.name)) for each in fields(self)})

    def to_dict(self) -> JsonObject:
        """The wire form."""
        data: dict[str, Any] = {"schema": SCHEMAS["extraction"]}
        for each in fields(self):
            value = getattr(self, each.name)
            data[each.name] = _plain([*value.values()] if isinstance(value, dict) else value)
        return data

    @classmethod
    def from_dict(cls, data: JsonValue, *, where: str = "extraction") -> State:
        """The state behind a wire form; DocumentError when it is none, and then the transcript is read anew."""
        known: dict[str, Any] = dict(upgraded("extraction", data, where=where))
        known.pop("schema", None)
        try:
            for name, read in _READERS.items():
                known[name] = read(known[name])
            state = cls(**known)
            _require_types(state)
        except (TypeError, KeyError, ValueError, IndexError, AttributeError) as error:
            raise DocumentError(f"{where}: not in the known form: {error}.", path=where) from error
        return state


MOST = {
    "prompts": 120,
    "rules": 200,
    "statements": 240,
    "files": 300,
    "commands": 200,
    "todos": 150,
    "delegations": 40,
    "commits": 60,
    "glimpses": 220,
    "pending": 64,
    "agents": 20,
    "rewinds": 200,
}


_LIMITS = [(name, most, most + most // 4) for name, most in MOST.items()]
_FIRST_PROMPTS = 3


def bounded(state: State) -> None:
    """Drop the oldest of what has grown a quarter too long; the first prompts stay, because they say what it is all about."""
    for name, most, too_many in _LIMITS:
        held = getattr(state, name)
        if len(held) <= too_many:
            continue
        if isinstance(held, dict):
            for key in [*held][: len(held) - most]:
                del held[key]
        else:
            first = _FIRST_PROMPTS if name == "prompts" else 0
            del held[first : first + len(held) - most]


def ref_of(record: Record, words: str) -> Ref:
    """The record as a source of these words."""
    transcript, line_idx, start, end = record.place
    digest = hashlib.sha256(record.raw).hexdigest()
    return Ref(line_idx, start, end, digest, begun(words, EXCERPT_CHARS), transcript)


def is_taken_back(state: State, ref: Ref) -> bool:
    """Whether a rewind took the record off the conversation."""
    return any(
        transcript == ref.transcript and first <= ref.line_idx < last
        for transcript, first, last in state.rewinds
    )


def copied(state: State) -> State:
    """A state of its own: facts are never changed, only replaced, so the lists are all that must be new."""
    held = {each.name: getattr(state, each.name) for each in fields(state)}
    return state.replaced(
        {name: value.copy() for name, value in held.items() if isinstance(value, (list, dict))}
    )


def _require_types(state: State) -> None:
    """Numbers, texts and lists are what they are in a new state; TypeError when not."""
    for name, new in _NEW.items():
        if new is not None and type(getattr(state, name)) is not type(new):
            raise TypeError(f"{name} is of another type")


def _plain(value: Any) -> Any:
    """Facts as lists of lists: JSON has no word for more."""
    if isinstance(value, Ref):
        return [*value]  # nothing in it to look into; most of what a state holds are these
    return [*map(_plain, value)] if isinstance(value, (list, tuple)) else value


def _facts(kind: Callable[..., Any]) -> Callable[[Iterable[Any]], list[Any]]:
    return lambda rows: [kind(Ref(*row[0]), *row[1:]) for row in rows]


def _table(kind: Callable[..., Any], key: int) -> Callable[[Iterable[Any]], dict[str, Any]]:
    return lambda rows: {str(row[key]): kind(Ref(*row[0]), *row[1:]) for row in rows}


def _prompt(ref: Ref, *rest: Any) -> Prompt:
    found = Prompt(ref, *rest)
    return found._replace(tail=tuple(found.tail))


def _file(ref: Ref, *rest: Any) -> File:
    found = File(ref, *rest)
    return found._replace(seen=found.seen and (found.seen[0], found.seen[1]))


def _command(ref: Ref, *rest: Any) -> Command:
    found = Command(ref, *rest)
    return found._replace(
        cured_by=tuple(found.cured_by),
        shown=found.shown and Ref(*found.shown),
        was_shown=found.was_shown and Ref(*found.was_shown),
    )


_READERS: dict[str, Callable[[Any], Any]] = {
    "after": lambda row: row and Place(*row),
    "project_ref": lambda row: row and Ref(*row),
    "branch_ref": lambda row: row and Ref(*row),
    "prompts": _facts(_prompt),
    "rules": _facts(Rule),
    "candidates": _facts(Rule),
    "statements": _facts(Statement),
    "files": _table(_file, 1),
    "commands": _table(_command, 1),
    "todos": _facts(TodoFact),
    "delegations": _facts(Delegation),
    "commits": _facts(Commit),
    "glimpses": _facts(Glimpse),
    "pending": _table(Pending, 1),
    "rewinds": lambda rows: [(row[0], row[1], row[2]) for row in rows],
    "last_words": lambda row: row and Statement(Ref(*row[0]), *row[1:]),
}
_NEW = {each.name: getattr(State(), each.name) for each in fields(State)}
