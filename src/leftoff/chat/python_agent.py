"""A Python object as chat agent, called in its own thread so that it can be given a time limit and left if it hangs.

The thread keeps one event loop for its whole life, because frameworks bind their connections to the first loop they see. A job
that is stopped ends at its next step: its task is cancelled, its stream is closed. Plain code has no such step: the thread is
abandoned, and its later output is ignored. (Raising an exception inside the thread would make a debugger or coverage
spin forever if that thread waits in C; seen with Python 3.11.)
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

from leftoff.chat import frameworks
from leftoff.chat.conversation import OnText, Reply, Reset
from leftoff.chat.frameworks import AgentCaller, caller_for
from leftoff.errors import LeftoffError, PluginError, ProcessError

_RESET_METHODS = ("reset_history", "clear_history", "reset_conversation", "new_conversation", "reset")
_MESSAGE_LISTS = ("messages", "history", "chat_history", "conversation_history")
_RESET_SECONDS = 30.0
_GRACE_SECONDS = 2.0
_DONE, _FAILED, _TEXT = "done", "failed", "text"


class PythonAgent:
    """Calls one object. ``create`` returns a new one; without it, an agent may have no way to reset its history."""

    def __init__(self, agent: Any, *, name: str, path: str, create: Callable[[], Any] | None = None) -> None:
        self.name = name
        self.path = path
        self._create = create
        self._agent = agent
        self._caller: AgentCaller = caller_for(agent)
        self._worker = Worker()
        self._abandoned_a_worker = False

    @property
    def is_hanging(self) -> bool:
        """Whether code of the agent may still be running that did not stop."""
        return self._worker.is_stuck or self._abandoned_a_worker

    def ask(self, prompt: str, *, on_text: OnText, timeout_seconds: float | None) -> Reply:
        """Call the object with the prompt and read its result."""
        self._replace_if_stuck()
        caller = self._caller
        result = self._worker.run(lambda: caller.call(prompt), on_text, timeout_seconds, agent_name=self.name)
        read = caller.read_result(result)
        if isinstance(read, Reply):
            return read
        tokens = frameworks.extract_tokens(read)
        used = frameworks.get_field(read, "context_size")
        last = used + tokens.output_tokens if isinstance(used, int) and tokens else None
        return Reply(
            text=frameworks.extract_text(read),
            tokens=tokens,
            used_tokens=last,
            model=frameworks.extract_model(read),
        )

    def reset(self) -> Reset:
        """Use the first of these that works: a reset method, the history kept here, a new object, its message list."""
        if self._call_reset_method():
            return "hook"
        if self._caller.clear_history():
            return "dropped"
        if self._recreate_agent():
            return "fresh"
        return "cleared" if self._clear_messages() else "cannot"

    def _call_reset_method(self) -> bool:
        hook = next(filter(callable, (getattr(self._agent, name, None) for name in _RESET_METHODS)), None)
        if hook is None:
            return False
        try:
            self._worker.run(hook, lambda _: None, _RESET_SECONDS, agent_name=self.name)
        except LeftoffError:  # a reset that needs arguments, or means something else
            return False
        return True

    def _clear_messages(self) -> bool:
        """Empty the object's list of messages, except for system messages."""
        for name in _MESSAGE_LISTS:
            messages = getattr(self._agent, name, None)
            if isinstance(messages, list):
                messages[:] = [each for each in messages if frameworks.get_field(each, "role") == "system"]
                return True
        return False

    def _recreate_agent(self) -> bool:
        if self._create is None:
            return False
        try:
            agent = self._worker.run(self._create, lambda _: None, _RESET_SECONDS, agent_name=self.name)
            self._caller = caller_for(agent)
        except LeftoffError:
            return False
        self._agent = agent
        return True

    def _replace_if_stuck(self) -> None:
        """Switch to a new object and thread if the last call did not stop: the old one is still busy."""
        if not self._worker.is_stuck:
            return
        hanging, self._worker = self._worker, Worker()
        if not self._recreate_agent():
            self._worker = hanging
            raise ProcessError(
                f"{self.name} is still working on the answer that was stopped. Wait for it, or start again."
            )
        self._abandoned_a_worker = True


class _StoppedError(Exception):
    """A stream that was asked to stop."""


@dataclass(slots=True)
class _Job:
    begin: Callable[[], Any]
    events: queue.SimpleQueue[tuple[str, Any]] = field(default_factory=queue.SimpleQueue)
    task: asyncio.Task[Any] | None = None
    stop_requested: bool = False
    is_finished: bool = False


class Worker:
    """One thread that runs one job at a time. A worker that is stuck is not used again."""

    def __init__(self) -> None:
        self._jobs: queue.SimpleQueue[_Job] = queue.SimpleQueue()
        self._loop = asyncio.new_event_loop()
        self._last: _Job | None = None
        threading.Thread(target=self._run_jobs, name="leftoff-agent", daemon=True).start()

    @property
    def is_stuck(self) -> bool:
        """Whether the last job was asked to stop and is still running."""
        return self._last is not None and self._last.stop_requested and not self._last.is_finished

    def run(
        self, begin: Callable[[], Any], on_text: OnText, timeout_seconds: float | None, *, agent_name: str
    ) -> Any:
        """Return the result of ``begin``, awaited or streamed to its end. Ctrl-C and time-outs stop it first."""
        job = self._last = _Job(begin)
        self._jobs.put(job)
        deadline = None if timeout_seconds is None else time.monotonic() + timeout_seconds
        try:
            while True:
                kind, value = job.events.get(
                    timeout=None if deadline is None else max(0, deadline - time.monotonic())
                )
                if kind == _DONE:
                    return value
                if kind == _FAILED:
                    raise PluginError(f"{agent_name} failed: {type(value).__name__}: {value}") from value
                on_text(value)
        except queue.Empty:
            self._stop(job)
            raise ProcessError(
                f"{agent_name}: no answer within {timeout_seconds:g} s; it was stopped."
            ) from None
        except (KeyboardInterrupt, SystemExit, OSError):  # the user or the output is gone
            self._stop(job)
            raise

    def _stop(self, job: _Job) -> None:
        """Ask the job to end, and wait a little for it."""
        job.stop_requested = True
        if (task := job.task) is not None:
            self._loop.call_soon_threadsafe(task.cancel)
        deadline = time.monotonic() + _GRACE_SECONDS
        while not job.is_finished and time.monotonic() < deadline:
            time.sleep(0.01)

    def _run_jobs(self) -> None:
        asyncio.set_event_loop(self._loop)
        while True:
            self._run_job(self._jobs.get())

    def _run_job(self, job: _Job) -> None:
        try:
            events = (_DONE, self._resolve(job, job.begin()))
        except BaseException as error:  # noqa: BLE001 - foreign code may raise anything, even SystemExit
            events = (_FAILED, error)
        job.is_finished = True
        job.events.put(events)

    def _resolve(self, job: _Job, value: Any) -> Any:
        """Return the value of an awaitable or a stream, reporting the pieces of a stream as they come."""
        if inspect.isawaitable(value):
            return self._resolve(job, self._run_task(job, _await(value)))
        if hasattr(value, "__anext__"):
            return self._run_task(job, _stream(job, value))
        if inspect.isgenerator(value) or (isinstance(value, Iterator) and not isinstance(value, str | bytes)):
            stream = _Stream()
            for event in value:
                _report(job, stream.step(event))
            return stream.end()
        return value

    def _run_task(self, job: _Job, coroutine: Any) -> Any:
        job.task = self._loop.create_task(coroutine)
        try:
            return self._loop.run_until_complete(job.task)
        finally:
            job.task = None


async def _await(value: Awaitable[Any]) -> Any:
    return await value


async def _stream(job: _Job, events: AsyncIterator[Any]) -> Any:
    stream = _Stream()
    async for event in events:
        _report(job, stream.step(event))
    return stream.end()


class _Stream:
    """Collects the text of a stream, and the result that its last event may carry."""

    def __init__(self) -> None:
        self._pieces: list[str] = []
        self._result: Any = None
        self._usage: Any = None

    def step(self, event: Any) -> str | None:
        """Return the piece of text in an event; None if it has none."""
        if (result := frameworks.extract_result(event)) is not None:
            self._result = result
            return None
        if frameworks.extract_tokens(event) is not None:
            self._usage = event
        piece = frameworks.extract_piece(event)
        if piece:
            self._pieces.append(piece)
        return piece

    def end(self) -> Any:
        """Return the result; without one, the collected text with the usage that an event reported."""
        if self._result is not None:
            return self._result
        text = "".join(self._pieces)
        return (
            text
            if self._usage is None
            else {"text": text, "usage": frameworks.get_field(self._usage, "usage") or self._usage}
        )


def _report(job: _Job, piece: str | None) -> None:
    if job.stop_requested:
        raise _StoppedError
    if piece:
        job.events.put((_TEXT, piece))
