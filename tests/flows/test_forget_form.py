"""What is form in our documents is named exactly: nothing that somebody said hides behind it."""

import json
from pathlib import Path

import pytest
from ruamel.yaml import YAML

from leftoff.conversations.page import SCHEMA_LINE
from leftoff.errors import UsageError
from leftoff.flows import forget as flow
from leftoff.flows.archive_sessions import archive_here, keep_finished
from leftoff.flows.library_update import update_library
from leftoff.flows.search import Asked, search
from leftoff.library.normal import writings
from leftoff.projects.facts import TO_DO
from leftoff.system import paths
from leftoff.testing.builders import Story
from tests.flows.test_forget import NOW, OTHER, SESSION, all_kept

COPIED = r"pass\n  hunter2abc"


@pytest.fixture
def chat(home):
    """Writes a chat of this project; forgets a text; what stands in the chat then."""
    Path(".git").mkdir()
    home.claude(Story(session_id=SESSION, project=str(Path.cwd())).asked("go on").replied("yes", used=100))
    update_library()
    page = Path(".leftoff/chats/c1.md")
    page.parent.mkdir(parents=True)

    def forgotten(text, body):
        page.write_text(body, encoding="utf-8")
        assert flow.forget(flow.plan_text(text)).left == ()
        return page.read_text(encoding="utf-8")

    return forgotten


def test_a_comment_that_looks_like_one_of_ours_is_content(chat):
    """Those that are ours stay, and are not counted."""
    body = f"# Helper Conversation\n{SCHEMA_LINE}\n{TO_DO}\n<!-- leftoff: hush zebraword -->\n"
    assert chat("hush zebraword", body) == body.replace("hush zebraword", "[forgotten]")
    assert chat("chat, schema", f"{body}the chat schema\n") == f"{body}the [forgotten]\n"
    assert chat("to be written", f"{body}To be  written\n") == f"{body}[forgotten]\n"


@pytest.mark.parametrize(
    ("text", "body", "clean"),
    [
        ("Pending: rotate the okapi", "**Pending:** rotate the okapi\n", "**Pending:** [forgotten]\n"),
        ("Query 3 feed the okapi", "## Query 3 feed the okapi\n", "## Query 3 [forgotten]\n"),
        (
            "okapi\nPending: rotate",
            "an okapi\n**Pending:** rotate\n",
            "an [forgotten]\n**Pending:** [forgotten]\n",
        ),
        (
            "Topics Discussed: Pending: it",
            "**Topics Discussed:**\n**Pending:** it\n",
            "**Topics Discussed:**\n**Pending:** [forgotten]\n",
        ),
        ("pending", "**Pending:** is pending\n", "**Pending:** is [forgotten]\n"),
        (
            "status: the okapi",
            "---\nstatus: the okapi # x\n---\nok\n",
            '---\nstatus: "[forgotten]" # x\n---\nok\n',
        ),
        (
            "okapi # hush",
            "---\nstatus: an okapi # hush\n---\n",
            "---\nstatus: an [forgotten] # [forgotten]\n---\n",
        ),
    ],
    ids=["label", "heading", "both sides", "two labels", "label alone", "front matter", "comment"],
)
def test_a_text_that_reaches_over_a_label_is_masked_outside_of_it(chat, text, body, clean):
    """The label stays at the beginning of its line; a text that is wholly a label's own words stays there."""
    assert chat(text, f"{body}") == clean


@pytest.mark.parametrize(
    ("front", "clean"),
    [
        ("status: >-\n  an okapi\n  sleeps\nstep: 1\n", {"status": "an [forgotten]", "step": 1}),
        ("tags: [okapi sleeps, b]\n", {"tags": ["[forgotten]", "b"]}),
        ("tags:\n  - {who: okapi sleeps, at: 1}\n", {"tags": [{"who": "[forgotten]", "at": 1}]}),
        ("An okapi\nsleeps\n", "An [forgotten]"),
    ],
    ids=["folded", "list", "mapping", "prose"],
)
def test_a_front_matter_loses_the_text_and_keeps_its_values_kinds(chat, front, clean):
    """Over several lines too; what stands below it is as it was."""
    begin, after, below = chat("okapi sleeps", f"---\n{front}---\nok\n").split("---\n")
    assert (begin, below) == ("", "ok\n")
    assert YAML(typ="safe").load(after) == clean
    assert "..." not in after


def test_two_labels_without_words_between_them_are_form_alone(chat):
    """Nothing of it is somebody's."""
    body = "**Topics Discussed:**\n**Pending:**\n"
    assert chat("Discussed Pending", f"{body}- discussed, pending\n") == f"{body}- [forgotten]\n"


def test_a_text_with_a_line_end_as_json_writes_it_is_masked_as_it_is_meant(home, own_world):
    """In an extraction, in the library and the archive; it is not taken in again."""
    mine = own_world / ".config" / "leftoff" / "configuration.yaml"
    mine.parent.mkdir(parents=True)
    mine.write_text("context_management:\n  archive:\n    enabled: true\n", encoding="utf-8")
    said = json.loads(f'"{COPIED}"')
    transcript = home.claude(
        Story(session_id=SESSION, project="/srv/a").asked(f"koala {said}").replied("yes")
    )
    keep_finished(NOW)
    update_library()
    kept = paths.state_folder() / "extractions" / f"claude-{OTHER}.json"
    kept.parent.mkdir(parents=True, exist_ok=True)
    kept.write_text(json.dumps({"said": said, "typed": COPIED}), encoding="utf-8")
    plan = flow.plan_text(COPIED)
    assert plan.agents_own == (transcript,)
    assert flow.forget(plan).left == ()
    assert json.loads(kept.read_bytes()) == {"said": "[forgotten]", "typed": "[forgotten]"}
    assert archive_here().sessions() == keep_finished(NOW) == []
    update_library()
    assert search(Asked(query="koala"), NOW).sessions
    assert not search(Asked(query="hunter2abc"), NOW).sessions
    assert b"hunter2abc" not in all_kept()


@pytest.mark.parametrize("text", [r"\u00e9", r"\u0061\u0062\u0063", r"\u591c", r"[f\u006frgotten]"])
def test_a_text_that_stands_everywhere_once_its_escapes_are_read_is_refused(text):
    """However many letters are typed; two of a language without spaces are enough."""
    with pytest.raises(UsageError, match=r"at least 4 letters|cannot be forgotten itself"):
        flow.plan_text(text)
    assert flow.plan_text(r"\u591c\u83ba").is_empty


@pytest.mark.parametrize(
    "text", ["koala sleeps", r"C:\Users\koala", r"a \"koala\" sleeps", r"\n\t\r", '"\\n']
)
def test_a_text_that_is_not_out_of_json_is_meant_as_it_is_typed(text):
    """Or comes to the same letters, or to none."""
    assert [each for each, _ in writings(text)] == [text]
