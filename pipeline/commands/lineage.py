"""`lineage`: the steps, files and settings that a file came from."""

import argparse
import json
import sys

from rich.console import Console

from pipeline.commands.arguments import absolute_path, add_root, open_store
from pipeline.commands.command import DONE, Command
from pipeline.provenance.lineage import find_lineage
from pipeline.provenance.prov import to_prov
from pipeline.views.provenance import show_lineage


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "file", type=absolute_path, help="a pushed file or a copy of it, a pushed folder, or an artifact"
    )
    parser.add_argument("--json", action="store_true", help="print PROV-JSON (W3C)")
    add_root(parser)


def _run(options: argparse.Namespace, console: Console) -> int:
    with open_store(options.root) as store:
        lineage = find_lineage(store, options.root, options.file)
    if options.json:
        sys.stdout.write(json.dumps(to_prov(lineage), indent=1, ensure_ascii=False) + "\n")
    else:
        show_lineage(lineage, console)
    return DONE


LINEAGE = Command(
    name="lineage",
    purpose="show the steps, artifacts and data files that a file was made from",
    example="lineage runs/pushed/reviews/1/model.tflite --json",
    add_arguments=_add_arguments,
    run=_run,
)
