"""Runs two versions of leftoff through the same steps and shows every difference: output, exit codes and files.

``python tools/compare_versions.py [BASE] [NEW]``: BASE is a commit, NEW a commit or a folder with ``src`` in it (this checkout
when left out). The steps are in compare_versions.txt: shell commands in a scratch HOME, at the same path for both versions, on
real transcripts of LEFTOFF_TRANSCRIPTS. Time and random numbers are frozen, so equal code gives equal results: a commit compared
with itself must show nothing. Ends with 1 when there is a difference that ``EXPECTED`` does not explain. One run at a time; the
results of BASE are kept for the next one, also of a run that was ended half way. Linux only.
"""

from __future__ import annotations

import argparse
import ctypes
import difflib
import fcntl
import hashlib
import json
import multiprocessing
import os
import re
import shlex
import shutil
import sqlite3
import subprocess
import sys
import sysconfig
import tempfile
import time
import venv
from collections import defaultdict
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
STEPS = Path(__file__).with_suffix(".txt")
BASE = "bcf948d"
# Intended differences: in which steps, what is taken out of both texts before they are compared, and why it differs.
EXPECTED = [
    (r"\| \d+ (?!file )", r"(?m)[ \u2500]+$", "tables are drawn without spaces at the end of lines"),
    (r"leftoff --help", r"(?m)^  bench  .*\n", "the bench commands left the package"),
    (r"leftoff bench", r"\Aexit code 0\nUsage: leftoff bench(?s:.*)", "the bench commands left the package"),
    (
        r"leftoff demo",
        r"(?<=about )66,4[89]0|(?<=instead of )268,\d+",
        "the demo plays a recorded transcript",
    ),
    (r"uninstall --purge $", r"(?<= files, )[\d,]+(?= bytes: register)", "the fast path has another size"),
    (r"uninstall --purge --json$", r'(?<="size_bytes": )\d+', "the fast path has another size"),
    (
        r"/leftoff/watch/",
        r'"fast_path":\{.*?\}\]\},',
        "the rules of the fast path stand in the state of a session",
    ),
    (
        r"file home/\.local/state$",
        r"\Amode 40(700|755)",
        "the folder of all states is private when leftoff makes it",
    ),
    (r"signatures", r"(?<=: 'Document', )\w+: '\w+'", "ResumeState.load passes on its workspace, not a path"),
    (r"signatures", r"workspace: 'Workspace \| None' = None, ", "ChatLoop can be given a workspace"),
    (
        r"signatures",
        r"(?m)( ?= ?|: '[^']+')(?=.*('unknown'|<factory>)\)( -> None)?$)| -> None$",
        "the fields of ContextMetrics and ResumeLog show their types",
    ),
]
# The transcripts, each with the worlds it is put into; the longest first.
TRANSCRIPTS = {
    "claude-2.1.38-compact-progress": ("reading", "fast"),
    "codex-0.142-compacted": ("reading", "fast"),
    "claude-2.0.76-glued-line-todos": ("reading", "fast"),
    "claude-2.1.14-microcompact-compact": ("reading", "fast", "hook", "keeping"),
    "codex-old-header-cjk": ("reading", "fast"),
    "claude-2.1.29-orphan-result": ("reading", "fast"),
    "claude-2.0.64-errors": ("reading", "fast"),
    "codex-0.63-exec": ("reading", "fast", "hook", "keeping"),
    "claude-1.0.108-sidechain-cjk": ("reading", "fast"),
    "claude-2.1.116-attachments-small": ("reading", "fast"),
}
QUICK = re.compile(r"general|0\.63.*(reading|fast|keeping)|1\.0\.108")
EARLIER = "claude-1.0.71-task-sidechain"  # an older session of the same project, in every world
# What differs between two runs of the same code: process numbers, real times, how long something took.
MASKS = {
    r'("(?:client_)?pid": ?)\d+': r"\g<1>0",
    r'("(?:begun|process_start|client_begun|pid_begun)": ?)"\d+"': r'\1""',
    r"\b1[78]\d{17}\b(-\d+)?": "0",  # nanoseconds, and the number of the file's inode
    r'("id": ?"session-\d{8}-[^"]*", ?"sha256": ?)"[0-9a-f]{64}"': r'\1""',  # of a file with process numbers
    r"\b1[78]\d{8}\.\d+\b": "0.0",
    r'("took_ms": ?)[\d.]+': r"\g<1>0",
    r"\b\d+\.\d+\.\d+\.dev\d+\b": "<version>",
}
SUMMARY_LINES, SUMMARY_COLUMNS, LONGEST_DIFF = 24, 160, 20_000
SUBREAPER = 36  # PR_SET_CHILD_SUBREAPER: what a step leaves running becomes our child, and we can wait for it
Results = dict[str, str]

# Loaded by every process of a step: as sitecustomize, and by hand for the fast path, which runs without site. Time is fixed
# at $NOW; patience is longer, so that a busy machine changes nothing; the n-th random bytes of a length are always the same.
FREEZE = """
import os, sys, time
now = int(os.environ.get("NOW", "0"))
if now:
    gmtime, localtime, monotonic, strftime = time.gmtime, time.localtime, time.monotonic, time.strftime
    time.time, time.time_ns, time.perf_counter = lambda: float(now), lambda: now * 10**9, lambda: 0.0
    time.gmtime = lambda seconds=None: gmtime(now if seconds is None else seconds)
    time.localtime = lambda seconds=None: localtime(now if seconds is None else seconds)
    time.strftime = lambda form, moment=None: strftime(form, moment or gmtime(now))
    if not sys.flags.no_site:
        import datetime, gc
        time.monotonic = lambda: monotonic() / 20
        counts = {}
        def urandom(size):
            import hashlib
            counts[size] = counts.get(size, 0) + 1
            words = repr((now, sys.orig_argv[1:], size, counts[size]))
            return hashlib.shake_256(words.encode()).digest(size)
        os.urandom = urandom
        while sys.orig_argv[-2:-1] == ["catch-up"] and os.getppid() != int(os.environ["REAPER"]):
            time.sleep(0.01)  # a session's start offers what this saves if it is in time: here, it never is
        os.getpid = lambda: 1  # lives as long as the machine, and stands in files whose digests are kept
        for kind in (datetime.date, datetime.datetime):
            methods = gc.get_referents(kind.__dict__)[0]
            methods["today"] = classmethod(lambda cls: cls.fromtimestamp(now))
        methods["now"] = classmethod(lambda cls, tz=None: cls.fromtimestamp(now, tz))
        methods["utcnow"] = classmethod(lambda cls: cls.utcfromtimestamp(now))
"""
RUN_FAST = "sys.argv[:] = sys.argv[1:]; exec(open(sys.argv[0]).read(), {'__name__': '__main__'})\n"

LOW_MARKS = (
    "context_management:\n  thresholds: {caution: 0.01, warning: 0.02, auto_pause: 0.03, critical: 0.9}\n"
)
# Programs and files of every world.
PROGRAMS = {
    "leftoff": 'exec "$PYTHON" -P -m leftoff "$@"',
    "library": 'exec "$PYTHON" -P -c "$LIBRARY" "$@"',
    "signatures": 'exec "$PYTHON" -P -c "$SIGNATURES"',
    "git": 'export GIT_AUTHOR_DATE="$NOW +0000" GIT_COMMITTER_DATE="$NOW +0000"; exec /usr/bin/git "$@"',
    "edit": "sed -i '/^## Mission/,$ s/^- /- edited: /' \"$1\"",
    "claude": 'if [ "$1" = --version ]; then echo "2.1.62 (Claude Code)"; else echo "claude $*, disabled: $LEFTOFF_DISABLE"; fi',
    "codex": 'if [ "$1" = --version ]; then echo "codex-cli 0.142.0"; else echo "codex $*, disabled: $LEFTOFF_DISABLE"; fi',
}
FILES = {
    "home/.gitconfig": "[user]\n\tname = Test\n\temail = test@example.invalid\n",
    "home/.config/leftoff/nothing": "",
    "home/.claude/settings.json": '{"statusLine": {"type": "command", "command": "date"}}\n',
    "elsewhere/README.md": "Another project.\n",
    "project/README.md": "This is it.\n",
    "project/src/app.py": "print(1)\n",
    "steps.md": "# Steps\n\n## One\n- [ ] read\n- [ ] write\n  - [ ] test\n\n## Two\n- [ ] ship\n",
    "agent.py": "def agent(prompt):\n    return prompt.upper()\n",
}
SIGNATURES = """
import inspect, leftoff
for name in leftoff.__all__:
    found = getattr(leftoff, name)
    print(name, inspect.signature(found) if callable(found) else type(found).__name__)
    for method, value in inspect.getmembers(found) if inspect.isclass(found) else ():
        if not method.startswith("_"):
            try:
                print("   ", method, inspect.signature(value))
            except (TypeError, ValueError):  # no function, or one of C
                print("   ", method, type(value).__name__)
"""
LIBRARY = """
import sys, leftoff
session = leftoff.open_session(sys.argv[1])
print(leftoff.measure(session).to_dict())
print(leftoff.get_parent_info(sys.argv[2]), leftoff.get_full_lineage_chain(sys.argv[2]))
print(leftoff.identify_trimmable_lines_cli(sys.argv[2]))
for plan in (leftoff.plan_trim(session), leftoff.plan_smart_trim(session)):
    print(len(plan.cuts), plan.saved_tokens)
print(leftoff.extract(session))
"""


class World:
    """A HOME and a project in which steps run one after the other; ``results`` holds what each said, and files."""

    def __init__(self, scratch: Path, unit: str) -> None:
        self.folder = scratch / "worlds" / unit
        self.home, self.project = self.folder / "home", self.folder / "project"
        self.results: Results = {}
        self.files: Results = {}
        self.count = 0
        shutil.rmtree(self.folder, ignore_errors=True)
        for name, text in FILES.items():
            self.write(name, text)
        for name, script in PROGRAMS.items():
            self.write(f"bin/{name}", f"#!/bin/sh\n{script}\n").chmod(0o755)
        frozen = self.write("bin/frozen.py", FREEZE + RUN_FAST)
        self.fast = f" -I -S {frozen} "
        self.names = {
            "PYTHON": f"{scratch}/venv/bin/python",
            "SIGNATURES": SIGNATURES,
            "LIBRARY": LIBRARY,
            "FILE": "README.md",
            "REAPER": str(os.getpid()),
        }
        transcripts = Path(os.environ.get("LEFTOFF_TRANSCRIPTS", ROOT.parent / "shared" / "transcripts"))
        name, _, kind = unit.partition("+")
        self.forms: tuple[str, ...] = ("", "--json")
        if kind == "reading":  # done ten times: every second transcript has the other form
            self.forms = (self.forms[[*TRANSCRIPTS].index(name) % 2],)
        source = transcripts / f"{EARLIER if name == 'general' else name}.jsonl"
        times = re.findall(
            r'"timestamp": ?"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)', source.read_text(encoding="utf-8")
        )
        self.start = datetime.fromisoformat(max(times)).replace(tzinfo=UTC) + timedelta(hours=2)
        self.names["EARLIER"] = self.place(
            transcripts / f"{EARLIER}.jsonl", self.start - timedelta(days=1)
        ).stem
        self.transcript = self.place(source, self.start)
        self.step("git init -q -b main && git add . && git commit -qm 'First commit' && git log --format=%H")

    def write(self, name: str, text: str) -> Path:
        """Write a file of this world."""
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8", newline="")
        return path

    def place(self, source: Path, at: datetime) -> Path:
        """Copy a transcript into its agent's home, as a session of our project; name it in the environment."""
        text = source.read_text(encoding="utf-8")
        agent = source.name.partition("-")[0]
        cwd = re.search(r'"cwd": ?"([^"]+)"|Current working directory: ([^\\]+)', text)
        text = text.replace((cwd[1] or cwd[2]) if cwd else "/nowhere", str(self.project))
        for name in [*dict.fromkeys(re.findall(rf"{self.project}/(\w[\w/-]*\.\w+)", text))][:5]:
            self.names["FILE"] = str(self.write(f"project/{name}", f"This is {name}.\n"))
        if agent == "claude":
            name = session_id = re.findall(r'"sessionId": ?"([^"]+)"', text)[0]
            folder = f"home/.claude/projects/{re.sub('[^a-zA-Z0-9]', '-', str(self.project))}"
        else:
            session_id = re.findall(r'"id": ?"([^"]+)"', text)[0]
            name = f"rollout-{at:%Y-%m-%dT%H-%M-%S}-{session_id}"
            folder = f"home/.codex/sessions/{at:%Y/%m/%d}"
        path = self.write(f"{folder}/{name}.jsonl", text)
        os.utime(path, (at.timestamp(), at.timestamp()))
        self.names |= {
            "ID": session_id,
            "AGENT": agent,
            "TRANSCRIPT": str(path),
            "SESSIONS": str(path.parent),
        }
        client_json = {"session_id": session_id, "transcript_path": str(path), "cwd": str(self.project)}
        client_json |= {
            "model": {"id": "claude-sonnet-4-5"},
            "context_window": {"context_window_size": 200_000},
            "workspace": {"current_dir": str(self.project), "project_dir": str(self.project)},
        }
        self.names["STATUS"] = json.dumps(client_json)
        return path

    def step(self, command: str, stdin: bytes = b"", name: str | None = None) -> None:
        """Run a command and wait for all that it leaves running; each step is a minute later than the one before."""
        self.count += 1
        now = int(self.start.timestamp()) + 60 * self.count
        fixed = {"LANG": "C.UTF-8", "TERM": "dumb", "COLUMNS": "400", "TZ": "UTC", "PYTHONHASHSEED": "0"}
        fixed |= {"HOME": str(self.home), "PATH": f"{self.folder}/bin:/usr/bin:/bin", "NOW": str(now)}
        fixed["GIT_CONFIG_NOSYSTEM"] = "1"
        done = subprocess.run(
            ["sh", "-c", command],
            input=stdin,
            capture_output=True,
            cwd=self.project,
            env=fixed | self.names,
            timeout=300,
            check=False,
        )
        try:
            while os.waitpid(-1, 0):
                pass
        except ChildProcessError:
            pass  # no child is left
        for path in self.paths():
            if path.lstat().st_mtime > now + 86400:  # written in this step, so it is as old as this step
                os.utime(path, (now, now), follow_symlinks=False)
        outputs = [part.decode("utf-8", "replace") for part in (done.stdout, done.stderr)]
        text = f"exit code {done.returncode}\n{outputs[0]}\n--- standard error\n{outputs[1]}"
        self.results[name or f"{self.count:03} {command}"] = masked(text)

    def steps(self, lines: list[str]) -> None:
        """Run every line; with {json} in it, in the two forms or in the one that is this world's."""
        for line in lines:
            for way in self.forms if "{json}" in line else ("",):
                self.record_files() if line == "files" else self.step(line.replace("{json}", way))

    def hooks(self, *, fast: bool) -> None:
        """Tell the session's story event by event, while its transcript grows."""
        self.write("home/.config/leftoff/configuration.yaml", LOW_MARKS)
        self.step("leftoff project init Work && leftoff install $AGENT")
        lines, at = self.transcript.read_bytes().splitlines(keepends=True), self.start.timestamp()
        for line in section("hooks"):
            if line == "files":
                self.record_files()
                continue
            share, event, fields = line.split(" ", 2)
            self.transcript.unlink(missing_ok=True)
            if float(share):
                self.transcript.write_bytes(b"".join(lines[: int(len(lines) * float(share))]))
                os.utime(self.transcript, (at, at))
            event_json = {
                "session_id": self.names["ID"],
                "transcript_path": str(self.transcript),
                "cwd": str(self.project),
            }
            event_json |= {"hook_event_name": event} | json.loads(fields)
            if event_json["session_id"] != self.names["ID"]:
                event_json["transcript_path"] = str(self.transcript.with_name("new.jsonl"))
            command = self.installed_hook() if fast else "leftoff hook $AGENT"
            self.step(command, json.dumps(event_json).encode(), f"{self.count:03} {event} {fields}")
        self.steps(section("after hooks"))

    def installed_hook(self) -> str:
        """The command that leftoff install gave the agent, with the time frozen in it."""
        name = ".claude/settings.json" if self.names["AGENT"] == "claude" else ".codex/hooks.json"
        found = re.findall(r'"\[ -r (?:[^"\\]|\\.)*"', (self.home / name).read_text(encoding="utf-8"))
        return json.loads(found[0]).replace(" -I -S ", self.fast)

    def paths(self) -> list[Path]:
        """Every file and folder in HOME and in the project."""
        return sorted([*self.home.rglob("*"), *self.project.rglob("*")])

    def record_files(self) -> None:
        """Record path, mode and content of what is new or has changed since this was last done, but for git's own files."""
        found: Results = {}
        for path in self.paths():
            name = str(path.relative_to(self.folder))
            if ".git" not in path.parts and not name.endswith(("-wal", "-shm", "-journal")):
                found[name] = masked(f"mode {path.lstat().st_mode:o}\n{content(path)}")
        for name in dict.fromkeys([*self.files, *found]):
            if found.get(name) != self.files.get(name):
                self.results[f"{self.count:03} file {name}"] = found.get(name, "gone")
        self.files = found


def section(name: str) -> list[str]:
    """Return the steps under a heading."""
    _, _, text = STEPS.read_text(encoding="utf-8").partition(f"\n[{name}]\n")
    lines = text.partition("\n[")[0].splitlines()
    return [line for line in lines if line and not line.startswith("#")]


def content(path: Path) -> str:
    """What a file holds, as text: rows of a database, the digest of other bytes; nothing of the compiled fast path."""
    if path.is_dir() or path.name == "fast.py":
        return ""
    raw = path.read_bytes()
    if raw.startswith(b"SQLite format 3\0"):
        return "\n".join(rows(path))
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        return f"{len(raw)} bytes, sha256 {hashlib.sha256(raw).hexdigest()}"


def rows(path: Path) -> Iterator[str]:
    """Schema and rows of a database; what SQLite keeps of a full-text index is left out."""
    with closing(sqlite3.connect(path)) as database:
        for name, sql in [*database.execute("SELECT name, sql FROM sqlite_master ORDER BY name")]:
            yield f"{name}: {sql}"
            if (sql or "").startswith("CREATE TABLE") and not re.search(
                "_(data|idx|docsize|config|content)$", name
            ):
                yield from sorted(f"  {row}" for row in database.execute(f'SELECT * FROM "{name}"'))


def masked(text: str) -> str:
    """The text without what differs from run to run."""
    for pattern, put in MASKS.items():
        text = re.sub(pattern, put, text)
    return text


def run_unit(scratch: Path, unit: str, keep: Path) -> None:
    """One world from its beginning to its end; its results go into the file ``keep``."""
    ctypes.CDLL(None).prctl(SUBREAPER, 1, 0, 0, 0)
    world, kind = World(scratch, unit), unit.partition("+")[2]
    if unit == "general":
        world.steps(section("general"))
        world.record_files()
        helps(world, [])
    elif kind in ("fast", "hook"):
        world.hooks(fast=kind == "fast")
    else:
        world.steps(section(kind))
    world.record_files()
    shutil.rmtree(world.folder)
    keep.write_text(json.dumps(world.results), encoding="utf-8")


def helps(world: World, command: list[str]) -> None:
    """--help of a command and of all commands below it."""
    line = shlex.join(["COLUMNS=100", "leftoff", *command, "--help"])
    world.step(line, name=line)  # without its number: there may be more or fewer of them
    _, _, listed = [*world.results.values()][-1].partition("\nCommands:\n")
    for name in re.findall(r"^  ([a-z-]+)  ", listed, re.MULTILINE):
        helps(world, [*command, name])


def put_code(scratch: Path, version: str) -> None:
    """Put the code of a version where the interpreter of the worlds looks for it."""
    code = scratch / "code"
    shutil.rmtree(code, ignore_errors=True)
    if Path(version).is_dir():
        shutil.copytree(Path(version) / "src", code / "src", ignore=shutil.ignore_patterns("__pycache__"))
    else:
        code.mkdir()
        archive = ["git", "-C", ROOT, "archive", version, "src"]
        packed = subprocess.run(archive, capture_output=True, check=True)
        subprocess.run(["tar", "-x", "-C", code], input=packed.stdout, check=True)
    where = [scratch / "venv/bin/python", "-E", "-P", "-c", "import leftoff; print(leftoff.__file__)"]
    loaded = subprocess.run(where, capture_output=True, text=True, check=True, cwd=scratch, env={}).stdout
    assert loaded.startswith(str(code)), f"{loaded} was loaded instead of {code}"


def run_version(scratch: Path, version: str, units: list[str], jobs: int, keep: Path) -> Results:
    """The results of a version. Those of each unit are put into ``keep``; what is there already is not run again."""
    begun = time.monotonic()
    missing = [unit for unit in units if not (keep / unit).exists()]
    keep.mkdir(exist_ok=True)
    if missing:
        put_code(scratch, version)
        with ProcessPoolExecutor(jobs, multiprocessing.get_context("fork")) as pool:
            for done in [pool.submit(run_unit, scratch, unit, keep / unit) for unit in missing]:
                done.result()
    results: Results = {}
    for unit in units:
        found = json.loads((keep / unit).read_text(encoding="utf-8"))
        results |= {f"{unit} | {step}": text for step, text in found.items()}
    took = f"{time.monotonic() - begun:.0f} s for {len(missing)} of {len(units)} worlds"
    print(f"{version}: {len(results)} steps and files, {took}", flush=True)
    return results


def kept_results(scratch: Path, version: str) -> Path:
    """Where the results of a version are kept: for what it is, how it is run, and since when the machine is up."""
    commit = subprocess.check_output(["git", "-C", ROOT, "rev-parse", f"{version}^{{commit}}"], text=True)
    boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="utf-8")
    ours = re.sub(r"(?s)\nEXPECTED = .*?\n]\n", "", Path(__file__).read_text(encoding="utf-8"))
    words = f"{commit} {boot} {sys.version} {ours} {STEPS.read_text(encoding='utf-8')}"
    return scratch / f"results-{hashlib.sha256(words.encode()).hexdigest()[:16]}"


def make_interpreter(scratch: Path) -> None:
    """An environment that loads leftoff from ``scratch/code``, its dependencies from ours, and freezes the time."""
    venv.create(scratch / "venv", clear=True, symlinks=True)
    (packages,) = (scratch / "venv" / "lib").glob("python*/site-packages")
    ways = f"{scratch}/code/src\n{sysconfig.get_path('purelib')}\n"  # the .pth files in ours are not read
    (packages / "compare.pth").write_text(ways, encoding="utf-8")
    (packages / "sitecustomize.py").write_text(FREEZE, encoding="utf-8")


def readable(text: str) -> list[str]:
    """Lines for a diff: JSON spread out, long lines folded."""
    lines: list[str] = []
    for line in text.splitlines():
        try:
            shown = json.dumps(json.loads(line), indent=1, ensure_ascii=False) if line[:1] == "{" else line
        except ValueError:
            shown = line
        for each in shown.splitlines() or [""]:
            lines += re.findall(r".{1,120}(?:\s|$)|.{1,120}", each) or [""]
    return lines


def difference(before: str, after: str) -> list[str]:
    """The changed lines, with one around them; raw lines where they differ in form alone."""
    changed: list[str] = []
    for way in (readable, str.splitlines):
        old, new = way(before), way(after)
        pairs = enumerate(zip(old, new, strict=False))
        start = next((number for number, (one, other) in pairs if one != other), 0)
        old, new = old[max(0, start - 1) :][:LONGEST_DIFF], new[max(0, start - 1) :][:LONGEST_DIFF]
        changed = changed or [*difflib.unified_diff(old, new, lineterm="", n=1)][2:]
    return changed or ["-(ends of lines)"]


def report(base: Results, new: Results, out: Path | None) -> int:
    """Print every difference once, with where it is met; return how many are not explained."""
    groups: dict[str, list[str]] = defaultdict(list)
    shown: dict[str, list[str]] = {}
    steps = [*dict.fromkeys([*base, *new])]
    for step in steps:
        before, after = base.get(step, ""), new.get(step, "")
        if before == after:
            continue
        reasons, before, after = without_expected(step, before, after)
        lines = [] if before == after else difference(before, after)
        changed = "\n".join(line for line in lines if line[:1] in "+-")
        key = (
            re.sub(r"\S*leftoff-compare\S*|[0-9a-f]{8}[0-9a-f-]*|\d+", "#", changed)
            or f"(expected: {reasons})"
        )
        groups[key].append(step)
        shown.setdefault(key, lines)
        if out:
            name = re.sub(r"[^\w.+-]+", "_", step)[:120]
            (out / f"{name}.diff").write_text("\n".join([step, *(lines or [key]), ""]), encoding="utf-8")
    for key, where in sorted(groups.items(), key=lambda item: -len(item[1])):
        print(f"\n=== {len(where)} times {'NOT EXPLAINED' if shown[key] else key}", *where[:4], sep="\n    ")
        for line in shown[key][:SUMMARY_LINES]:
            print("  ", line[:SUMMARY_COLUMNS])
    equal = len(steps) - sum(map(len, groups.values()))
    unexplained = sum(map(bool, shown.values()))
    print(
        f"\n{len(steps)} steps and files: {equal} equal; {len(groups)} differences, {unexplained} not explained"
    )
    return unexplained


def without_expected(step: str, before: str, after: str) -> tuple[str, str, str]:
    """Both texts without what is meant to differ, and first the reasons that played a part."""
    reasons = []
    for where, pattern, reason in EXPECTED:
        if re.search(where, step):
            taken = [[found[0] for found in re.finditer(pattern, text)] for text in (before, after)]
            before, after = re.sub(pattern, "", before), re.sub(pattern, "", after)
            reasons += [reason] if taken[0] != taken[1] else []
    return "; ".join(reasons), before, after


def main() -> int:
    """Compare as the command line asks."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("base", nargs="?", default=BASE)
    parser.add_argument("new", nargs="?", default=str(ROOT))
    parser.add_argument("--out", type=Path, help="write every difference in full into this folder")
    parser.add_argument("--only", default="", help="only worlds with this in their name")
    parser.add_argument("--quick", action="store_true", help="two small transcripts only")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--fresh", action="store_true", help="use no results of earlier runs")
    chosen = parser.parse_args()
    units = ["general", *(f"{name}+{kind}" for name, kinds in TRANSCRIPTS.items() for kind in kinds)]
    units = [unit for unit in units if chosen.only in unit and (not chosen.quick or QUICK.search(unit))]
    for day in (0, 1):
        date = f"{datetime.now(UTC) + timedelta(days=day):%Y-%m-%d}"
        MASKS[rf"{date}[T ][0-9:.]+(Z|\+00:00)?"] = "<real time>"
    if chosen.out:
        chosen.out.mkdir(parents=True, exist_ok=True)
    scratch = Path(tempfile.gettempdir()).resolve() / f"leftoff-compare-{os.getuid()}"
    scratch.mkdir(mode=0o700, exist_ok=True)
    with (scratch / "lock").open("w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # all runs use the same paths
        make_interpreter(scratch)
        kept = kept_results(scratch, chosen.base)
        if chosen.fresh:
            shutil.rmtree(kept, ignore_errors=True)
        base = run_version(scratch, chosen.base, units, chosen.jobs, kept)
        with tempfile.TemporaryDirectory(dir=scratch) as once:
            new = run_version(scratch, chosen.new, units, chosen.jobs, Path(once))
    return 1 if report(base, new, chosen.out) else 0


if __name__ == "__main__":
    sys.exit(main())
