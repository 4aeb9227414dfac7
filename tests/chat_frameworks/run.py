"""Talks to an agent of each framework against a local API: chat, compact, resume. Prints a table; exit 1 when a fact did not hold.

Facts: the answer of the model is shown; every turn's tokens are those that the API counted; within a session the API is sent
the turns before; after compact and after resume it is sent the summary and not the old turns.
"""

import os
import re
import subprocess
import sys
import tempfile
import time
import traceback
from pathlib import Path

import environment
from local_api import LocalApi

HERE = Path(__file__).resolve().parent
SOURCE = HERE.parents[1] / "src"
CHAT_SECONDS = 120
NUMBERS = re.compile(r"^\*Time: [\d.]+s \| Tokens: (\d+) \(in: (\d+), out: (\d+)\)\*$", re.MULTILINE)


def main() -> int:
    python = environment.ensure()
    picked = sorted((HERE / "agents").glob("with_*.py"))
    wanted = sys.argv[1:]
    failed = 0
    for agent in picked:
        name = agent.stem.removeprefix("with_")
        if wanted and name not in wanted:
            continue
        begun, trouble = time.monotonic(), ""
        try:
            check(python, agent)
        except Exception:  # noqa: BLE001 - whatever goes wrong is the outcome, and the others must still run
            trouble = traceback.format_exc()
            failed += 1
        words = f"{'FAILED' if trouble else 'ok':7}{name} {time.monotonic() - begun:.1f} s\n{trouble}"
        sys.stdout.write(words)
        sys.stdout.flush()
    total = len(wanted or picked)
    sys.stdout.write(f"{total - failed} passed, {failed} failed\n")
    return 1 if failed else 0


def check(python: Path, agent: Path) -> None:
    with tempfile.TemporaryDirectory(prefix="leftoff-frameworks-") as scratch, LocalApi() as api:
        home = Path(scratch) / "home"
        work = home / "work"
        work.mkdir(parents=True)
        shown = talk(python, agent, work, api.url, ["alpha?", "beta?", "compact", "gamma?", "exit"])
        for word in (
            "An answer to alpha?",
            "An answer to gamma?",
            "Ready to continue!",
            "Saved session: greek_",
        ):
            assert word in shown, f"{word!r} was not shown:\n{shown}"
        again = talk(python, agent, work, api.url, ["delta?", "exit"], "--resume", "1")
        assert "An answer to delta?" in again, again
        expect_requests(api)
        expect_tokens(api, work)


def expect_requests(api: LocalApi) -> None:
    """What the model was sent: alpha, beta, summary, restoration, gamma, summary; restoration, delta, summary."""
    kinds = [kind(api.texts(number)[-1]) for number in range(len(api.requests))]
    assert kinds == ["alpha?", "beta?", "sum", "restore", "gamma?", "sum", "restore", "delta?", "sum"], kinds
    assert any("alpha?" in each for each in api.texts(1)), "within a session the turns before are sent"
    for number in (3, 4, 6, 7):
        sent = "\n".join(api.texts(number))
        assert "SUMMED-UP greek letters" in sent, f"request {number} is not sent the summary: {sent}"
        assert "An answer to" not in sent, f"request {number} is sent an old turn: {sent}"
        assert "alpha?" not in sent, f"request {number} is sent an old turn: {sent}"


def expect_tokens(api: LocalApi, work: Path) -> None:
    """Check the tokens of each session's entries in order; summaries are not entries."""
    sessions = [api.usages[0:2], api.usages[3:5], api.usages[6:8]]
    texts = sorted(
        (each.read_text(encoding="utf-8") for each in (work / ".leftoff" / "chats").glob("*.md")),
        key=lambda text: re.search(r"\*\*Date:\*\* (.+)", text)[1],
    )
    found = [[tuple(map(int, numbers)) for numbers in NUMBERS.findall(text)] for text in texts]
    assert found == [[(sum(took), *took) for took in each] for each in sessions], (found, sessions)


def kind(prompt: str) -> str:
    if prompt.startswith("Generate a progressive"):
        return "sum"
    return "restore" if prompt.startswith("CONTEXT RESTORATION") else prompt


def talk(python: Path, agent: Path, work: Path, url: str, lines: list[str], *options: str) -> str:
    done = subprocess.run(
        [python, "-m", "leftoff", "chat", agent, *options],
        cwd=work,
        env={
            "PATH": os.environ["PATH"],  # noqa: TID251 - the harness is not part of leftoff
            "HOME": str(work.parent),
            "PYTHONPATH": str(SOURCE),
            "PYTHONDONTWRITEBYTECODE": "1",
            "LANG": "C.UTF-8",
            "GREEK_API": url,
            "OTEL_SDK_DISABLED": "true",
            "LANGSMITH_TRACING": "false",
        },
        input="\n".join(lines) + "\n",
        capture_output=True,
        text=True,
        timeout=CHAT_SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


if __name__ == "__main__":
    sys.exit(main())
