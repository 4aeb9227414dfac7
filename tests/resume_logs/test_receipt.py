"""The receipt: what a summary lost against the log, and what was put back."""

import pytest

from leftoff.resume_logs.receipt import build_receipt
from tests.resume_logs.sample_logs import full, log

CONTEXT = {
    "pins": ["never push to main"],
    "user_rules": [
        "“use tabs” (superseded by: “use spaces”)",
        "“use spaces, never tabs”",
        "“ask before you add a dependency”",
        "The user approved the plan “P”",
        "(1 earlier rules do not fit: lines 3 of the transcript)",
    ],
    "commands": ["`pytest tests -x` → exit 1", "make lint → exit 0"],
    "files": {"src/a.py": "changed", "src/b.py": "read", "lib/b.py": "read"},
    "names": {"src/a.py": "`refill`, take — changed last", "x": 5},
}


def line(of, kind):
    return next(line for line in of.lines if line.kind == kind)


def test_what_the_summary_contains_is_kept():
    """Rules by their words, commands as typed, files by path or unique name, names as whole words."""
    summary = (
        "The user wants spaces, and never tabs; use those.\n\n"
        "We ran `pytest  tests\n-x`. Changed a.py and b.py (refilling)."
    )
    found = build_receipt(log(critical_context=CONTEXT), summary)
    assert line(found, "rules").lost == ("ask before you add a dependency",)
    assert (line(found, "rules").total, line(found, "rules").kept) == (2, 1)
    assert line(found, "pins").lost == ("never push to main",)
    assert line(found, "commands").lost == ("make lint",)
    assert line(found, "files").lost == ("src/b.py", "lib/b.py")
    assert line(found, "names").lost == ("refill", "take")
    assert not found.is_opaque


def test_the_sentence_counts_lost_and_put_back():
    """Each kind with a loss is counted, in the order of the log; names are restored and not counted."""
    restored = "never push to main; ask before you add a dependency; make lint; src/b.py; take"
    found = build_receipt(
        log(critical_context=CONTEXT), "use spaces, never tabs. pytest tests -x. a.py", restored
    )
    assert str(found) == (
        "The summary dropped 1 of your 2 rules, your pin, 1 command and 2 files; leftoff restored 1, 1, 1 and 1"
    )
    assert found.still_missing == {"files": ("lib/b.py",), "names": ("refill",)}


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
    found = build_receipt(log(critical_context=CONTEXT), None, "make lint take refill")
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
    context = {"user_rules": odd, "commands": odd, "pins": [odd], "names": odd, "files": odd}
    assert "The summary" in str(build_receipt(log(critical_context=context), "x"))


def test_the_restoration_puts_back_what_it_shows():
    """The text that is handed over counts."""
    from leftoff.resume_logs.restore_text import restoration_text  # noqa: PLC0415

    text = restoration_text(full(), profile="after_compaction", max_chars=9900, drift=None, log_path="/p")
    found = build_receipt(full(), "nothing", text)
    assert found.still_missing == {}
    assert str(found).startswith("The summary dropped 2 of your 2 rules, your pin, 12 commands")
