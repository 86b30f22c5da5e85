"""Corrupts files of every format that the project reads: each must be read, or refused in one line that names it.

    python -m tests.robustness.corrupted_files --files 10000
    python -m tests.robustness.corrupted_files --only "parquet:17"

A small valid file of each format is corrupted in many ways (bytes flipped, ranges cut, swapped, repeated, zeroed, words
and numbers exchanged), all drawn from the seed, the format and the file's number. The project's reader reads each in a
process with limits of memory and time. A fault is a process that ended or hung, an error that the reader's docstring
does not list, and a message of several lines or without the file's name. With a fault the exit status is 1.
"""

import argparse
import random
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import NamedTuple

from tests.robustness.corruption.mutations import mutate
from tests.robustness.corruption.reader import Outcome, ReaderProcess
from tests.robustness.corruption.registry import FORMATS


class FormatResults(NamedTuple):
    """Results of one format.

    Attributes:
        counts: numbers of files that were read, refused, or faults.
        faults: cause -> number of the first file, number of files, and the message of the first.
    """

    counts: Counter[str]
    faults: dict[str, tuple[int, int, str]]


def try_format(name: str, seed: int, numbers: range) -> FormatResults:
    """Reads corrupted files of one format.

    Args:
        name: a key of `FORMATS`.
        seed: of all corruptions.
        numbers: of the files.
    """
    counts: Counter[str] = Counter()
    faults: dict[str, tuple[int, int, str]] = {}
    with tempfile.TemporaryDirectory() as folder, ReaderProcess(name, Path(folder)) as reader:
        for number in numbers:
            outcome = reader.read(corrupt(reader.valid_content, name, seed, number))
            counts[outcome.kind] += 1
            if outcome.kind == "fault":
                first, times, message = faults.get(outcome.cause, (number, 0, outcome.message))
                faults[outcome.cause] = first, times + 1, message
    return FormatResults(counts, faults)


def corrupt(content: bytes, name: str, seed: int, number: int) -> bytes:
    """The corrupted file with this number, which always differs from the valid one."""
    generator = random.Random(f"{seed}/{name}/{number}")
    while (corrupted := mutate(content, generator)) == content:
        pass
    return corrupted


def try_one(name: str, seed: int, number: int) -> Outcome:
    """Reads one corrupted file in a new process."""
    with tempfile.TemporaryDirectory() as folder, ReaderProcess(name, Path(folder)) as reader:
        return reader.read(corrupt(reader.valid_content, name, seed, number))


def main() -> int:
    """Prints a row for each format, and for each fault the options that reproduce it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--files", type=int, default=10_000, metavar="N", help="corrupted files of each format")
    parser.add_argument("--formats", nargs="+", choices=list(FORMATS), default=list(FORMATS), metavar="NAME")
    parser.add_argument("--seed", type=int, default=0, metavar="N")
    parser.add_argument("--only", metavar="FORMAT:NUMBER", help="this file alone")
    options = parser.parse_args()
    if options.only:
        name, _, number = options.only.rpartition(":")
        outcome = try_one(name, options.seed, int(number))
        print(*outcome, sep="\n")
        return int(outcome.kind == "fault")
    fault_count = 0
    print("| format | files | read | refused | faults | seconds |", "|---|---:|---:|---:|---:|---:|", sep="\n")
    for name in options.formats:
        start_time = time.monotonic()
        counts, faults = try_format(name, options.seed, range(options.files))
        cells = (name, options.files, counts["read"], counts["refused"], counts["fault"])
        print(f"| {' | '.join(map(str, cells))} | {time.monotonic() - start_time:.0f} |", flush=True)
        for cause, (first, times, message) in faults.items():
            print(f"  {times} x {cause}; --seed {options.seed} --only '{name}:{first}': {message}", flush=True)
        fault_count += counts["fault"]
    return int(fault_count > 0)


if __name__ == "__main__":
    sys.exit(main())
