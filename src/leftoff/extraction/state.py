"""The state of extraction: facts about a session with their sources, each list bounded, all of it JSON.

The state names the last record it covers, so that a save reads only what is new.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, fields
from typing import Any, Literal, NamedTuple

from leftoff.core.own_phrases import only_saves
from leftoff.core.provenance import EXCERPT_CHARS
from leftoff.core.records import Place, Record
from leftoff.core.wire import SCHEMAS, JsonObject, JsonValue, upgrade_document
from leftoff.errors import DocumentError

_ASCII_SIGNS = "".join(map(chr, range(0x21, 0x7F)))


def truncate(text: str, max_chars: int) -> str:
    """Return the beginning of a text, cut at the end of a word: half a credential would no longer be recognised as one.

    Chinese and Japanese have no blanks between words, and no credentials: there it is cut after any character.
    """
    if len(text) <= max_chars:
        return text
    head = text[:max_chars].rstrip(_ASCII_SIGNS)
    return head[:-1] if head.endswith((" ", "\n", "\t")) else head


Outcome = Literal["passed", "failed", "unknown"]
RuleKind = Literal["rule", "correction", "choice", "refusal", "answer", "plan_approved", "plan_rejected"]


class Ref(NamedTuple):
    """Where a fact comes from: the record's bytes, their hash, and the words that state it."""

    line_idx: int
    start: int
    end: int
    sha256: str
    excerpt: str
    transcript: str  # a session may continue in another file

    def with_excerpt(self, words: str) -> Ref:
        """Return the same source with these words as its excerpt."""
        # Not ``_replace``, which takes three times as long.
        line_idx, start, end, sha256, _, transcript = self
        return Ref(line_idx, start, end, sha256, truncate(words, EXCERPT_CHARS), transcript)


class Prompt(NamedTuple):
    """A prompt of the user."""

    ref: Ref
    text: str
    turn: int
    previous_turn: int  # 0 for none
    call: int  # tool calls made before it
    tail: tuple[str, ...] = ()  # ids of the last records of the turn, once it has ended
    project: str = ""  # the project that it continues, as the user called it
    by_agent: bool = False  # written by another agent of a team, not by the user

    @property
    def is_for_leftoff(self) -> bool:
        """Whether it was typed for leftoff and asks nothing of the agent."""
        return bool(self.project) or only_saves(self.text)


class Rule(NamedTuple):
    """A standing demand of the user, or what the user decided about a call, a question or a plan; word for word."""

    ref: Ref
    text: str
    kind: RuleKind
    about: str  # what it answers or refuses; empty for a rule by itself
    call: int
    superseded_by: str = ""


class Passage(NamedTuple):
    """Prose of the session that may be quoted in its log: whole paragraphs, as they were written."""

    ref: Ref
    kind: Literal["reply", "outcome", "plan", "note", "report", "summary", "output", "edit"]
    text: str
    about: str  # the file, the task of a subagent or the command that it belongs to; empty for a reply
    turn: int
    call: int


class File(NamedTuple):
    """A file with what was done to it, and what was done last."""

    ref: Ref
    path: str
    reads: int = 0
    edits: int = 0
    last: Literal["read", "searched", "created", "changed", "deleted", "moved"] = "read"
    call: int = 0
    is_new: bool = False
    edited_at: int = -1
    moved_to: str = ""
    purposes: tuple[
        str, ...
    ] = ()  # what the agent said it was about to do when it edited the file, oldest first


class Command(NamedTuple):
    """A shell command, how often it ran in a folder and how it ended last, as its output tells. ``name`` is the same for all its forms."""

    ref: Ref
    name: str
    text: str
    runs: int
    failures: int
    outcome: Outcome
    call: int
    said: str = ""  # the line of the last output that tells how it ended
    purpose: str = ""
    result_ref: Ref | None = None  # the last answer; None: it said nothing worth quoting
    folder: str = ""  # where it ran, if that is not the project's folder

    @property
    def refs(self) -> list[Ref]:
        """The request, and the answer that says something worth quoting."""
        asked = self.ref.with_excerpt(self.text)
        return [asked] if self.result_ref is None else [asked, self.result_ref]


class TodoFact(NamedTuple):
    """An entry of the agent's to-do list."""

    ref: Ref
    id: str
    text: str
    status: str
    call: int


class Commit(NamedTuple):
    """A commit of the session; ``body`` is its message without the first line."""

    ref: Ref
    sha: str
    subject: str
    call: int
    body: str = ""
    is_elsewhere: bool = False  # in another repository than the session's


class Job(NamedTuple):
    """A command, or the task of a subagent, that runs in the background and was not seen to end."""

    ref: Ref
    id: str
    command: str


class Pending(NamedTuple):
    """A call without an answer yet."""

    ref: Ref
    call_id: str
    tool: str
    input: JsonValue
    turn: int


@dataclass(slots=True, kw_only=True)
class State:
    """Everything extracted so far. Lists are oldest first; ``LIMITS`` says how long each may grow."""

    transcript: str = ""
    after: Place | None = None
    after_sha256: str = ""  # of the last record, to check that the file is still the same
    calls: int = 0
    turns: int = 0
    project: str = ""
    project_ref: Ref | None = None  # the record that names it
    branch: str = ""
    branch_ref: Ref | None = None
    model: str = ""
    started_at: str = ""
    last_at: str = ""
    compactions: int = 0
    last_compaction_call: int = -1
    errors: int = 0
    prompts: list[Prompt] = field(default_factory=list)
    rules: list[Rule] = field(default_factory=list)
    passages: list[Passage] = field(default_factory=list)
    files: dict[str, File] = field(default_factory=dict)
    commands: dict[str, Command] = field(default_factory=dict)
    todos: list[TodoFact] = field(default_factory=list)
    commits: list[Commit] = field(default_factory=list)
    jobs: dict[str, Job] = field(default_factory=dict)
    pushed_at: int = -1  # the call that pushed last
    pending: dict[str, Pending] = field(default_factory=dict)
    agents: list[str] = field(default_factory=list)
    # Transcript, lines [first, last) that a rewind removed.
    rewinds: list[tuple[str, int, int]] = field(default_factory=list)
    tip: int = 0  # the turn that the conversation continues from
    tail: list[str] = field(default_factory=list)  # ids of its last records
    restored: list[str] = field(default_factory=list)  # sessions whose logs the user pasted into a prompt
    queued: str = ""  # a prompt that was typed while the agent worked and is not sent yet
    queued_ref: Ref | None = None
    answered_early: list[str] = field(
        default_factory=list
    )  # calls whose answer comes before them in the file

    @property
    def last_reply(self) -> Passage | None:
        """The agent's latest text."""
        return next((each for each in reversed(self.passages) if each.kind in ("reply", "outcome")), None)

    def with_changes(self, changes: dict[str, Any]) -> State:
        """Return a copy with other values in some fields."""
        return State(**{each.name: changes.get(each.name, getattr(self, each.name)) for each in fields(self)})

    def to_dict(self) -> JsonObject:
        """Return the JSON form."""
        data: dict[str, Any] = {"schema": SCHEMAS["extraction"]}
        for each in fields(self):
            value = getattr(self, each.name)
            data[each.name] = _to_json([*value.values()] if isinstance(value, dict) else value)
        return data

    @classmethod
    def from_dict(cls, data: JsonValue, *, where: str = "extraction") -> State:
        """Return the state of a JSON form; DocumentError makes the caller read the whole transcript again."""
        known: dict[str, Any] = dict(upgrade_document("extraction", data, where=where))
        del known["schema"]
        try:
            for name, read in _READERS.items():
                known[name] = read(known[name])
            state = cls(**known)
            _require_types(state)
        except (TypeError, KeyError, ValueError, IndexError, AttributeError) as error:
            raise DocumentError(f"{where}: not in the known form: {error}.", path=where) from error
        return state


LIMITS = {
    "prompts": 120,
    "rules": 200,
    "files": 300,
    "commands": 200,
    "todos": 150,
    "commits": 60,
    "jobs": 20,
    "pending": 64,
    "agents": 20,
    "rewinds": 200,
    "answered_early": 16,
}
MAX_PASSAGES = 500
MAX_PASSAGE_CHARS = 250_000  # of all passages together


_LIMITS_WITH_SLACK = [(name, limit, limit + limit // 4) for name, limit in LIMITS.items()]
_FIRST_PROMPTS = 3
_LAST_PASSAGES = 20
_KEPT_LONGER = {
    "output": 0,
    "edit": 0,
    "reply": 1,
    "report": 2,
    "note": 2,
    "plan": 3,
    "outcome": 3,
    "summary": 4,
}


def enforce_limits(state: State) -> None:
    """Drop the oldest entries of lists that exceed their limit by a quarter; the first prompts stay: they state the goal."""
    for name, limit, too_many in _LIMITS_WITH_SLACK:
        held = getattr(state, name)
        if len(held) <= too_many:
            continue
        if isinstance(held, dict):
            for key in [*held][: len(held) - limit]:
                del held[key]
        else:
            first = _FIRST_PROMPTS if name == "prompts" else 0
            del held[first : first + len(held) - limit]


def enforce_passage_limits(state: State) -> None:
    """Drop output first, then what the agent said on the way, then anything; the oldest first, never the last ones."""
    chars = sum(len(passage.text) for passage in state.passages)
    excess = max(len(state.passages) - MAX_PASSAGES, 0)
    if excess <= MAX_PASSAGES // 4 and chars <= MAX_PASSAGE_CHARS * 5 // 4:
        return
    order = sorted(
        range(len(state.passages) - _LAST_PASSAGES), key=lambda n: _KEPT_LONGER[state.passages[n].kind]
    )
    dropped = set[int]()
    for number in order:
        if excess <= 0 and chars <= MAX_PASSAGE_CHARS:
            break
        dropped.add(number)
        excess -= 1
        chars -= len(state.passages[number].text)
    state.passages[:] = [each for number, each in enumerate(state.passages) if number not in dropped]


def make_ref(record: Record, words: str) -> Ref:
    """Return the record as a source, quoted with these words."""
    transcript, line_idx, start, end = record.place
    digest = hashlib.sha256(record.raw).hexdigest()
    return Ref(line_idx, start, end, digest, truncate(words, EXCERPT_CHARS), transcript)


def is_rewound(state: State, ref: Ref) -> bool:
    """Return whether a rewind removed the record from the conversation."""
    return any(
        transcript == ref.transcript and first <= ref.line_idx < last
        for transcript, first, last in state.rewinds
    )


def copy_state(state: State) -> State:
    """Return an independent copy: facts are never changed, only replaced, so only the lists must be new."""
    held = {each.name: getattr(state, each.name) for each in fields(state)}
    return state.with_changes(
        {name: value.copy() for name, value in held.items() if isinstance(value, (list, dict))}
    )


def _require_types(state: State) -> None:
    """Raise TypeError where a field does not have the type of its default."""
    for name, default in _DEFAULTS.items():
        if default is not None and type(getattr(state, name)) is not type(default):
            raise TypeError(f"{name} is of another type")


def _to_json(value: Any) -> Any:
    """Turn facts into lists of lists."""
    if isinstance(value, Ref):
        return [*value]  # has no nested facts, and most values of a state are these
    return [*map(_to_json, value)] if isinstance(value, (list, tuple)) else value


def _reader(kind: Callable[..., Any], key: int | None = None) -> Callable[[Iterable[Any]], Any]:
    """Return a function that reads facts of a kind; with the number of a field as their key, as a mapping."""
    lists = [name for name in kind._fields if name in ("tail", "purposes")]  # type: ignore[attr-defined]

    def read_fact(row: list[Any]) -> Any:
        fact = kind(Ref(*row[0]), *row[1:])
        return fact._replace(**{name: tuple(getattr(fact, name)) for name in lists}) if lists else fact

    return lambda rows: (
        [read_fact(row) for row in rows] if key is None else {str(row[key]): read_fact(row) for row in rows}
    )


def _read_command(row: list[Any]) -> Command:
    found = Command(Ref(*row[0]), *row[1:])
    return found._replace(result_ref=found.result_ref and Ref(*found.result_ref))


_READERS: dict[str, Callable[[Any], Any]] = {
    "after": lambda row: row and Place(*row),
    **dict.fromkeys(("project_ref", "branch_ref", "queued_ref"), lambda row: row and Ref(*row)),
    "prompts": _reader(Prompt),
    "rules": _reader(Rule),
    "passages": _reader(Passage),
    "files": _reader(File, 1),
    "commands": lambda rows: {str(row[1]): _read_command(row) for row in rows},
    "todos": _reader(TodoFact),
    "commits": _reader(Commit),
    "jobs": _reader(Job, 1),
    "pending": _reader(Pending, 1),
    "rewinds": lambda rows: [(row[0], row[1], row[2]) for row in rows],
}
_DEFAULTS = {each.name: getattr(State(), each.name) for each in fields(State)}
