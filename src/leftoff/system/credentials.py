"""The kinds of credential that are looked for: fixed strings first, then a pattern, then a check.

Promises formats as their makers publish them (prefix, alphabet, length), every repetition bounded, and nothing
compiled before one of a kind's fixed strings was seen. A kind that stands earlier in ``KINDS`` gives its name to
what two kinds find alike. Leaves out: reading text (``redaction``) and judging values (``secret_values``).

Two sorts of fixed strings: a *head* begins a token, is looked for as it is written, and only where many token
characters stand in a row; a *word* stands beside a secret, and is looked for everywhere and in any case.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from typing import Final

from leftoff.model.values import dataclass
from leftoff.system.secret_values import (
    is_cookies,
    is_generated,
    is_key,
    is_masked,
    is_password,
    is_secret,
    is_stand_in,
    is_token,
    is_user_and_password,
    secret_of,
    text_before,
)

Check = Callable[[re.Match[str]], bool]


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """One kind of credential. The secret is the last group of the pattern that took part, else the whole match."""

    name: str
    heads: tuple[str, ...] = ()
    words: tuple[str, ...] = ()
    source: str
    before: int = 0  # how many characters ahead of the fixed string the pattern is matched
    check: Check | None = None

    @property
    def pattern(self) -> re.Pattern[str]:
        """The compiled pattern; it is matched where a fixed string stands, never searched for."""
        return _compiled(self.source)


@cache
def _compiled(source: str) -> re.Pattern[str]:
    return re.compile(source, re.ASCII)


_UUID: Final = r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}"
_BREAK: Final = r"(?:\s|\\{1,15}[nrt])"  # white space, as it is or as an escape in quoted JSON
_END: Final = r"(?![A-Za-z0-9])"
_QUOTE: Final = r"(?:\\{0,15}[\"'`])?"  # a quote, with the backslashes that quoted JSON puts before it
_NAME_LEFT: Final = r"(?:(?<![A-Za-z0-9_])|(?<=\\[nrt]))"
# A token begins at the edge of a word, or behind an escape that ends in a letter or digit: \n, \u003d, %3D, or
# the colour codes of a terminal.
_TOKEN_LEFT: Final = (
    r"(?:(?<![A-Za-z0-9_])|(?<=\\[nrtbf])|(?<=\\u[0-9a-fA-F]{4})|(?<=%[0-9A-F]{2})"
    r"|(?<=[\[;][0-9]m)|(?<=[\[;][0-9]{2}m))"
)


def _token(name: str, heads: str, source: str, *, before: int = 0) -> Kind:
    """A token with a prefix of its own: its format says enough, its value is not judged."""
    if before:  # its first character may be any, so it must not be that of an escape
        source = rf"(?<!\\){source}"
    source = f"{_TOKEN_LEFT}{source}{_END}"
    return Kind(name=name, heads=tuple(heads.split()), source=source, before=before, check=_is_real)


def _is_real(match: re.Match[str]) -> bool:
    """``ghp_xxxxxxxx`` shows what a token looks like; it opens nothing."""
    secret = secret_of(match)
    return not is_masked(secret[len(secret) // 3 :])


# fmt: off
_MODELS: Final = (
    _token("anthropic-key", "sk-ant-", r"sk-ant-(?:api|admin|oat|ort|sid)[0-9]{2}-[A-Za-z0-9_-]{20,140}"),
    _token("openai-project-key", "sk-proj- sk-svcacct- sk-admin-", r"sk-(?:proj|svcacct|admin)-[A-Za-z0-9_-]{40,220}"),
    _token("openai-key", "sk-", r"sk-(?=[A-Za-z]{0,40}[0-9])[A-Za-z0-9]{20,100}"),
    _token("openrouter-key", "sk-or-v1-", r"sk-or-v1-[0-9a-f]{64}"),
    _token("google-api-key", "AIza", r"AIza[A-Za-z0-9_-]{35}"),
    _token("huggingface-token", "hf_ api_org_", r"(?:hf|api_org)_[A-Za-z0-9]{34}"),
    _token("groq-key", "gsk_", r"gsk_[A-Za-z0-9]{52}"),
    _token("xai-key", "xai-", r"xai-[A-Za-z0-9]{80}"),
    _token("replicate-token", "r8_", r"r8_[A-Za-z0-9]{37}"),
    _token("perplexity-key", "pplx-", r"pplx-[A-Za-z0-9]{48}"),
    _token("nvidia-key", "nvapi-", r"nvapi-[A-Za-z0-9_-]{64}"),
    _token("langsmith-key", "lsv2_", r"lsv2_(?:pt|sk)_[0-9a-f]{32}_[0-9a-f]{10}"),
    _token("tavily-key", "tvly-", r"tvly-(?:dev-|prod-)?[A-Za-z0-9]{32}"),
    _token("elevenlabs-key", "sk_", r"sk_[0-9a-f]{48}"),
)
_CLOUDS: Final = (
    _token("aws-access-key-id", "AKIA ASIA ABIA ACCA", r"A(?:KI|SI|BI|CC)A[A-Z2-7]{16}"),
    _token("aws-bedrock-key", "ABSK", r"ABSK[A-Za-z0-9+/]{109,269}={0,2}"),
    _token("google-oauth-token", "ya29.", r"ya29\.[A-Za-z0-9_-]{20,400}"),
    _token("google-refresh-token", "1//0", r"1//0[A-Za-z0-9_-]{38,120}"),
    _token("google-client-secret", "GOCSPX-", r"GOCSPX-[A-Za-z0-9_-]{28}"),
    _token("digitalocean-token", "dop_v1_ doo_v1_ dor_v1_", r"do[opr]_v1_[0-9a-f]{64}"),
    _token("cloudflare-origin-key", "v1.0-", r"v1\.0-[0-9a-f]{24}-[0-9a-f]{146}"),
    _token("heroku-key", "HRKU-AA", r"HRKU-AA[A-Za-z0-9_-]{58}"),
    _token("alibaba-key-id", "LTAI", r"LTAI[A-Za-z0-9]{20}"),
    _token("fly-token", "fo1_", r"fo1_[A-Za-z0-9_-]{43}"),
    _token("vault-token", "hvs. hvb. hvr.", r"hv[bsr]\.[A-Za-z0-9_-]{24,300}"),
    _token("terraform-token", "atlasv1.", r"[A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9_-]{60,70}", before=15),
    _token("pulumi-token", "pul-", r"pul-[0-9a-f]{40}"),
    _token("databricks-token", "dapi", r"dapi[0-9a-f]{32}(?:-[0-9])?"),
    _token("planetscale-token", "pscale_", r"pscale_(?:tkn|pw|oauth)_[A-Za-z0-9_.-]{32,64}"),
    _token("supabase-key", "sbp_ sb_secret_", r"(?:sbp_[0-9a-f]{40}|sb_secret_[A-Za-z0-9_-]{22}_[A-Za-z0-9_-]{8})"),
    _token("doppler-token", "dp.", r"dp\.(?:pt|st|ct|sa|scim|audit)\.(?:[a-z0-9_-]{2,35}\.)?[A-Za-z0-9]{40,44}"),
    _token("openshift-token", "sha256~", r"sha256~[A-Za-z0-9_-]{43}"),
    _token("tailscale-key", "tskey-", r"tskey-(?:auth|api|client|scim|webhook)-[A-Za-z0-9]{8,20}-[A-Za-z0-9]{20,48}"),
)
_CODE_HOSTS: Final = (
    _token("github-token", "ghp_", r"ghp_[A-Za-z0-9]{36}"),
    _token("github-oauth-token", "gho_", r"gho_[A-Za-z0-9]{36}"),
    _token("github-app-token", "ghu_ ghs_", r"gh[us]_[A-Za-z0-9]{36}"),
    _token("github-refresh-token", "ghr_", r"ghr_[A-Za-z0-9]{36,76}"),
    _token("github-fine-grained-token", "github_pat_", r"github_pat_[A-Za-z0-9]{22}_[A-Za-z0-9]{59}"),
    _token("gitlab-token", "glpat-", r"glpat-(?:[A-Za-z0-9_-]{27,300}\.[0-9a-z]{2}\.?[0-9a-z]{7}|[A-Za-z0-9_-]{20})"),
    _token("gitlab-runner-token", "glrt- glrtr- gldt- glcbt- glptt- glft- glimt- glagent- gloas- glsoat- glffct- GR1348941",
           r"(?:gl(?:rtr?|dt|cbt|ptt|ft|imt|agent|oas|soat|ffct)-|GR1348941)[A-Za-z0-9_-]{20,64}"),
    _token("bitbucket-token", "ATBB ATCTT3", r"(?:ATBB[A-Za-z0-9]{32}|ATCTT3[A-Za-z0-9_=-]{150,220})"),
    _token("atlassian-token", "ATATT3", r"ATATT3[A-Za-z0-9_=-]{150,220}"),
    _token("circleci-token", "CCIPAT_ CCIPRJ_", r"CCIP(?:AT|RJ)_[A-Za-z0-9]{20,24}_[0-9a-f]{40}"),
    _token("buildkite-token", "bkua_", r"bkua_[0-9a-f]{40}"),
    _token("npm-token", "npm_", r"npm_[A-Za-z0-9]{36}"),
    _token("pypi-token", "pypi-AgEI pypi-AgEN", r"pypi-AgE(?:IcHlwaS5vcmc|NdGVzdC5weXBpLm9yZw)[A-Za-z0-9_-]{50,1000}"),
    _token("rubygems-key", "rubygems_", r"rubygems_[0-9a-f]{48}"),
    _token("crates-token", "cio", r"cio[A-Za-z0-9]{32}"),
    _token("nuget-key", "oy2", r"oy2[a-z0-9]{43}"),
    _token("docker-token", "dckr_", r"dckr_(?:pat_[A-Za-z0-9_-]{27}|oat_[A-Za-z0-9_-]{32})"),
    _token("sonar-token", "squ_ sqp_ sqa_", r"sq[upa]_[0-9a-f]{40}"),
    _token("sourcegraph-token", "sgp_", r"sgp_(?:[0-9a-fA-F]{16}_|local_)?[0-9a-fA-F]{40}"),
)
_SERVICES: Final = (
    _token("slack-token", "xox", r"xox(?:[abeoprs]-(?:[A-Za-z0-9]{1,14}-){0,4}[A-Za-z0-9]{10,200}|e\.xox[bp]-1-[A-Za-z0-9]{160,170})"),
    _token("slack-app-token", "xapp-", r"xapp-[0-9]-[A-Z0-9]{8,14}-[0-9]{10,14}-[0-9a-f]{64}"),
    # its first part is the base64 of a number, which can only begin so
    _token("discord-bot-token", "MD MT Mj Mz ND NT Nj Nz OD OT Oj Oz",
           r"[MNO][DTjz][A-Za-z0-9_-]{22,26}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,38}"),
    _token("telegram-bot-token", "AA", r"(?<=[0-9]{8}:)AA[A-Za-z0-9_-]{33}"),
    _token("stripe-key", "sk_live_ sk_test_ rk_live_ rk_test_", r"[rs]k_(?:live|test)_[A-Za-z0-9]{16,247}"),
    _token("webhook-signing-secret", "whsec_", r"whsec_[A-Za-z0-9+/]{32,88}={0,2}"),
    _token("twilio-key", "SK", r"SK[0-9a-f]{32}"),
    _token("sendgrid-key", "SG.", r"SG\.[A-Za-z0-9_-]{22}\.[A-Za-z0-9_-]{43}"),
    _token("mailgun-key", "key-", r"key-[0-9a-f]{32}"),
    _token("mailchimp-key", "us", r"[0-9a-f]{32}-us[0-9]{1,2}", before=33),
    _token("brevo-key", "xkeysib-", r"xkeysib-[0-9a-f]{64}-[A-Za-z0-9]{16}"),
    _token("shopify-token", "shpat_ shpca_ shppa_ shpss_", r"shp(?:at|ca|pa|ss)_[0-9a-fA-F]{32}"),
    _token("square-token", "sq0atp- sq0csp- EAAA", r"(?:sq0atp-[A-Za-z0-9_-]{22}|sq0csp-[A-Za-z0-9_-]{43}|EAAA[A-Za-z0-9_-]{60})"),
    _token("sentry-token", "sntrys_ sntryu_", r"sntry(?:u_[0-9a-f]{64}|s_eyJ[A-Za-z0-9+/]{20,400}={0,2}_[A-Za-z0-9+/]{43})"),
    _token("newrelic-key", "NRAK- NRII-", r"NR(?:AK-[A-Z0-9]{27}|II-[A-Za-z0-9_-]{32})"),
    _token("grafana-token", "glc_ glsa_", r"gl(?:c_[A-Za-z0-9+/]{32,400}={0,2}|sa_[A-Za-z0-9]{32}_[0-9a-fA-F]{8})"),
    _token("linear-key", "lin_api_ lin_oauth_", r"lin_(?:api_[A-Za-z0-9]{40}|oauth_[0-9a-f]{64})"),
    _token("notion-token", "ntn_ secret_", r"(?:ntn_[0-9]{11}[A-Za-z0-9]{35}|secret_[A-Za-z0-9]{43})"),
    _token("airtable-token", "pat", r"pat[A-Za-z0-9]{14}\.[0-9a-f]{64}"),
    _token("figma-token", "figd_", r"figd_[A-Za-z0-9_-]{40,43}"),
    _token("postman-key", "PMAK-", r"PMAK-[0-9a-f]{24}-[0-9a-f]{34}"),
    _token("dynatrace-token", "dt0c01.", r"dt0c01\.[A-Z2-7]{24}\.[A-Z2-7]{64}"),
    _token("plaid-token", "access-", r"access-(?:sandbox|development|production)-" + _UUID),
    _token("posthog-key", "phx_", r"phx_[A-Za-z0-9]{43,48}"),
    _token("onepassword-token", "ops_eyJ", r"ops_eyJ[A-Za-z0-9+/_-]{250,1200}={0,2}"),
    _token("mapbox-token", "sk.eyJ", r"sk\.eyJ[A-Za-z0-9_-]{50,200}\.[A-Za-z0-9_-]{22}"),
    _token("age-secret-key", "AGE-SECRET-KEY-1", r"AGE-SECRET-KEY-1[QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L]{58}"),
    _token("jwt", "eyJ", r"eyJ[A-Za-z0-9_-]{15,600}\.eyJ[A-Za-z0-9_-]{15,8000}\.[A-Za-z0-9_-]{10,1400}"),
)
# fmt: on


def _beside(name: str, words: str, source: str, check: Check) -> Kind:
    """A secret that only what stands beside it gives away."""
    return Kind(name=name, words=tuple(words.split()), source=source, check=check)


# Keys in files: the lines that say what it is stay, only what lies between them goes. A quote ends the string in
# which a key stands, unless the string goes on in the next line, as it does in code.
_JOINT: Final = rf"\\{{0,15}}\"(?=[ \t+.\\]{{0,4}}(?:[\r\n]|\\{{1,15}}[nr]|\+))(?:{_BREAK}|[+.\\]){{1,80}}+\""
_KEY_BODY: Final = (
    rf"-----(?:((?:[^-\[\"\\]|\\{{1,15}}+[nrt/]|{_JOINT}|-{{1,4}}+(?!-)){{40,20000}}+)-----END"
    rf"|((?:{_BREAK}{{1,4}}+[A-Za-z0-9+/=]{{16,76}}+){{1,200}}+))"
)


def _is_key_body(match: re.Match[str]) -> bool:
    """Code that compares with the marker lines has none of a key between them."""
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
    return not is_stand_in(secret_of(match)) and is_generated(secret_of(match))


def _is_user(match: re.Match[str]) -> bool:
    return is_user_and_password(secret_of(match))


def _has_session(match: re.Match[str]) -> bool:
    return is_cookies(secret_of(match))


def _is_given(match: re.Match[str]) -> bool:
    """Whatever stands in the place of a password is one, unless it is a template or the word itself."""
    return not is_stand_in(secret_of(match)) and secret_of(match).lower() not in {"password", "passwd", "pwd"}


def _is_option(match: re.Match[str]) -> bool:
    """``--token VALUE``: without the two dashes a value behind the word is prose."""
    option = _compiled(r"(?:^|[\s\"'`=(])--(?:[a-z]{1,20}-){0,3}$").search(text_before(match, 60))
    return option is not None and _is_random(match)


# Requests: headers, addresses, command lines.
_HEADER: Final = rf"{_QUOTE}[ ]{{0,2}}[:=,][ ]{{0,2}}{_QUOTE}"
_AUTHORIZATION: Final = rf"(?i){_NAME_LEFT}authorization{_HEADER}"
_PAIR: Final = r"[\w.%-]{1,64}=[^;\s\"'\\]{0,1000}"
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
            rf"({_UUID}@{_UUID}/IncomingWebhook/[0-9a-f]{{32}}/{_UUID}){_END}", _is_real),
    _beside("azure-sas-signature", "://",
            r"://[^\s\"'`<>:]{1,500}?[?&;]sig=([A-Za-z0-9%+/]{43,90}(?:%3D|=){0,2})" + _END, _is_random),
    _beside("url-password", "://",
            r"://[^\s/?#@:\"'`<>\\]{0,128}:([^\s/?#@\"'`<>\\]{1,256})@(?=[\w\[${%])", _is_given),
    _beside("url-key", "key", r"(?<=[?&])key=([\w.~%-]{16,256})", _is_random),
    _beside("curl-user", "curl",
            rf"curl[ ][^\r\n]{{0,300}}?(?<=[ ])(?:-u|--user)[ =]?{_QUOTE}[\w.@+-]{{1,80}}:([^\s\"'`\\]{{1,200}})", _is_given),
    _beside("short-password-option", "sshpass mysql mariadb docker",
            rf"(?:sshpass[ ]{{1,2}}-p[ ]?|(?:mysql|mariadb)(?:dump|admin)?[ ][^\r\n|;&]{{0,200}}?(?<=[ ])-p"
            rf"|docker[ ]login[ ][^\r\n|;&]{{0,200}}?(?<=[ ])-p[ ]?){_QUOTE}([^\s\"'`\\]{{4,200}})", _is_given),
    _beside("command-line-secret", "pass token secret key",
            rf"(?i)(?<=-)(?:password|passphrase|token|secret|key)[ ]{{1,2}}{_QUOTE}([^\s\"'`\\]{{6,500}})", _is_option),
)
# fmt: on


def _is_netrc(match: re.Match[str]) -> bool:
    word = rf"[^\s\\]{{1,100}}+{_BREAK}{{1,8}}+"
    login = rf"(?:machine{_BREAK}{{1,8}}+{word}|default{_BREAK}{{1,8}}+)login{_BREAK}{{1,8}}+{word}\Z"
    return _compiled(login).search(text_before(match, 300)) is not None and _is_given(match)


def _is_mixed(match: re.Match[str]) -> bool:
    """Forty hexadecimal digits are a commit; the secret of AWS has the other letters too."""
    return _compiled("[G-Zg-z]").search(secret_of(match)) is not None


def _named(name: str, owner: str, word: str, value: str) -> Kind:
    """A value without a format of its own, known by its maker's name within the 40 characters before."""

    def is_owned(match: re.Match[str]) -> bool:
        return _compiled(rf"(?i){_NAME_LEFT}(?:{owner})").search(text_before(match, 40)) is not None

    between = rf"(?=[\s\"'`\\:=]){_QUOTE}(?:[ ]is)?[ ]{{0,2}}(?:=>|[:=])?[ ]{{0,2}}{_QUOTE}"
    return _beside(name, word, rf"(?i){word}{between}((?-i:{value}))(?![\w-])", is_owned)


# Settings: what a file format or a maker calls its own secrets.
# fmt: off
_SETTINGS: Final = (
    _beside("aws-secret-key", "secret",
            rf"(?i)secret[ _-]?(?:access[ _-]?)?key(?:{_BREAK}|[\"'`:=>,|\\]){{1,12}}+(?-i:(?:A[KS]IA[A-Z2-7]{{16}},)?"
            r"([A-Za-z0-9+/]{40}))(?![A-Za-z0-9+/=])", _is_mixed),
    _beside("azure-storage-key", "key", rf"(?i)(?<=account)key{_HEADER}([a-z0-9+/]{{86}}==)", _is_real),
    _beside("wireguard-key", "key",
            r"(?:(?<=Private)|(?<=Preshared))Key[ ]{0,2}=[ ]{0,2}([A-Za-z0-9+/]{42}[AEIMQUYcgkosw048]=)", _is_real),
    _beside("netrc-password", "pass", rf"password{_BREAK}{{1,8}}([^\s\"'\\]{{1,200}})", _is_netrc),
    _beside("npmrc-auth", "auth", rf"(?i)(?<=:_)auth(?:token)?[ ]?=[ ]?{_QUOTE}([a-z0-9+/_.-]{{8,500}}={{0,2}})", _is_real),
    _beside("docker-auth", "auth",
            rf"(?<=[\"'])auth{_QUOTE}[ ]?:[ ]?{_QUOTE}([A-Za-z0-9+/]{{8,500}}={{0,2}})(?=\\{{0,15}}\")", _is_user),
    _named("mistral-key", "mistral", "key", "[A-Za-z0-9]{32}"),
    _named("cohere-key", "cohere|co_api", "key", "[A-Za-z0-9]{40}"),
    _named("datadog-key", "datadog|dd_", "key", "[0-9a-f]{32}(?:[0-9a-f]{8})?"),
    _named("cloudflare-token", "cloudflare|cf_", "token", "[A-Za-z0-9_-]{40}"),
    _named("twilio-auth-token", "twilio", "token", "[0-9a-f]{32}"),
    _named("postmark-token", "postmark", "token", _UUID),
    _named("okta-token", "okta", "token", "00[A-Za-z0-9_-]{40}"),
)
# fmt: on

# Assignments: a name that ends in a telling word, in any notation, and a value that is judged.
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
    # with fewer ends what lies around the value, and no value reaches over it.
    r"(?-i:[bruBRU@]{0,2}(?P<escape>\\{0,15})(?P<quote>[\"'`])(?P<quoted>(?:[^\s\"'`\\]|(?!(?P=quote))['`]"
    r"|(?<!\\)(?P=escape){2}\\(?P=quote)|\\{1,31}+(?![\"'`nrt])){1,2000}+)(?:(?:(?P=escape){2}\\\\)?(?P=escape)(?P=quote)|\Z)"
    r"|(?<=>)(?P<element>[^\s<>\"'\\]{1,256})(?=</)"
    r"|(?<=[A-Z0-9]=)(?P<env>[^\s\"'`\\]{1,2000})"
    # an unquoted value that fills its line may hold what would end one in code
    r"|(?P<line>(?:[^\s\"'`\\&;<>|:]{1,64}+|:(?!//)|[&;](?![\w.-]{1,40}=)){1,8}+(?<![,;)\]}]))"
    r"(?=[ \t]{0,8}(?:[\r\n]|\\{1,15}[nr]|\Z))"
    r"|(?P<bare>[^\s\"'`\\,;&<>()\[\]{}|=]{1,2000}={0,2}))"
)
_PASSWORD: Final = (
    r"password|passwd|passphrase|passwort|passcode|(?<=[_\-\"'?&;])pass|(?-i:(?<=[a-z])Pass)|(?<![a-z])pwd"
)


def _assigned(name: str, words: str, noun: str, check: Check) -> Kind:
    return _beside(name, words, rf"(?i)(?P<noun>{noun}){_SUFFIX}(?P<sep>{_SEPARATOR}){_VALUE}", check)


_ASSIGNED: Final = (
    _assigned("password", "pass pwd", _PASSWORD, is_password),
    _assigned("secret", "secret", "secret", is_secret),
    _assigned("token", "token", "token", is_token),
    _assigned("api-key", "key", "key", is_key),
)

KINDS: Final[tuple[Kind, ...]] = (
    *(*_MODELS, *_CLOUDS, *_CODE_HOSTS, *_SERVICES),
    *(*_KEY_FILES, *_REQUESTS, *_SETTINGS, *_ASSIGNED),
)
