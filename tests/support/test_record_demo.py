"""The transcript that the demo plays."""

from leftoff.agents.registry import agent_of
from leftoff.demo import bundled_transcript
from tests.support.record_demo import DEMO_DATA, record_transcript


def test_the_bundled_transcript_is_up_to_date():
    """After a change of the screenplay or the writer, run ``python -m tests.support.record_demo``."""
    name, content = record_transcript()
    assert [path.name for path in DEMO_DATA.iterdir()] == [name]
    assert (DEMO_DATA / name).read_bytes() == content


def test_the_transcript_contains_an_invented_token(tmp_path):
    """The token is escaped in the file because of secret scanners, and is an ordinary token when read."""
    transcript = bundled_transcript(tmp_path)
    assert b"ghp_" not in transcript.read_bytes()
    session = agent_of(transcript).open(transcript)
    assert any("ghp_Inv3nted" in call.result.text for call in session.tool_calls() if call.result)
