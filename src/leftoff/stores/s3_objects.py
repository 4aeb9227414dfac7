"""The few things that are asked of a bucket, with boto3, and its troubles in words.

The driver is loaded when the bucket is first spoken to, never before. Credentials come from the usual AWS_* environment and files.
"""

from __future__ import annotations

import base64
import hashlib
import importlib
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, partial
from typing import Any, NamedTuple, TypeVar

from leftoff.errors import LeftoffError, StorageError, UnreachableError
from leftoff.model.values import dataclass
from leftoff.stores import options as user_options
from leftoff.stores import s3_words
from leftoff.stores.packed import MOST_BYTES

Answer = TypeVar("Answer")
_MOST_DELETED = 1000  # in one question, by the protocol
_OF_A_LIST = {"Name", "KeyCount", "MaxKeys", "IsTruncated", "Contents"}  # a service answers with some of it


@dataclass(frozen=True, slots=True, kw_only=True)
class Bucket:
    """Where a bucket is. None: as the AWS environment and files say."""

    name: str
    prefix: str = "leftoff"
    endpoint_url: str | None = None
    region: str | None = None
    profile: str | None = None
    allow_unverified: bool = False  # plain http to elsewhere

    @property
    def where(self) -> str:
        """What to call it."""
        return f"s3://{self.name}/{self.prefix}" + (f" at {self.endpoint_url}" if self.endpoint_url else "")


class Objects:
    """The few things that are asked of a bucket; its troubles in words."""

    def __init__(self, bucket: Bucket) -> None:
        self._bucket = bucket
        self._lock = threading.Lock()
        self._client: Any = None

    def put(self, key: str, body: bytes) -> None:
        """Write an object, whole: the service compares the sum before it takes it, and says what it has taken."""
        md5 = base64.b64encode(hashlib.md5(body, usedforsecurity=False).digest()).decode()
        answer = self._asked(
            lambda client: client.put_object(
                Bucket=self._bucket.name, Key=key, Body=body, ContentMD5=md5, ContentType="application/json"
            )
        )
        if not answer.get("ETag"):  # any web server may say 200
            raise self._trouble(s3_words.NOT_S3)

    def get(self, key: str) -> bytes | None:
        """What is in it, one byte more than a log may have at most; None when there is no such object.

        All of it or UnreachableError: the driver takes an answer that breaks off for a short one.
        """

        def read(client: Any) -> bytes | None:
            try:
                answer = client.get_object(Bucket=self._bucket.name, Key=key)
            except client.exceptions.NoSuchKey:
                return None
            data: bytes = answer["Body"].read(MOST_BYTES + 1)
            if len(data) < min(answer.get("ContentLength", 0), MOST_BYTES + 1):
                raise UnreachableError(f"{self._bucket.where}: {s3_words.CUT_SHORT}.")
            return data

        return self._asked(read)

    def delete(self, key: str) -> None:
        """Take it away; one that is gone already is gone."""
        self._asked(lambda client: client.delete_object(Bucket=self._bucket.name, Key=key))

    def delete_all(self, keys: Sequence[str]) -> None:
        """Take them away in any order: many in one question, or one by one where the service does not do as asked."""
        for start in range(0, len(keys), _MOST_DELETED):
            some = keys[start : start + _MOST_DELETED]
            if len(some) == 1 or not self._deleted_at_once(some):
                for key in some:
                    self.delete(key)  # which says why it cannot be

    def _deleted_at_once(self, keys: Sequence[str]) -> bool:
        what = {"Objects": [{"Key": key} for key in keys], "Quiet": True}
        try:
            answer = self._asked(lambda client: client.delete_objects(Bucket=self._bucket.name, Delete=what))
        except UnreachableError:
            raise
        except StorageError:
            return False
        return not answer.get("Errors")

    def under(self, prefix: str, *, most: int = 1000) -> Iterator[str]:
        """The keys that begin so, in order; ``most`` at a time."""
        for page in self._pages(prefix, "", most):
            yield from (entry["Key"] for entry in page.get("Contents", ()))
            if most == 1:
                return

    def folders(self, prefix: str) -> list[str]:
        """The names of the folders right below."""
        pages = self._pages(prefix, "/", 1000)
        return [each["Prefix"][len(prefix) : -1] for page in pages for each in page.get("CommonPrefixes", ())]

    def _pages(self, prefix: str, delimiter: str, most: int) -> Iterator[Any]:
        more: dict[str, str] = {}
        while True:
            asking = partial(self._page, {"Prefix": prefix, "Delimiter": delimiter, "MaxKeys": most} | more)
            page = self._asked(asking)
            if _OF_A_LIST.isdisjoint(page):
                raise self._trouble(s3_words.NOT_S3)
            yield page
            if not page.get("IsTruncated"):
                return
            more = {"ContinuationToken": page["NextContinuationToken"]}

    def _page(self, what: Mapping[str, Any], client: Any) -> Any:
        return client.list_objects_v2(Bucket=self._bucket.name, **what)

    def _asked(self, question: Callable[[Any], Answer]) -> Answer:
        driver = _driver()
        try:
            with self._lock:
                if self._client is None:
                    self._client = self._connected(driver)
            return question(self._client)
        except LeftoffError:
            raise
        except driver.exceptions.ClientError as error:
            raise self._trouble(s3_words.of_refusal(error)) from error
        except driver.parsers.ResponseParserError as error:
            raise self._trouble(s3_words.NOT_S3) from error
        except (
            driver.exceptions.HTTPClientError,
            driver.exceptions.ConnectionError,
            driver.exceptions.IncompleteReadError,
        ) as error:
            words = s3_words.of_trouble(error, driver.exceptions)
            raise UnreachableError(f"{self._bucket.where}: {words}.") from error
        except (driver.exceptions.BotoCoreError, ValueError) as error:
            raise self._trouble(s3_words.of_trouble(error, driver.exceptions)) from error

    def _trouble(self, words: str) -> StorageError:
        return StorageError(f"{self._bucket.where}: {words}.")

    def _connected(self, driver: _Driver) -> Any:
        config = driver.config.Config(
            connect_timeout=3,
            read_timeout=8,
            retries={"mode": "standard", "total_max_attempts": 2},
            # Services other than Amazon's do not all know the newer sums; ours stands in the object's name.
            request_checksum_calculation="when_required",
            response_checksum_validation="when_required",
            user_agent="leftoff",  # else made anew for each question, from what the machine is
        )
        bucket = self._bucket
        core = driver.core.get_session()
        # Nobody here asks when an object was changed, and reading that is half of the work of a long list.
        core.get_component("response_parser_factory").set_parser_defaults(timestamp_parser=str)
        session = driver.session.Session(
            botocore_session=core, profile_name=bucket.profile, region_name=bucket.region
        )
        region = session.region_name or ("us-east-1" if bucket.endpoint_url else None)
        client = session.client("s3", endpoint_url=bucket.endpoint_url, region_name=region, config=config)
        # The AWS environment and files may name another address than the settings do.
        user_options.require_encrypted(
            client.meta.endpoint_url,
            named="AWS_ENDPOINT_URL or your AWS files",
            allowed=bucket.allow_unverified,
        )
        client.meta.events.register_first("before-send.s3", _put_as_text)
        client.meta.events.register_first("needs-retry.s3", self._refuse_redirects)
        return client

    def _refuse_redirects(self, response: Any, operation: Any, **_: Any) -> None:
        """A redirect that says neither why nor where the bucket is would be followed by the driver in a circle."""
        if response is None or not 300 <= response[0].status_code < 400:
            return
        code = str(response[1].get("Error", {}).get("Code", ""))
        if code in {"", str(response[0].status_code)} and "x-amz-bucket-region" not in response[0].headers:
            # The driver itself asks for the head, and only after a service has said that it is another region.
            is_asked_by_driver = operation.name == "HeadBucket"
            raise self._trouble(s3_words.OTHER_REGION if is_asked_by_driver else s3_words.NOT_S3)


def _put_as_text(request: Any, **_: Any) -> None:
    """The driver signs with bytes, and stumbles over these when it is answered with 303: then nobody learns of the answer."""
    for name, value in [*request.headers.items()]:
        if isinstance(value, bytes):
            request.headers[name] = value.decode("latin-1")


class _Driver(NamedTuple):
    """What is used of boto3, and of botocore below it."""

    session: Any
    core: Any
    config: Any
    exceptions: Any
    parsers: Any


@cache  # asked for with every question
def _driver() -> _Driver:
    """Loaded by those who speak to a bucket: it takes as long as all the rest of a command."""
    names = (
        "boto3.session",
        "botocore.session",
        "botocore.config",
        "botocore.exceptions",
        "botocore.parsers",
    )
    try:
        return _Driver(*map(importlib.import_module, names))
    except ImportError as error:
        raise LeftoffError("storage: s3 needs boto3. Type: pip install 'leftoff[s3]'") from error
