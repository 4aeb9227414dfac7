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


def truncate(text: str, max_chars: int) -> str:
    """Return the beginning of a text, cut at the end of a word: half a credential would no longer be recognised as one."""
    if len(text) <= max_chars:
        return text
    head = text[:max_chars]
    return head[: max(head.rfind(" "), head.rfind("\n"), head.rfind("\t"), 0)]


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

    @property
    def is_for_leftoff(self) -> bool:
        """Whether it was typed for leftoff and asks nothing of the agent."""
        return bool(self.project) or only_saves(self.text)


class Rule(NamedTuple):
    """A constraint, correction, refusal, answer or verdict of the user, word for word."""

    ref: Ref
    text: str
    kind: str  # constraint, correction, refusal, answer, plan_approved, plan_rejected
    about: str  # what it answers or refuses; empty for a rule by itself
    call: int
    superseded_by: str = ""


class Statement(NamedTuple):
    """Something the agent said: a finding, a decision with its reason, something given up, what comes next."""

    ref: Ref
    kind: str  # finding, decision, abandoned, next, summary
    text: str
    reason: str
    turn: int
    call: int


class File(NamedTuple):
    """A file with what was done to it, and what was done last."""

    ref: Ref
    path: str
    reads: int = 0
    edits: int = 0
    last: Literal["read", "searched", "created", "changed", "deleted", "moved", "refused"] = "read"
    call: int = 0
    is_new: bool = False
    seen: tuple[int, int] | None = None  # the lines last read; None: all, or not read
    edited_at: int = -1
    moved_to: str = ""


class Command(NamedTuple):
    """A shell command and how it ended last; ``failure`` is the line that says what went wrong, if it failed last."""

    ref: Ref
    text: str
    runs: int
    exit_code: int | None
    failed: bool | None
    call: int
    failure: str = ""
    purpose: str = ""
    result: str = ""  # the line of a good end that says how good: "12 passed"
    failed_before: str = ""  # what went wrong before, if it passes now
    fixed_by: tuple[str, ...] = ()  # the files changed in between
    result_ref: Ref | None = None  # the answer that says so; None: it said nothing worth quoting
    failure_ref: Ref | None = None  # the answer that showed the earlier failure, if it passes now

    @property
    def refs(self) -> list[Ref]:
        """The request, and the answers that say something worth quoting."""
        return [
            ref
            for ref in (self.ref.with_excerpt(self.text), self.failure_ref, self.result_ref)
            if ref is not None
        ]


class TodoFact(NamedTuple):
    """An entry of the agent's to-do list."""

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
    """A commit of the session."""

    ref: Ref
    sha: str
    subject: str
    call: int


class RecentText(NamedTuple):
    """A recent call or text, with enough of it to find the names in it: what was asked, and the beginning of the answer."""

    ref: Ref
    call: int
    kind: str
    path: str
    asked: str
    answer: str


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
    casual_prompts: int = 0  # that begin in lower case; from such a user, well-formed sentences were pasted
    prompts: list[Prompt] = field(default_factory=list)
    rules: list[Rule] = field(default_factory=list)
    candidates: list[Rule] = field(default_factory=list)  # rules only if the agent's next text gives in
    statements: list[Statement] = field(default_factory=list)
    files: dict[str, File] = field(default_factory=dict)
    commands: dict[str, Command] = field(default_factory=dict)
    todos: list[TodoFact] = field(default_factory=list)
    delegations: list[Delegation] = field(default_factory=list)
    commits: list[Commit] = field(default_factory=list)
    glimpses: list[RecentText] = field(default_factory=list)
    pending: dict[str, Pending] = field(default_factory=dict)
    agents: list[str] = field(default_factory=list)
    # Transcript, lines [first, last) that a rewind removed.
    rewinds: list[tuple[str, int, int]] = field(default_factory=list)
    tip: int = 0  # the turn that the conversation continues from
    tail: list[str] = field(default_factory=list)  # ids of its last records
    restored: list[str] = field(default_factory=list)  # sessions whose logs the user pasted into a prompt
    last_words: Statement | None = None  # the agent's latest text, whatever it is

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
        known.pop("schema", None)
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


_LIMITS_WITH_SLACK = [(name, limit, limit + limit // 4) for name, limit in LIMITS.items()]
_FIRST_PROMPTS = 3


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


def _list_reader(kind: Callable[..., Any]) -> Callable[[Iterable[Any]], list[Any]]:
    return lambda rows: [kind(Ref(*row[0]), *row[1:]) for row in rows]


def _dict_reader(kind: Callable[..., Any], key: int) -> Callable[[Iterable[Any]], dict[str, Any]]:
    return lambda rows: {str(row[key]): kind(Ref(*row[0]), *row[1:]) for row in rows}


def _read_prompt(ref: Ref, *rest: Any) -> Prompt:
    prompt = Prompt(ref, *rest)
    return prompt._replace(tail=tuple(prompt.tail))


def _read_file(ref: Ref, *rest: Any) -> File:
    file = File(ref, *rest)
    return file._replace(seen=file.seen and (file.seen[0], file.seen[1]))


def _read_command(ref: Ref, *rest: Any) -> Command:
    found = Command(ref, *rest)
    return found._replace(
        fixed_by=tuple(found.fixed_by),
        result_ref=found.result_ref and Ref(*found.result_ref),
        failure_ref=found.failure_ref and Ref(*found.failure_ref),
    )


_READERS: dict[str, Callable[[Any], Any]] = {
    "after": lambda row: row and Place(*row),
    "project_ref": lambda row: row and Ref(*row),
    "branch_ref": lambda row: row and Ref(*row),
    "prompts": _list_reader(_read_prompt),
    "rules": _list_reader(Rule),
    "candidates": _list_reader(Rule),
    "statements": _list_reader(Statement),
    "files": _dict_reader(_read_file, 1),
    "commands": _dict_reader(_read_command, 1),
    "todos": _list_reader(TodoFact),
    "delegations": _list_reader(Delegation),
    "commits": _list_reader(Commit),
    "glimpses": _list_reader(RecentText),
    "pending": _dict_reader(Pending, 1),
    "rewinds": lambda rows: [(row[0], row[1], row[2]) for row in rows],
    "last_words": lambda row: row and Statement(Ref(*row[0]), *row[1:]),
}
_DEFAULTS = {each.name: getattr(State(), each.name) for each in fields(State)}
