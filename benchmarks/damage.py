"""Damaged files of every format that is read: each is read, or refused in one line that names it, and nothing else.

    python -m benchmarks.damage --files 10000
    python -m benchmarks.damage --only "parquet:17"

A small good file of each format is damaged in many ways (bytes flipped, ranges cut, swapped, repeated, zeroed, words
and numbers exchanged), all drawn from the seed, the format and the file's number. The project's own reader reads each
in a process that has a limit of memory and of time. A fault is a process that ended or hung, an error that the reader's
docstring does not know, and a message of several lines or without the file's name. With one the exit status is 1.
"""

import argparse
import random
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import NamedTuple

from benchmarks.damaged.damages import damage
from benchmarks.damaged.reader import Outcome, Reader
from benchmarks.damaged.registry import FORMATS


class Tally(NamedTuple):
    """What became of the files of one format.

    Attributes:
        counts: files that were read, refused or faults.
        faults: what happened -> the number of the first file that it happened to, how often, and more about it.
    """

    counts: Counter[str]
    faults: dict[str, tuple[int, int, str]]


def try_format(name: str, seed: int, numbers: range) -> Tally:
    """Reads damaged files of one format.

    Args:
        name: a key of `FORMATS`.
        seed: of all damages.
        numbers: of the files.
    """
    counts: Counter[str] = Counter()
    faults: dict[str, tuple[int, int, str]] = {}
    with tempfile.TemporaryDirectory() as folder, Reader(name, Path(folder)) as reader:
        for number in numbers:
            outcome = reader.read(damaged(reader.good, name, seed, number))
            counts[outcome.kind] += 1
            if outcome.kind == "fault":
                first, times, message = faults.get(outcome.what, (number, 0, outcome.message))
                faults[outcome.what] = first, times + 1, message
    return Tally(counts, faults)


def damaged(good: bytes, name: str, seed: int, number: int) -> bytes:
    """The file with this number, never the good one itself."""
    chance = random.Random(f"{seed}/{name}/{number}")
    while (content := damage(good, chance)) == good:
        pass
    return content


def try_one(name: str, seed: int, number: int) -> Outcome:
    """One file in a process of its own."""
    with tempfile.TemporaryDirectory() as folder, Reader(name, Path(folder)) as reader:
        return reader.read(damaged(reader.good, name, seed, number))


def main() -> int:
    """Prints a row a format, and what remakes each fault."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--files", type=int, default=10_000, metavar="N", help="damaged files a format")
    parser.add_argument("--formats", nargs="+", choices=list(FORMATS), default=list(FORMATS), metavar="NAME")
    parser.add_argument("--seed", type=int, default=0, metavar="N")
    parser.add_argument("--only", metavar="FORMAT:NUMBER", help="this file alone")
    options = parser.parse_args()
    if options.only:
        name, _, number = options.only.rpartition(":")
        outcome = try_one(name, options.seed, int(number))
        print(*outcome, sep="\n")
        return int(outcome.kind == "fault")
    faults = 0
    print("| format | files | read | refused | faults | seconds |", "|---|---:|---:|---:|---:|---:|", sep="\n")
    for name in options.formats:
        began = time.monotonic()
        counts, found = try_format(name, options.seed, range(options.files))
        cells = (name, options.files, counts["read"], counts["refused"], counts["fault"])
        print(f"| {' | '.join(map(str, cells))} | {time.monotonic() - began:.0f} |", flush=True)
        for what, (first, times, message) in found.items():
            print(f"  {times} x {what}; --seed {options.seed} --only '{name}:{first}': {message}", flush=True)
        faults += counts["fault"]
    return int(faults > 0)


if __name__ == "__main__":
    sys.exit(main())
