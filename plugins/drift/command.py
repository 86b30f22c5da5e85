"""`check`: how new rows differ from those that a model learnt from."""

import json
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING

import click
from rich.console import Console

from components.dsl.errors import InputError
from pipeline.commands.command import DONE, REFUSED, PathOrAddress, Verb

if TYPE_CHECKING:
    from components.examples.row_schema import RowSchema


@click.command(cls=Verb, goal="Use a model", example="check new.csv --against runs/pushed/reviews/1")
@click.argument("rows", metavar="ROWS", type=PathOrAddress(), help="New rows, labelled or not.")
@click.option(
    "--against",
    metavar="MODEL",
    required=True,
    type=PathOrAddress(),
    help="A pushed model, such as runs/pushed/reviews/1.",
)
@click.option("--task", metavar="NAME", default="", help="Of a model of several tasks: the one with these rows.")
def check_command(options: SimpleNamespace, console: Console) -> int:
    """Say how new rows differ from those that a model learnt from.

    The exit status is 3 if one property is beyond its limit.
    """
    from keras_bert.tokenizers.loading import load_eager_tokenizer
    from pipeline.views.tables import Table
    from pipeline.views.terminal import native_logs_hidden, write
    from plugins.drift.confidences import compare_confidences
    from plugins.drift.measures import compare_rows
    from plugins.drift.new_rows import read_new_rows
    from plugins.drift.vectors import compare_vectors

    schema = _read_schema(options.against, options.task)
    rows, is_labelled = read_new_rows(schema, str(options.rows))
    try:
        tokenizer = load_eager_tokenizer(options.against)
    except (OSError, ValueError) as error:
        raise InputError(f"--against must be a pushed model with its tokenizer, got an error: {error}") from None
    differences = compare_rows(schema, rows, tokenizer, is_labelled=is_labelled)
    with native_logs_hidden():
        differences += compare_confidences(options.against, rows, options.task)
        differences += compare_vectors(schema.vectors, options.against, rows)
    headings = ("property", "training rows", "these rows", "measure, and its limit", "verdict")
    cells = [
        [row.name, row.expected, row.got, row.measure, "differs" if row.differs else "as before"] for row in differences
    ]
    Table(headings, cells, justify="left").show(console)
    labels = "" if is_labelled else " without labels"
    write(console, f"{len(rows)} rows{labels} beside {schema.rows} training rows")
    names = [row.name for row in differences if row.differs]
    if names:
        write(console, f"the rows differ from those that the model learnt from: {', '.join(names)}")
        return REFUSED
    write(console, "the rows look like those that the model learnt from")
    return DONE


def _read_schema(model: Path, task: str) -> "RowSchema":
    from components.examples.row_schema import SCHEMA_FILE, RowSchema

    file = model / SCHEMA_FILE
    try:
        content = json.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(
            f"--against must be the folder of a pushed model with {SCHEMA_FILE}, got {model}: {error.strerror}; push "
            "it again if it is older"
        ) from None
    except (ValueError, RecursionError) as error:
        raise InputError(f"{file} must hold JSON, got an error: {error}") from None
    tasks = content.get("tasks", {}) if isinstance(content, dict) else {}
    if task not in (tasks or ("",)):
        rule = f"be one of {', '.join(tasks)}" if tasks else "be left out for a model of one task"
        raise InputError(f"--task must {rule}, got {task or 'none'}")
    return RowSchema.parse(tasks[task] if tasks else content, str(file))
