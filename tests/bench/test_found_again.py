"""``python -m bench found-again``: what two calls of the recall tools find of what a compaction lost."""

from bench import found_again
from bench.__main__ import run
from leftoff.agents import claude
from leftoff.testing.builders import Story, call
from tests.support.transcripts import write_transcript


def ran(command, answer="ok"):
    return call("shell", {"command": command}, answer)


def test_a_lost_command_is_found_by_words_of_the_summary_and_one_that_shares_none_is_not(tmp_path, capsys):
    story = Story().asked("Check the invoices").replied("", ran("make lint-invoices"), ran("xyzzy --plugh"))
    for number in range(60):
        story.replied("", ran(f"sed -n {number}p notes"))
    story.compacted("We looked at the invoices; the lint was clean.")
    story.replied("I lint the invoices.", ran("make lint-invoices")).replied(
        "Then magic.", ran("xyzzy --plugh")
    )
    transcript = tmp_path / "session.jsonl"
    write_transcript(claude.here(), story.script(), transcript)
    found = {each.mention.text: each for each in found_again.measure([transcript], [])}
    assert found["make lint-invoices"].calls == 1
    assert {*found["make lint-invoices"].query.split()} <= {"lint", "invoices", "make"}
    assert "xyzzy" not in found["xyzzy --plugh"].query
    assert run(["found-again", str(transcript)]) == 0
    assert "found with one call: 1 of 2" in capsys.readouterr().out
