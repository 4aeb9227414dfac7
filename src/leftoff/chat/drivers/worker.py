"""Runs foreign code in a thread of its own, so that it can be waited for with a limit, and left when it hangs.

The thread keeps one event loop for its whole life, because frameworks bind their connections to the loop they first see. What is
told to stop stops at its next step: a task is cancelled, a stream is closed. Plain code has no such step: it is left behind, and
whatever it says later is heard by nobody. (Raising an exception inside its thread would make a debugger or coverage spin for ever
where that thread waits in C; seen with Python 3.11.)
"""

from __future__ import annotations

import asyncio
import inspect
import queue
import threading
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from leftoff.chat.drivers import results
from leftoff.errors import PluginError, ProcessError
from leftoff.flows.chat_agent import Heard

_GRACE_SECONDS = 2.0
_DONE, _FAILED, _HEARD = "done", "failed", "heard"


class _StoppedError(Exception):
    """A stream that was told to stop."""


@dataclass(slots=True)
class _Job:
    begin: Callable[[], Any]
    news: queue.SimpleQueue[tuple[str, Any]] = field(default_factory=queue.SimpleQueue)
    task: asyncio.Task[Any] | None = None
    stopped: bool = False
    over: bool = False


class Worker:
    """One thread, one job at a time. A worker that was left behind is not used again."""

    def __init__(self) -> None:
        self._jobs: queue.SimpleQueue[_Job] = queue.SimpleQueue()
        self._loop = asyncio.new_event_loop()
        self._last: _Job | None = None
        threading.Thread(target=self._work, name="leftoff-agent", daemon=True).start()

    @property
    def is_left_behind(self) -> bool:
        """Whether the last job was told to stop and still has not."""
        return self._last is not None and self._last.stopped and not self._last.over

    def run(self, begin: Callable[[], Any], heard: Heard, timeout_seconds: float | None, *, who: str) -> Any:
        """What ``begin`` returns, awaited or streamed to its end. KeyboardInterrupt and time-outs stop it first."""
        job = self._last = _Job(begin)
        self._jobs.put(job)
        deadline = None if timeout_seconds is None else time.monotonic() + timeout_seconds
        try:
            while True:
                kind, value = job.news.get(
                    timeout=None if deadline is None else max(0, deadline - time.monotonic())
                )
                if kind == _DONE:
                    return value
                if kind == _FAILED:
                    raise PluginError(f"{who} failed: {type(value).__name__}: {value}") from value
                heard(value)
        except queue.Empty:
            self._stop(job)
            raise ProcessError(f"{who}: no answer within {timeout_seconds:g} s; it was stopped.") from None
        except (
            KeyboardInterrupt,
            SystemExit,
            OSError,
        ):  # nobody waits for it, or nobody can hear it any more
            self._stop(job)
            raise

    def _stop(self, job: _Job) -> None:
        """Tell the job to end, and wait a little for it."""
        job.stopped = True
        if (task := job.task) is not None:
            self._loop.call_soon_threadsafe(task.cancel)
        deadline = time.monotonic() + _GRACE_SECONDS
        while not job.over and time.monotonic() < deadline:
            time.sleep(0.01)

    def _work(self) -> None:
        asyncio.set_event_loop(self._loop)
        while True:
            self._do(self._jobs.get())

    def _do(self, job: _Job) -> None:
        try:
            news = (_DONE, self._ended(job, job.begin()))
        except BaseException as error:  # noqa: BLE001 - foreign code may raise anything, even SystemExit; it must not take us along
            news = (_FAILED, error)
        job.over = True
        job.news.put(news)

    def _ended(self, job: _Job, value: Any) -> Any:
        """The value behind a coroutine or a stream; pieces of a stream are told as they come."""
        if inspect.isawaitable(value):
            return self._ended(job, self._awaited(job, _of(value)))
        if hasattr(value, "__anext__"):
            return self._awaited(job, _stream(job, value))
        if inspect.isgenerator(value) or (isinstance(value, Iterator) and not isinstance(value, str | bytes)):
            stream = _Stream()
            for event in value:
                _tell(job, stream.step(event))
            return stream.end()
        return value

    def _awaited(self, job: _Job, coroutine: Any) -> Any:
        job.task = self._loop.create_task(coroutine)
        try:
            return self._loop.run_until_complete(job.task)
        finally:
            job.task = None


async def _of(value: Awaitable[Any]) -> Any:
    return await value


async def _stream(job: _Job, events: AsyncIterator[Any]) -> Any:
    stream = _Stream()
    async for event in events:
        _tell(job, stream.step(event))
    return stream.end()


class _Stream:
    """A stream as it is read: what was said, and the result that the end of it may carry."""

    def __init__(self) -> None:
        self._pieces: list[str] = []
        self._result: Any = None
        self._usage: Any = None

    def step(self, event: Any) -> str | None:
        """The piece of text in an event."""
        if (result := results.end_of(event)) is not None:
            self._result = result
            return None
        if results.tokens_of(event) is not None:
            self._usage = event
        piece = results.piece_of(event)
        if piece:
            self._pieces.append(piece)
        return piece

    def end(self) -> Any:
        """The result; without one, the pieces together with the usage that an event told."""
        if self._result is not None:
            return self._result
        text = "".join(self._pieces)
        return (
            text
            if self._usage is None
            else {"text": text, "usage": results.field(self._usage, "usage") or self._usage}
        )


def _tell(job: _Job, piece: str | None) -> None:
    if job.stopped:
        raise _StoppedError
    if piece:
        job.news.put((_HEARD, piece))
