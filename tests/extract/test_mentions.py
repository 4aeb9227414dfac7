"""Exact text that is hard to guess again."""

from random import Random

from leftoff.extract import mentions
from leftoff.extract.mentions import mentioned
from leftoff.testing.builders import Story, call
from tests.extract.making import folded


def kinds(story: Story) -> dict[str, str]:
    return {mention.text: mention.kind for mention in mentioned(folded(story))}


def test_kinds() -> None:
    """Addresses, ports, issues and variables, without the marks around them; capitals alone are no variable."""
    story = Story().asked(
        "see https://x.example/a?b=1. and (#12), ABC-77, localhost:8080, port 5432, $MY_VAR, OTHER_VAR=1 and IN_PROGRESS!"
    )
    assert kinds(story) == {
        "https://x.example/a?b=1": "url",
        "#12": "issue",
        "ABC-77": "issue",
        "localhost:8080": "port",
        "port 5432": "port",
        "MY_VAR": "variable",
        "OTHER_VAR": "variable",
    }


def test_standards_are_no_issues() -> None:
    """UTF-8, SHA-256 and their like; colours of a page neither."""
    assert kinds(Story().asked("UTF-8, SHA-256, RFC-2119, a#12 and &#39; here")) == {}


def test_what_a_tool_printed_is_no_mention() -> None:
    """What was asked for is."""
    story = (
        Story()
        .asked("Go")
        .replied("", call("shell", {"command": "curl https://asked.example"}, "https://seen.example"))
    )
    assert kinds(story) == {"https://asked.example": "url"}


def test_mentions_are_counted() -> None:
    """The last place is the source."""
    story = Story().asked("#12").replied("On #12.").asked("And #12?")
    (mention,) = mentioned(folded(story))
    assert mention.uses == 3
    assert mention.ref.line_idx == 3


def test_an_early_prompt_is_remembered() -> None:
    """When its glimpse is gone."""
    story = Story().asked("See https://early.example first")
    for number in range(320):
        story.replied(f"Step {number}.")
    assert "https://early.example" in kinds(story)


def test_all_are_found_that_trying_every_place_finds() -> None:
    """The quick way looks only where something may begin: nothing is missed, nothing is found twice."""
    bits = (
        *("http://", "https://a.b/c#12", "#12", "##3", "A-BC-1", "ABC-12", "FOO_BAR=1", "$HOME", "${PATH_X}"),
        *("export FOO", "set BAZ", "env.FOO", "environ['BAR_X']", "os.getenv('ZED')", "environ.get('ABC"),
        *(
            "localhost:80",
            "10.0.0.0:80",
            "0.0.0.0.0:99",
            "127.0.0.1:8",
            "port 80",
            "import: 90",
            " ",
            "x",
            "_",
        ),
    )
    chosen = Random(3)
    for _ in range(3_000):
        text = "".join(chosen.choice(bits) for _ in range(6))
        quick = [match.span() for match in mentions._matches(text)]
        assert quick == [match.span() for match in mentions._KINDS.finditer(text)], text
