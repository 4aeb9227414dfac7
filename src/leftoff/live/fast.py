"""The fast path: one file that is copied out of the package and run as ``python -I -S fast.py AGENT`` at every hook event.

It reads the event, reads the last token usage from the end of the transcript, compares it with the session's state file,
appends a line to a running pause, and exits. Only when something must be said, saved or restored does the full program take
its place. At the end of a session nothing is said: the end is noted in a file, and the full program does the rest in
the background. How an agent's events and transcript lines are read is data in the state file (``leftoff.core.fast_path``); where
the state has no such rules, every event goes to the full program, which writes them.

It imports only what a bare interpreter has loaded already or has in C, so an event costs little more than starting Python.
It locks and appends exactly as ``leftoff.platform`` does. No error reaches the agent: it becomes one line in our own log.
"""

import posix  # os is built on it; with -S os itself is not loaded yet
import sys
from errno import EAGAIN, ENOSPC, EWOULDBLOCK
from fcntl import LOCK_EX, LOCK_NB, flock
from time import gmtime, monotonic, sleep, strftime

try:
    from _json import encode_basestring_ascii as quote  # json itself would load re and enum
    from _json import make_scanner
except ImportError:  # an interpreter without the C modules is slower
    from json.encoder import encode_basestring_ascii as quote
    from json.scanner import make_scanner

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    Json = dict[str, Any]
    Lines = Iterator[tuple[int, bytes]]  # where each line ends, and its bytes
    Values = Iterator[tuple[int, Json]]
    Usage = tuple[int | None, int, str | None]  # tokens, where their line ends, model or window
    Seen = tuple[int | None, int, str | None, int]  # the same and the transcript's size

SCHEMA = 1  # of the state file; the full program deals with any other
LOCK_WAIT_SECONDS = 0.1
REPLY_WAIT_SECONDS = 0.25  # it is usually there; seen up to 80 ms late
FOLD_BYTES = 64 * 1024  # new bytes of transcript that are worth a process to update the extraction
LOOK_BYTES = 16 * 1024  # bytes behind the last usage that are worth an estimate by the full program
LARGEST_LOG_BYTES = 1024 * 1024
FARTHEST_BYTES = 64 * 1024 * 1024  # from the end: no reply is longer
TOOLS, PROMPT, STOP, END = "tools", "prompt", "stop", "end"  # kinds of event that need no full program
PHRASES = ("save progress", "done for today", "continue project ")
TRIGGERS = ("resume", "continue", "handoff", "pickup", "pin", "pins", "unpin", "trim")
# Every prompt that asks to continue (leftoff.resume_logs.continuing) contains one of these.
CONTINUING = (
    *("contin", "resum", "proceed", "go on", "go ahead", "carry on", "keep ", "pick ", "up again"),
    *("back to work", "back to it", "finish ", "s next", "s the next", "next step", "next task", "next one"),
    *("where we", "where you", "where i ", "where are we", "where did", "from where it", "продолж", "devam"),
    *("weiter", "fortsetz", "fortfahr", "poursui", "repren", "sigue", "segui", "続", "继续", "繼續", "계속"),
)
_OPENING_CHARS, _FIRST_LINE_CHARS = 80, 1000
_MOST_WORDS = 3  # behind a trigger: a longer line is a prompt for the agent
_FIRST_TOKENS = 50_000  # in a first turn: less reaches no threshold but of a very small window
_POLL_SECONDS = 0.002
_MOST_END_SECONDS = 2.0  # agents end a hook that takes longer than three
_MOST_FILES = 1024  # that the agent may have left open to its hooks; background work must not keep them open
_STEP_BYTES = 16 * 1024
_MOST_TOKENS = 10**12
_MOST_TOKENS_PER_BYTE = 0.5
_NAME = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-")


def main(arguments: "list[str]", environment: "dict[bytes, bytes]") -> int:
    """Handle one event. The exit code is always 0: to an agent, 2 means *block the prompt*."""
    folder = state_folder(environment)
    try:
        if environment.get(b"LEFTOFF_DISABLE", b"") in (b"", b"0") and len(arguments) == 2 and folder:
            raw = _read_all(0)
            if raw.strip():  # a client that is being stopped sends nothing
                _handle(arguments[1], folder, raw)
    except Exception as error:  # the agent must not notice any failure
        note(folder, f"fast path: {type(error).__name__}: {error}")
    return 0


def _handle(agent: str, folder: str, raw: bytes) -> None:
    event = parse_object(raw)
    session = event.get("session_id")
    if not isinstance(session, str) or not _is_name(agent) or not _is_name(session):
        return
    key = f"{agent}-{session}"
    state = _state(f"{folder}/watch/{key}.json")
    rules = _table(state, "fast_path")
    kind = _table(rules, "events").get(str(event.get("hook_event_name")))
    if kind not in (TOOLS, PROMPT, STOP, END):
        if _can_write(folder):  # without a state that lasts, every message would be repeated at every event
            _hand_over(agent, folder, raw)
        return
    if state.get("off") is True and kind != PROMPT:  # at a prompt the full program reads the settings again
        return
    if kind == END:
        _end(agent, folder, session, raw)
    elif not _handle_alone(agent, folder, session, kind, event, state):
        _hand_over(agent, folder, raw)


def _handle_alone(agent: str, folder: str, session: str, kind: str, event: "Json", state: "Json") -> bool:
    """Record the event and start what can run in the background; return False if the full program is needed instead."""
    actor = event.get("agent_id")
    seen = None if actor else _look_at(kind, event, _table(state, "fast_path"))
    pauses, pause = f"{folder}/pauses", f"{agent}-{session}.jsonl"
    is_paused = bool(state.get("pause_id"))
    is_ended = is_paused and _changed_at(f"{pauses}/{pause}") is None  # a command has ended the pause
    if not actor and (is_ended or _is_due(kind, event, state, seen) or (kind == STOP and _has_moved(state))):
        return False
    if is_paused and not is_ended:
        _record(kind, event, state, seen, pauses, pause)
    if kind == STOP and not actor:
        _work_after_turn(agent, session, state, seen)
    return True


def _work_after_turn(agent: str, session: str, state: "Json", seen: "Seen | None") -> None:
    if state.get("offer_open") is True or _is_new(state):
        detach(agent, "first-turn", session)
    elif seen and seen[3] - _count(state, "folded_bytes") >= FOLD_BYTES:
        detach(agent, "fold", session)


def _is_due(kind: str, event: "Json", state: "Json", seen: "Seen | None") -> bool:
    """Return whether the full program has something to say, save or restore."""
    if state.get("is_due") is True or state.get("off") is True:
        return True
    if state.get({STOP: "expects_log", TOOLS: "hints"}.get(kind, "")) is True:
        return True
    if kind == PROMPT and _may_be_for_us(str(event.get("prompt")).strip(), state):
        return True
    return seen is not None and not _is_first_look(state, seen) and _is_gauge_due(state, seen)


def _is_gauge_due(state: "Json", seen: "Seen") -> bool:
    """Return whether the model, the window or a threshold has changed, or may have."""
    used, end, about, size = seen
    if about is not None and about != state.get("about"):
        return True  # another model or window
    if used is None:
        return False
    mark = state.get("next_mark_tokens")
    if used < _count(state, "rearm_below_tokens") or (isinstance(mark, int) and used >= mark):
        return True
    is_near = isinstance(mark, int) and used + (size - end) * _MOST_TOKENS_PER_BYTE >= mark
    return is_near and size - max(end, _count(state, "looked_bytes")) >= LOOK_BYTES


def _is_first_look(state: "Json", seen: "Seen") -> bool:
    """Return whether the gauge can wait for the task after the first turn."""
    return seen[0] is not None and seen[0] < _FIRST_TOKENS and _is_new(state)


def _is_new(state: "Json") -> bool:
    """Return whether the full program has not looked at the session's replies yet."""
    return state.get("about") is None and not _count(state, "looked_bytes")


def _may_be_for_us(prompt: str, state: "Json") -> bool:
    """Return whether the full program must see a prompt: a trigger, a phrase, or a request to continue earlier work."""
    if parse_trigger(prompt, str(state.get("triggers_prefix", ">"))):
        return True
    if " ".join(prompt[:_OPENING_CHARS].lower().split()).startswith(PHRASES):
        return True
    if state.get("offer_open") is True:
        words = state.get("offer_words")
        return may_ask_to_continue(prompt) or any(str(word) in prompt for word in words or ())
    return state.get("may_continue") is True and may_ask_to_continue(prompt)


def parse_trigger(prompt: str, prefix: str) -> "tuple[str, str] | None":
    """Return the name and the argument of a trigger: one short line that begins with the prefix and one of the words.

    None for any other prompt, which goes to the agent, and for every prompt if the prefix is empty. Only what is pinned may be long.
    """
    lines = prompt.strip().splitlines()
    if len(lines) != 1 or not prefix.strip() or not lines[0].startswith(prefix):
        return None
    name, _, argument = lines[0][len(prefix) :].replace("\t", " ").partition(" ")
    name, argument = name.lower(), argument.strip()
    if name not in TRIGGERS or (name != "pin" and len(argument.split()) > _MOST_WORDS):
        return None
    return name, argument


def may_ask_to_continue(prompt: str) -> bool:
    """Return whether a prompt may ask to continue earlier work; the full program decides."""
    line = " ".join(prompt[:_FIRST_LINE_CHARS].lstrip().partition("\n")[0].lower().split())
    return any(word in line for word in CONTINUING)


def _has_moved(state: "Json") -> bool:
    """Return whether a document that the full program watches has changed since it last looked."""
    return any(_changed_at(path) != at for path, at in _table(state, "files").items())


# The end of a transcript.


def _look_at(kind: str, event: "Json", rules: "Json") -> "Seen | None":
    path, reply = event.get("transcript_path"), event.get("last_assistant_message")
    if kind == STOP and isinstance(reply, str) and any("text" in rule for rule in rules.get("usage", ())):
        _wait_for_reply(rules, path, " ".join(reply.split()))
    return look(rules, path)


def look(rules: "Json | None", path: "str | None") -> "Seen | None":
    """Return the last usage in a transcript and the file's size; None without rules or without a file."""
    fd = _open_transcript(path) if rules else None
    if fd is None or not rules:
        return None
    try:
        size = posix.lseek(fd, 0, 2)
        return (*last_usage(rules, newest_first(fd, size)), size)
    finally:
        posix.close(fd)


def _open_transcript(path: "str | None") -> "int | None":
    if not isinstance(path, str):
        return None
    try:
        return posix.open(path, posix.O_RDONLY | posix.O_CLOEXEC | posix.O_NONBLOCK)
    except (OSError, ValueError):
        return None  # a session has no file before its first prompt


def _wait_for_reply(rules: "Json", path: "str | None", reply: str) -> None:
    """Wait a moment for the reply of the turn that has just ended, in case the client has not written it yet."""
    fd = _open_transcript(path)
    if fd is None:
        return
    deadline, size = monotonic() + REPLY_WAIT_SECONDS, -1
    try:
        while True:
            before, size = size, posix.lseek(fd, 0, 2)
            if size != before and _ends_with_reply(rules, newest_first(fd, size), reply):
                return
            if monotonic() >= deadline:
                return
            sleep(_POLL_SECONDS)
    finally:
        posix.close(fd)


def _ends_with_reply(rules: "Json", lines: "Lines", reply: str) -> bool:
    """Return whether the last reply in the transcript is this one, or its last part."""
    for _, value in _values(rules, lines):
        if usage := _rule(rules, "usage", value):
            given = _at(value, usage.get("text", ""))
            blocks = given if isinstance(given, list) else [{"text": given}]
            texts = [str(block.get("text") or "") for block in blocks if isinstance(block, dict)]
            written = " ".join(" ".join(texts).split())
            return bool(written) and (written in reply or reply in written)
    return False


def last_usage(rules: "Json", lines: "Lines") -> "Usage":
    """Return the tokens in the window after the last reply, less what was cleared since; after a compaction, what it left."""
    values = _values(rules, lines)
    cleared, is_summarised = 0, False
    for end, value in values:
        cleared += _cleared(rules, value)
        is_summarised = is_summarised or _rule(rules, "summary", value) is not None
        if compaction := _rule(rules, "compaction", value):
            return _number(value, compaction.get("tokens", "")), end, None
        if (usage := _rule(rules, "usage", value)) and (used := _sum(value, usage)):
            whole = _largest_of_reply(rules, _at(value, usage.get("reply", "")), used, values)
            return None if is_summarised else max(0, whole - cleared), end, _about(value, usage)
    return None, 0, None


def _largest_of_reply(rules: "Json", reply: object, most: int, values: "Values") -> int:
    """Return the largest sum on the lines of the same reply, less what was cleared between them."""
    cleared = unsure = 0
    for _, value in values:
        if not reply or _rule(rules, "summary", value) or _rule(rules, "compaction", value):
            break
        unsure += _cleared(rules, value)
        if (usage := _rule(rules, "usage", value)) and (used := _sum(value, usage)):
            if _at(value, usage.get("reply", "")) != reply:
                break
            most, cleared, unsure = max(most, used), cleared + unsure, 0
    return most - cleared


def _rule(rules: "Json", kind: str, value: "Json") -> "Json | None":
    """Return the first rule of a kind whose ``where`` the value meets."""
    for rule in rules.get(kind, ()):
        for path, wanted in rule["where"].items():
            given = _at(value, path)
            if type(given) is not type(wanted) or given != wanted:  # True is not 1
                break
        else:
            matching: Json = rule
            return matching
    return None


def _sum(value: "Json", usage: "Json") -> int:
    return sum(_count(value, path) for path in usage["add"])


def _about(value: "Json", usage: "Json") -> "str | None":
    for path in usage.get("about", ()):
        given = _at(value, path)
        if given and isinstance(given, str):
            return given
        if (number := _number(value, path)) is not None:
            return str(number)
    return None


def _cleared(rules: "Json", value: "Json") -> int:
    """Return the tokens that a line says were cleared from the window without a compaction."""
    rule = _rule(rules, "cleared", value)
    if rule is None:
        return 0
    before, saved = _number(value, rule["before"]), _number(value, rule["saved"])
    return (before or 0) - (0 if before is None or saved is None else max(0, before - saved))


def _values(rules: "Json", lines: "Lines") -> "Values":
    """Return the objects that count, newest first, on lines that hold one of the marks."""
    marks = [mark.encode() for mark in rules.get("marks", ())]
    for end, line in lines:
        if not marks or any(mark in line for mark in marks):
            yield from ((end, each) for each in reversed(objects(line)) if not _rule(rules, "skip", each))


def newest_first(fd: int, size: int) -> "Lines":
    """Return the lines of a file from the last to the first, each with where it ends, read in growing steps."""
    end, step, rest = size, _STEP_BYTES, b""
    while end > 0 and size - end < FARTHEST_BYTES:
        start = max(0, end - step)
        block = posix.pread(fd, end - start, start) + rest
        cut = block.find(b"\n") + 1 if start else 0
        if start and not cut:
            rest = block
        else:
            rest, until = block[:cut], len(block)
            while until > cut:
                begin = max(cut, block.rfind(b"\n", cut, until - 1) + 1)
                yield start + until, block[begin:until]
                until = begin
        end, step = start, 4 * step


def objects(line: bytes) -> "list[Json]":
    """Return the JSON objects that a line begins with: one, or several where a crash has joined lines."""
    text, at = line.decode("utf-8", "replace"), 0
    parsed: list[Json] = []
    while True:
        while blank := len(part := text[at : at + 256]) - len(part.lstrip(" \t\r\n\0")):
            at += blank  # a little at a time: there may be 100,000 objects, and copying the rest for each takes minutes
        try:
            value, at = SCAN(text, at)
        except (StopIteration, ValueError, RecursionError, SystemError):
            return parsed  # SystemError: json.decoder is not loaded, so the C scanner cannot raise its error
        if not isinstance(value, dict):
            return parsed
        parsed.append(value)


def parse_object(raw: bytes) -> "Json":
    """Parse the one JSON object in ``raw``; anything else is a ValueError."""
    parsed = objects(raw)
    if len(parsed) != 1:
        raise ValueError("not one JSON object")
    return parsed[0]


class _ScannerSettings:
    """The attributes that the C scanner reads from a decoder."""

    strict, object_hook, object_pairs_hook, parse_float, parse_int, memo = False, None, None, float, int, {}  # type: ignore[var-annotated]

    @staticmethod
    def parse_constant(name: str) -> None:
        raise ValueError(name)


SCAN = make_scanner(_ScannerSettings)  # type: ignore[arg-type]


def _at(value: "Json", path: str) -> object:
    """Return what a value holds at a path of keys joined by dots; None if it holds nothing there."""
    inner: object = value
    for key in path.split("."):
        inner = inner.get(key) if isinstance(inner, dict) else None
    return inner


def _number(value: "Json", path: str) -> "int | None":
    number = _at(value, path)
    return number if type(number) is int and 0 <= number <= _MOST_TOKENS else None


def _count(value: "Json", path: str) -> int:
    return _number(value, path) or 0


def _table(value: "Json", key: str) -> "Json":
    inner = value.get(key)
    return inner if isinstance(inner, dict) else {}


# A line of the pause.


def _record(kind: str, event: "Json", state: "Json", seen: "Seen | None", folder: str, name: str) -> None:
    """Append type, tool, ids, byte offset and share of the window to the pause; the text is in the transcript."""
    used, usable = seen[0] if seen else None, _count(state, "usable_tokens")
    share = used / usable if used and usable else state.get("used_fraction") or 0.0
    where = {"offset": seen[3]} if seen else {}
    lines = b"".join(
        _line(type_, state["pause_id"], data | where, share) for type_, data in _actions(kind, event)
    )
    path, lock = f"{folder}/{name}", f"{folder}/.{name}.lock"
    # At the end of a turn the lines must survive a crash of the machine.
    if lines and not append_line(path, lines, lock, creating=0, sync=kind == STOP):
        raise OSError(f"{name}: a line of the pause was not written")


def _actions(kind: str, event: "Json") -> "list[tuple[str, Json]]":
    actor = event.get("agent_id")
    by = {"actor": actor} if isinstance(actor, str) else {}
    if kind == PROMPT:
        return [("user_message", by)]
    if kind == STOP:
        return [("assistant_response", by)]
    calls = [event] if "tool_name" in event else event.get("tool_calls")
    return [
        ("tool_call", {"tool": str(call.get("tool_name")), "call_id": str(call.get("tool_use_id"))} | by)
        for call in (calls if isinstance(calls, list) else ())
        if isinstance(call, dict)
    ]


def _line(type_: str, pause_id: object, data: "Json", share: float) -> bytes:
    fields = ", ".join(
        f"{quote(key)}: {each if type(each) is int else quote(each)}" for key, each in data.items()
    )
    stamp = strftime("%Y-%m-%dT%H:%M:%SZ", gmtime())
    return (
        f'{{"type": "{type_}", "timestamp": "{stamp}", "session_id": {quote(str(pause_id))}, '
        f'"data": {{{fields}}}, "context_percentage": {share:.6f}}}\n'
    ).encode("ascii")


def append_line(
    path: str, line: bytes, lock: str, creating: int = posix.O_CREAT, *, sync: bool = False
) -> bool:
    """Append one line (with its newline) to ``path`` under ``lock``; False when that fails or takes too long.

    With ``creating=0`` the file must exist: a line of a pause that has just ended must not begin another one. With ``sync``
    the line is on disk before this returns. Never raises for a held lock, a missing folder or a full disk.
    """
    try:
        guard = posix.open(lock, posix.O_RDWR | posix.O_CREAT | posix.O_CLOEXEC | posix.O_NOFOLLOW, 0o600)
    except (OSError, ValueError):  # ValueError: a path that no system accepts
        return False
    try:
        return _lock(guard) and _append(path, line, creating, sync=sync)
    except (OSError, ValueError):
        return False
    finally:
        posix.close(guard)


def _lock(guard: int) -> bool:
    deadline = monotonic() + LOCK_WAIT_SECONDS
    while True:
        try:
            flock(guard, LOCK_EX | LOCK_NB)
        except OSError as error:
            if error.errno not in (EAGAIN, EWOULDBLOCK) or monotonic() >= deadline:
                return False
            sleep(_POLL_SECONDS)
        else:
            return True


def _append(path: str, line: bytes, creating: int, *, sync: bool) -> bool:
    flags = posix.O_RDWR | posix.O_APPEND | creating | posix.O_CLOEXEC | posix.O_NOFOLLOW
    fd = posix.open(path, flags, 0o600)
    try:
        size = posix.lseek(fd, 0, 2)
        if size and posix.pread(fd, 1, size - 1) != b"\n":
            line = b"\n" + line
        written = 0
        try:
            written = posix.write(fd, line)
        finally:
            if written != len(line):
                posix.ftruncate(fd, size)
        if written != len(line):
            raise OSError(ENOSPC, "short write")
        if sync:
            posix.fsync(fd)
        return True
    finally:
        posix.close(fd)


# The end of a session.


def _end(agent: str, folder: str, session: str, raw: bytes) -> None:
    """Note the end on disk and start the task that saves everything.

    The note is deleted when all is saved. Where it is left over, because the task was killed, the next session of the project starts
    the task again.
    """
    key = f"{agent}-{session}"
    note = f"{folder}/watch/{key}.end"
    if not append_line(note, raw.strip() + b"\n", f"{folder}/watch/.{key}.json.lock", sync=True):
        _hand_over(agent, folder, raw)
        return
    detach(agent, "end", session)
    deadline = monotonic() + (_MOST_END_SECONDS if _ends_with_client() else 0)
    while monotonic() < deadline and _changed_at(note) is not None:
        sleep(_POLL_SECONDS)


def _ends_with_client() -> bool:
    """Return whether process 1 is the client or has started it.

    So it is in a container or a service, which end with the client and take every background process with them.
    """
    pid = posix.getppid()
    for _ in range(3):  # the hook's shell, the client, what has started the client
        if pid == 1:
            return True
        try:
            fd = posix.open(f"/proc/{pid}/stat", posix.O_RDONLY | posix.O_CLOEXEC)
        except OSError:
            return False  # a system without /proc
        try:
            pid = int(_read_all(fd).rpartition(b")")[2].split()[1])
        finally:
            posix.close(fd)
    return False


# The full program.


def _hand_over(agent: str, folder: str, raw: bytes) -> None:
    """Become the full program, with the event on standard input again: in an unnamed file, because a pipe may be too small."""
    if hasattr(posix, "memfd_create"):
        fd = posix.memfd_create("event")
    else:
        name = f"{folder}/.event.{posix.getpid()}"
        fd = posix.open(name, posix.O_RDWR | posix.O_CREAT | posix.O_EXCL, 0o600)
        posix.unlink(name)
    written = 0
    while written < len(raw):
        written += posix.write(fd, raw[written:])
    posix.lseek(fd, 0, 0)
    posix.dup2(fd, 0)
    posix.closerange(3, _MOST_FILES)
    posix.execv(sys.executable, [*_PROGRAM, "hook", agent])


def detach(agent: str, task: str, session: str) -> None:
    """Start work of the full program in the background, in its own session and without the agent's files."""
    if posix.fork():
        return
    try:
        posix.setsid()
        nothing = posix.open("/dev/null", posix.O_RDWR)
        for fd in (0, 1, 2):
            posix.dup2(nothing, fd)
        posix.closerange(3, _MOST_FILES)
        posix.execv(sys.executable, [*_PROGRAM, "hook", agent, task, session])
    finally:
        posix._exit(0)  # a forked child must not run the parent's exit code


# -E -P: a folder called leftoff in the project must never run instead, whatever PYTHONPATH says.
_PROGRAM = (sys.executable, "-E", "-P", "-m", "leftoff")


# Files.


def state_folder(environment: "dict[bytes, bytes]") -> "str | None":
    """Return the folder of leftoff's state, by the same rule as the full program; None without a home."""
    named, home = environment.get(b"XDG_STATE_HOME", b""), environment.get(b"HOME", b"")
    if not named.startswith(b"/"):
        if not home:
            return None
        named = home + (b"/Library/Application Support" if sys.platform == "darwin" else b"/.local/state")
    return (named + b"/leftoff").decode("utf-8", "surrogateescape")


def note(folder: "str | None", text: str) -> None:
    """Write one line to leftoff's own log; a failure to do so is ignored."""
    path = f"{folder}/leftoff.log"
    try:
        if posix.stat(path).st_size > LARGEST_LOG_BYTES:
            posix.rename(path, f"{path}.1")
    except (OSError, ValueError):
        pass  # the log does not exist yet
    line = f"{strftime('%Y-%m-%dT%H:%M:%SZ', gmtime())} {' '.join(text.split())[:500]}\n"
    append_line(path, line.encode("utf-8", "replace"), f"{folder}/.lock")


def _state(path: str) -> "Json":
    """Load the session's state as the full program wrote it; empty if it is missing or has another schema."""
    try:
        fd = posix.open(path, posix.O_RDONLY | posix.O_CLOEXEC | posix.O_NOFOLLOW)
    except (OSError, ValueError):
        return {}
    try:
        state = parse_object(_read_all(fd))
    except ValueError:
        return {}
    finally:
        posix.close(fd)
    return state if state.get("schema") == SCHEMA else {}


def _can_write(folder: str) -> bool:
    """Return whether a state file can be written: with a full disk the full program is of no use."""
    parts = folder.split("/")
    for depth in range(2, len(parts) + 1):
        try:
            posix.mkdir("/".join(parts[:depth]), 0o700)
        except OSError:
            continue  # it exists, or the next step fails
    probe = f"{folder}/.probe.{posix.getpid()}"
    is_written = append_line(probe, b"?" * 4095 + b"\n", f"{folder}/.lock")
    try:
        posix.unlink(probe)
    except OSError:
        return False
    return is_written


def _changed_at(path: str) -> "int | None":
    try:
        return posix.lstat(path).st_mtime_ns
    except (OSError, ValueError):
        return None


def _read_all(fd: int) -> bytes:
    return b"".join(iter(lambda: posix.read(fd, 1 << 16), b""))


def _is_name(text: str) -> bool:
    """Return whether a text may be part of a file name, by the rule of ``leftoff.platform.clock``."""
    if not 0 < len(text) <= 128:
        return False
    return _NAME.issuperset(text) and text[0] not in "._-" and text[-1] != "." and ".." not in text


if __name__ == "__main__":
    posix._exit(main(sys.argv, posix.environ))  # everything is written: skip the interpreter's shutdown
