"""`predict`: answers texts with a pushed model."""

import argparse
import os
import sys

from rich.console import Console

from components.dsl.errors import InputError
from pipeline.commands.arguments import absolute_path
from pipeline.commands.command import DONE, Command
from pipeline.views.answers import answer_lines, cut_lines, empty_lines, takes_pairs
from pipeline.views.terminal import native_logs_hidden, write


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "model",
        type=absolute_path,
        metavar="MODEL",
        help="a pushed version, such as runs/pushed/reviews/1, or one of its model files",
    )
    parser.add_argument(
        "texts",
        nargs="+",
        metavar="TEXT",
        help="a text, or a question; - reads standard input, a text a line, or a pair parted by a tab",
    )
    parser.add_argument(
        "--second",
        action="append",
        metavar="TEXT",
        help="the second text of a pair, or the context of a question; once per TEXT",
    )


def _run(options: argparse.Namespace, _: Console) -> int:
    _check_texts(options)
    try:
        with native_logs_hidden():
            from keras_bert.export.bundle import load_exported

            task = load_exported(options.model)
            texts, seconds = (
                _read_pairs(takes_pairs(task)) if options.texts == ["-"] else (options.texts, options.second)
            )
            lines = list(answer_lines(task, texts, seconds))
            notes = [*empty_lines(task, texts, seconds), *cut_lines(task, texts, seconds)]
    except (FileNotFoundError, ValueError) as error:
        raise InputError(str(error)) from None
    for line in notes:
        write(Console(stderr=True), line)
    sys.stdout.writelines(f"{line}\n" for line in lines)
    return DONE


def _check_texts(options: argparse.Namespace) -> None:
    """Refuses paths instead of texts, and `-` together with other texts."""
    for text in (*options.texts, *(options.second or ())):
        if text != "-" and os.path.isfile(text):
            raise InputError(f"TEXT must be a text, got the file {text}; to ask its lines: predict MODEL - < {text}")
    if "-" in options.texts and (len(options.texts) > 1 or options.second is not None):
        raise InputError(
            "- must be the only TEXT, without --second: a line of standard input holds both, parted by a tab"
        )


def _read_pairs(pairs: bool | None) -> tuple[list[str], list[str] | None]:
    """The texts of standard input, a line each, and their second ones.

    Args:
        pairs: whether each line holds two texts; None leaves that to the first line.

    Raises:
        InputError: there is no line, one is no UTF-8, or one has not as many texts as it must have.
    """
    try:
        content = sys.stdin.buffer.read().decode("utf-8")
    except UnicodeDecodeError as error:
        raise InputError(f"standard input must be UTF-8: {error}") from None
    if not content:
        raise InputError("standard input must hold a text a line, got nothing")
    # Other characters that end lines, such as U+2028, are part of a text.
    rows = [line.removesuffix("\r").split("\t") for line in content.removesuffix("\n").split("\n")]
    width = (2 if pairs else 1) if pairs is not None else min(len(rows[0]), 2)
    for number, row in enumerate(rows, start=1):
        if len(row) != width:
            texts = "two texts, parted by a tab" if width == 2 else "one text"
            raise InputError(f"line {number} of standard input must hold {texts}, got {len(row)}; cut -f picks columns")
    return [row[0] for row in rows], [row[1] for row in rows] if width == 2 else None


PREDICT = Command(
    name="predict",
    purpose="answer texts with a pushed model",
    example='predict runs/pushed/reviews/1 "A film to remember."',
    add_arguments=_add_arguments,
    run=_run,
)
