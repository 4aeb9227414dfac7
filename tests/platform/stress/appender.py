"""Run as a process of its own: appends lines to a file that others append to, half of them as the fast path does.

Each line says who wrote it, its number and the checksum of its body. In between the writer tears a line, as a crash in
the middle of a write would. A *poor* writer may not let the file grow beyond a limit: what it writes past it is refused,
in part or whole, and must be taken back without touching what others wrote.
"""

import json
import math
import os
import random
import resource
import sys
import time
import zlib
from pathlib import Path

from leftoff.errors import StorageError
from leftoff.live import fast
from leftoff.platform import files, locks

path, lock = map(Path, sys.argv[1:3])
who, count, limit = map(int, sys.argv[3:])
SMALLEST, LARGEST = 200, 1_000_000
TEAR_EVERY = 50
dice = random.Random(who)
text = bytes(dice.choices(b"abcdefghijklmnopqrstuvwxyz0123456789 ", k=LARGEST))


def line(number: int) -> bytes:
    size = int(math.exp(dice.uniform(math.log(SMALLEST), math.log(LARGEST))))
    body = text[dice.randrange(LARGEST - size + 1) :][: max(1, size - 60)]
    return b'{"who":%d,"n":%d,"sum":%d,"body":"%s"}\n' % (who, number, zlib.crc32(body), body)


def tear() -> None:
    with locks.hold(lock):
        fd = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o600)
        size = os.lseek(fd, 0, os.SEEK_END)
        mended = size and os.pread(fd, 1, size - 1) != b"\n"
        os.write(fd, b"\n" * mended + b'{"torn":%d,"bo' % who)
        os.close(fd)


def append(number: int) -> bool:
    if number % 2:
        return fast.append_line(str(path), line(number), str(lock))
    try:
        files.append_lines(path, line(number), lock=lock)
    except StorageError:
        return False
    return True


def be_a_writer() -> None:
    number = 0
    while number < count:
        if append(number):
            written.append(number)
            number += 1
            if number % TEAR_EVERY == 0:
                tear()
                torn.append(number)
        else:
            refused.append(number)  # the fast path waits for 100 ms at most; once more


def be_poor() -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
    number = 0
    while Path("go").exists():
        (written if append(number) else refused).append(number)
        number += 1
        time.sleep(dice.uniform(0, 0.001))


written: list[int] = []
refused: list[int] = []
torn: list[int] = []
be_poor() if limit else be_a_writer()
sys.stdout.write(json.dumps({"written": written, "refused": len(refused), "torn": len(torn)}))
