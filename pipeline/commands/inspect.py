"""`inspect`: shows an artifact's statistics."""

import argparse

from rich.console import Console

from pipeline.commands.arguments import absolute_path
from pipeline.commands.command import DONE, Command
from pipeline.views.artifact_tables import read_artifact
from pipeline.views.statistics import show_statistics


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "folder", type=absolute_path, help="an artifact, such as runs/artifacts/mask_examples/examples-..."
    )


def _run(options: argparse.Namespace, console: Console) -> int:
    show_statistics(read_artifact(options.folder), console)
    return DONE


INSPECT = Command(
    name="inspect",
    purpose="show the counts, sizes, settings and statistics of an artifact",
    example="inspect runs/artifacts/ingest_corpus/corpus-0123456789ab",
    add_arguments=_add_arguments,
    run=_run,
)
