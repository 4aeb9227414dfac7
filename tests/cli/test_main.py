"""Every ending becomes an exit code and one clear sentence."""

import json
import signal
import subprocess
import sys
from pathlib import Path

import click
import pytest

from leftoff.agents import claude
from leftoff.cli import output
from leftoff.cli.main import COMMANDS, cli, run
from leftoff.errors import NotFoundError, NothingToDoError
from leftoff.platform import paths
from leftoff.testing.builders import Story
from tests.support.transcripts import write_transcript


def slow(value):
    """One more process for a fact that another value shows every day."""
    return pytest.param(value, marks=pytest.mark.slow)


def leftoff(*arguments, **options):
    """The real command in a process of its own."""
    return subprocess.run(
        [sys.executable, "-m", "leftoff", *arguments], capture_output=True, text=True, check=False, **options
    )


def all_commands(command=cli, name="leftoff"):
    yield name, command
    if isinstance(command, click.Group):
        context = click.Context(command)
        for inner in command.list_commands(context):
            yield from all_commands(command.get_command(context, inner), f"{name} {inner}")


@pytest.mark.parametrize(("name", "command"), [*all_commands()])
def test_every_command_explains_itself_with_an_example(name, command, capsys):
    """The help exits with 0 and ends with an example to type."""
    assert run([*name.split()[1:], "--help"]) == 0
    assert f"Example: {name.split(' ')[0]}" in capsys.readouterr().out


def test_an_unknown_command_is_wrong_usage():
    """The exit code is 2, and the message says what is wrong and what to type."""
    ended = leftoff("sesions")
    assert ended.returncode == 2
    assert "There is no command" in ended.stderr
    assert "leftoff --help" in ended.stderr
    assert ended.stdout == ""


@pytest.mark.parametrize(
    "arguments", [["doctor", "--nonsense"], ["report", "--nonsense", "x"], ["status", "a", "b"]]
)
def test_wrong_arguments_are_wrong_usage(arguments, capsys):
    """The exit code is 2, and the message names the help to read."""
    assert run(arguments) == 2
    assert f"Try: leftoff {arguments[0]}" in capsys.readouterr().err


def test_with_json_an_error_is_json_on_standard_output():
    """Scripts read one stream."""
    ended = leftoff("status", "nosuchsession", "--json")
    assert ended.returncode == 1
    assert "nosuchsession" in json.loads(ended.stdout)["error"]
    assert ended.stderr == ""


def test_wrong_usage_is_json_too(capsys):
    """With ``--json``, errors in the arguments are JSON too."""
    assert run(["doctor", "--json", "--nonsense"]) == 2
    assert "nonsense" in json.loads(capsys.readouterr().out)["error"]


def test_a_closed_pipe_is_not_an_error():
    """`leftoff … | head -1` ends quietly."""
    ended = subprocess.run(
        f"{sys.executable} -m leftoff config --all --json | head -1; echo ${{PIPESTATUS[0]}}",
        shell=True,
        executable="/bin/bash",
        capture_output=True,
        text=True,
        check=True,
    )
    assert ended.stdout.splitlines() == ["{", "0"]
    assert ended.stderr == ""


def test_an_interrupt_is_reported_in_one_word():
    """Ctrl-C gives exit code 130 and no traceback."""
    child = subprocess.Popen(
        [sys.executable, "-X", "importtime", "-m", "leftoff", "log", "verify", "--text", "-"],
        stdin=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert child.stderr is not None
    while "leftoff.resume_logs.verify_items" not in child.stderr.readline():
        pass  # its last import: now it reads the text from standard input, which nobody writes
    child.send_signal(signal.SIGINT)
    _, stderr = child.communicate(timeout=60)
    assert child.returncode == 130
    assert stderr.splitlines()[-1] == "leftoff: Interrupted."


def test_an_interrupt_is_how_watching_ends():
    """That is not an error, so nothing is reported."""
    golden = Path(__file__).parents[1] / "golden" / "transcripts" / "claude-2.1.4-tiny-interrupted.jsonl"
    child = subprocess.Popen(
        [sys.executable, "-m", "leftoff", "status", str(golden), "--watch"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert child.stdout is not None
    while "Ctrl-C to quit" not in child.stdout.readline():
        pass
    child.send_signal(signal.SIGINT)
    _, stderr = child.communicate(timeout=60)
    assert (child.returncode, stderr) == (0, "")


@pytest.fixture
def command_that(monkeypatch):
    """Add a command to the real command line, which calls a given function."""

    def put(work):
        extra = click.Command(
            "extra", callback=work, params=[click.Option(["--json", "as_json"], is_flag=True)]
        )
        original = type(cli).get_command
        monkeypatch.setattr(
            type(cli),
            "get_command",
            lambda self, ctx, name: extra if name == "extra" else original(self, ctx, name),
        )

    return put


def test_our_own_errors_become_their_exit_code(command_that, capsys):
    """1 could not, 3 nothing to do; the sentence goes to standard error."""

    def fail(as_json):
        raise NotFoundError("No log of \x1b[31mthat\x1b[0m name.")

    command_that(fail)
    assert run(["extra"]) == 1
    assert capsys.readouterr().err == "leftoff: No log of ␛[31mthat␛[0m name.\n"

    def nothing(as_json):
        raise NothingToDoError("Nothing to trim.")

    command_that(nothing)
    assert run(["extra"]) == 3


def test_a_bug_is_reported_in_a_sentence_with_its_place(command_that, capsys):
    """A bug is reported in one sentence instead of a traceback, and as JSON with ``--json``."""

    def bug(as_json):
        return {}["missing"]

    command_that(bug)
    assert run(["extra"]) == 1
    message = capsys.readouterr().err
    assert "This is a bug in leftoff" in message
    assert "test_main.py:" in message
    assert "Traceback" not in message
    assert run(["extra", "--json"]) == 1
    assert "bug" in json.loads(capsys.readouterr().out)["error"]


def test_a_commands_number_is_its_exit_code(command_that):
    """A command that returns nothing has exit code 0."""
    command_that(lambda as_json: 7)
    assert run(["extra"]) == 7
    command_that(lambda as_json: None)
    assert run(["extra"]) == 0


def test_foreign_text_can_do_nothing_to_a_terminal():
    """Control characters, escape sequences and characters that turn text round are shown, not sent."""
    assert output.visible("a\x1b]0;evil\x07b\x00\x7f\x9b") == "a␛]0;evil␇b␀␡<U+009B>"
    assert output.visible("user\u202egpj.exe\u200b") == "user<U+202E>gpj.exe<U+200B>"
    assert output.visible("tabs\tand\nlines stay ✓ 日本語") == "tabs\tand\nlines stay ✓ 日本語"
    assert output.one_line("two\nlines   and\tmore", 12) == "two lines a…"


def test_every_command_of_the_table_exists():
    """The table on one screen tells the truth."""
    for name in COMMANDS:
        assert cli.get_command(click.Context(cli), name) is not None
    assert cli.get_command(click.Context(cli), "nonsense") is None


@pytest.mark.slow
def test_nothing_is_styled_outside_a_terminal():
    """Into a pipe there is no escape sequence; on a terminal there is, and the gauge of the demo moves."""
    piped, shown = leftoff("demo").stdout, on_a_terminal("demo")
    assert "\x1b" not in piped
    assert "\r" not in piped
    assert "\x1b[1m" in shown
    assert shown.count("█ ") + shown.count("█░") > piped.count("█░") + 50


def on_a_terminal(*arguments, **environment):
    """What the command writes to a real terminal (a pseudo one)."""
    command = " ".join([sys.executable, "-m", "leftoff", *arguments])
    ended = subprocess.run(
        ["script", "-qec", command, "/dev/null"],
        capture_output=True,
        text=True,
        check=False,
        env=paths.environment() | {"TERM": "xterm-256color"} | environment,
    )
    return ended.stdout


def test_json_may_precede_the_command():
    """`leftoff --json sessions` means the same as `leftoff sessions --json`."""
    assert json.loads(leftoff("--json", "sessions").stdout) == []


@pytest.mark.parametrize(
    "arguments", [slow("demo"), "doctor", slow("config --all"), "show --help", slow("report --help")]
)
def test_no_command_minds_a_closed_pipe(arguments):
    """A closed pipe gives exit code 0 and nothing on standard error, even where rich draws."""
    ended = subprocess.run(
        f"{sys.executable} -m leftoff {arguments} | true; echo ${{PIPESTATUS[0]}}",
        shell=True,
        executable="/bin/bash",
        capture_output=True,
        text=True,
        check=True,
    )
    assert ended.stdout.splitlines()[-1] == "0"
    assert ended.stderr == ""


@pytest.mark.slow
def test_a_terminal_of_another_encoding_shows_question_marks():
    ended = subprocess.run(
        [sys.executable, "-m", "leftoff", "demo"],
        capture_output=True,
        check=False,
        env=paths.environment() | {"PYTHONIOENCODING": "latin-1"},
    )
    assert ended.returncode == 0
    assert b"? Context Usage Caution" in ended.stdout


@pytest.mark.parametrize(
    "arguments",
    [["doctor", "--json"], ["doctor"], slow(["log", "save", "--stdout"]), slow(["sessions"]), ["--help"]],
)
def test_a_full_disk_behind_standard_output_is_reported(isolated_home, arguments):
    """Exit code 1 and one sentence, also with --json, whatever the command and however much it writes."""
    path = isolated_home / ".claude" / "projects" / "-slug" / "0b54f7aa-6d0c-4c7b-9d57-3f6c9d9a3b11.jsonl"
    path.parent.mkdir(parents=True)
    story = Story(project=str(Path.cwd())).asked("Fix the login. Never push.").replied("Done.")
    write_transcript(claude.here(), story.script(), path)
    with Path("/dev/full").open("w", encoding="utf-8") as full:
        ended = subprocess.run(
            [sys.executable, "-m", "leftoff", *arguments],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert ended.returncode == 1
    assert ended.stderr == "leftoff: Standard output could not be written: No space left on device.\n"


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["show", "nosuch", "--json"], 1, "has the id 'nosuch'"),
        (["search", "since:soon", "--json"], 2, "'soon' is not a time"),
        (["sessions", "--nonsense", "--json"], 2, "No such option"),
    ],
)
def test_what_went_wrong_is_reported_on_standard_error_where_the_output_is_full(
    isolated_home, arguments, code, words
):
    """The message is one line, and the exit code is the same as without the full disk."""
    with Path("/dev/full").open("w", encoding="utf-8") as full:
        ended = subprocess.run(
            [sys.executable, "-m", "leftoff", *arguments],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert ended.returncode == code
    assert words in ended.stderr
    assert ended.stderr.count("\n") == 1


@pytest.mark.parametrize(
    "arguments", ["sessions", slow("sessions --json"), slow("log list"), "--help", slow("config --all")]
)
def test_a_standard_output_that_is_closed_from_the_start_is_not_an_error(arguments):
    """The command does its work without output."""
    ended = subprocess.run(
        f"{sys.executable} -m leftoff {arguments} >&-",
        shell=True,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode in {0, 3}
    assert ended.stderr == ""


def test_a_folder_that_is_gone_is_named(tmp_path, isolated_home):
    """No session can be found in a deleted folder; what does not need the folder still works."""
    gone = tmp_path / "gone"
    gone.mkdir()
    elsewhere = (
        isolated_home / ".claude" / "projects" / "-elsewhere" / "5b0e6f0a-3c1d-4e7f-9a55-0d2f7c1b8e46.jsonl"
    )
    elsewhere.parent.mkdir(parents=True)
    write_transcript(
        claude.here(), Story(session_id=elsewhere.stem, project="/elsewhere").asked("Hi").script(), elsewhere
    )
    ended = subprocess.run(
        f"cd {gone} && rmdir {gone} && {sys.executable} -m leftoff status",
        shell=True,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 3
    assert f"No session of {gone} was found" in ended.stderr


@pytest.mark.parametrize("words", ["x" * 5_000, "9" * 5_000, "~nosuchuser/x", "../../etc/passwd", "a\x1bb"])
def test_no_words_for_a_session_are_a_bug(words, capsys):
    """Any odd selector of a session gives exit code 1 and one sentence."""
    assert run(["status", words]) == 1
    err = capsys.readouterr().err
    assert "bug" not in err
    assert len(err) < 500


def test_a_projects_own_modules_are_not_run(tmp_path):
    """A folder can hold a click.py of any kind."""
    for name in ("click", "json", "orjson", "rich"):
        Path(f"{name}.py").write_text("raise SystemExit('EVIL')", encoding="utf-8")
    ended = leftoff("doctor", "--json")
    assert "EVIL" not in ended.stdout + ended.stderr
    assert ended.returncode == 0
