"""Sessions that their agent has compressed: everything that can be done with a session can be done with these."""

import base64
import random
from pathlib import Path

import pytest

from leftoff.agents.registry import agent_of
from leftoff.errors import LeftoffError, TranscriptError
from leftoff.sessions.find import find_session, open_session
from leftoff.sessions.status import status_of
from leftoff.shrink import expand, untrim
from leftoff.shrink.placeholder import parse_placeholder
from leftoff.shrink.trim import TrimOptions, prepare_trim, preview_trim, write_trim
from leftoff.testing.builders import Story, call
from leftoff.workspace import Workspace
from tests.support.long_sessions import CODEX_FIRST, LONG, long_story, write_long_session


@pytest.fixture
def squeeze(zstd):
    """Compresses a rollout as the client does: the plain one is gone."""

    def squeezed(path: Path) -> Path:
        target = path.with_name(f"{path.name}.zst")
        target.write_bytes(zstd.compress(path.read_bytes()))
        path.unlink()
        return target

    return squeezed


def results(transcript: Path) -> list[str]:
    return [each.result.text for each in open_session(str(transcript)).tool_calls() if each.result]


def keys(transcript: Path) -> list[str]:
    return [found.key for text in results(transcript) if (found := parse_placeholder(text))]


def test_a_compressed_session_is_found_by_its_id_and_measured(home, squeeze):
    """The gauge is the same as before compression."""
    plain = write_long_session(home, "codex")
    before = status_of(find_session(CODEX_FIRST, Workspace.open()), Workspace.open()).metrics
    chosen = find_session(squeeze(plain).name.removesuffix(".jsonl.zst")[-36:], Workspace.open())
    assert chosen.transcript.suffix == ".zst"
    assert chosen.agent.id == "codex"
    assert status_of(chosen, Workspace.open()).metrics.percentage_used == before.percentage_used


@pytest.mark.parametrize("strategy", ["trim", "smart-trim"])
def test_a_compressed_session_is_trimmed_like_a_plain_one(home, squeeze, strategy):
    """Sizes are compared uncompressed: the copy is smaller than the text, though larger than the compressed file."""
    story = Story(session_id=CODEX_FIRST, project=str(Path.cwd()))
    for turn in range(12):
        story.asked(f"Step {turn}").replied("Making.", call("shell", {"command": f"make {turn}"}, LONG))
    plain = home.codex(story)
    size = plain.stat().st_size
    preview = preview_trim(prepare_trim(CODEX_FIRST, Workspace.open(), TrimOptions(strategy=strategy))).plan
    source = squeeze(plain)
    plan = prepare_trim(CODEX_FIRST, Workspace.open(), TrimOptions(strategy=strategy))
    progress = []
    assert preview_trim(plan, lambda done, whole: progress.append((done, whole))).plan == plan.plan
    assert progress[-1] == (size, size)
    assert plan.plan.saved_tokens == preview.saved_tokens > 0
    result = write_trim(plan)
    assert source.stat().st_size < result.output_file.stat().st_size < size
    assert keys(result.output_file)


def test_originals_of_a_compressed_session_are_restored(home, squeeze):
    """The session was compressed before the trim: expand finds one by its key, untrim restores all."""
    plain = write_long_session(home, "codex")
    was = results(plain)
    source = squeeze(plain)
    copy = write_trim(prepare_trim(str(source), Workspace.open(), TrimOptions())).output_file
    key = keys(copy)[0]
    assert expand.expand(key).text in was
    back = untrim.untrim(copy.name.removesuffix(".jsonl")[-36:], Workspace.open())
    assert not back.left
    assert results(back.output_file) == was
    whole = back.output_file.read_bytes()
    assert b"[suppressed" not in whole


# Does what its first argument says with a session, and prints how often a compressed file was opened meanwhile.
_COUNTED = """
import sys
from pathlib import Path
from leftoff.shrink import untrim
from leftoff.shrink.trim import TrimOptions, prepare_trim, write_trim
from leftoff.workspace import Workspace

what, session = sys.argv[1:]
opened = []
sys.addaudithook(lambda event, told: opened.append(told[0]) if event == "open" and str(told[0]).endswith(".zst") else None)
if what == "untrim":
    left = untrim.untrim(session, Workspace.open()).left
    assert not left, left
else:
    assert write_trim(prepare_trim(session, Workspace.open(), TrimOptions(threshold=200, trim_assistant=1 << 31))).output_file
print(len(opened))
"""


def write_wordy_session(home, turns: int) -> Path:
    """Write a session with so many long answers and replies."""
    story = Story(session_id=CODEX_FIRST, project=str(Path.cwd()))
    for turn in range(turns):
        story.asked(f"Step {turn}").replied("Making.", call("shell", {"command": f"make {turn}"}, LONG))
        story.replied(f"Made {turn}. " + "It was long. " * 200)
    return home.codex(story)


@pytest.mark.parametrize("what", ["trim", "untrim"])
def test_a_compressed_session_is_opened_as_often_for_many_pieces_as_for_few(home, squeeze, run_python, what):
    """All originals are read in one pass, because reaching any place means decompressing everything before it."""
    times = []
    for turns in (8, 40):
        session = source = squeeze(write_wordy_session(home, turns))
        if what == "untrim":
            wanted = TrimOptions(threshold=200, trim_assistant=1 << 31)
            session = write_trim(prepare_trim(str(source), Workspace.open(), wanted)).output_file
            assert len(keys(session)) >= turns - 4
        times.append(int(run_python(_COUNTED, what, session).stdout))
        source.unlink()
    assert times[0] == times[1] > 0


def test_a_compressed_copy_can_be_untrimmed(home, squeeze):
    """Agents compress copies like any other session."""
    plain = write_long_session(home, "codex")
    copy = squeeze(write_trim(prepare_trim(str(plain), Workspace.open(), TrimOptions())).output_file)
    assert keys(copy)
    back = untrim.untrim(str(copy), Workspace.open())
    assert results(back.output_file) == results(plain)


def test_originals_are_restored_from_a_parent_compressed_after_the_trim(home, squeeze):
    """The parent then has another name and other bytes."""
    plain = write_long_session(home, "codex")
    was = results(plain)
    copy = write_trim(prepare_trim(str(plain), Workspace.open(), TrimOptions())).output_file
    squeeze(plain)
    assert expand.expand(keys(copy)[0]).text in was
    assert results(untrim.untrim(str(copy), Workspace.open()).output_file) == was


def test_an_unreadable_parent_does_not_stop_untrim(home, squeeze):
    """What it held stays cut, and the result says so; expanding one of its originals is a clear error."""
    parent = squeeze(home.codex(long_story(CODEX_FIRST, turns=4)))
    copy = write_trim(
        prepare_trim(str(parent), Workspace.open(), TrimOptions(tools=("exec_command", "shell")))
    ).output_file
    first = {*keys(copy)}
    again = write_trim(
        prepare_trim(str(copy), Workspace.open(), TrimOptions(threshold=100, min_token_savings=0))
    ).output_file
    others = [key for key in (*keys(again), *input_keys(again)) if key not in first]
    assert first
    assert others
    data = parent.read_bytes()
    parent.write_bytes(data[: len(data) // 2])
    with pytest.raises(
        LeftoffError, match=r"a session that may have the original cannot be read\. .*jsonl\.zst"
    ):
        expand.expand(next(iter(first)))
    back = untrim.untrim(str(again), Workspace.open())
    assert back.given_back > 0
    assert any("cannot be read" in why for why in back.left)


def input_keys(transcript: Path) -> list[str]:
    texts = [str(each.input) for each in open_session(str(transcript)).tool_calls()]
    return [
        text.split("leftoff expand ")[1].split()[0].rstrip("].'\"})")
        for text in texts
        if "leftoff expand " in text
    ]


def test_a_compressed_file_that_is_not_a_transcript_is_refused(tmp_path, zstd):
    """The file may be damaged or hold something else."""
    for data in (zstd.compress(b"hello\n"), zstd.compress(b"")[:6], b"\x28\xb5\x2f\xfdnonsense"):
        path = tmp_path / "a.jsonl.zst"
        path.write_bytes(data)
        with pytest.raises(TranscriptError, match="is not a transcript that leftoff knows"):
            agent_of(path)


def test_a_head_that_hardly_compresses_is_recognised(home, squeeze):
    """The first block of such a file is large."""
    noise = base64.b64encode(random.Random(7).randbytes(400_000)).decode()
    story = long_story(CODEX_FIRST, turns=1)
    path = home.codex(story)
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(
        lines[0]
        + b'{"timestamp":"x","type":"event_msg","payload":{"x":"%b"}}\n' % noise.encode()
        + b"".join(lines[1:])
    )
    assert agent_of(squeeze(path)).id == "codex"


def test_without_a_decompressor_the_error_says_what_to_install(home, squeeze, monkeypatch):
    """Every command on the session says so."""
    source = squeeze(write_long_session(home, "codex"))
    monkeypatch.setattr("leftoff.agents.codex.rollouts.MODULES", ("leftoff.no_such_module",))
    with pytest.raises(TranscriptError, match=r"pip install backports\.zstd"):
        prepare_trim(str(source), Workspace.open(), TrimOptions())
