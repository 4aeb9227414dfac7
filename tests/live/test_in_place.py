"""What leftoff answers to its plugin inside an agent: rebuilt messages with a receipt, or the reason to decline."""

import json
from pathlib import Path

import pytest

from leftoff.config.load import FILE_NAME
from leftoff.config.save import save_setting
from leftoff.live.in_place import answer_request
from leftoff.platform import clock, paths
from leftoff.resume_logs.save import save_log
from leftoff.sessions.ancestry import Heir, note_continued
from leftoff.shrink.live_conversation import OPENING, live_messages
from leftoff.workspace import Workspace
from tests.support.claude_writer import as_compacted_by_mod
from tests.support.live_session import OTHER, LiveSession, agent_context
from tests.support.long_sessions import LONG, RULE, long_story

FULL_TOKENS = 160_000


@pytest.fixture
def ask(live):
    """Asks with the messages of a long session, as the mod does."""
    live.story.events = long_story(live.session_id, turns=10).events
    live.write()

    def ask(action: str = "compact", **fields: object) -> dict:
        request = {
            "action": action,
            "trigger": "auto",
            "session_id": live.session_id,
            "cwd": str(Path.cwd()),
            "used_tokens": FULL_TOKENS,
            "messages": messages_of(live),
        }
        return json.loads(answer_request("claude", json.dumps(request | fields).encode()))

    return ask


def messages_of(live) -> list[dict]:
    session = live.agent.open(live.transcript)
    return [
        {
            "role": each.role,
            "text": each.text,
            "handle": each.handle,
            "toolUses": [
                {"tool_use_id": call.call_id, "tool": call.tool, "input": call.input} for call in each.calls
            ],
            "toolResults": [
                {"tool_use_id": result.call_id, "text": result.text, "isError": bool(result.is_error)}
                for result in each.results
            ],
        }
        for each in live_messages(live.agent, session)
    ]


def saved_logs() -> list[Path]:
    return [*(Path.cwd() / ".leftoff" / "resume-logs").glob("session-*.json")]


def test_the_answer_has_messages_without_handles_and_calls_with_new_ids(live, ask):
    answer = ask()
    assert answer["messages"][0]["text"].startswith(OPENING)
    assert any(each["text"].endswith(RULE) for each in answer["messages"])
    assert all("handle" not in each for each in answer["messages"])
    calls = [use["tool_use_id"] for each in answer["messages"] for use in each["toolUses"]]
    results = [result["tool_use_id"] for each in answer["messages"] for result in each["toolResults"]]
    assert calls == results
    assert len({*calls}) == len(calls)
    assert all(each.startswith("toolu_lo_") for each in calls)


def test_the_receipt_says_what_went_and_what_it_freed(ask):
    receipt = ask()["receipt"]
    assert "messages now in the log only" in receipt
    assert "placeholders" in ask("trim")["receipt"]
    assert " tokens freed, " in receipt
    assert " % → " in receipt


def test_the_log_is_saved_first_and_the_start_after_it_repeats_nothing(live, ask):
    live.hook("SessionStart", source="startup")
    ask()
    assert len(saved_logs()) == 1
    assert live.state.compaction == "in_place"
    assert live.hook("PostCompact", trigger="auto", compact_summary="") == {}
    assert live.hook("SessionStart", source="compact") == {}
    assert live.state.compaction is None


def test_a_compaction_of_the_agent_after_a_declined_one_is_handled_as_ever(live, ask):
    live.hook("SessionStart", source="startup")
    assert "declined" in ask(messages=[])
    live.hook("PreCompact", trigger="auto", custom_instructions=None)
    assert live.state.compaction == "saved"
    context = live.hook("SessionStart", source="compact")["hookSpecificOutput"]["additionalContext"]
    assert RULE in context


def test_trim_stops_at_the_target_and_lets_no_message_give_way(live, ask):
    answer = ask("trim", used_tokens=150_000)
    before = [each["text"] for each in messages_of(live) if each["text"]]
    assert [each["text"] for each in answer["messages"][1:] if each["text"]] == before


def test_instructions_are_passed_on_word_for_word(ask):
    answer = ask(trigger="manual", instructions="keep the plan for `src/3.py`")
    assert "The user asked of this compaction: keep the plan for `src/3.py`" in answer["messages"][0]["text"]


def test_an_idle_session_with_room_is_halved_as_if_asked_for(live, ask):
    usual = chars(ask(used_tokens=40_000, trigger="manual"))
    assert chars(ask(used_tokens=40_000, trigger="auto")) == usual


@pytest.mark.parametrize(
    ("model", "variable", "is_declined"),
    [
        ("claude-sonnet-4-5-20250929", None, True),
        ("us.anthropic.claude-opus-4-20250514-v1:0", None, True),
        ("claude-opus-4-6", None, False),
        ("claude-opus-4-6", "1", True),
        ("claude-opus-5-5", "1", False),
        ("anthropic/claude-sonnet-4.5", None, True),
        ("anthropic/claude-opus-4.8", None, False),
        ("claude-opus-10-20290101", None, False),
        ("claude-3-7-sonnet-20250219", None, True),
        ("a-name-of-a-gateway", None, True),
    ],
)
def test_in_mid_turn_a_model_that_may_think_by_budget_is_left_to_the_agent(
    live, ask, monkeypatch, model, variable, is_declined
):
    """Claude's API wants the turn under way to begin with its thinking then, and a rebuilt message cannot hold any."""
    if variable:
        monkeypatch.setenv("CLAUDE_CODE_DISABLE_ADAPTIVE_THINKING", variable)
    reply = {"type": "thinking", "thinking": "first", "signature": "s"}
    with_thinking(live.transcript, model, reply)
    messages = messages_of(live)
    last_result = max(index for index, each in enumerate(messages) if each["toolResults"])
    answer = ask(messages=messages[: last_result + 1])
    assert ("may need the thinking of the turn" in answer.get("declined", "")) == is_declined, answer
    assert (saved_logs() == []) == is_declined
    assert "messages" in ask(messages=messages), "between turns"


def with_thinking(transcript: Path, model: str, block: dict) -> None:
    """Let every reply of the transcript come from this model and begin with this block."""
    lines = [json.loads(line) for line in transcript.read_bytes().splitlines()]
    for line in lines:
        if line["type"] == "assistant":
            line["message"]["model"] = line["requestedModel"] = model
            line["message"]["content"].insert(0, block)
    transcript.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ({"session_id": None}, "does not name its session"),
        ({"session_id": "9c54f7aa-6d0c-4c7b-9d57-3f6c9d9a3b11"}, "No session"),
        ({"messages": "none"}, "does not have these messages"),
        ({"action": "fly"}, "not a request"),
    ],
)
def test_a_request_that_cannot_be_answered_is_declined_with_the_reason(ask, fields, why):
    answer = ask(**fields)
    assert why in answer["declined"], answer
    assert "messages" not in answer


def test_untrim_is_declined_where_leftoff_has_not_compacted(ask):
    assert "nothing to undo" in ask("untrim")["declined"]


def test_untrim_is_declined_where_the_window_has_no_room_for_what_would_come_back(live, ask):
    live.compacted("-")
    as_compacted_by_mod(live.transcript, f"{OPENING}\n\nof the test", keeps=False)
    own = {"role": "user", "text": OPENING, "handle": None, "toolUses": [], "toolResults": []}
    few = [own, {**own, "text": "Go on."}]
    assert ask("untrim", messages=few, used_tokens=20_000)["messages"]
    answer = ask("untrim", messages=few, used_tokens=150_000)
    assert "there is room for" in answer["declined"]


def test_the_level_of_smart_trim_counts_in_place_too(live, ask):
    live.story.events = long_story(live.session_id, turns=20).events
    live.write()
    usual = chars(ask("trim", used_tokens=20_000))
    save_setting(paths.config_folder() / FILE_NAME, "trim.level", "strong")
    assert chars(ask("trim", used_tokens=20_000)) < usual


def test_a_declined_request_changes_nothing_in_the_session(live, ask):
    live.hook("SessionStart", source="startup")
    live.turn(160_000)
    assert "Critical" in live.message_to_user("Stop")
    before = live.state
    assert before.pause_id is not None
    assert "nothing to undo" in ask("untrim")["declined"]
    assert (live.state.said, live.state.pause_id) == (before.said, before.pause_id)
    assert live.state.compaction is None
    assert live.hook("Stop") == {}, "the threshold is not announced again"


@pytest.mark.parametrize("action", ["trim", "compact"])
def test_what_the_session_took_over_is_in_the_messages_or_the_start_after_it_gives_it_again(
    isolated_home, live, ask, action
):
    """Hooks gave it to the agent when the user said "continue", and no message holds it."""
    earlier = LiveSession(isolated_home, "claude", OTHER)
    earlier.turn(60_000, prompt="Migrate billing to the ledger. Never delete rows in accounts.")
    save_log(str(earlier.transcript), Workspace.open())
    live.hook("SessionStart", source="startup")
    heir = Heir("claude", live.session_id, str(live.transcript))
    note_continued(heir, OTHER, str(earlier.transcript), clock.now())
    answer = ask(action, used_tokens=150_000)
    given = agent_context(live.hook("SessionStart", source="compact"))
    for text in ("Never delete rows in accounts.", "Migrate billing to the ledger."):
        assert text in given + json.dumps(answer["messages"]), text


def test_the_settings_leave_compactions_to_the_agent(ask):
    save_setting(paths.config_folder() / FILE_NAME, "trim.in_place", False)
    assert "settings" in ask()["declined"]


def test_an_agent_without_such_a_plugin_is_declined():
    assert "cannot be compacted in place" in json.loads(answer_request("codex", b"{}"))["declined"]


def test_a_higher_target_frees_less(ask):
    usual = chars(ask())
    save_setting(paths.config_folder() / FILE_NAME, "trim.in_place_target", 0.85)
    assert usual < chars(ask()) < 10 * 2 * len(LONG)


def chars(answer: dict) -> int:
    return len(json.dumps(answer["messages"]))


def test_the_same_request_gets_the_same_messages_but_for_ids(ask):
    first, second = ask(), ask()
    assert first["receipt"] == second["receipt"]
    assert [each["text"] for each in first["messages"]] == [each["text"] for each in second["messages"]]
