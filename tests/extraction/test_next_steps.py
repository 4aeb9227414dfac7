"""Exact text that is hard to guess again: URLs, ports, issue numbers, environment variables."""

from random import Random

from leftoff.extraction import mentions
from leftoff.extraction.mentions import count_mentions
from leftoff.testing.builders import Story, call
from tests.extraction.builders import folded


def kinds(story: Story) -> dict[str, str]:
    return {mention.text: mention.kind for mention in count_mentions(folded(story))}


def test_urls_ports_issues_and_variables_are_found() -> None:
    """Values are found without the punctuation around them; capitals alone are not a variable."""
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


def test_names_of_standards_are_not_issue_numbers() -> None:
    assert kinds(Story().asked("UTF-8, SHA-256, RFC-2119, a#12 and &#39; here")) == {}


def test_only_requests_count_as_mentions() -> None:
    story = (
        Story()
        .asked("Go")
        .replied("", call("shell", {"command": "curl https://asked.example"}, "https://seen.example"))
    )
    assert kinds(story) == {"https://asked.example": "url"}


def test_mentions_are_counted() -> None:
    """The last place is the source."""
    story = Story().asked("#12").replied("On #12.").asked("And #12?")
    (mention,) = count_mentions(folded(story))
    assert mention.uses == 3
    assert mention.ref.line_idx == 3


def test_an_early_prompt_still_counts() -> None:
    """A link in an early prompt counts even after the prompt's text was dropped."""
    story = Story().asked("See https://early.example first")
    for number in range(320):
        story.replied(f"Step {number}.")
    assert "https://early.example" in kinds(story)


def test_the_fast_search_finds_what_the_full_pattern_finds() -> None:
    """The fast search only tries places where a match may begin; it misses nothing and finds nothing twice."""
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
        quick = [match.span() for match in mentions._find_mentions(text)]
        assert quick == [match.span() for match in mentions._MENTION.finditer(text)], text
