"""The user's choice among the cuts of a plan: by numbers, in an editor, and what is written of it."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leftoff.cli.main import run
from leftoff.core.trim_plan import TrimPlan
from leftoff.errors import UsageError
from leftoff.shrink.choose import choose_cuts, parse_list, parse_numbers, plan_as_list
from leftoff.shrink.cuts import TrimParameters, cut_by_size
from leftoff.shrink.trim import TrimOptions, prepare_trim, write_trim
from leftoff.workspace import Workspace
from tests.shrink.builders import SESSION, live, piece
from tests.shrink.test_untrim import given_back, live_values

CUTS = 8


def plan() -> TrimPlan:
    pieces = (piece(number, f"{number} words " * 400) for number in range(CUTS))
    found = cut_by_size(live(*pieces), TrimParameters(protect_turns=0, min_token_savings=0), SESSION)
    assert len(found.cuts) == CUTS
    return found


numbers = st.frozensets(st.integers(1, CUTS))


@given(keep=numbers, cut=st.none() | numbers)
def test_exactly_the_chosen_cuts_are_left_and_counted(keep, cut):
    whole = plan()
    chosen = choose_cuts(whole, keep=keep, cut=cut)
    wanted = [
        each
        for number, each in enumerate(whole.cuts, 1)
        if number not in keep and (cut is None or number in cut)
    ]
    assert [*chosen.cuts] == wanted
    assert chosen.saved_tokens == int(sum(each.saved_chars for each in wanted) * whole.tokens_per_char)


@given(ticked=numbers, deleted=numbers)
def test_a_list_is_read_as_it_was_ticked(ticked, deleted):
    lines = plan_as_list(plan()).split("\n")
    edited = []
    for line in lines:
        number = int(line.split()[1]) if line.startswith("[x]") else None
        if number in deleted:
            continue
        edited.append(line if number is None or number in ticked else line.replace("[x]", "[ ]"))
    assert parse_list("\n".join(edited)) == ticked - deleted


def test_an_untouched_list_chooses_the_whole_plan():
    whole = plan()
    assert choose_cuts(whole, cut=parse_list(plan_as_list(whole))) == whole


@pytest.mark.parametrize(
    ("text", "found"), [("3", {3}), ("2,5-7", {2, 5, 6, 7}), (" 1 , 2 ", {1, 2}), ("4-4", {4})]
)
def test_numbers_and_ranges(text, found):
    assert parse_numbers(text) == found


@pytest.mark.parametrize("text", ["", "x", "1;2", "-3", "4-3", "1-999999999999"])
def test_what_is_not_a_number_is_refused(text):
    with pytest.raises(UsageError):
        parse_numbers(text)


def test_a_number_that_the_plan_lacks_is_refused_with_the_size_of_the_plan():
    with pytest.raises(UsageError, match="no cut 9: it has 8 cuts"):
        choose_cuts(plan(), keep={9})


def cuts_of(capsys, *arguments: str) -> list[dict]:
    assert run([*arguments, "--dry-run", "--json"]) == 0
    return json.loads(capsys.readouterr().out)["cuts"]


def test_the_copy_has_the_chosen_cuts_and_untrim_gives_everything_back(source, capsys):
    every = cuts_of(capsys, "trim", str(source))
    assert len(every) > 2
    assert [each["number"] for each in every] == [*range(1, len(every) + 1)]
    kept = cuts_of(capsys, "trim", str(source), "--keep", "1")
    assert [each["key"] for each in kept] == [each["key"] for each in every[1:]]
    only = cuts_of(capsys, "trim", str(source), "--cut", "1-2", "--keep", "2")
    assert [each["key"] for each in only] == [every[0]["key"]]
    assert run(["trim", str(source), "--cut", "1", "--json"]) == 0
    copy = Path(json.loads(capsys.readouterr().out)["output_file"])
    text = copy.read_text("utf-8")
    assert every[0]["key"] in text
    assert not any(each["key"] in text for each in every[1:] if each["key"])
    assert live_values(given_back(copy)) == live_values(source)


def test_the_plan_is_ticked_in_an_editor(source, capsys, monkeypatch, tmp_path):
    every = cuts_of(capsys, "trim", str(source))
    editor = tmp_path / "editor"
    editor.write_text("#!/bin/sh\nsed -i -e 's/^\\[x\\] *1 /[ ] 1 /' \"$1\"\n", encoding="utf-8")
    editor.chmod(0o700)
    monkeypatch.setenv("EDITOR", str(editor))
    ticked = cuts_of(capsys, "trim", str(source), "--edit")
    assert [each["key"] for each in ticked] == [each["key"] for each in every[1:]]


def test_without_an_editor_the_message_says_how_to_name_one(source, capsys, monkeypatch):
    monkeypatch.delenv("EDITOR", raising=False)
    monkeypatch.delenv("VISUAL", raising=False)
    assert run(["trim", str(source), "--edit"]) == 2
    assert "EDITOR=nano" in capsys.readouterr().err


@pytest.mark.parametrize("editor", ['"', "false", "/nowhere/editor"])
def test_an_editor_that_fails_is_named_and_nothing_is_cut(source, capsys, monkeypatch, editor):
    monkeypatch.setenv("VISUAL", editor)
    before = sorted(source.parent.iterdir())
    assert run(["trim", str(source), "--edit"]) == 1
    assert f"leftoff: {editor}: " in capsys.readouterr().err
    assert sorted(source.parent.iterdir()) == before


def test_choosing_twice_gives_the_same_copy(source):
    def written():
        planned = prepare_trim(str(source), Workspace.open(), TrimOptions())
        return write_trim(planned._replace(plan=choose_cuts(planned.plan, keep={1})))

    assert written().session_id == written().session_id
