"""The few things that are asked of a bucket, with boto3, and its troubles in words.

The driver is loaded when the bucket is first spoken to, never before. Credentials come from the usual AWS_* environment and files.
"""

from __future__ import annotations

import base64
import hashlib
import importlib
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple, TypeVar

from leftoff.errors import ConfigError, LeftoffError, StorageError, UnreachableError
from leftoff.stores import options as user_options
from leftoff.stores.packed import MOST_BYTES

Answer = TypeVar("Answer")


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
        """Write an object, whole: the service compares the sum before it takes it."""
        md5 = base64.b64encode(hashlib.md5(body, usedforsecurity=False).digest()).decode()
        self._asked(
            lambda client: client.put_object(
                Bucket=self._bucket.name, Key=key, Body=body, ContentMD5=md5, ContentType="application/json"
            )
        )

    def get(self, key: str) -> bytes | None:
        """What is in it, one byte more than a log may have at most; None when there is no such object."""

        def read(client: Any) -> bytes | None:
            try:
                data: bytes = client.get_object(Bucket=self._bucket.name, Key=key)["Body"].read(
                    MOST_BYTES + 1
                )
            except client.exceptions.NoSuchKey:
                return None
            return data

        return self._asked(read)

    def delete(self, key: str) -> None:
        """Take it away; one that is gone already is gone."""
        self._asked(lambda client: client.delete_object(Bucket=self._bucket.name, Key=key))

    def delete_all(self, keys: Sequence[str]) -> None:
        """Take them away in any order: in one question, or one by one where the service knows no such question."""
        if len(keys) > 1:
            what = {"Objects": [{"Key": key} for key in keys], "Quiet": True}
            with suppress(StorageError):
                self._asked(lambda client: client.delete_objects(Bucket=self._bucket.name, Delete=what))
                return
        for key in keys:
            self.delete(key)

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
        except ConfigError:
            raise
        except driver.exceptions.ClientError as error:
            code = str(error.response.get("Error", {}).get("Code", ""))
            raise StorageError(
                f"{self._bucket.where}: {_CODES.get(code, f'refused: {error}').rstrip('.')}."
            ) from error
        except (driver.exceptions.HTTPClientError, driver.exceptions.ConnectionError) as error:
            raise UnreachableError(f"{self._bucket.where}: {_words(error, driver.exceptions)}.") from error
        except (driver.exceptions.BotoCoreError, ValueError) as error:
            raise StorageError(f"{self._bucket.where}: {_words(error, driver.exceptions)}.") from error

    def _connected(self, driver: _Driver) -> Any:
        config = driver.config.Config(
            connect_timeout=3,
            read_timeout=8,
            retries={"mode": "standard", "total_max_attempts": 2},
            # Services other than Amazon's do not all know the newer sums; ours stands in the object's name.
            request_checksum_calculation="when_required",
            response_checksum_validation="when_required",
        )
        bucket = self._bucket
        session = driver.session.Session(profile_name=bucket.profile, region_name=bucket.region)
        region = session.region_name or ("us-east-1" if bucket.endpoint_url else None)
        client = session.client("s3", endpoint_url=bucket.endpoint_url, region_name=region, config=config)
        # The AWS environment and files may name another address than the settings do.
        user_options.require_encrypted(
            client.meta.endpoint_url,
            named="AWS_ENDPOINT_URL or your AWS files",
            allowed=bucket.allow_unverified,
        )
        return client


class _Driver(NamedTuple):
    """What is used of boto3."""

    session: Any
    config: Any
    exceptions: Any


def _driver() -> _Driver:
    """Loaded by those who speak to a bucket: it takes as long as all the rest of a command."""
    try:
        return _Driver(
            *map(importlib.import_module, ("boto3.session", "botocore.config", "botocore.exceptions"))
        )
    except ImportError as error:
        raise LeftoffError("storage: s3 needs boto3. Type: pip install 'leftoff[s3]'") from error


_WRONG_KEY = "the access key or its secret is wrong. Mend AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or your AWS profile"
_EXPIRED = "your AWS login has expired. Log in again (aws sso login)"
_CODES: Mapping[str, str] = {
    "NoSuchBucket": "there is no such bucket. Create it, or mend storage_options.bucket",
    "InvalidBucketName": "no bucket can be called so. Mend storage_options.bucket",
    "InvalidAccessKeyId": _WRONG_KEY,
    "SignatureDoesNotMatch": _WRONG_KEY,
    "ExpiredToken": _EXPIRED,
    "ExpiredTokenException": _EXPIRED,
    "AccessDenied": "these credentials may not use it. Reading, writing, listing and deleting are needed",
    "PermanentRedirect": "the bucket is in another region. Mend storage_options.region",
    "AuthorizationHeaderMalformed": "the bucket is in another region. Mend storage_options.region",
    "SlowDown": "the service asks to slow down. What waits is sent later",
    "BadDigest": "what arrived there was not what was sent; it was not kept. It is sent again later",
}


def _words(error: Exception, kinds: Any) -> str:
    """What went wrong and what to do."""
    match error:
        case kinds.NoCredentialsError() | kinds.PartialCredentialsError() | kinds.CredentialRetrievalError():
            return "no AWS credentials were found. Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or log in (aws configure)"
        case kinds.ProfileNotFound():
            return "your AWS files have no such profile. Mend storage_options.profile or AWS_PROFILE"
        case kinds.NoRegionError():
            return "no region is known. Set AWS_REGION or storage_options.region"
        case kinds.ParamValidationError():
            return _CODES["InvalidBucketName"]
        case kinds.SSLError():
            return "the server's certificate could not be verified. Mend it there, or name its authority in AWS_CA_BUNDLE"
        case kinds.HTTPClientError() | kinds.ConnectionError():
            return "no answer. Is the server up, and the network? What waits is sent later"
        case _:
            return str(error).rstrip(".")
