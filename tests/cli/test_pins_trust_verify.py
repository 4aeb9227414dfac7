"""pin, pins, unpin, trust and log verify as they are typed."""

import json
import os
import pty
import re
import subprocess
import sys
from pathlib import Path

import pytest

from leftoff.cli.log_commands import verify
from leftoff.cli.main import run
from leftoff.storage.file_store import FileStore
from tests.resume_logs.sample_logs import full, log

pytestmark = pytest.mark.measured


def leftoff(*arguments, **options):
    """The real command in a process of its own."""
    return subprocess.run(
        [sys.executable, "-m", "leftoff", *arguments], capture_output=True, text=True, check=False, **options
    )


@pytest.mark.slow
def test_pin_list_and_unpin():
    """Words need no quotes; each step says what happened."""
    ended = leftoff("pin", "never", "push", "to", "main")
    assert (ended.returncode, ended.stderr) == (0, "")
    assert ended.stdout.startswith("Pinned as number 1: never push to main\n")
    assert "of 2,000 tokens" in ended.stdout
    assert leftoff("pin", "never push to main").returncode == 3
    assert leftoff("pins").stdout == "  1  never push to main\n"
    assert json.loads(leftoff("pins", "--json").stdout)[0]["text"] == "never push to main"
    assert leftoff("unpin", "1").stdout == "No longer pinned: never push to main\n"
    assert leftoff("pins").stdout.startswith("Nothing is pinned in this project.")
    leftoff("pin", "again")
    assert json.loads(leftoff("unpin", "1", "--json").stdout) == {"text": "again", "left": 0}
    ended = leftoff("unpin", "1")
    assert (ended.returncode, ended.stdout) == (1, "")
    assert "It has none" in ended.stderr


def test_a_credential_is_removed_and_said():
    """The kept text is shown, and the secret is nowhere on disk."""
    secret = "ghp_" + "A1b2C3d4E5f6G7h8I9j0" + "K1l2M3n4O5p6Q7r8"
    ended = leftoff("pin", f"the token is {secret}", "--json")
    kept = json.loads(ended.stdout)
    assert secret not in ended.stdout
    assert kept["redacted"]
    assert "[REDACTED:" in kept["text"]
    home = Path(os.environ["HOME"])  # noqa: TID251 - the test's own
    assert not any(secret in path.read_text(errors="replace") for path in home.rglob("*.jsonl"))
    unredacted = leftoff(
        "pin",
        f"as it is: {secret}",
        env={**os.environ, "LEFTOFF_REDACTION_ENABLED": "false"},  # noqa: TID251
    )
    assert secret in unredacted.stdout
    other = leftoff("pin", f"or {secret}")
    assert "Taken out before it was written" in other.stdout


@pytest.mark.parametrize(
    "arguments", [["pin"], ["pin", ""], ["pin", "a\x1bb"], ["unpin"], ["unpin", "0"], ["unpin", "x"]]
)
def test_wrong_usage(arguments, capsys):
    """Wrong usage gives exit code 2 and says what to type."""
    assert run(arguments) == 2
    out, err = capsys.readouterr()
    assert "leftoff" in err
    assert out == ""


@pytest.fixture
def foreign():
    """A log that this machine did not write."""
    FileStore(Path.cwd() / ".leftoff" / "resume-logs").save(full())
    return Path.cwd() / ".leftoff" / "resume-logs" / "session-s1.json"


def test_trust_lists_what_waits_and_trusts_only_with_consent(foreign):
    """Without a terminal nothing is trusted, and the output says what to type."""
    ended = leftoff("trust", stdin=subprocess.DEVNULL)
    assert (ended.returncode, "session-s1.json" in ended.stdout) == (0, True)
    assert "Session Resume Log: s1" in ended.stdout
    assert ended.stdout.endswith(
        "These are not used until you trust them. Read them, then: leftoff trust DOCUMENT\n"
    )
    ended = leftoff("trust", str(foreign), stdin=subprocess.DEVNULL)
    assert ended.returncode == 1
    assert "Nothing was trusted" in ended.stdout
    ended = leftoff("trust", "--yes", str(foreign), "--json")
    assert ended.returncode == 0
    assert len(json.loads(ended.stdout)["trusted"]) == 2
    assert leftoff("trust").stdout == "Every document of this project is trusted.\n"
    assert "Nothing to trust" in leftoff("trust", str(foreign)).stdout
    assert leftoff("trust", "nowhere.md").returncode == 1


def test_trust_tells_what_each_is_and_what_the_project_sets(foreign):
    """The kinds are given as text and as JSON; settings that a project may not make are ignored."""
    settings = Path.cwd() / ".leftoff" / "configuration.yaml"
    settings.write_text(
        "context_management:\n  thresholds:\n    caution: 0.6\n  summariser: rm -rf\n", encoding="utf-8"
    )
    output = leftoff("trust").stdout
    assert "    a resume log: offered to the next session here\n" in output
    assert f"    thresholds.caution: 0.6  {settings}:3\n" in output
    assert "They cannot run or send anything" in output
    assert "summariser may not be set by a project's file" in " ".join(output.split())
    data = json.loads(leftoff("trust", "--json").stdout)
    assert [*data] == ["documents", "trusted", "settings", "passed_over"]
    assert {each["what"] for each in data["documents"]} == {"a resume log: offered to the next session here"}
    assert data["settings"] == [{"key": "thresholds.caution", "value": 0.6, "line": 3}]
    assert len(data["passed_over"]) == 1


@pytest.mark.parametrize(
    ("answer", "code", "words"), [(b"y\n", 0, b"Trusted: 2."), (b"n\n", 1, b"Nothing was trusted")]
)
def test_on_a_terminal_trust_asks(foreign, answer, code, words):
    """The default answer is no."""
    main, terminal = pty.openpty()
    with subprocess.Popen(
        [sys.executable, "-m", "leftoff", "trust", str(foreign)],
        stdin=terminal,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as child:
        os.write(main, answer)
        stdout, stderr = child.communicate(timeout=60)
    os.close(main)
    os.close(terminal)
    assert (child.returncode, words in stdout) == (code, True)
    assert b"Use these 2 documents from now on?" in stderr


def run_verify(capsys, *arguments):
    code = verify.main([*arguments], prog_name="leftoff log verify", standalone_mode=False)
    return code, capsys.readouterr().out


def test_verify_shows_what_is_not_supported(foreign, capsys):
    """A list, the counts, and exit code 0 as long as nothing is contradicted."""
    code, out = run_verify(capsys)
    assert code == 0
    assert "no source is named" in out
    assert re.search(r"79 items: 0 supported, 79 source gone. ", out.replace("\n", ""))
    code, out = run_verify(capsys, "s1", "--json")
    assert len(json.loads(out)["verdicts"]) == 79
    code, out = run_verify(capsys, str(foreign), "--markdown")
    assert "(source gone)" in out
    assert out.startswith("# Session Resume Log: s1")


def test_verify_checks_a_text(foreign, capsys, tmp_path):
    """Unknown files are struck out, and the exit code is then 1."""
    text = tmp_path / "text.md"
    text.write_text("Wrote src/part_1.py and src/evil.py\x1b[2J", encoding="utf-8")
    code, out = run_verify(capsys, "--text", str(text))
    assert code == 1
    assert "Wrote src/part_1.py and ~~src/evil.py~~␛[2J" in out
    assert "2 things in it can be checked by the words: 1 unknown." in out
    code, out = run_verify(capsys, "--text", str(text), "--json")
    assert [each["known"] for each in json.loads(out)["findings"]] == [True, False]
    text.write_text("Wrote src/part_1.py", encoding="utf-8")
    code, out = run_verify(capsys, "--text", str(text))
    assert code == 0
    assert "1 thing in it can be checked by the words: all known." in out


def test_a_text_without_anything_to_check_is_reported_as_such(foreign, capsys, tmp_path):
    """The message does not claim that everything is right, and the exit code is 3."""
    text = tmp_path / "text.md"
    text.write_text("We deployed to production and everybody is happy.", encoding="utf-8")
    code, out = run_verify(capsys, "--text", str(text))
    assert code == 3
    assert "Nothing in it can be checked by its words" in out


def test_verify_ends_with_one_when_something_is_contradicted(capsys, tmp_path):
    """The output names the line of the record that contradicts the log."""
    import hashlib  # noqa: PLC0415

    from leftoff.core.provenance import Source  # noqa: PLC0415
    from leftoff.core.records import Place  # noqa: PLC0415

    raw = b'{"text": "never push"}\n'
    (tmp_path / "t").write_bytes(raw)
    place = Place(str(tmp_path / "t"), 0, 0, len(raw))
    of = log(
        critical_context={"pins": ["always push"]},
        sources=[
            Source(
                item="critical_context/pins/0",
                place=place,
                sha256=hashlib.sha256(raw).hexdigest(),
                excerpt="",
            )
        ],
    )
    FileStore(Path.cwd() / ".leftoff" / "resume-logs").save(of)
    code, out = run_verify(capsys)
    assert code == 1
    assert "contradicted: critical context pins 0" in out
    assert "(line 1)" in " ".join(out.split())
    code, out = run_verify(capsys, "--json")
    assert json.loads(out)["verdicts"][0]["place"] == {"transcript": str(tmp_path / "t"), "line": 1}
