"""Trimmed copies of sessions."""

import hashlib
import resource
from pathlib import Path

import pytest

import leftoff
from leftoff.agents.registry import agent_of
from leftoff.errors import LeftoffError
from leftoff.platform import paths
from leftoff.sessions.ancestry import load_family
from leftoff.sessions.find import open_session
from leftoff.shrink import untrim
from leftoff.shrink.derive import copy_to_folder
from leftoff.shrink.placeholder import parse_placeholder
from leftoff.shrink.trim import TrimOptions, prepare_trim, preview_trim, write_trim
from leftoff.testing.builders import Story, call
from leftoff.workspace import SessionRef, Workspace
from tests.support.long_sessions import (
    CODEX_FIRST,
    FIRST,
    copy_into_agent_home,
    inputs,
    long_story,
    results,
    trimmed,
    write_long_session,
    write_session_with_short_id,
)


def test_a_plan_writes_nothing_and_lists_all_cuts(source):
    """Lines are 1-based, and the tokens add up."""
    before = sorted(paths.home().rglob("*"))
    assert source in before
    plan_json = prepare_trim(str(source), Workspace.open(), TrimOptions()).to_dict()
    assert plan_json["dry_run"] is True
    assert plan_json["tools_trimmed"] == len(plan_json["cuts"]) > 0
    assert abs(sum(cut["tokens_saved"] for cut in plan_json["cuts"]) - plan_json["tokens_saved"]) <= len(
        plan_json["cuts"]
    )
    assert all(cut["line"] > 0 and cut["rationale"] and cut["key"] for cut in plan_json["cuts"])
    assert sorted(paths.home().rglob("*")) == before


def test_a_copy_is_smaller_and_the_original_unchanged(source, agent_id):
    """The JSON has its documented keys."""
    digest = hashlib.sha256(source.read_bytes()).hexdigest()
    result = trimmed(source)
    assert hashlib.sha256(source.read_bytes()).hexdigest() == digest
    assert result.output_file.stat().st_size < source.stat().st_size
    assert result.output_file.stat().st_mode & 0o777 == 0o600
    assert [*result.to_dict()] == [
        "session_id",
        "output_file",
        "parent_file",
        "tools_trimmed",
        "tokens_saved",
        "context_saved_percent",
        "percentage_before",
        "percentage_after",
        "resume_command",
        "nothing_to_trim",
    ]
    assert result.session_id in result.to_dict()["resume_command"]
    assert result.to_dict()["resume_command"].startswith(agent_id)
    suppressed = [text for text in results(result.output_file) if parse_placeholder(text)]
    assert len(suppressed) == result.tools_trimmed // 2 > 0  # of the others the inputs were cut
    assert inputs(result.output_file) != inputs(source)
    assert suppressed[0].startswith("[Results from ")


def test_trimming_a_copy_finds_nothing(source):
    result = trimmed(source)
    again = trimmed(result.output_file)
    assert again.nothing_to_trim
    assert again.to_dict()["session_id"] is None
    assert again.output_file is None


def test_unknown_tools_are_not_cut(source):
    assert trimmed(source, tools=("Nobody",)).nothing_to_trim


def test_a_command_can_propose_what_to_cut(home, tmp_path):
    """The plan of a command is checked like any other."""
    source = write_long_session(home, "claude")
    program = tmp_path / "propose"
    program.write_text(
        '#!/bin/sh\ncat > prompt.txt\necho \'[[7, "no longer needed", "notes"]]\'\n', encoding="utf-8"
    )
    program.chmod(0o755)
    plan = prepare_trim(str(source), Workspace.open(), TrimOptions(strategy="smart-trim", by=str(program)))
    assert plan.plan.strategy == "smart-trim"
    program.write_text("#!/bin/sh\nexit 3\n", encoding="utf-8")
    with pytest.raises(LeftoffError):
        prepare_trim(str(source), Workspace.open(), TrimOptions(strategy="smart-trim", by=str(program)))


def test_the_story_has_the_expected_ids(home):
    assert open_session(str(write_long_session(home, "claude"))).session_id == FIRST


# They free little more than a copy costs.
NARROW = (
    "claude-1.0.98-sidechains",
    "compacted/claude-2.1.5-deeac353",
)


@pytest.mark.parametrize("strategy", ["trim", "smart-trim"])
@pytest.mark.slow
def test_no_copy_of_a_real_session_is_as_large_as_the_session(home, real_transcripts, strategy):
    small = sorted(real_transcripts.rglob("*.jsonl"), key=lambda path: path.stat().st_size)[:8]
    paths = [*small, *(real_transcripts / f"{name}.jsonl" for name in NARROW)]
    written = 0
    for path in paths:
        try:
            source = copy_into_agent_home(home, path)
            plan = prepare_trim(str(source), Workspace.open(), TrimOptions(strategy=strategy, force=True))
            seen = preview_trim(plan)
            result = write_trim(plan)
        except LeftoffError:
            continue  # nothing in it that could be continued
        assert seen.plan.nothing_to_trim == result.nothing_to_trim, path.name
        assert seen.plan.saved_tokens == result.savings.tokens, path.name
        if result.output_file is None:
            assert (result.savings.tokens, result.tools_trimmed) == (0, 0)
            continue
        written += 1
        assert result.output_file.stat().st_size < source.stat().st_size, path.name
    assert written > 0


@pytest.mark.parametrize("agent_id", ["claude", "codex"])
def test_a_copy_that_would_be_no_smaller_is_not_written(home, agent_id):
    """The lineage of a copy can be longer than what the cuts save."""
    story = Story(session_id=FIRST if agent_id == "claude" else CODEX_FIRST, project=str(Path.cwd()))
    story.asked("Go").replied("Looking.", call("shell", {"command": "cat a"}, "x" * 420), used=5_000)
    for turn in range(4):
        story.asked(f"And {turn}").replied("Seen.", call("shell", {"command": "ls"}, "y" * 90), used=6_000)
    source = (home.claude if agent_id == "claude" else home.codex)(story)
    plan = prepare_trim(str(source), Workspace.open(), TrimOptions(threshold=300, min_token_savings=1))
    assert plan.plan.cuts
    before = {*source.parent.iterdir()}
    result = write_trim(plan)
    assert result.nothing_to_trim
    assert result.savings.tokens == 0
    assert {*source.parent.iterdir()} == before
    seen = preview_trim(plan)
    assert seen.to_dict()["nothing_to_trim"] is True
    assert seen.plan.kept[-1] == "the copy would be no smaller than the session"
    assert {*source.parent.iterdir()} == before


def test_a_preview_writes_nothing_anywhere(source, tmp_path, monkeypatch):
    """The content is not redacted, so it must not be written even for a moment."""
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(scratch))
    plan = prepare_trim(str(source), Workspace.open(), TrimOptions())
    before = {*tmp_path.rglob("*")}
    seen = []
    assert (
        preview_trim(plan, lambda done, whole: seen.append((done == whole, {*tmp_path.rglob("*")}))) == plan
    )
    assert seen[-1][0]
    assert all(there == before for _, there in seen)
    assert {*tmp_path.rglob("*")} == before
    assert not load_family().derived


@pytest.mark.slow
def test_a_preview_counts_longer_ids(home):
    """Every line of the copy gets the new id."""
    source = write_session_with_short_id(home)
    plan = prepare_trim(str(source), Workspace.open(), TrimOptions())
    assert plan.plan.saved_chars > 20_000
    assert preview_trim(plan).plan.nothing_to_trim
    assert write_trim(plan).nothing_to_trim


@pytest.mark.parametrize("project", [None, "elsewhere"])
def test_a_preview_fails_where_writing_would_fail(home, tmp_path, project):
    source = write_long_session(home, "claude")
    folder = tmp_path / project if project else None
    plan = prepare_trim(str(source), Workspace.open(), TrimOptions(project=folder))
    source.write_bytes(source.read_bytes().replace(b"tool_result", b"tool_resulT"))
    for go in (preview_trim, write_trim):
        with pytest.raises(LeftoffError, match="has changed since the plan was made"):
            go(plan)


def with_subagent(home) -> tuple[Path, Path]:
    """A long session that started a subagent, and the subagent's transcript."""
    story = long_story().delegated("Look around", "Nothing found", call("shell", {"command": "ls"}, "a.py"))
    source = home.claude(story)
    (wrote,) = source.with_suffix("").glob("subagents/agent-*.jsonl")
    return source, wrote


def beside(transcript: Path) -> dict[str, bytes]:
    """Return the files in the folder of a session."""
    folder = transcript.with_suffix("")
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_a_copy_includes_its_subagents_files(home, tmp_path):
    """The client continues subagents in the copy's own folder."""
    source, wrote = with_subagent(home)
    (wrote.parent / "agent-link.jsonl").symlink_to(tmp_path / "elsewhere")
    copy = trimmed(source).output_file
    sent = {name: data for name, data in beside(source).items() if name.startswith("subagents")}
    assert beside(copy) == sent
    assert len(sent) == 2  # with its description
    own = copy.with_suffix("") / "subagents" / wrote.name
    assert own.stat().st_ino != wrote.stat().st_ino
    assert own.stat().st_mode & 0o777 == 0o600
    back = untrim.untrim(str(copy), Workspace.open()).output_file
    assert beside(back) == sent


def test_files_of_unreachable_subagents_are_not_copied(home):
    """Subagents from before the last compaction, or named by no line, are left out."""
    story = long_story().delegated("Look around", "Nothing found").compacted("All was seen.")
    source = home.claude(story.delegated("Look again", "Still nothing"))
    wrote = {path.name for path in source.with_suffix("").glob("subagents/agent-*.jsonl")}
    assert len(wrote) == 2
    copy = copy_to_folder(
        SessionRef(agent=agent_of(source), transcript=source), Path.cwd(), Workspace.open()
    ).output_file
    assert wrote == {Path(name).name for name in beside(copy) if name.endswith(".jsonl")}
    plan = prepare_trim(str(copy), Workspace.open(), TrimOptions(project=Path.cwd()))
    again = write_trim(plan).output_file
    (kept,) = (name for name in beside(again) if name.endswith(".jsonl"))
    assert Path(kept).name in wrote
    assert b"Look again" in beside(again)[kept]


def test_a_preview_and_a_copy_elsewhere_copy_no_subagents(home, tmp_path):
    source, _ = with_subagent(home)
    preview_trim(prepare_trim(str(source), Workspace.open(), TrimOptions(tools=("Bash",))))
    result = leftoff.trim_and_create_session(None, source, None, 1000, output_dir=tmp_path / "out")
    assert [path.name for path in (tmp_path / "out").iterdir()] == [f"{result['session_id']}.jsonl"]


def test_every_copy_lists_what_was_left_behind(home, tmp_path):
    source, wrote = with_subagent(home)
    whole = trimmed(source)
    assert whole.left_behind == ()
    assert "left_behind" not in whole.to_dict()
    for copy in (source, whole.output_file):
        own = copy.with_suffix("") / "subagents" / wrote.name
        own.symlink_to(own.rename(tmp_path / copy.name))
    result = [
        trimmed(source, threshold=900),
        untrim.untrim(str(whole.output_file), Workspace.open()),
        copy_to_folder(SessionRef(agent=agent_of(source), transcript=source), Path.cwd(), Workspace.open()),
    ]
    assert [each.to_dict()["left_behind"][0]["path"] for each in result] == [
        str(wrote),
        str(own),
        str(wrote),
    ]
    assert all(each.to_dict()["left_behind"][0]["why"].startswith("a symbolic link") for each in result)
    by_library = leftoff.trim_and_create_session(None, source, None, 800)
    assert [each.path for each in by_library["left_behind"]] == [wrote]


def test_a_subagent_file_that_cannot_be_copied_prevents_the_copy(home):
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


def test_turns_are_protected_as_the_settings_say(source, monkeypatch):
    cuts = {}
    for turns in ("0", "60"):
        monkeypatch.setenv("LEFTOFF_TRIM_PROTECT_TURNS", turns)
        cuts[turns] = len(prepare_trim(str(source), Workspace.open(), TrimOptions(threshold=100)).plan.cuts)
    assert cuts["60"] < cuts["0"]
