"""The cuttable pieces of a rollout: every shape of output, free-text inputs, and where a compaction lets reading begin."""

import json
from pathlib import Path
from typing import Any

import pytest

from leftoff.agents.codex.adapter import Codex
from leftoff.agents.codex.items import chars
from leftoff.core.trim_plan import LivePieces, digest_of

NAME = "rollout-2026-01-01T00-00-00-0199aaaa-0000-7000-8000-000000000000.jsonl"


def item(**payload: Any) -> dict[str, Any]:
    return {"timestamp": "2026-01-01T00:00:00.000Z", "type": "response_item", "payload": payload}


def call(call_id: str, name: str = "shell", arguments: str = '{"command":["ls"]}') -> dict[str, Any]:
    return item(type="function_call", name=name, call_id=call_id, arguments=arguments)


def output(call_id: str, value: Any, kind: str = "function_call_output") -> dict[str, Any]:
    return item(type=kind, call_id=call_id, output=value)


def message_item(words: str, role: str = "user") -> dict[str, Any]:
    kind = "output_text" if role == "assistant" else "input_text"
    return item(type="message", role=role, content=[{"type": kind, "text": words}])


def written(tmp_path: Path, *lines: dict[str, Any]) -> Path:
    head = {
        "timestamp": "2026-01-01T00:00:00Z",
        "type": "session_meta",
        "payload": {"id": "0199aaaa-0000-7000-8000-000000000000", "cwd": "/p"},
    }
    path = tmp_path / NAME
    path.write_text(
        "".join(json.dumps(each, separators=(",", ":")) + "\n" for each in (head, *lines)), encoding="utf-8"
    )
    return path


def live_of(tmp_path: Path, path: Path) -> LivePieces:
    """The pieces, after checking them against the live chain."""
    codex = Codex(tmp_path / "home")
    session = codex.open(path)
    live = codex.live_pieces(session, at_least_chars=1, head=60, tail=60)
    chain = codex.live_chain(session)
    assert live.live_chars == sum(chars(message) for message in chain.messages(session.records))
    assert {piece.place for piece in live.pieces} <= {*chain.places}
    return live


@pytest.mark.parametrize(
    ("value", "head"),
    [
        ('{"output":"text","metadata":{"exit_code":1}}', '{"output":"text","metadata":{"exit_code":1}}'),
        ("Exit code: 0\nOutput:\ntext", "Exit code: 0\nOutput:\ntext"),
        ("text", "text"),
        (
            [
                {"type": "input_text", "text": "a"},
                {"type": "input_image", "image_url": "data:image/png;base64,QUJD"},
            ],
            "a\n(a picture: image/png, 3 bytes)",
        ),
        ({"content": "text", "success": False}, "text"),
    ],
)
@pytest.mark.parametrize("kind", ["function_call_output", "custom_tool_call_output"])
def test_every_shape_of_output_is_a_piece(tmp_path: Path, value: Any, head: str, kind: str) -> None:
    """The digest of a piece is that of the value in the file."""
    live = live_of(tmp_path, written(tmp_path, message_item("Go."), call("c1"), output("c1", value, kind)))
    result = live.pieces[-1]
    assert (result.part, result.tool, result.call_id, result.head, result.turn) == (
        "result",
        "shell",
        "c1",
        head,
        1,
    )
    assert result.digest == digest_of(value)


def test_inputs_of_all_kinds_are_pieces(tmp_path: Path) -> None:
    """Arguments, free text and the action of a local shell are all inputs."""
    patch = "*** Begin Patch\n*** End Patch"
    live = live_of(
        tmp_path,
        written(
            tmp_path,
            call("c1"),
            item(type="custom_tool_call", name="apply_patch", call_id="c2", input=patch),
            item(type="local_shell_call", call_id="c3", action={"type": "exec", "command": ["ls", "-la"]}),
        ),
    )
    assert [(each.part, each.tool, each.head) for each in live.pieces] == [
        ("input", "shell", "ls"),
        ("input", "apply_patch", patch),
        ("input", "local_shell", "exec"),
    ]
    assert live.pieces[0].digest == digest_of('{"command":["ls"]}')
    assert live.pieces[1].digest == digest_of(patch)


def test_only_the_text_of_the_model_is_a_piece(tmp_path: Path) -> None:
    """No prompt, no instruction, no thought, nothing that the API did itself, no event."""
    reasoning = item(
        type="reasoning", summary=[{"type": "summary_text", "text": "hm"}], encrypted_content="xyz"
    )
    search = item(type="web_search_call", id="w1", action={"query": "x"})
    event = {
        "timestamp": "2026-01-01T00:00:00Z",
        "type": "event_msg",
        "payload": {"type": "agent_message", "message": "Done."},
    }
    two = item(
        type="message",
        role="assistant",
        content=[{"type": "output_text", "text": "A"}, {"type": "output_text", "text": "B"}],
    )
    empty = item(type="message", role="assistant", content=[{"type": "other"}])
    lines = (
        message_item("Go."),
        message_item("Be kind.", "developer"),
        reasoning,
        search,
        message_item("Done.", "assistant"),
        event,
        two,
        empty,
    )
    live = live_of(tmp_path, written(tmp_path, *lines))
    assert [(each.part, each.head, each.digest) for each in live.pieces] == [
        ("text", "Done.", digest_of("Done.")),
        ("text", "A\nB", digest_of(["A", "B"])),
    ]
    assert live.turns == 1


def test_reading_begins_at_the_last_history_that_was_replaced(tmp_path: Path) -> None:
    """Lines are numbered as in the whole file; what the history holds is counted, not cut."""
    history = [{"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Go."}]}]
    compaction = {
        "timestamp": "2026-01-01T00:00:00Z",
        "type": "compacted",
        "payload": {"message": "", "replacement_history": history},
    }
    path = written(
        tmp_path,
        message_item("Go."),
        call("c1"),
        output("c1", "old"),
        compaction,
        call("c2"),
        output("c2", "new"),
    )
    live = live_of(tmp_path, path)
    assert [(each.call_id, each.place.line_idx) for each in live.pieces] == [("c2", 5), ("c2", 6)]


def test_an_old_compaction_without_a_history_needs_the_whole_file(tmp_path: Path) -> None:
    """The user's words before it are still sent."""
    compaction = {"timestamp": "2026-01-01T00:00:00Z", "type": "compacted", "payload": {"message": "So far."}}
    path = written(
        tmp_path,
        message_item("Go."),
        call("c1"),
        output("c1", "old"),
        compaction,
        call("c2"),
        output("c2", "new"),
    )
    live = live_of(tmp_path, path)
    assert [each.call_id for each in live.pieces] == ["c2", "c2"]
    assert live.live_chars > len("Go.") + len("So far.")


def test_a_line_that_only_mentions_a_compaction_does_not_count(tmp_path: Path) -> None:
    """Torn lines and lists do not count as a compaction either."""
    path = written(
        tmp_path, message_item("Go."), call("c1", arguments='{"type":"compacted"}'), output("c1", "text")
    )
    with path.open("ab") as file:
        file.write(b'["compacted"]\n{"type":"compacted"')
    assert [each.call_id for each in live_of(tmp_path, path).pieces] == ["c1", "c1"]


def test_a_compressed_rollout_is_read_from_its_beginning(tmp_path: Path) -> None:
    """A compressed rollout cannot be read from its end."""
    zstd = pytest.importorskip("backports.zstd")
    path = written(tmp_path, message_item("Go."), call("c1"), output("c1", "text"))
    compressed = path.with_suffix(".jsonl.zst")
    compressed.write_bytes(zstd.compress(path.read_bytes()))
    path.unlink()
    assert len(live_of(tmp_path, compressed).pieces) == 2


def test_a_history_of_nothing_leaves_what_follows(tmp_path: Path) -> None:
    """The line of the compaction may be of any length, with its type anywhere in it."""
    compaction = {"payload": {"message": "x" * 200_000, "replacement_history": []}, "type": "compacted"}
    path = written(
        tmp_path, message_item("Go."), call("c1"), compaction, call("c2"), output("c2", [{"type": "strange"}])
    )
    found = live_of(tmp_path, path).pieces
    assert [(each.call_id, each.place.line_idx, each.head) for each in found] == [
        ("c2", 4, "ls"),
        ("c2", 5, "(strange)"),
    ]
