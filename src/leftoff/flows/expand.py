"""The original behind a placeholder: found by its key alone, in the session that had it, and checked against its digest."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from leftoff.errors import LeftoffError, NotFoundError, UsageError
from leftoff.flows.agents import agent_of
from leftoff.flows.ancestry import Family, family_here
from leftoff.model.copying import digest_of
from leftoff.model.protocols import Agent, CanCopy
from leftoff.model.records import Record, Text, Thinking, ToolResult, ToolUse
from leftoff.model.trim_plan import CutPart
from leftoff.model.values import dataclass
from leftoff.model.wire import JsonValue
from leftoff.shrink.placeholders import Key, parsed_key


@dataclass(frozen=True, slots=True, kw_only=True)
class Original:
    """What was cut, as its record has it, and where that stands; ``line`` is 1-based."""

    key: str
    value: JsonValue
    part: CutPart
    transcript: str
    line: int

    @property
    def text(self) -> str:
        """The words; what is no text is shown as JSON."""
        match self.value:
            case str():
                return self.value
            case list() if all(isinstance(each, dict) and "text" in each for each in self.value):
                return "\n".join(str(each["text"]) for each in self.value if isinstance(each, dict))
            case _:
                return json.dumps(self.value, ensure_ascii=False, indent=2)


def expand(key: str) -> Original:
    """The original that a placeholder's key names; NotFoundError when its session is gone, LeftoffError when it has changed."""
    found = Originals(family_here()).of(key)
    if isinstance(found, LeftoffError):
        raise found
    return found


class _Candidate(NamedTuple):
    value: JsonValue
    part: CutPart
    call_id: str | None
    transcript: str


class Originals:
    """Originals by key. Sessions and lines are looked up once, so that many keys of one session cost one pass."""

    def __init__(self, family: Family) -> None:
        self._family = family
        self._files: dict[str, list[Path]] = {}
        self._agents: dict[Path, Agent] = {}
        self._lines: dict[Path, dict[int, list[Record]]] = {}
        self._wanted: dict[str, set[int]] = {}

    def expect(self, keys: list[str]) -> None:
        """Say which keys will be asked for: then each session is read once for all of them."""
        for key in filter(None, map(parsed_key, keys)):
            self._wanted.setdefault(key.session_id_prefix, set()).add(key.line)

    def of(
        self, key: str, part: CutPart | None = None, call_id: str | None = None
    ) -> Original | LeftoffError:
        """The original, or why it cannot be given; with ``part``, only that part of that call (None: of no call)."""
        wanted = parsed_key(key)
        if wanted is None:
            return UsageError(
                f"{key[:60]!r} is no key. It stands at the end of a placeholder: leftoff expand KEY"
            )
        self.expect([key])
        told: list[Sequence[_Candidate] | LeftoffError] = []
        for transcript in self._sessions(wanted):
            told.append(found := self._candidates(transcript, wanted))
            if isinstance(found, LeftoffError):
                continue
            for value, its_part, its_call, where in found:
                if part is None or (part, call_id) == (its_part, its_call):
                    return Original(key=key, value=value, part=its_part, transcript=where, line=wanted.line)
        return _not_found(key, wanted, told)

    def _sessions(self, key: Key) -> list[Path]:
        if key.session_id_prefix not in self._files:
            self._files[key.session_id_prefix] = [*self._family.files_called(key.session_id_prefix)]
        return self._files[key.session_id_prefix]

    def _candidates(self, transcript: Path, key: Key) -> list[_Candidate] | LeftoffError:
        """Every value of that line of the session that the digest fits; or why it cannot be read: another may have it."""
        try:
            return [
                each
                for each in self._cut_from(transcript, key)
                if digest_of(each.value).startswith(key.digest_prefix)
            ]
        except LeftoffError as error:
            return error

    def _cut_from(self, transcript: Path, key: Key) -> Iterator[_Candidate]:
        """Every value that could have been cut from that line of the session, forks' inherited lines included."""
        agent = self._agents.get(transcript) or agent_of(transcript)
        self._agents[transcript] = agent
        if not isinstance(agent, CanCopy):
            return
        for record in self._records(agent, transcript, key).get(key.line, ()):
            for part, call_id in _parts(record):
                value = agent.original(record, part, call_id)
                if value is not None:
                    yield _Candidate(value, part, call_id, record.place.transcript)

    def _records(self, agent: Agent, transcript: Path, key: Key) -> dict[int, list[Record]]:
        lines = self._wanted[key.session_id_prefix]
        known = self._lines.get(transcript)
        if known is None or not lines <= known.keys():
            known = {line: [] for line in lines}
            for record in agent.open(transcript).records:
                if record.place.line_idx + 1 in lines:
                    known[record.place.line_idx + 1].append(record)
            self._lines[transcript] = known
        return known


def _not_found(key: str, wanted: Key, told: Sequence[Sequence[_Candidate] | LeftoffError]) -> LeftoffError:
    """Why there is no original, by what came of each session that may have it."""
    if any(found for found in told if not isinstance(found, LeftoffError)):
        return LeftoffError(
            f"{key}: what it names was cut from another call: it was quoted here, and stays as it is."
        )
    for error in told:
        if isinstance(error, LeftoffError):
            return LeftoffError(
                f"{key}: a session that may have the original cannot be read. {error.message}"
            )
    if told:
        return LeftoffError(
            f"{key}: line {wanted.line} of session {wanted.session_id_prefix}… is no longer what was cut: "
            "the file has changed since."
        )
    return NotFoundError(
        f"{key}: session {wanted.session_id_prefix}… is gone, and the original with it. "
        "leftoff sessions lists what there is."
    )


def _parts(record: Record) -> Iterator[tuple[CutPart, str | None]]:
    for block in record.blocks:
        match block:
            case ToolResult(call_id=call_id):
                yield "result", call_id
            case ToolUse(call_id=call_id):
                yield "input", call_id
            case _:
                continue
    if any(isinstance(block, Text) for block in record.blocks):
        yield "text", None
    if any(isinstance(block, Thinking) for block in record.blocks):
        yield "thinking", None
