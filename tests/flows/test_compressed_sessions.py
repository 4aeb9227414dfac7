"""Sessions that their agent has compressed: everything that can be done with a session can be done with these."""

import base64
import random
from pathlib import Path

import pytest

from leftoff.errors import LeftoffError, TranscriptError
from leftoff.flows import expand, untrim
from leftoff.flows.agents import agent_of
from leftoff.flows.choose import choose, open_session
from leftoff.flows.settings import settings_here
from leftoff.flows.shrink_session import Wanted, carried_out, looked_at, planned
from leftoff.flows.status import status_of
from leftoff.shrink.placeholders import parsed
from leftoff.system import clock
from leftoff.testing.builders import Story, call
from tests.flows.shrinking import CODEX_FIRST, LONG, long_story, put


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
    return [found.key for text in results(transcript) if (found := parsed(text))]


def test_a_compressed_session_is_found_by_its_id_and_measured(home, squeeze):
    """As the plain one was."""
    plain = put(home, "codex")
    settings, now = settings_here(), clock.now()
    before = status_of(choose(CODEX_FIRST, Path.cwd()), settings, now).metrics
    chosen = choose(squeeze(plain).name.removesuffix(".jsonl.zst")[-36:], Path.cwd())
    assert chosen.transcript.suffix == ".zst"
    assert chosen.agent.id == "codex"
    assert status_of(chosen, settings, now).metrics.percentage_used == before.percentage_used


@pytest.mark.parametrize("strategy", ["trim", "smart-trim"])
def test_a_compressed_session_is_trimmed_as_the_plain_one(home, squeeze, strategy):
    """What counts is the text within: the copy is larger than the compressed file, and smaller than that."""
    story = Story(session_id=CODEX_FIRST, project=str(Path.cwd()))
    for turn in range(12):
        story.asked(f"Step {turn}").replied("Making.", call("shell", {"command": f"make {turn}"}, LONG))
    plain = home.codex(story)
    size = plain.stat().st_size
    told = looked_at(planned(CODEX_FIRST, Path.cwd(), Wanted(strategy=strategy))).plan
    source = squeeze(plain)
    plan = planned(CODEX_FIRST, Path.cwd(), Wanted(strategy=strategy))
    progress = []
    assert looked_at(plan, lambda done, whole: progress.append((done, whole))).plan == plan.plan
    assert progress[-1] == (size, size)
    assert plan.plan.saved_tokens == told.saved_tokens > 0
    made = carried_out(plan)
    assert source.stat().st_size < made.output_file.stat().st_size < size
    assert keys(made.output_file)


def test_originals_of_a_compressed_session_are_given_back(home, squeeze):
    """Where it was compressed before the trim: by key, and all of them; also what its events showed."""
    plain = put(home, "codex")
    was = results(plain)
    source = squeeze(plain)
    copy = carried_out(planned(str(source), Path.cwd(), Wanted())).output_file
    key = keys(copy)[0]
    assert expand.expand(key).text in was
    back = untrim.untrim(copy.name.removesuffix(".jsonl")[-36:], Path.cwd())
    assert not back.left
    assert results(back.output_file) == was
    whole = back.output_file.read_bytes()
    assert b"[suppressed" not in whole


# Does what its first argument says with a session, and prints how often a compressed file was opened meanwhile.
_COUNTED = """
import sys
from pathlib import Path
from leftoff.flows import untrim
from leftoff.flows.shrink_session import Wanted, carried_out, planned

what, session = sys.argv[1:]
opened = []
sys.addaudithook(lambda event, told: opened.append(told[0]) if event == "open" and str(told[0]).endswith(".zst") else None)
if what == "untrim":
    left = untrim.untrim(session, Path.cwd()).left
    assert not left, left
else:
    assert carried_out(planned(session, Path.cwd(), Wanted(threshold=200, trim_assistant=1 << 31))).output_file
print(len(opened))
"""


def told_at_length(home, turns: int) -> Path:
    """A session with so many long answers and replies."""
    story = Story(session_id=CODEX_FIRST, project=str(Path.cwd()))
    for turn in range(turns):
        story.asked(f"Step {turn}").replied("Making.", call("shell", {"command": f"make {turn}"}, LONG))
        story.replied(f"Made {turn}. " + "It was long. " * 200)
    return home.codex(story)


@pytest.mark.parametrize("what", ["trim", "untrim"])
def test_a_compressed_session_is_opened_as_often_for_many_pieces_as_for_few(home, squeeze, run_python, what):
    """What is cut from it, or given back from it, is looked for in one go: to reach a place, all before it is decompressed."""
    times = []
    for turns in (8, 40):
        session = source = squeeze(told_at_length(home, turns))
        if what == "untrim":
            wanted = Wanted(threshold=200, trim_assistant=1 << 31)
            session = carried_out(planned(str(source), Path.cwd(), wanted)).output_file
            assert len(keys(session)) >= turns - 4
        times.append(int(run_python(_COUNTED, what, session).stdout))
        source.unlink()
    assert times[0] == times[1] > 0


def test_a_copy_that_was_compressed_is_given_back_too(home, squeeze):
    """The agent compresses copies like any other."""
    plain = put(home, "codex")
    copy = squeeze(carried_out(planned(str(plain), Path.cwd(), Wanted())).output_file)
    assert keys(copy)
    back = untrim.untrim(str(copy), Path.cwd())
    assert results(back.output_file) == results(plain)


def test_originals_of_a_session_compressed_since_are_given_back(home, squeeze):
    """The session that they were cut from has another name then, and other bytes."""
    plain = put(home, "codex")
    was = results(plain)
    copy = carried_out(planned(str(plain), Path.cwd(), Wanted())).output_file
    squeeze(plain)
    assert expand.expand(keys(copy)[0]).text in was
    assert results(untrim.untrim(str(copy), Path.cwd()).output_file) == was


def test_one_parent_that_cannot_be_read_does_not_keep_the_others_back(home, squeeze):
    """What it had is left as it is, and that is said; an original of it alone is an error of one sentence."""
    parent = squeeze(home.codex(long_story(CODEX_FIRST, turns=4)))
    copy = carried_out(planned(str(parent), Path.cwd(), Wanted(tools=("exec_command", "shell")))).output_file
    first = {*keys(copy)}
    again = carried_out(
        planned(str(copy), Path.cwd(), Wanted(threshold=100, min_token_savings=0))
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
    back = untrim.untrim(str(again), Path.cwd())
    assert back.given_back > 0
    assert any("cannot be read" in why for why in back.left)


def input_keys(transcript: Path) -> list[str]:
    texts = [str(each.input) for each in open_session(str(transcript)).tool_calls()]
    return [
        text.split("leftoff expand ")[1].split()[0].rstrip("].'\"})")
        for text in texts
        if "leftoff expand " in text
    ]


def test_what_is_compressed_and_no_transcript_is_nobodys(tmp_path, zstd):
    """Damaged, or something else within."""
    for data in (zstd.compress(b"hello\n"), zstd.compress(b"")[:6], b"\x28\xb5\x2f\xfdnonsense"):
        path = tmp_path / "a.jsonl.zst"
        path.write_bytes(data)
        with pytest.raises(TranscriptError, match="is no transcript that leftoff knows"):
            agent_of(path)


def test_a_head_of_words_that_hardly_compress_is_recognised(home, squeeze):
    """The first block of the file is large then."""
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


def test_without_a_decompressor_the_way_out_is_said(home, squeeze, monkeypatch):
    """By whatever is asked of the session."""
    source = squeeze(put(home, "codex"))
    monkeypatch.setattr("leftoff.agents.codex.compressed._MODULES", ("leftoff.no_such_module",))
    with pytest.raises(TranscriptError, match=r"pip install backports\.zstd"):
        planned(str(source), Path.cwd(), Wanted())
