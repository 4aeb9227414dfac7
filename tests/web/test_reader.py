"""The reader: anchors, jumps and folded results, by the keyboard, in a real Chromium."""

import re

import pytest
from selenium.webdriver.common.keys import Keys

from leftoff.testing.builders import Story, call
from leftoff.web.library import key_of


@pytest.fixture
def session(home):
    """300 turns of four lines each; in turn 250 a command fails, in turn 280 a file is edited, after turn 200 it is compacted."""
    story = Story()
    for turn in range(300):
        edit = [call("edit", {"path": "src/a.py", "old": "one", "new": "two"})] if turn == 280 else []
        test = call("shell", {"command": f"test {turn}"}, f"answer {turn}\nmore", failed=turn == 250)
        story.asked(f"Part {turn}").replied(f"Look {turn}.", test, *edit)
        if turn == 200:
            story.compacted("The summary.")
    path = home.claude(story)
    lines = path.read_text(encoding="utf-8").splitlines()
    return f"/session/{key_of(str(path))}/read", lines


def line_with(lines: list[str], text: str) -> int:
    return next(number for number, line in enumerate(lines, 1) if text in line)


def test_every_line_with_something_to_read_has_an_anchor(session, web):
    address, lines = session
    at = line_with(lines, '"Part 150"')
    page = web.get(f"{address}?line={at}")
    assert re.search(rf'id="L{at}" data-line="{at}" data-marks="prompt"', page)
    assert f'href="#L{at}"' in page
    assert f"{len(lines):,}" in page


def test_a_jump_leads_to_the_nearest_line_of_its_kind(session, web):
    address, lines = session
    failed, edited = line_with(lines, "answer 250"), line_with(lines, '"old_string"')
    for query, line in (
        ("to=error&from=1", failed),
        (f"to=error&from={len(lines)}&back=1", failed),
        ("to=edit&from=1", edited),
        ("to=compaction&from=1", line_with(lines, "compact_boundary")),
        ("to=prompt&from=0", line_with(lines, '"Part 0"')),
    ):
        answer = web.ask(f"{address}/jump?{query}")
        assert (answer.status, answer.headers["Location"]) == (303, f"{address}?line={line}#L{line}")
    nothing = web.ask(f"{address}/jump?to=error&from={failed}").headers["Location"]
    assert "missing=error" in nothing
    assert "There is no error further" in web.get(nothing.partition("#")[0])


@pytest.mark.parametrize(
    ("query", "status"),
    [
        ("?line=99999999", 404),
        ("?line=0", 200),
        ("?line=-1", 400),
        ("?line=1e3", 400),
        ("?line=" + "9" * 400, 400),
        ("?line=%E0%B9%91", 400),
        ("/part?before=x", 400),
        ("/part?line=99999999", 200),
        ("/jump?to=password&from=1", 400),
        ("/jump", 400),
        ("/../../../../etc/passwd", 404),
        ("/%2e%2e%2f%2e%2e%2fetc%2fpasswd", 404),
    ],
)
def test_an_address_that_names_no_line_is_refused(session, web, query, status):
    answer = web.ask(session[0] + query)
    assert answer.status == status
    assert "Traceback" not in answer.text
    assert "root:" not in answer.text


@pytest.mark.slow
def test_an_anchor_that_is_not_on_the_page_is_loaded_and_shown(session, browser):
    address, lines = session
    at = line_with(lines, '"Part 222"')
    browser.open(f"{address}#L{at}")
    browser.wait(f"document.activeElement && document.activeElement.id === 'L{at}'")
    browser.wait(
        f"(r => r.top >= 0 && r.bottom < innerHeight)(document.getElementById('L{at}').getBoundingClientRect())"
    )


@pytest.mark.slow
def test_scrolling_loads_the_lines_before_and_after(session, browser):
    """The document keeps a bounded number of lines, and what one reads does not move when others are added."""
    address, lines = session
    browser.open(f"{address}?line=600#L601")
    first = "Number(document.querySelector('article.entry').dataset.line)"
    last = "Number([...document.querySelectorAll('article.entry')].at(-1).dataset.line)"
    for _ in range(60):
        browser.run("scrollTo(0, 0)")
        if browser.run("return document.getElementById('earlier').innerText.includes('begins here')"):
            break
        at = browser.run(f"return {first}")
        browser.wait(
            f"scrollTo(0, 0), {first} < {at} || document.getElementById('earlier').innerText.includes('begins')"
        )
    assert browser.run(f"return {first}") <= 3
    for _ in range(60):
        browser.run("scrollTo(0, document.body.scrollHeight)")
        if browser.run("return document.getElementById('later').innerText.includes('ends here')"):
            break
        at = browser.run(f"return {last}")
        browser.wait(
            f"scrollTo(0, document.body.scrollHeight), {last} > {at} || document.getElementById('later').innerText.includes('ends')"
        )
    assert browser.run(f"return {last}") >= len(lines) - 3
    assert browser.run("return document.querySelectorAll('#entries > .page').length") <= 10


@pytest.mark.slow
def test_everything_can_be_done_by_keyboard(session, browser):
    """Jump with letters, on the page and beyond it; unfold a result with Enter; unfold everything with o."""
    address, lines = session
    browser.open(address)
    body = browser.one("body")
    body.send_keys("p")
    first = browser.run("return Number(document.activeElement.dataset.line)")
    body.send_keys("p")
    second = browser.run("return Number(document.activeElement.dataset.line)")
    assert first < second
    browser.run(
        "document.activeElement.blur(); window.was = scrollY; document.getElementById('earlier').style.height = '500px'"
    )
    browser.wait("scrollY > window.was + 400")  # as when lines above are loaded: what one reads did not move
    body.send_keys("p")
    third = browser.run("return Number(document.activeElement.dataset.line)")
    assert second < third
    browser.chrome.switch_to.active_element.send_keys(Keys.SHIFT, "p")
    browser.chrome.switch_to.active_element.send_keys(Keys.SHIFT, "p")
    assert browser.run("return Number(document.activeElement.dataset.line)") == first
    failed = line_with(lines, "answer 250")
    browser.one("body").send_keys("e")
    browser.wait(f"document.activeElement.id === 'L{failed}'")
    summary = browser.one(f"#L{failed} summary")
    assert not browser.one(f"#L{failed} pre").is_displayed()
    browser.run("arguments[0].focus()", summary)
    summary.send_keys(Keys.ENTER)
    assert browser.one(f"#L{failed} pre").text == "answer 250\nmore"
    browser.one("body").send_keys("o")
    assert browser.run("return [...document.querySelectorAll('details.part')].every(d => !d.open)")
    browser.one("body").send_keys("o")
    assert browser.run("return [...document.querySelectorAll('details.part')].every(d => d.open)")
    browser.one("body").send_keys("l")
    browser.chrome.switch_to.active_element.send_keys("7", Keys.ENTER)
    browser.wait("location.hash === '#L7'")


@pytest.mark.slow
@pytest.mark.parametrize(("width", "is_dark"), [(360, False), (1280, True), (3840, False)])
def test_the_pages_are_accessible_and_not_wider_than_the_screen(session, browser, width, is_dark):
    address = session[0]
    browser.resize(width, 900, is_dark=is_dark)
    session_address = address.removesuffix("/read")
    for path in (address, f"{session_address}/compactions", f"{session_address}/compaction/1"):
        browser.open(path)
        browser.wait("!document.querySelector('.compactions .muted')")
        browser.run("for (const each of document.querySelectorAll('main details')) each.open = true")
        assert browser.accessibility_problems() == []
        assert browser.run("return document.documentElement.scrollWidth") <= width
