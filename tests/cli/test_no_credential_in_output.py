"""Credentials of current makers and passwords in prose: none reaches what leftoff writes or prints of a session."""

from __future__ import annotations

from pathlib import Path

import pytest

from leftoff.cli.main import run
from leftoff.platform import paths
from leftoff.platform.redaction import Redactor
from leftoff.testing.builders import Story, call
from tests.platform.credential_samples import fill_template

PASSWORD = "{A4}-{a6}7"
# The text before the credential, its template, and the text after it.
FORMS = {
    "slack client token": ("SLACK is xoxc: ", "xoxc-{D12}-{D12}-{D13}-{h64}", ""),
    "slack cookie": ("curl -b d=", "xoxd-{B30}%2F{B60}%3D", " https://app.slack.com"),
    "fly": ("we deploy with ", "fm2_{B240}==", ""),
    "fly in quotes": ('FLY_API_TOKEN="FlyV1 ', "fm2_{B240}", '"'),
    "vercel": ("vercel --yes ", "vcp_{A56}", ""),
    "google auth key": ("it answers to ", "AQ.Ab8RN6{U44}", ""),
    "cloudflare": ("wrangler with ", "cfut_{A40}{h8}", ""),
    "resend": ("new Resend('", "re_{A8}_{A24}", "')"),
    "cerebras": ("Cerebras('", "csk-{a48}", "')"),
    "pinecone": ("Pinecone('", "pcsk_{A6}_{A63}", "')"),
    "wandb": ("wandb login ", "wandb_v1_{A77}", ""),
    "jina": ("reader with ", "jina_{h32}{A28}", ""),
    "entra client secret": ("az login --service-principal -p ", "{A3}8Q~{T34}", ""),
    "azure devops": ("export AZURE_DEVOPS_EXT_PAT=", "{a52}", ""),
    "azure sas": ("https://a.blob.core.windows.net/c?se=2026-01-01T00:00:00Z&sig=", "{A43}%3D", "&sp=r"),
    "password is": ("the password is ", PASSWORD, ""),
    "password of something": ("By the way, the password for db.example.com is `", PASSWORD, "`."),
    "password to": ('set the password to "', PASSWORD, '" first'),
    "pass after a user": ("log in as user bob, pass ", PASSWORD, ""),
    "passwort lautet": ("Das Passwort lautet ", PASSWORD, ""),
    "pgpass": ("db.example.com:5432:shop:app:", PASSWORD, ""),
    "redis-cli": ("redis-cli -h cache -a ", PASSWORD, " ping"),
    "htpasswd": ("htpasswd -bc /etc/htpasswd bob ", PASSWORD, ""),
    "chpasswd": ("echo 'root:", PASSWORD, "' | chpasswd"),
    "sudo": ("echo ", PASSWORD, " | sudo -S apt-get update"),
    "openssl": ("openssl enc -aes-256-cbc -pass pass:", PASSWORD, " -in a -out b"),
}
SECRETS = {form: fill_template(template, f"output {form}") for form, (_, template, _) in FORMS.items()}


@pytest.mark.parametrize("form", FORMS)
def test_the_form_is_recognised_whatever_the_value(form: str) -> None:
    """Twenty values for each form, in a sentence and quoted in JSON; nothing beside them changes."""
    before, template, after = FORMS[form]
    for seed in range(20):
        secret = fill_template(template, f"{form} {seed}")
        for around in ("{}", "First this. {}\nThen the rest.", '{{"command": "{}"}}'):
            redacted = Redactor().redact(around.format(f"{before}{secret}{after}"))
            assert secret not in redacted
            assert secret[len(secret) // 2 :] not in redacted
            head, tail = around.split("{}")
            assert redacted.startswith(head.format() + before)
            assert redacted.endswith(after + tail.format())


def test_no_form_reaches_a_log_an_export_a_rollover_or_a_pause(home, capsys) -> None:
    """The forms are in prompts, replies, commands and output of one session."""
    session = "aaaaaaaa-0000-4000-8000-000000000018"
    story = Story(session_id=session, project=str(Path.cwd()))
    for form, (before, _, after) in FORMS.items():
        text = f"{before}{SECRETS[form]}{after}"
        story.asked(f"Always remember: {text}").replied(
            f"I decided: {text}",
            call("shell", {"command": text}, f"found:\n{text}\n"),
            call("shell", {"command": "pytest"}, f"Exit code 1\nError:\n{text}\n", failed=True),
        )
    transcript = home.claude(story)
    printed = ""
    for command in (
        ["log", "save", session, "--stdout"],
        ["log", "save", session],
        ["export", session],
        ["rollover", session, "--dry-run", "--json"],
        ["pause", "start", "--context", "0.9"],
        [
            "pause",
            "record",
            "user_message",
            *(f"{FORMS[form][0]}{SECRETS[form]}{FORMS[form][2]}" for form in FORMS),
        ],
        ["pause", "finalize"],
    ):
        capsys.readouterr()
        assert run(command) == 0, capsys.readouterr().err
        printed += capsys.readouterr().out
    written = "".join(
        file.read_text(encoding="utf-8", errors="replace")
        for folder in (paths.state_folder(), paths.data_folder(), Path.cwd())
        for file in folder.rglob("*")
        if file.is_file() and file != transcript
    )
    assert "[REDACTED:" in printed
    assert "[REDACTED:" in written
    assert [form for form, secret in SECRETS.items() if secret in printed + written] == []
