"""The kinds of credential that redaction searches for: fixed strings first, then a pattern, then a check.

Formats are those that their makers publish (prefix, alphabet, length); every repetition is bounded, and a pattern is compiled
only when one of its fixed strings occurs. Of two kinds that find the same text, the earlier in ``KINDS`` gives it its name.

There are two sorts of fixed strings. A *head* begins a token; it is searched as written, and only in long runs of token
characters. A *word* is found beside a secret, or in one that other characters interrupt; it is searched everywhere and in any
case, which takes one more pass over the text. Kinds whose format alone is enough, and those known by their maker's name, are
in ``credentials.json``; a ``note`` there says who documents the format.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final

import orjson

from leftoff.platform.secret_values import (
    UUID,
    is_cookies,
    is_generated,
    is_key,
    is_masked,
    is_password,
    is_password_in_prose,
    is_placeholder,
    is_secret,
    is_token,
    is_user_and_password,
    secret_of,
    text_before,
)

Check = Callable[[re.Match[str]], bool]


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """One kind of credential. The secret is the last matched group of the pattern, else the whole match."""

    name: str
    heads: tuple[str, ...] = ()
    words: tuple[str, ...] = ()
    source: str
    before: int = 0  # how many characters before the fixed string the pattern begins
    check: Check | None = None

    @property
    def pattern(self) -> re.Pattern[str]:
        """The compiled pattern; it is matched at a fixed string, never searched."""
        return _compiled(self.source)


@cache
def _compiled(source: str) -> re.Pattern[str]:
    return re.compile(source, re.ASCII)


_BREAK: Final = r"(?:\s|\\{1,15}[nrt])"  # white space, as it is or as an escape in quoted JSON
_END: Final = r"(?![A-Za-z0-9])"
_QUOTE: Final = r"(?:\\{0,15}[\"'`])?"  # a quote, with the backslashes that quoted JSON puts before it
_NAME_LEFT: Final = r"(?:(?<![A-Za-z0-9_])|(?<=\\[nrt]))"
# A token begins at the edge of a word, or after an escape that ends in a letter or digit: \n, \u003d, %3D, or the
# colour codes of a terminal.
_TOKEN_LEFT: Final = (
    r"(?:(?<![A-Za-z0-9_])|(?<=\\[nrtbf])|(?<=\\u[0-9a-fA-F]{4})|(?<=%[0-9A-F]{2})"
    r"|(?<=[\[;][0-9]m)|(?<=[\[;][0-9]{2}m))"
)


def _token(row: Mapping[str, Any]) -> Kind:
    """Return the kind of a token with its own prefix; only where names begin alike must the rest look generated."""
    source, before = row["pattern"], row.get("before", 0)
    if before:  # it can begin with any character, which must not be part of an escape
        source = rf"(?<!\\){source}"
    return Kind(
        name=row["kind"],
        heads=tuple(row.get("heads", ())),
        words=tuple(row.get("words", ())),
        source=f"{_TOKEN_LEFT}{source}{_END}",
        before=before,
        check=_is_generated if row.get("generated") else _is_real,
    )


def _is_real(match: re.Match[str]) -> bool:
    """Return whether a token is more than an example such as ``ghp_xxxxxxxx``."""
    secret = secret_of(match)
    return not is_masked(secret[len(secret) // 3 :])


def _is_generated(match: re.Match[str]) -> bool:
    return _is_real(match) and is_generated(secret_of(match))


def _beside(name: str, words: str, source: str, check: Check) -> Kind:
    """Return the kind of a secret that only a word beside it reveals."""
    return Kind(name=name, words=tuple(words.split()), source=source, check=check)


# Keys in files: the marker lines stay, only the text between them is redacted. A quote ends the string that contains a key,
# unless the string continues in the next line, as in code.
_JOINT: Final = rf"\\{{0,15}}\"(?=[ \t+.\\]{{0,4}}(?:[\r\n]|\\{{1,15}}[nr]|\+))(?:{_BREAK}|[+.\\]){{1,80}}+\""
_KEY_BODY: Final = (
    rf"-----(?:((?:[^-\[\"\\]|\\{{1,15}}+[nrt/]|{_JOINT}|-{{1,4}}+(?!-)){{40,20000}}+)-----END"
    rf"|((?:{_BREAK}{{1,4}}+[A-Za-z0-9+/=]{{16,76}}+){{1,200}}+))"
)


def _is_key_body(match: re.Match[str]) -> bool:
    """Return whether the text between marker lines is a key, and not code that searches for such lines."""
    return _compiled("[A-Za-z0-9+/]{40}").search(secret_of(match)) is not None


# fmt: off
_KEY_FILES: Final = (
    _beside("pgp-private-key", "key", rf"(?<=BEGIN PGP PRIVATE )KEY BLOCK{_KEY_BODY}", _is_key_body),
    _beside("openssh-private-key", "key", rf"(?<=BEGIN OPENSSH PRIVATE )KEY{_KEY_BODY}", _is_key_body),
    _beside("private-key", "key", rf"(?<=PRIVATE )(?<!OPENSSH PRIVATE )KEY{_KEY_BODY}", _is_key_body),
    _beside("putty-private-key", "key",
            r"(?<=PuTTY-User-)Key-File-[23]: [^\[\"]{20,2500}?Private-Lines: [0-9]{1,3}"
            rf"((?:{_BREAK}{{1,4}}+[A-Za-z0-9+/=]{{1,64}}+(?!-)){{1,120}}+)", _is_key_body),
    _beside("kubernetes-client-key", "key",
            rf"(?i)(?<=client-)key-data{_QUOTE}[ ]?:[ ]?{_QUOTE}([A-Za-z0-9+/]{{64,8000}}+={{0,2}})", _is_key_body),
)
# fmt: on


def _is_random(match: re.Match[str]) -> bool:
    return not is_placeholder(secret_of(match)) and is_generated(secret_of(match))


def _is_user(match: re.Match[str]) -> bool:
    return is_user_and_password(secret_of(match))


def _has_session(match: re.Match[str]) -> bool:
    return is_cookies(secret_of(match))


def _is_given_password(match: re.Match[str]) -> bool:
    """Return whether the text in the place of a password is one, and not a template or the word itself."""
    secret = secret_of(match)
    return not is_placeholder(secret) and secret.lower() not in {"password", "passwd", "pwd"}


def _is_option(match: re.Match[str]) -> bool:
    """Return whether the value belongs to an option such as ``--token``; after the bare word it would be prose."""
    option = _compiled(r"(?:^|[\s\"'`=(])--(?:[a-z]{1,20}-){0,3}$").search(text_before(match, 60))
    return option is not None and _is_random(match)


def _is_short_option(match: re.Match[str]) -> bool:
    """Return whether ``-p`` belongs to a program that takes a password there; for MySQL without a blank before it."""
    programs = "sshpass|docker[ ]login" + ("" if match["blank"] else "|(?:mysql|mariadb)(?:dump|admin)?")
    program = _compiled(rf"(?:{programs})(?:[ ][^\r\n|;&]{{0,200}})?\Z").search(text_before(match, 220))
    return program is not None and _is_given_password(match)


def _is_passwd_argument(match: re.Match[str]) -> bool:
    """Return whether a program takes the value as a password; ``pass:`` counts after an option of OpenSSL only."""
    if match[0].startswith("pass:") and not _compiled(rf"-pass(?:in|out)?[ =]{_QUOTE}\Z").search(
        text_before(match, 30)
    ):
        return False
    return _is_given_password(match)


# Requests: headers, addresses, command lines.
_HEADER: Final = rf"{_QUOTE}[ ]{{0,2}}[:=,][ ]{{0,2}}{_QUOTE}"
_AUTHORIZATION: Final = rf"(?i){_NAME_LEFT}authorization{_HEADER}"
_PAIR: Final = r"[\w.%-]{1,64}=[^;\s\"'\\]{0,1000}"
_OPTION: Final = r"-[A-Za-z]{1,7}(?:[ ][0-9]{1,2})?[ ]{1,2}"
_ECHOED: Final = rf"((?:[^\s\"'`\\]|\\{{1,15}}n(?=[^\s\"'`\\])){{4,200}}){_QUOTE}"
_PIPE: Final = r"[ ]{0,2}\|[ ]{0,2}(?:sudo[ ]{1,2}(?!-))?(?:/(?:usr/)?s?bin/)?"
# fmt: off
_REQUESTS: Final = (
    _beside("basic-authorization", "auth", _AUTHORIZATION + r"basic[ ]{1,2}([a-z0-9+/]{8,500}={0,2})", _is_user),
    _beside("bearer-token", "bearer", r"(?i)bearer[ \t]{1,4}([a-z0-9._~+/-]{12,4000}={0,2})", _is_random),
    _beside("authorization-header", "auth",
            _AUTHORIZATION + r"(?:(?:token|key|api-?key|oauth|digest|hmac|negotiate|splunk|sso-key)[ ]{1,2})?"
            r"([a-z0-9._~+/-]{16,2000}={0,2})", _is_random),
    _beside("set-cookie-header", "cookie",
            rf"(?i)(?<=set-)cookie{_HEADER}[\w.%-]{{1,64}}=([^;\s\"'\\]{{12,2000}})", _is_random),
    _beside("cookie-header", "cookie",
            rf"(?i){_NAME_LEFT}(?<!-)cookie{_HEADER}({_PAIR}(?:;[ ]?{_PAIR}){{0,60}})", _has_session),
    _beside("slack-webhook", "://",
            r"://hooks\.slack\.com/(?:services|workflows|triggers)/([A-Z0-9]{8,14}/[A-Z0-9]{8,20}/[A-Za-z0-9/]{20,60})" + _END, _is_real),
    _beside("discord-webhook", "://",
            r"://(?:(?:ptb|canary)\.)?discord(?:app)?\.com/api/(?:v[0-9]{1,2}/)?webhooks/[0-9]{17,20}/([\w-]{60,72})" + _END, _is_real),
    _beside("teams-webhook", "://",
            r"://[a-z0-9-]{1,63}(?:\.webhook)?\.office\.com/webhook(?:b2)?/"
            rf"({UUID}@{UUID}/IncomingWebhook/[0-9a-f]{{32}}/{UUID}){_END}", _is_real),
    _beside("azure-sas-signature", "://",
            r"://[^\s\"'`<>:?]{1,300}+(?::[0-9]{1,5}[^\s\"'`<>:?]{0,300}+)?\?[^\s\"'`<>?]{0,400}?(?:(?<=[?&;])|(?<=u0026))"
            r"sig=([A-Za-z0-9%+/_-]{43,90}(?:%3[Dd]|=){0,2})" + _END, _is_random),
    _beside("url-password", "://",
            r"://[^\s/?#@:\"'`<>\\]{0,128}:([^\s/?#@\"'`<>\\]{1,256})@(?=[\w\[${%])", _is_given_password),
    _beside("url-key", "key", r"(?<=[?&])key=([\w.~%-]{16,256})", _is_random),
    _beside("curl-user", "curl",
            rf"curl[ ][^\r\n]{{0,300}}?(?<=[ ])(?:-u|--user)[ =]?{_QUOTE}[\w.@+-]{{1,80}}:([^\s\"'`\\]{{1,200}})", _is_given_password),
    Kind(name="short-password-option", words=(" -p",),
         source=rf"[ ]-p(?P<blank>[ ]?){_QUOTE}([^\s\"'`\\]{{4,200}})", check=_is_short_option),
    _beside("redis-password", "redis-cli",
            rf"redis-cli[ ][^\r\n|;&]{{0,200}}?(?<=[ ])(?:-a|--pass)[ ]{{1,2}}{_QUOTE}([^\s\"'`\\]{{4,200}})", _is_given_password),
    _beside("passwd-password", "pass",
            rf"(?:(?<=ht)passwd[ ](?=(?:{_OPTION}){{0,3}}-[A-Za-z]{{0,6}}b)(?:(?=(?:{_OPTION}){{0,3}}-[A-Za-z]{{0,6}}n)(?:{_OPTION}){{1,4}}+"
            rf"|(?:{_OPTION}){{1,4}}+\S{{1,200}}[ ])\S{{1,80}}[ ]{{1,2}}{_QUOTE}"
            rf"|(?<=ch)passwd[ ]{{0,2}}(?:<<<[ ]?{_QUOTE}|<<-?[ ]?{_QUOTE}\w{{1,20}}{_QUOTE}{_BREAK}{{1,3}})[\w.-]{{1,32}}:"
            r"|pass:)([^\s\"'`\\<]{4,200})", _is_passwd_argument),
    _beside("piped-password", "echo",
            rf"echo[ ]{{1,2}}(?:-[neE]{{1,3}}[ ]{{1,2}})?{_QUOTE}(?:[\w.-]{{1,32}}:{_ECHOED}{_PIPE}chpasswd|{_ECHOED}{_PIPE}"
            r"(?:sudo[ ](?:[^\r\n|;&]{0,60}?[ ])?(?:-[A-Za-z]{0,6}S|--stdin)|(?:smb)?passwd"
            r"|[\w./-]{1,40}[ ][^\r\n|;&]{0,200}?--password-stdin))(?![\w-])", _is_given_password),
    _beside("command-line-secret", "pass token secret key",
            rf"(?i)(?<=-)(?:password|passphrase|token|secret|key)[ ]{{1,2}}{_QUOTE}([^\s\"'`\\]{{6,500}})", _is_option),
)
# fmt: on


def _is_netrc(match: re.Match[str]) -> bool:
    word = rf"[^\s\\]{{1,100}}+{_BREAK}{{1,8}}+"
    login = rf"(?:machine{_BREAK}{{1,8}}+{word}|default{_BREAK}{{1,8}}+)login{_BREAK}{{1,8}}+{word}\Z"
    return _compiled(login).search(text_before(match, 300)) is not None and _is_given_password(match)


def _is_pgpass(match: re.Match[str]) -> bool:
    """Return whether a line has the five fields of ``.pgpass``, and is not a place in a file or a mapping of ports."""
    host = _compiled(r"(?:\A|[\s\"'`]|\\[nrt])[\w.*-]{1,253}\Z").search(text_before(match, 255))
    return host is not None and not match["database"].isdigit() and _is_given_password(match)


def _is_mixed(match: re.Match[str]) -> bool:
    """Return whether the value has letters beyond f: forty hexadecimal digits are a commit, not a secret of AWS."""
    return _compiled("[G-Zg-z]").search(secret_of(match)) is not None


def _named(row: Mapping[str, Any]) -> Kind:
    """Return the kind of a value without its own format, known by its maker's name in the 40 characters before."""

    def is_named(match: re.Match[str]) -> bool:
        return _compiled(rf"(?i){_NAME_LEFT}(?:{row['maker']})").search(text_before(match, 40)) is not None

    between = rf"(?=[\s\"'`\\:=]){_QUOTE}(?:[ ]is)?[ ]{{0,2}}(?:=>|[:=])?[ ]{{0,2}}{_QUOTE}"
    source = rf"(?i){row['word']}{between}((?-i:{row['pattern']}))(?![\w-])"
    return _beside(row["kind"], row["word"], source, is_named)


# Settings: what file formats call their secrets.
# fmt: off
_SETTINGS: Final = (
    _beside("aws-secret-key", "secret",
            rf"(?i)secret[ _-]?(?:access[ _-]?)?key(?:{_BREAK}|[\"'`:=>,|\\]){{1,12}}+(?-i:(?:A[KS]IA[A-Z2-7]{{16}},)?"
            r"([A-Za-z0-9+/]{40}))(?![A-Za-z0-9+/=])", _is_mixed),
    _beside("azure-storage-key", "key", rf"(?i)(?<=account)key{_HEADER}([a-z0-9+/]{{86}}==)", _is_real),
    _beside("wireguard-key", "key",
            r"(?:(?<=Private)|(?<=Preshared))Key[ ]{0,2}=[ ]{0,2}([A-Za-z0-9+/]{42}[AEIMQUYcgkosw048]=)", _is_real),
    _beside("netrc-password", "pass", rf"password{_BREAK}{{1,8}}([^\s\"'\\]{{1,200}})", _is_netrc),
    _beside("pgpass-password", ":543",
            r":543[0-9]:(?P<database>[^\s:\"'`\\]{1,64}):[^\s:\"'`\\]{1,64}:([^\s:\"'`\\]{1,200})(?=[\s\"'`\\]|\Z)", _is_pgpass),
    _beside("npmrc-auth", "auth", rf"(?i)(?<=:_)auth(?:token)?[ ]?=[ ]?{_QUOTE}([a-z0-9+/_.-]{{8,500}}={{0,2}})", _is_real),
    _beside("docker-auth", "auth",
            rf"(?<=[\"'])auth{_QUOTE}[ ]?:[ ]?{_QUOTE}([A-Za-z0-9+/]{{8,500}}={{0,2}})(?=\\{{0,15}}\")", _is_user),
)
# fmt: on

# Assignments: a name that ends in a word such as token, in any notation, and a value that is checked.
_SUFFIX: Final = (
    r"(?:[_-]?(?:base|value|prod|production|dev|staging|test|live|old|new|v?[0-9]{1,2})(?![A-Za-z0-9]))?"
    r"(?:\\{0,15}[\"'`]\]?)?\*{0,2}"
)
_SEPARATOR: Final = (
    r"[ \t]{0,12}(?:"
    r":[ ]?[A-Za-z][\w.]{0,20}(?:\[\w{1,20}\])?(?:[ ]\|[ ]None)?[ ]?=(?=[ ]?[bru]?[\"'])"  # name: str = "value"
    rf"|(?:,|{_BREAK}){{1,40}}+\\{{0,15}}[\"']?value\\{{0,15}}[\"']?[ ]?[:=]"  # name: NAME, value: VALUE
    r"|:=|=>|={1,3}|:"
    r"|(?<=[\"'`]),(?=[ ]?[\"'`])"  # setenv("NAME", "value")
    r"|>"  # <name>value</name>
    r"|(?<=[ ])(?=')"  # ALTER USER name PASSWORD 'value'
    r")\*{0,2}[ \t]{0,12}"
)
_VALUE: Final = (
    # Quoted n times as JSON, a quote has 2**n - 1 backslashes and one inside the value has 2 * 2**n - 1; a quote
    # with fewer ends the text around the value, and no value extends beyond it.
    r"(?-i:[bruBRU@]{0,2}(?P<escape>\\{0,15})(?P<quote>[\"'`])(?P<quoted>(?:[^\s\"'`\\]|(?!(?P=quote))['`]"
    r"|(?<!\\)(?P=escape){2}\\(?P=quote)|\\{1,31}+(?![\"'`nrt])){1,2000}+)(?:(?:(?P=escape){2}\\\\)?(?P=escape)(?P=quote)|\Z)"
    r"|(?<=>)(?P<element>[^\s<>\"'\\]{1,256})(?=</)"
    r"|(?<=[A-Z0-9]=)(?P<env>[^\s\"'`\\]{1,2000})"
    # an unquoted value that fills its line can contain what would end one in code
    r"|(?P<line>(?:[^\s\"'`\\&;<>|:]{1,64}+|:(?!//)|[&;](?![\w.-]{1,40}=)){1,8}+(?<![,;)\]}]))"
    r"(?=[ \t]{0,8}(?:[\r\n]|\\{1,15}[nr]|\Z))"
    r"|(?P<bare>[^\s\"'`\\,;&<>()\[\]{}|=]{1,2000}={0,2}))"
)
_PASSWORD: Final = (
    r"password|passwd|passphrase|passwort|passcode|(?<=[_\-\"'?&;])pass|(?-i:(?<=[a-z])Pass)|(?<![a-z])pwd"
)


def _assignment(name: str, words: str, noun: str, check: Check) -> Kind:
    return _beside(name, words, rf"(?i)(?P<noun>{noun}){_SUFFIX}(?P<sep>{_SEPARATOR}){_VALUE}", check)


_ASSIGNMENTS: Final = (
    _assignment("password", "pass pw", _PASSWORD, is_password),
    _assignment("secret", "secret", "secret", is_secret),
    _assignment("token", "token _pat", "token|_pat", is_token),
    _assignment("api-key", "key", "key", is_key),
)

# Prose: "the password for the shop is hunter2", "set the password to hunter2", "user bob, pass hunter2".
_OWNER: Final = (
    r"[ ](?:for|of|on|at|in|from|f\u00fcr|von|vom|zum|zur)[ ](?:[^\r\n.;:!?\"'`\\]|\.(?=\w)){1,60}?"
)
_VERB: Final = (
    r"[ ](?:is|was|to|lautet|ist|war|auf|est|es|\u00e8|\u00e9)"
    r"(?:[ ](?:now|still|just|simply|currently|set[ ]to|changed[ ]to|jetzt|nun|noch))?"
)
_PROSE: Final = (
    _beside(
        "password-in-prose",
        "pass pw",
        r"(?i)(?P<noun>password|passwort|passphrase|passcode|passwd|(?<![a-z0-9_.-])(?:pass|pwd?))(?![a-z0-9_-])"
        rf"(?:\*\*|{_QUOTE})(?P<verb>(?:{_OWNER})?{_VERB})?(?::?[ ]{{1,2}}|:{_BREAK}{{1,3}})(?:\*\*)?"
        r"(?:\\{0,15}[\"'`](?P<quoted>[^\s\"'`\\]{4,128})(?=\\{0,15}[\"'`])"
        r"|(?P<bare>[^\s\"'`\\]{3,127}[^\s\"'`\\.,;:?)\]}>]))",
        is_password_in_prose,
    ),
)

_FORMATS: Final = orjson.loads(Path(__file__).with_suffix(".json").read_bytes())
KINDS: Final[tuple[Kind, ...]] = (
    *[_token(row) for group, rows in _FORMATS.items() if group != "named" for row in rows],
    *(*_KEY_FILES, *_REQUESTS, *_SETTINGS),
    *map(_named, _FORMATS["named"]),
    *(*_ASSIGNMENTS, *_PROSE),
)
