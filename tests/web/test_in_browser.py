"""The pages in a real Chromium: the curve by keyboard and mouse, growth, accessibility, and pictures for the docs."""

import base64
import os
import re
from pathlib import Path

import pytest
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.keys import Keys

from leftoff.agents.registry import agent_of
from leftoff.sessions.curve import context_curve
from leftoff.shrink.trim import TrimOptions, prepare_trim, write_trim
from leftoff.testing.builders import Story
from leftoff.web.library import key_of
from leftoff.workspace import SessionRef, Workspace
from tests.support.transcripts import write_transcript
from tests.web.invented import LONG, write_machine

pytestmark = pytest.mark.slow
# Where `make web-pictures` wants the pictures of the docs.
PICTURES = os.environ.get("LEFTOFF_PICTURES")  # noqa: TID251 - read before the fixtures remove it
SIZES = ((360, 780), (1280, 860), (3840, 2160))


@pytest.fixture
def transcript(isolated_home, tmp_path):
    return write_machine(isolated_home, isolated_home / "code")


@pytest.fixture
def session(transcript, browser):
    """The page of the long session, with everything loaded."""
    browser.open(f"/session/{key_of(str(transcript))}")
    browser.wait("document.querySelector('.uplot') && document.querySelector('.log h2')")
    return browser


def keys(browser, *typed: str) -> None:
    ActionChains(browser.chrome).send_keys(*typed).perform()


@pytest.mark.parametrize("is_dark", [False, True])
@pytest.mark.parametrize("size", SIZES)
def test_home_has_no_accessibility_problem(transcript, browser, size, is_dark):
    browser.resize(*size, is_dark=is_dark)
    browser.open("/")
    assert browser.accessibility_problems() == []
    assert browser.run("return document.documentElement.scrollWidth") <= size[0]
    _keep(browser, f"home-{size[0]}-{'dark' if is_dark else 'light'}")


@pytest.mark.parametrize("is_dark", [False, True])
@pytest.mark.parametrize("size", SIZES)
def test_a_session_has_no_accessibility_problem(transcript, session, size, is_dark):
    session.resize(*size, is_dark=is_dark)
    heights = [f"document.querySelector('{each}').clientHeight" for each in ("#curve", ".uplot")]
    session.wait(f"Math.abs({heights[0]} - {heights[1]}) <= 1")  # the curve is drawn in its new size
    assert session.accessibility_problems() == []
    assert session.run("return document.documentElement.scrollWidth") <= size[0]
    _keep(session, f"session-{size[0]}-{'dark' if is_dark else 'light'}")


def test_the_curve_of_a_transcript_that_is_rewritten_is_drawn_anew(transcript, session):
    lines = transcript.read_bytes().splitlines(keepends=True)
    session.one("#curve").send_keys(Keys.END)
    transcript.write_bytes(b"".join(lines[:12]))
    left = len(context_curve(SessionRef(agent=agent_of(transcript), transcript=transcript)).points)
    assert 0 < left < 12
    session.wait(
        f"document.querySelector('#readout strong').textContent.startsWith('Request {left} of {left}:')"
    )
    transcript.write_bytes(b"")
    session.wait("document.querySelector('#readout span').textContent === 'No reply to measure yet.'")
    transcript.write_bytes(b"".join(lines))
    session.wait("/Request .* of [1-9][0-9]+:/.test(document.querySelector('#readout strong').textContent)")


@pytest.mark.parametrize("is_dark", [False, True])
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize(
    "page",
    [
        *("search?q=uploads", "report", "session/{}/compaction/1", "session/{}/read"),
        *("session/{}/lineage", "session/{}/shrink"),
    ],
)
def test_the_other_pages_have_no_accessibility_problem(transcript, browser, page, size, is_dark):
    write_trim(prepare_trim(str(transcript), Workspace.open(), TrimOptions()))
    browser.resize(*size, is_dark=is_dark)
    browser.open("/" + page.format(key_of(str(transcript))))
    browser.wait("!document.querySelector('.waiting')")
    assert browser.accessibility_problems() == []
    assert browser.run("return document.documentElement.scrollWidth") <= size[0]
    if size[0] == 1280:
        name = page.removeprefix("session/{}/")
        _keep(browser, f"{re.sub('[^a-z]+.*', '', name)}-{'dark' if is_dark else 'light'}")


def test_unticking_a_cut_counts_the_tokens_and_the_copy_is_written_and_shown(transcript, browser):
    browser.open(f"/session/{key_of(str(transcript))}/shrink")
    before = int(browser.one("#saved").text.replace(",", ""))
    browser.one("input[name=cut]").click()
    after = browser.one("#saved").text
    said = browser.one("tbody td:nth-child(3)").text  # of this cut alone, rounded
    assert before - int(after.replace(",", "")) == pytest.approx(int(said.replace(",", "")), abs=1)
    browser.one("input[name=confirmed]").click()
    browser.one("button.primary").click()
    browser.wait("document.querySelector('#command')")
    assert browser.one("main section h2").text == f"The copy is written: {after} tokens fewer"
    browser.one("main section a").click()
    browser.wait("document.querySelector('.uplot')")
    assert "trim" in browser.run("return document.querySelector('#events').textContent")


def _keep(browser, name: str) -> None:
    """Write a picture for the docs, at most 1,920 pixels wide."""
    if PICTURES:
        width, height = browser.run("return [innerWidth, innerHeight]")
        clip = {"x": 0, "y": 0, "width": width, "height": height, "scale": min(1, 1920 / width)}
        shot = browser.chrome.execute_cdp_cmd("Page.captureScreenshot", {"format": "png", "clip": clip})
        (Path(PICTURES) / f"{name}.png").write_bytes(base64.b64decode(shot["data"]))


def test_the_curve_is_read_by_keyboard(session):
    count = int(session.one("#readout strong").text.split("of ")[1].split(":")[0])
    keys(session, "c", Keys.HOME)
    assert session.one("#readout").text.startswith(f"Request 1 of {count}: ")
    keys(session, Keys.ARROW_RIGHT)
    assert session.one("#readout").text.startswith("Request 2 of ")
    keys(session, "m")
    assert "compacted before this" in session.one("#readout").text
    keys(session, Keys.END, Keys.ARROW_LEFT)
    assert session.one("#readout").text.startswith(f"Request {count - 1} of ")
    keys(session, "a")
    assert not session.one("#areas").is_selected()


def test_the_curve_is_read_by_hovering(session):
    chart = session.one(".u-over")
    ActionChains(session.chrome).move_to_element_with_offset(
        chart, -chart.size["width"] // 2 + 2, 0
    ).perform()
    assert session.one("#readout").text.startswith("Request 1 of ")


def go_on(transcript, folder):
    """Write one more request to the session, as its agent would."""
    more = folder / "more.jsonl"
    story = Story(session_id=LONG, project="/p", model="claude-sonnet-4-5").asked("Go on")
    write_transcript(agent_of(transcript), story.replied("Yes.", used=150_000).script(), more)
    with transcript.open("ab") as file:
        file.write(more.read_bytes())


@pytest.mark.parametrize("used", ["#readout a", "#events tbody a"])
def test_growth_moves_nothing_that_one_is_using(transcript, session, tmp_path, used):
    """The request one looks at stays chosen, and a link keeps the focus: it is the same element as before."""
    session.run("document.querySelector('#events').open = true")
    keys(session, "c", Keys.HOME, Keys.ARROW_RIGHT)
    read = session.one("#readout").text
    count = int(read.split("of ")[1].split(":")[0])
    link = session.one(used)
    session.run("arguments[0].focus()", link)
    go_on(transcript, tmp_path)
    session.wait("document.querySelector('#now').textContent.startsWith('150,000 of ')")
    assert session.one("#readout").text == read.replace(f"of {count}:", f"of {count + 1}:")
    assert session.chrome.switch_to.active_element == link


def test_a_session_that_grows_is_seen_to_grow(transcript, session, tmp_path):
    count = int(session.one("#readout strong").text.split("of ")[1].split(":")[0])
    go_on(transcript, tmp_path)
    session.wait(
        f"document.querySelector('#readout').textContent.startsWith('Request {count + 1} of {count + 1}: 150,000')"
    )
    assert session.one("#now").text.startswith("150,000 of ")


def test_a_curve_begins_with_the_first_reply(home, browser, tmp_path):
    transcript = home.claude(Story(session_id=LONG, project="/p", model="claude-sonnet-4-5").asked("Go"))
    browser.open(f"/session/{key_of(str(transcript))}")
    browser.wait("document.querySelector('#readout').textContent.includes('No reply to measure yet')")
    go_on(transcript, tmp_path)
    browser.wait("document.querySelector('#readout').textContent.startsWith('Request 1 of 1: 150,000')")
    assert "system" in browser.one("#legend").text
    keys(browser, "c", Keys.HOME)
    assert browser.one("#readout").text.startswith("Request 1 of 1: 150,000")


def test_the_list_is_walked_by_keyboard(transcript, browser):
    browser.open("/")
    keys(browser, "j", "j")
    assert "Add rate limits" in browser.chrome.switch_to.active_element.text
    keys(browser, "k", Keys.ENTER)
    browser.wait("location.pathname.startsWith('/session/')")
    keys(browser, "g", "h")
    browser.wait("location.pathname === '/'")
    keys(browser, "?")
    assert browser.one("#keys").is_displayed()


def test_typing_filters_the_list(transcript, browser):
    browser.open("/")
    keys(browser, "/", "mailer")
    browser.wait("document.querySelectorAll('.rows li').length === 1")
    assert "Make the tests of the mailer" in browser.one(".rows").text
    keys(browser, Keys.ESCAPE)
    browser.wait("document.querySelectorAll('.rows li').length === 10")
