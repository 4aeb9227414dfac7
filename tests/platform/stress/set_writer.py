"""Run as a process of its own: writes one set after the other, and says of each when it was done."""

import os
import sys
from pathlib import Path

from leftoff.platform import file_sets, files

folder, number, last = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
while number < last:
    number += 1
    file_sets.write_set(
        folder, {name: b"%d\n" % number * size for name, size in (("a", 1), ("b", 1000), ("c", 20000))}
    )
    os.write(1, b"%d\n" % number)
    files.write_file(folder / "single", b"%d\n" % number * 20000)
