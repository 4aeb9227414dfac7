"""Redaction: every kind is found and named, nothing else is touched, twice is once, and the work stays linear."""

from __future__ import annotations

import base64
import json
import re
import sys
import textwrap
import types
from re import _parser  # type: ignore[attr-defined]

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leftoff.errors import ConfigError
from leftoff.platform.redaction import KINDS, Redactor
from tests.platform.credential_samples import SAMPLES, TOKENS, Samples, fill_template

REDACTOR = Redactor()
SECRETS = [(samples.kind, secret) for samples in SAMPLES for secret in samples.secrets]
GITHUB = fill_template("ghp_{A36}", "github")
AWS = fill_template("AKIA{C16}", "aws")
PASSWORD = 'password = "hunter2"'


def by_kind(samples: Samples) -> str:
    return samples.kind


def test_each_kind_has_three_secrets_and_three_near_misses():
    """A kind without samples is a promise that no test holds."""
    assert [kind.name for kind in KINDS] == list(dict.fromkeys(kind.name for kind in KINDS))
    assert {samples.kind for samples in SAMPLES} == {kind.name for kind in KINDS}
    assert all(len(samples.secrets) == len(samples.near_misses) == 3 for samples in SAMPLES)
    assert len(KINDS) >= 40


@pytest.mark.parametrize("samples", SAMPLES, ids=by_kind)
def test_a_kind_is_found_and_named_and_touches_nothing_else(samples: Samples):
    """The text around a secret stays the same, byte for byte; no kind touches a near miss of this kind."""
    for secret in samples.secrets:
        assert REDACTOR.redact(secret.text) == f"{secret.before}[REDACTED:{samples.kind}]{secret.after}"
    for text in samples.near_misses:
        assert REDACTOR.redact(text) == text


def test_no_kind_merely_shadows_another():
    """With a kind switched off, one of its secrets is not recognised by any other kind."""
    useless = []
    for samples in SAMPLES:
        others = Redactor(without={samples.kind})
        if not any(secret.secret in others.redact(secret.text) for secret in samples.secrets):
            useless.append(samples.kind)
    assert useless == []


@pytest.mark.parametrize("times_quoted", [1, 2, 3])
def test_secrets_quoted_in_json_are_found_and_the_json_stays_valid(times_quoted: int):
    """Tool output is redacted inside raw lines, where it is JSON in JSON, with its quotes and newlines escaped."""
    for kind, secret in SECRETS:
        line, escaped = secret.text, secret.secret
        for _ in range(times_quoted):
            line, escaped = json.dumps({"out": line}), json.dumps(escaped)[1:-1]
        redacted = REDACTOR.redact(line)
        assert f"[REDACTED:{kind}]" in redacted
        assert escaped not in redacted, kind
        for _ in range(times_quoted):
            redacted = json.loads(redacted)["out"]
        assert redacted == f"{secret.before}[REDACTED:{kind}]{secret.after}"


AROUND = [
    *(("", ""), (" ", " "), ('"', '"'), ("`", "`"), ("=", "&x=1"), (": ", "\r\n"), ("(", ")"), ("<", ">")),
    *(
        ("\\n", "\\n"),
        ("\\\\t", "\\\\n"),
        ('\\"', '\\"'),
        ("\\u003d", "\\u0026"),
        ("\\ud83c\\udf89", "\\n"),
        ("x%3D", "%26"),
        ("-", "."),
    ),
    *(("\x1b[32m", "\x1b[0m"), ("\\u001b[1;31m", "\\u001b[0m"), ("é", "é"), ("漢", "漢"), ("/", "/")),
    *(("https://x:", "@host/"), ("foo.", " "), ("key-us12 ", " "), ("a.b.c SK ", " "), ("a-long-name-", " ")),
]


@pytest.mark.parametrize(("before", "after"), AROUND)
def test_a_token_is_found_whatever_surrounds_it(before: str, after: str):
    """Neither the edge of the text, nor an escape, a colour, another script or the tail of a name hides one."""
    for samples in TOKENS:
        for each in samples.secrets:
            ahead = before + ("7301234567:" if samples.kind == "telegram-bot-token" else "")
            redacted = REDACTOR.redact(ahead + each.secret + after)
            assert redacted.startswith(before)
            assert each.secret not in redacted


@pytest.mark.parametrize("text", [GITHUB, f"{GITHUB}\n", f"ünïcödé 漢字 🎉 {GITHUB} 🎉", f"\ud800 {GITHUB}"])
def test_a_token_is_found_at_the_edges_and_in_any_script(text: str):
    """Places are those of the text as given, whatever its characters take in memory."""
    (finding,) = REDACTOR.find(text).findings
    assert text[finding.start : finding.end] == GITHUB


@pytest.mark.parametrize("joint", ['\\n" +\n    "', '\\n"\n    "', '"\n"'])
def test_a_key_written_as_many_strings_of_code_is_found(joint: str):
    """The quotes between the lines belong to the key; in an array of strings the next one does not."""
    begin, end = "-----BEGIN PRIVATE" + " KEY-----", "-----END PRIVATE" + " KEY-----"
    code = (
        f'key = "{begin}{joint}{joint.join(fill_template("{B64}", str(n)) for n in range(9))}{joint}{end}";'
    )
    assert REDACTOR.redact(code) == f'key = "{begin}[REDACTED:private-key]{end}";'
    array = json.dumps([begin, "some words", end])
    assert REDACTOR.redact(array) == array


def test_the_csv_that_aws_hands_out_loses_both_halves():
    """The secret follows the id, below a heading."""
    csv = f"Access key ID,Secret access key\n{AWS},{fill_template('{B40}', 'csv')}\n"
    assert REDACTOR.redact(csv) == (
        "Access key ID,Secret access key\n[REDACTED:aws-access-key-id],[REDACTED:aws-secret-key]\n"
    )


@pytest.mark.parametrize(
    ("text", "redacted"),
    [
        ("DB_PASSWORD=hunter2 psql -h db", "DB_PASSWORD=[REDACTED:password] psql -h db"),
        ("password: hunter2\nuser: bob", "password: [REDACTED:password]\nuser: bob"),
        ("Server=x;Uid=sa;Pwd=S3cr3t!;Encrypt=on", "Server=x;Uid=sa;Pwd=[REDACTED:password];Encrypt=on"),
        ("<password>hunter2</password>", "<password>[REDACTED:password]</password>"),
        ("ALTER USER app PASSWORD 'hunter2';", "ALTER USER app PASSWORD '[REDACTED:password]';"),
        ("password: str = 'hunter2'", "password: str = '[REDACTED:password]'"),
        ('"password": "pa\\"ss1\\\\w"', '"password": "[REDACTED:password]"'),
        ('"password": "hunter2\\\\", "a": 1', '"password": "[REDACTED:password]\\\\", "a": 1'),
        ('"password": "hunter2', '"password": "[REDACTED:password]'),
        ("**Password:** `hunter2`", "**Password:** `[REDACTED:password]`"),
        ("- name: DB_PASSWORD\n  value: hunter2\n", "- name: DB_PASSWORD\n  value: [REDACTED:password]\n"),
        (
            '{"name": "DB_PASSWORD", "value": "hunter2"}',
            '{"name": "DB_PASSWORD", "value": "[REDACTED:password]"}',
        ),
        ('os.environ["API_TOKEN"] = "k3jh4k5jh6"', 'os.environ["API_TOKEN"] = "[REDACTED:token]"'),
        ('setenv("API_TOKEN", "k3jh4k5jh6k7jh")', 'setenv("API_TOKEN", "[REDACTED:token]")'),
        ("/cb?a=1&client_secret=k3jh4k5jh6&b=2", "/cb?a=1&client_secret=[REDACTED:secret]&b=2"),
        ("SECRET_KEY = 'k3jh4k5-jh6k7&jh'", "SECRET_KEY = '[REDACTED:api-key]'"),
        ("API key: k3jh4k5jh6k7jh", "API key: [REDACTED:api-key]"),
    ],
)
def test_assignments_are_found_in_any_notation(text: str, redacted: str):
    """Credentials are found in shell, YAML, XML, SQL, code, Markdown, prose and other notations."""
    assert REDACTOR.redact(text) == redacted


CODE = """
    password = input()
    password = getpass.getpass("Password: ")
    token = os.environ["TOKEN"]; token: str | None = None
    password = saved2
    connect(password=pw2, api_key=None); API_TOKEN=fetch_token(v2)
    api_key=None, api_key: str, api_key="", api_key = api_key2
    SECRET_KEY = config.get("SECRET_KEY", default=None)
    def login(username: str, password: str, *, token: Token2 = DEFAULT_TOKEN_V2) -> None: ...
    headers = {"Authorization": f"Bearer {token}", "X-Api-Key": settings.api_key}
    if password == "password" or secret == "secret": raise ValueError("password: required, min 8")
    assert token_count == 12345678 and max_tokens == 4096 and tokens == 12
    const token = process.env.API_KEY ?? req.headers.authorization?.split(" ")[1];
    interface User { password: string; token?: string; apiKey: ApiKeyV2Response; secret: Buffer }
    const { password, token } = await response.json(); setPassword(password1);
    password: yup.string().min(8).required('password-required'),
    Authorization: Bearer ${TOKEN}
    Authorization: Bearer <token>
    type: password, autocomplete: "current-password", label: "Password:", "password": "********"
    {"type": "object", "properties": {"password": {"type": "string"}, "token": {"format": "uuid"}}}
    let secret = Secret::new(base64::decode(&secret_b64)?); private_key: ed25519.Ed25519PrivateKey
    self.token = self.tokens[index + 1]; key = lambda kv: kv[1]; cache_key = f"{user_id}:{sha256}"
    --pass: #16a34a; --token-color: #34d399; PWD=/home/bob/work OLDPWD=/home/bob
    $2b$12$KIXQ4S8mWn8n0Zr0Zr0ZrO4S8mWn8n0Zr0Zr0ZrO4S8mWn8n0Zr0Z
"""
ENV_EXAMPLE = """
    DB_PASSWORD=changeme
    SECRET_KEY=your-secret-key-here
    API_KEY=<your-api-key>
    OPENAI_API_KEY=sk-xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx
    STRIPE_KEY=sk_test_...
    GITHUB_TOKEN=${GITHUB_TOKEN}
    JWT_SECRET=super-secret-jwt-token-with-at-least-32-characters-long
    SLACK_TOKEN=null
    ENABLE_TOKEN=true
    EOS_TOKEN=50256789 BUILD_TOKEN=50256789
    DATABASE_URL=postgresql://user:password@localhost:5432/app
    KEY_FILE=/etc/ssl/private/server.key
    TOKEN_URL=https://example.com/oauth/token
"""
LOCKS = """
    "node_modules/yaml": {"version": "2.3.4", "resolved": "https://registry.npmjs.org/yaml/-/yaml-2.3.4.tgz",
      "integrity": "sha512-{B86}=="}},
    {{file = "attrs-23.1.0-py3-none-any.whl", hash = "sha256:{h64}"}},
    source = {{ registry = "https://pypi.org/simple" }}, upload-time = "2024-05-05T12:30:00Z"
    checksum = "{h64}"
    github.com/pkg/errors v0.9.1 h1:{B43}=
"""
GIT_LOG = """
    commit {h40} (HEAD -> main, tag: v1.0)
    Author: Bob <bob@example.com>
    index {h7}..{h7} 100644
    {h40} refs/heads/token-refresh
    Merge: {h10} {h10}
    sha256:{h64} docker.io/library/postgres@sha256:{h64}
"""
IDS = """
    "uuid":"{h8}-{h4}-{h4}-{h4}-{h12}","sessionId":"{h8}-{h4}-{h4}-{h4}-{h12}","token":"{h8}-{h4}-{h4}-{h4}-{h12}"
    "id":"toolu_01{A22}","message":{{"id":"msg_01{A22}","model":"claude-opus-4-5-20251101"}},"requestId":"req_{A24}"
    "usage":{{"input_tokens":12,"cache_creation_input_tokens":12345678,"output_tokens":1234567890}}
    "signature":"E{B400}==","nextPageToken":"{U60}","cursor":"{U60}"
    data:image/png;base64,iVBORw0KGgo{B800}=
    iVBORw0KGgo{B800}
    key {h40} SHA256:{B43} ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI{B43} bob@host
"""


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("text", [CODE, ENV_EXAMPLE, LOCKS, GIT_LOG, IDS])
def test_code_hashes_ids_images_and_lock_files_stay_byte_for_byte(text: str, seed: int):
    """Over-redaction is a bug too: what opens nothing is kept, also when quoted in JSON."""
    clean = fill_template(textwrap.dedent(text).replace("{{", "{").replace("}}", "}"), str(seed))
    for text_form in (clean, json.dumps(clean), *clean.splitlines()):
        assert REDACTOR.find(text_form).findings == ()
        assert REDACTOR.redact(text_form) == text_form


@given(st.data())
def test_redacting_twice_equals_redacting_once(data: st.DataObject):
    """Markers, and what the markers leave beside each other, are never redacted again."""
    text = data.draw(texts())
    once = REDACTOR.redact(text)
    assert REDACTOR.redact(once) == once


@given(st.data())
def test_nothing_but_the_findings_changes(data: st.DataObject):
    """Findings are in order and do not overlap, and all other characters stay the same."""
    text = data.draw(texts())
    redaction = REDACTOR.find(text)
    past, rebuilt = 0, ""
    for finding in redaction.findings:
        assert past <= finding.start < finding.end <= len(text)
        rebuilt += text[past : finding.start] + f"[REDACTED:{finding.kind}]"
        past = finding.end
    assert rebuilt + text[past:] == redaction.text == REDACTOR.redact(text)


@given(st.data())
def test_a_raw_line_stays_the_json_that_it_was(data: st.DataObject):
    """No finding reaches over the end of a string: the line can be read, and has the same shape."""
    value = {"a": data.draw(texts()), "password": [data.draw(texts()), {"b": data.draw(texts())}]}
    redacted = json.loads(REDACTOR.redact(json.dumps(value)))
    assert list(redacted) == ["a", "password"]
    assert list(redacted["password"][1]) == ["b"]


def texts() -> st.SearchStrategy[str]:
    """Text in which secrets, halves of secrets, words, quotes and markers meet in every way."""
    pieces = [secret.text for _, secret in SECRETS] + [secret.secret for _, secret in SECRETS]
    glue = [
        *(
            '"',
            "'",
            "`",
            "\\",
            '\\"',
            "\\n",
            "\n",
            " ",
            "",
            "=",
            ":",
            ": ",
            ",",
            ";",
            "&",
            "@",
            "://",
            "-",
            "_",
        ),
        *(
            "[REDACTED:token]",
            "[REDACTED:",
            "]",
            "password",
            "API_TOKEN=",
            "secret: ",
            "key",
            "Bearer ",
            "hunter2",
        ),
        *("PASSWORD=", "https://a:", "Cookie: a=", "-----BEGIN PRIVATE KEY-----", "-----END", "x" * 30, "🎉"),
    ]
    halves = st.sampled_from(pieces).flatmap(
        lambda text: st.integers(0, len(text)).map(lambda cut: text[:cut])
    )
    piece = st.one_of(st.sampled_from(pieces), st.sampled_from(glue), halves, st.text(max_size=8))
    return st.lists(piece, max_size=8).map("".join)


def test_a_text_of_many_secrets_loses_them_all():
    """With a secret of every kind in one text, none hides its neighbour."""
    text = "\n\n".join(secret.text for _, secret in SECRETS)
    redacted = REDACTOR.redact(text)
    assert [kind for kind, secret in SECRETS if secret.secret in redacted] == []


def test_overlapping_findings_become_one_that_covers_them_all():
    """A token in a cookie header is redacted with the header, by one marker."""
    header = f"Cookie: a={GITHUB}; session={fill_template('{h32}', 'c')}"
    assert REDACTOR.redact(header) == "Cookie: [REDACTED:cookie-header]"
    assert REDACTOR.redact(f'password="{GITHUB}"') == 'password="[REDACTED:github-token]"'


class TestWhatTheUserSays:
    def test_allow_spares_a_secret_that_a_match_covers(self):
        """An allowed example stays, its neighbours do not."""
        redactor = Redactor(allow=[AWS])
        assert redactor.redact(f"{AWS} {GITHUB}") == f"{AWS} [REDACTED:github-token]"

    def test_allow_may_name_the_context(self):
        """A pattern may reach over the words around the secret."""
        assert Redactor(allow=["password = .*"]).redact(PASSWORD) == PASSWORD

    def test_allow_does_not_spare_a_secret_that_it_only_begins(self):
        """Half an allowance would leave half a secret."""
        assert Redactor(allow=["AKIA"]).redact(AWS) == "[REDACTED:aws-access-key-id]"

    def test_deny_redacts_what_no_kind_knows(self):
        """The user knows names that we cannot."""
        assert Redactor(deny=[r"ACME-\d+"]).redact("see ACME-42, x") == "see [REDACTED:denied], x"

    def test_deny_works_in_the_shortest_text(self):
        """No text is too short for what the user denies."""
        assert Redactor(deny=["abc"]).redact("abc") == "[REDACTED:denied]"

    def test_deny_wins_over_allow(self):
        """Two rules that contradict each other keep the secret safe."""
        assert Redactor(allow=["x+"], deny=["x+"]).redact("xx") == "[REDACTED:denied]"

    @pytest.mark.parametrize("pattern", [".", ".*", r"\w+", "(?s).+", "REDACTED", "[a-z]", "", "x*"])
    def test_deny_leaves_markers_alone(self, pattern: str):
        """Even a pattern that matches everything changes nothing the second time."""
        redactor = Redactor(deny=[pattern])
        once = redactor.redact(f"some words, {GITHUB} and more")
        assert GITHUB not in once
        assert redactor.redact(once) == once

    def test_deny_reaches_around_markers(self):
        """Text on both sides of a marker is redacted."""
        redactor = Redactor(deny=["(?s).+"])
        assert redactor.redact("a [REDACTED:x] b") == "[REDACTED:denied][REDACTED:x][REDACTED:denied]"

    def test_a_secret_revealed_by_a_marker_is_found_at_once(self):
        """The text is looked at again until nothing is found; places are still those of the text as given."""
        text = f"é {GITHUB} word, {AWS} x"
        redaction = Redactor(deny=[r"(?<=\] )\w+"]).find(text)
        assert redaction.text == (
            "é [REDACTED:github-token] [REDACTED:denied], [REDACTED:aws-access-key-id] [REDACTED:denied]"
        )
        assert [text[found.start : found.end] for found in redaction.findings] == [GITHUB, "word", AWS, "x"]

    def test_a_pattern_that_feeds_on_markers_comes_to_an_end(self):
        """Each look would find one word more; after a few looks it is enough."""
        redacted = Redactor(deny=[r"(?<=\] )\w+"]).redact(f"{GITHUB} a b c d e f g h")
        assert redacted.startswith("[REDACTED:github-token] [REDACTED:denied] ")
        assert redacted.endswith(" h")

    @pytest.mark.parametrize("setting", ["allow", "deny"])
    def test_a_bad_pattern_is_named(self, setting: str):
        """The message says which setting, which pattern and what is wrong with it."""
        with pytest.raises(ConfigError, match=rf"redaction\.{setting}: '\(oops' is not a regular expression"):
            Redactor(**{setting: ["fine", "(oops"]})

    def test_without_every_kind_nothing_is_found(self):
        """Only the kinds that are switched on are looked for."""
        redactor = Redactor(without={kind.name for kind in KINDS})
        assert all(redactor.redact(secret.text) == secret.text for _, secret in SECRETS)


class TestValues:
    def test_strings_are_redacted_at_any_depth(self):
        """Strings in lists, in mappings and as keys are redacted."""
        value = {"a": [f"x {GITHUB}", {"b": f"{AWS}"}], GITHUB: 1}
        assert REDACTOR.redact_value(value) == {
            "a": ["x [REDACTED:github-token]", {"b": "[REDACTED:aws-access-key-id]"}],
            "[REDACTED:github-token]": 1,
        }

    def test_other_types_are_untouched(self):
        """Numbers, booleans and ``None`` are kept even under a telling name."""
        value = {"password": 12345678, "token": None, "secret": True, "api_key": 1.5, "tokens": [1, 2]}
        assert REDACTOR.redact_value(value) == value

    @pytest.mark.parametrize(
        ("name", "value", "redacted"),
        [
            ("password", "hunter2", "[REDACTED:password]"),
            ("password", "it's-\"q1", "[REDACTED:password]"),
            ("password_hint", f'say "{AWS}"', 'say "[REDACTED:aws-access-key-id]"'),
            ("password", 'a"b-c1d2', "[REDACTED:password]"),
            ("password", "string", "string"),
            ("clientSecret", "k3jh4k5jh6", "[REDACTED:secret]"),
            ("X-Api-Key", "k3jh4k5jh6", "[REDACTED:api-key]"),
            ("Authorization", "Bearer k3jh4k5jh6k7", "Bearer [REDACTED:bearer-token]"),
            ("auth", base64.b64encode(b"bob:hunter2").decode(), "[REDACTED:docker-auth]"),
            ("note", "hunter2", "hunter2"),
            ("token_count", "k3jh4k5jh6", "k3jh4k5jh6"),
            ("a password\n", "hunter2", "hunter2"),
            ("password", f"see {AWS}", "see [REDACTED:aws-access-key-id]"),
        ],
    )
    def test_a_name_tells_about_its_value(self, name: str, value: str, redacted: str):
        """Under ``password`` a string is judged as if it were assigned."""
        assert REDACTOR.redact_value({name: value}) == {name: redacted}

    def test_a_setting_in_a_list_is_known_by_its_name(self):
        """Containers and servers list their settings as name and value."""
        setting = {"name": "DB_PASSWORD", "value": "hunter2"}
        assert REDACTOR.redact_value([setting]) == [{"name": "DB_PASSWORD", "value": "[REDACTED:password]"}]

    def test_the_value_given_is_not_changed(self):
        value = {"a": [{"password": "hunter2"}]}
        REDACTOR.redact_value(value)
        assert value == {"a": [{"password": "hunter2"}]}

    def test_keys_that_become_equal_are_made_distinct(self):
        """No value is lost because two keys were secrets."""
        value = {GITHUB: 1, fill_template("ghp_{A36}", "other"): 2}
        assert REDACTOR.redact_value(value) == {"[REDACTED:github-token]": 1, "[REDACTED:github-token]+": 2}

    def test_deep_values_do_not_end_in_a_recursion_error(self):
        """A hostile line nests deeper than Python may recurse."""
        value: object = "password=hunter2"
        for _ in range(20_000):
            value = [value]
        redacted = REDACTOR.redact_value(value)
        while isinstance(redacted, list):
            (redacted,) = redacted
        assert redacted == "password=[REDACTED:password]"


HOSTILE = [
    *(
        "a",
        "sk-",
        "-sk-",
        "a1B2c3-",
        "-eyJ",
        "eyJ.",
        "xoxb-1-",
        "://",
        "://a:b@",
        "%3D",
        "[32m",
        "\\n",
        "\\",
        '\\"',
    ),
    *(
        "password=",
        "PASSWORD=",
        "password:",
        'password="',
        "token='a",
        "key is ",
        "--token ",
        "token, value: ",
    ),
    *("cookie:a=b;", "cookie=a=b;", "PRIVATE KEY-----", "curl ", "bearer ", "secret access key "),
    *("machine x login y password ", "PuTTY-User-Key-File-2: ", "[REDACTED:x] "),
    *(
        "echo ",
        "echo a1b2|",
        "echo a:b1c2d|sudo ",
        "redis-cli ",
        "redis-cli -a ",
        " -p",
        " -pa1b2c3",
        "htpasswd -b -b ",
        "pass:a1b2",
    ),
    *(
        "password for ",
        "password is ",
        "password is a1b2c3 ",
        "user a pass ",
        "pw to ",
        ":5432:a:b:",
        ":5432:a:b:c ",
        "://a?",
        "://a:1?",
    ),
    *("~", "8Q~", "xoxd-", "xoxd-%2B", "fm2_", "_pat=", "vcp_a1-", "re_a1_"),
]


class TestWork:
    def test_every_repetition_is_bounded(self):
        """A pattern that can match only so many characters can lose only so much time on each of its words."""
        for kind in KINDS:
            longest = _parser.parse(kind.source, re.ASCII).getwidth()[1]
            if "-----END" in kind.source:  # is tried only where a key begins, and not again before its end
                assert longest < _parser.MAXREPEAT, kind.name
            else:
                assert longest <= 70_000, kind.name

    @pytest.mark.parametrize("unit", HOSTILE)
    def test_twice_the_hostile_text_is_at_most_twice_the_work(self, unit: str):
        """The number of calls grows no faster than the length of the text."""
        REDACTOR.redact(unit * 500)  # what is compiled once is not counted
        assert calls(unit * 1_000) <= 2.1 * calls(unit * 500) + 200

    @pytest.mark.parametrize("unit", [f"{AWS} ", f"{PASSWORD}\n", f"[REDACTED:x] {PASSWORD} "])
    def test_many_findings_are_linear_too(self, unit: str):
        """Markers, allowances and findings are compared by position, not each with each."""
        redactor = Redactor(allow=[r"\d{3}"], deny=["zzz"])
        redactor.redact(unit)
        assert calls(unit * 400, redactor) <= 2.1 * calls(unit * 200, redactor) + 200

    def test_remembering_short_texts_changes_nothing(self):
        """Ten thousand short texts later, a clean one is clean and a secret is found, the second time too."""
        redactor = Redactor()
        for number in range(10_000):
            assert redactor.redact(f"short text {number}") == f"short text {number}"
        for _ in range(2):
            assert redactor.redact("short text 1") == "short text 1"
            assert redactor.redact(PASSWORD) == 'password = "[REDACTED:password]"'

    def test_a_line_of_five_million_characters_passes(self):
        """A line without a single space is handled in reasonable time."""
        line = "a" * 5_000_000
        assert REDACTOR.redact(line) == line


def calls(text: str, redactor: Redactor = REDACTOR) -> int:
    """How many functions are called to redact a text: work that does not depend on the machine."""
    count = 0

    def note(_frame: types.FrameType, event: str, _argument: object) -> None:
        nonlocal count
        count += event in {"call", "c_call"}

    sys.setprofile(note)
    try:
        redactor.redact(text)
    finally:
        sys.setprofile(None)
    return count
