"""The pages in a real Chromium."""

import pytest

pytestmark = pytest.mark.slow


def test_home_lists_the_sessions(two_sessions, browser):
    browser.open("/")
    assert [row.text for row in browser.all(".rows a")]
    assert browser.accessibility_problems() == []
