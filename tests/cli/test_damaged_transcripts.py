"""Commands that copy a session, on lines that no agent writes but a crash or another program may: never a bug, never a changed file."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from leftoff.cli.main import run
from leftoff.testing.builders import Story, call
from tests.support.fixtures import CLAUDE_ID, CODEX_ID, Home

COMMANDS = (
    "trim {} --threshold 300 --force",
    "smart-trim {} --force",
    "advise {} --json",
    "rollover {} --force",
)


def surrogate_in_reply_id(record: dict[str, Any]) -> None:
    if "id" in record.get("message", {}):
        record["message"]["id"] += "\ud800"


def surrogate_in_usage(record: dict[str, Any]) -> None:
    for usage in (
        record.get("message", {}).get("usage"),
        ((record.get("payload") or {}).get("info") or {}).get("last_token_usage"),
    ):
        if usage:
            usage["note"] = "\udcff"


def surrogate_in_parent(record: dict[str, Any]) -> None:
    if record.get("parentUuid"):
        record["parentUuid"] += "\ud800"


def list_as_type(record: dict[str, Any]) -> None:
    if record.get("type") == "assistant":
        record["type"] = [1, 2, 3]


def object_as_type(record: dict[str, Any]) -> None:
    record["type"] = {"a": []} if "message" in record else record.get("type")


def infinite_number(record: dict[str, Any]) -> None:
    record["extra"] = float("inf")


@pytest.mark.parametrize(
    "damage",
    [
        surrogate_in_reply_id,
        surrogate_in_usage,
        surrogate_in_parent,
        list_as_type,
        object_as_type,
        infinite_number,
    ],
)
@pytest.mark.parametrize("agent", ["claude", "codex"])
def test_a_damaged_line_is_no_bug(
    home: Home, capsys: pytest.CaptureFixture[str], agent: str, damage: Callable[[dict[str, Any]], None]
) -> None:
    """Half of the lines are damaged, so that damaged and sound ones are on the same chain."""
    transcript = _written(home, agent)
    lines = [json.loads(line) for line in transcript.read_bytes().splitlines()]
    for record in lines[1::2]:
        damage(record)
    text = "".join(json.dumps(line) + "\n" for line in lines).replace("Infinity", "1e999")
    transcript.write_text(text, encoding="utf-8")
    _check_commands(transcript, capsys)


@pytest.mark.parametrize("agent", ["claude", "codex"])
@pytest.mark.parametrize("rest", [b"", b"garbage", b'{"half":', b"\xff\xfe"])
def test_glued_lines_are_no_bug(
    home: Home, capsys: pytest.CaptureFixture[str], agent: str, rest: bytes
) -> None:
    """Objects on one line, with something behind them that is none."""
    transcript = _written(home, agent)
    lines = transcript.read_bytes().splitlines()
    middle = len(lines) // 2
    glued = b"".join(lines[:middle]) + rest + b"\n" + b"\n".join(lines[middle:]) + rest + b"\n"
    transcript.write_bytes(glued)
    _check_commands(transcript, capsys)


def test_control_characters_of_a_transcript_stay_escaped_in_the_json_of_an_error(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """A message quotes names and ids, and a terminal would obey what is in them."""
    assert run(["show", "/nowhere/\x9b31m.jsonl", "--json"]) == 1
    out = capsys.readouterr().out
    assert "\x9b" not in out
    assert "\x9b31m" in json.loads(out)["error"]


def _written(home: Home, agent: str) -> Path:
    session_id = CLAUDE_ID if agent == "claude" else CODEX_ID
    story = Story(session_id=session_id, project=str(Path.cwd()), model="claude-sonnet-4-5")
    for turn in range(12):
        asked = story.asked(f"Step {turn}")
        asked.replied(
            "Reading.", call("shell", {"command": f"cat {turn}"}, "a line\n" * 400), used=100_000 + turn
        )
    return home.claude(story) if agent == "claude" else home.codex(story)


def _check_commands(transcript: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = transcript.read_bytes()
    for command in COMMANDS:
        code = run([word.format(transcript) for word in command.split()])
        shown = capsys.readouterr()
        assert "bug in leftoff" not in shown.out + shown.err, command
        assert code in {0, 1, 3}
    assert transcript.read_bytes() == before


def test_a_folder_and_a_transcript_whose_names_are_not_utf8_are_no_bug(
    home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Any bytes but / and NUL make a file name."""
    folder = tmp_path / os.fsdecode(b"w\xff")
    folder.mkdir()
    transcript = _written(home, "claude")
    monkeypatch.chdir(folder)
    odd = transcript.with_name(os.fsdecode(b"0b\xff54.jsonl"))
    transcript.rename(odd)
    for command in (
        "log save",
        "log list",
        "pause start --context 0.95",
        "pause finalize",
        "search Step",
        "lineage",
    ):
        run([*command.split(), *([str(odd)] if command in {"log save", "lineage"} else [])])
        shown = capsys.readouterr()
        assert "bug in leftoff" not in shown.out + shown.err, command
    _check_commands(odd, capsys)
