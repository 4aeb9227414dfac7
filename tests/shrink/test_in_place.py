"""A conversation rebuilt in place: in stages until it fits, with the user's words, the last turns and open errors as they were."""

import hashlib
import json
import re
from pathlib import Path

import pytest

from leftoff.agents.registry import agent_of
from leftoff.core.live_messages import LiveMessage
from leftoff.core.trim_plan import digest_of
from leftoff.errors import LeftoffError, NothingToDoError
from leftoff.shrink.cuts import TrimParameters
from leftoff.shrink.expand import expand
from leftoff.shrink.in_place import rebuild, restore_before
from leftoff.shrink.in_place_draft import CompactionOrder
from leftoff.shrink.live_conversation import OPENING, live_messages
from leftoff.shrink.placeholder import parse_placeholder
from leftoff.testing.builders import Story, call
from leftoff.workspace import SessionRef
from tests.support.claude_writer import as_compacted_by_mod
from tests.support.long_sessions import FIRST, LONG, long_story

LOG = "the log of what gave way"
TOKENS = 120_000


def story(turns: int = 12) -> Story:
    return long_story(FIRST, turns)


def ref_of(transcript: Path) -> SessionRef:
    return SessionRef(agent=agent_of(transcript), transcript=transcript)


def compact(transcript: Path, target: int, *, messages=None, pins=(), **order):
    ref = ref_of(transcript)
    return rebuild(
        ref,
        live_messages(ref.agent, ref.session) if messages is None else messages,
        CompactionOrder(used_tokens=TOKENS, target_tokens=target, **order),
        TrimParameters(),
        log_body=lambda room, known: LOG[:room],
        pins=pins,
    )


def typed(messages) -> list[str]:
    return [
        each.text
        for each in messages
        if each.role == "user" and each.text and not each.text.startswith(OPENING)
    ]


def test_what_the_user_typed_stays_word_for_word_at_every_size(home):
    transcript = home.claude(story())
    before = typed(live_messages(ref_of(transcript).agent, ref_of(transcript).session))
    for target in (110_000, 80_000, 50_000, 30_000):
        rebuilt = compact(transcript, target)
        assert typed(rebuilt.messages) == before, target


def test_what_the_user_typed_and_had_no_room_is_counted(home):
    told = Story(session_id=FIRST, project=str(Path.cwd()), model="claude-sonnet-4-5")
    for number in range(20):
        told.asked(f"Build {number}: {LONG[:1_500]}").replied("Building.")
    told.events += story().events
    transcript = home.claude(told)
    assert re.search(
        r"but for \d+ messages of the user that had no room", compact(transcript, 10_000).messages[0].text
    )
    assert "had no room" not in compact(transcript, 110_000).messages[0].text


def test_long_messages_take_no_room_from_short_prompts(home):
    told = Story(session_id=FIRST, project=str(Path.cwd()), model="claude-sonnet-4-5")
    for number in range(4):
        told.asked(f"Rule {number}: {LONG[:300]}").replied("Good.")
    for number in range(8):
        told.asked(f"Paste {number}: {LONG[:900]}").replied("Looking.")
    told.events += story().events
    words = typed(compact(home.claude(told), 10_000).messages)
    assert sum(text.startswith("Rule") for text in words) == 4
    assert sum(text.startswith("Paste") for text in words) < 8


def test_the_words_before_and_after_a_long_paste_stay_with_the_line_that_has_it_all(home):
    told = Story(session_id=FIRST, project=str(Path.cwd()), model="claude-sonnet-4-5")
    told.asked("Use tabs.").replied("Good.")
    told.asked(f"Why does this fail?\n{LONG}\nDo not touch the ledger.").replied("Looking.")
    told.events += story().events
    transcript = home.claude(told)
    rebuilt = compact(transcript, 10_000)
    words = typed(rebuilt.messages)
    assert words[0] == "Use tabs."
    (paste,) = (text for text in words if "Why does this fail?" in text)
    assert paste.endswith("Do not touch the ledger.")
    assert len(paste) < 1_200
    line = int(re.search(r"--at (\d+) …]", paste)[1])
    assert "Do not touch the ledger." in transcript.read_text("utf-8").splitlines()[line - 1]
    assert "long pastes by their two ends" in rebuilt.messages[0].text
    assert "had no room" not in rebuilt.messages[0].text


def test_the_last_turns_stay_where_a_shorter_log_makes_room_for_them(home):
    told = Story(session_id=FIRST, project=str(Path.cwd()), model="claude-sonnet-4-5")
    for number in range(30):
        told.asked(f"Say {number}. {LONG[:800]}").replied(LONG[:10_000])
    transcript = home.claude(told)
    before = live_messages(ref_of(transcript).agent, ref_of(transcript).session)
    lost = [
        size
        for size in range(12_000, 26_000, 1_000)
        if compact(transcript, size).messages[-4:]
        != tuple(each._replace(handle=None) for each in before[-4:])
    ]
    assert not lost


def test_calls_and_results_stay_pairs_and_nothing_keeps_its_handle(home):
    transcript = home.claude(story())
    for target in (110_000, 50_000, 10_000):
        rebuilt = compact(transcript, target)
        calls = [each.call_id for message in rebuilt.messages for each in message.calls]
        results = [each.call_id for message in rebuilt.messages for each in message.results]
        assert calls == results
        assert all(message.handle is None for message in rebuilt.messages)


def test_each_stage_comes_only_when_the_one_before_did_not_free_enough(home):
    transcript = home.claude(story())
    little, more, most = (compact(transcript, target) for target in (119_000, 70_000, 20_000))
    assert 0 < little.placeholders < more.placeholders
    assert more.given_way == 0
    assert LOG not in more.messages[0].text
    assert most.given_way > 0
    assert LOG in most.messages[0].text
    assert little.freed_tokens < more.freed_tokens < most.freed_tokens


def test_the_last_turn_stays_as_it_was_also_where_earlier_files_are_worth_keeping(home):
    told = Story(session_id=FIRST, project=str(Path.cwd()), model="claude-sonnet-4-5")
    for number in range(12):
        told.asked(f"Read {number}.").replied(
            "", call("read", {"path": f"src/{number}.py"}, f"{number}\n{LONG}")
        )
    told.asked("And the last thing?").replied("", call("shell", {"command": "ls"}, "a.py\n" * 3000))
    told.replied("The last word.")
    transcript = home.claude(told)
    before = live_messages(ref_of(transcript).agent, ref_of(transcript).session)
    for target in range(90_000, 116_000, 1_000):
        rebuilt = compact(transcript, target)
        assert [each._replace(handle=None) for each in before[-4:]] == [*rebuilt.messages[-4:]], target


def test_the_last_turn_stays_whole_where_only_its_calls_could_make_room_beside_earlier_files(home):
    told = Story(session_id=FIRST, project=str(Path.cwd()), model="claude-sonnet-4-5")
    for number in range(12):
        told.asked(f"Read {number}.").replied(
            f"I looked at {number}. {LONG[:6_000]}",
            call("read", {"path": f"src/{number}.py"}, f"{number}\n{LONG}"),
        )
    told.asked("And the last thing?")
    for number in range(4):
        told.replied(
            f"Look {number}.", call("shell", {"command": f"ls {number}"}, f"{number}\n" + "a.py\n" * 1_000)
        )
    told.replied("The last word.")
    transcript = home.claude(told)
    before = live_messages(ref_of(transcript).agent, ref_of(transcript).session)
    last = next(index for index, each in enumerate(before) if each.text == "And the last thing?") - len(
        before
    )
    for target in range(100_000, 116_000, 1_000):
        rebuilt = compact(transcript, target)
        assert [each._replace(handle=None) for each in before[last:]] == [*rebuilt.messages[last:]], target


def test_the_original_of_every_placeholder_is_found_by_its_key(home):
    transcript = home.claude(story())
    before = {
        result.call_id: result.text
        for message in live_messages(ref_of(transcript).agent, ref_of(transcript).session)
        for result in message.results
    }
    rebuilt = compact(transcript, 70_000)
    found = [
        (result, placeholder)
        for message in rebuilt.messages
        for result in message.results
        if (placeholder := parse_placeholder(result.text))
    ]
    assert found
    for result, placeholder in found:
        original = expand(placeholder.key)
        assert sha256(original.text) == sha256(before[result.call_id])


def sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def test_an_error_that_is_not_resolved_stays_when_its_turn_gives_way(home):
    told = Story(session_id=FIRST, project=str(Path.cwd()), model="claude-sonnet-4-5")
    told.asked("Run it.").replied(
        "", call("shell", {"command": "make deploy"}, "no such host: db-7", failed=True)
    )
    told.events += story().events
    rebuilt = compact(home.claude(told), 10_000)
    assert rebuilt.given_way > 0
    assert any(
        "no such host: db-7" in result.text for message in rebuilt.messages for result in message.results
    )


def test_what_the_instructions_name_is_cut_last(home):
    transcript = home.claude(story())
    plain = whole_results(compact(transcript, 80_000))
    asked = whole_results(compact(transcript, 80_000, instructions="keep notes-3.txt in mind"))
    assert "turn 3" not in "".join(plain)
    assert "turn 3" in "".join(asked)


def whole_results(rebuilt) -> list[str]:
    return [
        result.text
        for message in rebuilt.messages
        for result in message.results
        if parse_placeholder(result.text) is None
    ]


def test_pins_are_there_byte_for_byte(home):
    pin = "The staging database is `db-7`; ask — before you write."
    rebuilt = compact(home.claude(story()), 60_000, pins=(pin,))
    assert f"\n- {pin}\n" in rebuilt.messages[0].text


def test_trim_lets_no_message_give_way(home):
    rebuilt = compact(home.claude(story()), 10_000, keeps_messages=True)
    assert rebuilt.given_way == 0
    assert rebuilt.placeholders > 0


def test_messages_that_are_not_on_disk_yet_stay_as_they_are(home):
    transcript = home.claude(story())
    ref = ref_of(transcript)
    late = LiveMessage(role="user", text="One more thing: use port 8123.", handle="not-written-yet")
    rebuilt = compact(transcript, 60_000, messages=[*live_messages(ref.agent, ref.session), late])
    assert rebuilt.messages[-1].text == late.text


def test_a_message_without_a_record_at_the_beginning_does_not_protect_all_others(home):
    transcript = home.claude(story())
    ref = ref_of(transcript)
    added = LiveMessage(role="user", text="<system-reminder>of the agent</system-reminder>")
    messages = live_messages(ref.agent, ref.session)
    usual = compact(transcript, 20_000, messages=messages)
    assert compact(transcript, 20_000, messages=[added, *messages]).given_way > usual.given_way > 0


def test_messages_of_another_session_are_refused(home):
    strangers = [LiveMessage(role="user", text="Hello.", handle="of-another-session")]
    with pytest.raises(LeftoffError, match="does not have these messages"):
        compact(home.claude(story()), 60_000, messages=strangers)


def test_a_session_with_nothing_to_free_is_left_alone(home):
    short = Story(session_id=FIRST, project=str(Path.cwd()), model="claude-sonnet-4-5")
    short.asked("Hello.").replied("Hello.")
    with pytest.raises(NothingToDoError, match="could be freed"):
        compact(home.claude(short), 60_000)


def test_an_old_image_becomes_a_placeholder_and_one_of_the_last_turns_is_left_to_the_agent(home):
    transcript = home.claude(story())
    old, new = with_image(transcript, "turn 1\n"), with_image(transcript, "turn 11\n")
    transcript.write_bytes(old)
    assert compact(transcript, 60_000).placeholders
    transcript.write_bytes(new)
    with pytest.raises(LeftoffError, match="has an image"):
        compact(transcript, 60_000)


def test_a_prompt_of_the_last_turns_with_an_image_is_kept_by_the_agent_itself(home):
    told = story()
    told.asked("What is in this picture?").replied("A red square.")
    transcript = home.claude(told)
    plain = compact(transcript, 60_000)
    transcript.write_bytes(with_pictures(transcript, "What is in this picture?"))
    rebuilt = compact(transcript, 60_000)
    (held,) = [each for each in rebuilt.messages if each.handle]
    assert held.text == "What is in this picture?"
    assert ref_of(transcript).agent.write_live_messages(rebuilt.messages)[-2]["handle"] == held.handle
    assert rebuilt.freed_tokens == plain.freed_tokens, "an image that stays frees nothing"


def test_a_prompt_that_is_nothing_but_an_image_is_kept_too_and_also_before_a_long_turn(home):
    told = story()
    told.asked("What is in this picture?")
    for number in range(6):
        told.replied("", call("shell", {"command": f"make {number}"}, f"run {number}\n{LONG}"))
    transcript = home.claude(told)
    transcript.write_bytes(with_pictures(transcript, "What is in this picture?", words=""))
    rebuilt = compact(transcript, 60_000)
    assert [each.text for each in rebuilt.messages if each.handle] == [""]


def test_an_older_prompt_with_an_image_keeps_its_words_and_the_line_of_the_image(home):
    told = Story(session_id=FIRST, project=str(Path.cwd()), model="claude-sonnet-4-5")
    told.asked("What is in this picture?").replied("A red square.")
    told.events += story().events
    transcript = home.claude(told)
    transcript.write_bytes(with_pictures(transcript, "What is in this picture?"))
    rebuilt = compact(transcript, 60_000)
    assert not any(each.handle for each in rebuilt.messages)
    pattern = rf"What is in this picture\?\n\[An image was here: line \d+ of {FIRST}\]"
    assert any(re.fullmatch(pattern, each.text) for each in rebuilt.messages)


def with_pictures(transcript: Path, prompt: str, words: str | None = None) -> bytes:
    """The transcript with an image in each prompt of these words, or with other words beside it."""
    lines = transcript.read_bytes().splitlines()
    for index, line in enumerate(lines):
        record = json.loads(line)
        content = record.get("message", {}).get("content")
        texts = [block.get("text") for block in content] if isinstance(content, list) else []
        if record.get("type") == "user" and prompt in (content, *texts):
            source = {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="}
            image = {"type": "image", "source": source}
            text = {"type": "text", "text": prompt if words is None else words}
            record["message"]["content"] = [image, text] if text["text"] else [image]
            lines[index] = json.dumps(record).encode()
    return b"\n".join(lines) + b"\n"


def with_image(transcript: Path, begins: str) -> bytes:
    """The transcript with an image in the result that begins so."""
    lines = transcript.read_bytes().splitlines()
    for index, line in enumerate(lines):
        record = json.loads(line)
        content = record.get("message", {}).get("content")
        for block in content if isinstance(content, list) else []:
            if block.get("type") == "tool_result" and str(block.get("content")).startswith(begins):
                source = {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="}
                block["content"] = [{"type": "text", "text": LONG}, {"type": "image", "source": source}]
                lines[index] = json.dumps(record).encode()
    return b"\n".join(lines) + b"\n"


def test_only_a_compaction_of_leftoff_can_be_undone(home):
    told = story()
    told.compacted("-", after=9_000)
    told.asked("And now?").replied("Going on.")
    transcript = home.claude(told)
    before = live_messages(ref_of(transcript).agent, ref_of(transcript).session)
    as_compacted_by_mod(transcript, f"{OPENING}\n\nof the test", keeps=False)
    ref = ref_of(transcript)
    restored = restore_before(ref, live_messages(ref.agent, ref.session))
    texts = [digest_of(result.text) for message in restored.messages for result in message.results]
    assert texts, before
    assert [each.text for each in restored.messages[-2:]] == ["And now?", "Going on."]
    told.session_id = "0b54f7aa-6d0c-4c7b-9d57-3f6c9d9a3b12"
    other = home.claude(told)
    as_compacted_by_mod(other, "a card of another mod", keeps=False)
    with pytest.raises(NothingToDoError, match="did not make the last compaction"):
        restore_before(ref_of(other), before)


def test_undoing_names_an_image_that_went_and_is_declined_where_one_came_since(home):
    told = story()
    told.compacted("-", after=9_000)
    told.asked("And now?").replied("", call("shell", {"command": "draw"}, "the new picture"))
    transcript = home.claude(told)
    as_compacted_by_mod(transcript, f"{OPENING}\n\nof the test", keeps=False)
    whole = transcript.read_bytes()
    transcript.write_bytes(with_image(transcript, "turn 1\n"))
    ref = ref_of(transcript)
    restored = restore_before(ref, live_messages(ref.agent, ref.session))
    texts = [result.text for message in restored.messages for result in message.results]
    assert any(re.search(rf"\[An image was here: line \d+ of {FIRST}\]\Z", text) for text in texts)
    transcript.write_bytes(whole)
    transcript.write_bytes(with_image(transcript, "the new picture"))
    ref = ref_of(transcript)
    with pytest.raises(LeftoffError, match="has an image"):
        restore_before(ref, live_messages(ref.agent, ref.session))


def test_undoing_keeps_the_images_of_prompts_that_the_agent_has_now(home):
    told = story()
    told.asked("What is in this picture?").replied("A red square.")
    told.compacted("-", after=9_000)
    told.asked("And in this one?").replied("A circle.")
    transcript = home.claude(told)
    as_compacted_by_mod(transcript, f"{OPENING}\n\nof the test", keeps=True)
    for prompt in ("What is in this picture?", "And in this one?"):
        transcript.write_bytes(with_pictures(transcript, prompt))
    ref = ref_of(transcript)
    now = live_messages(ref.agent, ref.session)
    restored = restore_before(ref, now)
    held = {each.text: each.handle for each in restored.messages if each.handle}
    assert held == {
        each.text: each.handle for each in now if "picture?" in each.text or "this one?" in each.text
    }
    assert not any("An image was here" in each.text for each in restored.messages)


def test_a_result_never_stays_without_its_call_when_calls_were_made_together(home):
    told = Story(session_id=FIRST, project=str(Path.cwd()), model="claude-sonnet-4-5")
    told.asked("Run both.").replied(
        "",
        call("shell", {"command": "make deploy"}, "no such host: db-7", failed=True),
        call("shell", {"command": "cat notes"}, LONG),
    )
    told.events += story().events
    transcript = home.claude(told)
    ref = ref_of(transcript)
    apart = live_messages(ref.agent, ref.session)
    first, second = [each for each in apart if each.calls][:2]
    together = [
        each._replace(calls=first.calls + second.calls) if each is first else each
        for each in apart
        if each is not second
    ]
    rebuilt = compact(transcript, 10_000, messages=together)
    assert rebuilt.given_way > 0
    calls = {each.call_id for message in rebuilt.messages for each in message.calls}
    results = {each.call_id: each.text for message in rebuilt.messages for each in message.results}
    assert {*results} == calls
    assert "no such host: db-7" in results.values()


def test_a_trim_keeps_the_log_of_what_gave_way_at_an_earlier_compaction(home):
    transcript = compacted_before(home, f"3 gave way to the log below.\n\n{LOG}")
    trimmed = compact(transcript, 20_000, keeps_messages=True)
    assert trimmed.given_way == 0
    assert LOG in trimmed.messages[0].text
    assert LOG in compact(transcript, 110_000).messages[0].text, "placeholders alone freed enough"
    transcript.unlink()
    without_log = compacted_before(home, "2 results below became placeholders.")
    assert LOG not in compact(without_log, 20_000, keeps_messages=True).messages[0].text


def test_placeholders_of_messages_that_gave_way_are_not_counted(home):
    rebuilt = compact(home.claude(story()), 20_000)
    assert rebuilt.given_way > 0
    there = sum(
        "leftoff expand" in text
        for message in rebuilt.messages
        for text in (
            *(result.text for result in message.results),
            *(json.dumps(call.input) for call in message.calls),
        )
    )
    assert rebuilt.placeholders == there
    assert ("became placeholders" in rebuilt.messages[0].text) == (there > 0)


def test_what_was_undone_is_not_trimmed_again_by_a_second_undo(home):
    transcript = compacted_before(home, "2 results below became placeholders.")
    ref = ref_of(transcript)
    restored = restore_before(ref, live_messages(ref.agent, ref.session))
    transcript.unlink()
    undone = compacted_before(home, "", opening=restored.messages[0].text)
    ref = ref_of(undone)
    with pytest.raises(NothingToDoError, match="undone already"):
        restore_before(ref, live_messages(ref.agent, ref.session))
    trimmed = compact(undone, 20_000, keeps_messages=True)
    assert all(each.text != restored.messages[0].text for each in trimmed.messages)


def test_what_comes_back_is_counted_as_what_went(home):
    told = story()
    told.compacted("-", after=9_000)
    transcript = home.claude(told)
    as_compacted_by_mod(transcript, f"{OPENING}\n\nof the test", keeps=False)
    ref = ref_of(transcript)
    rebuilt = compact(transcript, 20_000, keeps_messages=True)
    held = live_messages(ref.agent, ref.session)
    now = [each._replace(handle=known.handle) for each, known in zip(rebuilt.messages, held, strict=True)]
    back = restore_before(ref, now)
    assert back.freed_tokens == pytest.approx(-rebuilt.freed_tokens, rel=0.02)


def compacted_before(home, head: str, opening: str = OPENING) -> Path:
    """A session that leftoff has compacted, with work since."""
    told = story()
    told.compacted("-", after=9_000)
    told.events += story().events[1:]
    transcript = home.claude(told)
    as_compacted_by_mod(transcript, f"{opening}\n\n{head}".strip(), keeps=False)
    return transcript
