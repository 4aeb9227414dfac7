"""A session exported as Markdown."""

import json
from pathlib import Path

import pytest

from leftoff.errors import UsageError
from leftoff.sessions import show
from leftoff.shrink import rollover
from leftoff.testing.builders import Story, call
from leftoff.workspace import Workspace
from tests.support.long_sessions import FIRST, write_long_session

KEY = "AKIAZ7QX3TPLMV5KW2RD"


def test_an_export_shows_prompts_replies_calls_and_results(home):
    """A fence inside cannot end ours; credentials are removed."""
    story = Story(session_id=FIRST, project=str(Path.cwd()))
    story.asked("Show it").replied(
        "Here:",
        call("shell", {"command": "cat a.md"}, f"````\ncode\n````\naws_access_key_id = {KEY}\n", failed=True),
        thinking="Hm.",
    )
    text = "".join(show.export(str(home.claude(story)), Workspace.open(), chain=False))
    assert text.startswith(f"# Session {FIRST}\n\n- Agent: claude\n")
    for words in (
        "## User",
        "Show it",
        "## Assistant",
        "Here:",
        "`````\n````\ncode\n````",
        "failed:",
        "thinking",
    ):
        assert words in text
    assert KEY not in text


def test_a_chain_is_exported_from_its_beginning(home):
    """A chain is exported even if the file of its first session is gone."""
    source = write_long_session(home, "claude")
    fresh = rollover.roll_over(str(source), Workspace.open(), rollover.RolloverOptions()).output_file
    text = "".join(show.export(str(fresh), Workspace.open(), chain=True))
    assert text.index(f"# Session {FIRST}") < text.index(f"# Session {fresh.stem}")
    assert f"continued from {FIRST}" in text
    source.unlink()
    assert "This session's file is gone" in "".join(show.export(str(fresh), Workspace.open(), chain=True))


def test_an_export_never_overwrites(tmp_path):
    out = tmp_path / "a.md"
    assert show.write_export(iter(["# ", "ä"]), out) == 4
    assert out.stat().st_mode & 0o777 == 0o600
    with pytest.raises(UsageError, match="exists already"):
        show.write_export(iter([]), out)
    with pytest.raises(Exception, match="not written"):
        show.write_export(iter([]), tmp_path / "nowhere" / "a.md")


def test_images_and_unknown_blocks_are_named_in_an_export(home):
    source = write_long_session(home, "claude", turns=1)
    lines = source.read_text(encoding="utf-8").splitlines()
    at = next(number for number, line in enumerate(lines) if '"content":"Step 0' in line)
    blocks = [
        {"type": "text", "text": "Look"},
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}},
        {"type": "hologram", "data": "x"},
    ]
    line = json.loads(lines[at])
    line["message"]["content"] = blocks
    lines[at] = json.dumps(line)
    source.write_text("\n".join(lines) + "\n", encoding="utf-8")
    text = "".join(show.export(str(source), Workspace.open(), chain=False))
    assert "*(image/png, " in text
    assert "*(hologram, " in text


def test_text_cannot_become_markup_in_an_export(home):
    """Tags, active links and direction marks are escaped."""
    words = "Look at `<i>`, \\\\<script>alert(1)</script> [here](javascript:alert(1)) and <b>x</b> \u202egnp.exe\u2066 1 < 2"
    story = Story(session_id=FIRST, project=str(Path.cwd()))
    story.asked(words).replied(
        f"Reply {words}", call("shell", {"command": "cat <a"}, f"</details> \u202e{words}"), thinking=words
    )
    text = "".join(show.export(str(home.claude(story)), Workspace.open(), chain=False))
    assert "\u202e" not in text
    assert "\u2066" not in text
    outside, is_code = [], False
    for line in text.splitlines():
        if line.startswith("```"):
            is_code = not is_code
        elif not is_code:
            outside.append(line)
    visible = "\n".join(outside)
    assert "<script" not in visible
    assert "<b>" not in visible
    assert "`<i>`" in visible
    assert "](javascript:" not in visible
    assert "&lt;script>alert(1)&lt;/script>" in visible
    assert "1 < 2" in visible
    assert "cat <a" in text
