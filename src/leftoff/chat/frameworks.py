"""How the agents of common frameworks are called, and how text and token usage are read from what they return.

No framework is imported: objects and answers are recognised by their attributes. An agent that keeps its own history is just
called; one that keeps none receives the conversation with every call. An answer that is not recognised becomes its ``str``.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Protocol

from leftoff.chat.conversation import Reply
from leftoff.chat.page import NO_TOKENS, Tokens
from leftoff.errors import UsageError
from leftoff.platform import clock

_METHODS = ("run", "invoke", "chat", "ask", "arun", "ainvoke", "stream", "astream")
# Fields that may hold the text of an answer, most specific first.
_TEXT_FIELDS = (
    "final_output",
    "output",
    "output_text",
    "content",
    "text",
    "answer",
    "response",
    "result",
    "message",
    "data",
)
_USAGE_FIELDS = ("usage", "usage_metadata", "token_usage", "usageMetadata")
_INPUT = ("input_tokens", "prompt_tokens", "inputTokens", "request_tokens", "promptTokenCount")
_OUTPUT = ("output_tokens", "completion_tokens", "outputTokens", "response_tokens", "candidatesTokenCount")
# Part of the prompt that is not included in its count; counts that are included have other names (``…_details``).
_CACHED = ("cache_read_input_tokens", "cache_creation_input_tokens")
_MAX_DEPTH = 8


class AgentCaller(Protocol):
    """One way to call an agent."""

    def call(self, prompt: str) -> Any:
        """Start the answer: return a result, an awaitable or a stream."""
        ...

    def read_result(self, result: Any) -> Any:
        """Return the complete result in readable form, and remember the history if the agent does not."""
        ...

    def clear_history(self) -> bool:
        """Drop the history kept here; return False if the agent keeps it itself."""
        ...


def caller_for(agent: Any) -> AgentCaller:
    """Return how to call ``agent``. Raise UsageError if it cannot be called."""
    if (runner := _find_runner(agent)) is not None:
        return _RunnerCaller(agent, runner)
    if _has_parameter(getattr(agent, "run", None), "message_history"):
        return _MessageHistoryCaller(agent)
    if callable(getattr(agent, "invoke", None)) and hasattr(agent, "get_graph"):
        return _GraphCaller(agent)
    call = _find_call(agent)
    if call is None:
        raise UsageError(
            f"{type(agent).__name__}: not an agent that leftoff can talk to. It must be callable, or have one of: "
            f"stream_async, {', '.join(_METHODS[:4])}."
        )
    return _PlainCaller(call)


def _find_call(agent: Any) -> Callable[[str], Any] | None:
    streaming = getattr(agent, "stream_async", None)
    if callable(streaming):
        _silence_printing(agent)
        return streaming  # type: ignore[no-any-return]
    if callable(agent):
        return agent  # type: ignore[no-any-return]
    methods = (getattr(agent, name, None) for name in _METHODS)
    return next(filter(callable, methods), None)


def _silence_printing(agent: Any) -> None:
    """Stop an agent from printing what it streams, which would show every word twice."""
    if type(getattr(agent, "callback_handler", None)).__name__ == "PrintingCallbackHandler":
        agent.callback_handler = lambda **_: None


class _PlainCaller:
    """For an agent that keeps its own history, or none at all."""

    def __init__(self, call: Callable[[str], Any]) -> None:
        self._call = call

    def call(self, prompt: str) -> Any:
        return self._call(prompt)

    def read_result(self, result: Any) -> Any:
        return result

    def clear_history(self) -> bool:
        return False


class _MessageHistoryCaller:
    """For ``run(prompt, message_history=…)``, as in pydantic-ai."""

    def __init__(self, agent: Any) -> None:
        self._agent = agent
        self._history: Any = None

    def call(self, prompt: str) -> Any:
        return self._agent.run(prompt, message_history=self._history)

    def read_result(self, result: Any) -> Any:
        if callable(messages := getattr(result, "all_messages", None)):
            self._history = messages()
        return result

    def clear_history(self) -> bool:
        self._history = None
        return True


class _RunnerCaller:
    """For ``Runner.run(agent, items)``, as in openai-agents."""

    def __init__(self, agent: Any, runner: Any) -> None:
        self._agent = agent
        self._runner = runner
        self._items: list[Any] = []

    def call(self, prompt: str) -> Any:
        return self._runner.run(self._agent, [*self._items, {"role": "user", "content": prompt}])

    def read_result(self, result: Any) -> Any:
        if callable(items := getattr(result, "to_input_list", None)):
            self._items = items()
        return result

    def clear_history(self) -> bool:
        self._items = []
        return True


class _GraphCaller:
    """For ``invoke`` of a graph or chain, as in LangGraph and LangChain; a graph with a checkpointer gets a thread id."""

    def __init__(self, agent: Any) -> None:
        self._agent = agent
        self._is_graph = "messages" in (getattr(agent, "channels", None) or ())
        self._remembers = getattr(agent, "checkpointer", None) not in (None, False)
        self._messages: list[Any] = []
        self._sent = 0
        self._prompt = ""
        self._thread = clock.uuid4()

    def call(self, prompt: str) -> Any:
        self._prompt = prompt
        messages = [*self._messages, ("human", prompt)]
        self._sent = len(messages)
        given = {"messages": messages} if self._is_graph else messages
        if not self._remembers:
            return self._agent.invoke(given)
        return self._agent.invoke(given, {"configurable": {"thread_id": self._thread}})

    def read_result(self, result: Any) -> Any:
        """Return the reply of this turn: each new message reports its own usage, the last one has the text."""
        messages = get_field(result, "messages")
        if not isinstance(messages, list):
            self._messages += [("human", self._prompt), ("ai", extract_text(result) or "")]
            return result
        new = messages[self._sent :] if not self._remembers else _since_last_question(messages)
        if not self._remembers:
            self._messages = messages
        reports = [tokens for each in new if (tokens := extract_tokens(each)) is not None]
        return Reply(
            text=extract_text(messages[-1]) if messages else None,
            tokens=sum(reports, NO_TOKENS) if reports else None,
            used_tokens=reports[-1].total if reports else None,
            model=extract_model(messages[-1]) if messages else None,
        )

    def clear_history(self) -> bool:
        self._messages, self._thread = [], clock.uuid4()
        return True


def _since_last_question(messages: list[Any]) -> list[Any]:
    kinds = [get_field(each, "type") for each in messages]
    return messages[len(kinds) - kinds[::-1].index("human") :] if "human" in kinds else messages


def _find_runner(agent: Any) -> Any:
    """Return the ``Runner`` of the agent's framework, for agents that cannot run by themselves; else None."""
    if not (hasattr(agent, "handoffs") and hasattr(agent, "instructions")):
        return None
    return getattr(sys.modules.get(type(agent).__module__.partition(".")[0]), "Runner", None)


def _has_parameter(function: Any, parameter: str) -> bool:
    try:
        return callable(function) and parameter in inspect.signature(function).parameters
    except (ValueError, TypeError):  # built in C, without a signature
        return False


def extract_text(result: Any, depth: int = 0) -> str | None:
    """Return the text of an answer; None if it has none."""
    if result is None or depth > _MAX_DEPTH:
        return None
    if isinstance(result, str):
        return result or None
    if isinstance(result, bytes | bytearray):
        return bytes(result).decode("utf-8", "replace") or None
    if isinstance(result, list | tuple):
        return "".join(filter(None, (_block_text(each, depth + 1) for each in result))) or None
    if isinstance(result, bool | int | float):
        return str(result)
    return _text_in_fields(result, depth) or _text_of_str(result)


def _text_in_fields(result: Any, depth: int) -> str | None:
    """Return the text in the fields of a mapping or object: choices and messages first, the last message counts."""
    choices = get_field(result, "choices")
    if isinstance(choices, list | tuple) and choices:
        return extract_text(get_field(choices[0], "message") or choices[0], depth + 1)
    messages = get_field(result, "messages")
    if isinstance(messages, list | tuple) and messages:
        return extract_text(messages[-1], depth + 1)
    for name in _TEXT_FIELDS:
        value = get_field(result, name)
        if value is not None and not callable(value) and (text := extract_text(value, depth + 1)):
            return text
    return None


def _block_text(part: Any, depth: int) -> str | None:
    """Return the text of one content block; tool calls, thoughts and images have none."""
    if isinstance(part, str):
        return part
    kind = get_field(part, "type")
    if isinstance(kind, str) and kind not in {"text", "output_text", "message"}:
        return None
    text = get_field(part, "text")
    return text if isinstance(text, str) else extract_text(get_field(part, "content"), depth + 1)


def _text_of_str(result: Any) -> str | None:
    """Return the object's ``str``, unless that is the default representation."""
    if isinstance(result, Mapping):
        return None
    words = str(result)
    return words if words and words != object.__repr__(result) else None


def extract_tokens(result: Any) -> Tokens | None:
    """Return the token usage that an answer reports; None if it reports none."""
    for usage in _usage_reports(result):
        input_tokens, output_tokens = _first_count(usage, _INPUT), _first_count(usage, _OUTPUT)
        if input_tokens is not None and output_tokens is not None and input_tokens + output_tokens > 0:
            cached = sum(_first_count(usage, (name,)) or 0 for name in _CACHED)
            return Tokens(input_tokens=input_tokens + cached, output_tokens=output_tokens)
    return None


def _usage_reports(result: Any) -> Iterable[Any]:
    """Yield the places where usage may be reported: the result, the last invocation, the metadata."""
    for name in _USAGE_FIELDS:
        yield _call_if_callable(get_field(result, name))
    invocations = get_field(get_field(result, "metrics"), "agent_invocations")
    if isinstance(invocations, list) and invocations:
        yield get_field(invocations[-1], "usage")
    yield get_field(get_field(result, "context_wrapper"), "usage")
    for inner in ("response_metadata", "metadata"):
        for name in _USAGE_FIELDS:
            yield get_field(get_field(result, inner), name)


def extract_model(result: Any) -> str | None:
    """Return the model that an answer names; None if it names none."""
    for holder in (result, get_field(result, "response_metadata")):
        for name in ("model", "model_name", "model_id"):
            value = get_field(holder, name)
            if isinstance(value, str) and value:
                return value
    return None


def extract_piece(event: Any) -> str | None:
    """Return the text that one event of a stream adds to the answer; None if it adds none."""
    if isinstance(event, str | bytes):
        return extract_text(event)
    for name in ("data", "delta", "chunk", "token", "text", "content"):
        value = get_field(event, name)
        if isinstance(value, str):
            return value
        if isinstance(value, list):
            return extract_text(value)
        if value is not None and isinstance(
            inner := get_field(value, "text") or get_field(value, "content"), str
        ):
            return inner
    return None


def extract_result(event: Any) -> Any:
    """Return the complete result that the last event of a stream may carry; None if it carries none."""
    return get_field(event, "result") if not isinstance(event, str | bytes) else None


def get_field(holder: Any, name: str) -> Any:
    """Return a key of a mapping or an attribute of an object; None if it is missing or raises."""
    if holder is None:
        return None
    if isinstance(holder, Mapping):
        return holder.get(name)
    try:
        return getattr(holder, name, None)
    except Exception:  # noqa: BLE001 - a property of a foreign class can raise anything
        return None


def _call_if_callable(value: Any) -> Any:
    if not callable(value):
        return value
    try:
        return value()
    except Exception:  # noqa: BLE001 - foreign code
        return None


def _first_count(usage: Any, names: Iterable[str]) -> int | None:
    for name in names:
        value = get_field(usage, name)
        if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
            return value
    return None
