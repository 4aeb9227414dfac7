"""What a transcript says is text: it runs nothing, hides nothing, and its credentials appear in no response."""

import pytest

from leftoff.testing.builders import Story, call
from leftoff.web.library import key_of

SESSION = "0b54f7aa-6d0c-4c7b-9d57-3f6c9d9a3b11"
HOSTILE = (
    "\x1b[31mred\x1b]0;title\x07\u202egnp.exe\u2066 <script>document.title='owned'</script><img src=x onerror=\"document.title='owned'\">"
    "<svg onload=\"document.title='owned'\"><a href=\"javascript:document.title='owned'\">x</a>"
    "</textarea></title><style>*{display:none}</style>{{ 7*7 }}${7*7} --> ]]>"
    "<base href=http://example.invalid/><link rel=stylesheet href=http://example.invalid/x.css>'\"`&amp;"
)
SECRETS = (
    "ghp_16C7e42F292c6912E7710c838347Ae178B4a",
    "AKIAIOSFODNN7EXAMPLQ",
    "sk-ant-api03-" + "Zx9" * 31 + "AA",
    "hunter2hunter2",
)
TEXT = f"token {SECRETS[0]} {SECRETS[1]} {SECRETS[2]} password={SECRETS[3]}"


@pytest.fixture
def hostile(home, tmp_path):
    story = Story(session_id=SESSION, project=str(tmp_path / "work"), model=f"<script>{HOSTILE}"[:80])
    story.asked(f"{HOSTILE} {TEXT}").replied(
        f"{HOSTILE} Next: {TEXT}",
        call("shell", {"command": f"echo '{HOSTILE}' {TEXT}"}, f"{HOSTILE} {TEXT}"),
        used=50_000,
    )
    story.compacted(f"{HOSTILE} {TEXT}").replied(f"Next: {HOSTILE} {TEXT}", used=20_000)
    return f"/session/{key_of(str(home.claude(story)))}"


PATHS = (
    "/",
    "/?q=script",
    "{}",
    "{}/curve",
    "{}/log",
    "{}/lineage",
    "{}/shrink",
    "/search?q=token",
    "/report/found",
    "{}/read",
    "{}/read/part?line=1",
    "{}/compactions",
    "{}/compaction/1",
    "{}/compaction/1/receipt",
)


@pytest.mark.parametrize("path", PATHS)
def test_no_response_has_a_credential(hostile, web, path):
    answer = web.get(path.format(hostile))
    assert [secret for secret in SECRETS if secret in answer] == []


@pytest.mark.parametrize("path", PATHS)
def test_no_response_has_an_element_or_a_control_character_of_the_transcript(hostile, web, path):
    answer = web.get(path.format(hostile))
    for part in (
        "<script>document",
        "<img",
        'onload="document',
        "<style",
        "<base",
        "\x1b",
        "\u202e",
        "\u2066",
    ):
        assert part not in answer


@pytest.mark.slow
@pytest.mark.parametrize("path", ["/", "{}", "{}/read"])
def test_a_browser_shows_it_as_text(hostile, browser, path):
    browser.open(path.format(hostile))
    browser.wait("!document.querySelector('.waiting')")
    assert browser.chrome.title != "owned"
    text = browser.one("main").text
    assert "<script>document.title='owned'</script>" in text
    assert "␛[31mred" in text
    assert "<U+202E>gnp.exe" in text
    assert browser.all("main script, main img, main base, main style, main a[href^=javascript]") == []


@pytest.mark.slow
@pytest.mark.parametrize("megabytes", [50, 70])  # parsed, and longer than any line that is
def test_a_very_long_line_makes_no_page_large(home, web, megabytes):
    lines = "some words of a log, error in src/a.py:12\n" * (megabytes * 1_000_000 // 42)
    story = Story(session_id=SESSION).asked("Fix the login").replied("I look.", used=50_000)
    story.asked(f"{TEXT}\n{lines}{TEXT}").compacted("It is broken.").replied("Next: fix it.", used=20_000)
    path = home.claude(story)
    assert path.stat().st_size > megabytes * 1_000_000
    for page in PATHS:
        answer = web.get(page.format(f"/session/{key_of(str(path))}"))
        assert len(answer) < 200_000, page
        assert [secret for secret in SECRETS if secret in answer] == [], page
    assert "fix it" in web.get(f"/session/{key_of(str(path))}/log")
