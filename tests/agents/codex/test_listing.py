"""Finding rollouts, and what a list shows of each."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from leftoff.agents.codex import Codex
from leftoff.core.session import Parent
from leftoff.errors import TranscriptError
from leftoff.testing.builders import Story
from tests.support.transcripts import write_transcript

THREAD = "01a1e0be-dee8-7b23-ae31-94e0123734a3"
OTHER = "01a1e0c3-2973-72d0-9289-32a36be70e5a"


def meta(thread: str = THREAD, **more: Any) -> dict[str, Any]:
    return {
        "timestamp": "2026-11-15T19:46:07Z",
        "type": "session_meta",
        "payload": {"id": thread, "cwd": "/w", **more},
    }


def user_message(text: str, kind: str) -> dict[str, Any]:
    payload = {
        "type": "message",
        "role": "user",
        "content": [{"type": "input_text", "text": text}],
        "internal_chat_message_metadata_passthrough": {"content_item_kinds": [kind]},
    }
    return {"type": "response_item", "payload": payload}


def turn(model: str) -> dict[str, Any]:
    return {"type": "turn_context", "payload": {"model": model, "cwd": "/w"}}


# Finding


def test_rollouts_are_found_wherever_codex_keeps_them(codex: Codex, rollout: Callable[..., Path]) -> None:
    """Rollouts are in the dated folders, directly in ``sessions`` and in the archive."""
    found = {
        rollout([meta()], THREAD),
        rollout([meta(OTHER)], OTHER, "sessions"),
        rollout([meta("a")], "a", "archived_sessions"),
    }
    next(iter(found)).with_name("notes.jsonl").touch()
    next(iter(found)).with_name("rollout-x.txt").touch()
    assert {*codex.transcripts()} == found


def test_nothing_is_found_without_a_home(codex: Codex) -> None:
    assert [*codex.transcripts()] == []


@pytest.mark.parametrize(
    "source",
    [{"source": {"subagent": {"thread_spawn": {"parent_thread_id": OTHER}}}}, {"thread_source": "subagent"}],
)
def test_subagents_own_files_are_left_out(
    codex: Codex, rollout: Callable[..., Path], source: dict[str, Any]
) -> None:
    """The files of subagents belong to the session that started them."""
    main = rollout([meta(source="cli")])
    rollout([meta(OTHER, **source)], OTHER)
    assert [*codex.transcripts()] == [main]


def test_a_loop_of_links_ends(codex: Codex, home: Path, rollout: Callable[..., Path]) -> None:
    """Folders are not followed through links."""
    path = rollout([meta()])
    (home / "sessions/loop").symlink_to(home / "sessions")
    (home / "sessions/rollout-2026-11-15T19-46-07-gone.jsonl").symlink_to(home / "nowhere")
    assert path in {*codex.transcripts()}


# The line of the list


def test_the_entry_shows_the_first_real_prompt(codex: Codex, rollout: Callable[..., Path]) -> None:
    """The environment and the text of hooks are not the first prompt."""
    path = rollout(
        [
            meta(cli_version="0.166.0"),
            user_message("<environment_context>…", "environments.environment_context"),
            user_message("hook", "hooks.additional_context"),
            user_message("  Fix the login\n", "user.text"),
            turn("gpt-5.5"),
            user_message("And the logout", "user.text"),
            turn("gpt-6-sol"),
        ]
    )
    entry = codex.entry(path)
    assert (entry.session_id, entry.project, entry.first_prompt) == (THREAD, "/w", "Fix the login")
    assert (entry.model, codex.open(path).model) == ("gpt-6-sol", "gpt-5.5")
    assert (entry.size_bytes, entry.parent) == (path.stat().st_size, None)


def test_a_derived_session_names_its_parent(codex: Codex, rollout: Callable[..., Path]) -> None:
    """Trimmed and continued ones by what leftoff wrote into them, forked ones by what Codex did."""
    note = {"parent_file": "/old/a.jsonl"}
    trimmed = codex.entry(rollout([meta(forked_from_id=OTHER, trim_metadata=note)])).parent
    assert trimmed == Parent(session_id=OTHER, transcript="/old/a.jsonl", derivation="trimmed")
    continued = codex.entry(rollout([{**meta(), "continue_metadata": note}])).parent
    assert continued == Parent(session_id=None, transcript="/old/a.jsonl", derivation="continued")
    forked = codex.entry(rollout([meta(forked_from_id=OTHER)])).parent
    assert forked == Parent(session_id=OTHER, transcript=None, derivation="forked")


def test_a_headless_file_goes_by_its_name(codex: Codex, rollout: Callable[..., Path], tmp_path: Path) -> None:
    """Without a header the id comes from the file name."""
    assert codex.entry(rollout([b"torn\n", turn("m")])).session_id == THREAD
    other = tmp_path / "copy.jsonl"
    other.write_bytes(b"")
    assert codex.open(other).session_id == "copy"


def test_a_header_further_down_belongs_to_another_session(codex: Codex, rollout: Callable[..., Path]) -> None:
    """Old forks copied the parent's lines, header and all; the first counts."""
    assert codex.entry(rollout([meta(), meta(OTHER)])).session_id == THREAD


def test_a_bare_header_names_the_session(codex: Codex, rollout: Callable[..., Path]) -> None:
    """Until August 2025 the first line had no type, and the folder was in the environment text."""
    header = {"id": OTHER, "timestamp": "2025-08-26T20:06:08Z", "instructions": None}
    words = "<environment_context>\nCurrent working directory: /old\n</environment_context>"
    bare = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": words}]}
    entry = codex.entry(rollout([header, bare]))
    assert (entry.session_id, entry.project, entry.first_prompt) == (OTHER, "/old", None)


def test_the_oldest_files_are_listed(codex: Codex, real_transcripts: Path) -> None:
    """The folder is in the text on the environment, and there is no usage."""
    entry = codex.entry(real_transcripts / "codex-old-header-cjk.jsonl")
    assert entry.session_id == "e242c65b-c00b-46b3-bb89-80bbf0196c75"
    assert entry.project == "/Users/kobra/Dev/Chatgpt-Apps/ocodex-labs"
    assert entry.occupancy.used_tokens is None
    assert (entry.first_prompt or "").startswith("can you fix target/debug/orchestrator")


def test_a_missing_file_is_a_transcript_error(codex: Codex, home: Path) -> None:
    """Every call on a missing file raises a TranscriptError."""
    for ask in (codex.entry, codex.open, codex.occupancy):
        with pytest.raises(TranscriptError):
            ask(home / "missing.jsonl")


def test_a_link_to_nowhere_and_a_folder_are_one_sentence(codex: Codex, tmp_path: Path) -> None:
    """The error for a link to nowhere and for a folder names the path."""
    link = tmp_path / "link.jsonl"
    link.symlink_to(link)
    for path in (link, tmp_path):
        with pytest.raises(TranscriptError, match=str(path)):
            codex.entry(path)


# Recognising


def test_rollouts_of_all_kinds_are_recognised(codex: Codex, sample: Path) -> None:
    """Rollouts are recognised by their first line, and recorded hook inputs are not taken for rollouts."""
    assert codex.recognises(sample.read_bytes()[:4096])
    assert codex.recognises(
        b'{"id":"e242","timestamp":"2025-08-26T20:06:08Z","instructions":null,"git":{}}\n'
    )
    hooks = sample.with_name("codex-0.166.0-hook-inputs.jsonl")
    assert not codex.recognises(hooks.read_bytes()[:4096])


def test_real_rollouts_are_recognised(codex: Codex, real: Path) -> None:
    assert codex.recognises(real.read_bytes()[:4096])


def test_a_story_is_listed_with_its_numbers(codex: Codex, home: Path) -> None:
    """The used tokens and the window come from the end of the rollout."""
    path = home / "sessions" / f"rollout-2026-01-06T12-00-00-{THREAD}.jsonl"
    path.parent.mkdir(parents=True)
    story = Story(session_id=THREAD, window_tokens=258_400).asked("Go").replied("Done", used=77_000)
    write_transcript(codex, story.script(), path)
    entry = codex.entry(path)
    assert (entry.occupancy.used_tokens, entry.occupancy.window_tokens, entry.model) == (
        77_000,
        258_400,
        "sample-1",
    )
