"""Sessions are found under the agent's home, and a look at head and tail says what a list shows."""

import os
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from leftoff.agents.claude import Claude
from leftoff.core.session import Parent
from leftoff.errors import TranscriptError

Line = dict[str, Any]
ID = "0b54f7aa-6d0c-4c7b-9d57-3f6c9d9a3b11"


def user(content: Any, **fields: Any) -> Line:
    return {
        "type": "user",
        "sessionId": "in-the-line",
        "cwd": "/home/dev/p",
        "message": {"content": content},
        **fields,
    }


def reply(used: int, **fields: Any) -> Line:
    message = {"id": f"m{used}", "model": "claude-opus-5-5", "content": [], "usage": {"input_tokens": used}}
    return {"type": "assistant", "message": message, **fields}


def test_transcripts_are_those_of_sessions(claude: Claude) -> None:
    """Sessions are found in every project's folder; files of subagents and other files are left out."""
    for name in (
        f"-a/{ID}.jsonl",
        "-b/x.jsonl",
        "-b/agent-7.jsonl",
        f"-b/{ID}/subagents/agent-8.jsonl",
        "-b/notes.md",
        "c.jsonl",
    ):
        path = claude.home / "projects" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    found = {str(path.relative_to(claude.home / "projects")) for path in claude.transcripts()}
    assert found == {f"-a/{ID}.jsonl", "-b/x.jsonl"}
    assert claude.subagents(claude.home / f"projects/-b/{ID}.jsonl") == (
        claude.home / f"projects/-b/{ID}/subagents/agent-8.jsonl",
    )


def test_a_home_that_is_not_there_has_no_sessions(claude: Claude) -> None:
    """A missing home has no sessions, and a session without subagents has no subagent files."""
    assert [*claude.transcripts()] == []
    assert claude.subagents(claude.home / "x.jsonl") == ()


def test_an_unreadable_folder_does_not_hide_the_others(
    unprivileged_folder: Path, run_python: Callable[..., Any]
) -> None:
    """The other projects are listed."""
    for name in ("open", "closed"):
        (unprivileged_folder / f"projects/{name}").mkdir(parents=True)
        (unprivileged_folder / f"projects/{name}/s.jsonl").touch()
    (unprivileged_folder / "projects/closed").chmod(0)
    code = (
        "import sys; from pathlib import Path; from leftoff.agents.claude import Claude, listing\n"
        "drop()\n"
        "print([path.parent.name for path in Claude(home=Path(sys.argv[1])).transcripts()])"
    )
    assert run_python(code, unprivileged_folder).stdout == "['open']\n"
    (unprivileged_folder / "projects/closed").chmod(0o700)


def test_the_first_prompt_is_what_the_user_typed(claude: Claude, written: Callable[..., Path]) -> None:
    """Caveats, command output, hook text, notices and summaries are not taken for the first prompt."""
    path = written(
        {"type": "summary", "summary": "x", "leafUuid": "y"},
        user("<local-command-caveat>x</local-command-caveat>", isMeta=True),
        user("<command-name>/clear</command-name>"),
        user("[Request interrupted by user]"),
        user("inner task", isSidechain=True),
        user([{"type": "image", "source": {"data": "AAAA"}}]),
        user(
            [
                {"type": "text", "text": "<ide_opened_file>a.py</ide_opened_file>"},
                {"type": "text", "text": " Fix the login\n"},
            ]
        ),
        user("second"),
    )
    assert claude.entry(path).first_prompt == "Fix the login"


def test_a_first_prompt_by_slash_command_is_shown_as_typed(
    claude: Claude, written: Callable[..., Path]
) -> None:
    """A slash command is listed with its arguments."""
    sent = "<command-message>go</command-message>\n<command-name>/go</command-name>\n<command-args>left</command-args>"
    assert claude.entry(written(user(sent))).first_prompt == "/go left"


def test_what_a_list_shows(claude: Claude, written: Callable[..., Path]) -> None:
    """An entry has the id, folder, size, time, usage and model."""
    boundary = {
        "type": "system",
        "subtype": "compact_boundary",
        "compactMetadata": {"trigger": "auto", "preTokens": 9},
    }
    path = written(user("go"), reply(10), boundary, user("s", isCompactSummary=True), user("on"), reply(7))
    os.utime(path, (1_700_000_000, 1_700_000_000))
    entry = claude.entry(path)
    assert (entry.agent, entry.session_id, entry.project) == ("claude", "in-the-line", "/home/dev/p")
    assert (entry.size_bytes, entry.modified_at) == (
        path.stat().st_size,
        datetime.fromtimestamp(1_700_000_000, UTC),
    )
    assert (entry.occupancy.used_tokens, entry.model) == (7, "claude-opus-5-5")


def test_the_name_of_the_file_is_the_id_where_it_is_one(claude: Claude, written: Callable[..., Path]) -> None:
    """The client resumes by it; copies of a session have the old id in some lines."""
    assert claude.entry(written(user("go"), name=f"{ID}.jsonl")).session_id == ID
    assert claude.entry(written({"type": "mode"}, name="notes.jsonl")).session_id == "notes"


@pytest.mark.parametrize(
    ("fields", "parent"),
    [
        ({}, None),
        (
            {"trim_metadata": {"parent_file": f"/p/{ID}.jsonl"}},
            Parent(session_id=ID, transcript=f"/p/{ID}.jsonl", derivation="trimmed"),
        ),
        (
            {"continue_metadata": {"parent_file": "/p/x.jsonl"}},
            Parent(session_id="x", transcript="/p/x.jsonl", derivation="continued"),
        ),
        ({"forkedFrom": {"sessionId": ID}}, Parent(session_id=ID, transcript=None, derivation="forked")),
    ],
)
def test_a_derived_session_names_its_parent(
    claude: Claude, written: Callable[..., Path], fields: Line, parent: Parent | None
) -> None:
    """The parent is named on a separate line, on the first user line, or by the client's own fork."""
    on_line = written(user("go", **fields))
    assert claude.entry(on_line).parent == parent
    assert claude.open(on_line).parent == parent
    if fields:
        assert claude.entry(written(fields, user("go"))).parent == parent


def test_an_open_session_knows_what_the_list_knows(claude: Claude, written: Callable[..., Path]) -> None:
    """An open session has the fields of its list entry, and its records can be read repeatedly."""
    path = written(user("go"), reply(10, version="2.1.325"))
    session = claude.open(path)
    assert (session.session_id, session.project, session.model) == (
        "in-the-line",
        "/home/dev/p",
        "claude-opus-5-5",
    )
    assert session.client_version == "2.1.325"
    assert (
        [record.kind for record in session.records]
        == [record.kind for record in session.records]
        == ["prompt", "reply"]
    )


def test_a_missing_file_is_a_transcript_error(claude: Claude, tmp_path: Path) -> None:
    """Every call on a missing file raises a TranscriptError."""
    for call in (claude.entry, claude.open, claude.occupancy):
        with pytest.raises(TranscriptError, match="no such file"):
            call(tmp_path / "none.jsonl")


@pytest.mark.parametrize(
    "name",
    [
        "clients/claude-2.1.325-auto-compact",
        "clients/claude-2.1.325-subagent",
        "transcripts/claude-1.0.51-permission-abort",
    ],
)
def test_its_transcripts_are_recognised_by_a_few_kilobytes(claude: Claude, golden: Path, name: str) -> None:
    """A beginning that ends inside a very long first line is still recognised."""
    data = (golden / f"{name}.jsonl").read_bytes()
    assert claude.recognises(data[:4096])
    long = data.split(b"\n")[2 if "auto" in name else 0].replace(
        b'"content":"', b'"content":"' + b"x" * 99_999
    )
    assert claude.recognises(long[:4096])


def test_files_of_others_are_not_taken_for_its_own(claude: Claude, golden: Path) -> None:
    """Transcripts of Codex, Gemini and Copilot, hook inputs and plain JSON are not recognised."""
    for path in golden.glob("clients/codex-*.jsonl"):
        assert not claude.recognises(path.read_bytes()[:4096]), path.name
    gemini = b'{"sessionId":"6c7029a6","projectHash":"9","startTime":"2026-11-15T19:53:43.953Z","kind":"main"}\n{"$set":{"messages":[]}}\n'
    hook = b'{"session_id":"x","transcript_path":"/p","hook_event_name":"Stop"}\n'
    copilot = b'{"type":"session.start","data":{"sessionId":"10fb4666"}}\n'
    for head in (gemini, hook, copilot, b'{"type":"user"}\n', b'[{"type":"user","uuid":"x"}]', b"null"):
        assert not claude.recognises(head)


def test_real_sessions_are_listed_as_they_are(claude: Claude, real_transcripts: Path) -> None:
    """First prompts that the user typed; folders from the lines; other agents' files are not recognised."""
    prompts = {
        "claude-1.0.98-sidechains": "/orchestrator create TODO app by Next.js",
        "claude-1.0.51-permission-abort": "Create file lol.txt with dummy data",
        "claude-2.1.62-session": "i've enabled entire. please push to pr and merge this.",
        "claude-2.1.36-53ea1606": "/github-pr-review",
        "claude-2.1.32-image-in-result": "let's debug - ENT-207 in linear",
    }
    for path in sorted([*real_transcripts.glob("*.json*"), *real_transcripts.glob("compacted/*.jsonl")]):
        is_ours = path.name.startswith("claude-")
        assert claude.recognises(path.read_bytes()[:4096]) is is_ours, path.name
        if is_ours:
            entry = claude.entry(path)
            assert entry.first_prompt, path.name
            assert entry.first_prompt == prompts.get(path.stem, entry.first_prompt)
            assert entry.project, path.name
            assert entry.project.startswith("/")
            assert entry.occupancy.used_tokens, path.name
