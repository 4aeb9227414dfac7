"""``leftoff chat`` as a person or a script types it."""

import io
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from leftoff.cli.main import run
from tests.chat.terminal_session import SALLY


def output_of(capsys, monkeypatch, *arguments, lines=(), code=0):
    monkeypatch.setattr(sys, "stdin", io.StringIO("".join(f"{line}\n" for line in lines)))
    assert run(["chat", *map(str, arguments)]) == code, capsys.readouterr().err
    return capsys.readouterr().out


@pytest.fixture
def talk(capsys, monkeypatch):
    return lambda *arguments, **options: output_of(capsys, monkeypatch, *arguments, **options)


@pytest.fixture
def two(talk):
    """Two saved chats, the second resumed from the first; their ids, newest first."""
    talk(SALLY, lines=["auth", "compact", "limits", "exit"])
    return [each["session_id"] for each in json.loads(talk("--list", "--json"))]


def test_a_chat_as_json_is_one_object(talk):
    """Standard output holds one object with answers, sessions and warnings, and nothing else."""
    data = json.loads(talk(SALLY, "--json", lines=["hello", "resume 9", "exit"]))
    assert (data["agent"], data["agent_path"]) == ("Simple Sally", str(SALLY))
    assert data["answers"][0].startswith("You said: *hello*")
    assert data["notes"] == ["Parent session 9 not found"]
    assert Path(data["folder"], f"{data['sessions'][0]}.md").is_file()


def test_saved_chats_are_listed_with_numbers(talk, two):
    first, second = talk("--list").splitlines()
    assert first.startswith(f"  1  {two[0]}  Simple Sally - ")
    assert second.startswith(f"  2  {two[1]}  Simple Sally - ")
    data = json.loads(talk("--list", "--json"))[0]
    assert (data["resumed_from"], data["queries"], data["has_summary"], data["estimated"]) == (
        two[1],
        1,
        True,
        False,
    )
    assert Path(data["path"]).is_file()


def test_the_numbers_stay_those_of_the_list_that_was_shown(talk, two):
    """The numbers keep their meaning even if a newer chat is saved."""
    talk("--list")
    talk(SALLY, lines=["newer", "exit"])
    assert f"**Session ID:** {two[0]}\n" in talk("--show", "1")


def test_show_and_export_print_the_page_and_the_chain(talk, two):
    """A chat is named by its number, its id, the beginning of its id, or ``latest``."""
    assert "**You:** limits" in talk("--show", "latest")
    whole = talk("--export", two[0])
    assert whole.index("**You:** auth") < whole.index("**You:** limits")
    assert json.loads(talk("--show", two[1], "--json"))["text"].startswith("# Simple Sally Conversation\n")


def test_delete_needs_consent(talk, two, capsys):
    """Without a terminal, deleting needs ``--yes``."""
    talk("--delete", two[1], code=2)
    assert f"{two[1]}.md" in {each.name for each in Path(".leftoff/chats").iterdir()}
    assert json.loads(talk("--delete", two[1], "--yes", "--json")) == {"deleted": two[1]}
    assert f"Deleted: {two[0]}" in talk("--delete", "1", "--yes")
    assert "No saved sessions in this folder. To start one: leftoff chat --help" in talk("--list", code=3)


def test_a_whole_id_never_means_another_chat(talk, capsys, monkeypatch):
    """Deleted twice, ID is gone and ID_2 is still there; nor does the number of a chat that is gone, nor a beginning."""
    talk(SALLY, lines=["first", "exit"])
    (path,) = Path(".leftoff/chats").glob("*.md")
    other = path.with_name(f"{path.stem}_2.md")
    other.write_text(path.read_text(encoding="utf-8").replace(path.stem, other.stem), encoding="utf-8")
    numbers = [each["session_id"] for each in json.loads(talk("--list", "--json"))]
    assert f"Deleted: {path.stem}\n" in talk("--delete", path.stem, "--yes")
    for words in (path.stem, str(numbers.index(path.stem) + 1), path.stem[:-1]):
        talk("--delete", words, "--yes", code=1)
        assert other.exists(), words
    talk("--show", path.stem, code=1)
    out = talk(SALLY, lines=[f"resume {path.stem}", "exit"])
    assert f"Parent session {path.stem} not found, starting fresh" in out


def test_a_number_is_that_of_the_list_last_shown_wherever_that_was(talk, two):
    """The list may have been shown by ``--list`` or in a chat, and newer chats are mentioned."""
    talk("--list")
    newer = json.loads(talk(SALLY, "--json", lines=["newer", "exit"]))["sessions"][0]
    out = talk(SALLY, "--resume", "1", lines=["exit"])
    assert "1 is the number in the list last shown; 1 newer since: sessions\n" in out
    assert "previous conversation about limits." in out
    assert "about newer." in talk(SALLY, "--resume", "latest", lines=["exit"])
    talk(SALLY, lines=["sessions", "exit"])
    assert f"**Session ID:** {newer}\n" in talk("--show", "1")


def test_without_a_list_that_was_shown_numbers_count_from_the_newest(talk):
    for words in ("older", "newer"):
        talk(SALLY, lines=[words, "exit"])
    assert "previous conversation about newer." in talk(SALLY, "--resume", "1", lines=["exit"])


PRINTING = """
import os, sys
print("the file prints")
def agent(prompt):
    print("the agent prints")
    os.system("echo a process of it prints")
    return "An answer."
"""


def test_json_stays_json_whatever_the_agent_prints():
    """What the agent prints goes to standard error."""
    Path("printing.py").write_text(PRINTING, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "leftoff", "chat", "printing.py", "--json"],
        input="hello\nexit\n",
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert json.loads(done.stdout)["answers"][0] == "An answer."
    for words in ("the file prints", "the agent prints", "a process of it prints"):
        assert words in done.stderr


def test_input_that_is_not_utf_8_is_a_question_like_any_other():
    """Invalid UTF-8 is replaced, and no input at all ends the chat."""
    command = [sys.executable, "-m", "leftoff", "chat", str(SALLY)]
    done = subprocess.run(command, input=b"caf\xe9\nexit\n", capture_output=True, timeout=60, check=True)
    assert "caf\ufffd" in done.stdout.decode()
    for options in ([], ["--json"]):
        closed = subprocess.run(
            ["sh", "-c", 'exec "$@" <&-', "sh", *command, *options],
            capture_output=True,
            text=True,
            timeout=60,
            check=True,
        )
        assert ("Goodbye!" if not options else '"answers": []') in closed.stdout
        assert closed.stderr == ""


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        ((), 2, "Name one thing: an AGENT to chat with"),
        (("x.py", "--list"), 2, "Name one thing"),
        (("--list", "--resume", "3"), 2, "leftoff chat AGENT --resume 3"),
        (("missing.py",), 1, "no such agent file"),
        (("nobody",), 1, "no agent of that name"),
        (("--show", "7"), 1, "There is no saved session 7"),
        (("--show", "../../evil"), 2, "may hold letters, digits"),
        (("--export", "x"), 1, "There is no saved session x"),
        (("https://example.com/v1",), 2, "which model"),
    ],
)
def test_what_is_wrong_is_reported_with_what_to_type(capsys, monkeypatch, arguments, code, words):
    """Errors are reported as text and as JSON."""
    monkeypatch.setattr(sys, "stdin", io.StringIO())
    assert run(["chat", *arguments]) == code
    assert words in capsys.readouterr().err
    assert run(["chat", *arguments, "--json"]) == code
    assert words in json.loads(capsys.readouterr().out)["error"]


def test_resume_on_the_command_line(talk, two):
    """The first thing that is said is the acknowledgment."""
    out = talk(SALLY, "--resume", two[1], lines=["exit"])
    assert "I've reviewed our previous conversation about auth. Ready to continue!" in out
    assert f"To continue later: resume {two[1]}" in out
    assert len(json.loads(talk("--list", "--json"))) == 2, "a session in which nothing was said is not kept"


def test_an_ambiguous_beginning_of_an_id_is_reported(capsys, talk, two):
    assert run(["chat", "--show", "simple"]) == 2
    assert "names 2 chats" in capsys.readouterr().err


HANGING = """
import threading
def agent(prompt):
    threading.Event().wait()
"""


def test_an_agent_that_hangs_for_good_does_not_keep_the_process():
    """The chat ends without a summary, and so does the process."""
    Path("hanging.py").write_text(
        HANGING.replace(
            "threading.Event().wait()",
            "if prompt.startswith('Generate'): threading.Event().wait()\n    return 'x'",
        ),
        encoding="utf-8",
    )
    done = subprocess.run(
        [sys.executable, "-m", "leftoff", "chat", "hanging.py"],
        input="hello\nexit\n",
        env={**os.environ, "LEFTOFF_CHAT_SUMMARY_SECONDS": "1"},  # noqa: TID251
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "Summary generation failed - session saved but cannot be resumed" in done.stdout
    assert "Conversation saved successfully!" in done.stdout


def test_nothing_of_the_line_editor_is_loaded_without_a_terminal():
    """Loading the line editor takes longer than everything else."""
    code = (
        "import sys, io; sys.stdin = io.StringIO('hello\\nexit\\n'); from leftoff.cli.main import run; "
        f"run(['chat', {str(SALLY)!r}]); print([each for each in sys.modules if each in ('prompt_toolkit', 'rich')])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout.splitlines()[-1] == "[]"


def test_without_prompt_toolkit_a_terminal_gets_plain_lines(monkeypatch, capsys):
    """A line says what to install for a better terminal."""
    monkeypatch.setitem(sys.modules, "prompt_toolkit", None)
    monkeypatch.delitem(sys.modules, "leftoff.chat.terminal", raising=False)

    class Terminal(io.StringIO):
        def isatty(self):
            return True

    out = Terminal()
    monkeypatch.setattr(sys, "stdin", Terminal("hello\nresume 1\nexit\n"))
    monkeypatch.setattr(sys, "stdout", out)
    monkeypatch.setenv("TERM", "xterm")
    assert run(["chat", str(SALLY)]) == 0
    assert "-m pip install prompt_toolkit" in out.getvalue()
    assert "You: Simple Sally: You said: *hello*" in out.getvalue()
    assert "📝 Generating session summary... ✓" in out.getvalue()


def test_a_missing_agent_file_is_reported_with_what_a_wheel_has(talk, capsys, monkeypatch):
    """The repository's examples are not installed: one line that makes an agent is, and it works."""
    monkeypatch.setattr(sys, "stdin", io.StringIO(""))
    assert run(["chat", "nothere.py"]) == 1
    error = capsys.readouterr().err
    assert "nothere.py: no such agent file." in error
    assert "leftoff chat --help" in error
    one_line = "def agent(prompt): return prompt.upper()"
    assert one_line in error
    assert one_line in " ".join(talk("--help").split())
    assert "examples/" not in error + talk("--help") + talk("--list", code=3)
    Path("mine.py").write_text(f"{one_line}\n", encoding="utf-8")
    assert json.loads(talk("mine.py", "--json", lines=["hello", "exit"]))["answers"] == ["HELLO"]


def test_what_the_page_shows_first_can_be_typed_by_who_has_a_wheel_alone(talk):
    """The first two lines of the page create an agent and talk to it."""
    page = (Path(__file__).parents[2] / "docs" / "chat.md").read_text(encoding="utf-8")
    make, chat = page.split("```")[1].strip().splitlines()[:2]
    subprocess.run(make, shell=True, check=True, timeout=60)
    command, name = chat.partition("#")[0].split()[1:]
    assert (command, Path(name).is_file()) == ("chat", True)
    assert json.loads(talk(name, "--json", lines=["hello", "exit"]))["answers"] == ["HELLO"]
    sentences = " ".join(page.split()).split(". ")
    assert all("repository" in sentence for sentence in sentences if "examples/" in sentence)


@pytest.mark.slow
def test_a_chat_ends_although_code_of_the_agent_hangs_in_a_thread_of_its_own(tmp_path):
    """Python itself would wait for the threads of an executor until they are done."""
    agent = tmp_path / "hangs.py"
    agent.write_text(
        "import time\n"
        "from concurrent.futures import ThreadPoolExecutor\n"
        "from pathlib import Path\n"
        "class Agent:\n"
        "    def run(self, message):\n"
        "        if message == 'hello':\n"
        "            return 'Hello.'\n"
        "        Path(__file__).with_name('hanging').touch()\n"
        "        return ThreadPoolExecutor(1).submit(time.sleep, 1000).result()\n"
        "agent = Agent()\n",
        encoding="utf-8",
    )
    with subprocess.Popen(
        [sys.executable, "-P", "-m", "leftoff", "chat", agent],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        cwd=tmp_path,
    ) as chat:
        chat.stdin.write(b"hello\nexit\n")
        chat.stdin.flush()
        deadline = time.monotonic() + 60
        while not (tmp_path / "hanging").exists():  # it is asked for a summary
            assert time.monotonic() < deadline
            time.sleep(0.05)
        try:
            while chat.poll() is None and time.monotonic() < deadline:
                chat.send_signal(signal.SIGINT)  # once may be too early to be noticed
                time.sleep(1)
        finally:
            chat.kill()
    assert chat.returncode == 0
    assert [*tmp_path.glob(".leftoff/chats/*.md")]
