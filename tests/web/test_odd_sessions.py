"""One odd session, or one that disappears, spoils no page of the others."""

import time

import pytest

from leftoff.testing.builders import Story
from leftoff.web.library import key_of
from tests.web.test_session import Events

SESSION = "0b54f7aa-6d0c-4c7b-9d57-3f6c9d9a3b11"


@pytest.mark.parametrize("folder", ["/" + "a" * 300, "/a" * 5000])
def test_a_project_whose_path_no_folder_can_have(home, web, folder):
    story = Story(session_id=SESSION, project=f"{folder}/b").asked("Go").replied("Next: sleep.", used=9_000)
    address = f"/session/{key_of(str(home.claude(story)))}"
    for path in ("/", address, f"{address}/curve", f"{address}/log", f"{address}/shrink"):
        web.get(path)


def test_a_first_prompt_of_half_a_megabyte_is_not_the_title_of_every_page(home, web):
    story = Story(session_id=SESSION).asked("lorem ipsum " * 40_000).replied("Done.")
    address = f"/session/{key_of(str(home.claude(story)))}"
    for path in (address, f"{address}/lineage", f"{address}/compactions"):
        assert len(web.get(path)) < 10_000


def test_a_credential_in_the_title_is_removed_before_the_title_is_cut(home, web):
    key = "-----BEGIN RSA PRIVATE KEY-----\n" + "\n".join(["MIIEow" + "A1b2" * 14] * 40)
    story = Story(session_id=SESSION).asked(f"Use {key}\n-----END RSA PRIVATE KEY-----").replied("Done.")
    address = f"/session/{key_of(str(home.claude(story)))}"
    assert "MIIEow" not in web.get(address)


def test_a_session_that_is_deleted_while_it_is_shown_ends_no_stream_with_an_error(home, web, caplog):
    transcript = home.claude(Story(session_id=SESSION).asked("Go").replied("Done.", used=9_000))
    events = Events(web, f"/session/{key_of(str(transcript))}/live?first=nonsense")
    assert events.next()["tokens"] == [9_000]
    content = transcript.read_bytes()
    transcript.unlink()
    time.sleep(1.2)  # more than two looks of the server
    transcript.write_bytes(content)
    assert events.next()["tokens"] == [9_000]
    events.answer.close()
    events.connection.close()
    assert "Exception" not in caplog.text


def test_a_page_about_a_bug_has_the_security_headers(home, web, monkeypatch):
    monkeypatch.setattr("leftoff.web.home.group_copies", None)
    home.claude(Story(session_id=SESSION).asked("Go").replied("Done."))
    answer = web.ask("/")
    assert (answer.status, "This is a bug in leftoff" in answer.text) == (500, True)
    assert answer.headers["Content-Security-Policy"].startswith("default-src 'self';")
    assert answer.headers["Cache-Control"] == "no-store"
