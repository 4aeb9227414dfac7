"""How full the window is: the last main reply's own number, what was added since, and how this session counts."""

import itertools
import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from leftoff.agents.claude import Claude
from leftoff.agents.claude.usage import REACH_BYTES, SAMPLED_REPLIES, TURNS
from leftoff.agents.claude.user_text import chars
from leftoff.core.metrics import Occupancy
from leftoff.core.records import Record, RecordKind

Line = dict[str, Any]


def reply(used: int, *, reply_id: str, output: int = 100, text: str = "ok", **fields: Any) -> Line:
    usage = {"input_tokens": 10, "cache_read_input_tokens": used - output - 10, "output_tokens": output}
    content = [{"type": "text", "text": text}]
    message = {"id": reply_id, "model": "claude-opus-5-5", "content": content, "usage": usage}
    return {"type": "assistant", "version": "2.1.325", "message": message, **fields}


def user(text: str, **fields: Any) -> Line:
    return {"type": "user", "message": {"content": text}, **fields}


def result(text: str) -> Line:
    return user("", message={"content": [{"type": "tool_result", "tool_use_id": "1", "content": text}]})


def boundary(**metadata: Any) -> Line:
    return {
        "type": "system",
        "subtype": "compact_boundary",
        "compactMetadata": {"trigger": "auto", **metadata},
    }


def summary(text: str = "SUMMARY") -> Line:
    return user(text, isCompactSummary=True)


@pytest.fixture
def measured(claude: Claude, written: Callable[..., Path]) -> Callable[..., Occupancy]:
    return lambda *lines: claude.occupancy(written(*lines))


def test_the_last_reply_counts_and_never_a_sum(measured) -> None:
    """The input, cache and output tokens of the last reply count; replies are never added up."""
    found = measured(user("go"), reply(20_000, reply_id="1"), user("on"), reply(30_000, reply_id="2"))
    assert (found.used_tokens, found.tail_chars) == (30_000, 0)


def test_a_reply_on_several_lines_counts_once_with_its_greatest_number(measured) -> None:
    """The lines of one reply may differ while it is streamed."""
    lines = [
        reply(20_000, reply_id="1", output=1),
        reply(20_400, reply_id="1", output=401),
        reply(20_000, reply_id="1", output=1),
    ]
    assert measured(user("go"), *lines).used_tokens == 20_400


def test_subagents_errors_and_text_of_the_client_do_not_count(measured) -> None:
    """Subagents' replies, errors, the client's own text and replies with zero usage do not count."""
    synthetic = reply(99_000, reply_id="3")
    synthetic["message"]["model"] = "<synthetic>"
    zeros = reply(0, reply_id="4")
    zeros["message"]["usage"] = {"input_tokens": 0, "output_tokens": 0}
    others = [
        reply(99_000, reply_id="2", isSidechain=True),
        reply(99_000, reply_id="5", isApiErrorMessage=True),
        synthetic,
        zeros,
    ]
    assert measured(user("go"), reply(20_000, reply_id="1"), *others).used_tokens == 20_000


def test_what_came_after_the_reply_began_is_tail(measured) -> None:
    """A tool may answer before the last line of the reply; text for the screen alone does not count."""
    kept = result("x" * 500)
    kept["toolUseResult"] = {"stdout": "y" * 9_000}
    lines = [reply(20_000, reply_id="1"), kept, reply(20_000, reply_id="1"), result("z" * 300), user("on!")]
    assert measured(user("go"), *lines).tail_chars == 803


def test_a_picture_in_the_tail_counts_at_what_it_costs(measured) -> None:
    """A picture counts with its token cost, not with the length of its base64 data."""
    picture = {"type": "image", "source": {"media_type": "image/png", "data": "A" * 400_000}}
    shown = user("", message={"content": [{"type": "tool_result", "tool_use_id": "1", "content": [picture]}]})
    assert 1_000 < measured(reply(20_000, reply_id="1"), shown).tail_chars < 10_000


def test_after_a_compaction_the_clients_number_counts(measured) -> None:
    """What it adds itself is counted in that; what the user adds is not."""
    compacted = [
        reply(160_000, reply_id="1"),
        boundary(preTokens=160_000, postTokens=9_000),
        summary("s" * 5_000),
    ]
    found = measured(*compacted, user("go on"))
    assert (found.used_tokens, found.tail_chars) == (9_000, 5)
    assert found.compacted_at_tokens == 160_000
    assert found.model == "claude-opus-5-5"


def test_after_a_compaction_without_numbers_nothing_is_known(measured) -> None:
    """The number from before the compaction is never used; everything after it is tail."""
    found = measured(
        reply(160_000, reply_id="1"), boundary(preTokens=160_000), summary("s" * 5_000), user("go on")
    )
    assert (found.used_tokens, found.tail_chars) == (None, 5_005)


def test_a_summary_without_a_boundary_is_a_compaction_too(measured) -> None:
    """Old clients wrote a summary without a boundary."""
    found = measured(reply(160_000, reply_id="1"), summary("s" * 5_000))
    assert (found.used_tokens, found.tail_chars) == (None, 5_000)


def test_the_first_reply_after_a_compaction_counts(measured) -> None:
    """A compaction on request says nothing about where the client compacts automatically."""
    lines = [
        reply(160_000, reply_id="1"),
        boundary(preTokens=160_000, trigger="manual"),
        summary(),
        reply(21_000, reply_id="2"),
    ]
    found = measured(*lines)
    assert (found.used_tokens, found.tail_chars, found.compacted_at_tokens) == (21_000, 0, None)


def test_cleared_results_are_taken_off(measured) -> None:
    """The tokens that the client says it saved are subtracted until the next reply reports its own number."""
    cleared = {
        "type": "system",
        "subtype": "microcompact_boundary",
        "microcompactMetadata": {"preTokens": 60_000, "tokensSaved": 20_000},
    }
    lines = [reply(150_000, reply_id="1"), cleared]
    assert measured(*lines).used_tokens == 130_000
    assert measured(*lines, reply(128_000, reply_id="2")).used_tokens == 128_000


def test_a_file_without_usage_is_unknown(measured) -> None:
    """Some routers write no usage, so everything that is sent counts as tail."""
    silent = reply(1, reply_id="1", text="answer")
    del silent["message"]["usage"]
    assert measured(user("question"), silent) == Occupancy(
        used_tokens=None, tail_chars=14, model="claude-opus-5-5", client_version="2.1.325"
    )
    assert measured() == Occupancy(used_tokens=None)
    assert measured({"type": "mode", "mode": "normal"}, b"\0\0\0").used_tokens is None


def test_the_ratio_is_that_of_replies_and_what_came_behind_them(measured) -> None:
    """The ratio compares added characters with added tokens; a context that shrank is not used."""
    lines = [
        reply(10_000, reply_id="1", output=0, text="a" * 100),
        result("b" * 900),
        reply(10_400, reply_id="2", output=0, text="c" * 200),
        result("d" * 800),
        reply(10_800, reply_id="3", output=0),
        result("e" * 70_000),
        reply(9_000, reply_id="4", output=0),
    ]
    found = measured(*lines)
    assert (found.sample_chars, found.sample_tokens) == (2_000, 800)


def test_no_ratio_is_taken_across_a_compaction(measured) -> None:
    """The ratio is measured only between replies with no compaction between them."""
    lines = [
        reply(10_000, reply_id="1", text="a" * 1_000),
        reply(10_400, reply_id="2"),
        boundary(),
        reply(90_000, reply_id="3"),
    ]
    found = measured(*lines)
    assert (found.sample_chars, found.sample_tokens) == (1_000, 400)


def test_turns_end_with_the_reply_before_the_next_prompt(measured) -> None:
    """The last one is the current turn; those before a compaction do not count."""
    turns = [
        line
        for number in range(12)
        for line in (
            user("go"),
            reply(1_000 + number, reply_id=f"a{number}"),
            reply(2_000 + number, reply_id=f"b{number}"),
        )
    ]
    assert measured(*turns).turn_ends_tokens == tuple(range(2_003, 2_012))
    assert measured(*turns, boundary(), user("go"), reply(500, reply_id="c")).turn_ends_tokens == (500,)


def test_the_last_reply_is_found_behind_any_amount_of_other_lines(measured) -> None:
    """Reading continues until it is found."""
    filler = [{"type": "progress", "data": {"x": "y" * 1_000}}] * (2 * REACH_BYTES // 1_000)
    assert measured(user("go"), reply(20_000, reply_id="1"), *filler).used_tokens == 20_000


@pytest.mark.slow
@pytest.mark.parametrize("boundaries", [3, pytest.param(60, marks=pytest.mark.stress)])
def test_the_tail_agrees_with_a_full_read_at_every_point(
    claude: Claude, real_transcripts: Path, tmp_path: Path, boundaries: int
) -> None:
    """Real transcripts, cut at so many record boundaries each: the same numbers from the end as from the beginning."""
    for transcript in sorted(real_transcripts.rglob("claude-*.jsonl")):
        records = [*claude.read(transcript)]
        cut = tmp_path / "cut.jsonl"
        shutil.copyfile(transcript, cut)
        step = max(1, len(records) // boundaries)
        for count in range(len(records), 0, -step):
            os.truncate(cut, records[count - 1].place.end)
            _compare(claude.occupancy(cut), records[:count], f"{transcript.name} cut after record {count}")


def _compare(found: Occupancy, records: list[Record], where: str) -> None:
    used, tail_chars = _expected_gauge(records)
    assert (found.used_tokens, found.tail_chars) == (used, tail_chars), where
    assert (found.sample_chars, found.sample_tokens) == _expected_sample(records), where
    assert found.turn_ends_tokens == _expected_turn_ends(records), where
    replies = [record for record in records if record.model and record.actor is None]
    assert found.model == (replies[-1].model if replies else None), where
    assert found.client_version == next(filter(None, map(_version, reversed(records))), None), where


def _version(record: Record) -> str | None:
    try:
        line = json.loads(record.raw)
    except ValueError:
        return None
    return line.get("version") if isinstance(line, dict) else None


def _main(records: list[Record]) -> list[Record]:
    return [record for record in records if record.actor is None]


def _since_compaction(records: list[Record]) -> tuple[Record | None, list[Record]]:
    main = _main(records)
    for number in range(len(main) - 1, -1, -1):
        if main[number].type == "system/compact_boundary":
            return main[number], main[number + 1 :]
    return None, main


def _expected_gauge(records: list[Record]) -> tuple[int | None, int]:
    """Written another way than the tail: from the beginning, with lists."""
    compaction, since = _since_compaction(records)
    with_usage = [record for record in since if record.usage]
    if not with_usage:
        after = compaction.compaction.after_tokens if compaction and compaction.compaction else None
        return after, sum(chars(record.blocks) for record in since)
    last = with_usage[-1].reply_id
    lines = [record for record in with_usage if record.reply_id == last]
    first = since.index(lines[0])
    used = max(record.usage.occupancy_tokens for record in lines if record.usage)
    added = [record for record in since[first:] if record.usage is None]
    for record in since[since.index(lines[-1]) :]:
        if record.compaction and record.compaction.trigger == "micro":
            used -= (record.compaction.before_tokens or 0) - (record.compaction.after_tokens or 0)
    return used, sum(chars(record.blocks) for record in added)


def _in_reach(records: list[Record]) -> list[Record]:
    """The last megabyte, and more only to find two replies."""
    limit = records[-1].place.end - REACH_BYTES
    seen: set[str | None] = set()
    for number in range(len(records) - 1, -1, -1):
        if records[number].place.end <= limit and len(seen) > 1:
            return records[number + 1 :]
        if records[number].usage and records[number].actor is None:
            seen.add(records[number].reply_id)
    return records


def _expected_sample(records: list[Record]) -> tuple[int, int]:
    main = _main(_in_reach(records))
    pairs = []
    for part in _parts(main):
        replies = [[*group] for _, group in itertools.groupby(part, key=_Group(part))]
        sent = [_sent(group) for group in replies]
        pairs += [
            (sum(chars(record.blocks) for record in group), later - earlier)
            for group, earlier, later in zip(replies, sent, sent[1:], strict=False)
        ]
    grown = [pair for pair in pairs[-SAMPLED_REPLIES:] if pair[1] > 0]
    return sum(chars for chars, _ in grown), sum(tokens for _, tokens in grown)


def _parts(main: list[Record]) -> list[list[Record]]:
    """Between compactions, from the first reply on."""
    parts: list[list[Record]] = [[]]
    for record in main:
        if record.type == "system/compact_boundary":
            parts.append([])
        elif record.usage or parts[-1]:
            parts[-1].append(record)
    return parts


class _Group:
    """Numbers each record by the reply that it belongs to or follows."""

    def __init__(self, part: list[Record]) -> None:
        self.number, self.last = 0, object()

    def __call__(self, record: Record) -> int:
        if record.usage and record.reply_id != self.last:
            self.number, self.last = self.number + 1, record.reply_id
        return self.number


def _sent(group: list[Record]) -> int:
    usage = max((record.usage for record in group if record.usage), key=lambda each: each.occupancy_tokens)
    return usage.occupancy_tokens - usage.output_tokens


def _expected_turn_ends(records: list[Record]) -> tuple[int, ...]:
    _, since = _since_compaction(_in_reach(records))
    ends: list[int] = []
    replies: dict[str | None, int] = {}
    for record in since:
        if record.kind is RecordKind.PROMPT and replies:
            ends.append([*replies.values()][-1])
            replies = {}
        if record.usage:
            replies[record.reply_id] = max(record.usage.occupancy_tokens, replies.get(record.reply_id, 0))
    if replies:
        ends.append([*replies.values()][-1])
    return tuple(ends[-TURNS:])
