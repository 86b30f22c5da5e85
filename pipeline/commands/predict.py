"""`predict`: answers texts, or a whole table, with a pushed model."""

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console

from components.answers.table_request import TableRequest
from components.dsl.errors import InputError
from components.files.paths import join_pattern
from components.files.text_files import is_remote
from pipeline.commands.arguments import absolute_path
from pipeline.commands.command import DONE, PROGRAM, Command
from pipeline.job.files import load_beam
from pipeline.prediction.stream import answer_stream
from pipeline.prediction.table import answer_and_show
from pipeline.views.answers import answer_lines, note_lines
from pipeline.views.reports import check_output
from pipeline.views.terminal import native_logs_hidden, write

if TYPE_CHECKING:
    from keras_bert.tasks.base import Task


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.usage = (
        f"{PROGRAM} predict [-h] MODEL TEXT [TEXT ...] [--second TEXT]\n"
        f"       {'':{len(PROGRAM)}} [--prompt query|passage] [--words]\n"
        f"       {PROGRAM} predict [-h] MODEL --table TABLE --text COLUMN\n"
        f"       {'':{len(PROGRAM)}} [--second COLUMN] --out FILE [--prefix PREFIX]\n"
        f"       {'':{len(PROGRAM)}} [--prompt query|passage] [--vectors float32|int8|binary]\n"
        f"       {'':{len(PROGRAM)}} [--words] [--beam JOB] [--set KEY=VALUE]"
    )
    parser.add_argument(
        "model",
        type=absolute_path,
        metavar="MODEL",
        help="a pushed version, such as runs/pushed/reviews/1, one of its model files, or a trained model's folder",
    )
    parser.add_argument(
        "texts",
        nargs="*",
        metavar="TEXT",
        help="a text, or a question; - reads standard input, a text a line, or a pair parted by a tab, and answers "
        "lines as they come",
    )
    parser.add_argument(
        "--second",
        action="append",
        metavar="TEXT|COLUMN",
        help="the second text of a pair, or the context of a question, once per TEXT; with --table their column",
    )
    parser.add_argument(
        "--table",
        metavar="TABLE",
        help="a table whose rows are answered: .parquet, .arrow, .csv, .tsv or .jsonl, a folder, or a quoted pattern",
    )
    parser.add_argument(
        "--prompt",
        choices=("query", "passage"),
        help="of embedding and retrieval: which prompt of the model stands in front of single texts (default: query)",
    )
    parser.add_argument(
        "--vectors",
        choices=("float32", "int8", "binary"),
        help="of embedding and retrieval, with --table: the numbers of the vectors (default: float32); vectors have "
        "length 1 where task.json says normalize, else compare them by its similarity_function",
    )
    parser.add_argument(
        "--words",
        action="store_true",
        help="of token_classification: a tag for each word instead of entities; words end at white space, or COLUMN "
        "holds lists of them",
    )
    parser.add_argument("--text", metavar="COLUMN", help="the column of the texts in --table")
    parser.add_argument(
        "--out",
        type=absolute_path,
        metavar="FILE",
        help="the table with its answers: .parquet, .csv or .jsonl; beside answers.csv, answers.csv.errors.jsonl names "
        "the rows that cannot be answered",
    )
    parser.add_argument("--prefix", metavar="PREFIX", help="put PREFIX before the names of the columns of answers")
    parser.add_argument(
        "--beam",
        type=absolute_path,
        metavar="JOB",
        help="a job (TOML file) whose table [beam] says where the rows are answered (default: on all cores)",
    )
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="replace one setting of [beam], such as --set beam.workers=2; may be repeated",
    )


def _run(options: argparse.Namespace, console: Console) -> int:
    if options.prompt and options.second is not None:
        raise InputError("--prompt must be left out with --second: a pair is a query and a passage")
    if options.vectors and options.second is not None:
        raise InputError("--vectors must be left out with --second: a pair has a cosine")
    if options.table is not None:
        answer_and_show(_table_request(options), console)
        return DONE
    _check_texts(options)
    try:
        with native_logs_hidden():
            task = _open_task(options.model, options.prompt, words=options.words)
        if options.texts == ["-"]:
            _answer_lines_of_input(task)
            return DONE
        with native_logs_hidden():
            lines = list(answer_lines(task, options.texts, options.second))
            notes = list(note_lines(task, options.texts, options.second))
    except (FileNotFoundError, ValueError) as error:
        raise InputError(str(error)) from None
    _write_answers(lines, notes)
    return DONE


def _open_task(model: Path, prompt: str | None, *, words: bool) -> "Task":
    from components.answers.model_handler import open_task

    return open_task(model, prompt, words=words)


def _table_request(options: argparse.Namespace) -> TableRequest:
    """The table to be answered, from options that go together."""
    if options.texts:
        raise InputError(f"TEXT must be left out with --table, got {options.texts[0]!r}")
    for name, example in (("text", "--text review"), ("out", "--out answers.parquet")):
        if getattr(options, name) is None:
            raise InputError(f"--{name} must be given with --table, as {example}")
    if options.second is not None and len(options.second) > 1:
        raise InputError(f"--second must name one column with --table, got {len(options.second)}")
    check_output("--out", options.out)
    return TableRequest(
        model=options.model,
        table=options.table if is_remote(options.table) else join_pattern(Path.cwd(), options.table),
        text=options.text,
        second=options.second[0] if options.second else None,
        out=options.out,
        prefix=options.prefix or "",
        prompt=options.prompt,
        vectors=options.vectors,
        words=options.words,
        beam=load_beam(options.beam, options.set),
    )


def _check_texts(options: argparse.Namespace) -> None:
    """Refuses no text, paths instead of texts, `-` together with other texts, and options of tables."""
    if not options.texts:
        raise InputError("TEXT must follow MODEL, got none; - reads standard input, --table a table")
    for name in ("text", "out", "prefix", "vectors", "beam", "set"):
        if getattr(options, name):
            raise InputError(f"--{name} must be left out without --table, got {getattr(options, name)}")
    for text in (*options.texts, *(options.second or ())):
        if text != "-" and os.path.isfile(text):
            raise InputError(
                f"TEXT must be a text, got the file {text}; to ask its lines: predict MODEL - < {text}; a table: "
                f"predict MODEL --table {text}"
            )
        # A word may be the name of a folder, too.
        if os.sep in text and os.path.isdir(text):
            raise InputError(f"TEXT must be a text, got the folder {text}")
    if "-" in options.texts and (len(options.texts) > 1 or options.second is not None):
        raise InputError(
            "- must be the only TEXT, without --second: a line of standard input holds both, parted by a tab"
        )


def _answer_lines_of_input(task: "Task") -> None:
    """Answers the lines of standard input as they come."""
    try:
        for answers, notes in answer_stream(task, sys.stdin.buffer):
            _write_answers(answers, notes)
            sys.stdout.flush()
    except BrokenPipeError:
        # The reader has enough, as `head`. At its end Python would complain about what it could not write.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _write_answers(answers: Sequence[str], notes: Sequence[str]) -> None:
    for line in notes:
        write(Console(stderr=True), line)
    sys.stdout.writelines(f"{line}\n" for line in answers)


PREDICT = Command(
    name="predict",
    purpose="answer texts, or the rows of a table, with a pushed model",
    details="The answers of a table stand in further columns beside its own, in the order of its rows. A run that was "
    "stopped goes on where it was.",
    example="predict runs/pushed/reviews/1 --table reviews.csv --text review --out answers.parquet",
    add_arguments=_add_arguments,
    run=_run,
)
