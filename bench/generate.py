"""Realistic sessions of any size, from a seed: the same arguments give the same events every time.

Events are created while they are read and not kept, so a gigabyte takes no more memory than a megabyte. ``size_bytes`` is the
approximate size as a transcript: twice the text as UTF-8 (escapes, and the second copy that agents keep of tool results), plus
``ENVELOPE_BYTES`` per line (ids, timestamps, usage). A written transcript is between half and twice that. The last event exceeds
it, so sessions below about 30 KB come out larger; the smallest, a prompt and a reply, takes about 3 KB.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from random import Random
from string import ascii_letters, digits
from typing import Final
from uuid import UUID

from bench import generated_words as words
from bench.generated_project import MAX_ANSWER_CHARS, Mix, Toolbox, World, project_of
from leftoff.errors import InvalidValueError
from leftoff.testing import script
from leftoff.testing.script import Asked, Call, Compacted, DelegatedTask, Event, Replied, Script
from tests.support.token_gauge import Gauge, answered_chars, sent_chars

_BYTES_PER_FILE = 20_000  # a longer session works on more files, up to a code base of fair size
_BYTES_PER_LINE = 500  # and on longer ones
_MIN_FILES, _MAX_FILES = 4, 48


def generate(*, seed: int, size_bytes: int, options: Mix | None = None) -> Script:
    """Return a session that takes about ``size_bytes`` as a transcript."""
    if size_bytes < 1:
        raise InvalidValueError(f"A session takes at least one byte, not {size_bytes}.")
    rng = Random(f"{seed}/session")
    events = _Events(seed=seed, size_bytes=size_bytes, options=options or Mix())
    return Script(
        session_id=str(UUID(int=rng.getrandbits(128), version=4)),
        project=project_of(seed),
        branch=f"work/{rng.randrange(100, 999)}",
        model="sample-1",
        window_tokens=WINDOW_TOKENS,
        events=events,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Events:
    """Yields the same session each time it is iterated."""

    seed: int
    size_bytes: int
    options: Mix

    def __iter__(self) -> Iterator[Event]:
        size = self.size_bytes
        files = max(_MIN_FILES, min(_MAX_FILES, size // _BYTES_PER_FILE))
        world = World(self.seed, files=files, longest_lines=size // _BYTES_PER_LINE)
        rng = Random(f"{self.seed}/telling")
        return SessionWriter(world, rng, plan_facts(seed=self.seed), self.options, size_bytes=size).events()


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """Facts of one session. ``rules`` apply at its end, the last one since the second prompt."""

    rules: tuple[str, ...]
    superseded: str  # stated in the first prompt, taken back in the second
    secret: str  # printed once, by the second call; invented

    @property
    def reversal(self) -> str:
        """The second prompt: the last rule, which replaces the superseded one."""
        return self.rules[-1]


def plan_facts(*, seed: int) -> Plan:
    """Return the facts that ``generate`` puts into every session of this seed with at least two prompts and one reply."""
    rng = Random(f"{seed}/plan")
    first, second = rng.choice(words.REVERSALS)
    rules = (*rng.sample(words.RULES, k=3), second)
    # The shape of a real token, so that redaction must find it; put together here, so that no scanner does.
    secret = "_".join(("ghp", "".join(rng.choices(ascii_letters + digits, k=36))))
    return Plan(rules=rules, superseded=first, secret=secret)


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


class SessionWriter:
    """Yields the events of one session, once."""

    def __init__(self, world: World, rng: Random, plan: Plan, options: Mix, *, size_bytes: int) -> None:
        self._size_bytes = size_bytes
        self._world = world
        self._random = rng.random
        self._rng = rng
        self._plan = plan
        self._options = options
        # In a small session no single answer may be most of it, and texts are short.
        self._toolbox = Toolbox(world, rng, options, longest_answer=max(200, size_bytes // 10))
        self._most_sentences = max(1, size_bytes // 3_000)
        self._gauge = Gauge(
            base_tokens=_OVERHEAD_TOKENS, tokens_per_char=_TOKENS_PER_CHAR, ceiling_tokens=_CEILING_TOKENS
        )
        self._start = datetime(2026, 1, 5, 8, 30, tzinfo=UTC) + timedelta(minutes=rng.randrange(400_000))
        self._elapsed_ms = 0
        self._turn = 0

    def events(self) -> Iterator[Event]:
        """Yield events up to about the requested size, then the text that ends the turn."""
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
        """Yield what follows a prompt."""
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
            text = self._fill(words.PROMPTS_CJK)
        else:
            text = self._fill(words.PROMPTS)
            if self._random() < 0.1:
                pasted = "\n".join(self._lines(self._world.log, 1 + int(30 * self._random())))
                text = f"{text}\n\n```\n{pasted}\n```"
        self._gauge.add(len(text))
        return Asked(text=text, at=self._at(seconds=60 + 400 * self._random()))

    def _opening(self) -> str:
        rules = "\n".join(f"- {rule}" for rule in (*self._plan.rules[:-1], self._plan.superseded))
        task = self._fill(words.PROMPTS[:4])
        if self._options.cjk:
            task = f"{task}\n(日本語の質問も混ざります。)"
        return f"{task}\n\nGround rules for this repository:\n{rules}"

    def _look_around(self) -> Replied:
        """Return the first reply: it lists the files and prints a secret once."""
        names = "\n".join(self._world.paths)
        environment = f"ENVIRONMENT=local\nLOG_LEVEL=debug\nDEPLOY_TOKEN={self._plan.secret}\nWORKERS=4"
        calls = (
            script.list_folder(self._world.project, f"{names}\n{_ENVIRONMENT_FILE}"),
            script.shell(f"cat {_ENVIRONMENT_FILE}", environment),
        )
        return self._create_reply(self._gauge, calls, text="First a look at what is here.")

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
        return self._create_reply(self._gauge, tuple(calls), text=text)

    def _within_bounds(self, calls: list[Call]) -> list[Call]:
        """Return the calls whose results fit into the window together."""
        kept: list[Call] = []
        room = MAX_ANSWER_CHARS
        for call in calls:
            room -= answered_chars(call)
            if room < 0 and kept:
                break
            kept.append(call)
        return kept

    def _create_reply(self, gauge: Gauge, calls: tuple[Call, ...], *, text: str) -> Replied:
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
            return self._create_reply(self._gauge, (), text=self._fill(words.REPLIES_CJK))
        files = "\n".join(f"- `{path}`" for path in self._toolbox.paths)
        found = self._sentences(6)
        return self._create_reply(self._gauge, (), text=f"Done. What I changed:\n{files}\n\n{found}")

    def _delegation(self) -> DelegatedTask:
        gauge = Gauge(
            base_tokens=_SUBAGENT_OVERHEAD_TOKENS,
            tokens_per_char=_TOKENS_PER_CHAR,
            ceiling_tokens=_CEILING_TOKENS,
        )
        task = f"Find out, without changing anything: {self._fill(words.PROMPTS[:5])}"
        usage = self._gauge.reply(len(task))
        at = self._at(seconds=5)
        gauge.add(len(task))
        steps = tuple(self._step(gauge) for _ in range(2 + int(self._random() * 4)))
        answer = self._findings()
        self._gauge.add(len(answer))
        return DelegatedTask(task=task, steps=steps, answer=answer, at=at, usage=usage)

    def _step(self, gauge: Gauge) -> Replied:
        """Return a reply of a subagent, which is never interrupted."""
        return self._create_reply(gauge, (self._toolbox.look(),), text="")

    def _compaction(self) -> Compacted:
        """Return a compaction whose summary keeps the first rule only, as real ones lose the others."""
        files = "\n".join(f"- {path}" for path in self._toolbox.paths)
        found = self._findings()
        summary = (
            f"The user works on {self._world.package}. They said: {self._plan.rules[0]}\n\n"
            f"Files:\n{files}\n\nWhat was found:\n{found}\n\nNext: {self._fill(words.TASKS)}."
        )
        before = self._gauge.tokens
        after = _AFTER_COMPACTION_TOKENS + int(2_000 * self._random())
        self._gauge.compact(after)
        self._toolbox.forget()
        at = self._at(seconds=40)
        return Compacted(summary=summary, before_tokens=before, after_tokens=after, automatic=True, at=at)

    def _fill(self, templates: tuple[str, ...]) -> str:
        return self._world.fill(templates[int(self._random() * len(templates))], self._toolbox.some_file())

    def _sentences(self, most: int) -> str:
        """Return up to ``most`` sentences about current files."""
        count = 1 + int(self._random() * min(most, self._most_sentences))
        found = self._lines(self._toolbox.some_file().sentences, count)
        if len(found) < count:
            found = [*found, *self._lines(self._toolbox.some_file().sentences, count - len(found))]
        return " ".join(found)

    def _findings(self) -> str:
        """Return a long list, file by file, as in a subagent's answer or a summary."""
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


ENVELOPE_BYTES: Final = 900


def carried_bytes(event: Event) -> int:
    """Return about how many bytes of a transcript the event becomes."""
    text_bytes, lines = _text_and_lines(event)
    return 2 * text_bytes + lines * ENVELOPE_BYTES


def text_bytes(event: Event) -> int:
    """Return the size of the event's text as UTF-8, images as base64."""
    return _text_and_lines(event)[0]


def _text_and_lines(event: Event) -> tuple[int, int]:
    if isinstance(event, Replied):
        return _reply(event)
    if isinstance(event, Asked):
        return _utf8(event.text), 1
    if isinstance(event, Compacted):
        return _utf8(event.summary), 2
    return _delegation(event)


def _reply(event: Replied) -> tuple[int, int]:
    total = _utf8(event.text) + _utf8(event.thinking)
    lines = (1 if event.text else 0) + (1 if event.thinking else 0)
    for call in event.calls:
        total += sent_chars(call) + _utf8(call.answer or "") + len(call.image or b"") * 4 // 3
        lines += 1 if call.answer is None else 2
    return total, lines


def _delegation(event: DelegatedTask) -> tuple[int, int]:
    steps = [_reply(step) for step in event.steps]
    total = _utf8(event.task) + _utf8(event.answer) + sum(text for text, _ in steps)
    return total, 2 + sum(lines for _, lines in steps)


def _utf8(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode())
