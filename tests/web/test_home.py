"""Home: the sessions with their gauges, by page, project and words."""

import re

import pytest

from leftoff.testing.builders import Story


@pytest.fixture
def many(home):
    """130 sessions of two projects."""
    for number in range(130):
        story = Story(
            session_id=f"0b54f7aa-6d0c-4c7b-9d57-{number:012x}", project=f"/p/{('even', 'odd')[number % 2]}"
        )
        home.claude(story.asked(f"Task {number}").replied("Done.", used=20_000 + number))


def titles(page: str) -> list[str]:
    return re.findall(r'<span class="row-title">(.*?)</span>', page)


def test_it_lists_the_sessions_newest_first_with_their_gauges(two_sessions, web):
    page = web.get("/")
    assert titles(page) == ["Write docs", "Fix the login"]
    assert '<span class="gauge-text">50<span class="unit"> %</span></span>' in page


def test_a_machine_without_sessions_says_so(web):
    assert "No session of any agent was found" in web.get("/")


def test_further_sessions_come_with_further_pages(many, web):
    assert len(titles(web.get("/"))) == 100
    assert titles(web.get("/?page=1"))[-1] == "Task 0"
    assert "/?q=&amp;project=&amp;page=1" in web.get("/")
    rows = web.ask("/?page=1", HX_Request="true").text
    assert "<html" not in rows
    assert len(titles(rows)) == 30


def test_a_project_shows_its_own(many, web):
    link = re.search(r'href="(/\?project=\w+)"[^>]*title="/p/odd"', web.get("/"))
    assert {int(each.split()[1]) % 2 for each in titles(web.get(link[1]))} == {1}


def test_words_find_by_prompt_project_and_agent(many, two_sessions, web):
    assert titles(web.get("/?q=TASK+128+even")) == ["Task 128"]
    assert titles(web.get("/?q=task+128+odd")) == []
    assert titles(web.get("/?q=CODEX")) == ["Write docs"]
    assert "No session matches" in web.get("/?q=zebra")


@pytest.mark.parametrize(
    "query", ["page=-1", "page=9999999999", "page=x", "project=../..", "q=%00%ff", "q=" + "a" * 5000]
)
def test_any_query_is_answered(two_sessions, web, query):
    assert web.ask(f"/?{query}").status == 200


def test_a_new_session_is_listed_at_once(two_sessions, home, web):
    assert len(titles(web.get("/"))) == 2
    home.claude(
        Story(session_id="1b54f7aa-6d0c-4c7b-9d57-3f6c9d9a3b11").asked("A third").replied("Done.", used=9_000)
    )
    assert titles(web.get("/"))[0] == "A third"
