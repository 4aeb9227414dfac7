"""What is Claude Code's own in a copy: shapes, side lines, damage, folders, usage, and versions."""

import json
import re
from datetime import UTC, datetime
from pathlib import Path

import pytest

from leftoff.agents.claude.listing import sessions_folder
from leftoff.core.records import Place
from leftoff.core.trim_plan import CopyOrder, Cut, FreshOrder, RestoredPiece
from leftoff.errors import LeftoffError
from leftoff.shrink.invariants import COMMON_INVARIANTS
from tests.support.transcripts import occupancies

AT = datetime(2026, 1, 7, 8, 30, tzinfo=UTC)
OLD = "5817b2e2-c1a2-4d6e-bd4e-726f2fe1a4ac"
USAGE = {
    "input_tokens": 4,
    "cache_creation_input_tokens": 60_000,
    "cache_read_input_tokens": 100_000,
    "output_tokens": 996,
    "cache_creation": {"ephemeral_1h_input_tokens": 60_000},
    "iterations": [{"input_tokens": 4, "cache_read_input_tokens": 160_000}],
}


def line(kind, name, parent, content=None, **more):
    message = {} if content is None else {"message": {"role": kind, "content": content}}
    return {
        "parentUuid": parent,
        "isSidechain": False,
        "type": kind,
        **message,
        "uuid": name,
        "timestamp": "2026-01-06T12:00:00.000Z",
        "cwd": "/home/dev/project",
        "sessionId": OLD,
        "version": "2.1.325",
        **more,
    }


def reply(name, parent, *blocks, usage=USAGE):
    found = line("assistant", name, parent, [*blocks])
    found["message"] |= {"id": f"msg-{name}", "model": "claude-sonnet-4-5", "usage": usage}
    return found


def tool_use(call="toolu_1", **tool_input):
    return {"type": "tool_use", "id": call, "name": "Bash", "input": tool_input or {"command": "ls"}}


def tool_result(content, call="toolu_1"):
    return {"tool_use_id": call, "type": "tool_result", "content": content}


SIDE = {"type": "queue-operation", "operation": "enqueue", "sessionId": OLD, "content": "Hello"}
PROMPT = line("user", "u1", None, "Hello there")


@pytest.fixture
def source(claude):
    """Writes lines where the client would, and gives the transcript."""

    def write(*lines):
        path = claude.home / "projects" / "-home-dev-project" / f"{OLD}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(
            b"".join(
                each
                if isinstance(each, bytes)
                else json.dumps(each, separators=(",", ":"), ensure_ascii=False).encode() + b"\n"
                for each in lines
            )
        )
        return path

    return write


def order(**more):
    fields = {"at": AT, "metadata": {"trim_metadata": {"parent_file": "/p"}}, "invariants": COMMON_INVARIANTS}
    return CopyOrder(**fields | more)


def copied(claude, path, *changes, **more):
    return claude.write_copy(claude.open(path), changes, order(**more)).transcript


def lines_of(path):
    return [json.loads(each) for each in path.read_bytes().splitlines()]


def record_at(claude, path, line_idx):
    return next(record for record in claude.read(path) if record.place.line_idx == line_idx)


def at(path, number):
    """The place of a line, counted from 0."""
    lines = path.read_bytes().splitlines(keepends=True)
    start = sum(map(len, lines[:number]))
    return Place(str(path), number, start, start + len(lines[number]))


def cut(place, part="result", call_id="toolu_1", replacement="[less]", key="K"):
    return Cut(
        place=place,
        part=part,
        call_id=call_id,
        tool="Bash",
        original_chars=999,
        replacement=replacement,
        rationale="",
        key=key,
    )


def test_the_first_line_is_the_users_and_side_lines_follow(claude, source):
    """The first line carries the metadata, because only a user's line survives a fork."""
    path = source(
        SIDE,
        {"type": "summary", "summary": "s", "leafUuid": "u1"},
        PROMPT,
        reply("a1", "u1", {"type": "text", "text": "Hi"}),
    )
    found = lines_of(copied(claude, path))
    assert [each["type"] for each in found] == ["user", "queue-operation", "summary", "assistant"]
    assert found[0]["trim_metadata"] == {"parent_file": "/p"}
    assert sum("trim_metadata" in each for each in found) == 1


def test_every_line_has_the_new_id_and_paths_keep_the_old(claude, source):
    """Lines that came from another session get the new id too, and paths of large results are kept."""
    stranger = line("user", "u2", "a1", "And?") | {"sessionId": "somebody-else", "session_id": OLD}
    kept = f"saved to: /home/x/{OLD}/tool-results/1.txt"
    path = source(PROMPT, reply("a1", "u1", {"type": "text", "text": kept}), stranger)
    copy = copied(claude, path)
    assert {each["sessionId"] for each in lines_of(copy)} == {copy.stem}
    assert lines_of(copy)[1]["message"]["content"][0]["text"] == kept
    assert re.findall(OLD.encode(), copy.read_bytes()) == [OLD.encode()]


@pytest.mark.parametrize("spaces", [(",", ":"), (", ", ": ")])
def test_other_layouts_are_copied_too(claude, source, spaces):
    """Ids and usage are found however the JSON is spaced and ordered."""
    lines = (PROMPT, reply("a1", "u1", {"type": "text", "text": "Hi"}))
    path = source(*(json.dumps(each, separators=spaces, sort_keys=True).encode() + b"\n" for each in lines))
    copy = copied(claude, path, used_tokens=1000)
    assert {each["sessionId"] for each in lines_of(copy)} == {copy.stem}
    assert occupancies(claude, copy)[0] in range(990, 1001)


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("long " * 300, "[less]"),
        ([{"type": "text", "text": "long " * 300}], [{"type": "text", "text": "[less]"}]),
        (
            [{"type": "image", "source": {"type": "base64", "data": "QUJD" * 500}}],
            [{"type": "text", "text": "[less]"}],
        ),
    ],
)
def test_a_result_keeps_its_shape(claude, source, content, expected):
    """A string stays a string, a list a list, and an image becomes text."""
    path = source(PROMPT, reply("a1", "u1", tool_use()), line("user", "u2", "a1", [tool_result(content)]))
    copy = copied(claude, path, cut(at(path, 2)))
    assert lines_of(copy)[2]["message"]["content"][0]["content"] == expected
    back = copied(
        claude, copy, RestoredPiece(place=at(copy, 2), part="result", call_id="toolu_1", value=content)
    )
    assert lines_of(back)[2]["message"] == lines_of(path)[2]["message"]


def test_what_repeats_a_result_in_its_line_is_shortened_too(claude, source):
    """The client's own copy for the screen keeps its shape and says where the original is."""
    beside = {
        "stdout": "secret " * 100,
        "interrupted": False,
        "structuredPatch": [{"lines": ["secret"] * 200}],
        "n": [1],
    }
    path = source(
        PROMPT,
        reply("a1", "u1", tool_use()),
        line("user", "u2", "a1", [tool_result("secret " * 100)], toolUseResult=beside),
    )
    copy = copied(claude, path, cut(at(path, 2)))
    assert b"secret" not in copy.read_bytes()
    note = "[suppressed: leftoff expand K]"
    assert lines_of(copy)[2]["toolUseResult"] == {
        "stdout": note,
        "interrupted": False,
        "structuredPatch": [],
        "n": [1],
    }


def test_an_input_keeps_its_names_and_is_given_back_whole(claude, source):
    """The longest text becomes the replacement, other long ones a note, short ones stay."""
    tool_input = {
        "file_path": "/a.py",
        "old_string": "o" * 300,
        "new_string": "n" * 400,
        "edits": [{"x": "y" * 250}],
    }
    path = source(PROMPT, reply("a1", "u1", tool_use(**tool_input)))
    copy = copied(claude, path, cut(at(path, 1), part="input"))
    note = "[suppressed: leftoff expand K]"
    expected = {"file_path": "/a.py", "old_string": note, "new_string": "[less]", "edits": [{"x": note}]}
    assert lines_of(copy)[1]["message"]["content"][0]["input"] == expected
    value = claude.original(record_at(claude, path, 1), "input", "toolu_1")
    back = copied(
        claude, copy, RestoredPiece(place=at(copy, 1), part="input", call_id="toolu_1", value=value)
    )
    assert lines_of(back)[1]["message"]["content"][0]["input"] == tool_input


def test_a_list_of_short_texts_is_emptied_with_the_replacement_beside_it(claude, source):
    """When no single text of an input is long, an entry with the replacement would look like one that was set."""
    path = source(PROMPT, reply("a1", "u1", tool_use(todos=[{"content": "short"}] * 90)))
    copy = copied(claude, path, cut(at(path, 1), part="input"))
    assert lines_of(copy)[1]["message"]["content"][0]["input"] == {
        "todos": [],
        "suppressed": "[less]",
    }


def test_text_of_a_reply_in_several_blocks_is_one_piece(claude, source):
    """The text blocks of a reply are cut and restored together."""
    blocks = ({"type": "text", "text": "one"}, tool_use(), {"type": "text", "text": "two"})
    path = source(PROMPT, reply("a1", "u1", *blocks))
    assert claude.original(record_at(claude, path, 1), "text", None) == ["one", "two"]
    copy = copied(claude, path, cut(at(path, 1), part="text", call_id=None))
    assert lines_of(copy)[1]["message"]["content"] == [{"type": "text", "text": "[less]"}, tool_use()]
    back = copied(
        claude, copy, RestoredPiece(place=at(copy, 1), part="text", call_id=None, value=["one", "two"])
    )
    texts = [block["text"] for block in lines_of(back)[1]["message"]["content"] if block["type"] == "text"]
    assert texts == ["one", "two"]


def test_a_reply_that_is_a_bare_string(claude, source):
    """Old clients wrote such."""
    path = source(PROMPT, line("assistant", "a1", "u1", "just words"))
    copy = copied(claude, path, cut(at(path, 1), part="text", call_id=None))
    assert lines_of(copy)[1]["message"]["content"] == "[less]"


def test_a_line_of_thinking_is_removed_and_its_children_get_its_parent(claude, source):
    """Several lines of thinking may follow each other, and the client may have named one as its leaf."""
    thought = {"type": "thinking", "thinking": "Hm.", "signature": "s"}
    path = source(
        PROMPT,
        reply("t1", "u1", thought),
        reply("t2", "t1", thought),
        reply("a1", "t2", {"type": "text", "text": "Hi"}),
        {"type": "last-prompt", "lastPrompt": "x", "leafUuid": "t2", "sessionId": OLD},
        reply("a2", "a1", thought, {"type": "text", "text": "Ho"}),
    )
    cuts = [
        cut(at(path, number), part="thinking", call_id=None, replacement="", key="") for number in (1, 2, 5)
    ]
    found = lines_of(copied(claude, path, *cuts))
    assert [each.get("uuid") for each in found] == ["u1", "a1", None, "a2"]
    assert found[1]["parentUuid"] == "u1"
    assert found[2]["leafUuid"] == "u1"
    assert [block["type"] for block in found[3]["message"]["content"]] == ["text"]


def test_thinking_that_a_compaction_preserved_stays(claude, source):
    """A compaction names the thinking that it preserved by its ids."""
    thought = {"type": "thinking", "thinking": "Hm.", "signature": "s"}
    boundary = line("system", "b", None, subtype="compact_boundary", compactMetadata={"trigger": "auto"})
    path = source(
        PROMPT, reply("t1", "u1", thought), boundary, line("user", "u2", "b", "S", isCompactSummary=True)
    )
    thinking = cut(at(path, 1), part="thinking", call_id=None, replacement="", key="")
    assert [each["uuid"] for each in lines_of(copied(claude, path, thinking))] == ["u1", "t1", "b", "u2"]


def test_after_a_compaction_the_first_sent_line_gets_block_and_metadata(claude, source):
    """A fork of a compacted session leaves the first line behind."""
    boundary = line("system", "b", None, subtype="compact_boundary", compactMetadata={"trigger": "auto"})
    summary = line("user", "u2", "b", "Summary", isCompactSummary=True)
    path = source(
        PROMPT,
        reply("a1", "u1", {"type": "text", "text": "Hi"}),
        boundary,
        summary,
        line("user", "u3", "u2", [{"type": "image", "source": {"data": "QUJD"}}]),
    )
    found = lines_of(copied(claude, path, block="[B]\nx\n[/B]"))
    assert found[4]["message"]["content"][0] == {"type": "text", "text": "[B]\nx\n[/B]"}
    assert [number for number, each in enumerate(found) if "trim_metadata" in each] == [0, 4]
    without_prompt = source(PROMPT, boundary, summary)
    found = lines_of(copied(claude, without_prompt, block="[B]\nx\n[/B]"))
    assert found[2]["message"]["content"] == "[B]\nx\n[/B]\n\nSummary"


def test_the_order_may_name_the_first_prompt(claude, source):
    """A first prompt that the caller names is not searched for."""
    path = source(PROMPT, line("user", "u2", "u1", "Second"))
    found = lines_of(copied(claude, path, block="[B]\nx\n[/B]", first_prompt=at(path, 1)))
    assert found[1]["message"]["content"] == "[B]\nx\n[/B]\n\nSecond"


def test_usage_comes_down_in_proportion_and_the_sums_are_kept(claude, source):
    """Nested numbers too; a usage within the limit keeps its bytes; other usages do not belong to a reply."""
    low = {"input_tokens": 5, "output_tokens": 6}
    result_line = line(
        "user", "u2", "a1", [tool_result("x")], toolUseResult={"usage": USAGE, "totalTokens": 9}
    )
    inner = {
        "type": "progress",
        "uuid": "p",
        "parentUuid": "a1",
        "sessionId": OLD,
        "data": {"message": reply("x", "y")},
    }
    path = source(
        PROMPT,
        reply("a0", "u1", {"type": "text", "text": "Hi"}, usage=low),
        reply("a1", "a0", tool_use()),
        reply("a1b", "a1", tool_use("toolu_2"), usage=USAGE | {"output_tokens": 997}),
        result_line,
        inner,
    )
    copy = copied(claude, path, used_tokens=16_100)
    found = lines_of(copy)
    usage = found[2]["message"]["usage"]
    assert usage == {
        "input_tokens": 0,
        "cache_creation_input_tokens": 6_000,
        "cache_read_input_tokens": 10_000,
        "output_tokens": 99,
        "cache_creation": {"ephemeral_1h_input_tokens": 6_000},
        "iterations": [{"input_tokens": 0, "cache_read_input_tokens": 16_000}],
    }
    assert found[1]["message"]["usage"] == low
    assert found[4]["toolUseResult"]["usage"] == USAGE
    assert found[5]["data"]["message"]["message"]["usage"] == USAGE
    sums = found[0]["trim_metadata"]["usage"]
    assert (sums["replies"], sums["original"]["cache_read_input_tokens"]) == (2, 200_000)
    assert sums["written"]["cache_read_input_tokens"] == 19_999


def test_damage_is_passed_through(claude, source):
    """Bytes that are not UTF-8, lines that are not objects, NULs, a torn end: all there, byte for byte."""
    damage = [b"\xff\xfe not json\n", b"[1, 2]\n", b"\0\0\0\n", b"\n", b'{"torn": "']
    path = source(SIDE, *damage[:2], PROMPT, *damage[2:])
    copy = copied(claude, path, used_tokens=10)
    assert copy.read_bytes().partition(b"\n")[2].replace(copy.stem.encode(), OLD.encode()) == (
        json.dumps(SIDE, separators=(",", ":")).encode() + b"\n" + b"".join(damage) + b"\n"
    )


def test_a_changed_line_keeps_bytes_that_are_not_text(claude, source):
    """Invalid UTF-8 and half a surrogate pair beside what is cut come through as they were."""
    raw = json.dumps(
        line("user", "u2", "a1", [tool_result("long " * 99)], odd="\ud83d", worse="@"), separators=(",", ":")
    )
    path = source(PROMPT, reply("a1", "u1", tool_use()), raw.encode().replace(b'"@"', b'"\xff"') + b"\n")
    changed = copied(claude, path, cut(at(path, 2))).read_bytes().splitlines()[2]
    assert b'"worse":"\xff"' in changed
    assert b'"odd":"\\ud83d"' in changed
    assert b"[less]" in changed


def test_a_line_of_escapes_does_not_grow(claude, source):
    """Japanese written in ASCII escapes becomes shorter, never longer."""
    result_line = line("user", "u2", "a1", [tool_result("x" * 300), {"type": "text", "text": "日本語" * 50}])
    path = source(PROMPT, reply("a1", "u1", tool_use()), json.dumps(result_line).encode() + b"\n")
    copy = copied(claude, path, cut(at(path, 2)))
    assert len(copy.read_bytes().splitlines()[2]) < len(path.read_bytes().splitlines()[2]) - 300
    assert "日本語" in copy.read_text(encoding="utf-8")


def test_glued_objects_are_changed_one_by_one(claude, source):
    """The first line may be glued to the end of another, and a cut may precede it."""
    glue = [json.dumps(each, separators=(",", ":")).encode() for each in (SIDE, PROMPT)]
    second = [
        json.dumps(each, separators=(",", ":")).encode()
        for each in (reply("a1", "u1", {"type": "text", "text": "w" * 99}), SIDE)
    ]
    path = source(b"".join(glue) + b"\n", b"".join(second) + b"\n")
    start = path.read_bytes().index(second[0])
    place = Place(str(path), 1, start, start + len(second[0]))
    copy = copied(claude, path, cut(place, part="text", call_id=None))
    raw = copy.read_bytes().splitlines()
    assert [json.loads(each)["type"] for each in raw[:2]] == ["user", "queue-operation"]
    assert raw[2].count(b"[less]") == 1
    assert raw[2].endswith(b"}")
    assert raw[2].count(copy.stem.encode()) == 2


def test_a_simple_line_is_cut(claude, source):
    """Lines in the simple format have no call id, so a call is identified by its line number."""
    simple = {"type": "tool_result", "message": {"tool_name": "Read", "content": "long " * 200}}
    path = source({"type": "user", "message": {"role": "user", "content": "Hi"}}, simple)
    copy = copied(claude, path, cut(at(path, 1), call_id="line-2"))
    assert lines_of(copy)[1]["message"] == {"tool_name": "Read", "content": "[less]"}
    assert claude.original(record_at(claude, path, 1), "result", "line-2") == "long " * 200


def test_a_file_without_a_user_begins_with_what_there_is(claude, source):
    """Without user lines, a copy begins with the first message; a session without messages is refused."""
    path = source(SIDE, reply("a1", None, {"type": "text", "text": "Hi"}))
    assert lines_of(copied(claude, path))[0]["uuid"] == "a1"
    with pytest.raises(LeftoffError, match="no message that a copy"):
        copied(claude, source(SIDE))


def test_the_parent_of_the_source_is_replaced(claude, source):
    """The first line of a copy names only the newest parent."""
    older = PROMPT | {"continue_metadata": {"parent_file": "/older"}, "forkedFrom": {"sessionId": "x"}}
    path = source(older, reply("a1", "u1", {"type": "text", "text": "Hi"}))
    copy = copied(claude, path)
    assert lines_of(copy)[0].keys() & {"continue_metadata", "forkedFrom", "trim_metadata"} == {
        "trim_metadata"
    }
    assert claude.open(copy).parent.transcript == "/p"


def test_a_source_with_problems_can_be_copied(claude, source):
    """An interrupted call, an orphan, a missing parent: the client coped with them."""
    path = source(
        PROMPT, reply("a1", "gone", tool_use()), line("user", "u2", "a1", [tool_result("x", "never-asked")])
    )
    assert len(lines_of(copied(claude, path))) == 3


def test_progress_is_reported(claude, source):
    """The last report is the size of the file."""
    reports = []
    path = source(PROMPT, *(reply(f"a{n}", "u1", {"type": "text", "text": "w" * 9000}) for n in range(300)))
    copied(claude, path, progress=lambda done, whole: reports.append((done, whole)))
    assert len(reports) > 1
    assert reports[-1] == (path.stat().st_size,) * 2


def test_a_newer_client_with_unknown_fields_is_refused(claude, source):
    """An older client with unknown fields, and a newer one without any, can be copied."""
    odd = line("user", "u2", "u1", "Hi", chainDigest="x")
    newer = [each | {"version": "9.1.0"} for each in (PROMPT, odd)]
    assert "chainDigest" in claude.refusal(claude.open(source(*newer)))
    knot = newer[0] | {"type": "knot", "uuid": "k", "parentUuid": "u1"}
    after = line("user", "u2", "k", "Hi", version="9.1.0")
    assert "lines of type knot" in claude.refusal(claude.open(source(newer[0], knot, after)))
    assert claude.refusal(claude.open(source(newer[0], knot))) is None  # nothing that is sent follows it
    assert claude.refusal(claude.open(source(newer[0]))) is None
    assert claude.refusal(claude.open(source(PROMPT, odd))) is None


@pytest.mark.parametrize(
    ("path", "slug"),
    [
        ("/srv/My Proj_1.2 (ü)@x", "-srv-My-Proj-1-2-----x"),
        ("/srv/😀", "-srv---"),
        ("/srv/" + "a" * 200, None),
    ],
)
def test_the_folder_of_a_project(path, slug):
    """A project's folder is its path with dashes; a long path is cut and numbered."""
    found = sessions_folder(Path("/h"), Path(path)).name
    assert found == slug if slug else re.fullmatch(r"-srv-a{195}-[0-9a-z]+", found)


def test_a_fresh_session_carries_its_metadata_on_the_line_that_survives(claude, tmp_path):
    fresh_order = FreshOrder(
        at=AT, project=tmp_path, first_message="Hi", metadata={"continue_metadata": {"parent_file": "/p"}}
    )
    (found,) = lines_of(claude.write_fresh(fresh_order).transcript)
    assert found["type"] == "user"
    assert found["continue_metadata"] == {"parent_file": "/p"}
    assert (found["entrypoint"], found["timestamp"]) == ("cli", "2026-01-07T08:30:00.000Z")


def test_usage_before_what_is_live_stays(claude, source):
    """What is sent no more was not cut, so its numbers are true; from the first live line on they come down."""
    boundary = line("system", "b1", None, subtype="compact_boundary", compactMetadata={"trigger": "auto"})
    path = source(
        PROMPT,
        reply("a1", "u1", {"type": "text", "text": "Hi"}),
        boundary,
        line("user", "u2", "b1", "The summary", isCompactSummary=True),
        reply("a2", "u2", {"type": "text", "text": "Go on"}),
        line("user", "u3", "a2", "More"),
        reply("a3", "u3", {"type": "text", "text": "Done"}, usage=USAGE | {"output_tokens": 997}),
    )
    live = claude.live_pieces(claude.open(path), at_least_chars=1, head=9, tail=9)
    assert live.live_from in {at(path, 2), at(path, 3)}
    assert live.first_prompt == at(path, 5)  # a real prompt before a summary
    found = lines_of(copied(claude, path, used_tokens=16_100, live_from=live.live_from))
    assert [each["message"]["usage"]["output_tokens"] for each in found if each["type"] == "assistant"] == [
        996,
        99,
        99,
    ]
    assert found[0]["trim_metadata"]["usage"]["replies"] == 2


def test_the_last_usage_can_be_written_up(claude, source):
    """After originals are restored, the last reply reports what the copy takes now."""
    low = {"input_tokens": 60, "cache_read_input_tokens": 30, "output_tokens": 10}
    path = source(
        PROMPT,
        reply("a1", "u1", {"type": "text", "text": "Hi"}, usage=low),
        reply("a2", "a1", {"type": "text", "text": "Ho"}, usage=low),
    )
    found = lines_of(copied(claude, path, used_tokens=5_000, measured_at=(at(path, 2),)))
    assert found[1]["message"]["usage"] == low
    assert found[2]["message"]["usage"] == {
        "input_tokens": 3_000,
        "cache_read_input_tokens": 1_500,
        "output_tokens": 500,
    }


@pytest.mark.parametrize("name", ["sessionId", "session_id"])
def test_an_id_that_a_tool_was_given_or_answered_stays(claude, source, name):
    """Only the ids that a line has of its own are replaced; the conversation is left alone."""
    tool_input = {name: OLD, "deep": {name: OLD}}
    path = source(
        PROMPT,
        reply("a1", "u1", tool_use(**tool_input)),
        line("user", "u2", "a1", [tool_result("ok")], toolUseResult=tool_input),
        line("user", "u3", "u2", "And now?"),
    )
    copy = copied(claude, path)
    lines = lines_of(copy)
    assert {each["sessionId"] for each in lines} == {copy.stem}
    assert lines[1]["message"]["content"][0]["input"] == tool_input
    assert lines[2]["toolUseResult"] == tool_input


def test_the_replacement_takes_the_place_of_the_text_it_shows(claude, source):
    """Of two equally long texts, the one that is shown is also the one that is replaced."""
    old, new = "a" * 900, "b" * 900
    path = source(
        PROMPT,
        reply("a1", "u1", tool_use(file_path="x.py", old_string=old, new_string=new)),
        line("user", "u2", "a1", [tool_result("ok")]),
    )
    live = claude.live_pieces(claude.open(path), at_least_chars=500, head=10, tail=10)
    (shown,) = [piece.head for piece in live.pieces if piece.part == "input"]
    found = lines_of(copied(claude, path, cut(at(path, 1), part="input", replacement="[less]")))
    tool_input = found[1]["message"]["content"][0]["input"]
    (field,) = [name for name, value in tool_input.items() if value == "[less]"]
    assert {"old_string": old, "new_string": new}[field].startswith(shown)
