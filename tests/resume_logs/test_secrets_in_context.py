"""Credentials that are recognised only by their context reach no log, no text for a hook, and no saved state.

A log quotes words without their context, so such a credential must be removed before anything is extracted.
"""

import base64
from pathlib import Path

import pytest

from leftoff.agents.registry import agent_of
from leftoff.platform import paths
from leftoff.platform.redaction import Redactor
from leftoff.resume_logs.save import log_text, save_log
from leftoff.testing.builders import Story, call
from leftoff.workspace import SessionRef, Workspace
from tests.platform.credential_samples import fill_template

WORD = fill_template("{A8}-{A9}", "word")
HEX = fill_template("{h40}", "hex")
TOKEN = fill_template("{U43}", "token")

# The text before the credential, the credential, and the text after it.
FORMS = {
    "url password": ("postgresql://app:", WORD, "@db.example.com:5432/shop"),
    "redis url without a user": ("redis://:", WORD, "@cache.example.com:6379/0"),
    "amqp url": ("amqps://worker:", WORD, "@mq.example.com/jobs"),
    "mongo connection string": ("mongodb+srv://root:", WORD, "@c0.example.net/?retryWrites=true"),
    "git remote": ("https://oauth2:", TOKEN, "@git.example.com/team/app.git"),
    "key in a url": ("https://x.example.com/v1/items?api_key=", HEX, "&page=2"),
    "token in a url": ("https://x.example.com/cb?state=7&access_token=", TOKEN, ""),
    "yaml password": ("password: ", WORD, ""),
    "yaml client secret": ("client_secret: '", HEX, "'"),
    "bearer header": ("Authorization: Bearer ", TOKEN, ""),
    "basic header": ("Authorization: Basic ", base64.b64encode(f"app:{WORD}".encode()).decode(), ""),
    "api key header": ("X-Api-Key: ", HEX, ""),
    "cookie": ("Cookie: session=", HEX, "; theme=dark"),
    "set-cookie": ("Set-Cookie: sid=", HEX, "; Path=/; HttpOnly"),
    "env assignment": ("DB_PASSWORD=", WORD, ""),
    "exported token": ("export SERVICE_TOKEN='", TOKEN, "'"),
    "aws secret key": ("AWS_SECRET_ACCESS_KEY=", fill_template("{B40}", "aws"), ""),
    "json password": ('{"user": "app", "password": "', WORD, '"}'),
    "json api key": ('{"apiKey":"', HEX, '","region":"eu"}'),
    "python keyword": ('connect(host="db", password="', WORD, '")'),
    "odbc connection string": ("Server=db.example.com;User Id=app;Password=", WORD, ";Encrypt=yes"),
    "azure account key": (
        "DefaultEndpointsProtocol=https;AccountName=shop;AccountKey=",
        fill_template("{B86}==", "azure"),
        ";",
    ),
    "command option": ("deploy --password ", WORD, " --dry-run"),
    "curl user": ("curl -u admin:", WORD, " https://x.example.com"),
    "netrc": ("machine api.example.com login bob password ", WORD, ""),
    "toml token": ('auth_token = "', TOKEN, '"'),
}


def in_a_prompt(story: Story, text: str) -> Story:
    return story.asked(f"Never share this, and always connect with {text}").replied(
        f"I decided to use {text}\nbecause it is at hand. Next I will connect with {text}"
    )


def in_output(story: Story, text: str) -> Story:
    return story.asked("Look at the settings").replied(
        "Looking.",
        call("shell", {"command": "cat settings"}, f"found:\n{text}\n"),
        call("shell", {"command": "pytest"}, f"Exit code 1\nError: no answer with\n{text}\n", failed=True),
        call("read", {"path": "/p/settings.env"}, text),
    )


def in_commands(story: Story, text: str) -> Story:
    return story.asked("Run it").replied(
        "Running.",
        call("shell", {"command": f"run <<'END'\n{text}\nEND"}, "ok"),
        call("shell", {"command": text}, "ok"),
        call("shell", {"command": f"make deploy && {text}"}, "Exit code 1\nboom", failed=True),
    )


def in_edits(story: Story, text: str) -> Story:
    return story.asked("Write it down").replied(
        "Writing.",
        call("write", {"path": "/p/a.env", "content": f"# settings\n{text}\n"}),
        call("edit", {"path": "/p/b.py", "old": "x = 1", "new": f"{text}\ny = 2"}),
        call("todo", {"items": [{"text": f"rotate {text}", "status": "pending"}]}),
    )


def everywhere(story: Story, text: str) -> Story:
    for put in (in_a_prompt, in_output, in_commands, in_edits):
        put(story, text)
    return story


PLACES = {
    "everywhere": everywhere,
    "prompt": in_a_prompt,
    "output": in_output,
    "commands": in_commands,
    "edits": in_edits,
}
# Every day each form is put everywhere at once, and a few across the cuts; one at a time takes minutes.
ALONE = [pytest.param(place, marks=() if place == "everywhere" else pytest.mark.slow) for place in PLACES]
CUT = [pytest.param(form, marks=() if at % 5 == 0 else pytest.mark.slow) for at, form in enumerate(FORMS)]
_MAX_LEAKED_CHARS = 8  # so many characters of a credential in a row are a leak


def leaked_pieces(secret: str, text: str) -> list[str]:
    """Return every piece of the credential in the text: half a credential is still one."""
    pieces = (secret[at : at + _MAX_LEAKED_CHARS] for at in range(len(secret) - _MAX_LEAKED_CHARS + 1))
    return [piece for piece in pieces if piece in text]


def documents(path: Path) -> dict[str, str]:
    """Return everything that is written or handed over of a session."""
    ref = SessionRef(agent=agent_of(path), transcript=path)
    kept = save_log(str(path), Workspace.open())
    states = [*(paths.state_folder() / "extractions").glob("*.json")]
    assert states, "the state is kept"
    return {
        "whole text": log_text(ref, Workspace.open()),
        "fresh text": log_text(ref, Workspace.open(), profile="fresh"),
        "text after a compaction": log_text(ref, Workspace.open(), profile="after_compaction", summary="x"),
        "markdown": kept.markdown_file.read_text(encoding="utf-8"),
        "json": kept.json_file.read_text(encoding="utf-8"),
        **{state.name: state.read_text(encoding="utf-8") for state in states},
    }


@pytest.mark.parametrize("form", FORMS)
def test_the_redactor_recognises_the_form(form: str) -> None:
    """What the redactor does not recognise here cannot be removed by a later step."""
    before, secret, after = FORMS[form]
    assert leaked_pieces(secret, Redactor().redact(f"{before}{secret}{after}")) == []


@pytest.mark.parametrize("place", ALONE)
@pytest.mark.parametrize("form", FORMS)
def test_a_credential_in_context_reaches_nothing_that_is_written(home, form: str, place: str) -> None:
    """Not even half of a credential is written, also when only new records are read."""
    before, secret, after = FORMS[form]
    story = Story(session_id="aaaaaaaa-0000-4000-8000-000000000009", project=str(Path.cwd()))
    PLACES[place](story, f"{before}{secret}{after}")
    path = home.claude(story)
    assert secret[:20] in path.read_text(encoding="utf-8")
    for name, text in documents(path).items():
        assert leaked_pieces(secret, text) == [], name
    path.unlink()
    PLACES[place](story, f"again: {before}{secret}{after}")
    for name, text in documents(home.claude(story)).items():
        assert leaked_pieces(secret, text) == [], f"second save, {name}"


def around_the_cuts(story: Story, text: str) -> Story:
    """Return texts that put the credential across every length at which something may be cut."""
    for words in range(12, 72, 3):
        ahead = "word " * words
        story.asked(f"Never say {ahead}{text}").replied(
            f"I decided on {ahead}{text}",
            call("shell", {"command": f"echo {ahead}{text}"}, f"{ahead}{text}"),
            call("shell", {"command": f"run {words}"}, f"Exit code 1\nError: {ahead}{text}", failed=True),
            call("edit", {"path": f"/p/{words}.py", "old": "x", "new": f"# {ahead}{text}"}),
            call("todo", {"items": [{"text": f"do {ahead}{text}", "status": "pending"}]}),
        )
    return story


@pytest.mark.parametrize("form", CUT)
def test_no_half_of_a_credential_is_left_where_a_text_was_cut(home, form: str) -> None:
    """The context that identifies it may be cut off, so it must go before the cut."""
    before, secret, after = FORMS[form]
    story = Story(session_id="aaaaaaaa-0000-4000-8000-000000000009", project=str(Path.cwd()))
    found = documents(home.claude(around_the_cuts(story, f"{before}{secret}{after}")))
    assert [name for name, text in found.items() if leaked_pieces(secret, text)] == []
