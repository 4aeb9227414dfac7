"""The course of a generated session: prompts, replies, delegations and compactions, one event at a time.

Promises strictly growing times, usage that fits the text, and memory that does not grow with the session. Every turn
ends with words of the model, except one that the user interrupts.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Final

from leftoff.model.script import Asked, Call, Compacted, Delegated, Event, Replied
from leftoff.samples import tools, words
from leftoff.samples.gauge import Gauge
from leftoff.samples.mix import Mix
from leftoff.samples.plan import Plan
from leftoff.samples.toolbox import MAX_ANSWER_CHARS, Toolbox
from leftoff.samples.weight import answered_chars, carried_bytes, sent_chars
from leftoff.samples.world import World

WINDOW_TOKENS: Final = 200_000
COMPACTS_AT_TOKENS: Final = 167_000

_TOKENS_PER_CHAR: Final = 0.374
_OVERHEAD_TOKENS: Final = 38_000  # system prompt, tools, instructions
_SUBAGENT_OVERHEAD_TOKENS: Final = 12_000
_AFTER_COMPACTION_TOKENS: Final = 30_000
_CEILING_TOKENS: Final = 198_000
_REPLIES_PER_TURN: Final = 10
_ROOM_TO_DELEGATE_BYTES: Final = 30_000  # a delegation alone would be most of a smaller session
_ENVIRONMENT_FILE: Final = "deploy/local.env"


class Telling:
    """One pass over a session; ``events`` may be asked for once."""

    def __init__(self, world: World, rng: Random, plan: Plan, options: Mix, *, size_bytes: int) -> None:
        self._size_bytes = size_bytes
        self._world = world
        self._random = rng.random
        self._rng = rng
        self._plan = plan
        self._options = options
        # In a small session no single answer may be most of it, and nobody talks at length.
        self._toolbox = Toolbox(world, rng, options, longest_answer=max(200, size_bytes // 10))
        self._most_sentences = max(1, size_bytes // 3_000)
        self._gauge = Gauge(
            base_tokens=_OVERHEAD_TOKENS, tokens_per_char=_TOKENS_PER_CHAR, ceiling_tokens=_CEILING_TOKENS
        )
        self._start = datetime(2026, 1, 5, 8, 30, tzinfo=UTC) + timedelta(minutes=rng.randrange(400_000))
        self._elapsed_ms = 0
        self._turn = 0

    def events(self) -> Iterator[Event]:
        """Events until they carry about as much as was asked for; then the words that end the turn."""
        left = self._size_bytes
        for event in self._endless():
            yield event
            left -= carried_bytes(event)
            if left <= 0:
                if not _ends_turn(event):
                    yield self._closing_words()
                return

    def _endless(self) -> Iterator[Event]:
        while True:
            yield self._prompt()
            if self._turn == 1:
                yield self._look_around()
            yield from self._replies()

    def _replies(self) -> Iterator[Event]:
        """What follows a prompt."""
        options, random = self._options, self._random
        for _ in range(1 + int(random() * 2 * _REPLIES_PER_TURN)):
            if options.compactions and self._gauge.tokens > COMPACTS_AT_TOKENS:
                yield self._compaction()
            if self._size_bytes >= _ROOM_TO_DELEGATE_BYTES and random() < options.subagents:
                yield self._delegation()
            reply = self._reply()
            yield reply
            if reply.calls[-1].answer is None:
                return
        yield self._closing_words()

    def _prompt(self) -> Asked:
        self._turn += 1
        self._toolbox.begin_task()
        if self._turn == 1:
            text = self._opening()
        elif self._turn == 2:
            text = self._plan.reversal
        elif self._random() < self._options.cjk:
            text = self._filled(words.PROMPTS_CJK)
        else:
            text = self._filled(words.PROMPTS)
            if self._random() < 0.1:
                pasted = "\n".join(self._lines(self._world.log, 1 + int(30 * self._random())))
                text = f"{text}\n\n```\n{pasted}\n```"
        self._gauge.add(len(text))
        return Asked(text=text, at=self._at(seconds=60 + 400 * self._random()))

    def _opening(self) -> str:
        rules = "\n".join(f"- {rule}" for rule in (*self._plan.rules[:-1], self._plan.superseded))
        task = self._filled(words.PROMPTS[:4])
        if self._options.cjk:
            task = f"{task}\n(日本語の質問も混ざります。)"
        return f"{task}\n\nGround rules for this repository:\n{rules}"

    def _look_around(self) -> Replied:
        """The first reply: what is here, and the one place where a secret is printed."""
        names = "\n".join(self._world.paths)
        environment = f"ENVIRONMENT=local\nLOG_LEVEL=debug\nDEPLOY_TOKEN={self._plan.secret}\nWORKERS=4"
        calls = (
            tools.list_folder(self._world.project, f"{names}\n{_ENVIRONMENT_FILE}"),
            tools.shell(f"cat {_ENVIRONMENT_FILE}", environment),
        )
        return self._replied(self._gauge, calls, text="First a look at what is here.")

    def _reply(self) -> Replied:
        random, options = self._random, self._options
        calls = [self._toolbox.call()]
        if random() < options.parallel:
            calls += [self._toolbox.call() for _ in range(1 + int(random() * 3))]
        calls = self._within_bounds(calls)
        if random() < options.interrupted:
            last = calls.pop()
            calls.append(Call(tool=last.tool, input=last.input, answer=None))
        text = self._sentences(3) if random() < 0.5 else ""
        return self._replied(self._gauge, tuple(calls), text=text)

    def _within_bounds(self, calls: list[Call]) -> list[Call]:
        """Calls whose answers fit side by side: several giant ones at once would not fit the window."""
        kept: list[Call] = []
        room = MAX_ANSWER_CHARS
        for call in calls:
            room -= answered_chars(call)
            if room < 0 and kept:
                break
            kept.append(call)
        return kept

    def _replied(self, gauge: Gauge, calls: tuple[Call, ...], *, text: str) -> Replied:
        thinks = self._random() < self._options.thinking
        thinking = self._sentences(12) if thinks else ""
        chars = len(text) + len(thinking)
        answers = 0
        for call in calls:
            chars += sent_chars(call)
            answers += answered_chars(call)
        usage = gauge.reply(chars)
        gauge.add(answers)
        at = self._at(seconds=4 + 30 * self._random())
        return Replied(at=at, text=text, thinking=thinking, calls=calls, usage=usage)

    def _closing_words(self) -> Replied:
        if self._options.cjk and self._random() < self._options.cjk:
            return self._replied(self._gauge, (), text=self._filled(words.REPLIES_CJK))
        files = "\n".join(f"- `{path}`" for path in self._toolbox.paths)
        found = self._sentences(6)
        return self._replied(self._gauge, (), text=f"Done. What I changed:\n{files}\n\n{found}")

    def _delegation(self) -> Delegated:
        gauge = Gauge(
            base_tokens=_SUBAGENT_OVERHEAD_TOKENS,
            tokens_per_char=_TOKENS_PER_CHAR,
            ceiling_tokens=_CEILING_TOKENS,
        )
        task = f"Find out, without changing anything: {self._filled(words.PROMPTS[:5])}"
        usage = self._gauge.reply(len(task))
        at = self._at(seconds=5)
        gauge.add(len(task))
        steps = tuple(self._step(gauge) for _ in range(2 + int(self._random() * 4)))
        answer = self._findings()
        self._gauge.add(len(answer))
        return Delegated(task=task, steps=steps, answer=answer, at=at, usage=usage)

    def _step(self, gauge: Gauge) -> Replied:
        """A reply of a subagent: it is not interrupted, because nobody speaks to it."""
        return self._replied(gauge, (self._toolbox.look(),), text="")

    def _compaction(self) -> Compacted:
        """The summary keeps the first rule only: what else the user wanted is lost, as it is in real ones."""
        files = "\n".join(f"- {path}" for path in self._toolbox.paths)
        found = self._findings()
        summary = (
            f"The user works on {self._world.package}. They said: {self._plan.rules[0]}\n\n"
            f"Files:\n{files}\n\nWhat was found:\n{found}\n\nNext: {self._filled(words.TASKS)}."
        )
        before = self._gauge.tokens
        after = _AFTER_COMPACTION_TOKENS + int(2_000 * self._random())
        self._gauge.compact(after)
        self._toolbox.forget()
        at = self._at(seconds=40)
        return Compacted(summary=summary, before_tokens=before, after_tokens=after, automatic=True, at=at)

    def _filled(self, templates: tuple[str, ...]) -> str:
        return self._world.fill(templates[int(self._random() * len(templates))], self._toolbox.some_file())

    def _sentences(self, most: int) -> str:
        """Up to so many sentences about files that the session is about just now."""
        count = 1 + int(self._random() * min(most, self._most_sentences))
        found = self._lines(self._toolbox.some_file().sentences, count)
        if len(found) < count:
            found = [*found, *self._lines(self._toolbox.some_file().sentences, count - len(found))]
        return " ".join(found)

    def _findings(self) -> str:
        """A long list, file by file, as a subagent or a summary gives it."""
        files = min(12, 1 + self._most_sentences // 3)
        return "\n".join(f"- {line}" for file in self._world.files[:files] for line in file.sentences)

    def _lines(self, pool: list[str], count: int) -> list[str]:
        first = int(self._random() * max(1, len(pool) - count))
        return pool[first : first + count]

    def _at(self, *, seconds: float) -> datetime:
        self._elapsed_ms += int(seconds * 1_000)
        return self._start + timedelta(milliseconds=self._elapsed_ms)


def _ends_turn(event: Event) -> bool:
    return isinstance(event, Replied) and (not event.calls or event.calls[-1].answer is None)
