"""Where a summary says something that the log knows to be otherwise: pointed out where it is certain, never invented."""

import pytest

from leftoff.resume_logs.contradictions import contradictions
from leftoff.resume_logs.restore_text import lost_text
from tests.resume_logs.sample_logs import log

FAILING = log(next_steps=["Failing check: `make test` → “1 failed”"])
DIRTY = log(critical_context={"state": ["Not committed, as git said when this was saved: `a.py`"]})
NO_COMMIT = log(critical_context={"state": ["Changed: `a.py`; no commit was seen in this session"]})
GUESSED = log(
    key_findings=["The importer probably loses rows because the connection pool closes cursors early."]
)
CONFIRMED = log(
    key_findings=[
        "The importer probably loses rows because the connection pool closes cursors early.",
        "Confirmed: the connection pool closes cursors early, so the importer loses rows.",
    ]
)
CAUSE = "Root cause identified: the connection pool closes cursors early, and the importer loses rows."


@pytest.mark.parametrize(
    ("of", "summary", "words"),
    [
        (FAILING, "We added limits. All tests pass.", "but when last run: `make test` → “1 failed”"),
        (FAILING, "The build passes and all 12 checks are green.", "when last run"),
        (DIRTY, "All changes have been committed.", "but: Not committed, as git said"),
        (DIRTY, "Everything is committed and pushed.", "but: Not committed"),
        (NO_COMMIT, "All changes were committed.", "but: Changed: `a.py`; no commit was seen"),
        (GUESSED, CAUSE, "the agent had only guessed: “The importer probably loses rows"),
    ],
)
def test_a_contradiction_quotes_both_sides(of, summary: str, words: str) -> None:
    (found,) = contradictions(of, summary)
    assert found.startswith("The summary says “")
    assert words in found
    text = lost_text(of, summary=summary, given="", max_chars=5_000)
    assert "## Where the Summary Is Wrong" in text
    assert words in text
    kept = lost_text(of, summary=None, kept=summary, given="", max_chars=5_000)
    assert "Summary Is Wrong" not in (kept or ""), "what a compaction kept was said in its time"


@pytest.mark.parametrize(
    ("of", "summary"),
    [
        (FAILING, ""),
        (FAILING, "The tests do not pass yet."),
        (FAILING, "All tests should pass before the release."),
        (FAILING, "The last output showed all parser tests and most others passing."),
        (FAILING, "One test fails: test_x."),
        (FAILING, "Everything is committed."),
        (DIRTY, "All tests pass."),
        (DIRTY, "The changes are not committed."),
        (DIRTY, "Commit all changes once the review is done; nothing was pushed."),
        (log(critical_context={"state": ["Everything is committed"]}), "Everything is committed."),
        (log(critical_context={"state": "odd"}), "Everything is committed."),
        (log(), "All tests pass. Everything is committed. " + CAUSE),
        (CONFIRMED, CAUSE),
        (GUESSED, "The cause is probably that the connection pool closes cursors early."),
        (GUESSED, "The root cause is a typo in the template of the login page."),
    ],
)
def test_in_doubt_nothing_is_said(of, summary: str) -> None:
    assert [*contradictions(of, summary)] == []
