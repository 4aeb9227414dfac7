"""Agents of every shape: called, read, stopped, reset."""

import asyncio
import sys
import threading
import time
from dataclasses import dataclass, field
from types import ModuleType, SimpleNamespace

import pytest

from leftoff.chat import frameworks
from leftoff.chat.drivers import wrap_agent
from leftoff.chat.page import Tokens
from leftoff.chat.python_agent import PythonAgent
from leftoff.errors import PluginError, ProcessError, UsageError


def driven(agent, **options):
    return PythonAgent(agent, name="A", path="a", **options)


def ask(agent, prompt="hi", seconds=30):
    pieces = []
    reply = driven(agent).ask(prompt, on_text=pieces.append, timeout_seconds=seconds)
    return reply, pieces


def plain(prompt):
    return f"plain {prompt}"


async def coroutine(prompt):
    await asyncio.sleep(0)
    return f"awaited {prompt}"


def generator(prompt):
    yield "piece "
    yield {"data": "by "}
    yield SimpleNamespace(delta="piece")


async def async_generator(prompt):
    yield "one "
    yield {"data": "two"}
    yield {"result": SimpleNamespace(message={"role": "assistant", "content": [{"text": "one two"}]})}


class Callable:
    def __call__(self, prompt):
        return f"called {prompt}"


class Runs:
    def run(self, prompt):
        return {"output": f"ran {prompt}"}


class Invokes:
    async def invoke(self, prompt):
        return SimpleNamespace(content=f"invoked {prompt}")


class Streams:
    async def stream_async(self, prompt):
        yield {"init": True}
        yield {"data": "streamed "}
        yield {"data": prompt}


@pytest.mark.parametrize(
    ("agent", "text", "pieces"),
    [
        (plain, "plain hi", []),
        (coroutine, "awaited hi", []),
        (generator, "piece by piece", ["piece ", "by ", "piece"]),
        (async_generator, "one two", ["one ", "two"]),
        (Callable(), "called hi", []),
        (Runs(), "ran hi", []),
        (Invokes(), "invoked hi", []),
        (Streams(), "streamed hi", ["streamed ", "hi"]),
        (lambda prompt: iter(["a", "b"]), "ab", ["a", "b"]),
        (lambda prompt: None, None, []),
        (lambda prompt: "", None, []),
        (lambda prompt: b"caf\xc3\xa9 \xff", "café \ufffd", []),
    ],
    ids=[
        "function",
        "coroutine",
        "generator",
        "async generator",
        "__call__",
        "run",
        "invoke",
        "stream_async",
        "iterator",
        "nothing",
        "empty",
        "bytes",
    ],
)
def test_plain_awaited_and_streamed_answers_are_read(agent, text, pieces):
    """Streamed pieces are passed on as they come."""
    reply, on_text = ask(agent)
    assert (reply.text, on_text) == (text, pieces)


@dataclass
class Usage:
    input_tokens: int = 5
    output_tokens: int = 7


MESSAGE = SimpleNamespace(
    content="words", usage_metadata={"input_tokens": 5, "output_tokens": 7, "total_tokens": 12}
)
SHAPES = {
    "pydantic-ai": SimpleNamespace(output="words", usage=Usage()),
    "pydantic-ai before": SimpleNamespace(
        output="words", usage=lambda: SimpleNamespace(request_tokens=5, response_tokens=7)
    ),
    "openai-agents": SimpleNamespace(final_output="words", context_wrapper=SimpleNamespace(usage=Usage())),
    "langchain": MESSAGE,
    "strands": SimpleNamespace(
        message={"role": "assistant", "content": [{"toolUse": {}}, {"text": "words"}]},
        metrics=SimpleNamespace(
            accumulated_usage={"inputTokens": 500, "outputTokens": 700},
            agent_invocations=[
                SimpleNamespace(usage={"inputTokens": 495, "outputTokens": 693}),
                SimpleNamespace(usage={"inputTokens": 5, "outputTokens": 7}),
            ],
        ),
    ),
    "openai": SimpleNamespace(
        choices=[SimpleNamespace(message=SimpleNamespace(content="words"))],
        usage={"prompt_tokens": 5, "completion_tokens": 7},
    ),
    "anthropic": SimpleNamespace(
        content=[SimpleNamespace(type="thinking", text="hm"), SimpleNamespace(type="text", text="words")],
        usage=SimpleNamespace(
            input_tokens=1, output_tokens=7, cache_read_input_tokens=3, cache_creation_input_tokens=1
        ),
    ),
    "a mapping": {
        "messages": [{"content": "old"}, {"content": [{"type": "text", "text": "words"}]}],
        "usage": {"input_tokens": 5, "output_tokens": 7},
    },
    "metadata": {
        "answer": "words",
        "response_metadata": {"token_usage": {"prompt_tokens": 5, "completion_tokens": 7}},
    },
}


@pytest.mark.parametrize("name", SHAPES)
def test_results_of_the_common_frameworks_are_read(name):
    """The text and the tokens of this answer alone are read from each framework's result."""
    assert frameworks.extract_text(SHAPES[name]) == "words"
    assert frameworks.extract_tokens(SHAPES[name]) == Tokens(input_tokens=5, output_tokens=7)


def test_unreported_tokens_are_none():
    """Missing token counts are ``None`` and never 0."""
    for silent in (
        "words",
        {"usage": {}},
        {"usage": {"input_tokens": 0, "output_tokens": 0}},
        {"usage": {"input_tokens": True}},
    ):
        assert frameworks.extract_tokens(silent) is None


def test_odd_results_do_no_harm():
    """Properties that raise, circular references, objects without text and numbers are all handled."""

    class Odd:
        @property
        def content(self):
            raise RuntimeError

        def usage(self):
            raise RuntimeError

    circle = {}
    circle["content"] = circle
    assert frameworks.extract_text(Odd()) is None
    assert frameworks.extract_tokens(Odd()) is None
    assert frameworks.extract_text(circle) is None
    assert frameworks.extract_text(42) == "42"
    assert frameworks.extract_text({"model_dump": 1}) is None
    assert frameworks.extract_text(ValueError("said")) == "said"
    assert frameworks.extract_piece({"delta": {"text": "x"}}) == "x"
    assert frameworks.extract_piece({"content": [{"type": "text", "text": "y"}]}) == "y"
    assert frameworks.extract_piece({"other": 1}) is None
    assert frameworks.extract_model({"response_metadata": {"model_name": "m"}}) == "m"


def test_a_stream_may_report_usage_in_an_event():
    def agent(prompt):
        yield "words"
        yield {"usage": {"input_tokens": 5, "output_tokens": 7}}

    reply, _ = ask(agent)
    assert (reply.text, reply.tokens) == ("words", Tokens(input_tokens=5, output_tokens=7))


@pytest.mark.parametrize("error", [ValueError("no"), SystemExit(3), KeyError("x")])
def test_an_exception_of_the_agent_is_reported(error):
    """Whatever the agent raises is reported, and the next query is answered."""

    def agent(prompt):
        if prompt == "fail":
            raise error
        return "fine"

    driver = driven(agent)
    with pytest.raises(PluginError, match=f"A failed: {type(error).__name__}"):
        driver.ask("fail", on_text=lambda _: None, timeout_seconds=30)
    assert driver.ask("again", on_text=lambda _: None, timeout_seconds=30).text == "fine"


async def sleeps_forever(prompt):
    await asyncio.sleep(3600)


async def streams_forever(prompt):
    while True:
        await asyncio.sleep(0.01)
        yield "more "


def yields_forever(prompt):
    while True:
        time.sleep(0.01)
        yield "more "


@pytest.mark.parametrize("agent", [sleeps_forever, streams_forever, yields_forever])
def test_an_agent_that_does_not_end_is_stopped_at_its_limit(agent):
    """A task is cancelled, a stream is closed, and the worker is free again."""
    driver = driven(agent)
    with pytest.raises(ProcessError, match=r"no answer within 0\.2 s"):
        driver.ask("x", on_text=lambda _: None, timeout_seconds=0.2)
    assert not driver.is_hanging


@pytest.fixture
def stubborn():
    """Plain code that waits for an event and nothing else."""
    gate = threading.Event()

    def agent(prompt):
        if prompt == "hang":
            gate.wait()
        return f"answered {prompt}"

    agent.gate = gate
    yield agent
    gate.set()


def test_an_agent_that_does_not_stop_is_replaced(stubborn):
    """A new one is created, and later output of the old one is ignored."""
    driver = driven(stubborn, create=lambda: plain)
    on_text = []
    with pytest.raises(ProcessError):
        driver.ask("hang", on_text=on_text.append, timeout_seconds=0.1)
    assert driver.is_hanging
    assert driver.ask("y", on_text=on_text.append, timeout_seconds=30).text == "plain y"
    assert driver.is_hanging, "the old one may still be at it"
    assert on_text == []


@pytest.mark.parametrize("create", [None, lambda: 1 / 0], ids=["no factory", "a factory that fails"])
def test_an_agent_that_does_not_stop_and_cannot_be_replaced_is_reported(stubborn, create):
    """The agent is asked again after the stopped answer has ended by itself."""
    driver = driven(stubborn, create=create)
    for words in ("no answer within", "still working on the answer that was stopped"):
        with pytest.raises(ProcessError, match=words):
            driver.ask("hang", on_text=lambda _: None, timeout_seconds=0.1)
    stubborn.gate.set()
    while driver.is_hanging:
        time.sleep(0.01)
    assert driver.ask("y", on_text=lambda _: None, timeout_seconds=30).text == "answered y"


class Hooked:
    def __init__(self):
        self.prompts = []

    def __call__(self, prompt):
        self.prompts.append(prompt)
        return str(len(self.prompts))

    def reset(self):
        self.prompts.clear()


@dataclass
class Listing:
    messages: list = field(default_factory=lambda: [{"role": "system", "content": "be kind"}])

    def run(self, prompt):
        self.messages.append({"role": "user", "content": prompt})
        return str(len(self.messages))


class NeedsMore(Listing):
    def reset(self, everything):
        raise AssertionError


class Stateful:
    def __init__(self):
        self._told = 0

    def __call__(self, prompt):
        self._told += 1
        return str(self._told)


class ByHistory:
    def run(self, prompt, message_history=None):
        history = [*(message_history or []), prompt]
        return SimpleNamespace(output=str(len(history)), all_messages=lambda: history)


@pytest.mark.parametrize(
    ("agent", "create", "how", "after"),
    [
        (Hooked(), None, "hook", "1"),
        (Stateful(), Stateful, "fresh", "1"),
        (Listing(), None, "cleared", "2"),
        (NeedsMore(), None, "cleared", "2"),
        (ByHistory(), None, "dropped", "1"),
        (Stateful(), None, "cannot", "3"),
        (Stateful(), lambda: 1 / 0, "cannot", "3"),
    ],
    ids=[
        "hook",
        "fresh",
        "list",
        "a hook that needs more",
        "carried by us",
        "cannot",
        "a factory that fails",
    ],
)
def test_a_reset_really_empties_the_history(agent, create, how, after):
    """A reset works by a method, a new object, its list or leftoff's history, or says that it failed."""
    driver = driven(agent, create=create)
    for _ in range(2):
        driver.ask("x", on_text=lambda _: None, timeout_seconds=30)
    assert driver.reset() == how
    assert driver.ask("y", on_text=lambda _: None, timeout_seconds=30).text == after


def test_an_object_that_cannot_be_called_is_refused():
    """The message lists what it could have."""
    with pytest.raises(UsageError, match="must be callable, or have one of: stream_async, run, invoke"):
        driven(object())


def test_a_wrapped_object_gets_a_name():
    """The name is the object's, its function's or its class's; a chat agent is returned unchanged."""
    assert wrap_agent(plain).name == "Plain"
    assert wrap_agent(SimpleNamespace(run=plain, name="Sally")).name == "Sally"
    assert wrap_agent(Hooked()).path.endswith(".Hooked")
    driver = driven(plain)
    assert wrap_agent(driver) is driver


class Graph:
    """Behaves like a compiled graph: it takes messages and returns all messages."""

    channels = ("messages",)

    def __init__(self, checkpointer=None):
        self.checkpointer = checkpointer
        self.kept = {}

    def get_graph(self):
        raise AssertionError

    def invoke(self, state, config=None):
        thread = config["configurable"]["thread_id"] if config else None
        human = [
            SimpleNamespace(type="human", content=each[1]) if isinstance(each, tuple) else each
            for each in state["messages"]
        ]
        messages = [*self.kept.get(thread, []), *human]
        answer = SimpleNamespace(
            type="ai",
            content=f"{len(messages)}",
            usage_metadata={"input_tokens": len(messages), "output_tokens": 1},
        )
        if thread:
            self.kept[thread] = [*messages, answer]
        return {"messages": [*messages, answer]}


@pytest.mark.parametrize(
    "graph", [Graph(), Graph(checkpointer=object())], ids=["without memory", "with memory"]
)
def test_a_graph_gets_the_history_or_a_thread_id(graph):
    """The tokens are those of this turn's messages."""
    driver = driven(graph)
    replies = [driver.ask("x", on_text=lambda _: None, timeout_seconds=30) for _ in range(2)]
    assert [(each.text, each.tokens.input_tokens, each.used_tokens) for each in replies] == [
        ("1", 1, 2),
        ("3", 3, 4),
    ]
    assert driver.reset() == "dropped"
    assert driver.ask("x", on_text=lambda _: None, timeout_seconds=30).text == "1"


def test_a_chat_model_gets_the_history():
    class Model:
        def get_graph(self):
            raise AssertionError

        def invoke(self, messages):
            return SimpleNamespace(content=str(len(messages)))

    driver = driven(Model())
    assert [driver.ask("x", on_text=lambda _: None, timeout_seconds=30).text for _ in range(2)] == ["1", "3"]


def test_an_agent_with_a_runner_is_run_by_it(monkeypatch):
    """leftoff keeps the conversation and passes it to the framework's runner."""

    class Handed:
        name, handoffs, instructions = "Sally", (), "be kind"

    class Runner:
        @staticmethod
        async def run(agent, items):
            answer = {"role": "assistant", "content": str(len(items))}
            return SimpleNamespace(final_output=answer["content"], to_input_list=lambda: [*items, answer])

    module = ModuleType("a_framework")
    module.Runner = Runner
    monkeypatch.setitem(sys.modules, "a_framework", module)
    Handed.__module__ = "a_framework.agent"
    driver = driven(Handed())
    assert [driver.ask("x", on_text=lambda _: None, timeout_seconds=30).text for _ in range(2)] == ["1", "3"]
    assert driver.reset() == "dropped"
    assert driver.ask("x", on_text=lambda _: None, timeout_seconds=30).text == "1"


def test_an_agent_does_not_print_what_it_streams(capsys):
    """Every word would appear twice."""

    class PrintingCallbackHandler:
        def __call__(self, **event):
            print(event)  # noqa: T201

    class Prints(Streams):
        callback_handler = PrintingCallbackHandler()

        async def stream_async(self, prompt):
            self.callback_handler(data="aloud")
            yield {"data": "once"}

    assert ask(Prints())[1] == ["once"]
    assert capsys.readouterr().out == ""
