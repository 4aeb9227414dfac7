"""How each kind of agent is called, and who carries its history: known by what an object can do, never by importing a framework.

An agent that keeps its own history is just called. One that keeps none is handed what was said so far with every call,
and then forgetting is ours to do.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from typing import Any, Protocol

from leftoff.chat.drivers import results
from leftoff.conversations.values import NO_TOKENS
from leftoff.errors import UsageError
from leftoff.flows.chat_agent import Reply
from leftoff.system import ids

_METHODS = ("run", "invoke", "chat", "ask", "arun", "ainvoke", "stream", "astream")


class Shape(Protocol):
    """One way to call."""

    def call(self, prompt: str) -> Any:
        """Begin the answer: a result, something to await, or a stream of either kind."""
        ...

    def taken(self, result: Any) -> Any:
        """The result as it is to be read, once it is complete; what has to be carried is remembered."""
        ...

    def forget(self) -> bool:
        """Drop what is carried; False when nothing is, because the agent keeps it itself."""
        ...


def shape_of(agent: Any) -> Shape:
    """The way to call ``agent``; UsageError when it offers none."""
    if (runner := _runner(agent)) is not None:
        return _ByRunner(agent, runner)
    if _takes(getattr(agent, "run", None), "message_history"):
        return _ByMessageHistory(agent)
    if callable(getattr(agent, "invoke", None)) and hasattr(agent, "get_graph"):
        return _ByMessages(agent)
    call = _plain_call(agent)
    if call is None:
        raise UsageError(
            f"{type(agent).__name__}: this is no agent that can be talked to. It must be callable, or have one of: "
            f"stream_async, {', '.join(_METHODS[:4])}."
        )
    return _AsItIs(call)


def _plain_call(agent: Any) -> Callable[[str], Any] | None:
    streaming = getattr(agent, "stream_async", None)
    if callable(streaming):
        _quiet(agent)
        return streaming  # type: ignore[no-any-return]
    if callable(agent):
        return agent  # type: ignore[no-any-return]
    methods = (getattr(agent, name, None) for name in _METHODS)
    return next(filter(callable, methods), None)


def _quiet(agent: Any) -> None:
    """Some print what they stream, too: then every word would stand there twice."""
    if type(getattr(agent, "callback_handler", None)).__name__ == "PrintingCallbackHandler":
        agent.callback_handler = lambda **_: None


class _AsItIs:
    """An agent that keeps its own history, or none at all."""

    def __init__(self, call: Callable[[str], Any]) -> None:
        self._call = call

    def call(self, prompt: str) -> Any:
        return self._call(prompt)

    def taken(self, result: Any) -> Any:
        return result

    def forget(self) -> bool:
        return False


class _ByMessageHistory:
    """``run(prompt, message_history=…)``, as in pydantic-ai."""

    def __init__(self, agent: Any) -> None:
        self._agent = agent
        self._history: Any = None

    def call(self, prompt: str) -> Any:
        return self._agent.run(prompt, message_history=self._history)

    def taken(self, result: Any) -> Any:
        if callable(messages := getattr(result, "all_messages", None)):
            self._history = messages()
        return result

    def forget(self) -> bool:
        self._history = None
        return True


class _ByRunner:
    """``Runner.run(agent, items)``, as in openai-agents."""

    def __init__(self, agent: Any, runner: Any) -> None:
        self._agent = agent
        self._runner = runner
        self._items: list[Any] = []

    def call(self, prompt: str) -> Any:
        return self._runner.run(self._agent, [*self._items, {"role": "user", "content": prompt}])

    def taken(self, result: Any) -> Any:
        if callable(items := getattr(result, "to_input_list", None)):
            self._items = items()
        return result

    def forget(self) -> bool:
        self._items = []
        return True


class _ByMessages:
    """``invoke`` of a graph or chain, as in LangGraph and LangChain; a graph that remembers by itself gets a thread instead."""

    def __init__(self, agent: Any) -> None:
        self._agent = agent
        self._is_graph = "messages" in (getattr(agent, "channels", None) or ())
        self._remembers = getattr(agent, "checkpointer", None) not in (None, False)
        self._messages: list[Any] = []
        self._sent = 0
        self._prompt = ""
        self._thread = ids.uuid4()

    def call(self, prompt: str) -> Any:
        self._prompt = prompt
        messages = [*self._messages, ("human", prompt)]
        self._sent = len(messages)
        given = {"messages": messages} if self._is_graph else messages
        if not self._remembers:
            return self._agent.invoke(given)
        return self._agent.invoke(given, {"configurable": {"thread_id": self._thread}})

    def taken(self, result: Any) -> Any:
        """The new messages of this turn: each reports its own usage, and the last one the answer."""
        messages = results.field(result, "messages")
        if not isinstance(messages, list):
            self._messages += [("human", self._prompt), ("ai", results.text_of(result) or "")]
            return result
        new = messages[self._sent :] if not self._remembers else _since_last_question(messages)
        if not self._remembers:
            self._messages = messages
        reports = [tokens for each in new if (tokens := results.tokens_of(each)) is not None]
        return Reply(
            text=results.text_of(messages[-1]) if messages else None,
            tokens=sum(reports, NO_TOKENS) if reports else None,
            used_tokens=reports[-1].total if reports else None,
            model=results.model_of(messages[-1]) if messages else None,
        )

    def forget(self) -> bool:
        self._messages, self._thread = [], ids.uuid4()
        return True


def _since_last_question(messages: list[Any]) -> list[Any]:
    kinds = [results.field(each, "type") for each in messages]
    return messages[len(kinds) - kinds[::-1].index("human") :] if "human" in kinds else messages


def _runner(agent: Any) -> Any:
    """The runner of the framework that an agent is of, where agents do not run by themselves."""
    if not (hasattr(agent, "handoffs") and hasattr(agent, "instructions")):
        return None
    return getattr(sys.modules.get(type(agent).__module__.partition(".")[0]), "Runner", None)


def _takes(function: Any, parameter: str) -> bool:
    try:
        return callable(function) and parameter in inspect.signature(function).parameters
    except (ValueError, TypeError):  # built in C, without a signature
        return False
