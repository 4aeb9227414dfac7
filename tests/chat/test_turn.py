"""A turn is saved exactly once, despite Ctrl-C, a hangup, a closed pipe, a kill or a removed folder."""

import io
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import leftoff
from leftoff.chat import chat_file, saved_chats
from leftoff.chat.console import Looks, PlainConsole
from leftoff.platform import paths
from tests.chat.test_loop import SUMMED, Agent, pages, saved, talked


class Nowhere(io.StringIO):
    """An output that keeps nothing."""

    def write(self, text):
        return len(text)


def looping(agent, out=None):
    return leftoff.ChatLoop(
        agent, name="Sally", console=PlainConsole(io.StringIO(), out or Nowhere(), looks=Looks())
    )


def queries(path):
    return [each.query for each in chat_file.parse_exchanges(path.read_text(encoding="utf-8"), "Sally")]


@pytest.mark.parametrize("turns", [0, 1], ids=["first save", "later save"])
def test_ctrl_c_during_a_save_neither_loses_nor_doubles_the_turn(monkeypatch, turns):
    """Ctrl-C takes effect after the save, at whatever step it arrives."""
    for step in range(12):
        shutil.rmtree(".leftoff", ignore_errors=True)
        loop = looping(Agent())
        for number in range(turns):
            loop.ask(f"before {number}")
        left = [step]
        with monkeypatch.context() as patched:
            for name in ("fsync", "replace", "pwrite", "link", "unlink"):
                real = getattr(os, name)

                def call(*arguments, _real=real, _left=left, **named):
                    _left[0] -= 1
                    if _left[0] == -1:
                        signal.raise_signal(signal.SIGINT)
                    return _real(*arguments, **named)

                patched.setattr(os, name, call)
            try:
                loop.ask("during")
                interrupted = False
            except KeyboardInterrupt:
                interrupted = True
        loop.ask("after")
        (only,) = pages()
        assert queries(only) == [*(f"before {number}" for number in range(turns)), "during", "after"]
        assert loop.chat.unsaved == []
        if not interrupted:
            break
    assert step > 4
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_removed_folder_is_created_again():
    """What is said from then on is saved, privately and ignored by git, and can be resumed."""
    loop = looping(Agent())
    loop.ask("gone")
    shutil.rmtree(".leftoff")
    loop.ask("kept")
    assert queries(pages()[0]) == ["kept"]
    assert loop.chat.unsaved == []
    assert Path(".leftoff/.gitignore").exists()
    assert loop.compact()


_KILLED = """
import io, os, signal, sys
import leftoff
from leftoff.chat.console import Looks, PlainConsole
summed = sys.argv[1]
loop = leftoff.ChatLoop(lambda prompt: summed if prompt.startswith("Generate") else "An answer.",
    name="Sally", agent_path="/agents/a.py", console=PlainConsole(io.StringIO(), io.StringIO(), looks=Looks()))
loop.ask("hello")
os.ftruncate = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
loop.save_conversation()
"""


def test_a_summary_whose_saving_was_killed_can_be_resumed():
    """The next reader finishes the interrupted change, and the register knows the summary."""
    done = subprocess.run([sys.executable, "-c", _KILLED, SUMMED], timeout=60, check=False)
    assert done.returncode == -signal.SIGKILL
    agent = Agent()
    _, out = talked(agent, "resume 1", "go on", "exit")
    assert "Restoring context..." in out
    assert "- TOPIC" in agent.prompts[0]


def test_a_chat_that_was_killed_after_its_summary_can_be_resumed():
    """Later turns do not change what the agent would receive."""
    loop = looping(Agent())
    loop.ask("hello")
    loop.save_conversation()
    loop.ask("more")
    listed = saved_chats.find_chat(loop.store.folder, "latest", None)
    assert (listed.queries, listed.has_summary) == (2, True)
    agent = Agent()
    talked(agent, f"resume {listed.session_id}", "exit", path=listed.agent_path)
    assert "- TOPIC" in agent.prompts[0]


@pytest.mark.parametrize("field", ["**Resumed From:** ", "**Agent:** ", "**Date:** 2"])
def test_a_chat_whose_header_was_replaced_is_not_resumed(field):
    """The agent receives the header too, so one that came in an archive is not trusted."""
    talked(Agent(), "first", "compact", "second", "exit")
    last = pages()[1]
    text = last.read_text(encoding="utf-8")
    last.write_text(
        text.replace(field, field.replace("2", "1") + ("Ignore_" if "2" not in field else "")), "utf-8"
    )
    os.utime(last, (0, 0))
    agent = Agent()
    _, out = talked(agent, f"resume {last.stem}", "exit", agree=True)
    assert "it was unpacked or copied to its place: its own time is 1970-01-01" in " ".join(out.split())
    assert agent.prompts == []


def test_a_turn_after_a_summary_does_not_read_the_whole_file(monkeypatch):
    """A turn neither reads the whole file nor lets the register grow, however long the chat is."""
    loop = looping(Agent())
    loop.ask("hello")
    loop.save_conversation()
    register = paths.data_folder() / "register.jsonl"
    before = register.read_bytes()
    read = []
    for name in ("read_bytes", "read_text"):
        real = getattr(Path, name)
        monkeypatch.setattr(
            Path,
            name,
            lambda path, *arguments, _real=real, **named: (
                read.append(path.name) or _real(path, *arguments, **named)
            ),
        )
    loop.ask("more")
    assert read == []
    assert register.read_bytes() == before


def test_a_failed_summary_mentions_the_earlier_one():
    """The session can be resumed from it."""
    agent = Agent(summary=[SUMMED, "no", "no"])
    _, out = talked(agent, "hello", "save", "more", "and more", "exit")
    assert "cannot be resumed" not in out
    assert "session saved; it can be resumed from its earlier summary, which is 2 queries old" in out
    assert "- TOPIC" in saved(pages()[0]).summary.text


def test_a_session_is_not_resumed_into_itself():
    out = io.StringIO()
    loop = looping(Agent(), out)
    loop.ask("hello")
    path = loop.save_conversation()
    assert not loop.restore_session(path.stem)
    assert "That is this session. To continue from its summary alone: compact" in out.getvalue()
    assert len(pages()) == 1


SLOW = """
import threading
def agent(prompt):
    for _ in range(10**6):
        yield "word " * 200
        threading.Event().wait(0.05)
"""


def started(**streams):
    Path("slow.py").write_text(SLOW, encoding="utf-8")
    return subprocess.Popen(
        [sys.executable, "-m", "leftoff", "chat", "slow.py"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        **streams,
    )


@pytest.mark.parametrize("how", ["pipe", signal.SIGHUP, signal.SIGTERM], ids=["pipe", "hangup", "terminated"])
def test_a_query_is_saved_when_the_output_is_gone(how):
    """The query is saved with the part of the answer that arrived."""
    process = started(stderr=subprocess.PIPE)
    try:
        process.stdin.write(b"precious words\n")
        process.stdin.flush()
        on_text = b""
        while b"word word" not in on_text:
            on_text += process.stdout.read(200)
        if how == "pipe":
            process.stdout.close()
        else:
            process.send_signal(how)
            while process.stdout.read(65536):
                pass
        process.wait(60)
        assert b"Traceback" not in process.stderr.read()
    finally:
        process.kill()
        process.wait()
        process.stdin.close()
        process.stderr.close()
        if not process.stdout.closed:
            process.stdout.close()
    (only,) = pages()
    text = only.read_text(encoding="utf-8")
    assert "**You:** precious words\n\n**Slow:** word word" in text
    assert "[answer stopped]" in text


_LONG = """
import io, tracemalloc
import leftoff
from leftoff.chat.console import Looks, PlainConsole
class Nowhere(io.StringIO):
    def write(self, text):
        return len(text)
loop = leftoff.ChatLoop(lambda prompt: f"{prompt} " * 200, name="Sally",
    console=PlainConsole(io.StringIO(), Nowhere(), looks=Looks()))
for number in range(200):
    loop.ask(f"question {number:03}")
    if number == 20:
        tracemalloc.start()
print(tracemalloc.get_traced_memory()[0], loop.chat.file.path.stat().st_size)
"""


@pytest.mark.slow
def test_two_hundred_turns_take_no_more_memory_than_twenty(run_python):
    """The text is kept in the file only."""
    grown, size = map(int, run_python(_LONG).stdout.split())
    assert size > 500_000
    assert grown < 100_000, "a fifth of what was said since"
