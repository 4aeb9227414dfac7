"""The troubles of a bucket in words: one sentence each, what went wrong and what to do."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

NOT_S3 = "what answers there does not speak S3. Mend storage_options.endpoint_url"
OTHER_REGION = "the bucket is in another region. Mend storage_options.region"
CUT_SHORT = "the connection ended in the middle of an answer. What waits is sent later; else try again"
_WRONG_KEY = "the access key or its secret is wrong. Mend AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or your AWS profile"
_EXPIRED = "your AWS login has expired. Log in again (aws sso login)"
_WRONG_CLOCK = "this machine's clock and the service's differ by too much. Set the clock of this machine"
_BAD_NAME = "no bucket can be called so. Mend storage_options.bucket"
_ITS_OWN_TROUBLE = "the service has trouble of its own just now. What waits is sent later"
# What services answer; a number is the status of an answer that says no more.
_CODES: Mapping[str, str] = {
    "NoSuchBucket": "there is no such bucket. Create it, or mend storage_options.bucket",
    "InvalidBucketName": _BAD_NAME,
    "InvalidAccessKeyId": _WRONG_KEY,
    "SignatureDoesNotMatch": _WRONG_KEY,
    "ExpiredToken": _EXPIRED,
    "ExpiredTokenException": _EXPIRED,
    "InvalidToken": "the session token is not accepted. Mend AWS_SESSION_TOKEN, or log in again (aws sso login)",
    "AccessDenied": "these credentials may not use it. Reading, writing, listing and deleting are needed",
    "PermanentRedirect": OTHER_REGION,
    "AuthorizationHeaderMalformed": OTHER_REGION,
    "RequestTimeTooSkewed": _WRONG_CLOCK,
    "RequestExpired": _WRONG_CLOCK,
    # The driver calls a good answer so that is no XML: that of a web server, or of a service in trouble.
    "500": f"{NOT_S3}, or wait if it did so yesterday",
    "SlowDown": "the service asks to slow down. What waits is sent later",
    "BadDigest": "what arrived there was not what was sent; it was not kept. It is sent again later",
    **dict.fromkeys(("InternalError", "ServiceUnavailable", "502", "503", "504"), _ITS_OWN_TROUBLE),
    **dict.fromkeys(("301", "302", "303", "307", "308", "404", "405", "501"), NOT_S3),
}


def of_refusal(error: Any) -> str:
    """What a service has refused, and what to do; its own words where we know no better."""
    code = str(error.response.get("Error", {}).get("Code", ""))
    return _CODES.get(code, f"refused: {_one_line(error)}")


def of_trouble(error: Exception, kinds: Any) -> str:
    """What went wrong before or instead of an answer, and what to do. ``kinds`` are the driver's errors."""
    match error:
        case kinds.NoCredentialsError() | kinds.PartialCredentialsError() | kinds.CredentialRetrievalError():
            return "no AWS credentials were found. Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or log in (aws configure)"
        case kinds.ProfileNotFound():
            return "your AWS files have no such profile. Mend storage_options.profile or AWS_PROFILE"
        case kinds.NoRegionError():
            return "no region is known. Set AWS_REGION or storage_options.region"
        case kinds.ParamValidationError() if "bucket name" in str(error).lower():
            return _BAD_NAME
        case kinds.SSLError():
            return "the server's certificate could not be verified. Mend it there, or name its authority in AWS_CA_BUNDLE"
        case kinds.ResponseStreamingError() | kinds.IncompleteReadError():
            return CUT_SHORT
        case kinds.HTTPClientError() | kinds.ConnectionError():
            return "no answer. Is the server up, and the network? What waits is sent later"
        case _:
            return _one_line(error)


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split()).rstrip(".")
