"""What Claude Code tells the command behind its status line."""

import json

import pytest

from leftoff.agents.claude import Claude
from leftoff.model.status_input import StatusInput


@pytest.fixture
def agent(tmp_path):
    return Claude(home=tmp_path)


SAID = {
    "session_id": "0c712d1c-a758-4b93-8967-1be809d58c86",
    "transcript_path": "/home/dev/t.jsonl",
    "cwd": "/home/dev/proj/sub",
    "model": {"id": "claude-sonnet-4-5", "display_name": "Sonnet 4.5"},
    "workspace": {"current_dir": "/home/dev/proj/sub", "project_dir": "/home/dev/proj", "added_dirs": []},
    "context_window": {
        "context_window_size": 200000,
        "current_usage": {
            "input_tokens": 7,
            "output_tokens": 42,
            "cache_creation_input_tokens": 1000,
            "cache_read_input_tokens": 21435,
        },
    },
}


def test_what_the_client_says_is_read(agent):
    """The last output counts: it stands in the window too."""
    assert agent.status_input(SAID) == StatusInput(
        session_id="0c712d1c-a758-4b93-8967-1be809d58c86",
        transcript="/home/dev/t.jsonl",
        folder="/home/dev/proj",
        model="claude-sonnet-4-5",
        window_tokens=200_000,
        used_tokens=22_484,
    )


def test_what_it_does_not_say_is_not_known(agent):
    """Before the first reply, and after /clear."""
    said = json.loads(json.dumps(SAID))
    said["context_window"] = {"context_window_size": 0, "current_usage": None}
    said["workspace"] = {}
    del said["model"]
    told = agent.status_input(said)
    assert (told.window_tokens, told.used_tokens, told.model) == (None, None, None)
    assert told.folder == "/home/dev/proj/sub"


@pytest.mark.parametrize(
    "said", [{}, {"session_id": "x"}, {"workspace": {}}, {"session_id": 3, "workspace": {}}]
)
def test_other_inputs_are_not_for_us(agent, said):
    """Another agent's, or nobody's."""
    assert agent.status_input(said) is None
