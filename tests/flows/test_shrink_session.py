"""Trim and smart-trim from the plan to the file: the original untouched, the copy known to everybody who asks."""

import hashlib
import json
import resource
from pathlib import Path

import pytest

import leftoff
from leftoff.errors import LeftoffError, NotFoundError, NothingToDoError
from leftoff.flows import expand, export, lineage, rollover, untrim
from leftoff.flows.agents import agent_of
from leftoff.flows.ancestry import family_here
from leftoff.flows.choose import Chosen, open_session
from leftoff.flows.re_home import re_homed
from leftoff.flows.shrink_session import Wanted, carried_out, looked_at, planned
from leftoff.lineage.chain import newest_first
from leftoff.lineage.registry import NAME
from leftoff.shrink.placeholders import parsed
from leftoff.system import paths
from leftoff.testing.builders import Story, call
from tests.flows.shrinking import CODEX_FIRST, FIRST, LONG, long_story, placed, put, with_short_id

AGENTS = ("claude", "codex")
SECOND = "7d1c0a52-93c4-4d0e-8a53-0c2f3f1f5a10"


@pytest.fixture(params=AGENTS)
def agent_id(request):
    return request.param


@pytest.fixture
def source(home, agent_id):
    return put(home, agent_id)


def trimmed(source: Path, **wanted):
    return carried_out(planned(str(source), Path.cwd(), Wanted(**wanted)))


def results(transcript: Path) -> list[str]:
    session = open_session(str(transcript))
    return [call.result.text for call in session.tool_calls() if call.result]


def inputs(transcript: Path) -> list[object]:
    return [call.input for call in open_session(str(transcript)).tool_calls()]


def replies(transcript: Path) -> list[str]:
    return [
        record.text
        for record in open_session(str(transcript)).records
        if record.kind == "reply" and record.text
    ]


def test_a_plan_writes_nothing_and_tells_everything(source):
    """Lines as people count them, tokens that add up."""
    before = sorted(paths.home().rglob("*"))
    assert source in before
    said = planned(str(source), Path.cwd(), Wanted()).to_dict()
    assert said["dry_run"] is True
    assert said["tools_trimmed"] == len(said["cuts"]) > 0
    assert abs(sum(cut["tokens_saved"] for cut in said["cuts"]) - said["tokens_saved"]) <= len(said["cuts"])
    assert all(cut["line"] > 0 and cut["rationale"] and cut["key"] for cut in said["cuts"])
    assert sorted(paths.home().rglob("*")) == before


def test_the_copy_is_smaller_and_the_original_is_what_it_was(source, agent_id):
    """The shape that scripts rely on, to the key."""
    digest = hashlib.sha256(source.read_bytes()).hexdigest()
    made = trimmed(source)
    assert hashlib.sha256(source.read_bytes()).hexdigest() == digest
    assert made.output_file.stat().st_size < source.stat().st_size
    assert made.output_file.stat().st_mode & 0o777 == 0o600
    assert [*made.to_dict()] == [
        "session_id",
        "output_file",
        "parent_file",
        "tools_trimmed",
        "tokens_saved",
        "context_saved_percent",
        "resume_command",
        "nothing_to_trim",
    ]
    assert made.session_id in made.to_dict()["resume_command"]
    assert made.to_dict()["resume_command"].startswith(agent_id)
    suppressed = [text for text in results(made.output_file) if parsed(text)]
    assert len(suppressed) == made.tools_trimmed // 2 > 0  # of the others the inputs were cut
    assert inputs(made.output_file) != inputs(source)
    assert suppressed[0].startswith("[Results from ")


def test_trimming_twice_is_trimming_once(source):
    """There is nothing left to cut, and nothing is written."""
    made = trimmed(source)
    again = trimmed(made.output_file)
    assert again.nothing_to_trim
    assert again.to_dict()["session_id"] is None
    assert again.output_file is None


def test_only_the_tools_that_were_named_are_cut(source):
    """None of them is called so."""
    assert trimmed(source, tools=("Nobody",)).nothing_to_trim


def test_the_copy_knows_its_parent_and_so_does_the_registry(source):
    """Either is enough: the note wins, the registry helps where the note is gone."""
    made = trimmed(source)
    family = family_here()
    assert [node.session_file for node in newest_first(family.node(made.output_file))] == [
        made.output_file,
        source,
    ]
    (paths.data_folder() / NAME).unlink()
    assert family_here().node(made.output_file).parent.session_file == source


def test_the_registry_alone_tells_where_a_copy_came_from(source):
    """A copy whose own note was lost."""
    made = trimmed(source)
    text = made.output_file.read_text(encoding="utf-8")
    made.output_file.write_text(
        text.replace('"trim_metadata"', '"lost_metadata"').replace("forked_from_id", "x"), encoding="utf-8"
    )
    assert family_here().node(made.output_file).parent.session_file == source


def test_a_parent_that_moved_is_found_by_its_id_and_one_that_is_gone_is_missing(source):
    """Not by a file that merely took its place."""
    made = trimmed(source)
    moved = source.with_name(f"{source.stem}.jsonl")
    folder = source.parent.parent / "elsewhere" if "claude" in str(source) else source.parent.parent / "07"
    folder.mkdir()
    moved = source.rename(folder / source.name)
    source.write_text('{"another": "file"}\n', encoding="utf-8")
    assert family_here().node(made.output_file).parent.session_file == moved
    moved.unlink()
    parent = family_here().node(made.output_file).parent
    assert parent.missing
    assert parent.session_file == source


def test_expand_prints_the_original_of_a_placeholder(source):
    """Found by its key alone."""
    made = trimmed(source)
    text = next(text for text in results(made.output_file) if parsed(text))
    found = expand.expand(parsed(text).key)
    assert LONG.strip()[-200:] in found.text
    assert found.transcript == str(source)
    assert found.line == parsed(text).line


def test_expand_says_when_the_original_is_gone_or_changed(source):
    """It never prints something else."""
    made = trimmed(source)
    key = parsed(next(text for text in results(made.output_file) if parsed(text))).key
    data = source.read_bytes()
    source.write_bytes(data.replace(b"amounts", b"AMOUNTS"))
    with pytest.raises(LeftoffError, match="has changed since"):
        expand.expand(key)
    source.unlink()
    with pytest.raises(NotFoundError, match="is gone"):
        expand.expand(key)
    with pytest.raises(LeftoffError, match="is no key"):
        expand.expand("nonsense")


def test_untrim_gives_every_original_back(source):
    """Every result is what it was; the copy is a session of its own."""
    made = trimmed(source)
    back = untrim.untrim(str(made.output_file), Path.cwd())
    assert results(back.output_file) == results(source)
    assert inputs(back.output_file) == inputs(source)
    assert back.given_back == made.tools_trimmed
    assert back.left == ()
    assert [node.session_file for node in newest_first(family_here().node(back.output_file))] == [
        back.output_file,
        made.output_file,
        source,
    ]


def test_untrim_tells_what_it_would_do(source):
    """And writes nothing."""
    made = trimmed(source)
    before = {*made.output_file.parent.iterdir()}
    told = untrim.untrim(str(made.output_file), Path.cwd(), dry_run=True)
    assert told.given_back == made.tools_trimmed
    assert told.to_dict()["session_id"] is None
    assert {*made.output_file.parent.iterdir()} == before


def test_untrim_has_nothing_to_do_or_cannot(source):
    """Nothing was cut; or all that was cut is gone."""
    with pytest.raises(NothingToDoError):
        untrim.untrim(str(source), Path.cwd())
    made = trimmed(source)
    source.unlink()
    with pytest.raises(LeftoffError, match="None of"):
        untrim.untrim(str(made.output_file), Path.cwd())


def test_what_is_gone_stays_a_placeholder_and_the_rest_comes_back(home, agent_id):
    """Results were cut from the first session, replies from its copy; the first is deleted."""
    source = put(home, agent_id, words=LONG)
    first = trimmed(source)
    second = trimmed(first.output_file, trim_assistant=3)
    assert any(parsed(text) for text in replies(second.output_file))
    source.unlink()
    back = untrim.untrim(str(second.output_file), Path.cwd())
    assert replies(back.output_file) == replies(first.output_file)
    assert back.given_back == 3
    assert results(back.output_file) == results(second.output_file)
    assert len(back.left) >= 1
    assert all("is gone" in reason for reason in back.left)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("words", "words"),
        ([{"type": "text", "text": "a"}, {"type": "text", "text": "b"}], "a\nb"),
        ({"file_path": "ä.py"}, '{\n  "file_path": "ä.py"\n}'),
        ([{"type": "image"}], '[\n  {\n    "type": "image"\n  }\n]'),
    ],
)
def test_an_original_is_shown_as_words_where_it_is_words(value, text):
    """Anything else as JSON."""
    assert expand.Original(key="k", value=value, part="result", transcript="t", line=1).text == text


def test_an_input_is_expanded_whole(source):
    """As its record has it."""
    made = trimmed(source)
    key = next(cut.key for cut in planned(str(source), Path.cwd(), Wanted()).plan.cuts if cut.part == "input")
    found = expand.expand(key)
    assert found.part == "input"
    assert "the ledger keeps its amounts" in found.text
    assert made.session_id not in found.transcript


def test_the_family_is_drawn_with_what_is_missing(source):
    """Children of the same parent, one of them deleted."""
    first, second = trimmed(source), trimmed(source, threshold=500)
    second.output_file.unlink()
    fresh = rollover.rolled_over(str(first.output_file), Path.cwd(), rollover.Wanted())
    tree = lineage.lineage(str(first.output_file), Path.cwd())
    assert tree.root.session_file == source
    assert tree.root.derivation is None
    assert {(child.session_id, child.missing) for child in tree.root.children} == {
        (first.session_id, False),
        (second.session_id, True),
    }
    kept = next(child for child in tree.root.children if not child.missing)
    assert kept.is_asked_for
    assert [(child.session_id, child.derivation) for child in kept.children] == [
        (fresh.session_id, "continued")
    ]
    assert json.dumps(tree.to_dict())
    assert [node["session_file"] for node in tree.to_dict()["chain"]] == [str(source), str(first.output_file)]


def test_a_model_proposes_and_the_invariants_dispose(home, tmp_path):
    """A command that answers the prompt with lines; the plan is checked as any other."""
    source = put(home, "claude")
    program = tmp_path / "propose"
    program.write_text(
        '#!/bin/sh\ncat > prompt.txt\necho \'[[7, "no longer needed", "notes"]]\'\n', encoding="utf-8"
    )
    program.chmod(0o755)
    told = planned(str(source), Path.cwd(), Wanted(strategy="smart-trim", by=str(program)))
    assert told.plan.strategy == "smart-trim"
    program.write_text("#!/bin/sh\nexit 3\n", encoding="utf-8")
    with pytest.raises(LeftoffError):
        planned(str(source), Path.cwd(), Wanted(strategy="smart-trim", by=str(program)))


def test_the_first_session_of_the_story_is_known(home):
    """So that the others mean what they say."""
    assert open_session(str(put(home, "claude"))).session_id == FIRST


NARROW = (
    "claude-1.0.98-sidechains",
    "compacted/claude-2.1.5-deeac353",
)  # they free little more than a copy costs


@pytest.mark.parametrize("strategy", ["trim", "smart-trim"])
def test_no_copy_of_a_real_session_is_as_large_as_it(home, real_transcripts, strategy):
    """By the strategies as they are: what would not be smaller is nothing to trim, and leaves nothing behind."""
    small = sorted(real_transcripts.rglob("*.jsonl"), key=lambda path: path.stat().st_size)[:8]
    paths = [*small, *(real_transcripts / f"{name}.jsonl" for name in NARROW)]
    written = 0
    for path in paths:
        try:
            source = placed(home, path)
            plan = planned(str(source), Path.cwd(), Wanted(strategy=strategy, force=True))
            seen = looked_at(plan)
            made = carried_out(plan)
        except LeftoffError:
            continue  # nothing in it that could be gone on from
        assert seen.plan.nothing_to_trim == made.nothing_to_trim, path.name
        assert seen.plan.saved_tokens == made.tokens_saved, path.name
        if made.output_file is None:
            assert (made.tokens_saved, made.context_saved_percent, made.tools_trimmed) == (0, 0.0, 0)
            continue
        written += 1
        assert made.output_file.stat().st_size < source.stat().st_size, path.name
    assert written > 0


@pytest.mark.parametrize("agent_id", ["claude", "codex"])
def test_a_copy_that_would_be_no_smaller_is_not_written(home, agent_id):
    """The content is less, but what a copy says of itself is more: nobody would gain by it."""
    story = Story(session_id=FIRST if agent_id == "claude" else CODEX_FIRST, project=str(Path.cwd()))
    story.asked("Go").replied("Looking.", call("shell", {"command": "cat a"}, "x" * 420), used=5_000)
    for turn in range(4):
        story.asked(f"And {turn}").replied("Seen.", call("shell", {"command": "ls"}, "y" * 90), used=6_000)
    source = (home.claude if agent_id == "claude" else home.codex)(story)
    plan = planned(str(source), Path.cwd(), Wanted(threshold=300, min_token_savings=0))
    assert plan.plan.cuts
    before = {*source.parent.iterdir()}
    made = carried_out(plan)
    assert made.nothing_to_trim
    assert made.tokens_saved == 0
    assert {*source.parent.iterdir()} == before
    seen = looked_at(plan)
    assert seen.to_dict()["nothing_to_trim"] is True
    assert seen.plan.kept[-1] == "the copy would be no smaller than the session"
    assert {*source.parent.iterdir()} == before


def test_a_look_at_a_plan_writes_nothing_anywhere(source, tmp_path, monkeypatch):
    """Not even for a moment, and not where nobody looks: what was said in the session would stand there unredacted."""
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(scratch))
    plan = planned(str(source), Path.cwd(), Wanted())
    before = {*tmp_path.rglob("*")}
    seen = []
    assert looked_at(plan, lambda done, whole: seen.append((done == whole, {*tmp_path.rglob("*")}))) == plan
    assert seen[-1][0]
    assert all(there == before for _, there in seen)
    assert {*tmp_path.rglob("*")} == before
    assert not family_here().derived


def test_a_look_tells_of_a_copy_that_longer_ids_make_larger(home):
    """Each line gets the new id: where the old one is short and the lines are many, cuts of much are not enough."""
    source = with_short_id(home)
    plan = planned(str(source), Path.cwd(), Wanted())
    assert plan.plan.saved_chars > 20_000
    assert looked_at(plan).plan.nothing_to_trim
    assert carried_out(plan).nothing_to_trim


@pytest.mark.parametrize("project", [None, "elsewhere"])
def test_a_look_is_refused_where_the_copy_would_be(home, tmp_path, project):
    """A plan of a file that has changed since is no plan of it."""
    source = put(home, "claude")
    folder = tmp_path / project if project else None
    plan = planned(str(source), Path.cwd(), Wanted(project=folder))
    source.write_bytes(source.read_bytes().replace(b"tool_result", b"tool_resulT"))
    for go in (looked_at, carried_out):
        with pytest.raises(LeftoffError, match="is not what the plan was made from"):
            go(plan)


def with_subagent(home) -> tuple[Path, Path]:
    """A long session that sent somebody, and what that one wrote."""
    story = long_story().delegated("Look around", "Nothing found", call("shell", {"command": "ls"}, "a.py"))
    source = home.claude(story)
    (wrote,) = source.with_suffix("").glob("subagents/agent-*.jsonl")
    return source, wrote


def beside(transcript: Path) -> dict[str, bytes]:
    """What stands in the folder of a session."""
    folder = transcript.with_suffix("")
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_a_copy_has_what_its_subagents_wrote(home, tmp_path):
    """Its client looks for them in the copy's own folder, and goes on in them: so they are the copy's own."""
    source, wrote = with_subagent(home)
    (wrote.parent / "agent-link.jsonl").symlink_to(tmp_path / "elsewhere")
    copy = trimmed(source).output_file
    sent = {name: data for name, data in beside(source).items() if name.startswith("subagents")}
    assert beside(copy) == sent
    assert len(sent) == 2  # with its description
    own = copy.with_suffix("") / "subagents" / wrote.name
    assert own.stat().st_ino != wrote.stat().st_ino
    assert own.stat().st_mode & 0o777 == 0o600
    back = untrim.untrim(str(copy), Path.cwd()).output_file
    assert beside(back) == sent


def test_what_nobody_can_speak_to_any_more_stays_where_it_is(home):
    """A subagent from before the last compaction, and one that no line names."""
    story = long_story().delegated("Look around", "Nothing found").compacted("All was seen.")
    source = home.claude(story.delegated("Look again", "Still nothing"))
    wrote = {path.name for path in source.with_suffix("").glob("subagents/agent-*.jsonl")}
    assert len(wrote) == 2
    copy = re_homed(Chosen(agent=agent_of(source), transcript=source), Path.cwd()).output_file
    assert wrote == {Path(name).name for name in beside(copy) if name.endswith(".jsonl")}
    plan = planned(str(copy), Path.cwd(), Wanted(project=Path.cwd()))
    again = carried_out(plan).output_file
    (kept,) = (name for name in beside(again) if name.endswith(".jsonl"))
    assert Path(kept).name in wrote
    assert b"Look again" in beside(again)[kept]


def test_a_look_and_a_copy_elsewhere_take_no_subagents_along(home, tmp_path):
    """Nobody goes on with those."""
    source, _ = with_subagent(home)
    looked_at(planned(str(source), Path.cwd(), Wanted(tools=("Bash",))))
    made = leftoff.trim_and_create_session(None, source, None, 1000, output_dir=tmp_path / "out")
    assert [path.name for path in (tmp_path / "out").iterdir()] == [f"{made['session_id']}.jsonl"]


def test_every_copy_says_what_was_left_behind(home, tmp_path):
    """Trimmed, given back, moved, or made by the library; where nothing was, its shape is the one of every day."""
    source, wrote = with_subagent(home)
    whole = trimmed(source)
    assert whole.left_behind == ()
    assert "left_behind" not in whole.to_dict()
    for copy in (source, whole.output_file):
        own = copy.with_suffix("") / "subagents" / wrote.name
        own.symlink_to(own.rename(tmp_path / copy.name))
    made = [
        trimmed(source),
        untrim.untrim(str(whole.output_file), Path.cwd()),
        re_homed(Chosen(agent=agent_of(source), transcript=source), Path.cwd()),
    ]
    assert [each.to_dict()["left_behind"][0]["path"] for each in made] == [
        str(wrote),
        str(own),
        str(wrote),
    ]
    assert all(each.to_dict()["left_behind"][0]["why"].startswith("a symbolic link") for each in made)
    by_library = leftoff.trim_and_create_session(None, source, None, 1000)
    assert [each.path for each in by_library["left_behind"]] == [wrote]


def test_where_what_a_subagent_wrote_cannot_be_copied_nothing_is_left(home):
    """The session is untouched, and no half copy is listed."""
    source, wrote = with_subagent(home)
    with wrote.open("ab") as file:
        file.truncate(100_000_000)
    there = {*source.parent.rglob("*")}
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (50_000_000, before[1]))
    try:
        with pytest.raises(LeftoffError, match="what subagents wrote could not be copied"):
            trimmed(source)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert {*source.parent.rglob("*")} == there


def noted(path: Path, parent: Path) -> None:
    """Say on the first line that ``path`` was made from ``parent``."""
    lines = path.read_text(encoding="utf-8").splitlines()
    first = json.loads(lines[0])
    first["trim_metadata"] = {"parent_file": str(parent), "parent_session_id": parent.stem}
    path.write_text("\n".join([json.dumps(first), *lines[1:]]) + "\n", encoding="utf-8")


def test_a_circle_is_drawn_with_each_session_once(home):
    """Whoever wrote such notes."""
    one, other = (home.claude(long_story(session_id, turns=1)) for session_id in (FIRST, SECOND))
    noted(one, other)
    noted(other, one)
    family = lineage.lineage(str(one), Path.cwd())
    drawn = []

    def walk(member):
        drawn.append(member.session_id)
        for child in member.children:
            walk(child)

    walk(family.root)
    assert sorted(drawn) == sorted([FIRST, SECOND])


def test_a_parent_that_is_no_transcript_is_shown_as_such(home, tmp_path):
    """And whoever exports the chain gets all the rest of it."""
    source = home.claude(long_story(FIRST, turns=1))
    parent = tmp_path / "notes.txt"
    parent.write_text("my own notes\n", encoding="utf-8")
    noted(source, parent)
    family = lineage.lineage(str(source), Path.cwd())
    assert [(node.session_file, node.missing) for node in family.chain] == [(parent, True), (source, False)]
    text = "".join(export.export(str(source), Path.cwd(), chain=True))
    assert "my own notes" not in text
    assert "no transcript" in text
    assert f"# Session {FIRST}" in text
