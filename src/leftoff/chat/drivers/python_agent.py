"""An agent that is a Python object, of whatever framework: called in a thread of its own, reset for real where that is possible."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from leftoff.chat.drivers import results
from leftoff.chat.drivers.shapes import Shape, shape_of
from leftoff.chat.drivers.worker import Worker
from leftoff.errors import LeftoffError, ProcessError
from leftoff.flows.chat_agent import Heard, Reply, Reset

_HOOKS = ("reset_history", "clear_history", "reset_conversation", "new_conversation", "reset")
_LISTS = ("messages", "history", "chat_history", "conversation_history")
_RESET_SECONDS = 30.0


class PythonAgent:
    """Drives one object. ``make`` gives a fresh one; without it an agent that keeps its history may not be resettable."""

    def __init__(self, agent: Any, *, name: str, path: str, make: Callable[[], Any] | None = None) -> None:
        self.name = name
        self.path = path
        self._make = make
        self._agent = agent
        self._shape: Shape = shape_of(agent)
        self._worker = Worker()
        self._was_left = False

    @property
    def is_hanging(self) -> bool:
        """Whether code of the agent may still run that would not stop."""
        return self._worker.is_left_behind or self._was_left

    def ask(self, prompt: str, *, heard: Heard, timeout_seconds: float | None) -> Reply:
        """Call it with the prompt; what it returns is read, whatever that is."""
        self._leave_hanging()
        shape = self._shape
        result = self._worker.run(lambda: shape.call(prompt), heard, timeout_seconds, who=self.name)
        read = shape.taken(result)
        if isinstance(read, Reply):
            return read
        tokens = results.tokens_of(read)
        used = results.field(read, "context_size")
        last = used + tokens.output_tokens if isinstance(used, int) and tokens else None
        return Reply(
            text=results.text_of(read), tokens=tokens, used_tokens=last, model=results.model_of(read)
        )

    def reset(self) -> Reset:
        """A hook of its own, what we carry, a fresh instance, its list of messages: the first that works."""
        if self._call_hook():
            return "hook"
        if self._shape.forget():
            return "dropped"
        if self._replace():
            return "fresh"
        return "cleared" if self._clear_list() else "cannot"

    def _call_hook(self) -> bool:
        hook = next(filter(callable, (getattr(self._agent, name, None) for name in _HOOKS)), None)
        if hook is None:
            return False
        try:
            self._worker.run(hook, lambda _: None, _RESET_SECONDS, who=self.name)
        except LeftoffError:  # a reset that needs arguments, or means something else
            return False
        return True

    def _clear_list(self) -> bool:
        """Its own list of messages, but for what the system said at its beginning."""
        for name in _LISTS:
            messages = getattr(self._agent, name, None)
            if isinstance(messages, list):
                messages[:] = [each for each in messages if results.field(each, "role") == "system"]
                return True
        return False

    def _replace(self) -> bool:
        if self._make is None:
            return False
        try:
            agent = self._worker.run(self._make, lambda _: None, _RESET_SECONDS, who=self.name)
            self._shape = shape_of(agent)
        except LeftoffError:
            return False
        self._agent = agent
        return True

    def _leave_hanging(self) -> None:
        """Go on beside an answer that would not stop, with a fresh agent: the old one cannot be asked while it is at work."""
        if not self._worker.is_left_behind:
            return
        hanging, self._worker = self._worker, Worker()
        if not self._replace():
            self._worker = hanging
            raise ProcessError(
                f"{self.name} is still at work on the answer that was stopped. Wait for it, or start anew."
            )
        self._was_left = True
