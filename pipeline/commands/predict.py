"""`predict`: answers texts, or a whole table, with a pushed model."""

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING

import click
from rich.console import Console

from components.dsl.errors import InputError
from pipeline.commands.command import DONE, OutputPath, PathOrAddress, Verb, refresh_option, refuse_options

if TYPE_CHECKING:
    from components.answers.table_request import TableRequest
    from keras_bert.tasks.base import Task


@click.command(
    cls=Verb, example="predict runs/pushed/reviews/1 --table reviews.csv --text review --out answers.parquet"
)
@click.argument(
    "model",
    type=PathOrAddress(),
    metavar="MODEL",
    help="A pushed version, such as runs/pushed/reviews/1, one of its model files, or a trained model's folder.",
)
@click.argument(
    "texts",
    nargs=-1,
    metavar="[TEXT]...",
    help="A text, or a question; - reads standard input, a text a line, or a pair parted by a tab, and answers lines "
    "as they come.",
)
@click.option(
    "--second",
    multiple=True,
    metavar="TEXT|COLUMN",
    help="The second text of a pair, or the context of a question, once per TEXT; with --table their column.",
)
@click.option(
    "--table",
    metavar="TABLE",
    help="A table whose rows are answered: .parquet, .arrow, .csv, .tsv or .jsonl, a folder, or a quoted pattern.",
)
@click.option("--task", metavar="NAME", help="Of a model of several tasks: the one that answers.")
@click.option(
    "--prompt",
    type=click.Choice(("query", "passage")),
    help="Of embedding and retrieval: which prompt of the model stands in front of single texts. Default: query.",
)
@click.option(
    "--vectors",
    type=click.Choice(("float32", "int8", "binary")),
    help="Of embedding and retrieval, with --table: the numbers of the vectors (default: float32); vectors have "
    "length 1 where task.json says normalize, else compare them by its similarity_function.",
)
@click.option(
    "--words",
    is_flag=True,
    help="Of token_classification: a tag for each word instead of entities; words end at white space, or COLUMN holds "
    "lists of them.",
)
@click.option("--text", metavar="COLUMN", help="The column of the texts in --table.")
@click.option(
    "--out",
    type=OutputPath(),
    metavar="FILE",
    help="The table with its answers: .parquet, .csv or .jsonl; beside answers.csv, answers.csv.errors.jsonl names "
    "the rows that cannot be answered. In .csv an apostrophe stands before cells that a spreadsheet would compute.",
)
@click.option("--prefix", metavar="PREFIX", help="Put PREFIX before the names of the columns of answers.")
@click.option(
    "--beam",
    type=PathOrAddress(),
    metavar="JOB",
    help="A job (TOML file) whose table [beam] says where the rows are answered. Default: on all cores.",
)
@click.option(
    "--set",
    multiple=True,
    metavar="KEY=VALUE",
    help="Replace one setting of [beam], such as --set beam.workers=2; may be repeated.",
)
@refresh_option
def predict_command(options: SimpleNamespace, console: Console) -> int:
    """Answer texts, or the rows of a table, with a pushed model.

    `predict MODEL TEXT...` prints a line for each answer; `predict MODEL --table TABLE --text COLUMN --out FILE` writes
    a table with the same rows and columns, and the answers in additional columns. The same command resumes a stopped
    run.
    """
    from components.answers.model_inputs import open_task
    from pipeline.prediction.table import answer_and_show
    from pipeline.views.answers import answer_lines, note_lines
    from pipeline.views.terminal import native_logs_hidden

    options.second = options.second or None
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
            task = open_task(options.model, options.prompt, words=options.words, part=options.task)
        if options.texts == ("-",):
            _answer_lines_of_input(task)
            return DONE
        with native_logs_hidden():
            lines = list(answer_lines(task, options.texts, options.second))
            notes = list(note_lines(task, options.texts, options.second))
    except (FileNotFoundError, ValueError) as error:
        raise InputError(str(error)) from None
    _write_answers(lines, notes)
    return DONE


def _table_request(options: SimpleNamespace) -> "TableRequest":
    from components.answers.table_request import TableRequest
    from components.files.paths import join_pattern
    from components.files.text_files import is_remote
    from pipeline.job.files import load_beam
    from pipeline.views.reports import check_output

    if options.texts:
        raise InputError(f"TEXT must be left out with --table, got {options.texts[0]!r}")
    for name, example in (("text", "--text review"), ("out", "--out answers.parquet")):
        if getattr(options, name) is None:
            raise InputError(f"--{name} must be given with --table, as {example}")
    if options.second is not None and len(options.second) > 1:
        raise InputError(f"--second must name one column with --table, got {len(options.second)}")
    check_output(options.out)
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
        part=options.task,
        beam=load_beam(options.beam, options.set),
    )


def _check_texts(options: SimpleNamespace) -> None:
    """Refuses no text, paths instead of texts, `-` together with other texts, and options of tables."""
    if not options.texts:
        raise InputError("TEXT must follow MODEL, got none; - reads standard input, --table a table")
    refuse_options(options, ["text", "out", "prefix", "vectors", "beam", "set"], "without --table")
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
    from pipeline.prediction.stream import answer_stream

    try:
        for answers, notes in answer_stream(task, sys.stdin.buffer):
            _write_answers(answers, notes)
            sys.stdout.flush()
    except BrokenPipeError:
        # The reader has closed the pipe, as `head` does. Python would report an error when it flushes the output.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _write_answers(answers: Sequence[str], notes: Sequence[str]) -> None:
    from pipeline.views.terminal import write

    for line in notes:
        write(Console(stderr=True), line)
    sys.stdout.writelines(f"{line}\n" for line in answers)
