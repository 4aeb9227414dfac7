"""Every reply's occupancy, fast, is the same as the slow way."""

import json
import random
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leftoff.agents.claude import Claude
from leftoff.agents.claude.metering import usages
from leftoff.model.records import Record

Line = dict[str, Any]
GOLDEN = Path(__file__).parents[2] / "golden" / "transcripts"


def reply(reply_id: str | None, output: int, **fields: Any) -> Line:
    usage = {"input_tokens": 10, "output_tokens": output}
    return {
        "type": "assistant",
        "message": {"id": reply_id, "model": "m", "content": [], "usage": usage},
        **fields,
    }


def test_a_reply_on_several_lines_comes_once(written: Callable[..., Path]) -> None:
    """With its greatest number, wherever that stands."""
    path = written(reply("1", 1), reply("1", 7), reply("1", 7), reply("1", 3), reply("2", 4))
    assert [*usages(path)] == [17, 14]


def test_replies_without_an_id_are_replies_of_their_own(written: Callable[..., Path]) -> None:
    assert [*usages(written(reply(None, 1), reply(None, 1)))] == [11, 11]


def test_the_same_numbers_of_another_reply_are_another_reply(written: Callable[..., Path]) -> None:
    """Also where it names the one before it, in its text or in what it asks of a tool."""
    second = reply("2", 7)
    second["message"]["content"] = [
        {"type": "tool_use", "id": "t", "input": {"id": "1"}},
        {"text": '"id":"1"'},
    ]
    assert [*usages(written(reply("1", 7), second))] == [17, 17]


def test_a_reply_glued_to_one_that_says_the_same_again_is_found(written: Callable[..., Path]) -> None:
    first, second = (json.dumps(reply(name, 7), separators=(",", ":")).encode() for name in "12")
    assert [*usages(written(first + b"\n", first + second + b"\n"))] == [17, 17]


def test_numbers_inside_other_objects_do_not_count(written: Callable[..., Path]) -> None:
    """Of a subagent's messages in progress lines, of a tool's input or result, of sidechains."""
    inner = reply("9", 9)
    asked = reply("1", 5, toolUseResult={"usage": {"input_tokens": 88}})
    asked["message"]["content"] = [
        {"type": "tool_use", "id": "t", "name": "X", "input": {"usage": {"input_tokens": 99}}}
    ]
    answered = {"type": "user", "toolUseResult": inner["message"], "message": {"content": [inner]}}
    path = written(
        {"type": "progress", "data": {"message": inner}},
        reply("2", 8, isSidechain=True),
        asked,
        answered,
        [inner],
    )
    assert [*usages(path)] == [15]


def test_words_of_the_client_and_api_errors_do_not_count(written: Callable[..., Path]) -> None:
    synthetic = reply("2", 8)
    synthetic["message"]["model"] = "<synthetic>"
    nothing = reply("4", 0)
    nothing["message"]["usage"]["input_tokens"] = 0
    path = written(reply("1", 5), synthetic, reply("3", 9, isApiErrorMessage=True), nothing)
    assert [*usages(path)] == [15]


def test_glued_torn_and_damaged_lines_cost_no_reply(written: Callable[..., Path]) -> None:
    """What a full read finds is found."""
    glued = b'{"type":"assistant","message":{"id":"1","usage":{"input_tokens":5}}}{"type":"assistant","message":{"id":"2","usage":{"input_tokens":6}}}\n'
    damaged = b'{"type":"assistant","x":"\xff","message":{"id":"3","usage":{"input_tokens":7}}}\n'
    torn = b'{"type":"assistant","message":{"id":"4","usage":{"input_tokens":8}'
    assert [*usages(written(glued, damaged, torn))] == [5, 6, 7]


@pytest.mark.parametrize("separators", [(", ", ": "), (",", " : "), (" ,\t", " :\t")])
def test_white_space_in_the_lines_costs_no_reply(
    written: Callable[..., Path], separators: tuple[str, str]
) -> None:
    """Other tools write transcripts anew with their own habits."""
    lines = [json.dumps(reply("1", output), separators=separators).encode() + b"\n" for output in (1, 7, 3)]
    assert [*usages(written(*lines))] == [17]


def test_blocks_do_not_cut_lines(written: Callable[..., Path]) -> None:
    """Lines across the borders of what is read at once, the longest longer than that."""
    long = {"type": "user", "message": {"content": "x" * 1_500_000}}
    lines = [
        line
        for number in range(40)
        for line in (reply(str(number), number), {"type": "mode", "x": "y" * 70_000})
    ]
    found = [*usages(written(long, *lines, long, reply("last", 1)))]
    assert found == [*(10 + number for number in range(40)), 11]


def test_an_empty_file_has_none(written: Callable[..., Path]) -> None:
    assert [*usages(written())] == []


@pytest.mark.slow
def test_the_fast_way_is_the_slow_way_on_all_real_transcripts(claude: Claude, real_transcripts: Path) -> None:
    """Every reply and its number."""
    compared = 0
    for transcript in sorted(real_transcripts.rglob("claude-*.jsonl")):
        found = [*usages(transcript)]
        assert found == _slow(claude.read(transcript)), transcript.name
        compared += len(found)
    assert compared > 1_000


@pytest.mark.slow
def test_the_fast_way_is_the_slow_way_on_damaged_real_transcripts(
    claude: Claude, real_transcripts: Path, tmp_path: Path
) -> None:
    """Each of them with its lines changed in every way below, a few times over."""
    dice = random.Random(3)
    path = tmp_path / "t.jsonl"
    for transcript in sorted(real_transcripts.rglob("claude-*.jsonl")):
        lines = transcript.read_bytes().splitlines(keepends=True)[:1_500]
        path.write_bytes(
            b"".join(dice.choice(CHANGES)(line, dice) if dice.random() < 0.3 else line for line in lines)
        )
        assert [*usages(path)] == _slow(claude.read(path)), transcript.name


@given(st.data())
def test_the_fast_way_is_the_slow_way_whatever_happens_to_the_lines(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    """Torn, glued, doubled, damaged, written anew, with usage-like text and objects wherever they fit."""
    lines = [json.dumps(reply(name, 7), separators=(",", ":")).encode() + b"\n" for name in "1122"]
    for transcript in ("claude-2.1.4-tiny-interrupted.jsonl", "claude-1.0.51-permission-abort.jsonl"):
        lines += (GOLDEN / transcript).read_bytes().splitlines(keepends=True)
    picked = data.draw(st.lists(st.sampled_from(lines), min_size=1, max_size=12))
    dice = data.draw(st.randoms(use_true_random=False))
    changes = data.draw(
        st.lists(st.sampled_from([None, *CHANGES]), min_size=len(picked), max_size=len(picked))
    )
    path = tmp_path_factory.mktemp("damaged") / "t.jsonl"
    path.write_bytes(
        b"".join(change(line, dice) if change else line for line, change in zip(picked, changes, strict=True))
    )
    assert [*usages(path)] == _slow(Claude(home=path.parent).read(path))


def _torn(line: bytes, dice: random.Random) -> bytes:
    return line[: dice.randrange(len(line) + 1)]


def _glued(line: bytes, dice: random.Random) -> bytes:
    return line.rstrip(b"\n") * dice.randrange(1, 3)


def _twice(line: bytes, dice: random.Random) -> bytes:
    return line * 2


def _damaged(line: bytes, dice: random.Random) -> bytes:
    at = dice.randrange(len(line) + 1)
    return (
        line[:at]
        + dice.choice([b"\xff", b"\0", b'"', b"{", b"}", b"\n", b"\\", b'"usage":{', b" "])
        + line[at:]
    )


def _spaced(line: bytes, dice: random.Random) -> bytes:
    separators = dice.choice([(", ", ": "), (",", " :")])
    return _anew(line, lambda value: json.dumps(value, separators=separators))


def _sorted_keys(line: bytes, dice: random.Random) -> bytes:
    return _anew(line, lambda value: json.dumps(value, separators=(",", ":"), sort_keys=True))


def _with_usage_inside(line: bytes, dice: random.Random) -> bytes:
    """An object, or words, like a reply's usage: beside the message, in a tool's input, in a text."""
    other = {"usage": {"input_tokens": 5, "output_tokens": 6}}

    def put(value: Any) -> str:
        message = value.get("message")
        match dice.randrange(4):
            case 0:
                value["toolUseResult"] = dice.choice([other, message])
            case 1 if isinstance(message, dict):
                message["content"] = [{"type": "tool_use", "id": "t", "name": "X", "input": other}]
            case 2 if isinstance(message, dict):
                message["content"] = [
                    {"type": "text", "text": json.dumps(other) + '"usage":{"output_tokens":6}'}
                ]
            case _:
                value["usage"] = other["usage"]
        return json.dumps(value, separators=(",", ":"))

    return _anew(line, put)


def _with_a_key_twice(line: bytes, dice: random.Random) -> bytes:
    key, value = dice.choice(
        [
            (b'"usage":', b'{"input_tokens":3}'),
            (b'"message":', b'{"id":"1","usage":{"input_tokens":4}}'),
            (b'"type":', b'"user"'),
            (b'"isSidechain":', b"true"),
            (b'"input_tokens":', b"9"),
        ]
    )
    return line.replace(key, key + value + b"," + key, 1)


def _marked(line: bytes, dice: random.Random) -> bytes:
    """A sidechain, an API error, words of the client."""

    def put(value: Any) -> str:
        value.update(dice.choice([{"isSidechain": True}, {"isApiErrorMessage": True}, {"type": "progress"}]))
        return json.dumps(value, separators=(",", ":"))

    return _anew(line, put)


def _anew(line: bytes, write: Callable[[Any], str]) -> bytes:
    try:
        value = json.loads(line)
    except ValueError:
        return line
    return write(value).encode() + b"\n" if isinstance(value, dict) else line


CHANGES = [
    _torn,
    _glued,
    _twice,
    _damaged,
    _spaced,
    _sorted_keys,
    _with_usage_inside,
    _with_a_key_twice,
    _marked,
]


def _slow(records: Iterable[Record]) -> list[int]:
    found: list[tuple[str | None, int]] = []
    for record in records:
        if record.usage is None or record.actor is not None:
            continue
        occupancy = record.usage.occupancy_tokens
        if found and record.reply_id is not None and found[-1][0] == record.reply_id:
            occupancy = max(found.pop()[1], occupancy)
        found.append((record.reply_id, occupancy))
    return [occupancy for _, occupancy in found]
