"""The live chain is what the client sends when it resumes the transcript."""

import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from leftoff.core.records import Message, ToolResult, ToolUse

GOLDEN = Path(__file__).parents[2] / "golden"
PAIRS = sorted(GOLDEN.glob("*/claude-*.received.json"))
Line = dict[str, Any]
# What the client adds behind a history that ended in the middle of something.
ADDED_BEHIND = ("[Tool call interrupted", "No response requested.")


@pytest.mark.parametrize("pair", PAIRS, ids=[path.name.removesuffix(".received.json") for path in PAIRS])
def test_the_chain_is_what_the_api_received(pair: Path, sent, ours, received) -> None:
    """The live chain equals what the API received in every recorded transcript of six client versions."""
    transcript = pair.with_name(pair.name.replace(".received.json", ".jsonl"))
    rows, truth = ours(sent(transcript)), received(pair)
    assert rows == truth[: len(rows)]
    assert all(any(words in str(row) for words in ADDED_BEHIND) for row in truth[len(rows) :])


def line(kind: str, name: str | None, parent: str | None, at: int, **fields: Any) -> Line:
    stamp = f"2026-01-06T12:00:{at:02}.000Z"
    shared = {"type": kind, "parentUuid": parent, "isSidechain": False, "timestamp": stamp, "sessionId": "s"}
    return {**shared, **({"uuid": name} if name else {}), **fields}


def user(name: str | None, parent: str | None, at: int, content: Any, **fields: Any) -> Line:
    return line("user", name, parent, at, message={"role": "user", "content": content}, **fields)


def reply(
    name: str, parent: str | None, at: int, *blocks: Any, reply_id: str | None = None, **fields: Any
) -> Line:
    content = [{"type": "text", "text": block} if isinstance(block, str) else block for block in blocks]
    model = fields.pop("model", "claude-opus-5-5")
    message = {"id": reply_id or f"msg_{name}", "role": "assistant", "model": model, "content": content}
    return line("assistant", name, parent, at, message=message, **fields)


def use(call: str) -> Line:
    return {"type": "tool_use", "id": call, "name": "Bash", "input": {"command": "x"}}


def answer(call: str, words: str) -> list[Line]:
    return [{"type": "tool_result", "tool_use_id": call, "content": words}]


@pytest.fixture
def sent_words(written, sent) -> Callable[..., list[str]]:
    """What a transcript of these lines makes the client send, a word for each block."""

    def words(*lines: Line | bytes) -> list[str]:
        return [_word(block) for message in sent(written(*lines)) for block in message.blocks]

    return words


def _word(block: object) -> str:
    match block:
        case ToolUse():
            return f"?{block.call_id}"
        case ToolResult():
            return f"!{block.call_id}"
        case _:
            return str(getattr(block, "text", type(block).__name__))


def test_tools_that_ran_side_by_side_are_joined_again(sent_words) -> None:
    """Each answer hangs from its own request; a walk along the parents alone would lose all but one."""
    assert sent_words(
        user("u", None, 0, "go"),
        reply("a1", "u", 1, use("1"), reply_id="m"),
        reply("a2", "a1", 2, use("2"), reply_id="m"),
        reply("a3", "a2", 3, use("3"), reply_id="m"),
        user("r1", "a1", 4, answer("1", "one")),
        user("r2", "a2", 5, answer("2", "two")),
        user("r3", "a3", 6, answer("3", "three")),
        reply("b", "r3", 7, "done"),
    ) == ["go", "?1", "?2", "?3", "!1", "!2", "!3", "done"]


def test_a_request_on_a_side_branch_comes_back_with_its_reply(sent_words) -> None:
    """A tool may answer before the rest of the reply is written."""
    assert sent_words(
        user("u", None, 0, "go"),
        reply("a1", "u", 1, use("1"), reply_id="m"),
        user("r1", "a1", 2, answer("1", "one")),
        reply("a2", "a1", 3, use("2"), reply_id="m"),
        user("r2", "a2", 4, answer("2", "two")),
        reply("b", "r1", 5, "done"),
    ) == ["go", "?1", "?2", "!2", "!1", "done"]


def test_a_reply_that_its_tools_interrupt_is_sent_in_one_piece(sent_words) -> None:
    """All blocks of the reply come first, then the results."""
    assert sent_words(
        user("u", None, 0, "go"),
        reply("a1", "u", 1, use("1"), reply_id="m"),
        user("r1", "a1", 2, answer("1", "one")),
        reply("a2", "r1", 3, "and", reply_id="m"),
        reply("a3", "a2", 4, use("2"), reply_id="m"),
        user("r2", "a3", 5, answer("2", "two")),
    ) == ["go", "?1", "and", "?2", "!1", "!2"]


def test_the_newest_leaf_wins(sent_words) -> None:
    """The leaf with the latest time wins; of two with the same time, the last one in the file wins."""
    trunk = [user("u", None, 0, "trunk"), reply("a", "u", 1, "yes")]
    left, right = user("l", "a", 2, "left"), user("r", "a", 3, "right")
    assert sent_words(*trunk, left, right)[-1] == "right"
    assert sent_words(*trunk, right, left)[-1] == "right"
    assert sent_words(*trunk, right, {**left, "timestamp": right["timestamp"]})[-1] == "left"


def test_the_leaf_that_the_client_named_wins_over_a_newer_one(sent_words) -> None:
    """That is what a rewind leaves behind; a name that is in no line is passed over."""
    lines = [user("u", None, 0, "trunk"), user("l", "u", 1, "left"), user("r", "u", 2, "right")]
    assert sent_words(*lines, {"type": "last-prompt", "leafUuid": "l"}) == ["trunk", "left"]
    assert sent_words(*lines, {"type": "last-prompt", "leafUuid": "gone"}) == ["trunk", "right"]


def test_what_was_written_below_the_named_leaf_is_not_lost(sent_words) -> None:
    """A client that was killed names a leaf that is no longer the last."""
    lines = [user("u", None, 0, "trunk"), user("l", "u", 1, "left"), user("r", "u", 9, "right")]
    below = [reply("a", "l", 3, "below"), reply("b", "a", 4, "further")]
    named = {"type": "last-prompt", "leafUuid": "l"}
    assert sent_words(*lines, named, *below) == ["trunk", "left", "below", "further"]


def test_progress_lines_between_two_links_are_passed(sent_words) -> None:
    """Old clients put progress lines into the chain."""
    assert sent_words(
        user("u", None, 0, "go"),
        line("progress", "p1", "u", 1, data={}),
        line("progress", "p2", "p1", 1, data={}),
        reply("a", "p2", 2, "done"),
        line("progress", "p3", "a", 3, data={}),
    ) == ["go", "done"]


def test_a_missing_parent_is_healed_by_the_order_of_the_file(sent_words) -> None:
    """Checkpoint tools cut lines out of a transcript, so a parent may be missing."""
    assert sent_words(user("u", None, 0, "go"), reply("a", "cut", 1, "yes"), user("v", "a", 2, "on")) == [
        "go",
        "yes",
        "on",
    ]


def test_lines_may_come_in_any_order(sent_words) -> None:
    """Times and parent ids decide the order, not the position in the file."""
    lines = [user("u", None, 0, "go"), reply("a", "u", 1, "yes"), user("v", "a", 2, "on")]
    assert sent_words(*reversed(lines)) == ["go", "yes", "on"]


def test_an_id_that_comes_twice_means_the_later_line(sent_words) -> None:
    """A line whose id occurs again later is ignored, as the client ignores it."""
    assert sent_words(
        user("u", None, 0, "one"),
        reply("a", "u", 1, "yes"),
        user("u", None, 2, "two"),
        reply("b", "u", 3, "no"),
    ) == [
        "two",
        "no",
    ]


def test_a_circle_of_parents_ends(sent_words) -> None:
    """A file that was joined by hand."""
    assert sorted(sent_words(user("u", "v", 0, "one"), user("v", "u", 1, "two"))) == ["one", "two"]


def test_sidechains_are_not_sent(sent_words) -> None:
    """Until 1.0, clients wrote the lines of subagents into the same file."""
    assert sent_words(
        user("u", None, 0, "go"),
        user("s", None, 1, "task", isSidechain=True),
        reply("t", "s", 2, "inner", isSidechain=True),
        reply("a", "u", 3, "done"),
    ) == ["go", "done"]


def test_api_errors_are_not_sent_and_text_of_the_client_is(sent_words) -> None:
    """The client writes API errors and its own text in place of the model's reply."""
    assert sent_words(
        user("u", None, 0, "go"),
        reply("e", "u", 1, "API Error: 500", isApiErrorMessage=True, model="<synthetic>"),
        reply("n", "e", 2, "No response requested.", model="<synthetic>"),
        user("v", "n", 3, "on"),
    ) == ["go", "No response requested.", "on"]


def test_white_space_is_not_a_reply(sent_words) -> None:
    """Some models begin a reply with two empty lines, which are not a reply of their own."""
    assert sent_words(user("u", None, 0, "go"), reply("a", "u", 1, "\n\n"), reply("b", "a", 2, "yes")) == [
        "go",
        "yes",
    ]


def test_an_answer_without_its_request_is_not_sent(sent_words) -> None:
    """The beginning of the transcript was cut away."""
    assert sent_words(user("r", None, 0, answer("lost", "x")), user("u", "r", 1, "go")) == ["go"]


def test_a_request_without_an_answer_is_sent_only_at_the_end(sent_words) -> None:
    """At the end of a session the client answers an open request in the tool's place."""
    ask = [user("u", None, 0, "go"), reply("a", "u", 1, use("1"))]
    assert sent_words(*ask) == ["go", "?1"]
    assert sent_words(*ask, user("v", "a", 2, "stop"), reply("b", "v", 3, "yes")) == ["go", "stop", "yes"]


def test_thoughts_go_to_the_model_that_had_them(sent_words) -> None:
    """Another model could not read their signature; thoughts that led to nothing are dropped."""
    thought = {"type": "thinking", "thinking": "hm", "signature": "s"}
    lines = [
        user("u", None, 0, "go"),
        reply("a", "u", 1, thought, reply_id="m"),
        reply("b", "a", 2, "yes", reply_id="m"),
        user("v", "b", 3, "on"),
    ]
    assert sent_words(*lines) == ["go", "hm", "yes", "on"]
    assert sent_words(*lines, reply("c", "v", 4, "no", model="claude-sonnet-4-5")) == [
        "go",
        "yes",
        "on",
        "no",
    ]
    assert sent_words(*lines, reply("c", "v", 4, thought)) == ["go", "hm", "yes", "on"]


def test_a_command_of_the_client_at_the_very_end_is_sent(sent_words) -> None:
    """/exit and its answer are in the history that the real client sends when such a session is resumed."""
    lines = [
        user("u", None, 0, "go"),
        reply("a", "u", 1, "yes"),
        user("c", "a", 2, "<local-command-caveat>x</local-command-caveat>", isMeta=True),
        user("d", "c", 3, "<command-name>/exit</command-name>"),
        user("e", "d", 4, "<local-command-stdout>Bye!</local-command-stdout>"),
    ]
    assert len(sent_words(*lines)) == 5
    assert len(sent_words(*lines, user("f", "e", 5, "back"))) == 6


def boundary(name: str, at: int, **metadata: Any) -> Line:
    return line(
        "system", name, None, at, subtype="compact_boundary", compactMetadata={"trigger": "auto", **metadata}
    )


def summary(name: str, parent: str, at: int) -> Line:
    return user(name, parent, at, "SUMMARY", isCompactSummary=True, isVisibleInTranscriptOnly=True)


OLD = [
    user("u", None, 0, "old"),
    reply("a", "u", 1, "older"),
    user("k", "a", 2, "keep"),
    reply("l", "k", 3, "kept"),
]


def test_after_a_compaction_the_old_lines_are_not_sent(sent_words) -> None:
    assert sent_words(*OLD, boundary("c", 4), summary("s", "c", 5), user("v", "s", 6, "new")) == [
        "SUMMARY",
        "new",
    ]


@pytest.mark.parametrize("below", ["s", "l"], ids=["below the summary", "below what was kept"])
def test_messages_that_a_compaction_keeps_follow_its_summary(sent_words, below: str) -> None:
    """Kept messages precede the summary in the file, whatever the parent of the next line is."""
    kept = {"preservedSegment": {"headUuid": "k", "tailUuid": "l", "anchorUuid": "s"}}
    lines = [*OLD, boundary("c", 4, **kept), summary("s", "c", 5), user("v", below, 6, "new")]
    assert sent_words(*lines) == ["SUMMARY", "keep", "kept", "new"]


def test_kept_messages_that_are_gone_cost_nothing_else(sent_words) -> None:
    """A trimmer has dropped them."""
    kept = {"preservedSegment": {"headUuid": "gone", "tailUuid": "l", "anchorUuid": "s"}}
    assert sent_words(boundary("c", 4, **kept), summary("s", "c", 5), user("v", "s", 6, "new")) == [
        "SUMMARY",
        "new",
    ]


def test_a_summary_without_a_boundary_is_followed_by_its_parents(sent_words) -> None:
    """Clients before 2.0.76 wrote the summary without a parent and without a boundary."""
    alone = user("s", None, 5, "SUMMARY", isCompactSummary=True)
    assert sent_words(*OLD, alone, user("v", "s", 6, "new")) == ["SUMMARY", "new"]


def test_results_that_were_cleared_are_no_longer_sent(sent_words) -> None:
    """Tool results that the client cleared are left out, although the file still holds them in full."""
    cleared = {
        "microcompactMetadata": {
            "trigger": "auto",
            "compactedToolIds": ["1"],
            "preTokens": 9,
            "tokensSaved": 3,
        }
    }
    assert sent_words(
        user("u", None, 0, "go"),
        reply("a", "u", 1, use("1")),
        user("r", "a", 2, answer("1", "long")),
        line("system", "m", "r", 3, subtype="microcompact_boundary", **cleared),
        reply("b", "m", 4, "done"),
    ) == ["go", "?1", "done"]


def test_attachments_come_between_results_and_the_users_text(sent_words) -> None:
    """Those of the system come last; a model that knows no such messages is sent them before the words too."""

    def attached(name: str, parent: str, role: str) -> Line:
        return line(
            "attachment",
            name,
            parent,
            3,
            attachment={"type": "date"},
            rendered=[{"content": name}],
            renderedRole=role,
        )

    lines = [
        user("u", None, 0, "go"),
        reply("a", "u", 1, use("1")),
        user("v", "a", 2, "words"),
        attached("sys", "v", "system"),
        attached("usr", "sys", "user"),
        user("r", "usr", 4, answer("1", "x")),
    ]
    assert sent_words(*lines, reply("b", "r", 5, "done")) == ["go", "?1", "!1", "usr", "words", "sys", "done"]
    old = reply("b", "r", 5, "done", model="claude-sonnet-4-5")
    assert sent_words(*lines, old) == ["go", "?1", "!1", "sys", "usr", "words", "done"]


def test_simple_lines_are_sent_in_file_order(sent_words) -> None:
    """Lines in the simple format have no ids, and the tool's name is kept in an invented request."""
    assert sent_words(
        {"sessionId": "s", "type": "user", "message": {"role": "user", "content": "go"}},
        {"sessionId": "s", "type": "assistant", "message": {"role": "assistant", "content": "yes"}},
        {"sessionId": "s", "type": "tool_result", "message": {"tool_name": "Read", "content": "text"}},
    ) == ["go", "yes", "?line-3", "!line-3"]


def test_nothing_to_follow_is_an_empty_chain(sent_words) -> None:
    """The file has only metadata, sidechains and broken lines."""
    assert (
        sent_words(
            {"type": "mode", "mode": "normal"}, b"{torn\n", user("s", None, 0, "task", isSidechain=True)
        )
        == []
    )


def test_the_chain_holds_each_message_once(golden: Path, sent) -> None:
    """Messages that are joined from several branches are not repeated."""
    messages: list[Message] = sent(golden / "clients/claude-2.1.325-parallel-tools.jsonl")
    calls = [
        block.call_id for message in messages for block in message.blocks if isinstance(block, ToolResult)
    ]
    assert len(calls) == len(set(calls)) == 3


def test_pointers_in_a_damaged_line_are_not_followed(sent_words) -> None:
    """A damaged line is read, but the ids it names may be wrong."""
    damaged = b'{"type": "last-prompt", "x": "\xff", "leafUuid": "l"}\n'
    lines = [user("u", None, 0, "trunk"), user("l", "u", 1, "left"), user("r", "u", 2, "right")]
    assert sent_words(*lines, damaged) == ["trunk", "right"]


def test_the_chain_is_built_from_a_light_index(claude, written) -> None:
    """The words of a large transcript are never held."""
    long = "x" * 10_000
    turns = [
        one
        for number in range(300)
        for one in (
            user(f"u{number}", f"a{number - 1}" if number else None, 0, long, toolUseResult=long),
            reply(f"a{number}", f"u{number}", 1, long),
        )
    ]
    session = claude.open(written(*turns))
    claude.live_chain(session)
    tracemalloc.start()
    chain = claude.live_chain(session)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(chain.places) == 600
    assert peak < 1_000_000
