"""Damaged files are read or refused in one line; a short version of `python -m benchmarks.damage`."""

import os
import random
import signal
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from benchmarks.damage import damaged, try_format
from benchmarks.damaged import reader
from benchmarks.damaged.damages import DAMAGES
from benchmarks.damaged.format import Format
from benchmarks.damaged.reader import Outcome, attempt
from benchmarks.damaged.registry import FORMATS
from components.dsl.errors import InputError

# What needs no model, and takes milliseconds a file.
QUICK = ("text.zst", "csv", "parquet", "arrow stream", "conll", "squad", "job.toml", "store", "manifest.json")


@pytest.mark.parametrize("name", QUICK)
def test_no_damaged_file_is_a_fault(name: str) -> None:
    tally = try_format(name, seed=1, numbers=range(25))
    assert tally.faults == {}
    assert tally.counts.total() == 25
    assert tally.counts["refused"]


@pytest.mark.parametrize("harm", DAMAGES)
@pytest.mark.parametrize("content", [b"", b"x", b'{"a": 1}' * 9])
def test_any_file_can_be_damaged(harm: Callable[[bytes, random.Random], bytes], content: bytes) -> None:
    found = {harm(content, random.Random(number)) for number in range(20)}
    assert found == {harm(content, random.Random(number)) for number in range(20)}
    assert len(content) < 9 or found != {content}


def test_a_number_remakes_its_file() -> None:
    good = b'{"rows": [1, 2, 3]}'
    assert damaged(good, "squad", 1, 7) == damaged(good, "squad", 1, 7) != good
    assert damaged(good, "squad", 2, 7) != damaged(good, "squad", 1, 7)


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
def test_what_a_refusal_must_say(message: str, expected: str, tmp_path: Path) -> None:
    found = attempt(refusing(message), tmp_path)
    assert found.kind == "refused" if expected == "refused" else found.what.startswith(expected)


def test_an_error_that_is_not_documented_is_a_fault(tmp_path: Path) -> None:
    known = Format("rows.csv", lambda folder: None, lambda folder: {}["key"], (InputError,))
    found = attempt(known, tmp_path)
    assert found.kind == "fault"
    assert found.what.startswith("KeyError in benchmarks/test_damage.py:")


def write_good(folder: Path) -> None:
    (folder / "file").write_text("good")


def misbehave(folder: Path) -> None:
    """Ends, or hangs, or takes memory, as the content asks for."""
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
        ("grow", "MemoryError in benchmarks/test_damage.py"),
    ],
)
def test_a_reader_that_ends_or_hangs_is_seen_and_another_goes_on(
    content: str, expected: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reader, "SECONDS", 2.0)
    monkeypatch.setitem(FORMATS, "bad", Format("file", write_good, misbehave, (InputError,)))
    # Forked, the process knows of the format that is made up here.
    monkeypatch.setattr(reader, "METHOD", "fork")
    with reader.Reader("bad", tmp_path) as watched:
        assert watched.read(content.encode()).what.startswith(expected)
        assert watched.read(b"fine") == Outcome("read")
