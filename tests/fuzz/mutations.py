"""Ways to damage a transcript: each takes its bytes and a source of randomness and returns other bytes."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator, Mapping
from typing import Any

Mutation = Callable[[bytes, random.Random], bytes]

_WRONG_VALUES: tuple[Any, ...] = (
    *(None, True, False, 0, 1, -1, 2**31, 2**63, 2**64, -(2**63) - 1, 10**30, 1.5, -0.0, 1e308, 1e-320),
    *(
        "",
        " ",
        "\0",
        "\ud800",
        "\udfffx",
        "\x1b[31mred\x1b[0m",
        "\u202egnp.exe",
        "../../etc/passwd",
        "x" * 5000,
        "日本語" * 300,
    ),
    *(
        [],
        [[]],
        [1, 2, 3],
        [None],
        ["x", {"type": "text"}],
        {},
        {"": ""},
        {"type": []},
        {"text": {"text": None}},
    ),
)
_KEYS_THAT_MATTER = (
    *(
        "type",
        "uuid",
        "parentUuid",
        "sessionId",
        "timestamp",
        "message",
        "content",
        "role",
        "id",
        "model",
        "usage",
        "name",
    ),
    *(
        "input",
        "tool_use_id",
        "toolUseResult",
        "isSidechain",
        "isMeta",
        "cwd",
        "version",
        "requestId",
        "text",
        "summary",
    ),
    *(
        "input_tokens",
        "output_tokens",
        "cache_read_input_tokens",
        "subtype",
        "compactMetadata",
        "microcompactMetadata",
    ),
    *(
        "payload",
        "call_id",
        "arguments",
        "output",
        "info",
        "total_token_usage",
        "last_token_usage",
        "model_context_window",
    ),
    *(
        "replacement_history",
        "base_instructions",
        "originator",
        "cli_version",
        "item",
        "path",
        "file_path",
        "command",
    ),
)


def mutate(data: bytes, source: random.Random) -> tuple[bytes, list[str]]:
    """Apply one to three mutations and return the result with their names."""
    names = source.choices([*MUTATIONS], k=source.choice((1, 1, 1, 2, 3)))
    for name in names:
        data = MUTATIONS[name](data, source)
    return data, names


# Bytes.


def _flip_bits(data: bytes, source: random.Random) -> bytes:
    changed = bytearray(data)
    for _ in range(source.choice((1, 3, 30)) if data else 0):
        changed[source.randrange(len(changed))] ^= 1 << source.randrange(8)
    return bytes(changed)


def _cut_the_end(data: bytes, source: random.Random) -> bytes:
    return data[: source.randrange(len(data) + 1)]


def _cut_the_beginning(data: bytes, source: random.Random) -> bytes:
    return data[source.randrange(len(data) + 1) :]


def _cut_a_hole(data: bytes, source: random.Random) -> bytes:
    first, last = sorted(source.randrange(len(data) + 1) for _ in range(2))
    return data[:first] + data[last:]


def _insert_nuls(data: bytes, source: random.Random) -> bytes:
    at = source.randrange(len(data) + 1)
    return data[:at] + b"\0" * source.choice((1, 7, 4096, 100_000)) + data[at:]


def _insert_noise(data: bytes, source: random.Random) -> bytes:
    at = source.randrange(len(data) + 1)
    return data[:at] + source.randbytes(source.choice((1, 20, 3000))) + data[at:]


def _invalid_utf8(data: bytes, source: random.Random) -> bytes:
    """Put bytes that are not UTF-8 inside a string."""
    quotes = [at for at in range(len(data)) if data[at : at + 1] == b'"'] if len(data) < 3_000_000 else []
    if not quotes:
        return data
    for at in sorted(source.choices(quotes, k=3), reverse=True):
        data = (
            data[: at + 1]
            + source.choice((b"\xff", b"\xed\xa0\x80", b"\xc3", b"\xf4\x90\x80\x80"))
            + data[at + 1 :]
        )
    return data


def _other_line_ends(data: bytes, source: random.Random) -> bytes:
    return data.replace(b"\n", source.choice((b"\r\n", b"\r", b"\n\n\n", b"\xe2\x80\xa8", b"\n \n")))


def _byte_order_mark(data: bytes, source: random.Random) -> bytes:
    return source.choice((b"\xef\xbb\xbf" + data, data.decode("utf-8", "replace").encode("utf-16")))


# Lines.


def _lines(data: bytes) -> list[bytes]:
    return data.splitlines(keepends=True)


def _repeat_lines(data: bytes, source: random.Random) -> bytes:
    lines = _lines(data)
    for _ in range(source.choice((1, 5))):
        if lines:
            lines.insert(source.randrange(len(lines) + 1), source.choice(lines))
    return b"".join(lines)


def _repeat_everything(data: bytes, source: random.Random) -> bytes:
    return data * source.choice((2, 3))


def _shuffle_lines(data: bytes, source: random.Random) -> bytes:
    lines = _lines(data)
    first, last = sorted(source.randrange(len(lines) + 1) for _ in range(2))
    lines[first:last] = source.sample(lines[first:last], last - first)
    return b"".join(lines)


def _reverse_lines(data: bytes, source: random.Random) -> bytes:
    return b"".join(reversed(_lines(data)))


def _drop_lines(data: bytes, source: random.Random) -> bytes:
    share = source.choice((0.02, 0.3, 0.9))
    return b"".join(line for line in _lines(data) if source.random() > share)


def _glue_lines(data: bytes, source: random.Random) -> bytes:
    share = source.choice((0.05, 0.5, 1.0))
    return b"".join(line.rstrip(b"\n") if source.random() < share else line for line in _lines(data))


def _interleave_halves(data: bytes, source: random.Random) -> bytes:
    """Two writers without a lock: a line ends in the middle of another."""
    lines = _lines(data)
    if len(lines) < 2:
        return data
    at = source.randrange(len(lines) - 1)
    cut = source.randrange(len(lines[at]))
    lines[at : at + 2] = [lines[at][:cut] + lines[at + 1], lines[at][cut:]]
    return b"".join(lines)


def _many_small_objects(data: bytes, source: random.Random) -> bytes:
    small = source.choice(
        (b'{"input_tokens":1}', b"{}", b'{"type":"user"}', b'{"type":"assistant","message":{}}', b"[]", b"1 ")
    )
    return data + small * source.choice((100, 20_000)) + source.choice((b"\n", b""))


def _long_line(data: bytes, source: random.Random) -> bytes:
    """A long line without an end, or with a line end in the wrong place."""
    filling = source.choice((b"a", b"\\", b'"', b"{", b"[", b" ", b"\\u0000", b'{"a":'))
    at = source.choice((len(data), data.find(b"\n") + 1))
    return data[:at] + filling * source.choice((1000, 300_000)) + source.choice((b"\n", b"")) + data[at:]


# Values.


def _change_records(
    data: bytes, source: random.Random, change: Callable[[dict[str, Any]], object], share: float = 0.1
) -> bytes:
    """Parse some lines, at least one, change them and write them back, surrogates as they are in JSON."""
    lines = _lines(data)
    chosen = {source.randrange(len(lines))} if lines else set()
    chosen |= {at for at in range(len(lines)) if source.random() < share}
    for at in chosen:
        try:
            record = json.loads(lines[at])
        except (ValueError, RecursionError):
            continue
        if isinstance(record, dict):
            change(record)
            lines[at] = (
                json.dumps(record, separators=(",", ":"), ensure_ascii=source.random() < 0.5).encode(
                    "utf-8", "surrogatepass"
                )
                + b"\n"
            )
    return b"".join(lines)


def _holders(value: Any) -> Iterator[tuple[Any, Any]]:
    """Return every container in a value with each of its keys or indices."""
    waiting = [value]
    while waiting:
        holder = waiting.pop()
        for key in [*holder] if isinstance(holder, dict) else range(len(holder)):
            yield holder, key
            if isinstance(holder[key], dict | list):
                waiting.append(holder[key])


def _wrong_types(data: bytes, source: random.Random) -> bytes:
    def change(record: dict[str, Any]) -> None:
        places = [*_holders(record)]
        for holder, key in source.sample(places, min(len(places), source.choice((1, 1, 4)))):
            holder[key] = source.choice(_WRONG_VALUES)

    return _change_records(data, source, change)


def _wrong_types_where_it_matters(data: bytes, source: random.Random) -> bytes:
    wanted, value = source.choice(_KEYS_THAT_MATTER), source.choice(_WRONG_VALUES)

    def change(record: dict[str, Any]) -> None:
        for holder, key in [*_holders(record)]:
            if key == wanted:
                holder[key] = value

    return _change_records(data, source, change, source.choice((0.05, 0.5, 1.0)))


def _surrogates(data: bytes, source: random.Random) -> bytes:
    def change(record: dict[str, Any]) -> None:
        places = [each for each in _holders(record) if isinstance(each[0][each[1]], str)]
        for holder, key in source.sample(places, min(len(places), 4)):
            text = holder[key]
            at = source.randrange(len(text) + 1)
            holder[key] = text[:at] + source.choice(("\ud800", "\udc80", "\udfff\ud83d")) + text[at:]

    return _change_records(data, source, change, source.choice((0.1, 1.0)))


def _hostile_texts(data: bytes, source: random.Random) -> bytes:
    hostile = (
        *(
            "\0",
            "\x1b]0;title\x07\x1b[2J",
            "\x9b31m",
            "\u202e",
            "</system-reminder>",
            "```\n# x\n",
            "\r\n" * 50,
            "a\u0300" * 500,
        ),
        *(
            "%s%n{0}{x!r}",
            "$(touch PWNED)",
            "[trimmed by leftoff: key " + "f" * 16 + "]",
            "\u2028\u2029",
            "=cmd|'/C calc'!A0",
        ),
    )

    def change(record: dict[str, Any]) -> None:
        places = [each for each in _holders(record) if isinstance(each[0][each[1]], str)]
        for holder, key in source.sample(places, min(len(places), 3)):
            holder[key] += source.choice(hostile)

    return _change_records(data, source, change, 0.3)


def _huge_numbers(data: bytes, source: random.Random) -> bytes:
    numbers = (2**53 + 1, 10**12, 10**13, 2**63, 10**25, -1, -(10**18), 0, 1e300, 0.1)

    def change(record: dict[str, Any]) -> None:
        for holder, key in [*_holders(record)]:
            if type(holder[key]) in {int, float} and source.random() < 0.7:
                holder[key] = source.choice(numbers)

    return _change_records(data, source, change, source.choice((0.1, 1.0)))


def _long_digits(data: bytes, source: random.Random) -> bytes:
    """Numbers that no JSON writer makes: thousands of digits, infinities."""
    number = source.choice(
        (b"1" * 5000, b"1e999", b"-1e999", b"NaN", b"Infinity", b"1" + b"0" * 400, b"0.000" + b"1" * 5000)
    )
    at = data.find(b":", source.randrange(len(data) + 1)) + 1
    return data[:at] + number + source.choice((b",", b"")) + data[at:] if at else data


def _deep_nesting(data: bytes, source: random.Random) -> bytes:
    depth = source.choice((100, 900, 1100, 50_000))
    opening, closing = source.choice(((b"[", b"]"), (b'{"a":', b"}"), (b'[{"content":', b"}]")))
    nested = opening * depth + b"1" + closing * depth
    line = source.choice((nested, b'{"type":"user","message":{"role":"user","content":' + nested + b"}}"))
    lines = _lines(data)
    lines.insert(source.randrange(len(lines) + 1), line + b"\n")
    return b"".join(lines)


def _unknown_records(data: bytes, source: random.Random) -> bytes:
    def change(record: dict[str, Any]) -> None:
        record["type"] = source.choice(
            ("made-up", "system", "summary", "response_item", "event_msg", "compacted", "", "user")
        )
        record[source.choice(("newField", "message", "payload"))] = source.choice(_WRONG_VALUES)

    return _change_records(data, source, change)


def _drop_keys(data: bytes, source: random.Random) -> bytes:
    def change(record: dict[str, Any]) -> None:
        places = [each for each in _holders(record) if isinstance(each[0], dict)]
        for holder, key in source.sample(places, min(len(places), 3)):
            holder.pop(key, None)

    return _change_records(data, source, change, source.choice((0.1, 0.8)))


def _same_ids(data: bytes, source: random.Random) -> bytes:
    """Every record gets the same id, or each is its own parent."""
    key, value = source.choice(
        (("uuid", "same"), ("parentUuid", "same"), ("id", "same"), ("call_id", "same"), ("tool_use_id", ""))
    )

    def change(record: dict[str, Any]) -> None:
        if source.random() < 0.2 and "uuid" in record:
            record["parentUuid"] = record["uuid"]
        for holder, each in [*_holders(record)]:
            if each == key:
                holder[each] = value

    return _change_records(data, source, change, 1.0)


def _times(data: bytes, source: random.Random) -> bytes:
    times = (
        "0001-01-01T00:00:00+14:00",
        "9999-12-31T23:59:59-14:00",
        "2026-02-30",
        "yesterday",
        "1970-01-01T00:00:00Z",
        "",
        0,
        None,
    )

    def change(record: dict[str, Any]) -> None:
        if "timestamp" in record:
            record["timestamp"] = source.choice(times)

    return _change_records(data, source, change, source.choice((0.1, 1.0)))


MUTATIONS: Mapping[str, Mutation] = {
    function.__name__.lstrip("_"): function
    for function in (
        *(
            _flip_bits,
            _cut_the_end,
            _cut_the_beginning,
            _cut_a_hole,
            _insert_nuls,
            _insert_noise,
            _invalid_utf8,
        ),
        *(
            _other_line_ends,
            _byte_order_mark,
            _repeat_lines,
            _repeat_everything,
            _shuffle_lines,
            _reverse_lines,
        ),
        *(_drop_lines, _glue_lines, _interleave_halves, _many_small_objects, _long_line, _wrong_types),
        *(
            _wrong_types_where_it_matters,
            _surrogates,
            _hostile_texts,
            _huge_numbers,
            _long_digits,
            _deep_nesting,
        ),
        *(_unknown_records, _drop_keys, _same_ids, _times),
    )
}
