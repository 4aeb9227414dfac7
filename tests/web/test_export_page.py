"""``leftoff export --html``: one file that asks no server for anything."""

import json
import re
from html.parser import HTMLParser

import pytest
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.keys import Keys

from leftoff.cli.main import run
from leftoff.testing.builders import Story, call
from leftoff.web.export import export_html
from leftoff.workspace import Workspace

SECRETS = ("ghp_16C7e42F292c6912E7710c838347Ae178B4a", "AKIAZ7QX3TPLMV5KW2RD", "hunter2hunter2")
TEXT = f"token {SECRETS[0]} {SECRETS[1]} password={SECRETS[2]}"
HOSTILE = (
    "<script>document.title='owned'</script></script></style></pre><img src=http://example.invalid/x onerror=alert(1)>"
    "<svg onload=alert(1)>{{ 7*7 }}\x1b[31mred\x00\u202egnp.exe --> ]]> javascript:alert(1) <meta http-equiv=refresh content=0>"
)


class Elements(HTMLParser):
    """The elements and attributes of a page."""

    def __init__(self):
        super().__init__()
        self.tags, self.attributes = [], []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs


@pytest.fixture
def transcript(home):
    story = Story(model=HOSTILE[:70]).asked(f"{HOSTILE} {TEXT} Never touch src/a.py.")
    story.replied(
        f"{HOSTILE} {TEXT}",
        call("shell", {"command": f"echo {HOSTILE} {TEXT}"}, f"{HOSTILE} {TEXT}", failed=True),
    )
    story.replied("", call("edit", {"path": f"{HOSTILE}.py", "old": TEXT, "new": HOSTILE}), used=90_000)
    return home.claude(
        story.compacted(f"{HOSTILE} {TEXT}").replied(f"Next: {HOSTILE} {TEXT}", thinking=f"{HOSTILE} {TEXT}")
    )


def test_the_file_has_curve_log_and_transcript_and_no_credential(transcript, tmp_path, capsys):
    out = tmp_path / "session.html"
    assert run(["export", str(transcript), "--html", "--out", str(out), "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"file": str(out), "size_bytes": out.stat().st_size}
    page = out.read_text(encoding="utf-8")
    assert out.stat().st_mode & 0o777 == 0o600
    for part in (
        'class="curve-line"',
        "What was left off",
        "Never touch src/a.py",
        'data-marks="error"',
        "&lt;script&gt;",
    ):
        assert part in page
    assert [secret for secret in SECRETS if secret in page] == []


def test_nothing_of_the_transcript_is_markup_and_no_address_is_asked_for(transcript):
    page = "".join(export_html(str(transcript), Workspace.open()))
    seen = Elements()
    seen.feed(page)
    assert [seen.tags.count(tag) for tag in ("script", "style", "svg")] == [1, 1, 1]
    assert not {*seen.tags} & {"img", "link", "iframe", "object", "base", "form", "input"}
    assert not {
        name for name, _ in seen.attributes if name in {"src", "style", "action"} or name.startswith("on")
    }
    assert {value[:1] for name, value in seen.attributes if name == "href"} == {"#"}
    assert [value for name, value in seen.attributes if name == "http-equiv"] == ["Content-Security-Policy"]
    assert not {*"\x1b\x00\u202e"} & {*page}
    assert "{{ 7*7 }}" in page


def test_of_a_large_session_the_beginning_and_the_end_are_there_and_the_file_says_what_is_not(home):
    story = Story()
    for turn in range(500):
        story.asked(f"Part {turn}.").replied("Look.", call("shell", {"command": "ls"}, "text " * 400))
    path = home.claude(story)
    page = "".join(export_html(str(path), Workspace.open(), most_bytes=300_000))
    first, last = map(
        int, re.search(r"Lines ([\d,]+) to ([\d,]+) are left out", page.replace(",", "")).groups()
    )
    shown = [*map(int, re.findall(r'<article class="[^"]*" id="L(\d+)"', page))]
    total = len(path.read_text(encoding="utf-8").splitlines())
    assert "Part 0." in page
    assert "Part 499." in page
    assert "Part 150." not in page
    assert max(each for each in shown if each < first) == first - 1
    assert min(each for each in shown if each > last) == last + 1
    assert not [each for each in shown if first <= each <= last]
    assert 0.5 < len(page) / 300_000 < 4
    assert max(shown) <= total
    whole = "".join(export_html(str(path), Workspace.open()))
    assert "left out, because" not in whole
    assert "Part 150." in whole


def test_a_page_is_of_one_session(transcript, capsys):
    assert run(["export", str(transcript), "--html", "--chain"]) == 2
    assert "--chain is for Markdown" in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.parametrize("width", [360, 1280])
def test_in_a_browser_the_file_works_by_itself(transcript, tmp_path, browser, width):
    """Its own script passes its policy, nothing of the transcript runs, and no request leaves the file."""
    out = tmp_path / "session.html"
    assert run(["export", str(transcript), "--html", "--out", str(out)]) == 0
    browser.resize(width, 900, is_dark=width == 360)
    browser.read_logs()
    before = len(browser.asked)
    browser.chrome.get(out.as_uri())
    browser.run("document.querySelector('.picture').focus()")
    readout = browser.one("#picture-readout")
    browser.chrome.switch_to.active_element.send_keys(Keys.HOME)
    first = readout.text
    assert re.match(r"Request 1 of 3: [\d,]+ tokens, [\d.]+ % · line \d+$", first)
    ActionChains(browser.chrome).move_to_element(browser.one(".picture")).perform()
    assert readout.text.startswith("Request 2 of 3: 90,000 tokens")
    browser.chrome.switch_to.active_element.send_keys(Keys.ARROW_LEFT, Keys.ENTER)
    assert f"line {browser.run('return document.activeElement.dataset.line')}" in first
    browser.one("body").send_keys("e")
    assert "error" in browser.run("return document.activeElement.dataset.marks")
    browser.one("body").send_keys("o")
    assert browser.run("return [...document.querySelectorAll('details.part')].every(each => each.open)")
    assert "owned" not in browser.chrome.title.partition("'")[0]
    assert browser.all("main script, main img, main meta, main a[href^=javascript]") == []
    assert browser.accessibility_problems() == []
    assert browser.run("return document.documentElement.scrollWidth") <= width
    browser.read_logs()
    assert {url.partition(":")[0] for url in browser.asked[before:]} == {"file"}
    del browser.asked[before:]
