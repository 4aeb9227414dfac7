"""What the library takes in of a transcript: prompts, replies, calls with what they touch, results with how they ended.

Results are cut to head and tail, credentials are taken out, and of tools that the user excluded nothing is taken, neither what
they were given nor what they answered. Bookkeeping of the agent is left out.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from leftoff.flows.capture import Capture
from leftoff.library.pieces import Piece, PieceKind, Touch, Verb
from leftoff.model.actions import Action, Changed, Looked, Moved, Ran, Removed, Wrote
from leftoff.model.protocols import Agent
from leftoff.model.records import Block, Record, RecordKind, Text, Thinking, ToolResult, ToolUse

HEAD_CHARS = 4000
TAIL_CHARS = 2000
_LONGEST_SECRET = 16_000  # characters; a private key takes a fifth of it
# Colours and titles that a tool sends to a terminal: they would become parts of the words beside them.
_ESCAPES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\^_])")
_PROSE: dict[RecordKind, PieceKind] = {
    RecordKind.PROMPT: "prompt",
    RecordKind.REPLY: "reply",
    RecordKind.RESULT: "reply",  # words beside a result are the agent's own
    RecordKind.CONTEXT: "context",
    RecordKind.COMPACTION: "summary",
}
_PAST: dict[type, Verb] = {
    Looked: "read",
    Changed: "changed",
    Wrote: "wrote",
    Removed: "removed",
    Moved: "moved",
}


class Cutter:
    """Cuts records into pieces. Remembers the calls it has seen, so that their results can be understood.

    ``waiting`` names the tools of calls that were seen before: a source is read on from where the last look at it ended.
    """

    def __init__(self, agent: Agent, capture: Capture, waiting: dict[str, str]) -> None:
        self._agent, self._capture = agent, capture
        self._asked: dict[str, ToolUse] = {
            call_id: ToolUse(call_id=call_id, tool=tool, input={}) for call_id, tool in waiting.items()
        }

    def pieces(self, record: Record) -> Iterator[Piece]:
        """Of one record, in its order."""
        if record.compaction is not None and record.compaction.summary and not record.blocks:
            yield self._piece(record, "summary", record.compaction.summary)
        if record.kind not in _PROSE:
            return
        for block in record.blocks:
            piece = self._of_block(record, block)
            if piece is not None and (piece.text.strip() or piece.kind == "result" or piece.is_excluded):
                yield piece  # an empty result tells how it ended

    def _of_block(self, record: Record, block: Block) -> Piece | None:
        match block:
            case Text(text=text):
                return self._piece(record, _PROSE[record.kind], self._prose(record, text))
            case Thinking(text=text):
                return self._piece(record, "thinking", text)
            case ToolUse():
                return self._call(record, block)
            case ToolResult():
                return self._result(record, block)
            case _:
                return None

    def _prose(self, record: Record, text: str) -> str:
        """A prompt as it was typed, without what the client puts around it."""
        if record.kind is not RecordKind.PROMPT:
            return text
        typed = self._agent.typed(record)
        return typed if typed.strip() and len(record.blocks) == 1 else text

    def _call(self, record: Record, use: ToolUse) -> Piece | None:
        self._asked[use.call_id] = use
        if use.tool in self._capture.exclude_tools:
            hidden = self._piece(record, "call", "")
            return hidden._replace(tool=use.tool, call_id=use.call_id, is_excluded=True)
        actions = self._agent.actions(use)
        touches = tuple(
            touch._replace(path=self._redacted(touch.path))
            for action in actions
            for touch in _touches(action)
        )
        is_command = bool(actions) and isinstance(actions[0], Ran)
        piece = self._piece(record, "command" if is_command else "call", _said(use, actions))
        return piece._replace(tool=use.tool, call_id=use.call_id, touches=touches)

    def _result(self, record: Record, result: ToolResult) -> Piece | None:
        use = self._asked.pop(result.call_id, None)
        if use is not None and use.tool in self._capture.exclude_tools:
            return None
        text, exit_code, failed = result.text, None, result.is_error
        if use is not None:
            answer = self._agent.answer(use, result)
            text, exit_code, failed = answer.text or answer.said, answer.exit_code, answer.failed
        if failed is None and exit_code is not None:
            failed = exit_code != 0
        piece = self._piece(record, "result", text)
        return piece._replace(call_id=result.call_id, exit_code=exit_code, failed=failed)

    def _redacted(self, text: str) -> str:
        return text if self._capture.redactor is None else self._capture.redactor.redact(text)

    def _piece(self, record: Record, kind: PieceKind, text: str) -> Piece:
        return Piece(
            kind=kind,
            text=clean_cut(_ESCAPES.sub("", text) if "\x1b" in text else text, self._redacted),
            line=record.place.line_idx + 1,
            start=record.place.start,
            at=None if record.at is None else int(record.at.timestamp()),
        )


def clean_cut(text: str, redacted: Callable[[str], str]) -> str:
    """Head and tail of a long text without credentials, which are looked for before it is cut: half of one is not known as one."""
    if len(text) > HEAD_CHARS + TAIL_CHARS + 2 * _LONGEST_SECRET:
        ends = text[: HEAD_CHARS + _LONGEST_SECRET], text[-TAIL_CHARS - _LONGEST_SECRET :]
        text = f"{redacted(ends[0])}\n{redacted(ends[1])}"
        return shortened(text)
    return shortened(redacted(text))


def shortened(text: str) -> str:
    """Head and tail of a long text, cut where words end."""
    if len(text) <= HEAD_CHARS + TAIL_CHARS:
        return text
    head, tail = text[:HEAD_CHARS], text[-TAIL_CHARS:]
    return f"{head[: max(head.rfind(' '), head.rfind(chr(10))) + 1] or head}\n…\n{tail[_first_gap(tail) :]}"


def _first_gap(text: str) -> int:
    gaps = [at for at in (text.find(" "), text.find("\n")) if at >= 0]
    return min(gaps, default=0)


def _said(use: ToolUse, actions: tuple[Action, ...]) -> str:
    """The call in words: a command as it was typed, anything else by what it was given."""
    if actions and isinstance(actions[0], Ran):
        purpose = actions[0].purpose
        return f"{actions[0].command}\n# {purpose}" if purpose else actions[0].command
    if isinstance(use.input, str):
        return f"{use.tool} {use.input}"
    return " ".join([use.tool, *(_plain(value) for value in use.input.values())])


def _plain(value: object) -> str:
    match value:
        case str():
            return value
        case dict():
            return " ".join(_plain(inner) for inner in value.values())
        case list():
            return "\n".join(_plain(inner) for inner in value)
        case _:
            return str(value)


def _touches(action: Action) -> Iterator[Touch]:
    match action:
        case Moved(path=path, to=to):
            yield Touch(path, "moved")
            yield Touch(to, "moved")
        case Looked(path=path) | Changed(path=path) | Wrote(path=path) | Removed(path=path):
            yield Touch(path, _PAST[type(action)])
        case _:
            return
