"""Decides whether a value in the place of a secret is one, or code, a template or a placeholder.

What people write beside "password" without revealing one (``input()``, ``str``, ``${TOKEN}``, ``changeme``, ``config.get``,
``refresh_token``) is not a secret; a random string is. A password may be weak; a token, key or secret must look generated."""

from __future__ import annotations

import base64
import binascii
import re
from functools import cache
from typing import Final

_MARKER_LENGTH: Final = 60  # characters at most of [REDACTED:...]
_ENOUGH: Final = 100  # only so many characters are examined; placeholders are shorter

# Texts that are meant to be replaced, whatever surrounds them; in small letters, which is faster than ignoring case.
_PLACEHOLDER: Final = (
    r"(?<![a-z])(?:your|example|change[_-]?(?:me|it|this)|replace|placeholder|redacted|dummy|fake|insert|todo)"
    r"|xxx|\*\*\*|\.\.\.|\u2026|\u2022\u2022|^(?:null|none|nil|true|false|undefined)$"
    r"|^#[0-9a-f]{3,8}$|^\$[0-9a-z]{1,12}\$|^\^|^\||^\[|\$[{(]|\{\{|\}\}|#\{|%[(s]|\{\w*\}|<[\w -]*>"
)
_REFERENCE: Final = (
    r"[$%@!&?:#.{(-]{1,3}[A-Za-z_][\w.]*[%})]{0,2}"  # $TOKEN, %TOKEN%, {token}, :token, @token
)
_LOCATION: Final = (
    r"://|^[A-Za-z]:\\|^arn:"
    r"|\.(?:pem|key|crt|json|ya?ml|toml|txt|env|md|py|ts|js|go|rs|java)$"
)
UUID: Final = r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}"
_WORD: Final = r"[A-Za-z]*[0-9]{0,6}"
_CAMEL: Final = r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|[0-9]+"  # the words that camel case joins
_TYPE: Final = r"[A-Z][a-z]+[A-Za-z0-9]*"
_CONSTANT: Final = r"(?:\w+\.)*[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+"
_PATH: Final = r"(?:\.{1,2}|~)?/[\w./-]*"
_CALL: Final = r"^[A-Za-z_][\w.:]*[(\[]"
_NOT_NAME: Final = r"[^\w.:>/+*|-]"  # a character that joins no names in code
_UNQUOTED: Final = ("line", "bare")
_CODE_GOES_ON: Final = ("(", "[", "{")
_LINE_ENDS: Final = ("", "\n", "\r", "\\", '"', "'", "`", ";", "&", "<")
_NO_CREDENTIAL: Final = (  # marks of pages, of ends and of words: tokens that open nothing
    r"(?i)(?:page|next|continuation|continue|cursor|sync|resume|start|end|stop|pad|bos|eos|unk|mask|sep|cls"
    r"|special|cancell?ation|cancel)[_-]?$"
)
_KEY_OWNER: Final = (
    r"(?i)(?:api|access|secret|private|auth|authentication|encryption|signing|master|app|service|admin|deploy"
    r"|session|jwt|hmac|webhook|license|write|ingest)[ _-]?$"
)
# Words that forms, schemas and messages put beside "password": a value of letters counts only without them.
_FORM_WORDS: Final = """
a abc access admin and any api app auth authentication authorization bar base basic baz bearer bool
bytes change char client config confirm confirmation confirmed credential credentials csrf current data
default disabled empty enabled encrypted enter env error expired field file foo forgot form from
generate get hash header hidden hint id in incorrect input int invalid is it jwt key label length login
manager masked match max min missing mock must my name new no not number object of off ok oauth old on
optional or params pass passphrase passwd password passwords path plain plaintext please private prompt
props public pw pwd read refresh request required reset root sample secret secrets select self sensitive
service session set show state static str string strong subject temp test testing text the this to token
tokens type unknown update url use user username value var varchar visible weak with write wrong xyz yes
"""
_VOCABULARY: Final = frozenset(_FORM_WORDS.split())
# What "the password is ..." says about one without revealing it.
_ALGORITHM: Final = (
    r"(?i)(?:aes|argon|base|bcrypt|blowfish|cp|crc|crypt|des|ed|hmac|http|ipv|iso|latin|md|ntlm|oauth|pbkdf|rc|rot|rsa|scrypt"
    r"|sha|ssl|tls|utf|v|win|x)[0-9]{0,5}(?:id|i|d)?"
)
_AMOUNT: Final = r"(?i)[0-9]{1,3}(?:bit|byte|char|digit|st|nd|rd|th)?s?(?:[-+]|$)"
_DESCRIPTION: Final = (
    r"(?i)(?:able|ed|en|ent|ible|ing|ive|ory|own|correct|wrong|valid|empty|same|weak|strong|safe)$"
)
# "S3-backed", "3rd-party", "end-to-end-encrypted", "what-you-typed", "RFC2617": words and names of standards.
_COMPOUND: Final = (
    r"(?i)(?:^|-)(?:[a-z]{2,}(?:able|ed|ing)|and|based|before|end|free|in|of|only|party|the|to|you)(?:-|$)"
    r"|^(?:cve|din|iso|pep|rfc)-?[0-9]"
)
_UNIT: Final = r"[ ][a-z]"
_USER_BEFORE: Final = (
    r"(?i)(?:user(?:name)?|login|account|benutzer(?:name)?)[ :=]{1,3}\\{0,15}[\"'`]?[\w.@+-]{1,64}\\{0,15}[\"'`]?[ ,;/]{1,3}"
    r"(?:(?:and|und|with|mit)[ ])?(?:the[ ]|das[ ])?\Z"
)


def is_password(match: re.Match[str]) -> bool:
    """Return whether the value assigned to a password is one; people choose short and readable ones."""
    value = secret_of(match)
    if not _is_assigned(match, value):
        return False
    if match.lastgroup in _UNQUOTED:
        return _is_bare_password(value.rstrip("."), match)
    if not _has_digit(value):
        return len(value) >= 8 and not _is_known(value)
    return len(words := _words(value)) < 2 or not all(word.isdigit() or word in _VOCABULARY for word in words)


def _is_bare_password(value: str, match: re.Match[str]) -> bool:
    """Return whether an unquoted value is a password, and not a name, call or type in code."""
    following = _following(match)
    if following in _CODE_GOES_ON or _matches(_CALL, value):
        return False
    if not _has_digit(value) or value.isdigit():
        return False
    if _matches(_NOT_NAME, value) or not is_wordy(value):
        return True
    # "password: hunter2" ends its line; "password=pw2, " and "password = saved2" are code.
    if following not in _LINE_ENDS or match["sep"].endswith("= "):
        return False
    return value.isalnum() and value.rstrip("0123456789").lower() not in _VOCABULARY


def is_password_in_prose(match: re.Match[str]) -> bool:
    """Return whether a sentence gives a password away, and does not describe one: "is required", "is hashed with bcrypt"."""
    value = secret_of(match)
    if len(value) < 6 or (
        match.lastgroup == "bare" and value.isalpha() and value[1:].islower()
    ):  # "required"
        return False
    if is_placeholder(value) or _is_location(value) or _names_an_algorithm(value):
        return False
    if _following(match) in _CODE_GOES_ON or _matches(r"[(){}\[\]<>|=]|::", value):
        return False
    if _matches(_USER_BEFORE, text_before(match, 100)):
        return _is_told_password(value, match)
    if match["noun"].lower() == "pass":  # more often a verb: "pass to `run2`"; "the pass is hunter2" is rare
        return False
    if match["verb"]:
        return _is_told_password(value, match)
    # "password 4dm1n" gives one away, "password field2" does not.
    return _has_digit(value) and _matches("[A-Za-z]", value) and not is_wordy(value)


def _is_told_password(value: str, match: re.Match[str]) -> bool:
    if value.isdigit():
        return _compiled(_UNIT).match(match.string, match.end()) is None
    if _matches(_COMPOUND, value):
        return False
    if not is_wordy(value):
        return _matches("[A-Za-z]", value)
    if _has_digit(value):  # as hunter2 has; settings.key2 and user_2 are names
        return not _matches(r"[._/:]", value) and not all(
            word.isdigit() or word in _VOCABULARY for word in _words(value)
        )
    if _matches(r"[A-Za-z][!@#$%^*]+[A-Za-z]", value) or value.count("-") >= 3:
        return not _matches(r"@.*\.", value) and not _is_known(value)
    return (
        match.lastgroup == "quoted"
        and value[1:].islower()
        and not _is_known(value)
        and not _matches(_DESCRIPTION, value)
    )


def _names_an_algorithm(value: str) -> bool:
    """Return whether a value says how a password is kept or how long it is: ``sha256``, ``base64-encoded``, ``8-character``."""
    if _compiled(_ALGORITHM).fullmatch(value):
        return True
    if not is_wordy(value):
        return False
    first = _compiled("[A-Za-z0-9]*").match(value)
    algorithm = _compiled(_ALGORITHM).fullmatch(first[0] if first else "")
    return algorithm is not None or _compiled(_AMOUNT).match(value) is not None


def is_secret(match: re.Match[str]) -> bool:
    """Return whether the value assigned to a secret is one: generated, not a name."""
    value = secret_of(match)
    if not _is_assigned(match, value):
        return False
    if _is_exported(match):
        return _is_exported_secret(value)
    if match.lastgroup in _UNQUOTED and (len(value) < 8 or _is_code(value, match)):
        return False
    return is_generated(value)


def is_token(match: re.Match[str]) -> bool:
    """Return whether the value assigned to a token is a secret, and not a marker or an id."""
    if _matches(_NO_CREDENTIAL, text_before(match, 16)):
        return False
    if match["noun"].lower() == "_pat" and not _compiled(r"[\w-]{20,}").fullmatch(secret_of(match)):
        return False  # the name of a regular expression
    return is_secret(match) and (_is_exported(match) or _compiled(UUID).fullmatch(secret_of(match)) is None)


def is_key(match: re.Match[str]) -> bool:
    """Return whether a key protects something (``api_key``, not ``cache_key``) and has a secret value."""
    return _matches(_KEY_OWNER, text_before(match, 16)) and is_secret(match)


def _is_assigned(match: re.Match[str], value: str) -> bool:
    """Return whether a value is long enough, not a placeholder, and not the next item of a list or path."""
    if len(value) < 6 or is_placeholder(value) or _is_location(value[:_ENOUGH]):
        return False
    separator = match["sep"].strip()
    if separator == ",":  # set("TOKEN", "...") is one, ["password", "repository"] is not
        return len(value) >= 12 and is_generated(value)
    return separator != ":" or text_before(match, 1) != ":"


def _is_location(value: str) -> bool:
    """Return whether a value is an address, a path or a file name."""
    return _matches(_LOCATION, value) or (_compiled(_PATH).fullmatch(value) is not None and is_wordy(value))


def _is_exported(match: re.Match[str]) -> bool:
    """Return whether it is ``NAME=value`` in capitals without spaces: an environment variable, hardly ever code."""
    return match.lastgroup == "env" or (match["sep"] == "=" and match["noun"].isupper())


def _is_exported_secret(value: str) -> bool:
    if _matches(_CALL, value):
        return False
    if is_wordy(value) and ("." in value or _is_known(value)):
        return False
    if value.isdigit():
        return len(value) >= 10
    return _has_digit(value) or (len(value) >= 10 and not _is_known(value))


def _is_code(value: str, match: re.Match[str]) -> bool:
    """Return whether a value is a call, a constant, a dotted name or a type: ``settings.key2``, ``ApiKeyV2Response``."""
    if _following(match) in _CODE_GOES_ON or _matches(_CALL, value) or _compiled(_CONSTANT).fullmatch(value):
        return True
    return ("." in value or _compiled(_TYPE).fullmatch(value) is not None) and _mean_word_length(value) >= 3


def is_generated(value: str) -> bool:
    """Return whether a value looks randomly generated."""
    return not is_wordy(value) and (len(value) >= 12 or _has_digit(value))


def is_wordy(value: str) -> bool:
    """Return whether a value reads as words and small numbers, as names in code do: ``refresh_token_v2``."""
    chunks = _compiled("[A-Za-z0-9]+").findall(_compiled("%[0-9A-Fa-f]{2}").sub(" ", value[:_ENOUGH]))
    fits = _compiled(_WORD).fullmatch
    return all(
        (len(chunk) < 8 and chunk.isalpha()) or (fits(chunk) and not _is_scrambled(chunk)) for chunk in chunks
    )


def _is_scrambled(chunk: str) -> bool:
    """Return whether letters change case more often than in camel case, or form a word that is too long."""
    if len(chunk) < 8:
        return False
    if chunk.isalpha() and (chunk[1:].islower() or chunk.isupper()):  # one word, the usual case
        return len(chunk) > 20
    longest = max(map(len, _compiled(_CAMEL).findall(chunk)))
    return longest > 20 or _mean_word_length(chunk) < 3


def _mean_word_length(value: str) -> float:
    words = _compiled(_CAMEL).findall(value[:_ENOUGH])
    return sum(map(len, words)) / max(1, len(words))


def is_placeholder(value: str) -> bool:
    """Return whether a value is a template, a reference or a placeholder."""
    if _matches(_PLACEHOLDER, value[:_ENOUGH].lower()) or is_masked(value):
        return True
    return _compiled(_REFERENCE).fullmatch(value) is not None and is_wordy(value)


def is_masked(value: str) -> bool:
    """Return whether a value only shows what a secret looks like, such as ``xxxxxxxx`` or ``0000``."""
    return not value.strip("xX*.0_/-")


def is_user_and_password(value: str) -> bool:
    """Return whether a value is the base64 of ``user:password``; elsewhere "Basic" is followed by prose."""
    try:
        plain = base64.b64decode(value + "=" * (-len(value) % 4), validate=True)
    except binascii.Error:
        return False
    return b":" in plain and plain.isascii()


def is_cookies(value: str) -> bool:
    """Return whether a cookie looks generated; a theme or a language is not a session."""
    values = (pair.partition("=")[2] for pair in value.split(";"))
    return any(len(each) >= 12 and is_generated(each) for each in values)


def secret_of(match: re.Match[str]) -> str:
    """Return the secret of a match: its last matched group, else the whole match."""
    return str(match[match.lastindex or 0])


def text_before(match: re.Match[str], length: int) -> str:
    """Return at most ``length`` characters before a match; a redaction marker hides what precedes it."""
    before = match.string[max(0, match.start() - length - _MARKER_LENGTH) : match.start()]
    if "[REDACTED:" in before:
        before = _compiled(r"(?s).*\[REDACTED:[^\]]*\]").sub("x", before)
    return before[-length:]


def _following(match: re.Match[str]) -> str:
    return match.string[match.end() : match.end() + 1]


def _is_known(value: str) -> bool:
    return "password" in value.lower() or any(word in _VOCABULARY for word in _words(value))


def _words(value: str) -> list[str]:
    words: list[str] = _compiled("[a-z]+|[0-9]+").findall(value[:_ENOUGH].lower())
    return words


def _has_digit(value: str) -> bool:
    return _matches("[0-9]", value[:_ENOUGH])


def _matches(source: str, value: str) -> bool:
    return _compiled(source).search(value) is not None


@cache
def _compiled(source: str) -> re.Pattern[str]:
    """Return the compiled pattern. Compiling on first use keeps the import fast."""
    return re.compile(source, re.ASCII)
