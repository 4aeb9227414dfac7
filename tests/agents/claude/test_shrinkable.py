"""The cuttable pieces of a Claude Code transcript, and where reading from the last compaction is not the whole truth."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from leftoff.agents.claude import Claude
from leftoff.agents.claude.user_text import chars
from leftoff.core.trim_plan import LivePieces, digest_of

Write = Callable[..., Path]
PICTURE = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "QUJD"}}


def line(uuid: str, parent: str | None, kind: str, content: Any, at: int = 0, **more: Any) -> dict[str, Any]:
    message: dict[str, Any] = {"role": kind, "content": content}
    if kind == "assistant":
        message |= {"id": f"msg-{uuid}", "model": "claude-x"}
    return {
        "parentUuid": parent,
        "isSidechain": False,
        "type": kind,
        "message": message,
        "uuid": uuid,
        "timestamp": f"2026-01-01T00:00:{at:02d}.000Z",
        "sessionId": "s",
        "version": "2.1.0",
    } | more


def tool_use(
    uuid: str, parent: str, call: str, tool: str, tool_input: dict[str, Any], at: int = 0
) -> dict[str, Any]:
    return line(
        uuid, parent, "assistant", [{"type": "tool_use", "id": call, "name": tool, "input": tool_input}], at
    )


def tool_result(uuid: str, parent: str, call: str, content: Any, at: int = 0, **more: Any) -> dict[str, Any]:
    return line(
        uuid, parent, "user", [{"type": "tool_result", "tool_use_id": call, "content": content, **more}], at
    )


def boundary(uuid: str, at: int, **metadata: Any) -> dict[str, Any]:
    return {
        "parentUuid": None,
        "isSidechain": False,
        "type": "system",
        "subtype": "compact_boundary",
        "content": "Conversation compacted",
        "compactMetadata": {"trigger": "auto", "preTokens": 100, **metadata},
        "uuid": uuid,
        "timestamp": f"2026-01-01T00:00:{at:02d}.000Z",
    }


def live_of(claude: Claude, path: Path) -> LivePieces:
    return claude.live_pieces(claude.open(path), at_least_chars=1, head=80, tail=80)


def assert_true(claude: Claude, path: Path) -> LivePieces:
    """The pieces, after checking that they are of the live chain."""
    session, live = claude.open(path), live_of(claude, path)
    chain = claude.live_chain(session)
    messages = chain.messages(session.records)
    assert live.live_chars == sum(chars(message.blocks) for message in messages)
    assert {piece.place for piece in live.pieces} <= {*chain.places}
    return live


def test_each_part_of_a_conversation_is_a_piece_but_the_users_own(claude: Claude, written: Write) -> None:
    """Results, inputs, replies and thoughts can be cut; the user's prompts cannot."""
    thoughts = [{"type": "thinking", "thinking": "hm", "signature": "x"}, {"type": "text", "text": "I look."}]
    path = written(
        line("a", None, "user", "Please mend it."),
        line("b", "a", "assistant", thoughts, 1),
        tool_use("c", "b", "t1", "Read", {"file_path": "/a.py", "limit": 5}, 2),
        tool_result("d", "c", "t1", [{"type": "text", "text": "code"}, PICTURE], 3),
    )
    live = assert_true(claude, path)
    assert [(each.part, each.tool, each.turn) for each in live.pieces] == [
        ("text", None, 1),
        ("thinking", None, 1),
        ("input", "Read", 1),
        ("result", "Read", 1),
    ]
    assert live.pieces[2].head == "/a.py"
    assert live.pieces[3].head == "code\n(a picture: image/png, 3 bytes)"
    assert live.pieces[3].chars == len("code") + 4000
    assert live.pieces[3].digest == digest_of([{"type": "text", "text": "code"}, PICTURE])
    assert live.turns == 1


def test_an_answer_that_the_user_wrote_is_not_a_piece(claude: Claude, written: Write) -> None:
    """A choice, a word on a plan, and why a call was refused are the user's."""
    refusal = "The user doesn't want to proceed with this tool use. the user said:\nuse tabs"
    path = written(
        line("a", None, "user", "Go."),
        tool_use("b", "a", "t1", "AskUserQuestion", {"questions": []}, 1),
        tool_result("c", "b", "t1", "tabs", 2),
        tool_use("d", "c", "t2", "Bash", {"command": "rm x"}, 3),
        tool_result("e", "d", "t2", refusal, 4, is_error=True),
        tool_use("f", "e", "t3", "Bash", {"command": "ls"}, 5),
        tool_result("g", "f", "t3", "no such folder", 6, is_error=True),
    )
    found = assert_true(claude, path).pieces
    assert [each.call_id for each in found if each.part == "result"] == ["t3"]
    assert found[-1].is_error is True


def test_simple_lines_have_pieces(claude: Claude, written: Write) -> None:
    """Lines in the simple format have no ids, and their message names the tool."""
    path = written(
        {"sessionId": "s", "type": "user", "message": {"role": "user", "content": "hi"}},
        {"sessionId": "s", "type": "tool_result", "message": {"tool_name": "Read", "content": "x" * 50}},
    )
    found = live_of(claude, path).pieces
    assert [(each.part, each.tool, each.chars, each.call_id) for each in found] == [
        ("result", "Read", 50, "line-2")
    ]


def compacted(*tail: dict[str, Any], **metadata: Any) -> list[dict[str, Any]]:
    return [
        line("a", None, "user", "Old prompt.", 1),
        tool_use("b", "a", "t1", "Read", {"file_path": "/old.py"}, 2),
        tool_result("c", "b", "t1", "old code", 3),
        boundary("d", 4, **metadata),
        line("e", "d", "user", "What happened so far.", 4, isCompactSummary=True),
        *tail,
    ]


AFTER = (
    tool_use("f", "e", "t2", "Read", {"file_path": "/new.py"}, 5),
    tool_result("g", "f", "t2", "new code", 6),
)


def test_content_before_the_last_compaction_is_not_live(claude: Claude, written: Write) -> None:
    """Only content after the last compaction is live, and its lines are numbered as in the whole file."""
    found = assert_true(claude, written(*compacted(*AFTER))).pieces
    assert [(each.part, each.call_id, each.place.line_idx) for each in found] == [
        ("input", "t2", 5),
        ("result", "t2", 6),
    ]


@pytest.mark.parametrize(
    ("name", "lines", "live_call"),
    [
        (
            "kept messages",
            compacted(*AFTER, preservedSegment={"headUuid": "b", "tailUuid": "c", "anchorUuid": "e"}),
            "t1",
        ),
        ("a leaf named before", compacted(*AFTER, {"type": "last-prompt", "leafUuid": "c"}), "t1"),
        ("a parent before", compacted(tool_use("f", "c", "t2", "Read", {"file_path": "/new.py"}, 5)), "t1"),
        (
            "a clock that was set back",
            [
                line("z", None, "user", "later", 50),
                tool_use("y", "z", "t9", "Read", {"file_path": "/z"}, 51),
                *compacted(*AFTER),
            ],
            "t9",
        ),
        (
            "a leaf named earlier in the file",
            [{"type": "last-prompt", "leafUuid": "c"}, *compacted(*AFTER)],
            "t1",
        ),
    ],
)
def test_the_whole_file_is_read_if_the_end_depends_on_the_rest(
    claude: Claude, written: Write, name: str, lines: list[dict[str, Any]], live_call: str
) -> None:
    """The truth is that of the live chain, whatever it costs."""
    assert live_call in {each.call_id for each in assert_true(claude, written(*lines)).pieces}, name


def test_a_leaf_named_after_the_compaction_is_followed(claude: Claude, written: Write) -> None:
    found = assert_true(claude, written(*compacted(*AFTER, {"type": "last-prompt", "leafUuid": "g"}))).pieces
    assert [each.call_id for each in found] == ["t2", "t2"]


def test_compactions_of_subagents_and_quoted_ones_do_not_count(claude: Claude, written: Write) -> None:
    """Compactions of subagents, torn lines and quoted boundaries do not hide earlier content."""
    sub = boundary("x", 7) | {"isSidechain": True, "agentId": "sub"}
    path = written(
        *compacted(*AFTER), sub, b'{"type":"system","subtype":"compact_boundary"\n', b'"compact_boundary"\n'
    )
    assert [each.call_id for each in assert_true(claude, path).pieces] == ["t2", "t2"]


def test_cleared_answers_are_not_live(claude: Claude, written: Write) -> None:
    """Tool results that the client cleared are neither counted nor offered for cutting."""
    micro = boundary("h", 7) | {
        "subtype": "microcompact_boundary",
        "parentUuid": "g",
        "microcompactMetadata": {"compactedToolIds": ["t2"], "preTokens": 9, "tokensSaved": 1},
    }
    end = line("i", "h", "user", "Go on.", 8)
    found = assert_true(claude, written(*compacted(*AFTER, micro, end))).pieces
    assert [(each.part, each.call_id) for each in found] == [("input", "t2")]
