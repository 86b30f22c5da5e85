"""Answers the lines of a stream as they come, in memory that does not depend on their number."""

from collections.abc import Iterator, Sequence
from typing import IO, TYPE_CHECKING, NamedTuple

from components.answers.model_inputs import takes_pairs
from components.dsl.errors import InputError
from pipeline.views.answers import answer_lines, note_lines
from pipeline.views.terminal import native_logs_hidden

if TYPE_CHECKING:
    from keras_bert.tasks.base import Task

# What is read at once, if it is there, and how many lines of it are answered at once.
_BYTES = 1 << 16
_LINES = 256
_LONGEST_LINE = 1 << 24


class AnsweredLines(NamedTuple):
    """The answers to some lines, and the notes on them; without line ends."""

    answers: list[str]
    notes: list[str]


def answer_stream(task: "Task", source: IO[bytes]) -> Iterator[AnsweredLines]:
    """The answers to lines: those that have arrived are answered together, without waiting for more.

    A line is a text, or a pair parted by a tab; the first line says which where the task takes both.
    """
    width, before = {None: 0, True: 2, False: 1}[takes_pairs(task)], 0
    for lines in _arrived_lines(source):
        for start in range(0, len(lines), _LINES):
            part = lines[start : start + _LINES]
            width = width or min(part[0].count(b"\t") + 1, 2)
            rows, error = _split_lines(part, width, before)
            if rows:
                texts, *seconds = ([row[side] for row in rows] for side in range(len(rows[0])))
                second = seconds[0] if seconds else None
                with native_logs_hidden():
                    answers = list(answer_lines(task, texts, second))
                    notes = list(note_lines(task, texts, second, before=before))
                yield AnsweredLines(answers, notes)
            if error is not None:
                raise error
            before += len(rows)
    if not before:
        raise InputError("standard input must hold a text a line, got nothing")


def _arrived_lines(source: IO[bytes]) -> Iterator[list[bytes]]:
    """The lines that have arrived, without their ends; the last one need not have any."""
    rest = b""
    # Returns what is there, and waits only where nothing is.
    while chunk := source.read1(_BYTES):  # type: ignore[attr-defined]
        *lines, rest = (rest + chunk).split(b"\n")
        if len(rest) > _LONGEST_LINE:
            raise InputError(f"a line of standard input must have at most {_LONGEST_LINE} bytes, got more")
        if lines:
            yield lines
    if rest:
        yield [rest]


def _split_lines(lines: Sequence[bytes], width: int, before: int) -> tuple[list[list[str]], InputError | None]:
    """The texts of each line up to the first that is wrong, and the error about that one."""
    rows = list[list[str]]()
    for number, line in enumerate(lines, start=before + 1):
        try:
            # Other characters that end lines, such as U+2028, are part of a text.
            text = line.removesuffix(b"\r").decode()
            row = (text.removeprefix("\ufeff") if number == 1 else text).split("\t")
        except UnicodeDecodeError as error:
            return rows, InputError(f"standard input must be UTF-8: line {number}, {error}")
        if len(row) != width:
            texts = "two texts, parted by a tab" if width == 2 else "one text"
            message = f"line {number} of standard input must hold {texts}, got {len(row)}; cut -f picks columns"
            return rows, InputError(message)
        rows.append(row)
    return rows, None
