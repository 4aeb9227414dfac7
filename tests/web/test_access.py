"""Only the signed-in browser is answered, and only from the server's own pages."""

import pytest

from leftoff.web.site import STATIC


def test_the_first_address_signs_the_browser_in_and_loses_its_token(web):
    address = web.access.first_address.removeprefix(web.origin)
    answer = web.ask(address + "&q=x", cookie=None)
    assert (answer.status, answer.headers["Location"]) == (303, "/?q=x")
    cookie = answer.headers["Set-Cookie"]
    assert web.access.token in cookie
    assert "HttpOnly" in cookie
    assert "SameSite=strict" in cookie


def test_an_address_for_once_signs_in_once_and_the_cookie_goes_on_working(web):
    address = web.access.one_time_address().removeprefix(web.origin)
    assert web.access.token not in address
    answer = web.ask(address, cookie=None)
    assert (answer.status, answer.headers["Location"]) == (303, "/")
    cookie = answer.headers["Set-Cookie"].partition(";")[0]
    assert web.ask("/", cookie=cookie).status == 200
    assert web.ask(address, cookie=None).status == 403  # somebody who read it in the list of processes
    assert web.ask(address, cookie=cookie).status == 200  # the browser itself, from its history
    assert web.ask(web.access.first_address.removeprefix(web.origin), cookie=None).status == 303


@pytest.mark.parametrize("other", ["[x]=1", 'y={"a": 1}', "bare", "é=\x80", '"'])
def test_a_cookie_of_another_server_on_this_machine_does_not_sign_out(web, other):
    own = f"{web.access.cookie}={web.access.token}"
    assert [web.ask("/", cookie=each).status for each in (f"{other}; {own}", f"{own}; {other}")] == [200, 200]


@pytest.mark.parametrize(
    "path", ["/", "/static/app.css", "/nothing", "/?token=wrong", "//elsewhere/?token=wrong"]
)
@pytest.mark.parametrize("cookie", [None, "leftoff=wrong", "\x7f;;=", "leftoff-{port}={token}x"])
def test_nothing_is_answered_without_the_token(web, path, cookie):
    cookie = cookie and cookie.format(port=web.access.port, token=web.access.token)
    assert web.ask(path, cookie=cookie).status == 403


def test_signing_in_leads_to_no_other_host(web):
    answer = web.ask(f"//example.org/?token={web.access.token}", cookie=None)
    assert answer.headers["Location"] == "/example.org/"


@pytest.mark.parametrize(
    "host", ["example.org", "127.0.0.1", "127.0.0.1:1", "leftoff.example.org:{port}", ""]
)
def test_another_host_is_refused(web, host):
    assert web.ask("/", host=host.format(port=web.access.port)).status == 421


@pytest.mark.parametrize(
    "origin", ["http://example.org", "null", "https://127.0.0.1:{port}", "http://127.0.0.1:1"]
)
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_another_origin_is_refused(web, origin, method):
    assert web.ask("/", method, b"", origin=origin.format(port=web.access.port)).status == 403


def test_a_form_that_does_not_say_where_it_comes_from_is_refused(web):
    assert web.ask("/", "POST", b"", origin=None).status == 403


def test_read_only_refuses_every_action(read_only_web):
    answer = read_only_web.ask("/", "POST", b"")
    assert (answer.status, "--read-only" in answer.text) == (403, True)
    assert read_only_web.ask("/").status == 200


@pytest.mark.parametrize(
    "name",
    ["../app.py", "..%2fapp.py", "%2e%2e/app.py", "/etc/passwd", "vendor/../../app.py", "..\\app.py", ""],
)
def test_no_path_leads_out_of_the_static_files(web, name):
    assert web.ask(f"/static/{name}").status == 404


@pytest.mark.parametrize("key", ["..%2f..%2fetc%2fpasswd", "%2fetc%2fpasswd", "0" * 12, "%00", "x" * 5000])
def test_a_session_is_named_by_its_key_and_never_by_a_path(web, key):
    assert web.ask(f"/session/{key}").status == 404


def test_every_response_has_the_security_headers(web):
    for path in ("/", "/nothing", f"/static/{next(iter(STATIC.files))}"):
        headers = web.ask(path).headers
        assert headers["Content-Security-Policy"].startswith("default-src 'self';")
        assert headers["X-Content-Type-Options"] == "nosniff"
        assert headers["Referrer-Policy"] == "same-origin"
    assert web.ask("/", cookie=None).headers["Content-Security-Policy"]
    assert web.ask("/").headers["Cache-Control"] == "no-store"
