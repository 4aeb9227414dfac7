"""A hundred mistakes that people make: each is answered with the right exit code and one line that says what to do."""

import json
import shlex
from pathlib import Path

import pytest

from leftoff.agents import claude
from leftoff.cli.main import run
from leftoff.testing.builders import Story
from tests.support.transcripts import write_transcript

SESSION = "0b54f7aa-6d0c-4c7b-9d57-3f6c9d9a3b11"
# What is typed, the exit code, and what the line must say.
MISTAKES = [
    # commands that do not exist
    ("statsu", 2, "Did you mean: leftoff status?"),
    ("session", 2, "Did you mean: leftoff sessions?"),
    ("ls", 2, "Did you mean: leftoff sessions?"),
    ("version", 2, "Did you mean: leftoff --version?"),
    ("continue", 2, "Did you mean: leftoff resume?"),
    ("compact", 2, "Did you mean: leftoff rollover?"),
    ("settings", 2, "Did you mean: leftoff config?"),
    ("xyzzy", 2, "Try: leftoff --help"),
    ("log", 2, "leftoff log needs a command: save"),
    ("log svae", 2, "Did you mean: leftoff log save?"),
    ("pause finish", 2, "There is no command 'finish'"),
    ("project", 2, "leftoff project needs a command"),
    ("archive", 2, "leftoff archive needs a command"),
    ("help nonsense", 2, "There is no command 'nonsense'"),
    ("help trim more", 2, "has no further commands"),
    # options and numbers
    ("sessions --agnet claude", 2, "Did you mean '--agent'?"),
    ("sessions --limit abc", 2, "'abc' is not a whole number, 1 or more"),
    ("sessions --limit 0", 2, "'0' is not a whole number, 1 or more"),
    ("search --limit 5000 x", 2, "from 1 to 1,000"),
    ("status a b", 2, "Try: leftoff status --help"),
    ("pause start --context 7", 2, "'7' is not a fraction, 0.9 for 90 %"),
    ("pause start --context much", 2, "'much' is not a fraction"),
    ("report --days -1", 2, "is not a whole number"),
    ("unpin two", 2, "'two' is not a whole number"),
    ("show --at 0", 2, "'0' is not a whole number, 1 or more"),
    ("log save --max-chars 5", 2, "500 or more"),
    ("install claude --scope everywhere", 2, "Try: leftoff install --help"),
    ("resume --how fast", 2, "Try: leftoff resume --help"),
    ("completion tcsh", 2, "Try: leftoff completion --help"),
    ("completion", 2, "Choose from: bash, zsh, fish. Try: leftoff completion --help"),
    ("--verison", 2, "'--verison'. Did you mean '--version'? Try: leftoff --help"),
    ("uninstall codex", 3, "leftoff is not installed in Codex."),
    # agents, sessions and projects that are not there
    ("install cursor", 2, "There are: claude, codex."),
    ("install", 2, "Missing argument 'AGENT'"),
    ("sessions --agent cursor", 2, "There are: claude, codex."),
    ("sessions --project /nowhere", 1, "there is no such folder"),
    ("rollover --to cursor", 2, "There are: claude, codex."),
    ("show zzzzzzzz", 1, "leftoff search zzzzzzzz"),
    ("show 0b54f8aa", 1, "Did you mean 0b54f7aa?"),
    ("show 99", 1, "no number 99"),
    ("resume 77", 1, "no number 77"),
    ("show --at 99999", 2, "line 99,999 is not among them"),
    ("trim /etc/hostname", 1, "is not a transcript that leftoff knows"),
    ("trim /nowhere/x.jsonl", 1, "/nowhere/x.jsonl"),
    ("log show nosuch", 1, "leftoff log save"),
    ("log verify nosuch", 1, "nosuch"),
    ("pause status nosuch", 1, "nosuch"),
    ("project load nosuch", 1, "leftoff project init"),
    ("archive restore nosuch", 1, "nosuch"),
    ("expand nonsense", 2, "is not a key"),
    # texts that mean nothing
    ("search", 2, "Search for what?"),
    ("search since:soon x", 2, "'soon' is not a time"),
    ("search kind:foo x", 2, "kind:foo is not a kind"),
    ("search --update x", 2, "take no query"),
    ("pin", 2, "Missing argument 'TEXT...'"),
    ("unpin 3", 1, "3"),
    ("trim --tools ,", 2, "names no tool"),
    ("forget --text ab", 2, "at least"),
    ("forget", 2, "Name one thing to forget"),
    ("config tresholds.caution", 2, "Did you mean thresholds.caution?"),
    ("config set thresholds.caution 0.6", 2, "To change it: leftoff config KEY VALUE."),
    ("config thresholds", 2, "Name one of them: thresholds.caution, thresholds.warning,"),
    ("config thresholds.caution 80", 2, "leftoff config thresholds.caution 0.8"),
    ("config thresholds.caution much", 2, "it takes: fraction 0-1"),
    ("config thresholds.caution 0.99", 2, "Nothing was changed."),
    ("log save --transcript x", 2, "go with --stdout"),
    ("pause record tool_call x --data {", 2, "--data is not JSON"),
    # found by trying
    ("trim --threshold -3", 2, "'-3' is not a whole number, 1 or more"),
    ("export --out /nowhere/session.md", 1, "not written: no such file or directory"),
    ("config nope.key", 2, "nope.key is not a setting. leftoff config --all lists them all."),
    ("config thresholds.caution nonsense", 2, "cannot be 'nonsense'; it takes: fraction 0-1"),
    ("config --unset", 2, "Unset which setting?"),
    ("expand 1-2-3", 2, "is not a key. Keys are at the end of placeholders"),
    ("archive restore zzzz", 1, "To list those that are: leftoff archive list --all"),
    ("trust /nowhere", 1, "no such file"),
    ("doctor zzzz", 1, "No session has the id 'zzzz'"),
    ("forget 0b54f7aa --project", 2, "Name one thing to forget"),
    ("pause status nope", 1, "No such pause here: 'nope'. To list them: leftoff pause list"),
    ("pause discard", 3, "No pause is running"),
    ("chat nowhere.py", 1, "no such agent file"),
    ("chat", 2, "Name one thing: an AGENT to chat with"),
    ("status /etc", 1, "this is a folder, not a transcript"),
    ("show /dev/null", 1, "not a regular file"),
    ("show ''", 2, "Which session? Name a number, an id, a path, or latest."),
    ("search kind:foo", 2, "is not a kind. There are: prompt"),
    ("search since:yesterdayy x", 2, "'yesterdayy' is not a time"),
    ("project load 9", 1, "To start one: leftoff project init"),
    ("project complete", 2, "Say which tasks"),
    ("untrim", 3, "there is nothing to restore"),
    ("report --project /nowhere", 1, "there is no such folder"),
    # twenty more
    ("trim --keep abc", 2, "does not name cuts of the plan; write numbers, such as 3 or 2,5-8"),
    ("trim --cut 5-2", 2, "'5-2' counts down; write 2-5"),
    ("smart-trim --level extreme", 2, "is not one of 'careful', 'normal', 'strong'"),
    ("rollover -x", 2, "No such option '-x'"),
    ("lineage /nowhere.jsonl", 1, "no such file. To list the sessions: leftoff sessions"),
    ("report --agent gpt", 2, "There are: claude, codex."),
    ("search --kind prompt", 2, "No such option '--kind'"),
    ("search since:2026-13-45 x", 2, "Type a day (2026-01-31), or how long ago: 7d, 12h, 3w."),
    ("search errors:maybe x", 2, "Type errors:yes or errors:no."),
    ("pin ' '", 2, 'Try: leftoff pin "never push to main"'),
    ("log verify --text /nowhere", 2, "No such file or directory"),
    ("log cleanup --keep -1", 2, "how many logs to keep, 0 or more. Nothing was deleted."),
    ("pause record nonsense x", 2, "is not one of 'tool_call', 'assistant_response'"),
    ("pause compress --older-than soon", 2, "'soon' is not a whole number, 0 or more"),
    ("project init ''", 2, "needs a name of one line"),
    ("project save --phase coding", 2, "is not one of 'research', 'planning'"),
    ("chat https://", 2, "names no host"),
    ("chat --show nope", 1, "leftoff chat --list"),
    ("run nonsense", 2, "There are: claude, codex."),
    ("resume --remote", 1, "There is no remote: storage is 'files' in your settings."),
    ("export --out /", 2, "is a directory"),
    ("status ..", 1, "this is a folder, not a transcript"),
]


@pytest.fixture(autouse=True)
def session(isolated_home):
    """One session of this project."""
    path = isolated_home / ".claude" / "projects" / "-slug" / f"{SESSION}.jsonl"
    path.parent.mkdir(parents=True)
    story = (
        Story(session_id=SESSION, project=str(Path.cwd()))
        .asked("Fix the login")
        .replied("Done.", used=30_000)
    )
    write_transcript(claude.here(), story.script(), path)


@pytest.mark.parametrize(("typed", "code", "words"), MISTAKES, ids=[typed for typed, _, _ in MISTAKES])
def test_a_mistake_is_answered_in_one_line(typed, code, words, capsys):
    assert run(shlex.split(typed)) == code
    ended = capsys.readouterr()
    (line,) = ended.err.splitlines()
    assert words in line
    assert line.startswith("leftoff: ")
    assert "Traceback" not in line
    assert ended.out == ""


@pytest.mark.parametrize(
    ("typed", "code", "words"), MISTAKES[::7], ids=[typed for typed, _, _ in MISTAKES[::7]]
)
def test_with_json_it_is_the_same_line(typed, code, words, capsys):
    assert run([*shlex.split(typed), "--json"]) == code
    assert words in json.loads(capsys.readouterr().out)["error"]


def test_there_are_a_hundred():
    assert len({typed for typed, _, _ in MISTAKES}) >= 100
