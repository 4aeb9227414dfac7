"""Sessions as Markdown, and the decision tree with its numbers."""

import json
from pathlib import Path

import pytest

from leftoff.errors import UsageError
from leftoff.flows import advise, export, rollover
from leftoff.flows.agents import agent_of
from leftoff.flows.choose import Chosen
from leftoff.flows.shrink_session import Wanted, looked_at, planned
from leftoff.shrink import planning
from leftoff.testing.builders import Story, call
from tests.flows.shrinking import FIRST, put, with_short_id

KEY = "AKIAZ7QX3TPLMV5KW2RD"


def test_a_session_reads_well_as_markdown(home):
    """Prompts, replies, calls and answers; a fence inside cannot end ours; credentials are taken out."""
    story = Story(session_id=FIRST, project=str(Path.cwd()))
    story.asked("Show it").replied(
        "Here:",
        call("shell", {"command": "cat a.md"}, f"````\ncode\n````\naws_access_key_id = {KEY}\n", failed=True),
        thinking="Hm.",
    )
    text = "".join(export.export(str(home.claude(story)), Path.cwd(), chain=False))
    assert text.startswith(f"# Session {FIRST}\n\n- Agent: claude\n")
    for words in (
        "## User",
        "Show it",
        "## Assistant",
        "Here:",
        "`````\n````\ncode\n````",
        "failed:",
        "thinking",
    ):
        assert words in text
    assert KEY not in text


def test_a_chain_is_exported_from_its_beginning(home):
    """Also where the beginning is gone."""
    source = put(home, "claude")
    fresh = rollover.rolled_over(str(source), Path.cwd(), rollover.Wanted()).output_file
    text = "".join(export.export(str(fresh), Path.cwd(), chain=True))
    assert text.index(f"# Session {FIRST}") < text.index(f"# Session {fresh.stem}")
    assert f"continued from {FIRST}" in text
    source.unlink()
    assert "This session's file is gone" in "".join(export.export(str(fresh), Path.cwd(), chain=True))


def test_an_export_never_overwrites(tmp_path):
    """And is this user's own."""
    out = tmp_path / "a.md"
    assert export.written(iter(["# ", "ä"]), out) == 4
    assert out.stat().st_mode & 0o777 == 0o600
    with pytest.raises(UsageError, match="exists already"):
        export.written(iter([]), out)
    with pytest.raises(Exception, match="not written"):
        export.written(iter([]), tmp_path / "nowhere" / "a.md")


@pytest.mark.parametrize("strategy", ["trim", "smart-trim"])
def test_advice_promises_nothing_that_writing_would_not_do(home, strategy):
    """A copy that would be no smaller is nothing to advise, as it is nothing to trim."""
    source = with_short_id(home)
    plan = planned(str(source), Path.cwd(), Wanted(strategy=strategy))
    assert plan.plan.cuts
    assert looked_at(plan).plan.nothing_to_trim
    option = {each.how: each for each in advise.advise(str(source), Path.cwd()).options}[strategy]
    assert (option.tokens_saved, option.context_saved_percent, option.cache_write_tokens) == (0, 0.0, 0)
    assert option.loses == "nothing: there is nothing to gain"


def test_advice_measures_every_strategy(home):
    """On this very session."""
    source = put(home, "claude", turns=12)
    told = advise.advise(str(source), Path.cwd())
    by_name = {option.how: option for option in told.options}
    assert [*by_name] == ["as-is", "trim", "smart-trim", "rollover"]
    assert by_name["trim"].tokens_saved > 0
    assert by_name["rollover"].context_saved_percent >= 90
    assert by_name["as-is"].cache_write_tokens == 0
    assert told.to_dict()["how"] == told.how == "trim"
    assert told.why.endswith("% of it")
    chosen = Chosen(agent=agent_of(source), transcript=source)
    assert advise.advised(chosen).how == "trim"


def test_below_the_mark_nothing_is_measured(home):
    """Advice alone costs a look at the tail."""
    source = put(home, "claude", turns=2)
    chosen = Chosen(agent=agent_of(source), transcript=source)
    assert (advise.advised(chosen).how, advise.advised(chosen).options) == ("as-is", ())


def test_pictures_and_what_nobody_knows_are_named(home):
    """Their bytes stay in the transcript; words alone are exported."""
    source = put(home, "claude", turns=1)
    lines = source.read_text(encoding="utf-8").splitlines()
    at = next(number for number, line in enumerate(lines) if '"content":"Step 0' in line)
    blocks = [
        {"type": "text", "text": "Look"},
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}},
        {"type": "hologram", "data": "x"},
    ]
    line = json.loads(lines[at])
    line["message"]["content"] = blocks
    lines[at] = json.dumps(line)
    source.write_text("\n".join(lines) + "\n", encoding="utf-8")
    text = "".join(export.export(str(source), Path.cwd(), chain=False))
    assert "*(image/png, " in text
    assert "*(hologram, " in text


def test_every_strategy_is_counted_on_the_same_base(home):
    """A rollover frees no more tokens than its share of the conversation, and what stays is written to the cache."""
    source = put(home, "claude", turns=12)
    live = agent_of(source).live_pieces(agent_of(source).open(source), at_least_chars=1 << 62, head=0, tail=0)
    option = advise.advise(str(source), Path.cwd()).options[3]
    assert option.tokens_saved == planning.tokens(live.live_chars - 9_900, live)
    assert option.cache_write_tokens == live.live_tokens - option.tokens_saved


def test_where_a_fresh_session_would_be_no_smaller_that_is_said(home):
    """Nothing is saved, and nothing is said to be lost for it."""
    story = Story(session_id=FIRST, project=str(Path.cwd())).asked("Hello").replied("Hi.", used=40_000)
    option = advise.advise(str(home.claude(story)), Path.cwd()).options[3]
    assert (option.tokens_saved, option.context_saved_percent, option.cache_write_tokens) == (0, 0.0, 0)
    assert "nothing to gain" in option.loses


def test_nothing_that_was_said_becomes_markup(home):
    """No tag, no link that runs something, no sign that turns the line round; code stays as it is but for such signs."""
    words = "Look at `<i>`, \\\\<script>alert(1)</script> [here](javascript:alert(1)) and <b>x</b> \u202egnp.exe\u2066 1 < 2"
    story = Story(session_id=FIRST, project=str(Path.cwd()))
    story.asked(words).replied(
        f"Reply {words}", call("shell", {"command": "cat <a"}, f"</details> \u202e{words}"), thinking=words
    )
    text = "".join(export.export(str(home.claude(story)), Path.cwd(), chain=False))
    assert "\u202e" not in text
    assert "\u2066" not in text
    outside, is_code = [], False
    for line in text.splitlines():
        if line.startswith("```"):
            is_code = not is_code
        elif not is_code:
            outside.append(line)
    said = "\n".join(outside)
    assert "<script" not in said
    assert "<b>" not in said
    assert "`<i>`" in said
    assert "](javascript:" not in said
    assert "&lt;script>alert(1)&lt;/script>" in said
    assert "1 < 2" in said
    assert "cat <a" in text
