"""What the user types becomes an agent: a file, a folder, a registered agent, an address."""

import json
import socket
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from leftoff.chat.drivers import HeadlessAgent, find_agent
from leftoff.chat.endpoint import Endpoint, parse_address
from leftoff.errors import NotFoundError, PluginError, ProcessError, UsageError
from tests.chat.terminal_session import SALLY


def written(text, name="my_agent.py"):
    path = Path(name)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return str(path)


def answer_of(agent, prompt="hi"):
    return agent.ask(prompt, on_text=lambda _: None, timeout_seconds=30).text


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("def agent(prompt): return 'by name'", "by name"),
        ("class A:\n    def run(self, p): return 'made'\nagent = A", "made"),
        ("def create_agent(): return lambda p: 'from a factory'", "from a factory"),
        ("def respond(p): return 'a function'\ndef helper(): pass", "a function"),
        (
            "import json\nclass A:\n    def run(self, p): return 'the only one'\nmine = A()\nDEPTH = 3",
            "the only one",
        ),
        ("def _hidden(): pass\ndef whatever(p): return 'the only function'", "the only function"),
        ("from neighbour import word\ndef agent(p): return word", "beside"),
    ],
)
def test_the_agent_in_a_file_is_found(text, answer):
    """The agent is found by its name, by a factory, or because it is the only one."""
    written("word = 'beside'", "neighbour.py")
    assert answer_of(find_agent(written(text))) == answer


def test_a_file_attribute_or_a_folder_may_be_named():
    """``agent.py:name`` names one of several agents, and a folder gives the agent its name."""
    path = written("def one(p): return '1'\ndef two(p): return '2'", "simple_sue/agent.py")
    assert answer_of(find_agent(f"{path}:two")) == "2"
    with pytest.raises(
        UsageError, match=r"which is the agent: one, two\? Name one: leftoff chat agent.py:one"
    ):
        find_agent("simple_sue")
    with pytest.raises(NotFoundError, match="called three"):
        find_agent(f"{path}:three")
    assert find_agent(f"{path}:two").name == "Simple Sue"
    assert find_agent(str(SALLY)).name == "Simple Sally"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("x = 1\nraise ValueError('no key')", r":2: could not be loaded: ValueError: no key"),
        ("import sys\nsys.exit(4)", r"could not be loaded: SystemExit: 4"),
        ("def agent(:", r"could not be loaded: SyntaxError"),
        ("def create_agent(): raise OSError('gone')", r"create_agent\(\) failed: OSError: gone"),
    ],
)
def test_a_file_that_cannot_be_loaded_says_where(text, words):
    """The error names the line of the agent file, whatever was raised there."""
    with pytest.raises(PluginError, match=words):
        find_agent(written(text))


def test_a_selector_without_an_agent_is_refused():
    """The error says whether the file, the agent in it or the name is wrong."""
    with pytest.raises(NotFoundError, match=r"no such agent file. One line makes one: def agent"):
        find_agent("missing.py")
    with pytest.raises(NotFoundError, match=r"no agent in it. Call it agent"):
        find_agent(written("x = 1"))
    with pytest.raises(UsageError, match=r"ends with .py"):
        find_agent(written("x", "agent.txt"))
    with pytest.raises(NotFoundError, match=r"no agent of that name. There are: "):
        find_agent("nobody")


def test_a_reset_runs_the_file_again():
    """This also resets a history in a global of the file."""
    agent = find_agent(
        written("prompts = []\ndef agent(p):\n    prompts.append(p)\n    return str(len(prompts))")
    )
    assert [answer_of(agent), answer_of(agent)] == ["1", "2"]
    assert agent.reset() == "fresh"
    assert answer_of(agent) == "1"


def test_a_headless_agent_receives_the_conversation():
    """Each run receives the whole conversation; after a reset, it receives none of it."""
    echo = (sys.executable, "-c", "import sys; sys.stdout.write(str(sys.stdin.read().count('banana')))")
    agent = HeadlessAgent(echo, name="Echo", path="echo")
    assert [answer_of(agent, "banana"), answer_of(agent, "banana"), answer_of(agent, "banana")] == [
        "1",
        "2",
        "3",
    ]
    assert agent.reset() == "dropped"
    assert answer_of(agent, "banana") == "1"
    assert agent.ask("banana", on_text=lambda _: None, timeout_seconds=30).tokens.estimated
    failing = HeadlessAgent((sys.executable, "-c", "import sys; sys.exit('no login')"), name="F", path="f")
    with pytest.raises(ProcessError, match="no login"):
        answer_of(failing)


def test_every_agent_that_can_run_headless_can_be_named():
    """An agent is named by its id, and its name is shown."""
    agent = find_agent("claude")
    assert isinstance(agent, HeadlessAgent)
    assert (agent.name, agent.path) == ("Claude Code", "claude")


OPENAI = [
    {"choices": [{"delta": {"role": "assistant", "content": ""}}]},
    {"choices": [{"delta": {"content": "one "}}]},
    {"choices": [{"delta": {"content": "two"}}]},
    {"choices": [], "usage": {"prompt_tokens": 11, "completion_tokens": 2}},
]
ANTHROPIC = [
    {
        "type": "message_start",
        "message": {"usage": {"input_tokens": 5, "output_tokens": 1, "cache_read_input_tokens": 6}},
    },
    {"type": "content_block_delta", "delta": {"type": "text_delta", "text": "one "}},
    {"type": "content_block_delta", "delta": {"type": "text_delta", "text": "two"}},
    {"type": "message_delta", "usage": {"output_tokens": 2}},
]


@pytest.fixture
def server():
    """A server that answers from a script and records its requests."""
    script = {"events": OPENAI, "status": 200, "whole": None, "end": "data: [DONE]\n\n", "missing": 0}
    received = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            received.append((self.path, dict(self.headers), body))
            lines = "".join(f"data: {json.dumps(each)}\n\n" for each in script["events"]) + script["end"]
            content = (script["whole"] or lines).encode()
            self.send_response(script["status"])
            if script["status"] == 302:
                self.send_header("Location", "/elsewhere")
            self.send_header("Content-Length", str(len(content) + script["missing"]))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    server.script, server.received = script, received
    server.url = f"http://127.0.0.1:{server.server_address[1]}/v1"
    yield server
    server.shutdown()
    server.server_close()


@pytest.mark.parametrize(
    ("path", "api", "events", "key"),
    [
        ("", None, OPENAI, "Authorization"),
        ("/messages", None, ANTHROPIC, "X-Api-Key"),
        ("", "anthropic", ANTHROPIC, "X-Api-Key"),
    ],
)
def test_both_apis_stream_and_report_usage(server, monkeypatch, path, api, events, key):
    """The whole conversation is sent until it is reset."""
    monkeypatch.setenv("OPENAI_API_KEY", "k-1")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "k-1")
    server.script["events"] = events
    agent = find_agent(server.url + path, model="m", api=api)
    pieces = []
    reply = agent.ask("hi", on_text=pieces.append, timeout_seconds=30)
    assert (reply.text, pieces, reply.tokens.input_tokens, reply.tokens.output_tokens) == (
        "one two",
        ["one ", "two"],
        11,
        2,
    )
    answer_of(agent, "more")
    sent_path, headers, body = server.received[1]
    assert sent_path == ("/v1/messages" if events is ANTHROPIC else "/v1/chat/completions")
    assert "k-1" in headers[key] or "k-1" in headers[key.lower()]
    assert [each["content"] for each in body["messages"]] == ["hi", "one two", "more"]
    assert agent.reset() == "dropped"
    answer_of(agent, "new")
    assert [each["content"] for each in server.received[2][2]["messages"]] == ["new"]


def test_a_server_that_does_not_stream_is_understood(server):
    """The server answers with one object instead of events, and unreported tokens are ``None``."""
    server.script["whole"] = json.dumps({"choices": [{"message": {"content": "all"}}]})
    agent = find_agent(server.url, model="m")
    reply = agent.ask("hi", on_text=lambda _: None, timeout_seconds=30)
    assert (reply.text, reply.tokens) == ("all", None)
    server.script["whole"] = json.dumps(
        {"type": "message", "content": [{"type": "text", "text": "mine"}], "usage": {"input_tokens": 1}}
    )
    assert answer_of(find_agent(server.url, model="m", api="anthropic")) == "mine"


def test_a_server_that_refuses_is_quoted(server):
    """The error has the status; a redirect is not followed."""
    server.script.update(status=401, whole='{"error": "bad key"}')
    with pytest.raises(ProcessError, match=r"HTTP 401: .*bad key.* No key was sent: is OPENAI_API_KEY set"):
        answer_of(find_agent(server.url, model="m"))
    server.script.update(status=302, whole="moved")
    with pytest.raises(ProcessError, match="HTTP 302"):
        answer_of(find_agent(server.url, model="m"))
    assert len(server.received) == 2
    server.script.update(status=200, whole="data: not json\n")
    with pytest.raises(ProcessError, match="cannot be reached"):
        answer_of(find_agent(server.url, model="m"))
    with pytest.raises(ProcessError, match="cannot be reached"):
        answer_of(find_agent("http://127.0.0.1:1/v1", model="m"))


DELTA = {"choices": [{"delta": {"content": "half"}}]}
BLOCK = {"type": "content_block_delta", "delta": {"text": "half"}}


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"events": [DELTA], "end": ""}, "the answer was cut off"),
        ({"events": [BLOCK], "end": ""}, "the answer was cut off"),
        ({"events": [DELTA], "end": "", "missing": 99}, "the answer was cut off"),
        ({"events": [DELTA, {"error": {"message": "overloaded"}}]}, "overloaded"),
        (
            {"events": [BLOCK, {"type": "error", "error": {"type": "x", "message": "overloaded"}}]},
            "overloaded",
        ),
        ({"events": [DELTA, {"error": "too busy"}]}, "too busy"),
        ({"events": [BLOCK, {"type": "error"}]}, "an error that it does not name"),
    ],
    ids=[
        "no end",
        "no stop",
        "less than promised",
        "error",
        "error event",
        "error in words",
        "nameless error",
    ],
)
def test_an_answer_cut_off_by_the_server_is_an_error(server, changes, words):
    """Earlier pieces were passed on, and the conversation continues without them."""
    server.script.update(changes)
    agent, pieces = find_agent(server.url, model="m"), []
    with pytest.raises(ProcessError, match=words):
        agent.ask("hi", on_text=pieces.append, timeout_seconds=30)
    assert pieces == ["half"]
    server.script.update(events=OPENAI, end="data: [DONE]\n\n", missing=0)
    answer_of(agent, "more")
    assert [each["content"] for each in server.received[1][2]["messages"]] == ["more"]


@pytest.mark.parametrize(
    "last",
    [{"choices": [{"delta": {}, "finish_reason": "stop"}]}, {"type": "message_stop"}],
    ids=["finish_reason", "message_stop"],
)
def test_an_answer_may_end_in_several_ways(server, last):
    """Not every server ends its answer with ``[DONE]``."""
    server.script.update(events=[DELTA, last], end="")
    assert answer_of(find_agent(server.url, model="m")) == "half"


def test_a_connection_that_ends_too_soon_is_an_error():
    """A missing header or a short body raises an error of ours, not of urllib."""
    listener = socket.create_server(("127.0.0.1", 0))
    replies = [
        b"no http at all\r\n\r\n",
        b"",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\ndata:",
    ]

    def serve():
        for reply in replies:
            connection, _ = listener.accept()
            with connection:
                connection.recv(65536)
                connection.sendall(reply)

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    try:
        for _ in replies:
            with pytest.raises(ProcessError, match=r"cannot be reached|cut off"):
                answer_of(find_agent(f"http://127.0.0.1:{listener.getsockname()[1]}/v1", model="m"))
    finally:
        listener.close()
        thread.join(30)


def test_an_empty_answer_is_left_out_of_the_conversation(server):
    """Servers refuse an empty message."""
    server.script["events"] = [{"choices": [{"delta": {"content": ""}}]}]
    agent = find_agent(server.url, model="m")
    assert answer_of(agent, "hi") is None
    answer_of(agent, "more")
    assert [each["content"] for each in server.received[1][2]["messages"]] == ["more"]


def test_another_model_at_the_same_address_is_another_agent():
    """Resuming a chat with another model asks first."""
    agents = [find_agent("https://x/v1", model=model) for model in ("small", "large")]
    assert [each.path for each in agents] == [
        "https://x/v1/chat/completions#small",
        "https://x/v1/chat/completions#large",
    ]


@pytest.mark.parametrize(
    ("url", "model", "words"),
    [
        ("ftp://x", "m", "begins with https"),
        ("https://user:key@x/v1", "m", "must hold no key"),
        ("https://x/v1?key=1", "m", "must hold no key"),
        ("https://x/v1", None, "which model"),
        ("http://example.com/v1", "m", "not sent over plain http"),
    ],
)
def test_addresses_that_would_give_a_key_away_are_refused(monkeypatch, url, model, words):
    """An unsafe address is refused before anything is sent."""
    monkeypatch.setenv("OPENAI_API_KEY", "k-1")
    with pytest.raises(UsageError, match=words):
        parse_address(url, model, None, None)


def test_the_key_may_come_from_another_variable(monkeypatch):
    """A complete address is used as it is."""
    monkeypatch.setenv("MY_KEY", "k-2")
    where = parse_address("https://x/v1/chat/completions", "m", None, "MY_KEY")
    assert (where.key, where.url) == ("k-2", "https://x/v1/chat/completions")
    assert Endpoint(where).name == "m"
