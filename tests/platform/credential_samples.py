"""Invented credentials, three of each kind, and three texts that only look like one.

There is no secret here: a template such as ``ghp_{A36}`` says which characters to make up, and they are made when
this module is read. ``{A36/20}`` makes 36 characters of a format that takes 20 or more.
"""

from __future__ import annotations

import base64
import random
import re
from dataclasses import dataclass

_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_DIGITS = "0123456789"
_ALPHABETS = {
    "A": _LETTERS + _LETTERS.lower() + _DIGITS,
    "a": _LETTERS.lower() + _DIGITS,
    "h": _DIGITS + "abcdef",
    "U": _LETTERS + _LETTERS.lower() + _DIGITS + "_-",
    "B": _LETTERS + _LETTERS.lower() + _DIGITS + "+/",
    "D": _DIGITS,
    "C": _LETTERS + "234567",
    "K": _LETTERS + _DIGITS,
    "G": "QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L",
    "T": _LETTERS + _LETTERS.lower() + _DIGITS + "_~.-",
}
_SLOT = re.compile(r"\{([A-Za-z])(\d+)(?:/(\d+))?\}")
_UUID = "{h8}-{h4}-{h4}-{h4}-{h12}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Secret:
    """A text with one secret in it."""

    before: str
    secret: str
    after: str

    @property
    def text(self) -> str:
        """The text as it would be read somewhere."""
        return self.before + self.secret + self.after


@dataclass(frozen=True, slots=True, kw_only=True)
class Samples:
    """What a kind must find, and what all kinds must leave."""

    kind: str
    secrets: tuple[Secret, ...]
    near_misses: tuple[str, ...]


def fill_template(template: str, seed: str, *, short: bool = False, masked: bool = False) -> str:
    """Fill the slots of a template; ``short`` makes the last one a character too short for the format."""
    last = max((slot.start() for slot in _SLOT.finditer(template)), default=0)
    maker = random.Random(seed)

    def fill(slot: re.Match[str]) -> str:
        length = int(slot[3] or slot[2]) - 1 if short and slot.start() == last else int(slot[2])
        return "x" * length if masked else _body(maker, _ALPHABETS[slot[1]], length)

    return _SLOT.sub(fill, template)


def _body(maker: random.Random, alphabet: str, length: int) -> str:
    """Made up as generators do it; one that ends in punctuation or has no digit is thrown away."""
    while True:
        body = "".join(maker.choices(alphabet, k=length))
        if body[0].isalnum() and body[-1].isalnum() and (length < 16 or re.search("[0-9]", body)):
            return body


def _token(kind: str, *templates: str, ahead: str = "", near: tuple[str, ...] = ()) -> Samples:
    """A kind with a format of its own; nothing around its secrets gives them away."""
    places = (("it was ", " until noon"), ('{"stdout":"done\\n', '\\nnext"}'), ("connect('", "')\n"))
    secrets = tuple(
        Secret(
            before=before + ahead,
            secret=fill_template(templates[n % len(templates)], f"{kind}{n}"),
            after=after,
        )
        for n, (before, after) in enumerate(places)
    )
    near_misses = near or (
        f"it was {ahead}{fill_template(templates[0], kind, short=True)} until noon",
        f"it was {ahead}{fill_template(templates[0], kind, masked=True)} until noon",
        f"it was Z{fill_template(templates[0], kind)} until noon",
    )
    return Samples(kind=kind, secrets=secrets, near_misses=near_misses)


def _beside(kind: str, secrets: list[tuple[str, str, str]], near: list[str]) -> Samples:
    """Return samples of a kind that is known by the text around its secrets: before, template, after."""
    return Samples(
        kind=kind,
        secrets=tuple(
            Secret(
                before=fill_template(before, kind),
                secret=fill_template(template, f"{kind}{n}"),
                after=fill_template(after, kind),
            )
            for n, (before, template, after) in enumerate(secrets)
        ),
        near_misses=tuple(fill_template(text, kind) for text in near),
    )


def _b64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def _lines(count: int, newline: str = "\n") -> str:
    """The body of a key file, between its first and last line."""
    return newline + newline.join(["{B64}"] * count + ["{B20}=="]) + newline


TOKENS = (
    _token("anthropic-key", "sk-ant-api03-{U93/20}AA", "sk-ant-admin01-{U93/20}AA", "sk-ant-oat01-{U93/20}AA",
           near=(fill_template("sk-ant-api03-{U16}", "n"), fill_template("sk-ant-api03-{U93}", "n", masked=True), fill_template("ask-ant-api03-{U93}", "n"))),
    _token("openai-project-key", "sk-proj-{U74}T3BlbkFJ{U74}", "sk-svcacct-{U58}T3BlbkFJ{U58}", "sk-admin-{U58}T3BlbkFJ{U58}",
           near=(fill_template("sk-proj-{U30}", "n"), fill_template("sk-proj-{U74}", "n", masked=True), fill_template("task-proj-{U74}", "n"))),
    _token("openai-key", "sk-{A48/20}", "sk-{A20}T3BlbkFJ{A20}", "sk-{h32}"),
    _token("openrouter-key", "sk-or-v1-{h64}"),
    _token("google-api-key", "AIza{U35}"),
    _token("google-auth-key", "AQ.Ab8RN6{U44/27}"),
    _token("cerebras-key", "csk-{a48/32}"),
    _token("pinecone-key", "pcsk_{A6}_{A63/33}", "pcsk_{A5}_{A63/33}"),
    _token("wandb-key", "wandb_v1_{A77/40}", "wandb_v1_{A30}_{A46/9}"),
    _token("jina-key", "jina_{h32}{A28/8}"),
    _token("huggingface-token", "hf_{A34}", "api_org_{A34}"),
    _token("groq-key", "gsk_{A52}"),
    _token("xai-key", "xai-{A80}"),
    _token("replicate-token", "r8_{A37}"),
    _token("perplexity-key", "pplx-{A48}"),
    _token("nvidia-key", "nvapi-{U64}"),
    _token("langsmith-key", "lsv2_pt_{h32}_{h10}", "lsv2_sk_{h32}_{h10}"),
    _token("tavily-key", "tvly-{A32}", "tvly-dev-{A32}"),
    _token("elevenlabs-key", "sk_{h48}"),
    _token("aws-access-key-id", "AKIA{C16}", "ASIA{C16}"),
    _token("aws-bedrock-key", "ABSK{A110/109}"),
    _token("google-oauth-token", "ya29.{U120/20}"),
    _token("google-refresh-token", "1//0{U98/38}", near=(fill_template("1//0{U30}", "n"), fill_template("11//0{U98}", "n"), fill_template("1//0{U98}", "n", masked=True))),
    _token("google-client-secret", "GOCSPX-{U28}"),
    _token("digitalocean-token", "dop_v1_{h64}", "doo_v1_{h64}", "dor_v1_{h64}"),
    _token("cloudflare-origin-key", "v1.0-{h24}-{h146}"),
    _token("cloudflare-key", "cfut_{A48/40}", "cfat_{A40}{h8}", "cfk_{A40}{h8}"),
    _token("vercel-token", "vcp_{U56/24}", "vck_{U56/24}", "vca_{U56/24}",
           near=(fill_template("vcp_{A23}", "n"), "vcr_get_the_transfer_of_a_channel_2", fill_template("Zvcp_{A56}", "n"))),
    _token("azure-client-secret", "{A3}8Q~{T34/31}", "{T3}7Q~{T31}"),
    _token("heroku-key", "HRKU-AA{U58}"),
    _token("alibaba-key-id", "LTAI{A20}"),
    _token("fly-token", "fo1_{U43}", "fm2_{B300/40}", "fm2_lJPECAAAAAAAA{B240/24}=="),
    _token("vault-token", "hvs.{U95/24}", "hvb.{U140/24}"),
    _token("terraform-token", "{A14}.atlasv1.{U67/60}"),
    _token("pulumi-token", "pul-{h40}"),
    _token("databricks-token", "dapi{h32}", "dapi{h32}-2"),
    _token("planetscale-token", "pscale_tkn_{U43/32}", "pscale_pw_{U43/32}"),
    _token("supabase-key", "sbp_{h40}", "sb_secret_{U22}_{U8}"),
    _token("doppler-token", "dp.pt.{A43/40}", "dp.st.prd.{A43/40}"),
    _token("openshift-token", "sha256~{U43}"),
    _token("tailscale-key", "tskey-auth-{A12}-{A32/20}", "tskey-api-{A12}-{A32/20}"),
    _token("github-token", "ghp_{A36}"),
    _token("github-oauth-token", "gho_{A36}"),
    _token("github-app-token", "ghu_{A36}", "ghs_{A36}"),
    _token("github-refresh-token", "ghr_{A76/36}"),
    _token("github-fine-grained-token", "github_pat_{A22}_{A59}"),
    _token("gitlab-token", "glpat-{U20}", "glpat-{U27}.01.{a7}"),
    _token("gitlab-runner-token", "glrt-{U20}", "gldt-{U20}", "glptt-{h40/20}"),
    _token("bitbucket-token", "ATBB{A32}", "ATCTT3{U180/150}"),
    _token("atlassian-token", "ATATT3{U186/150}"),
    _token("circleci-token", "CCIPAT_{A22}_{h40}"),
    _token("buildkite-token", "bkua_{h40}"),
    _token("npm-token", "npm_{A36}"),
    _token("pypi-token", "pypi-AgEIcHlwaS5vcmc{U160/50}", "pypi-AgENdGVzdC5weXBpLm9yZw{U160/50}"),
    _token("rubygems-key", "rubygems_{h48}"),
    _token("crates-token", "cio{A32}"),
    _token("nuget-key", "oy2{a43}"),
    _token("docker-token", "dckr_pat_{U27}", "dckr_oat_{U32}"),
    _token("sonar-token", "squ_{h40}", "sqp_{h40}"),
    _token("sourcegraph-token", "sgp_{h40}", "sgp_{h16}_{h40}"),
    _token("slack-token", "xoxb-{D12}-{D12}-{A24/10}", "xoxc-{D12}-{D13}-{D13}-{h64}", "xoxd-{A9}%2B{B120}%3D",
           near=(fill_template("xoxb-{D5}", "n"), fill_template("xoxb-{D12}-{D12}-{A24}", "n", masked=True), fill_template("foxoxb-{D12}-{A24}", "n"))),
    _token("slack-app-token", "xapp-1-{K11}-{D13}-{h64}"),
    _token("discord-bot-token", "MTA{A23}.{A6}.{U38/27}", "NzY{A23}.{A6}.{U38/27}"),
    _token("telegram-bot-token", "AA{U33}", ahead="7301234567:"),
    _token("stripe-key", "sk_live_{A24/16}", "rk_live_{A24/16}", "sk_test_{A99/16}"),
    _token("webhook-signing-secret", "whsec_{A32}"),
    _token("twilio-key", "SK{h32}"),
    _token("sendgrid-key", "SG.{U22}.{U43}"),
    _token("mailgun-key", "key-{h32}"),
    _token("resend-key", "re_{A8}_{A24/20}"),
    _token("mailchimp-key", "{h32}-us12", near=(fill_template("it was {h31}-us12", "n"), fill_template("it was {h32}-use12", "n"), fill_template("it was {h33}-us12", "n"))),
    _token("brevo-key", "xkeysib-{h64}-{A16}"),
    _token("shopify-token", "shpat_{h32}", "shpss_{h32}"),
    _token("square-token", "sq0atp-{U22}", "sq0csp-{U43}", "EAAA{U60}"),
    _token("sentry-token", "sntryu_{h64}", "sntrys_eyJ{A120}_{A43}"),
    _token("newrelic-key", "NRAK-{K27}"),
    _token("grafana-token", "glsa_{A32}_{h8}", "glc_{A120/32}"),
    _token("linear-key", "lin_api_{A40}", "lin_oauth_{h64}"),
    _token("notion-token", "ntn_{D11}{A35}", "secret_{A43}"),
    _token("airtable-token", "pat{A14}.{h64}"),
    _token("figma-token", "figd_{U40}"),
    _token("postman-key", "PMAK-{h24}-{h34}"),
    _token("dynatrace-token", "dt0c01.{C24}.{C64}"),
    _token("plaid-token", f"access-production-{_UUID}", f"access-sandbox-{_UUID}"),
    _token("posthog-key", "phx_{A43}"),
    _token("onepassword-token", "ops_eyJ{A300/250}"),
    _token("mapbox-token", "sk.eyJ{A60/50}.{U22}"),
    _token("age-secret-key", "AGE-SECRET-KEY-1{G58}"),
    _token("jwt", "eyJ{A33/15}.eyJ{A80/15}.{U43/10}"),
)  # fmt: skip

_PEM = "-----{0} {1}PRIVATE KEY{2}-----"
_PUTTY = "PuTTY-User-{0}-File-2: ssh-rsa\nEncryption: none\nComment: rsa{1}20240101\nPublic-Lines: 2\n{{B64}}\n{{B20}}=="


def _pem(kind: str, label: str, block: str = "") -> Samples:
    begin, end = _PEM.format("BEGIN", label, block), _PEM.format("END", label, block)
    return _beside(
        kind,
        [
            (f"cat id\n{begin}", _lines(24), f"{end}\n$ "),
            (f'{{"key_file":"{begin}', _lines(24, "\\n"), f'{end}\\n","type":"x"}}'),
            (f"head -3 id\n{begin}", "\n{B64}\n{B64}", "\n"),
        ],
        [
            f'if text.startswith("{begin}") and text.rstrip().endswith("{end}"): pass',
            f"{begin}\n...\n{end}",
            f"{begin.replace('PRIVATE', 'PUBLIC')}{_lines(6)}{end.replace('PRIVATE', 'PUBLIC')}",
        ],
    )


KEY_FILES = (
    _pem("private-key", "RSA "),
    _pem("openssh-private-key", "OPENSSH "),
    _pem("pgp-private-key", "PGP ", " BLOCK"),
    _beside("putty-private-key", [
        (_PUTTY.format("Key", "-key-") + "\nPrivate-Lines: 4", "\n{B64}\n{B64}\n{B64}\n{B40}==", "\nPrivate-MAC: {h40}\n"),
        (_PUTTY.format("Key", "_") + "\nPrivate-Lines: 1", "\n{B64}", "\nPrivate-MAC: {h40}\n"),
        ((_PUTTY.format("Key", "") + "\nPrivate-Lines: 1").replace("\n", "\\r\\n"), "\\r\\n{B64}", "\\r\\nPrivate-MAC: {h40}"),
    ], ["PuTTY-User-Key-File-2: ssh-rsa\nPublic-Lines: 1\n{B64}\n", "Private-Lines: 8\nand more prose", "PuTTY-User-Key-File-3: see Private-Lines: 3 below"]),
    _beside("kubernetes-client-key", [
        ("    client-key-data: ", "LS0tLS1CRUdJTi{A200}=", "\n"),
        ('"client-key-data":"', "LS0tLS1CRUdJTi{A200}==", '"'),
        ('\\"client-key-data\\": \\"', "LS0tLS1CRUdJTi{A200}", '\\"'),
    ], ["client-certificate-data: LS0tLS1CRUdJTi{A200}=", "client-key-data: REDACTED", "client-key-data: {A40}"]),
)  # fmt: skip

_HOOK = "https://hooks.slack.com/"
REQUESTS = (
    _beside("basic-authorization", [
        ("Authorization: Basic ", _b64("deploy:hunter2"), "\r\nHost: x"),
        ('-H "authorization: basic ', _b64("ci:p4ssw0rd!"), '" https://example.com'),
        ('\\"Authorization\\": \\"Basic ', _b64("a:b-c-d-e-f"), '\\"'),
    ], ["Authorization: Basic ${CREDENTIALS}", "Authorization: Basic <base64 of user>", "Authorization: Basic authentication is off"]),
    _beside("bearer-token", [
        ("Authorization: Bearer ", "{U43}", "\n"),
        ("curl -H 'authorization: bearer ", "{h40}", "' https://example.com"),
        ('headers={\\"Proxy\\": \\"Bearer ', "{A20}.{A12}", '\\"}'),
    ], ["Authorization: Bearer ${TOKEN}", "send it as Bearer <token> or Bearer token", 'f"Bearer {access_token}" + "Bearer refresh_token_value"']),
    _beside("authorization-header", [
        ("Authorization: token ", "{h40}", "\n"),
        ('{"authorization": "ApiKey ', "{A32}", '"}'),
        ("-H 'Authorization: ", "{A40}", "'"),
    ], ["Authorization: token $TOKEN", "Authorization: required for every call", "Authorization: AWS4-HMAC-SHA256 Credential=..."]),
    _beside("cookie-header", [
        ("Cookie: ", "session={h32}; theme=dark", "\r\n"),
        ('-H "cookie: ', "sid={U40}", '"'),
        ('\\"Cookie\\": \\"', "lang=en; _app_session={A48}", '\\"'),
    ], ["Cookie: theme=dark; lang=en", "Cookie: ${COOKIE}", "cookie: string = session"]),
    _beside("set-cookie-header", [
        ("Set-Cookie: sid=", "{h32}", "; Path=/; HttpOnly"),
        ('"set-cookie":"connect.sid=', "s%3A{U43}", '; Path=/"'),
        ("\\nset-cookie: JSESSIONID=", "{K32}", ";secure\\n"),
    ], ["Set-Cookie: theme=dark; Path=/", "Set-Cookie: <name>=<value>", "Set-Cookie: session=deleted; Max-Age=0"]),
    _beside("slack-webhook", [
        (_HOOK + "services/", "T{K10}/B{K10}/{A24}", ""),
        ("curl " + _HOOK + "services/", "T{K8}/B{K8}/{A24}", " -d x"),
        ('"' + _HOOK + "workflows/", "T{K10}/A{K10}/{D18}/{A24}", '"'),
    ], [_HOOK + "services/T000/B000/XXXX", _HOOK + "services/", _HOOK + "services/TXXXXXXXX/BXXXXXXXX/" + "X" * 24]),
    _beside("discord-webhook", [
        ("https://discord.com/api/webhooks/{D18}/", "{U68}", ""),
        ("'https://discordapp.com/api/webhooks/{D19}/", "{U68}", "'"),
        ("https://ptb.discord.com/api/v10/webhooks/{D18}/", "{U68}", "\\n"),
    ], ["https://discord.com/api/webhooks/{D18}/token", "https://discord.com/api/webhooks/id/{U68}", "https://discord.com/channels/{D18}/{D18}"]),
    _beside("teams-webhook", [
        ("https://acme.webhook.office.com/webhookb2/", f"{_UUID}@{_UUID}/IncomingWebhook/{{h32}}/{_UUID}", ""),
        ('"https://outlook.office.com/webhook/', f"{_UUID}@{_UUID}/IncomingWebhook/{{h32}}/{_UUID}", '"'),
        ("\\nhttps://a-b.webhook.office.com/webhookb2/", f"{_UUID}@{_UUID}/IncomingWebhook/{{h32}}/{_UUID}", "\\n"),
    ], ["https://acme.webhook.office.com/webhookb2/", f"https://outlook.office.com/mail/{_UUID}", f"https://example.com/webhookb2/{_UUID}@{_UUID}/IncomingWebhook/{{h32}}/{_UUID}"]),
    _beside("url-password", [
        ("postgres://app:", "s3cr3t-pw", "@db:5432/app"),
        ("git clone https://bob:", "hunter2", "@git.example.com/x.git"),
        ('\\"redis://:', "{A16}", '@cache:6379/0\\"'),
    ], ["postgresql://user:password@localhost:5432/db", "https://user:${PASSWORD}@host/ http://localhost:3000/@vite/client", 'f"mysql://{user}:{password}@{host}/x" https://example.com:8443/a@b']),
    _beside("url-key", [
        ("GET /maps/api/geocode/json?key=", "{A32}", "&address=x"),
        ("https://api.example.com/v1?q=1&key=", "{U40}", "\n"),
        ("curl 'https://x.example.com/?key=", "{h32}", "'"),
    ], ["?key=sort_by_creation_date&order=asc", "?key=<your-api-key-goes-here>", "sorted(rows, key=operator_itemgetter_2)"]),
    _beside("azure-sas-signature", [
        ("https://a.blob.core.windows.net/c/f?sv=2022-11-02&se=2026&sig=", "{A43}%3D", ""),
        ('"https://a.queue.core.windows.net/q?sv=2022-11-02&sig=', "{A20}%2B{A21}%3D", '&sp=r"'),
        ("https://a.file.core.windows.net:443/s?se=2026-01-01T00:00:00Z&sig=", "{A21}%2F{A20}%3D", "\\n"),
    ], ["https://a.blob.core.windows.net/c/f?se=2026-01-01T00:00:00Z&sig=...", "sig={A43}", "https://a.example.com/?sig=short"]),
    _beside("curl-user", [
        ("curl -u admin:", "hunter2", " https://x.example.com"),
        ("curl -sS --user 'bob:", "Tr0ub4dor&3", "' https://x.example.com"),
        ('\\"curl -X POST -u ci:', "{A20}", ' https://x.example.com\\"'),
    ], ["curl -u $USER:$PASS https://x.example.com", "curl -u admin https://x.example.com", 'curl -u "user:${TOKEN}" https://x.example.com']),
    _beside("short-password-option", [
        ("sshpass -p ", "hunter2x", " ssh deploy@web1"),
        ("mysql -uroot -p", "Tr0ub4dor9", " shop < dump.sql"),
        ("docker login -u ci -p ", "{A20}", " registry.example.com"),
    ], ["sshpass -p $SSH_PASSWORD ssh web1", "mysql -uroot -p shop", "docker login -u ci --password-stdin registry.example.com"]),
    _beside("redis-password", [
        ("redis-cli -a ", "hunter2x", " ping"),
        ("redis-cli -h cache -p 6380 -a '", "{A20}", "' --no-auth-warning ping"),
        ("redis-cli --pass ", "{T14}", " info"),
    ], ["redis-cli -a $REDIS_PASSWORD ping", "redis-cli -h cache -p 6380 ping | grep -a pong", "redis-cli -a <password> ping"]),
    _beside("passwd-password", [
        ("htpasswd -bc /etc/nginx/htpasswd bob ", "hunter2x", "\n"),
        ("docker run httpd htpasswd -nbB -C 12 bob '", "{A20}", "'"),
        ("openssl enc -aes-256-cbc -pass \"pass:", "{A16}", "\" -in a -out b"),
    ], ["htpasswd -c /etc/nginx/htpasswd bob carol dave", "openssl rsa -passin pass:$PASS -in key.pem", "first pass:unoptimised, second pass:optimised"]),
    _beside("piped-password", [
        ("echo 'root:", "hunter2x", "' | chpasswd"),
        ("echo ", "{A16}", " | sudo -S apt-get update"),
        ('echo -n "', "{T20}", '" | docker login -u ci --password-stdin registry.example.com'),
    ], ["echo $PASSWORD | sudo -S apt-get update", "echo finished | sudo tee /etc/motd", 'echo "${TOKEN}" | docker login --password-stdin']),
    _beside("command-line-secret", [
        ("vault login --token ", "{A24}", "\n"),
        ("tool --db-password '", "n0t-4-word", "' --verbose"),
        ("deploy --api-key ", "{h40}", " --dry-run"),
    ], ["deploy --token $TOKEN --dry-run", "docker login --password-stdin", "--token string   bearer token for the server"]),
)  # fmt: skip

SETTINGS = (
    _beside("aws-secret-key", [
        ("Secret access key: ", "{B40}", "\n"),
        ("| Secret access key | ", "{B40}", " |"),
        ("aws_secret_access_key = ", "{B40}", "\n"),
    ], ["the secret key, {h40}, is a commit", "the secret key, {B39}, is short", "secret key (40 characters) goes here"]),
    _beside("azure-storage-key", [
        ("DefaultEndpointsProtocol=https;AccountName=a;AccountKey=", "{B86}==", ";EndpointSuffix=x"),
        ('"accountKey": "', "{B86}==", '"'),
        ('\\"AccountKey\\": \\"', "{B86}==", '\\"'),
    ], ["AccountKey=<your key>;", "AccountKey={B20}==", "AccountName=abcdefgh12345678;"]),
    _beside("wireguard-key", [
        ("[Peer]\nPresharedKey = ", "{A42}A=", "\n"),
        ("PresharedKey=", "{B42}4=", "\n"),
        ("\\nPrivateKey = ", "{A42}k=", "\\nAddress"),
    ], ["PublicKey = {A42}A=", "PrivateKey = <private key>", "PresharedKey = {A30}="]),
    _beside("netrc-password", [
        ("machine api.example.com login bob password ", "hunter2", "\n"),
        ("machine git.example.com\n  login ci\n  password ", "hunter2", "\n"),
        ("default login anonymous password ", "s3cret", ""),
    ], ["machine readable password policies", "login with your password hunter2", "machine x login y password <password>"]),
    _beside("pgpass-password", [
        ("db.example.com:5432:shop:app:", "hunter2x", "\n"),
        ('echo "*:5433:*:app:', "{A20}", '" >> ~/.pgpass'),
        ("\\nlocalhost:5432:shop:app:", "{A16}", "\\n"),
    ], ["127.0.0.1:5432:5432 and 8080:80", "src/app.py:5432:17:error:unused2", "localhost:5432:shop:app:password"]),
    _beside("npmrc-auth", [
        ("//registry.npmjs.org/:_auth=", _b64("bob:hunter2"), "\n"),
        ("//npm.example.com/:_authToken=", _UUID, "\n"),
        ("\\n//npm.example.com/:_authToken=", "{A40}", "\\n"),
    ], ["//registry.npmjs.org/:_authToken=${NPM_TOKEN}", "//registry.npmjs.org/:_auth=", "//registry.npmjs.org/:always-auth=true"]),
    _beside("docker-auth", [
        ('{"auths": {"r.example.com": {"auth": "', _b64("bob:hunter2"), '"}}}'),
        ('"auth":"', _b64("ci:abcdef123456"), '"'),
        ('{\\"auth\\": \\"', _b64("x:y-z-1-2-3"), '\\"}'),
    ], ['"auth": "required"', '"auth": "oauth2abc"', '"auth": ""']),
)  # fmt: skip

OWNED = tuple(
    _beside(
        kind,
        [
            (f"the {owner} {word} is ", template, "\n"),
            (f"{owner.upper()} {word}: `", template, "`"),
            (f"\\n{owner} {word} = ", template, "\\n"),
        ],
        [f"the {owner} {word} is in the vault", f"the {word} is {template}", f"{owner} {word} {template}0"],
    )
    for kind, owner, word, template in (
        ("mistral-key", "mistral", "key", "{A32}"),
        ("cohere-key", "cohere", "key", "{A40}"),
        ("datadog-key", "datadog", "key", "{h40}"),
        ("cloudflare-token", "cloudflare", "token", "{U40}"),
        ("twilio-auth-token", "twilio", "token", "{h32}"),
        ("postmark-token", "postmark", "token", _UUID),
        ("okta-token", "okta", "token", "00{U40}"),
    )
)

ASSIGNED = (
    _beside("password", [
        ("export DB_PASSWORD='", "correct-horse-battery", "'\n"),
        ('{\\"user\\": \\"bob\\", \\"password\\": \\"', "hunter2", '\\"}'),
        ("database:\n  password: ", "Tr0ub4dor&3"[:9], "\n"),
    ], ["password = input()  # password: str", "DB_PASSWORD=changeme", '{"password": "string"}']),
    _beside("secret", [
        ("FOO_SECRET=", "s3cr3t-enough", "\n"),
        ("client_secret: '", "{A32}", "'"),
        ('\\nSESSION_SECRET=\\"', "{U43}", '\\"\\n'),
    ], ['SECRET = config.get("SECRET")', "secret: my-app-secret", 'secret = os.environ["FOO_SECRET"]']),
    _beside("token", [
        ("\\nFOO_TOKEN=", "{A24}", "\\nBAR=1"),
        ('"access_token": "', "{U64}", '", "expires_in": 3600'),
        ("https://example.com/cb?access_token=", "{h40}", "&state=1"),
    ], ['token = os.environ["TOKEN"]', f'"token": "{_UUID}", "nextPageToken": "{{U40}}"', '"max_tokens": 4096, "token_count": 12345678']),
    _beside("api-key", [
        ("X-Api-Key: ", "{A32}", "\r\n"),
        ("api_key: ", "{h32}", "\n"),
        ("const apiKey = '", "{A40}", "';"),
    ], ["api_key=None, apiKey: process.env.API_KEY", 'cache_key = "{h40}"', "primary_key: {h32}"]),
)  # fmt: skip

PROSE = (
    _beside("password-in-prose", [
        ("The password for the shop is ", "hunter2", ", keep it safe"),
        ("please change the password to \"", "swordfish", "\" today"),
        ("Das Passwort lautet ", "{A10}!", "\n"),
    ], [
        "the password is required, the password is hashed with bcrypt, the password is stored in Vault, the password is 8-20 characters",
        "arguments to pass to `subprocess_run2`, the password is `required`, the passphrase is \"${PASSPHRASE}\"",
        "The password is sha256-hashed, base64-encoded, case-sensitive and end-to-end-encrypted; password to access the vault. "
        "The password is S3-backed, the password is K8s-managed, the password is 3rd-party-made, change the password to Argon2id. "
        "The password is \"correct\"; the password is what-you-typed-before; the password is RFC2617 style; the password is CVE-2021-44228",
    ]),
)  # fmt: skip

SAMPLES = (*TOKENS, *KEY_FILES, *REQUESTS, *SETTINGS, *OWNED, *ASSIGNED, *PROSE)
