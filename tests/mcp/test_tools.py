"""The three tools, as the server answers them: what they find, that they stay within the budget, and that quoted text is harmless."""

import json
import re
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from leftoff.catalogue.database import library_folder
from leftoff.catalogue.forgotten import Forgotten
from leftoff.config import load, save
from leftoff.core.budget import estimate_tokens
from leftoff.mcp import history
from leftoff.mcp.history import Happening
from leftoff.mcp.server import MIN_BUDGET_TOKENS, TOOLS, answer, tools_to_dict
from leftoff.mcp.texts import Cleaner
from leftoff.platform import clock, paths
from leftoff.search.search import SearchRequest, search
from leftoff.sessions.listing import numbered_transcript, remember_numbers
from leftoff.shrink.placeholder import parse_placeholder
from leftoff.testing.builders import Story, call
from leftoff.workspace import EXCLUDED, Workspace
from tests.mcp.conftest import OTHER, SESSION
from tests.support.long_sessions import FIRST, results, trimmed, write_long_session


def ask(tool, **arguments):
    text, is_error = answer(tool, arguments)
    assert not is_error, text
    return text


def ids_in(text):
    return re.findall(r"^([0-9a-f-]{8,36}:\d+) · ", text, re.MULTILINE)


def test_a_hit_is_one_line_with_id_age_agent_project_kind_and_price(story):
    text = ask("recall", query="voucher total")
    (line,) = [each for each in text.splitlines() if "please repair it" in each]
    assert re.fullmatch(
        r"0b54f7aa:\d+ · \d+ d · claude · work · prompt · ~\d+ tokens · The total is wrong .*", line
    )


def test_this_project_comes_first_and_can_be_asked_alone(story):
    everywhere, here = (
        ids_in(ask("recall", query="voucher")),
        ids_in(ask("recall", query="voucher", scope="project")),
    )
    assert here
    assert everywhere[: len(here)] == here
    assert [each[:8] for each in everywhere[len(here) :]] == ["11111111"] * (len(everywhere) - len(here))
    assert len(everywhere) > len(here)
    assert not [
        each for each in ids_in(ask("recall", query='voucher "', scope="project")) if each[:8] == "11111111"
    ]


def test_what_was_found_can_be_read_word_for_word_with_what_is_around_it(story):
    found = ids_in(ask("recall", query="rounding loses a cent"))[0]
    alone, around = ask("expand", id=found), ask("expand", id=found, around=1)
    assert "because rounding before it loses a cent." in alone
    assert "AssertionError" not in alone
    assert "AssertionError: total is 90, not 95" in around


def test_a_long_record_is_cut_and_says_how_to_continue(story, home):
    words = " ".join(f"word{number}" for number in range(5000))
    home.claude(
        Story(session_id="22222222-2222-4222-8222-222222222222", project=str(Path.cwd())).asked(words)
    )
    (at,) = ids_in(ask("recall", query="word1 word2"))
    parts = []
    while at:
        text = ask("expand", id=at, budget_tokens=4000)
        parts.append(text.split(">\n", 1)[1].rpartition("\n</")[0])
        more = re.search(r"to continue: expand (\S+)", text)
        at = more[1] if more else None
    assert len(parts) > 2
    assert "".join(parts).split("\n", 1)[1] == words


def test_a_timeline_of_a_command_has_its_outcomes_and_what_was_changed_until_it_passed(story):
    lines = ask("timeline", command="pytest tests/test_cart.py").splitlines()
    events = [each.split(" · ")[2].split()[0] for each in lines if ids_in(each)]
    assert events == ["passed", "changed", "failed"]
    of_error = ask("timeline", error="total is 90").splitlines()
    assert [each for each in of_error if ids_in(each)] == [each for each in lines if ids_in(each)]


def test_a_timeline_of_a_file_gives_the_reason_and_the_prompt(story):
    text = ask("timeline", file="src/cart.py")
    assert "changed" in text
    assert "because rounding before it loses a cent." in text
    assert "after “The total is wrong" in text


def test_a_timeline_of_a_session_is_in_its_order(story):
    lines = [each for each in ask("timeline", session=SESSION[:8]).splitlines() if ids_in(each)]
    events = [each.split(" · ")[2].split()[0] for each in lines]
    assert events == ["asked", "failed", "changed", "passed", "asked", "created", "asked"]


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    question=st.sampled_from(
        [
            ("recall", {"query": "voucher total tests 日本語"}),
            ("recall", {"query": "nothing has this"}),
            ("expand", {"id": f"{SESSION}:2", "around": 20}),
            ("timeline", {"session": SESSION}),
            ("timeline", {"file": "cart.py"}),
            ("timeline", {"file": "unknown.py"}),
        ]
    ),
    budget=st.integers(MIN_BUDGET_TOKENS, 1500),
)
def test_no_answer_exceeds_its_budget(story, question, budget):
    tool, arguments = question
    text, _ = answer(tool, {**arguments, "budget_tokens": budget})
    assert estimate_tokens(text) <= budget


def test_quoted_text_is_fenced_cut_and_harmless(story, home):
    huge = Story(session_id="33333333-3333-4333-8333-333333333333", project=str(Path.cwd()))
    home.claude(huge.asked("obey " + "x" * 2_000_000))
    (long,) = [each for each in ids_in(ask("recall", query="obey")) if each.startswith("33333333")]
    for text in (ask("recall", query="obey"), ask("expand", id=long), ask("timeline", session=SESSION)):
        assert "\x1b" not in text
        sentence, opening, body = text.partition("\n\n<leftoff-record-")
        mark = body[:8]
        assert "not instructions" in sentence
        assert opening
        assert text.endswith(f"</leftoff-record-{mark}>")
        assert text.count("leftoff-record-" + mark) == 2
        assert "<system-reminder>" not in text
        assert len(text) < 20_000


def test_forgotten_texts_and_credentials_are_not_returned(story, home):
    secret = "ghp_" + "a1B2" * 9
    project = str(Path.cwd())
    told = Story(session_id="44444444-4444-4444-8444-444444444444", project=project)
    home.claude(
        told.asked(f"the parcel of Amarantha Quill, with {secret}").replied(
            "", call("edit", {"path": f"{project}/Amarantha Quill.txt", "old": "a", "new": "b"})
        )
    )
    forgotten = Forgotten(library_folder())
    forgotten.add_text("Amarantha Quill")
    (at,) = ids_in(ask("recall", query="parcel"))
    for text in (
        ask("recall", query="parcel"),
        ask("expand", id=at, around=9),
        ask("timeline", session="44444444"),
    ):
        assert "parcel" in text
        assert "Amarantha" not in text
        assert secret not in text


@pytest.mark.parametrize(
    ("tool", "arguments", "says"),
    [
        ("recall", {}, "query is empty"),
        ("recall", {"query": "a", "scope": "moon"}, "all or project"),
        ("recall", {"query": 3}, "text was expected"),
        ("recall", {"query": "a", "budget_tokens": 5}, "at least 100"),
        ("expand", {"id": "what"}, "is not an id"),
        ("expand", {"id": "ffffffff:3"}, "No session has the id"),
        ("expand", {"id": f"{SESSION}:9999"}, "has no line 9,999"),
        ("timeline", {}, "Give one of file, command, error and session"),
        ("timeline", {"file": "a", "error": "b"}, "Give one of"),
        ("rewrite", {}, "none of the tools"),
    ],
)
def test_a_wrong_argument_is_answered_with_what_was_expected(story, tool, arguments, says):
    text, is_error = answer(tool, arguments)
    assert is_error
    assert says in text
    assert "\n" not in text


def test_the_list_of_tools_is_short():
    listed = json.dumps(tools_to_dict())
    assert len(TOOLS) == 3
    assert len(listed) <= 3600


def test_a_text_that_is_cut_at_its_end_is_not_half_forgotten(home):
    Forgotten(library_folder()).add_text("Amarantha Quill")
    room = " " * (200 * 20 - len("parcel") - len("Amaran"))
    session = Story(session_id="44444444-4444-4444-8444-444444444444", project=str(Path.cwd()))
    home.claude(session.asked(f"parcel{room}Amarantha Quill"))
    text = ask("timeline", session="44444444")
    assert "parcel" in text
    assert "Amar" not in text


def test_nothing_of_excluded_tools_and_forgotten_sessions_is_returned(story):
    found = ids_in(ask("timeline", session=SESSION))
    assert "pytest tests" in ask("recall", query="pytest tests")  # it is in the index
    save.save_setting(paths.config_folder() / load.FILE_NAME, "capture.exclude_tools", ["Bash"])
    for text in (
        ask("timeline", session=SESSION),
        *(ask("expand", id=each, around=3) for each in found),
        ask("recall", query="pytest tests"),
    ):
        assert "pytest tests" not in text
    Forgotten(library_folder()).add_sessions([SESSION])
    assert not ids_in(ask("timeline", session=SESSION))
    assert not ids_in(ask("timeline", file="cart.py"))
    assert not [each for each in ids_in(ask("recall", query="voucher")) if each[:8] == SESSION[:8]]
    assert answer("expand", {"id": found[0]}) == (f"leftoff: Session {SESSION} was forgotten.", True)


def test_questions_to_these_tools_are_not_hits(home):
    asked = Story(project=str(Path.cwd())).asked("Where is the ledger?")
    asked.replied("", call("mcp__leftoff__recall", {"query": "zebra ledger"}, "zebra ledger: nothing"))
    home.claude(asked)
    assert "zebra" not in ask("recall", query="zebra ledger")


def test_a_file_is_not_mistaken_for_one_of_the_same_name(home):
    """Neither of another folder nor of a project whose name begins so; the end of a path means any of them."""
    project = str(Path.cwd())
    for number, (root, name) in enumerate(
        ((project, "README.md"), (project, "docs/README.md"), (f"{project}2", "README.md")), 1
    ):
        changed = Story(session_id=f"{number:08d}-1111-4111-8111-111111111111", project=root).asked(
            f"Write {number}"
        )
        home.claude(changed.replied("", call("edit", {"path": f"{root}/{name}", "old": "a", "new": "b"})))
    for file in ("README.md", "./README.md", f"{project}/README.md"):
        assert [each[:8] for each in ids_in(ask("timeline", file=file))] == ["00000001"]
    assert [each[:8] for each in ids_in(ask("timeline", file="docs/README.md"))] == ["00000002"]
    assert {each[:8] for each in ids_in(ask("recall", query="Write", scope="project"))} == {
        "00000001",
        "00000002",
    }


@pytest.mark.parametrize("kind", ["command", "error"])
def test_without_a_word_nothing_can_be_looked_for(story, kind):
    assert answer("timeline", {kind: "!!!"}) == ("leftoff: '!!!' has no word to search for.", True)


def test_an_id_is_one_word_and_a_long_record_costs_more_than_its_indexed_part(home):
    hostile = Story(session_id="mine\nis this", project=str(Path.cwd())).asked("parcel " + "word " * 5000)
    transcript = home.codex(hostile)
    transcript.rename(transcript.with_name("rollout-2026-01-06T12-00-00-mine.jsonl"))
    (hit,) = [each for each in ask("recall", query="parcel").splitlines() if " · codex · " in each]
    assert " · >1" in hit
    sentence, _, quoted = ask("expand", id=hit.split(" · ")[0]).partition("<leftoff-record")
    assert "parcel word" in quoted
    assert "is this" not in sentence


def test_the_reason_is_found_in_a_very_long_turn_without_reading_each_text_for_each_change():
    cleaner = Cleaner(Workspace.open())
    turn = history._Turn("go")
    turn.texts = ["Step."] * 4000
    turn.texts[1990] = "I use a queue in cart.py, because threads would share it."
    happening = Happening(
        session_id="s",
        agent="claude",
        project=None,
        transcript="t",
        line=1,
        at=None,
        what="changed",
        about="src/cart.py",
        said="",
        prompt="",
        reason="",
        added="",
    )
    turn.steps = [(happening, 2000), (happening, 100)]
    near, far = turn.finish(cleaner)
    assert "because threads would share it" in near.reason
    assert far.reason == "Step."


def test_a_session_and_its_trimmed_copy_are_one_hit_and_its_originals_can_be_forgotten(home):
    path = write_long_session(home, "claude")
    derived = trimmed(path)
    placeholder = next(filter(None, map(parse_placeholder, results(derived.output_file))))
    (found,) = search(Workspace.open(), SearchRequest(query='"step 3"'), clock.now()).sessions
    assert {found.source.path, *found.copies} == {str(path), str(derived.output_file)}
    assert "the ledger keeps its amounts" in ask("expand", id=placeholder.key)
    save.save_setting(paths.config_folder() / load.FILE_NAME, "capture.exclude_tools", ["Bash"])
    assert f"\n{EXCLUDED}\n" in ask("expand", id=placeholder.key)
    Forgotten(library_folder()).add_sessions([FIRST])
    assert answer("expand", {"id": placeholder.key}) == (f"leftoff: Session {FIRST} was forgotten.", True)


def test_a_filter_in_the_query_does_not_widen_the_scope(story):
    assert [each[:8] for each in ids_in(ask("recall", query="project:/ voucher"))].count(OTHER[:8]) == 1
    here = ids_in(ask("recall", query="project:/ voucher", scope="project"))
    assert {each[:8] for each in here} == {SESSION[:8]}


@pytest.mark.parametrize("scope", ["all", "project"])
def test_a_query_without_words_finds_nothing(story, scope):
    assert answer("recall", {"query": '"', "scope": scope})[1]


def test_questions_of_an_agent_do_not_renumber_the_list_that_the_user_sees(story):
    remember_numbers(["/shown/to/the/user.jsonl"])
    ask("recall", query="voucher")
    ask("timeline", file="cart.py")
    assert numbered_transcript(1) == Path("/shown/to/the/user.jsonl")


def test_a_budget_in_which_nothing_fits_is_no_answer_that_asks_to_continue(home):
    whole = "22222222-2222-4222-8222-222222222222"
    home.claude(Story(session_id=whole, project=str(Path.cwd())).asked("parcel " * 5000))
    (at,) = ids_in(ask("recall", query="parcel"))
    for budget in range(MIN_BUDGET_TOKENS, MIN_BUDGET_TOKENS + 30):
        text, is_error = answer("expand", {"id": whole + at[8:], "budget_tokens": budget})
        assert is_error or not re.search(r"expand \S+\+0\s", text)
