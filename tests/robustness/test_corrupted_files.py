"""Corrupted files are read, or refused in one line; a short version of `python -m tests.robustness.corrupted_files`."""

import os
import random
import signal
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from components.dsl.errors import InputError
from tests.robustness.corrupted_files import corrupt, try_format
from tests.robustness.corruption import reader
from tests.robustness.corruption.format import Format
from tests.robustness.corruption.mutations import MUTATIONS
from tests.robustness.corruption.reader import Outcome, try_file
from tests.robustness.corruption.registry import FORMATS

# What needs no model, and takes milliseconds a file.
QUICK = (
    *("text.zst", "csv", "parquet", "arrow stream", "conll", "label sets", "squad", "job.toml"),
    *("store", "manifest.json"),
)


@pytest.mark.parametrize("name", QUICK)
def test_corrupted_files_cause_no_fault(name: str) -> None:
    results = try_format(name, seed=1, numbers=range(25))
    assert results.faults == {}
    assert results.counts.total() == 25
    assert results.counts["refused"]


@pytest.mark.parametrize("mutation", MUTATIONS)
@pytest.mark.parametrize("content", [b"", b"x", b'{"a": 1}' * 9])
def test_mutations_are_deterministic(mutation: Callable[[bytes, random.Random], bytes], content: bytes) -> None:
    mutants = {mutation(content, random.Random(number)) for number in range(20)}
    assert mutants == {mutation(content, random.Random(number)) for number in range(20)}
    assert len(content) < 9 or mutants != {content}


def test_a_number_reproduces_its_file() -> None:
    content = b'{"rows": [1, 2, 3]}'
    assert corrupt(content, "squad", 1, 7) == corrupt(content, "squad", 1, 7) != content
    assert corrupt(content, "squad", 2, 7) != corrupt(content, "squad", 1, 7)


def refusing(message: str) -> Format:
    def read(folder: Path) -> None:
        raise InputError(message)

    return Format("rows.csv", lambda folder: None, read, (InputError,))


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ("rows.csv must be whole", "refused"),
        ("rows.csv must be whole\nand is not", "a message of 2 lines from "),
        ("it must be whole", "a message without 'rows.csv' from "),
        ("", "a message of 0 lines from "),
    ],
)
def test_a_refusal_is_one_line_with_the_file(message: str, expected: str, tmp_path: Path) -> None:
    outcome = try_file(refusing(message), tmp_path)
    assert outcome.kind == "refused" if expected == "refused" else outcome.cause.startswith(expected)


def test_an_error_that_is_not_documented_is_a_fault(tmp_path: Path) -> None:
    file_format = Format("rows.csv", lambda folder: None, lambda folder: {"rows": 1}["key"], (InputError,))
    outcome = try_file(file_format, tmp_path)
    assert outcome.kind == "fault"
    assert outcome.cause.startswith("KeyError in robustness/test_corrupted_files.py:")


def write_valid(folder: Path) -> None:
    (folder / "file").write_text("valid")


def misbehave(folder: Path) -> None:
    """Ends, hangs, or takes memory, depending on the content."""
    content = (folder / "file").read_text()
    if content == "end":
        os.kill(os.getpid(), signal.SIGKILL)
    elif content == "hang":
        time.sleep(60)
    elif content == "grow":
        bytearray(1 << 40)


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("end", "the process was killed by SIGKILL"),
        ("hang", "hung: no answer in 2 seconds"),
        ("grow", "MemoryError in robustness/test_corrupted_files.py"),
    ],
)
def test_a_reader_that_ends_or_hangs_is_a_fault_and_is_replaced(
    content: str, expected: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reader, "SECONDS", 2.0)
    monkeypatch.setitem(FORMATS, "bad", Format("file", write_valid, misbehave, (InputError,)))
    # A forked process has the format that this test adds.
    monkeypatch.setattr(reader, "METHOD", "fork")
    with reader.ReaderProcess("bad", tmp_path) as process:
        assert process.read(content.encode()).cause.startswith(expected)
        assert process.read(b"fine") == Outcome("read")
