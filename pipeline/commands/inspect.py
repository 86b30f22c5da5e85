"""`inspect`: shows an artifact's statistics, or how new rows differ from those that a model learnt from."""

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console

from components.dsl.errors import InputError
from components.examples.drift import compare_rows
from components.examples.new_rows import read_new_rows
from components.examples.row_schema import SCHEMA_FILE, RowSchema
from components.scoring.confidence_drift import compare_confidences
from pipeline.commands.arguments import absolute_path
from pipeline.commands.command import DONE, REFUSED, Command
from pipeline.views.artifact_tables import read_artifact
from pipeline.views.drift import show_differences
from pipeline.views.statistics import show_statistics
from pipeline.views.terminal import write

if TYPE_CHECKING:
    from keras_bert.tokenizers.base import BaseTokenizer


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "folder",
        metavar="ARTIFACT",
        type=absolute_path,
        help="an artifact, such as runs/artifacts/mask_examples/examples-...; with --against new rows, labelled or not",
    )
    parser.add_argument(
        "--against",
        metavar="MODEL",
        type=absolute_path,
        help="a pushed model, such as runs/pushed/reviews/1: says how the rows differ from those that it learnt from; "
        "exit status 3 if one property is beyond its limit",
    )


def _run(options: argparse.Namespace, console: Console) -> int:
    if options.against is None:
        show_statistics(read_artifact(options.folder), console)
        return DONE
    return _compare(options.folder, options.against, console)


def _compare(place: Path, model: Path, console: Console) -> int:
    schema = _read_schema(model)
    rows, is_labelled = read_new_rows(schema, str(place))
    differences = compare_rows(schema, rows, _load_tokenizer(model), is_labelled=is_labelled)
    differences += compare_confidences(model, rows)
    show_differences(differences, console)
    labels = "" if is_labelled else " without labels"
    write(console, f"{len(rows)} rows{labels} beside {schema.rows} training rows")
    names = [row.name for row in differences if row.differs]
    if names:
        write(console, f"the rows differ from those that the model learnt from: {', '.join(names)}")
        return REFUSED
    write(console, "the rows look like those that the model learnt from")
    return DONE


def _read_schema(model: Path) -> RowSchema:
    file = model / SCHEMA_FILE
    try:
        content = json.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        rule = f"must be the folder of a pushed model with {SCHEMA_FILE}"
        raise InputError(f"--against {rule}, got {model}: {error.strerror}; push it again if it is older") from None
    except (ValueError, RecursionError) as error:
        raise InputError(f"{file} must hold JSON, got an error: {error}") from None
    return RowSchema.parse(content, str(file))


def _load_tokenizer(model: Path) -> "BaseTokenizer":
    from keras_bert.tokenizers.loading import load_eager_tokenizer

    try:
        return load_eager_tokenizer(model)
    except (OSError, ValueError) as error:
        raise InputError(f"--against must be a pushed model with its tokenizer, got an error: {error}") from None


INSPECT = Command(
    name="inspect",
    purpose="show what is in an artifact, or how new rows differ from a model's training rows",
    example="inspect new.csv --against runs/pushed/reviews/1",
    add_arguments=_add_arguments,
    run=_run,
)
