"""What the user types becomes an agent: a file, a folder, a registered agent, an address."""

import json
import socket
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from leftoff.chat.drivers.choose import agent_named
from leftoff.chat.drivers.endpoint import Endpoint, address
from leftoff.chat.drivers.headless import HeadlessAgent
from leftoff.errors import NotFoundError, PluginError, ProcessError, UsageError
from tests.chat.talking import SALLY


def written(text, name="my_agent.py"):
    path = Path(name)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return str(path)


def said(agent, prompt="hi"):
    return agent.ask(prompt, heard=lambda _: None, timeout_seconds=30).text


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
    """By its name, by a factory, or because there is no other."""
    written("word = 'beside'", "neighbour.py")
    assert said(agent_named(written(text))) == answer


def test_a_name_may_be_given_and_a_folder_is_its_agent_py():
    """``agent.py:name``; the agent is called like its folder."""
    path = written("def one(p): return '1'\ndef two(p): return '2'", "simple_sue/agent.py")
    assert said(agent_named(f"{path}:two")) == "2"
    with pytest.raises(UsageError, match=r"which is the agent: one, two\? Say it: leftoff chat agent.py:one"):
        agent_named("simple_sue")
    with pytest.raises(NotFoundError, match="called three"):
        agent_named(f"{path}:three")
    assert agent_named(f"{path}:two").name == "Simple Sue"
    assert agent_named(str(SALLY)).name == "Simple Sally"


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
    """With the line of the file, whatever it raised."""
    with pytest.raises(PluginError, match=words):
        agent_named(written(text))


def test_what_is_no_agent_is_said_so():
    """No file, no agent in it, no Python."""
    with pytest.raises(NotFoundError, match=r"no such agent file. One line makes one: def agent"):
        agent_named("missing.py")
    with pytest.raises(NotFoundError, match=r"no agent in it. Call it agent"):
        agent_named(written("x = 1"))
    with pytest.raises(UsageError, match=r"ends with .py"):
        agent_named(written("x", "agent.txt"))
    with pytest.raises(NotFoundError, match=r"no agent of that name. There are: "):
        agent_named("nobody")


def test_a_fresh_instance_is_the_file_run_anew():
    """Also where the history is a global of the file."""
    agent = agent_named(written("told = []\ndef agent(p):\n    told.append(p)\n    return str(len(told))"))
    assert [said(agent), said(agent)] == ["1", "2"]
    assert agent.reset() == "fresh"
    assert said(agent) == "1"


def test_a_registered_agent_is_talked_to_by_its_headless_command():
    """Each run is told what was said so far; after a reset nothing of it."""
    echo = (sys.executable, "-c", "import sys; sys.stdout.write(str(sys.stdin.read().count('banana')))")
    agent = HeadlessAgent(echo, name="Echo", path="echo")
    assert [said(agent, "banana"), said(agent, "banana"), said(agent, "banana")] == ["1", "2", "3"]
    assert agent.reset() == "dropped"
    assert said(agent, "banana") == "1"
    assert agent.ask("banana", heard=lambda _: None, timeout_seconds=30).tokens.estimated
    failing = HeadlessAgent((sys.executable, "-c", "import sys; sys.exit('no login')"), name="F", path="f")
    with pytest.raises(ProcessError, match="no login"):
        said(failing)


def test_every_agent_that_can_run_headless_can_be_named():
    """By its id; the name is what people call it."""
    agent = agent_named("claude")
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
    """Answers as it is told and keeps what it was sent."""
    told = {"events": OPENAI, "status": 200, "whole": None, "end": "data: [DONE]\n\n", "missing": 0}
    received = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            received.append((self.path, dict(self.headers), body))
            lines = "".join(f"data: {json.dumps(each)}\n\n" for each in told["events"]) + told["end"]
            content = (told["whole"] or lines).encode()
            self.send_response(told["status"])
            if told["status"] == 302:
                self.send_header("Location", "/elsewhere")
            self.send_header("Content-Length", str(len(content) + told["missing"]))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    server.told, server.received = told, received
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
def test_an_address_is_talked_to_in_its_own_way(server, monkeypatch, path, api, events, key):
    """Streamed, with the numbers of the server; the whole conversation goes along until it is reset."""
    monkeypatch.setenv("OPENAI_API_KEY", "k-1")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "k-1")
    server.told["events"] = events
    agent = agent_named(server.url + path, model="m", api=api)
    pieces = []
    reply = agent.ask("hi", heard=pieces.append, timeout_seconds=30)
    assert (reply.text, pieces, reply.tokens.input_tokens, reply.tokens.output_tokens) == (
        "one two",
        ["one ", "two"],
        11,
        2,
    )
    said(agent, "more")
    sent_path, headers, body = server.received[1]
    assert sent_path == ("/v1/messages" if events is ANTHROPIC else "/v1/chat/completions")
    assert "k-1" in headers[key] or "k-1" in headers[key.lower()]
    assert [each["content"] for each in body["messages"]] == ["hi", "one two", "more"]
    assert agent.reset() == "dropped"
    said(agent, "new")
    assert [each["content"] for each in server.received[2][2]["messages"]] == ["new"]


def test_a_server_that_does_not_stream_is_understood(server):
    """One object instead of events; without numbers the tokens are for others to reckon."""
    server.told["whole"] = json.dumps({"choices": [{"message": {"content": "all"}}]})
    agent = agent_named(server.url, model="m")
    reply = agent.ask("hi", heard=lambda _: None, timeout_seconds=30)
    assert (reply.text, reply.tokens) == ("all", None)
    server.told["whole"] = json.dumps(
        {"type": "message", "content": [{"type": "text", "text": "mine"}], "usage": {"input_tokens": 1}}
    )
    assert said(agent_named(server.url, model="m", api="anthropic")) == "mine"


def test_a_server_that_refuses_is_quoted(server):
    """With the status; a redirect is not followed."""
    server.told.update(status=401, whole='{"error": "bad key"}')
    with pytest.raises(ProcessError, match=r"HTTP 401: .*bad key.* No key was sent: is OPENAI_API_KEY set"):
        said(agent_named(server.url, model="m"))
    server.told.update(status=302, whole="moved")
    with pytest.raises(ProcessError, match="HTTP 302"):
        said(agent_named(server.url, model="m"))
    assert len(server.received) == 2
    server.told.update(status=200, whole="data: not json\n")
    with pytest.raises(ProcessError, match="cannot be reached"):
        said(agent_named(server.url, model="m"))
    with pytest.raises(ProcessError, match="cannot be reached"):
        said(agent_named("http://127.0.0.1:1/v1", model="m"))


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
def test_an_answer_that_the_server_breaks_off_is_said_to_be_so(server, changes, words):
    """What came before is heard; the conversation goes on without it."""
    server.told.update(changes)
    agent, pieces = agent_named(server.url, model="m"), []
    with pytest.raises(ProcessError, match=words):
        agent.ask("hi", heard=pieces.append, timeout_seconds=30)
    assert pieces == ["half"]
    server.told.update(events=OPENAI, end="data: [DONE]\n\n", missing=0)
    said(agent, "more")
    assert [each["content"] for each in server.received[1][2]["messages"]] == ["more"]


@pytest.mark.parametrize(
    "last",
    [{"choices": [{"delta": {}, "finish_reason": "stop"}]}, {"type": "message_stop"}],
    ids=["finish_reason", "message_stop"],
)
def test_an_answer_may_end_in_several_ways(server, last):
    """Not every server says [DONE]."""
    server.told.update(events=[DELTA, last], end="")
    assert said(agent_named(server.url, model="m")) == "half"


def test_a_connection_that_ends_too_soon_is_said_so():
    """A header that never comes, or a body with less than was promised: errors of ours, not of the library below."""
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
                said(agent_named(f"http://127.0.0.1:{listener.getsockname()[1]}/v1", model="m"))
    finally:
        listener.close()
        thread.join(30)


def test_an_empty_answer_is_not_carried_along(server):
    """Servers refuse a conversation in which somebody says nothing."""
    server.told["events"] = [{"choices": [{"delta": {"content": ""}}]}]
    agent = agent_named(server.url, model="m")
    assert said(agent, "hi") is None
    said(agent, "more")
    assert [each["content"] for each in server.received[1][2]["messages"]] == ["more"]


def test_another_model_at_the_same_address_is_another_agent():
    """A session of one asks before it goes on with the other."""
    agents = [agent_named("https://x/v1", model=model) for model in ("small", "large")]
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
    """Before anything is sent."""
    monkeypatch.setenv("OPENAI_API_KEY", "k-1")
    with pytest.raises(UsageError, match=words):
        address(url, model, None, None)


def test_the_key_may_stand_in_another_variable(monkeypatch):
    """And the address may be whole already."""
    monkeypatch.setenv("MY_KEY", "k-2")
    where = address("https://x/v1/chat/completions", "m", None, "MY_KEY")
    assert (where.key, where.url) == ("k-2", "https://x/v1/chat/completions")
    assert Endpoint(where).name == "m"
