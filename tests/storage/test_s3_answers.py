"""What a bucket's server may answer: half of it, a web page, a refusal; nothing of that is taken for a log or for success."""

import re
import threading
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import unquote, urlsplit

import pytest

from leftoff.errors import StorageError, UnreachableError
from leftoff.storage.s3_client import Bucket, Objects
from leftoff.storage.s3_store import S3Store
from leftoff.storage.store_base import pack_log
from leftoff.testing.store_promises import a_log

NAMES = {"AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "b", "AWS_REGION": "us-east-1"}
PAGE = b"<html><head><meta charset=utf-8></head><body>Welcome<br></body></html>"


class Speaker(BaseHTTPRequestHandler):
    """A small server of objects; ``cuts`` says after how many bytes a connection ends, for keys that hold the word."""

    def do_GET(self):
        address = urlsplit(self.path)
        if self.answer_as_scripted():
            return
        if "list-type=2" in address.query:
            entries = "".join(f"<Contents><Key>{key}</Key></Contents>" for key in sorted(self.server.objects))
            self.answer(
                200, f"<ListBucketResult><Name>logs</Name>{entries}</ListBucketResult>".encode(), cut=None
            )
            return
        key = self.key()
        cut = next((at for word, at in self.server.cuts.items() if word in key), None)
        self.answer(200, self.server.objects[key], cut=cut)

    def do_HEAD(self):
        self.server.heads += 1
        self.answer_as_scripted()

    def do_PUT(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self.answer_as_scripted():
            return
        self.server.objects[self.key()] = body
        self.answer(200, b"", cut=None)

    def do_DELETE(self):
        if self.answer_as_scripted():
            return
        self.server.deleted.append(self.key())
        self.server.objects.pop(self.key(), None)
        late = self.server.late.pop(self.key(), None)
        if late is not None:
            self.server.objects[self.key()] = late
        self.answer(204, b"", cut=None)

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.asked_at_once.append(body.count(b"<Key>"))
        if self.answer_as_scripted():
            return
        for key in re.findall(rb"<Key>(.*?)</Key>", body):
            self.server.objects.pop(key.decode(), None)
        self.answer(200, b"<DeleteResult></DeleteResult>", cut=None)

    def answer_as_scripted(self):
        """Give the answer that the test has set; return whether there is one."""
        if self.server.says is None:
            return False
        status, headers, body = self.server.says
        self.answer(status, body, cut=None, **headers)
        return True

    def answer(self, status, body, *, cut, **headers):
        self.close_connection = True
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        if status != 204:
            self.send_header("Content-Length", str(len(body)))
        if not headers:
            self.send_header("ETag", '"an-object"')
        self.end_headers()
        self.wfile.write(body[:cut])

    def key(self):
        return unquote(urlsplit(self.path).path).removeprefix("/logs/")

    def log_message(self, *_):
        """Quietly."""


@pytest.fixture(scope="module")
def running():
    """One server and one client for all: to make a client takes as long as all that it is asked here."""
    with pytest.MonkeyPatch.context() as world, ThreadingHTTPServer(("127.0.0.1", 0), Speaker) as made:
        for name, value in NAMES.items():
            world.setenv(name, value)
        made.bucket = Bucket(name="logs", prefix="p", endpoint_url=f"http://127.0.0.1:{made.server_port}")
        made.client = Objects(made.bucket)
        thread = threading.Thread(target=made.serve_forever)
        thread.start()
        made.objects, made.says = {}, None
        assert made.client.folders("p/") == []  # it has taken its credentials from the environment of now
        yield made
        made.shutdown()
        thread.join()


@pytest.fixture
def server(running):
    """Return the server in its initial state."""
    running.RequestHandlerClass = Speaker
    running.objects, running.cuts, running.late = {}, {}, {}
    running.deleted, running.asked_at_once = [], []
    running.says = None
    running.heads = 0
    return running


@pytest.fixture
def objects(server):
    return server.client


@pytest.fixture
def store(server):
    return S3Store(server.bucket, objects=server.client)


def put(server, session_id, mission, moment):
    """An object as a save would leave it; its key."""
    piece = pack_log(a_log(session_id, mission))
    key = f"p/{piece.project}/{session_id}/{moment:020d}-{piece.sha256[:32]}.json"
    server.objects[key] = piece.body.encode()
    return key


# Half an answer


def test_a_truncated_answer_is_not_replaced_by_an_older_log(server, store):
    """The newest is whole in the bucket; that we got half of it says nothing of it."""
    put(server, "s", "OLD " + "x" * 3000, 1)
    newest = put(server, "s", "NEW " + "y" * 3000, 2)
    server.cuts = {newest: 1000}
    with pytest.raises(UnreachableError, match="the connection ended in the middle of an answer"):
        store.load("s")
    server.cuts = {}
    assert store.load("s").mission_summary.startswith("NEW")


def test_a_truncated_answer_deletes_no_log(server, store):
    """An object that cannot be read while masking is named and kept, and blocks no other."""
    cut = [put(server, "head", "SECRET " + "x" * 3000, 1), put(server, "tail", "x" * 3000 + " SECRET", 2)]
    put(server, "whole", "SECRET", 3)
    before = {key: server.objects[key] for key in cut}
    server.cuts = {"head": 600, "tail": 600}

    def change(body):
        if not body.endswith(b"}"):
            return None
        return body.replace(b"SECRET", b"***")

    outcomes = [*store.rewrite(change)]
    assert [type(each) for each in outcomes] == [UnreachableError, UnreachableError, str]
    assert {key: server.objects.get(key) for key in cut} == before
    assert not {*cut} & {*server.deleted}
    assert store.load("whole").mission_summary == "***"


# A server that is not an object store


@pytest.mark.parametrize(
    "body", [PAGE, b"<html/>\r\n", b"", b"not xml at all"], ids=["page", "xhtml", "empty", "text"]
)
def test_a_web_server_is_not_taken_for_a_bucket(server, store, objects, body):
    """A web server that answers 200 to everything is not taken for a working bucket."""
    server.says = (200, {"Content-Type": "text/html"}, body)
    for ask in (
        lambda: objects.put("p/object", b"{}"),
        lambda: store.save_as_of(a_log("s"), 1),
        lambda: store.save(a_log("s")),
        store.list,
        store.check,
        lambda: store.for_project("x").list(),
    ):
        with pytest.raises(StorageError, match=r"does not speak S3\. Check storage_options\.endpoint_url"):
            ask()


@pytest.mark.parametrize("status", [300, 301, 302, 303, 305, 307, 308, 404, 405])
def test_a_redirect_or_a_missing_page_is_not_taken_for_a_bucket(server, store, status):
    """The login page of a network answers like this, and its redirect is not followed."""
    server.says = (status, {"Location": "http://login.example.invalid/"}, b"")
    with pytest.raises(StorageError, match="does not speak S3"):
        store.list()
    with pytest.raises(StorageError, match="does not speak S3"):
        store.save_as_of(a_log("s"), 1)
    assert server.heads == 0, "the driver looks for the bucket elsewhere"


# Refusals


@pytest.mark.parametrize(
    ("status", "code", "words"),
    [
        (403, "RequestTimeTooSkewed", "Set the clock of this machine"),
        (403, "RequestExpired", "Set the clock of this machine"),
        (400, "InvalidToken", "Check AWS_SESSION_TOKEN, or log in again"),
        (500, "InternalError", "a problem just now. What waits is sent later"),
        (503, "ServiceUnavailable", "a problem just now. What waits is sent later"),
        (301, "PermanentRedirect", "in another region. Check storage_options.region"),
        (400, "NeverHeardOf", "refused: "),
    ],
)
def test_a_refusal_is_one_sentence(server, store, status, code, words):
    """The sentence says what is wrong and what to do."""
    body = f"<Error><Code>{code}</Code><Message>Some\nlines</Message></Error>".encode()
    server.says = (status, {"Content-Type": "application/xml"}, body)
    with pytest.raises(StorageError) as refused:
        store.list()
    assert words in str(refused.value)
    assert "\n" not in str(refused.value)


def test_a_bucket_in_another_region_is_found(server, store):
    """A service says which region it is, also where it says no more than that."""
    body = b"<Error><Code>PermanentRedirect</Code></Error>"
    server.says = (301, {"x-amz-bucket-region": "eu-central-1"}, body)
    with pytest.raises(StorageError, match=r"in another region\. Check storage_options\.region"):
        store.list()


def test_a_gateway_error_without_a_code_is_reported(server, store):
    """A gateway answers 503 with a web page."""
    server.says = (503, {"Content-Type": "text/html"}, PAGE)
    with pytest.raises(StorageError, match="the service has a problem"):
        store.list()


def test_only_an_invalid_bucket_name_is_reported_as_such(objects):
    """A key may be what is wrong."""
    with pytest.raises(StorageError) as refused:
        objects.put("", b"x")
    assert "Key" in str(refused.value)
    assert "bucket can be called" not in str(refused.value)
    assert "\n" not in str(refused.value)


# Names and deletions


def test_names_that_are_not_session_ids_are_not_listed(server, store):
    """Every name that is listed can be loaded."""
    for name in (".hidden", "a..b", "con", "x" * 200):
        put(server, "s", "m", 1)
        body = server.objects[put(server, "s", "m", 1)]
        server.objects[f"p/0~0~0/{name}/{1:020d}-{'0' * 32}.json"] = body
    assert store.list() == ["s"]
    assert all(store.load(name) for name in store.list())


def test_a_write_that_arrives_during_a_delete_is_deleted_too(server, store):
    """The caller had given up the write, but the server had not."""
    keys = [put(server, "s", f"save {number}", number) for number in range(2)]
    server.late = {keys[1]: server.objects[keys[1]]}
    assert store.delete("s") is True
    assert server.objects == {}


def test_a_write_that_arrives_during_masking_is_masked_too(server, store):
    """The late write brings back the name that was replaced."""
    key = put(server, "s", "SECRET", 1)
    server.late = {key: server.objects[key]}
    assert [*store.rewrite(lambda body: body.replace(b"SECRET", b"***"))] == ["s", "s"]
    assert all(b"SECRET" not in body for body in server.objects.values())
    assert store.load("s").mission_summary == "***"


def test_deletes_are_split_into_requests_of_the_allowed_size(server, objects):
    """One request deletes at most a thousand objects."""
    keys = [f"p/{number}" for number in range(2001)]
    server.objects = dict.fromkeys(keys, b"")
    objects.delete_all(keys)
    assert server.asked_at_once == [1000, 1000]
    assert server.deleted == ["p/2000"]
    assert server.objects == {}


class Denying(Speaker):
    """Answers 200 to a question for many, and says inside that it did nothing; one by one it says so too."""

    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        self.answer(
            200,
            b"<DeleteResult><Error><Key>p/1</Key><Code>AccessDenied</Code></Error></DeleteResult>",
            cut=None,
        )

    def do_DELETE(self):
        self.answer(403, b"<Error><Code>AccessDenied</Code></Error>", cut=None)


def test_a_failed_delete_in_a_successful_answer_is_an_error(server, objects):
    """A delete of many objects is answered with 200 whatever happened to them."""
    server.RequestHandlerClass = Denying
    with pytest.raises(StorageError, match="these credentials may not use it"):
        objects.delete_all(["p/1", "p/2"])


def test_an_unreachable_server_is_not_asked_again_for_each_object(running, monkeypatch):
    for name, value in NAMES.items():
        monkeypatch.setenv(name, value)
    requests = []

    class Counted(Objects):
        def delete(self, key):
            requests.append(key)

    away = Counted(replace(running.bucket, endpoint_url="http://127.0.0.1:9"))
    with pytest.raises(UnreachableError):
        away.delete_all(["p/1", "p/2"])
    assert requests == []
