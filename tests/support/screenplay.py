"""Plays a session that is written down as text files: the story of the demo.

A developer and an agent add rate limits to a small web API, and a compaction costs them an hour. The story is in
`data/bundled-1.txt` and `-2.txt`, its project in `data/orders-api.txt`. Rules are stated, one is taken back later, the
compaction's summary forgets some of both, and the session ends with open work and a nearly full window.

A line that begins with ``%%`` opens a part; its text goes up to the next such line.

    %% file PATH              a file of the project before the session begins
    %% asked [+TIME]          what the user wrote
    %% replied [+TIME]        what the model said (may be empty), followed by any of
        %% thinking           its thoughts
        %% shell | write PATH | edit PATH | read PATH [FIRST-LAST] | search PATTERN [in PATH] | list PATH | todo | fetch URL
            %% becomes        after edit: the new text
            %% answer | failed | interrupted       where the answer does not follow from the files
            %% picture NAME   a picture is in the answer
    %% delegated [+TIME]      a task for a subagent, followed by `%% step`s (written like `replied`) and `%% returned`
    %% compacted TOKENS       the summary that is left

TIME is a number with s or m, and passes before the event. Todo items are on lines that begin with ``[ ]``, ``[>]`` or
``[x]``. ``⟦name words⟧`` anywhere in a text is replaced by the insert of that name (``screenplay_props``).

The files are kept while the session is played: a read answers with what is there, an edit must find its text exactly
once. So a story cannot contradict itself about its files. Paths are relative to the project.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import Final, NamedTuple

from leftoff.errors import InvalidValueError
from leftoff.testing import script
from leftoff.testing.script import Asked, Call, Compacted, DelegatedTask, Event, Replied, Script
from tests.support import pictures, screenplay_props
from tests.support.token_gauge import Gauge, answered_chars, sent_chars

PROJECT: Final = "/home/mika/code/orders-api"
WINDOW_TOKENS: Final = 200_000

_ACTS = ("orders-api", "bundled-1", "bundled-2")
_START = datetime(2026, 3, 12, 0, 2, 11, tzinfo=UTC)  # nine in the morning where the user sits
_OVERHEAD_TOKENS = 16_000
_SUBAGENT_OVERHEAD_TOKENS = 9_000
_TOKENS_PER_CHAR = 0.374  # as real sessions show it
_LATENCIES = (22, 21, 23, 19, 12, 7, 4, 3, 2, 2, 3, 2, 2, 2, 3, 2, 2, 2, 2, 3, 2, 2, 2, 2)


def bundled_script(*, project: str = PROJECT) -> Script:
    """Return the story as if it had happened in the folder ``project``."""
    stage = Stage(
        project=project,
        start=_START,
        gauge=Gauge(
            base_tokens=_OVERHEAD_TOKENS, tokens_per_char=_TOKENS_PER_CHAR, ceiling_tokens=WINDOW_TOKENS
        ),
        pictures={"latency": pictures.bars(_LATENCIES, bar_width=4)},
        subagent_tokens=_SUBAGENT_OVERHEAD_TOKENS,
    )
    story = "\n".join(screenplay_props.text(act) for act in _ACTS)
    return Script(
        session_id="5b0e6f0a-3c1d-4e7f-9a55-0d2f7c1b8e46",
        project=project,
        branch="feature/rate-limits",
        model="sample-1",
        window_tokens=WINDOW_TOKENS,
        events=tuple(stage.play(parts(story, screenplay_props.inserts()))),
    )


_INSERT = re.compile(r"⟦([a-z-]+) ?([^⟧]*)⟧")
_TIME = re.compile(r"\+(\d+)([sm])")
_STATUS: Mapping[str, script.TodoStatus] = {"[ ]": "pending", "[>]": "in_progress", "[x]": "completed"}
_USUAL_PAUSE = timedelta(seconds=25)

Insert = Callable[[str], str]


class Part(NamedTuple):
    """One part of a screenplay."""

    word: str
    argument: str
    text: str
    line: int


def parts(text: str, inserts: Mapping[str, Insert]) -> Iterator[Part]:
    """Yield the parts of a screenplay with their inserts replaced."""
    heading: tuple[str, int] | None = None
    body: list[str] = []
    for number, line in enumerate([*text.splitlines(), "%% end"], start=1):
        if not line.startswith("%% "):
            body.append(line)
            continue
        if heading is not None:
            word, _, argument = heading[0].partition(" ")
            filled = _INSERT.sub(lambda found: inserts[found[1]](found[2]), "\n".join(body).strip("\n"))
            yield Part(word, argument.strip(), filled, heading[1])
        heading, body = (line[3:].strip(), number), []


class Stage:
    """Play the parts of a screenplay, one event after another."""

    def __init__(
        self,
        *,
        project: str,
        start: datetime,
        gauge: Gauge,
        pictures: Mapping[str, bytes],
        subagent_tokens: int,
    ) -> None:
        self._project = project
        self._now = start
        self._gauge = gauge
        self._pictures = pictures
        self._subagent_tokens = subagent_tokens
        self._files: dict[str, str] = {}
        self._parts: deque[Part] = deque()

    def play(self, parts_of_story: Iterator[Part]) -> Iterator[Event]:
        """Yield the events in order."""
        self._parts = deque(parts_of_story)
        while self._parts:
            part = self._parts.popleft()
            if part.word == "file":
                self._files[part.argument] = f"{part.text}\n"
            elif part.word == "asked":
                self._gauge.add(len(part.text))
                yield Asked(text=part.text, at=self._at(part))
            elif part.word == "replied":
                yield self._replied(part, self._gauge)
            elif part.word == "delegated":
                yield self._delegated(part)
            elif part.word == "compacted":
                yield self._compacted(part)
            else:
                raise _error(part, "cannot begin an event")

    def _replied(self, part: Part, gauge: Gauge) -> Replied:
        at = self._at(part)
        thought = self._next("thinking")
        calls = tuple(self._calls())
        thinking = thought.text if thought else ""
        usage = gauge.reply(len(part.text) + len(thinking) + sum(map(sent_chars, calls)))
        gauge.add(sum(map(answered_chars, calls)))
        return Replied(at=at, text=part.text, thinking=thinking, calls=calls, usage=usage)

    def _delegated(self, part: Part) -> DelegatedTask:
        usage = self._gauge.reply(len(part.text))
        at = self._at(part)
        own = Gauge(base_tokens=self._subagent_tokens, tokens_per_char=0.4, ceiling_tokens=200_000)
        own.add(len(part.text))
        steps: list[Replied] = []
        while step := self._next("step"):
            steps.append(self._replied(step, own))
        returned = self._next("returned")
        if returned is None:
            raise _error(part, "has no `%% returned`")
        self._gauge.add(len(returned.text))
        return DelegatedTask(task=part.text, steps=tuple(steps), answer=returned.text, at=at, usage=usage)

    def _compacted(self, part: Part) -> Compacted:
        before, after = self._gauge.tokens, int(part.argument.split()[0])
        self._gauge.compact(after)
        return Compacted(
            summary=part.text, before_tokens=before, after_tokens=after, automatic=True, at=self._at(part)
        )

    def _calls(self) -> Iterator[Call]:
        makers: Mapping[str, Callable[[Part], Call]] = {
            script.SHELL: self._shell,
            script.READ: self._read,
            script.WRITE: self._write,
            script.EDIT: self._edit,
            script.SEARCH: self._search,
            script.LIST: self._list,
            script.TODO: self._todo,
            script.FETCH: self._fetch,
        }
        while self._parts and (make := makers.get(self._parts[0].word)):
            yield make(self._parts.popleft())

    def _shell(self, part: Part) -> Call:
        answer, failed = self._answer(part, None)
        return script.shell(part.text, answer, failed=failed)

    def _read(self, part: Part) -> Call:
        path, _, lines = part.argument.partition(" ")
        first, last = (int(number) for number in lines.split("-")) if lines else (None, None)
        text = self._files.get(path)
        if text is not None and first is not None and last is not None:
            text = "".join(text.splitlines(keepends=True)[first - 1 : last])
        answer, failed = self._answer(part, text)
        picture = self._next("picture")
        return script.read(
            self._absolute(path),
            answer,
            offset=first,
            limit=last - first + 1 if first and last else None,
            failed=failed,
            image=self._pictures[picture.argument] if picture else None,
        )

    def _write(self, part: Part) -> Call:
        content = f"{part.text}\n"
        answer, failed = self._answer(part, f"Wrote {content.count(chr(10))} lines to {part.argument}.")
        if answer is not None and not failed:
            self._files[part.argument] = content
        return script.write(self._absolute(part.argument), content, answer, failed=failed)

    def _edit(self, part: Part) -> Call:
        new = self._next("becomes")
        if new is None:
            raise _error(part, "has no `%% becomes`")
        path = part.argument
        answer, failed = self._answer(part, f"Edited {path}.")
        if answer is not None and not failed:
            text = self._files.get(path, "")
            if text.count(part.text) != 1:
                raise _error(part, f"finds its text {text.count(part.text)} times in {path}")
            self._files[path] = text.replace(part.text, new.text)
        return script.edit(self._absolute(path), part.text, new.text, answer, failed=failed)

    def _search(self, part: Part) -> Call:
        pattern, _, path = part.argument.partition(" in ")
        answer, failed = self._answer(part, None)
        where = self._absolute(path) if path else None
        return script.search(pattern, answer, path=where, failed=failed)

    def _list(self, part: Part) -> Call:
        answer, failed = self._answer(part, None)
        return script.list_folder(self._absolute(part.argument), answer, failed=failed)

    def _todo(self, part: Part) -> Call:
        items = [(line[4:], _STATUS[line[:3]]) for line in part.text.splitlines()]
        return script.todo(items, "The list was updated.")

    def _fetch(self, part: Part) -> Call:
        answer, failed = self._answer(part, None)
        return script.fetch(part.argument, answer, failed=failed)

    def _answer(self, part: Part, usual: str | None) -> tuple[str | None, bool]:
        """Return the answer and whether the call failed: as written in the story, else the usual answer."""
        if given := self._next("answer"):
            return given.text, False
        if given := self._next("failed"):
            return given.text, True
        if self._next("interrupted"):
            return None, False
        if usual is None:
            raise _error(part, "has no answer, and none follows from the files")
        return usual, False

    def _next(self, word: str) -> Part | None:
        return self._parts.popleft() if self._parts and self._parts[0].word == word else None

    def _at(self, part: Part) -> datetime:
        found = _TIME.search(part.argument)
        self._now += (
            timedelta(seconds=int(found[1]) * (60 if found[2] == "m" else 1)) if found else _USUAL_PAUSE
        )
        return self._now

    def _absolute(self, path: str) -> str:
        return self._project if path == "." else f"{self._project}/{path}"


def _error(part: Part, why: str) -> InvalidValueError:
    return InvalidValueError(
        f"Screenplay line {part.line}: `{part.word} {part.argument}` {why}.", line=part.line
    )
