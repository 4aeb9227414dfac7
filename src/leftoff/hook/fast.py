"""The fast path, in one file that is copied out of the package and run as ``python -I -S fast.py AGENT`` at every event.

It reads the event, looks at the end of the transcript, compares that with what the session's state file says, adds a line
to a running pause, and ends; only when something must be said, saved or restored does the full program take its place,
with the event handed on. It imports nothing but what a bare interpreter has loaded already or finds in C, so that an event
costs little more than starting Python. What it does to shared files it does exactly as ``leftoff.system`` does: same lock,
one write per line, a torn end mended first. Whatever goes wrong is one line in leftoff's own log: the agent never feels it.
"""

import posix
import sys
from errno import EAGAIN, ENOSPC, EWOULDBLOCK
from fcntl import LOCK_EX, LOCK_NB, flock
from time import gmtime, monotonic, sleep, strftime

try:
    from _json import encode_basestring_ascii as quoted
    from _json import make_scanner
except ImportError:  # an interpreter without C: slower, and the same
    from json.encoder import encode_basestring_ascii as quoted
    from json.scanner import make_scanner

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    Json = dict[str, Any]
    Lines = Iterator[tuple[int, bytes]]  # where each ends, and the line
    Values = Iterator[tuple[int, Json]]
    Word = tuple[int | None, int, str | None]  # tokens, where that was said, what it says of model or window
    Seen = tuple[int | None, int, str | None, int]  # and the transcript's size

SCHEMA = 1  # of the state file; any other is the full program's business
LOCK_WAIT_SECONDS = 0.1
FOLD_BYTES = 64 * 1024  # new in the transcript, before it is worth a process to fold them into the extraction
LOOK_BYTES = 16 * 1024  # of an unmetered tail, before the full program is asked to estimate it
LARGEST_LOG_BYTES = 1024 * 1024
FARTHEST_BYTES = 64 * 1024 * 1024  # from the end: no reply is longer
TOOLS = ("PostToolUse", "PostToolUseFailure", "PostToolBatch")
PROMPT, STOP = "UserPromptSubmit", "Stop"
PHRASES = ("save progress", "done for today", "continue project ")
_NAP_SECONDS = 0.002
_STEP_BYTES = 16 * 1024
_MOST_TOKENS = 10**12
_MOST_TOKENS_PER_BYTE = 0.5
_NAME = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-")


def main(arguments: "list[str]", environment: "dict[bytes, bytes]") -> int:
    """Deal with one event; always 0, because 2 means *block* to an agent."""
    folder = state_folder(environment)
    try:
        if environment.get(b"LEFTOFF_DISABLE", b"") in (b"", b"0") and len(arguments) == 2 and folder:
            raw = _whole(0)
            if raw.strip():  # nothing comes from a client that is ended meanwhile
                _event(arguments[1], folder, raw)
    except Exception as trouble:  # whatever it is, the agent must not feel it
        note(folder, f"fast path: {type(trouble).__name__}: {trouble}")
    return 0


def _event(agent: str, folder: str, raw: bytes) -> None:
    event = parsed(raw)
    name, session = event.get("hook_event_name"), event.get("session_id")
    if not isinstance(session, str) or not _is_name(agent) or not _is_name(session):
        return
    key = f"{agent}-{session}"
    state = _state(f"{folder}/watch/{key}.json") if name in (*TOOLS, PROMPT, STOP) else None
    if state is None:
        if _can_write(folder):  # without a state that is kept, everything would be said again and again
            _hand_over(agent, folder, raw)
        return
    if state.get("off") is True and name != PROMPT:  # a prompt asks again: the settings may have changed
        return
    actor = event.get("agent_id")
    seen = None if actor else look(state.get("tail"), event.get("transcript_path"))
    pauses, pause = f"{folder}/pauses", f"{key}.jsonl"
    is_paused = bool(state.get("pause_id"))
    is_ended = is_paused and _changed_at(f"{pauses}/{pause}") is None  # by a command: to be forgotten
    if not actor and (is_ended or _is_due(event, state, seen) or (name == STOP and _has_moved(state))):
        _hand_over(agent, folder, raw)
        return
    if is_paused and not is_ended:
        _record(event, state, seen, pauses, pause)
    if name == STOP and not actor and seen and seen[3] - _count(state, "folded_bytes") >= FOLD_BYTES:
        detach(agent, "fold", session)


def _is_due(event: "Json", state: "Json", seen: "Seen | None") -> bool:
    """Whether the full program has something to say, save or restore."""
    if state.get("is_due") is True or state.get("off") is True:
        return True
    if event.get("hook_event_name") == PROMPT:
        words = str(event.get("prompt")).strip()
        if words.startswith(state.get("triggers_prefix") or ">") or " ".join(
            words[:40].lower().split()
        ).startswith(PHRASES):
            return True
    if seen is None:
        return False
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


def _has_moved(state: "Json") -> bool:
    """Whether a document that the full program follows has changed since it looked."""
    return any(_changed_at(path) != at for path, at in _table(state, "files").items())


def look(tail: "str | None", path: "str | None") -> "Seen | None":
    """Tokens, where the reply that says so ends, what it says of model or window, and the transcript's size."""
    reader = READERS.get(tail or "")
    if reader is None or not isinstance(path, str):
        return None
    try:
        fd = posix.open(path, posix.O_RDONLY | posix.O_CLOEXEC | posix.O_NONBLOCK)
    except (OSError, ValueError):
        return None  # at its first prompt a session has no file yet
    try:
        size = posix.lseek(fd, 0, 2)
        return (*reader(newest_first(fd, size)), size)
    finally:
        posix.close(fd)


# The end of a transcript, in the two forms there are


def replies(lines: "Lines") -> "Word":
    """Occupancy after the last reply where replies stand as messages, one line for each of their blocks.

    Lines of subagents, words of the client's own and API errors do not count; the lines of one reply count once, with the
    greatest number; after a compaction without a reply the client's own number counts, if it gave one.
    """
    values = _values(lines, b'put_tokens"', b'compact_boundary"', b'"isCompactSummary"')
    cleared, is_summarised = 0, False
    for end, value in values:
        cleared += _cleared(value)
        is_summarised = is_summarised or value.get("isCompactSummary") is True
        if value.get("subtype") == "compact_boundary":
            return _number(_table(value, "compactMetadata"), "postTokens"), end, None
        if used := _occupancy(value):
            whole = _of_reply(_table(value, "message").get("id"), used, values)
            return None if is_summarised else max(0, whole - cleared), end, _model(value)
    return None, 0, None


def _of_reply(name: object, most: int, values: "Values") -> int:
    """The greatest number that the lines of a reply say, less what was cleared between them."""
    cleared = doubtful = 0
    for _, value in values:
        if not name or value.get("isCompactSummary") is True or value.get("subtype") == "compact_boundary":
            break
        doubtful += _cleared(value)
        if used := _occupancy(value):
            if _table(value, "message").get("id") != name:
                break
            most, cleared, doubtful = max(most, used), cleared + doubtful, 0
    return most - cleared


def readings(lines: "Lines") -> "Word":
    """Occupancy where the client writes a reading behind each reply; a compaction without one since makes it unknown."""
    for end, value in _values(lines, b'"token_', b'"compacted"'):
        payload = _table(value, "payload")
        said, window = _table(payload, "usage") if value.get("type") == "token_usage_record" else {}, None
        if value.get("type") == "compacted":
            return None, end, None
        if value.get("type") == "event_msg" and payload.get("type") == "token_count":
            info = _table(payload, "info")
            said, window = _table(info, "last_token_usage"), _number(info, "model_context_window")
        if used := _number(said, "total_tokens"):
            return used, end, None if window is None else str(window)
    return None, 0, None


READERS = {"replies": replies, "readings": readings}


def newest_first(fd: int, size: int) -> "Lines":
    """The lines of a file from the last to the first, each with where it ends, read in steps that widen."""
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


def _values(lines: "Lines", *marks: bytes) -> "Values":
    """The objects of the main conversation on lines that hold any of the marks."""
    for end, line in lines:
        if any(mark in line for mark in marks):
            yield from (
                (end, each) for each in reversed(objects(line)) if each.get("isSidechain") is not True
            )


def objects(line: bytes) -> "list[Json]":
    """The JSON objects that a line begins with: one, or several that were glued together."""
    text, at = line.decode("utf-8", "replace"), 0
    found: list[Json] = []
    while True:
        at += len(text[at:]) - len(text[at:].lstrip(" \t\r\n\0"))
        try:
            value, at = SCAN(text, at)
        except (StopIteration, ValueError, RecursionError, SystemError):
            return found  # SystemError: a scanner in C that finds no json.decoder to raise the error of
        if not isinstance(value, dict):
            return found
        found.append(value)


def parsed(raw: bytes) -> "Json":
    """The one JSON object that ``raw`` is; anything else is a ValueError."""
    found = objects(raw)
    if len(found) != 1:
        raise ValueError("no JSON object")
    return found[0]


class _Strict:
    """What the scanner wants to be told."""

    strict, object_hook, object_pairs_hook, parse_float, parse_int, memo = False, None, None, float, int, {}  # type: ignore[var-annotated]

    @staticmethod
    def parse_constant(name: str) -> None:
        raise ValueError(name)


SCAN = make_scanner(_Strict)  # type: ignore[arg-type]


def _occupancy(line: "Json") -> int:
    message = _table(line, "message")
    is_own = message.get("model") == "<synthetic>" or line.get("isApiErrorMessage") is True
    if line.get("type") != "assistant" or is_own:
        return 0
    names = ("input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
    return sum(_count(_table(message, "usage"), name) for name in names)


def _model(line: "Json") -> "str | None":
    name = line.get("requestedModel") or _table(line, "message").get("model")
    return name if isinstance(name, str) else None


def _cleared(line: "Json") -> int:
    """What a small compaction took out, which left the conversation as it was but for old results."""
    if line.get("subtype") != "microcompact_boundary":
        return 0
    said = _table(line, "microcompactMetadata")
    before, saved = _number(said, "preTokens"), _number(said, "tokensSaved")
    return (before or 0) - (0 if before is None or saved is None else max(0, before - saved))


def _table(value: "Json", key: str) -> "Json":
    inner = value.get(key)
    return inner if isinstance(inner, dict) else {}


def _number(value: "Json", key: str) -> "int | None":
    found = value.get(key)
    return found if type(found) is int and 0 <= found <= _MOST_TOKENS else None


def _count(value: "Json", key: str) -> int:
    return _number(value, key) or 0


# A line of the pause


def _record(event: "Json", state: "Json", seen: "Seen | None", folder: str, name: str) -> None:
    """Type, tool, ids, byte offset and share of the window; the words stand in the transcript."""
    used, usable = seen[0] if seen else None, _count(state, "usable_tokens")
    share = used / usable if used and usable else state.get("used_fraction") or 0.0
    where = {"offset": seen[3]} if seen else {}
    lines = b"".join(_line(kind, state["pause_id"], data | where, share) for kind, data in _actions(event))
    is_end = event.get("hook_event_name") == STOP  # of a turn: its lines must survive the machine
    path, lock = f"{folder}/{name}", f"{folder}/.{name}.lock"
    if lines and not append_line(path, lines, lock, creating=0, sync=is_end):
        raise OSError(f"{name}: a line of the pause was not written")


def _actions(event: "Json") -> "list[tuple[str, Json]]":
    actor = event.get("agent_id")
    by = {"actor": actor} if isinstance(actor, str) else {}
    name = event.get("hook_event_name")
    if name == PROMPT:
        return [("user_message", by)]
    if name == STOP:
        return [("assistant_response", by)]
    calls = event.get("tool_calls") if name == "PostToolBatch" else [event]
    return [
        ("tool_call", {"tool": str(call.get("tool_name")), "call_id": str(call.get("tool_use_id"))} | by)
        for call in (calls if isinstance(calls, list) else ())
        if isinstance(call, dict)
    ]


def _line(kind: str, pause_id: object, data: "Json", share: float) -> bytes:
    told = ", ".join(
        f"{quoted(key)}: {each if type(each) is int else quoted(each)}" for key, each in data.items()
    )
    stamp = strftime("%Y-%m-%dT%H:%M:%SZ", gmtime())
    return (
        f'{{"type": "{kind}", "timestamp": "{stamp}", "session_id": {quoted(str(pause_id))}, '
        f'"data": {{{told}}}, "context_percentage": {share:.6f}}}\n'
    ).encode("ascii")


def append_line(
    path: str, line: bytes, lock: str, creating: int = posix.O_CREAT, *, sync: bool = False
) -> bool:
    """Add one whole line (bytes with its end) to ``path``, holding ``lock``; False when that could not be done in time.

    With ``creating=0`` the file must be there: the line of a pause that was ended meanwhile must not begin another. With
    ``sync`` the disk has it before we say so.
    Never raises for a held lock, a missing folder or a full disk: a hook must not harm the agent.
    """
    try:
        guard = posix.open(lock, posix.O_RDWR | posix.O_CREAT | posix.O_CLOEXEC | posix.O_NOFOLLOW, 0o600)
    except (OSError, ValueError):  # ValueError: a path that no system takes
        return False
    try:
        return _locked(guard) and _append(path, line, creating, sync=sync)
    except (OSError, ValueError):
        return False
    finally:
        posix.close(guard)


def _locked(guard: int) -> bool:
    deadline = monotonic() + LOCK_WAIT_SECONDS
    while True:
        try:
            flock(guard, LOCK_EX | LOCK_NB)
        except OSError as error:
            if error.errno not in (EAGAIN, EWOULDBLOCK) or monotonic() >= deadline:
                return False
            sleep(_NAP_SECONDS)
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


# The full program


def _hand_over(agent: str, folder: str, raw: bytes) -> None:
    """Become the full program, with the event on standard input once more: a file without a name, because pipes are small."""
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
    posix.execv(sys.executable, [*_PROGRAM, "hook", agent])


def detach(agent: str, task: str, session: str) -> None:
    """Start work of the full program that nobody waits for: in a session of its own, holding nothing of the agent's."""
    if posix.fork():
        return
    try:
        posix.setsid()
        nothing = posix.open("/dev/null", posix.O_RDWR)
        for fd in (0, 1, 2):
            posix.dup2(nothing, fd)
        posix.execv(sys.executable, [*_PROGRAM, "hook", agent, task, session])
    finally:
        posix._exit(0)


# -E -P: a project's own folder called leftoff must never be what runs, whatever PYTHONPATH says.
_PROGRAM = (sys.executable, "-E", "-P", "-m", "leftoff")


# Files


def state_folder(environment: "dict[bytes, bytes]") -> "str | None":
    """Where the full program keeps its state too; None where nobody can tell."""
    named, home = environment.get(b"XDG_STATE_HOME", b""), environment.get(b"HOME", b"")
    if not named.startswith(b"/"):
        if not home:
            return None
        named = home + (b"/Library/Application Support" if sys.platform == "darwin" else b"/.local/state")
    return (named + b"/leftoff").decode("utf-8", "surrogateescape")


def note(folder: "str | None", words: str) -> None:
    """One line in leftoff's own log; not even that failing is the agent's trouble."""
    path = f"{folder}/leftoff.log"
    try:
        if posix.stat(path).st_size > LARGEST_LOG_BYTES:
            posix.rename(path, f"{path}.1")
    except (OSError, ValueError):
        pass  # there is none yet
    line = f"{strftime('%Y-%m-%dT%H:%M:%SZ', gmtime())} {' '.join(words.split())[:500]}\n"
    append_line(path, line.encode("utf-8", "replace"), f"{folder}/.lock")


def _state(path: str) -> "Json | None":
    """What the full program left for us; None where it left nothing, or something that we do not understand."""
    try:
        fd = posix.open(path, posix.O_RDONLY | posix.O_CLOEXEC | posix.O_NOFOLLOW)
    except (OSError, ValueError):
        return None
    try:
        state = parsed(_whole(fd))
    except ValueError:
        return None
    finally:
        posix.close(fd)
    return state if state.get("schema") == SCHEMA else None


def _can_write(folder: str) -> bool:
    """Whether anything can be kept: on a full disk, or in a folder that is none, the full program would work in vain."""
    parts = folder.split("/")
    for depth in range(2, len(parts) + 1):
        try:
            posix.mkdir("/".join(parts[:depth]), 0o700)
        except OSError:
            continue  # it is there, or the next step will tell
    room = f"{folder}/.room.{posix.getpid()}"
    is_kept = append_line(room, b"?" * 4095 + b"\n", f"{folder}/.lock")
    try:
        posix.unlink(room)
    except OSError:
        return False
    return is_kept


def _changed_at(path: str) -> "int | None":
    try:
        return posix.lstat(path).st_mtime_ns
    except (OSError, ValueError):
        return None


def _whole(fd: int) -> bytes:
    return b"".join(iter(lambda: posix.read(fd, 1 << 16), b""))


def _is_name(text: str) -> bool:
    """Whether it may be part of a file's name, as ``leftoff.system.ids`` judges."""
    if not 0 < len(text) <= 128:
        return False
    return _NAME.issuperset(text) and text[0] not in "._-" and text[-1] != "." and ".." not in text


if __name__ == "__main__":
    posix._exit(main(sys.argv, posix.environ))
