"""The few operations on a bucket, with boto3, and its errors as sentences that say what to do.

The driver is loaded on first use. Credentials come from the usual AWS_* environment and files.
"""

from __future__ import annotations

import base64
import hashlib
import importlib
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import Any, NamedTuple, TypeVar

from leftoff.core.resume_log import MAX_LOG_BYTES
from leftoff.errors import LeftoffError, StorageError, UnreachableError
from leftoff.storage import store_base

Result = TypeVar("Result")
_MAX_DELETED = 1000  # in one request, by the protocol
# Every answer to a list request has some of them.
_LIST_KEYS = {
    "Name",
    "KeyCount",
    "MaxKeys",
    "IsTruncated",
    "Contents",
}
NOT_S3 = "what answers there does not speak S3. Check storage_options.endpoint_url"
OTHER_REGION = "the bucket is in another region. Check storage_options.region"
CUT_SHORT = "the connection ended in the middle of an answer. What waits is sent later; else try again"
_WRONG_KEY = "the access key or its secret is wrong. Check AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or your AWS profile"
_EXPIRED = "your AWS login has expired. Log in again (aws sso login)"
_WRONG_CLOCK = "this machine's clock and the service's differ by too much. Set the clock of this machine"
_BAD_NAME = "that is not a bucket name. Check storage_options.bucket"
_ITS_OWN_TROUBLE = "the service has a problem just now. What waits is sent later"
# Error codes of services; a number is the status of an answer without a code.
_CODES: Mapping[str, str] = {
    "NoSuchBucket": "there is no such bucket. Create it, or check storage_options.bucket",
    "InvalidBucketName": _BAD_NAME,
    "InvalidAccessKeyId": _WRONG_KEY,
    "SignatureDoesNotMatch": _WRONG_KEY,
    "ExpiredToken": _EXPIRED,
    "ExpiredTokenException": _EXPIRED,
    "InvalidToken": "the session token is not accepted. Check AWS_SESSION_TOKEN, or log in again (aws sso login)",
    "AccessDenied": "these credentials may not use it. Reading, writing, listing and deleting are needed",
    "PermanentRedirect": OTHER_REGION,
    "AuthorizationHeaderMalformed": OTHER_REGION,
    "RequestTimeTooSkewed": _WRONG_CLOCK,
    "RequestExpired": _WRONG_CLOCK,
    # The driver's code for a successful answer that is not XML, as a web server or an overloaded service sends.
    "500": f"{NOT_S3}, or wait if it did so yesterday",
    "SlowDown": "the service asks to slow down. What waits is sent later",
    "BadDigest": "what arrived there was not what was sent; it was not kept. It is sent again later",
    **dict.fromkeys(("InternalError", "ServiceUnavailable", "502", "503", "504"), _ITS_OWN_TROUBLE),
    **dict.fromkeys(("301", "302", "303", "307", "308", "404", "405", "501"), NOT_S3),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Bucket:
    """Where a bucket is. None means: as the AWS environment and files say."""

    name: str
    prefix: str = "leftoff"
    endpoint_url: str | None = None
    region: str | None = None
    profile: str | None = None
    allow_unverified: bool = False  # plain http to other machines

    @property
    def where(self) -> str:
        """The name of the bucket in messages."""
        return f"s3://{self.name}/{self.prefix}" + (f" at {self.endpoint_url}" if self.endpoint_url else "")


class Objects:
    """The objects in a bucket. Errors are StorageErrors that say what to do."""

    def __init__(self, bucket: Bucket) -> None:
        self._bucket = bucket
        self._lock = threading.Lock()
        self._client: Any = None

    def put(self, key: str, body: bytes) -> None:
        """Write an object; the service compares the checksum before it accepts the object."""
        md5 = base64.b64encode(hashlib.md5(body, usedforsecurity=False).digest()).decode()
        answer = self._call(
            lambda client: client.put_object(
                Bucket=self._bucket.name, Key=key, Body=body, ContentMD5=md5, ContentType="application/json"
            )
        )
        if not answer.get("ETag"):  # any web server may answer 200
            raise self._error(NOT_S3)

    def get(self, key: str) -> bytes | None:
        """Return the content of an object, at most one byte more than a log may have; None when it does not exist.

        UnreachableError where the answer breaks off: the driver takes it for a short one.
        """

        def read(client: Any) -> bytes | None:
            try:
                answer = client.get_object(Bucket=self._bucket.name, Key=key)
            except client.exceptions.NoSuchKey:
                return None
            data: bytes = answer["Body"].read(MAX_LOG_BYTES + 1)
            if len(data) < min(answer.get("ContentLength", 0), MAX_LOG_BYTES + 1):
                raise UnreachableError(f"{self._bucket.where}: {CUT_SHORT}.")
            return data

        return self._call(read)

    def delete(self, key: str) -> None:
        """Delete an object, whether it exists or not."""
        self._call(lambda client: client.delete_object(Bucket=self._bucket.name, Key=key))

    def delete_all(self, keys: Sequence[str]) -> None:
        """Delete objects in any order: many in one request, or one by one where the service does not support that."""
        for start in range(0, len(keys), _MAX_DELETED):
            some = keys[start : start + _MAX_DELETED]
            if len(some) == 1 or not self._delete_together(some):
                for key in some:
                    self.delete(key)  # raises the reason if it fails

    def _delete_together(self, keys: Sequence[str]) -> bool:
        what = {"Objects": [{"Key": key} for key in keys], "Quiet": True}
        try:
            answer = self._call(lambda client: client.delete_objects(Bucket=self._bucket.name, Delete=what))
        except UnreachableError:
            raise
        except StorageError:
            return False
        return not answer.get("Errors")

    def under(self, prefix: str, *, most: int = 1000) -> Iterator[str]:
        """Yield the keys with this prefix, in order, requesting ``most`` at a time."""
        for page in self._pages(prefix, "", most):
            yield from (entry["Key"] for entry in page.get("Contents", ()))
            if most == 1:
                return

    def folders(self, prefix: str) -> list[str]:
        """Return the names of the folders directly below a prefix."""
        pages = self._pages(prefix, "/", 1000)
        return [each["Prefix"][len(prefix) : -1] for page in pages for each in page.get("CommonPrefixes", ())]

    def _pages(self, prefix: str, delimiter: str, most: int) -> Iterator[Any]:
        more: dict[str, str] = {}
        while True:
            request = partial(self._page, {"Prefix": prefix, "Delimiter": delimiter, "MaxKeys": most} | more)
            page = self._call(request)
            if _LIST_KEYS.isdisjoint(page):
                raise self._error(NOT_S3)
            yield page
            if not page.get("IsTruncated"):
                return
            more = {"ContinuationToken": page["NextContinuationToken"]}

    def _page(self, what: Mapping[str, Any], client: Any) -> Any:
        return client.list_objects_v2(Bucket=self._bucket.name, **what)

    def _call(self, request: Callable[[Any], Result]) -> Result:
        driver = _driver()
        try:
            with self._lock:
                if self._client is None:
                    self._client = self._connect(driver)
            return request(self._client)
        except LeftoffError:
            raise
        except driver.exceptions.ClientError as error:
            raise self._error(explain_refusal(error)) from error
        except driver.parsers.ResponseParserError as error:
            raise self._error(NOT_S3) from error
        except (
            driver.exceptions.HTTPClientError,
            driver.exceptions.ConnectionError,
            driver.exceptions.IncompleteReadError,
        ) as error:
            message = explain_error(error, driver.exceptions)
            raise UnreachableError(f"{self._bucket.where}: {message}.") from error
        except (driver.exceptions.BotoCoreError, ValueError) as error:
            raise self._error(explain_error(error, driver.exceptions)) from error

    def _error(self, message: str) -> StorageError:
        return StorageError(f"{self._bucket.where}: {message}.")

    def _connect(self, driver: _Driver) -> Any:
        config = driver.config.Config(
            connect_timeout=3,
            read_timeout=8,
            retries={"mode": "standard", "total_max_attempts": 2},
            # Not all services know the newer checksums; ours is part of the object's name.
            request_checksum_calculation="when_required",
            response_checksum_validation="when_required",
            user_agent="leftoff",  # otherwise computed for each request
        )
        bucket = self._bucket
        core = driver.core.get_session()
        # Times of objects are not used, and parsing them is half of the work of a long list.
        core.get_component("response_parser_factory").set_parser_defaults(timestamp_parser=str)
        session = driver.session.Session(
            botocore_session=core, profile_name=bucket.profile, region_name=bucket.region
        )
        region = session.region_name or ("us-east-1" if bucket.endpoint_url else None)
        client = session.client("s3", endpoint_url=bucket.endpoint_url, region_name=region, config=config)
        # The AWS environment and files may name another address than the settings do.
        store_base.require_encrypted(
            client.meta.endpoint_url,
            named="AWS_ENDPOINT_URL or your AWS files",
            allowed=bucket.allow_unverified,
        )
        client.meta.events.register_first("before-send.s3", _headers_to_text)
        client.meta.events.register_first("needs-retry.s3", self._refuse_redirects)
        return client

    def _refuse_redirects(self, response: Any, operation: Any, **_: Any) -> None:
        """Raise an error for a redirect without a reason or a region, which the driver would follow in a circle."""
        if response is None or not 300 <= response[0].status_code < 400:
            return
        code = str(response[1].get("Error", {}).get("Code", ""))
        if code in {"", str(response[0].status_code)} and "x-amz-bucket-region" not in response[0].headers:
            # Only the driver requests the head of a bucket, after a service has reported another region.
            is_asked_by_driver = operation.name == "HeadBucket"
            raise self._error(OTHER_REGION if is_asked_by_driver else NOT_S3)


def _headers_to_text(request: Any, **_: Any) -> None:
    """Convert headers to text: the driver signs with bytes, and fails on them when the answer is 303."""
    for name, value in [*request.headers.items()]:
        if isinstance(value, bytes):
            request.headers[name] = value.decode("latin-1")


class _Driver(NamedTuple):
    """The modules of boto3 and botocore that are used."""

    session: Any
    core: Any
    config: Any
    exceptions: Any
    parsers: Any


@cache  # called for every request
def _driver() -> _Driver:
    """Return the driver, loaded on first use: loading takes as long as the rest of a command."""
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
        raise LeftoffError(f"storage: s3 needs boto3. Type: {sys.executable} -m pip install boto3") from error


def explain_refusal(error: Any) -> str:
    """Return why a service refused a request and what to do; its own message where that is not known."""
    code = str(error.response.get("Error", {}).get("Code", ""))
    return _CODES.get(code, f"refused: {_one_line(error)}")


def explain_error(error: Exception, kinds: Any) -> str:
    """Return what went wrong before or instead of an answer, and what to do. ``kinds`` are the driver's errors."""
    match error:
        case kinds.NoCredentialsError() | kinds.PartialCredentialsError() | kinds.CredentialRetrievalError():
            return "no AWS credentials were found. Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or log in (aws configure)"
        case kinds.ProfileNotFound():
            return "your AWS files have no such profile. Check storage_options.profile or AWS_PROFILE"
        case kinds.NoRegionError():
            return "no region is known. Set AWS_REGION or storage_options.region"
        case kinds.ParamValidationError() if "bucket name" in str(error).lower():
            return _BAD_NAME
        case kinds.SSLError():
            return "the server's certificate could not be verified. Fix it there, or name its authority in AWS_CA_BUNDLE"
        case kinds.ResponseStreamingError() | kinds.IncompleteReadError():
            return CUT_SHORT
        case kinds.HTTPClientError() | kinds.ConnectionError():
            return "no answer. Is the server up, and the network? What waits is sent later"
        case _:
            return _one_line(error)


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split()).rstrip(".")
