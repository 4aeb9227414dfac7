"""Chats on a real terminal, and the files that they leave."""

import os
import re
import signal
from pathlib import Path

import pytest

from leftoff.chat import chat_file
from tests.chat.terminal_session import SALLY, TerminalSession

pytestmark = pytest.mark.measured

PAGE = re.compile(
    r"""\#\ Simple\ Sally\ Conversation\n
\n
\*\*Session\ ID:\*\*\ (?P<id>simple_sally_\d{8}_\d{6}(_\d+)?)\n
\*\*Date:\*\*\ \d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}[+-]\d\d:\d\d\n
\*\*Agent:\*\*\ Simple\ Sally\n
\*\*Agent\ Path:\*\*\ /.*/examples/simple_sally/agent\.py\n
\*\*Total\ Queries:\*\*\ (?P<queries>\d+)\n
(\*\*Resumed\ From:\*\*\ (?P<parent>\S+)\n
\*\*Previous\ Session:\*\*\ (?P<path>/.+)\n)?
<!--\ leftoff:\ chat,\ schema\ 1\ -->\n
\n
---\n
\n
(\#\#\ Session\ Restored\ \(\d\d:\d\d:\d\d\)\n
\*\*Context:\*\*\ Resumed\ from\ (?P=parent)\ \(\d+\ quer(y|ies),\ [\d.]+K?\ tokens\)\n
\*\*Previous\ Session:\*\*\ (?P=path)\n
\n
\*\*Simple\ Sally:\*\*\ (.|\n)+?\n
\n
\*Time:\ \d+\.\ds\ \|\ Tokens:\ [\d,]+\ \(in:\ [\d,]+,\ out:\ [\d,]+\)\*\n
\n
---\n
\n)?
(\#\#\ Query\ \d+\ \(\d\d:\d\d:\d\d\)\n
\*\*You:\*\*\ .+\n
\n
\*\*Simple\ Sally:\*\*\ (.|\n)+?\n
\n
\*Time:\ \d+\.\ds\ \|\ Tokens:\ [\d,]+\ \(in:\ [\d,]+,\ out:\ [\d,]+\)\*\n
\n
---\n
\n)+
Total\ Queries:\ (?P=queries)\ \(user\ queries\ only\)\n
(Restoration:\ [\d,]+\ tokens\ \(in:\ [\d,]+,\ out:\ [\d,]+\)\n)?
Session\ Tokens:\ [\d,]+\ tokens\n
Combined\ Total:\ [\d,]+\ tokens\n
(\n
<!--\ SESSION_SUMMARY_START\ -->\n
\*\*Background\ Context:\*\*\ .+\n
\n
\*\*Current\ Session\ Summary:\*\*\n
\*\*Topics\ Discussed:\*\*\n
(-\ .+\n)+
\n
\*\*Decisions\ Made:\*\*\n
(-\ .+\n)+
\n
\*\*Pending:\*\*\n
(-\ .+\n)+
(?P<end><!--\ SESSION_SUMMARY_END\ -->)\n)?""",
    re.VERBOSE,
)


def chats() -> list[Path]:
    """The saved chats, oldest first."""
    found = [*Path(".leftoff/chats").glob("*.md")]
    return sorted(found, key=lambda each: chat_file.parse(each.read_text(), each.stem, where="").header.date)


def page(path: Path) -> re.Match[str]:
    found = PAGE.fullmatch(path.read_text(encoding="utf-8"))
    assert found, path.read_text(encoding="utf-8")
    assert found["id"] == path.stem
    assert path.stat().st_mode & 0o777 == 0o600
    return found


def test_exit_writes_the_summary_and_says_goodbye():
    """The screen shows the answers, the summary and a goodbye, and the page is complete."""
    with TerminalSession(SALLY) as talk:
        talk.type_line("Let's implement the rate limiter")
        talk.expect("Simple Sally: You said: Let's implement the rate limiter")
        talk.expect("Tokens: ")
        talk.type_line("With a token bucket")
        talk.type_line("exit")
        talk.expect(
            "📝 Generating session summary... ✓\nGoodbye!\n✓ Conversation saved successfully!\n  Session ID: "
        )
        session_id = talk.expect("\n  Queries: 2\n  Tokens: ")
        assert talk.wait_for_exit() == 0
    (only,) = chats()
    assert session_id == only.stem
    assert page(only)["queries"] == "2"
    assert page(only)["end"]
    assert "- With a token bucket" in only.read_text(encoding="utf-8")


def test_compact_three_times_makes_a_chain_of_four():
    """Each session names only its parent, and the restoration does not count as a query."""
    with TerminalSession(SALLY) as talk:
        for topic in ("JWT tokens", "Redis sessions", "rate limits"):
            talk.type_line(topic)
            talk.type_line("compact")
            talk.expect("📝 Generating session summary...\n💾 Saved session: simple_sally_")
            talk.expect(" (1 query, ")
            talk.expect("🔄 Starting new session with summary...\n")
            talk.expect(
                f"Simple Sally: I've reviewed our previous conversation about {topic}. Ready to continue!"
            )
        talk.type_line("What now?")
        talk.expect("I remember 1 things you told me before.")
        talk.type_line("quit")
        talk.expect("Goodbye!")
        assert talk.wait_for_exit() == 0
    first, second, third, last = map(page, chats())
    assert first["parent"] is None
    assert [each["parent"] for each in (second, third, last)] == [first["id"], second["id"], third["id"]]
    assert all(each["end"] and each["queries"] == "1" for each in (first, second, third, last))
    assert "JWT" not in last.string, "only the parent's summary is carried"


def test_resume_by_number_and_by_id_then_compact_then_resume():
    """A chat can be resumed, compacted and resumed again along its chain."""
    with TerminalSession(SALLY) as talk:
        talk.type_line("auth refactoring")
        talk.type_line("exit")
        assert talk.wait_for_exit() == 0
    (first,) = chats()
    with TerminalSession(SALLY) as talk:
        talk.type_line("resume 1")
        talk.expect("📋 Loading session...\n✓ Found: Simple Sally - ")
        talk.expect(" (1 query, ")
        talk.expect("🔄 Restoring context...\n")
        talk.expect("I've reviewed our previous conversation about auth refactoring.")
        talk.type_line("go on")
        talk.type_line("#compact")
        talk.expect("I've reviewed our previous conversation about go on.")
        talk.type_line(f"resume {first.stem}")
        talk.expect("about auth refactoring.")
        talk.type_line("and again")
        talk.type_line("exit")
        assert talk.wait_for_exit() == 0
    parents = [page(each)["parent"] for each in chats()]
    assert parents == [None, first.stem, first.stem]
    with TerminalSession(SALLY, "--resume", "1") as talk:
        talk.expect("about and again.")
        talk.type_line("exit")
        talk.expect("Nothing was said since.")
        assert talk.wait_for_exit() == 0


SLOW = """
import time
def agent(prompt):
    yield "I begin"
    for _ in range(600):
        time.sleep(0.1)
        yield " and go on"
"""


def test_ctrl_c_stops_the_answer_and_not_the_loop():
    """The text so far is kept; the next query is answered."""
    Path("slow.py").write_text(SLOW, encoding="utf-8")
    with TerminalSession("slow.py", environment={"LEFTOFF_CHAT_SUMMARISER": "rules"}) as talk:
        talk.type_line("tell me everything")
        talk.expect("I begin and go on")
        talk.press("\x03")
        talk.expect("Stopped. What was said so far is kept.")
        talk.expect("You:")
        talk.press("\x03")
        talk.expect("Type exit to leave; Ctrl-C stops an answer.")
        talk.type_line("exit")
        talk.expect("Queries: 1")
        assert talk.wait_for_exit() == 0
    (only,) = chats()
    assert "I begin and go on" in only.read_text(encoding="utf-8")


def test_a_killed_chat_keeps_every_answer():
    """The page is complete except for the summary, and resuming says why it cannot."""
    with TerminalSession(SALLY) as talk:
        for number in range(11):
            talk.type_line(f"thing {number}")
            talk.expect(f"You said: thing {number}")
            talk.expect("Tokens: ")
        talk.expect("You:")
        os.killpg(talk.process.pid, signal.SIGKILL)
        talk.process.wait()
    (only,) = chats()
    assert (page(only)["queries"], page(only)["end"]) == ("11", None)
    with TerminalSession(SALLY) as talk:
        talk.type_line("resume 1")
        talk.expect("⚠️ Session can't be resumed (no summary), starting fresh")


def test_help_lists_the_commands():
    """The help lists ``compact`` and the key for a new line."""
    with TerminalSession(SALLY) as talk:
        talk.type_line("#help")
        talk.expect("  compact ")
        talk.expect("  resume N|ID")
        talk.expect("Alt-Enter")


def test_several_lines_and_the_gauge():
    """Alt-Enter begins a line, and the toolbar shows how full the window is."""
    with TerminalSession(SALLY, "--window", "100") as talk:
        talk.expect("not measured yet, of 100 tokens")
        talk.press("first line\x1b\rsecond line\r")
        talk.expect("second line")
        talk.expect("Tokens: ")
        talk.expect("of 100 tokens")
        talk.press("word " * 90 + "\r")
        talk.expect("Context Usage ")
        talk.expect("type compact to continue with a summary.")
        talk.press("help\r")
        talk.expect("  sessions ")
    (only,) = chats()
    assert "**You:** first line\nsecond line\n" in only.read_text(encoding="utf-8")
