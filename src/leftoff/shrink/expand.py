"""Find the original behind a placeholder by its key, and check it against the digest in the key."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from leftoff.agents.registry import agent_of
from leftoff.core.protocols import Agent, CanCopy
from leftoff.core.records import Record, Text, Thinking, ToolResult, ToolUse
from leftoff.core.trim_plan import CutPart, digest_of
from leftoff.core.wire import JsonValue
from leftoff.errors import LeftoffError, NotFoundError, UsageError
from leftoff.sessions.ancestry import Family, load_family
from leftoff.shrink.placeholder import Key, parse_key


@dataclass(frozen=True, slots=True, kw_only=True)
class Original:
    """Content that was cut, as its record holds it, and where it is; ``line`` is 1-based."""

    key: str
    value: JsonValue
    part: CutPart
    transcript: str
    line: int
    call_id: str | None = None

    @property
    def text(self) -> str:
        """The text of the original; a value that is not text is shown as JSON."""
        match self.value:
            case str():
                return self.value
            case list() if all(isinstance(each, dict) and "text" in each for each in self.value):
                return "\n".join(str(each["text"]) for each in self.value if isinstance(each, dict))
            case _:
                return json.dumps(self.value, ensure_ascii=False, indent=2)


def expand(key: str) -> Original:
    """Return the original for a key; NotFoundError if its session is gone, LeftoffError if it has changed."""
    original = Originals(load_family()).of(key)
    if isinstance(original, LeftoffError):
        raise original
    return original


class _Candidate(NamedTuple):
    value: JsonValue
    part: CutPart
    call_id: str | None
    transcript: str


class Originals:
    """Originals by key. Sessions and lines are looked up once, so that many keys of one session need one pass."""

    def __init__(self, family: Family) -> None:
        self._family = family
        self._files: dict[str, list[Path]] = {}
        self._agents: dict[Path, Agent] = {}
        self._lines: dict[Path, dict[int, list[Record]]] = {}
        self._expected: dict[str, set[int]] = {}

    def expect(self, keys: list[str]) -> None:
        """Announce the keys that will be requested, so that each session is read once for all of them."""
        for key in filter(None, map(parse_key, keys)):
            self._expected.setdefault(key.session_id_prefix, set()).add(key.line)

    def of(
        self, key: str, part: CutPart | None = None, call_id: str | None = None
    ) -> Original | LeftoffError:
        """Return the original, or the error that explains why none exists.

        With ``part``, only that part of that call counts (``call_id`` None: outside a call).
        """
        parsed = parse_key(key)
        if parsed is None:
            return UsageError(
                f"{key[:60]!r} is not a key. Keys are at the end of placeholders: leftoff expand KEY"
            )
        self.expect([key])
        tried: list[Sequence[_Candidate] | LeftoffError] = []
        for transcript in self._sessions(parsed):
            tried.append(candidates := self._candidates(transcript, parsed))
            if isinstance(candidates, LeftoffError):
                continue
            for value, its_part, its_call, where in candidates:
                if part is None or (part, call_id) == (its_part, its_call):
                    return Original(
                        key=key,
                        value=value,
                        part=its_part,
                        transcript=where,
                        line=parsed.line,
                        call_id=its_call,
                    )
        return _not_found(key, parsed, tried)

    def _sessions(self, key: Key) -> list[Path]:
        if key.session_id_prefix not in self._files:
            self._files[key.session_id_prefix] = [*self._family.files_of(key.session_id_prefix)]
        return self._files[key.session_id_prefix]

    def _candidates(self, transcript: Path, key: Key) -> list[_Candidate] | LeftoffError:
        """Return the values on that line that match the digest, or the error of an unreadable session: another file may have it."""
        try:
            return [
                each
                for each in self._values_at(transcript, key)
                if digest_of(each.value).startswith(key.digest_prefix)
            ]
        except LeftoffError as error:
            return error

    def _values_at(self, transcript: Path, key: Key) -> Iterator[_Candidate]:
        """Yield every value that could have been cut from that line of the session, including lines inherited by a fork."""
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
        lines = self._expected[key.session_id_prefix]
        known = self._lines.get(transcript)
        if known is None or not lines <= known.keys():
            known = {line: [] for line in lines}
            for record in agent.open(transcript).records:
                if record.place.line_idx + 1 in lines:
                    known[record.place.line_idx + 1].append(record)
            self._lines[transcript] = known
        return known


def _not_found(key: str, parsed: Key, tried: Sequence[Sequence[_Candidate] | LeftoffError]) -> LeftoffError:
    """Explain why there is no original, from the result for each session that could have it."""
    if any(each for each in tried if not isinstance(each, LeftoffError)):
        return LeftoffError(
            f"{key}: what it names was cut from another call: it was quoted here, and stays as it is."
        )
    for error in tried:
        if isinstance(error, LeftoffError):
            return LeftoffError(
                f"{key}: a session that may have the original cannot be read. {error.message}"
            )
    if tried:
        return LeftoffError(
            f"{key}: line {parsed.line} of session {parsed.session_id_prefix}… is no longer what was cut: "
            "the file has changed since."
        )
    return NotFoundError(
        f"{key}: session {parsed.session_id_prefix}… is gone, and the original with it. "
        "leftoff sessions lists them."
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
