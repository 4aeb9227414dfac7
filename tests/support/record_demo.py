"""Record the transcript that ``leftoff demo`` plays: ``python -m tests.support.record_demo`` from the repository's root.

Run it after the screenplay or the writer has changed; a test fails when that is needed.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Final

from tests.support.claude_writer import write_transcript
from tests.support.screenplay import bundled_script

DEMO_DATA: Final = Path(__file__).parents[2] / "src" / "leftoff" / "demo_data"
_HOME = b"/home/mika/.claude/projects/-home-mika-code-orders-api"


def record_transcript() -> tuple[str, bytes]:
    """Return the name and bytes of the demo's transcript, as Claude Code would write it in the home of the story's user.

    Subagents and large outputs beside the transcript are left out: the demo does not need them. The invented token of the
    story is written with a JSON escape, so that no secret scanner takes it for a real one.
    """
    script = bundled_script()
    with tempfile.TemporaryDirectory() as folder:
        transcript = Path(folder).resolve() / f"{script.session_id}.jsonl"
        write_transcript(script, transcript)
        content = transcript.read_bytes().replace(str(transcript.parent).encode(), _HOME)
    return transcript.name, content.replace(b"ghp_", b"ghp\\u005f")


if __name__ == "__main__":
    name, content = record_transcript()
    DEMO_DATA.mkdir(exist_ok=True)
    (DEMO_DATA / name).write_bytes(content)
