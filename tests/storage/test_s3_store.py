"""The bucket: what its objects are, what two machines do to each other there, and every trouble in one clear sentence."""

import json
import re
import threading
import uuid
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import boto3
import pytest

from leftoff.errors import ConfigError, DocumentError, InvalidValueError, StorageError, UnreachableError
from leftoff.storage import s3_store
from leftoff.storage.s3_client import Bucket, Objects
from leftoff.storage.s3_store import S3Store
from leftoff.storage.store_base import next_timestamp_ns, sha256_hex
from leftoff.testing.store_promises import a_log
from tests.support.servers import ACCESS_KEY, PASSWORD

pytestmark = pytest.mark.server

KEYS = f"[profile me]\naws_access_key_id = {ACCESS_KEY}\naws_secret_access_key = {PASSWORD}\n"


@pytest.fixture
def bucket(s3):
    return Bucket(name="logs", prefix=uuid.uuid4().hex, endpoint_url=s3.url)


@pytest.fixture
def store(bucket):
    return S3Store(bucket)


@pytest.fixture
def keys(bucket):
    """The names of all objects, in their order."""
    client = boto3.client("s3", endpoint_url=bucket.endpoint_url)

    def listed():
        page = client.list_objects_v2(Bucket=bucket.name, Prefix=f"{bucket.prefix}/")
        return [each["Key"].removeprefix(f"{bucket.prefix}/") for each in page.get("Contents", ())]

    return listed


def test_an_object_is_written_once_and_its_name_sorts_by_time(store, keys):
    """Nothing is overwritten, so no pointer and no lock is needed."""
    for number in range(3):
        store.save(a_log("s", f"save {number}"))
    names = [key.split("/")[-1] for key in keys()]
    assert names == sorted(names)
    assert len({*names}) == 3
    assert all(re.fullmatch(r"\d{20}-[0-9a-f]{32}\.json", name) for name in names)
    assert store.load("s").mission_summary == "save 2"


def test_old_versions_are_deleted(store, keys):
    """The newest three of a session stay."""
    for number in range(6):
        store.save(a_log("s", f"save {number}"))
    assert len(keys()) == 3
    assert store.load("s").mission_summary == "save 5"


def test_some_late_sends_delete_old_versions(store, keys):
    """The newest three are never deleted, and a session does not grow without limit."""
    first = next_timestamp_ns()
    for number in range(60):
        store.save_as_of(a_log("s", f"save {number}"), first + number)
        assert store._of_session("s")[-1].moment == first + number
        assert len(keys()) >= min(3, number + 1)
    assert len(keys()) < 40
    assert store.load("s").mission_summary == "save 59"


def test_objects_are_deleted_one_by_one_where_the_service_needs_it(bucket, keys):
    """An object that is already gone is not an error."""

    class Plain(Objects):
        def _call(self, request):
            if "delete_objects" in getattr(getattr(request, "__code__", None), "co_names", ()):
                raise StorageError("NotImplemented")
            return super()._call(request)

    store = S3Store(bucket, objects=Plain(bucket))
    for number in range(3):
        store.save_as_of(a_log("s", f"save {number}"), 10 + number)
    store._objects.delete_all([each.key for each in store._of_session("s")[:2]])
    assert len(keys()) == 1


def test_saves_of_two_machines_at_once_are_both_kept_and_the_later_name_wins(bucket, keys):
    one, two = S3Store(bucket), S3Store(bucket)
    moment = next_timestamp_ns()
    two.save_as_of(a_log("s", "later"), moment + 5)
    one.save_as_of(a_log("s", "earlier"), moment)
    assert len(keys()) == 2
    assert one.load("s").mission_summary == two.load("s").mission_summary == "later"


def test_a_clock_that_is_behind_does_not_hide_a_save(store):
    """A save is later than what it found, whatever the clock says."""
    store.save_as_of(a_log("s", "from the future"), next_timestamp_ns() + 10**15)
    store.save(a_log("s", "now"))
    assert store.load("s").mission_summary == "now"


def test_sending_twice_has_no_effect(store, keys):
    """A retry whose first answer was lost changes nothing, and does not cover what came later."""
    moment = next_timestamp_ns()
    for _ in range(3):
        store.save_as_of(a_log("s", "first"), moment)
    assert len(keys()) == 1
    store.save(a_log("s", "second"))
    store.save_as_of(a_log("s", "first"), moment)
    assert len(keys()) == 2
    assert store.load("s").mission_summary == "second"


def test_an_incomplete_object_is_skipped_for_the_one_before(store, s3, bucket):
    """A server that is killed may leave half an object; if it is the only one, loading it is an error."""
    store.save(a_log("s", "whole"))
    store.save(a_log("s", "half"))
    newest = store._of_session("s")[-1]
    path = s3.folder / "data" / bucket.name / newest.key
    path.write_bytes(path.read_bytes()[:100])
    assert store.load("s").mission_summary == "whole"
    store.save(a_log("other"))
    only = store._of_session("other")[-1]
    (s3.folder / "data" / bucket.name / only.key).write_bytes(b"")
    with pytest.raises(DocumentError, match=f"{only.key}: incomplete, or changed since"):
        store.load("other")
    assert {*store.list()} == {"s", "other"}


def test_a_log_of_a_newer_leftoff_says_so(store, bucket):
    """A log of a newer schema is not reduced to the known fields."""
    body = json.dumps(a_log("s").to_dict() | {"schema": 99}).encode()
    key = f"{bucket.prefix}/0~0~0/s/{next_timestamp_ns():020d}-{sha256_hex(body)[:32]}.json"
    Objects(bucket).put(key, body)
    with pytest.raises(DocumentError, match="newer leftoff"):
        store.load("s")


def test_foreign_objects_are_left_alone(store, bucket, keys):
    objects = Objects(bucket)
    for name in ("readme.txt", "a/b/c/d.json", "0~0~0/s/notes.json", "0~0~0/s.json"):
        objects.put(f"{bucket.prefix}/{name}", b"x")
    assert store.list() == []
    assert store.load("s") is None
    store.save(a_log("s"))
    assert store.delete("s") is True
    assert len(keys()) == 4


def test_more_logs_than_one_answer_holds_are_all_listed(store):
    """A service answers with one page at a time."""
    for number in range(7):
        store.save(a_log(f"s{number}"))
    objects = store._objects
    paged = [
        key
        for page in objects._pages(f"{store._bucket.prefix}/", "", 2)
        for key in (e["Key"] for e in page["Contents"])
    ]
    assert len(paged) == 7


def test_a_missing_object_is_not_an_error(bucket):
    """An object may be deleted after it was listed."""
    objects = Objects(bucket)
    assert objects.get(f"{bucket.prefix}/gone") is None
    objects.delete(f"{bucket.prefix}/gone")


def test_the_check_names_the_bucket(store):
    """The doctor shows this text."""
    assert store.check().endswith("reached, nothing is there")
    store.save(a_log("s"))
    assert store.check().endswith("reached, logs are there")


# Troubles, one clear sentence each


def words(store):
    with pytest.raises(StorageError) as trouble:
        store.list()
    assert str(trouble.value).startswith("s3://")
    assert str(trouble.value).endswith(".")
    return str(trouble.value)


def test_an_unknown_bucket_is_named(s3):
    """The error says what to change."""
    store = S3Store(Bucket(name="nowhere", endpoint_url=s3.url))
    assert words(store) == (
        f"s3://nowhere/leftoff at {s3.url}: there is no such bucket. Create it, or check storage_options.bucket."
    )


def test_a_wrong_secret_is_reported(store, monkeypatch):
    """The message does not show it."""
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "wrong-wrong-wrong")
    message = words(store)
    assert "the access key or its secret is wrong" in message
    assert "wrong-wrong" not in message


def test_an_unknown_access_key_is_reported(store, monkeypatch):
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "NOBODYNOBODYNOBO")
    assert "the access key or its secret is wrong" in words(store)


def test_missing_credentials_are_reported(store, monkeypatch):
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    assert "no AWS credentials were found" in words(store)


def test_a_missing_network_is_reported(s3):
    store = S3Store(Bucket(name="logs", endpoint_url="http://127.0.0.1:9"))
    assert "no answer. Is the server up, and the network?" in words(store)


def test_an_unknown_profile_is_reported(s3):
    """The profile is not in the AWS files."""
    store = S3Store(Bucket(name="logs", endpoint_url=s3.url, profile="nobody"))
    assert "no such profile" in words(store)


def test_a_server_with_an_invalid_certificate_is_refused(s3):
    """The server does not speak TLS, and nothing is sent unencrypted."""
    store = S3Store(Bucket(name="logs", endpoint_url=s3.url.replace("http:", "https:")))
    assert re.search("certificate could not be verified|no answer", words(store))


def test_an_invalid_bucket_name_is_reported(s3):
    """The message is leftoff's own, not the driver's."""
    assert "that is not a bucket name. Check storage_options.bucket" in words(
        S3Store(Bucket(name="my bucket/../x", endpoint_url=s3.url))
    )


@pytest.mark.slow
@pytest.mark.parametrize("name", ["AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3"])
def test_an_address_of_the_environment_must_be_encrypted_too(s3, monkeypatch, name):
    """The user can allow an unencrypted address."""
    monkeypatch.setenv(name, "http://far.example")
    made = s3_store.unconfigured_store().with_options({"bucket": "logs"})
    with pytest.raises(ConfigError, match=r"http://far\.example is not encrypted"):
        made.list()
    monkeypatch.setenv(name, s3.url)
    assert s3_store.unconfigured_store().with_options({"bucket": "logs"}).check()
    monkeypatch.setenv(name, "http://127.db.example.invalid")
    with pytest.raises(ConfigError, match="is not encrypted"):
        s3_store.unconfigured_store().with_options({"bucket": "logs"}).list()
    allowed = s3_store.unconfigured_store().with_options({"bucket": "logs", "allow_unverified": "yes"})
    with pytest.raises(UnreachableError):
        allowed.list()


class RoleGiver(BaseHTTPRequestHandler):
    """Answers role requests like Amazon's service; its credentials are valid until 2099."""

    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        self.server.asked += 1
        names = {"AccessKeyId": ACCESS_KEY, "SecretAccessKey": PASSWORD, "SessionToken": "t"}
        given = "".join(f"<{name}>{value}</{name}>" for name, value in names.items())
        body = (
            '<AssumeRoleResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><AssumeRoleResult><Credentials>'
            f"{given}<Expiration>2099-01-01T00:00:00Z</Expiration></Credentials></AssumeRoleResult></AssumeRoleResponse>"
        ).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        """Quietly."""


@pytest.fixture
def role_giver():
    with ThreadingHTTPServer(("127.0.0.1", 0), RoleGiver) as server:
        server.asked = 0
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def test_a_temporary_role_works_until_it_expires(bucket, role_giver, tmp_path, monkeypatch):
    """The role works although times in the driver stay text, such as the end of its credentials."""
    config = f"[profile team]\nrole_arn = arn:aws:iam::123456789012:role/logs\nsource_profile = me\nregion = us-east-1\n{KEYS}"
    (tmp_path / "config").write_text(config, encoding="utf-8")
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "config"))
    monkeypatch.setenv("AWS_ENDPOINT_URL_STS", f"http://127.0.0.1:{role_giver.server_port}")
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(name)
    store = S3Store(replace(bucket, profile="team"))
    store.save(a_log("s"))
    assert store.list() == ["s"]
    assert role_giver.asked == 1, "what it gave was still good for the second question"


# What others do meanwhile


class Meddled(Objects):
    """Another process acts before the first object is read."""

    def __init__(self, bucket, meanwhile):
        super().__init__(bucket)
        self._meanwhile = [meanwhile]

    def get(self, key):
        if self._meanwhile:
            self._meanwhile.pop()()
        return super().get(key)


def test_a_log_that_is_replaced_while_loading_is_found(store, bucket):
    """Everything that was listed is gone when it is read; what replaced it is there."""
    store.save(a_log("s", "first"))

    def replaced():
        for number in range(3):
            store.save(a_log("s", f"later {number}"))

    assert S3Store(bucket, objects=Meddled(bucket, replaced)).load("s").mission_summary == "later 2"
    gone = S3Store(bucket, objects=Meddled(bucket, lambda: store.delete("s")))
    assert gone.load("s") is None


class Dying(Objects):
    """The process ends after so many deletions."""

    def __init__(self, bucket, after):
        super().__init__(bucket)
        self._left = after

    def delete(self, key):
        if not self._left:
            raise KeyboardInterrupt
        self._left -= 1
        super().delete(key)


@pytest.mark.parametrize("after", [1, 2])
def test_an_interrupted_delete_leaves_the_newest_version(store, bucket, after):
    """An older log never takes the place of the newest one."""
    for number in range(3):
        store.save(a_log("s", f"save {number}"))
    with pytest.raises(KeyboardInterrupt):
        S3Store(bucket, objects=Dying(bucket, after)).delete("s")
    assert store.load("s").mission_summary == "save 2"


def test_moments_that_are_none_are_refused_and_passed_over(store, bucket, keys):
    """An object with such a name is not the newest for ever."""
    for moment in (10**20, 2**63, -1):
        with pytest.raises(InvalidValueError, match="not a time"):
            store.save_as_of(a_log("s"), moment)
    assert keys() == []
    body = json.dumps(a_log("s", "of nobody").to_dict()).encode()
    Objects(bucket).put(f"{bucket.prefix}/0~0~0/s/{'9' * 20}-{sha256_hex(body)[:32]}.json", body)
    store.save(a_log("s", "ours"))
    assert store.load("s").mission_summary == "ours"


@pytest.mark.slow
def test_an_object_larger_than_any_log_is_not_read_to_its_end(store, bucket):
    """An oversized object is skipped in favour of the one before it."""
    store.save(a_log("s", "ours"))
    body = b"x" * 6_000_000
    Objects(bucket).put(
        f"{bucket.prefix}/0~0~0/s/{next_timestamp_ns():020d}-{sha256_hex(body)[:32]}.json", body
    )
    assert len(Objects(bucket).get(store._of_session("s")[-1].key)) == 5_000_001
    assert store.load("s").mission_summary == "ours"


# Options


def test_the_options_make_the_store(s3, bucket):
    """The store is built from the options in the settings."""
    made = s3_store.unconfigured_store().with_options(
        {"bucket": "logs", "prefix": f"/{bucket.prefix}/", "endpoint_url": s3.url}
    )
    made.save(a_log("s"))
    assert S3Store(bucket).list() == ["s"]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({}, "needs storage_options.bucket"),
        ({"bucket": "b", "buckett": "c"}, "has no such option. Did you mean bucket?"),
        ({"bucket": "b", "zzz": "c"}, "has no such option. It takes: bucket,"),
        ({"bucket": "b", "secret_access_key": "x"}, "credentials do not belong into leftoff's configuration"),
        ({"bucket": "b", "endpoint_url": "http://far.example"}, "is not encrypted. Use https://"),
        ({"bucket": "b", "endpoint_url": "https://u:p@far.example"}, "it contains a credential"),
        ({"bucket": "b", "endpoint_url": "far.example:9000"}, "is not an address"),
    ],
)
def test_invalid_options_are_reported(options, words):
    """The error says which option is wrong and why, but never a credential's value."""
    with pytest.raises(ConfigError, match=re.escape(words)):
        s3_store.unconfigured_store().with_options(options)


def test_plain_http_to_elsewhere_is_allowed_to_who_says_so():
    """HTTP to this machine needs no permission."""
    far = {"bucket": "b", "endpoint_url": "http://far.example", "allow_unverified": "yes"}
    assert s3_store.unconfigured_store().with_options(far)
    assert s3_store.unconfigured_store().with_options(
        {"bucket": "b", "endpoint_url": "http://localhost:9000"}
    )
