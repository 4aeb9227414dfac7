"""What Claude Code passes to the command of its status line."""

import json

import pytest

from leftoff.agents.claude import Claude
from leftoff.core.metrics import StatusInput


@pytest.fixture
def agent(tmp_path):
    return Claude(home=tmp_path)


CLIENT_JSON = {
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


def test_the_input_of_the_client_is_parsed(agent):
    assert agent.status_input(CLIENT_JSON) == StatusInput(
        session_id="0c712d1c-a758-4b93-8967-1be809d58c86",
        transcript="/home/dev/t.jsonl",
        folder="/home/dev/proj",
        window_tokens=200_000,
    )


def test_missing_fields_are_none(agent):
    """Fields are missing before the first reply and after ``/clear``."""
    client_json = json.loads(json.dumps(CLIENT_JSON))
    client_json["context_window"] = {"context_window_size": 0, "current_usage": None}
    client_json["workspace"] = {}
    del client_json["model"]
    parsed = agent.status_input(client_json)
    assert parsed.window_tokens is None
    assert parsed.folder == "/home/dev/proj/sub"


@pytest.mark.parametrize(
    "client_json", [{}, {"session_id": "x"}, {"workspace": {}}, {"session_id": 3, "workspace": {}}]
)
def test_other_inputs_give_none(agent, client_json):
    """The input may be another agent's, or something else."""
    assert agent.status_input(client_json) is None
