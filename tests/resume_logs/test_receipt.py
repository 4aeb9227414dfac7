"""The receipt: what a summary lost against the log, and what was put back."""

import pytest

from leftoff.resume_logs.receipt import build_receipt
from leftoff.resume_logs.restore_text import brief_text, lost_text
from tests.resume_logs.sample_logs import full, log

CONTEXT = {
    "pins": ["never push to main"],
    "user_rules": [
        "“use tabs” (superseded by: “use spaces”)",
        "“use spaces, never tabs”",
        "“ask before you add a dependency”",
        "The user approved the plan “P”",
        "(1 earlier rule left out to fit: lines 3 of the transcript)",
    ],
    "commands": ["`pytest tests -x` → failed", "make lint → passed (“ok”)"],
    "files": {"src/a.py": "changed", "src/b.py": "read", "lib/b.py": "read"},
}


def line(of, kind):
    return next(line for line in of.lines if line.kind == kind)


def test_what_the_summary_contains_is_kept():
    """Rules by their words, commands as typed, files by path or unique name."""
    summary = (
        "The user wants spaces, and never tabs; use those.\n\n"
        "We ran `pytest  tests\n-x`. Changed a.py and b.py."
    )
    found = build_receipt(log(critical_context=CONTEXT), summary)
    assert line(found, "rules").lost == ("ask before you add a dependency",)
    assert (line(found, "rules").total, line(found, "rules").kept) == (2, 1)
    assert line(found, "pins").lost == ("never push to main",)
    assert line(found, "commands").lost == ("make lint",)
    assert line(found, "files").lost == ("src/b.py", "lib/b.py")
    assert not found.is_opaque


def test_the_sentence_counts_lost_and_put_back():
    """Each kind with a loss is counted, in the order of the log."""
    restored = "never push to main; ask before you add a dependency; make lint; src/b.py"
    found = build_receipt(
        log(critical_context=CONTEXT), "use spaces, never tabs. pytest tests -x. a.py", restored
    )
    assert str(found) == (
        "The summary dropped 1 of your 2 rules, your pin, 1 command and 2 files; leftoff restored 1, 1, 1 and 1"
    )
    assert line(found, "files").put_back == ("src/b.py",)


def test_where_all_or_nothing_was_restored_words_say_so():
    """A row of numbers would have to be compared with another one."""
    context = {"user_rules": ["“never push to main”"], "commands": ["`make lint`"]}
    dropped = "The summary dropped your rule and 1 command; leftoff restored"
    found = log(critical_context=context)
    assert str(build_receipt(found, "x", "never push to main; make lint")) == f"{dropped} all of it"
    assert str(build_receipt(found, "x")) == f"{dropped} none of it"
    assert str(build_receipt(found, "x", "make lint")) == f"{dropped} 0 and 1"
    assert str(build_receipt(found, "make lint", "never push to main")).endswith(
        "your rule; leftoff restored it"
    )


def test_two_kinds_are_joined_by_and():
    """The sentence has the form of the specification."""
    context = {
        "user_rules": [f"“rule number{n} holds”" for n in range(5)],
        "commands": [f"`run{n} it`" for n in range(14)],
    }
    kept = "\n\n".join(
        ["rule number0 holds", "rule number1 holds", "rule number2 holds", "run0 it", "run1 it", "run2 it"]
    )
    back = "\n\n".join(["rule number3 holds", "rule number4 holds", *(f"run{n} it" for n in range(4, 14))])
    assert str(build_receipt(log(critical_context=context), kept, back)) == (
        "The summary dropped 2 of your 5 rules and 11 commands; leftoff restored 2 and 10"
    )


def test_a_receipt_without_losses_says_so():
    """A log without exact text has nothing to lose."""
    context = {"user_rules": ["use tabs"], "commands": ["make"]}
    assert str(build_receipt(log(critical_context=context), "use tabs; make")) == (
        "The summary kept 1 rule and 1 command"
    )
    assert str(build_receipt(log(), "x")) == "The summary had nothing of the log to drop"


def test_an_opaque_summary_is_named_as_such():
    """What the summary lost is not known, but what was restored is."""
    found = build_receipt(log(critical_context=CONTEXT), None, "make lint")
    assert found.is_opaque
    assert str(found) == "The summary of this compaction cannot be read; leftoff restored 1 command"
    assert str(build_receipt(log(critical_context=CONTEXT), None)).endswith("leftoff restored nothing")


def test_short_rules_are_matched_by_all_their_words():
    """A rule without a long word does not count as kept by default."""
    found = build_receipt(log(critical_context={"user_rules": ["no ads"]}), "ads are in")
    assert line(found, "rules").lost == ("no ads",)


@pytest.mark.parametrize("odd", [5, "text", None, {"a": 1}])
def test_unknown_shapes_are_ignored(odd):
    """A log of another program may contain anything."""
    context = {"user_rules": odd, "commands": odd, "pins": [odd], "files": odd}
    assert "The summary" in str(build_receipt(log(critical_context=context), "x"))


def test_only_what_is_in_the_texts_that_were_handed_over_counts_as_restored():
    """A text that is too short for all of the log does not claim the rest."""
    source = full(times=20)
    brief = brief_text(source, max_chars=1_500, log_path="/p")
    lost = lost_text(source, summary="nothing", given=brief, max_chars=2_500)
    found = build_receipt(source, "nothing", f"{brief}\n{lost}")
    assert line(found, "rules").put_back == line(found, "rules").lost
    commands = line(found, "commands")
    assert 0 < len(commands.put_back) < len(commands.lost) == 240
    assert all(command in lost for command in commands.put_back)
    assert line(build_receipt(source, "nothing", brief), "commands").put_back == ()
